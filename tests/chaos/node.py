"""`dustup serve` with a wall clock that can be made to jump: SIGUSR1 sets it forward, SIGUSR2 back, by 45 s each.

Everything else is the real command line: python -m tests.chaos.node serve --redis URL ...
"""

from __future__ import annotations

import signal
from types import FrameType

import server.app
from server.clock import SystemClock

JUMP_MS = 45_000


class JumpingClock(SystemClock):
    """The machine's clocks, the wall clock shifted by all jumps so far."""

    __slots__ = ()
    shift_ms = 0

    def now_ms(self) -> int:
        return super().now_ms() + JumpingClock.shift_ms


def _jump(number: int, frame: FrameType | None) -> None:
    JumpingClock.shift_ms += JUMP_MS if number == signal.SIGUSR1 else -JUMP_MS


if __name__ == "__main__":
    signal.signal(signal.SIGUSR1, _jump)
    signal.signal(signal.SIGUSR2, _jump)
    setattr(server.app, "SystemClock", JumpingClock)  # noqa: B010 - the one name by which a server gets its clock

    from server.cli import main

    main()
