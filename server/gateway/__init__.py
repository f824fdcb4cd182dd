"""The edge of the server: who may come in, how fast, and in which envelope. Knows no rules."""

from __future__ import annotations

from typing import Protocol


class SmallValues(Protocol):
    """The part of `server.store.base.Store` the gateway needs: small values with a lifetime.

    Every method may raise `StoreUnavailable` or `StoreReadOnly`; nothing here catches them, so a check that could not be made
    never counts as passed.
    """

    async def put(self, key: str, value: bytes, *, ttl_ms: int | None = None) -> None: ...

    async def get(self, key: str) -> bytes | None: ...

    async def take(self, key: str) -> bytes | None:
        """Read and delete in one step: of many callers exactly one gets the value."""
        ...

    async def drop(self, key: str) -> bool: ...
