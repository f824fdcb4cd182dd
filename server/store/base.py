"""What the server asks of a store. Bytes in, bytes out: a store knows neither rules nor wire.

Every implementation keeps one promise: a commit is all or nothing, exactly ordered by (v, stamp), done at most
once per action id, and reported only after it happened (see "Store" in docs/architecture.md).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Literal, Protocol

import msgspec

Status = Literal["ok", "duplicate", "too_old", "conflict", "archived", "missing"]


class StoreUnavailable(Exception):
    """The store did not answer in time or is not reachable: the outcome of the call is unknown.

    `text` says what to try; `retry_after_ms` is a hint for the client.
    """

    def __init__(self, text: str, *, retry_after_ms: int = 1000) -> None:
        super().__init__(text)
        self.text = text
        self.retry_after_ms = retry_after_ms


class StoreReadOnly(StoreUnavailable):
    """The store answers but refuses writes (replica, full disk, failed background save)."""


class Commit(msgspec.Struct, frozen=True):
    """One step of one session, to be appended if and only if the log's top is exactly (base_v, base_stamp).

    `client` and `n` are the two halves of the action id, `client` already scoped to the seat ("ann/c1"); None for
    steps that are nobody's action (deadlines, upgrades). `meta` are further fields of the session's meta hash.
    `snapshot`, when given, is the whole session at `v`. `texts` are chat and post bodies by id.
    """

    session: str
    base_v: int
    base_stamp: str
    v: int
    stamp: str
    entry: bytes
    client: str | None = None
    n: int = 0
    snapshot: bytes | None = None
    meta: tuple[tuple[str, str], ...] = ()
    texts: tuple[tuple[str, bytes], ...] = ()


class Committed(msgspec.Struct, frozen=True):
    """The answer to a Commit.

    ok: appended, `v` is its version. duplicate: this action id was committed before, as `v`. too_old: an action id older than
    those remembered. conflict: the log's top is (`v`, `stamp`), not what the commit was based on. archived, missing: no such live session.
    `durability` is what can be promised for the write: memory | os | disk | replicas:n.
    """

    status: Status
    v: int = 0
    stamp: str = ""
    durability: str = "memory"


class Loaded(msgspec.Struct, frozen=True):
    """A session as stored: meta fields, the newest snapshot if any, and the entries after it, oldest first."""

    meta: Mapping[str, str]
    snapshot: tuple[int, bytes] | None
    entries: Sequence[tuple[int, bytes]]


class Store(Protocol):
    """A place where sessions live. All methods may raise StoreUnavailable or StoreReadOnly."""

    name: str

    async def start(self) -> None: ...

    async def close(self) -> None: ...

    async def ping(self) -> None:
        """Raise StoreUnavailable or StoreReadOnly unless a write could succeed now."""
        ...

    async def create(self, commit: Commit, *, seed: bytes) -> Committed:
        """Make a session: its first entry (v 1, base_v 0, base_stamp ""), meta, snapshot and secret seed. conflict when it exists."""
        ...

    def commit(self, commit: Commit) -> Awaitable[Committed]:
        """Append one step. Commits that arrive while a round trip is in flight travel together in the next one."""
        ...

    async def load(self, session: str) -> Loaded | None:
        """The session's meta, newest snapshot and later entries, read consistently; None when there is no such session."""
        ...

    async def top(self, session: str) -> tuple[int, str] | None:
        """(v, stamp) of the log's end, or None."""
        ...

    async def entries(self, session: str, after: int, limit: int = 1000) -> list[tuple[int, bytes]]:
        """Entries with v > after, oldest first, at most `limit`."""
        ...

    async def entries_before(self, session: str, before: int, limit: int = 200) -> list[tuple[int, bytes]]:
        """Entries with v < before, newest first, at most `limit`."""
        ...

    async def acks(self, session: str, client: str) -> tuple[int, Mapping[int, int]]:
        """(last n, {n: v} of the remembered acks) of one client of one seat; (0, {}) when unknown."""
        ...

    async def texts(self, session: str, ids: Sequence[str]) -> dict[str, bytes | None]:
        """Bodies by id; None for an erased or unknown one."""
        ...

    async def erase_text(self, session: str, text_id: str) -> bool:
        """Forget one body for good; True when there was one."""
        ...

    async def seed(self, session: str) -> bytes | None:
        """The session's secret dice seed."""
        ...

    async def set_meta(self, session: str, fields: Mapping[str, str]) -> None: ...

    async def sessions(self, cursor: str = "", limit: int = 100) -> tuple[list[str], str]:
        """A page of session ids and the cursor of the next page ("" at the end)."""
        ...

    async def delete(self, session: str) -> bool: ...

    # Deadlines: a derived index; the session's own meta field `due` (ms or "") is the truth.
    async def set_due(self, session: str, due_ms: int | None) -> None: ...

    async def due(self, now_ms: int, limit: int = 100) -> list[str]:
        """Sessions whose earliest deadline is at or before now_ms, earliest first."""
        ...

    async def repair_due(self) -> int:
        """Rebuild the index from the sessions' meta; returns how many entries were wrong."""
        ...

    # Small values with a lifetime: invites, revocations, leases.
    async def put(self, key: str, value: bytes, *, ttl_ms: int | None = None) -> None: ...

    async def get(self, key: str) -> bytes | None: ...

    async def take(self, key: str) -> bytes | None:
        """Read and delete in one step: of many callers exactly one gets the value."""
        ...

    async def drop(self, key: str) -> bool: ...

    # Hints: only "session X may have grown to v". Losing one costs latency, never data.
    def on_hint(self, callback: Callable[[str, int], None]) -> None:
        """Call back with (session, v) for commits of any node, and with ("", 0) when hints may have been missed."""
        ...

    async def watch(self, session: str) -> None: ...

    async def unwatch(self, session: str) -> None: ...
