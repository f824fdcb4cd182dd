"""The store's small values in a dictionary: the same contract as `server.gateway.SmallValues`, with a lifetime by a manual clock."""

from __future__ import annotations

import asyncio

from server.clock import ManualClock
from server.store.base import StoreUnavailable


class DelayedAnswer:
    """One `get` that has read its value and is kept from telling: `asked` when it has read, told once `deliver` is set."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.deliver = asyncio.Event()


class MemoryValues:
    """Every call gives way to other tasks first, as a network would, so that races show. `down` makes every call fail."""

    def __init__(self, clock: ManualClock) -> None:
        self.clock = clock
        self.values: dict[str, tuple[bytes, int | None]] = {}
        self.reads = 0
        self.down = False
        self._delayed: DelayedAnswer | None = None

    def delay_next_answer(self) -> DelayedAnswer:
        self._delayed = DelayedAnswer()
        return self._delayed

    async def _network(self) -> None:
        await asyncio.sleep(0)
        if self.down:
            raise StoreUnavailable("down for the test")

    def _alive(self, key: str) -> bytes | None:
        value, until_ms = self.values.get(key, (b"", 0))
        return None if until_ms is not None and until_ms <= self.clock.now_ms() else value

    async def put(self, key: str, value: bytes, *, ttl_ms: int | None = None) -> None:
        await self._network()
        assert ttl_ms is None or ttl_ms > 0
        self.values[key] = (value, None if ttl_ms is None else self.clock.now_ms() + ttl_ms)

    async def get(self, key: str) -> bytes | None:
        self.reads += 1
        value = self._alive(key)
        delayed, self._delayed = self._delayed, None
        if delayed is not None:
            delayed.asked.set()
            await delayed.deliver.wait()
        await self._network()
        return value

    async def take(self, key: str) -> bytes | None:
        await self._network()
        value = self._alive(key)
        self.values.pop(key, None)
        return value

    async def drop(self, key: str) -> bool:
        await self._network()
        there = self._alive(key) is not None
        self.values.pop(key, None)
        return there
