"""How safe an acknowledged write is, found out from the server and said with every ack.

memory      lost when Redis stops (its append-only file is off)
os          handed to the operating system: survives the death of any process, not a power cut
disk        on the disk of the primary
replicas:n  received by n replicas (their memory), beside what the primary does

On a server with `appendfsync everysec` the `os` label has a gap: while a sync is running, which on a slow disk takes up to 2 s,
new writes wait in the server's memory. `appendfsync no` and `always` have no such gap; the embedded store uses them alone.

Only what was confirmed is ever claimed: a wait that ran out of time falls back to the label the server's own settings earn.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

from redis.exceptions import ConnectionError, RedisError, ResponseError

from server.store.base import StoreUnavailable

Ask = Callable[..., Awaitable[Any]]

FAILURES_TO_OPEN: Final = 3
_MODE = re.compile(r"everysec|always|replicas=([1-9][0-9]?)")


class CircuitBreaker:
    """Stops waiting for replicas that do not answer: open after a few failures in a row, one trial after `pause_s`."""

    def __init__(self, now: Callable[[], float], *, pause_s: float = 5.0) -> None:
        self._now = now
        self._pause_s = pause_s
        self._failures = 0
        self._closed_again_at = 0.0

    @property
    def open(self) -> bool:
        return self._failures >= FAILURES_TO_OPEN and self._now() < self._closed_again_at

    def record(self, succeeded: bool) -> None:
        if succeeded:
            self._failures = 0
            return
        self._failures += 1
        if self._failures >= FAILURES_TO_OPEN:
            self._closed_again_at = self._now() + self._pause_s


class Durability:
    """The promise one commit connection can make.

    `mode` is "everysec", "always" or "replicas=N" (N from 1 to 99); ValueError otherwise. `wait_ms` bounds each wait for a disk
    or a replica; it must be shorter than the time a round trip may take.
    """

    def __init__(self, mode: str, now: Callable[[], float], *, wait_ms: int = 1000, breaker_pause_s: float = 5.0) -> None:
        match = _MODE.fullmatch(mode)
        if match is None:
            raise ValueError(f"durability {mode!r} is unknown: use everysec, always or replicas=N")
        self.mode = mode
        self.replicas = int(match[1] or 0)
        self.local = "memory"
        self.breaker = CircuitBreaker(now, pause_s=breaker_pause_s)
        self._wait_ms = wait_ms
        self._waits_for_disk = False

    async def probe(self, ask: Ask) -> None:
        """Learn what the server does with writes. Called on every new connection: a server may come back with other settings.

        Raises StoreUnavailable when "always" was asked for and this server cannot give it.
        """
        aof = await _append_only(ask)
        fsync = await _setting(ask, "appendfsync") if aof else None
        self.local = "memory" if not aof else "disk" if fsync == "always" else "os"
        self._waits_for_disk = False
        if self.mode == "always" and self.local != "disk":
            if not aof or not await _has_command(ask, "WAITAOF"):
                raise StoreUnavailable(
                    "--durability always needs a Redis with `appendonly yes` and either `appendfsync always` or the WAITAOF command "
                    "(Redis 7.2, Valkey). Change its settings, or use --durability everysec.",
                    retry_after_ms=60_000,
                )
            self._waits_for_disk = True

    def wait_command(self) -> Sequence[str | int] | None:
        """What to send after a batch on the same connection; None when no wait is needed or the breaker is open."""
        if self._waits_for_disk:
            return ("WAITAOF", 1, 0, self._wait_ms)
        if self.replicas and not self.breaker.open:
            return ("WAIT", self.replicas, self._wait_ms)
        return None

    def label(self, answer: object) -> str:
        """The label the batch earned, from the answer to `wait_command` (None when none was sent)."""
        if answer is None:
            return self.local
        if self._waits_for_disk:
            return "disk" if isinstance(answer, list) and answer and int(answer[0]) >= 1 else self.local
        reached = answer if isinstance(answer, int) else 0
        self.breaker.record(reached >= self.replicas)
        return f"replicas:{reached}" if reached >= self.replicas else self.local


async def _append_only(ask: Ask) -> bool:
    """Whether the append-only file is on. Hosted servers may refuse CONFIG, INFO or both; then only memory is promised."""
    said = await _setting(ask, "appendonly")
    if said is not None:
        return said == "yes"
    try:
        info = await ask("INFO", "persistence")
    except ConnectionError:
        raise
    except RedisError:
        return False
    return b"aof_enabled:1" in info if isinstance(info, bytes) else "aof_enabled:1" in str(info)


async def _setting(ask: Ask, name: str) -> str | None:
    try:
        answer = await ask("CONFIG", "GET", name)
    except ConnectionError:
        raise
    except RedisError:
        return None
    value = answer.get(name.encode()) if isinstance(answer, dict) else answer[1] if len(answer) == 2 else None
    return value.decode() if isinstance(value, bytes) else None


async def _has_command(ask: Ask, name: str) -> bool:
    try:
        answer = await ask("COMMAND", "INFO", name)
    except ResponseError:
        return False
    return bool(answer) and answer[0] is not None
