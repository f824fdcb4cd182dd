"""The server's only source of time, handed in so that tests can hold it still.

Two clocks, because they answer different questions: the wall clock stamps entries and deadlines and may jump; the
monotonic clock measures how long something took and never goes back.
"""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """What the server asks of time. Both answers are whole milliseconds."""

    def now_ms(self) -> int:
        """Milliseconds since the Unix epoch, UTC. May jump either way when the machine's clock is set."""
        ...

    def monotonic_ms(self) -> int:
        """Milliseconds since some fixed moment of this process. Never goes back, means nothing elsewhere."""
        ...


class SystemClock:
    """The machine's clocks."""

    __slots__ = ()

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic_ms(self) -> int:
        return time.monotonic_ns() // 1_000_000


class ManualClock:
    """A clock that stands still until told otherwise."""

    __slots__ = ("_monotonic_ms", "_now_ms")

    def __init__(self, now_ms: int, *, monotonic_ms: int = 0) -> None:
        self._now_ms = now_ms
        self._monotonic_ms = monotonic_ms

    def now_ms(self) -> int:
        return self._now_ms

    def monotonic_ms(self) -> int:
        return self._monotonic_ms

    def advance(self, ms: int) -> None:
        """Let `ms` milliseconds pass on both clocks. Raises ValueError for a negative number: time does not run back."""
        if ms < 0:
            raise ValueError(f"cannot advance by {ms} ms; use jump() to set the wall clock back")
        self._now_ms += ms
        self._monotonic_ms += ms

    def jump(self, now_ms: int) -> None:
        """Set the wall clock alone, as an operator or a time service would."""
        self._now_ms = now_ms
