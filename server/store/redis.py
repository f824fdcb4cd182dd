"""The store on Redis 7 or newer, or Valkey: sessions as streams, one script that commits, group commit on top.

Everything here is one hop from the wire; what can be said about a batch, a lost reply or a hint is said in pipeline.py,
faults.py and hints.py.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from importlib.resources import files
from typing import Any, Final, NamedTuple, TypeVar

from redis.commands.core import AsyncScript
from redis.exceptions import RedisError

from server.store.base import Commit, Committed, Loaded, StoreUnavailable
from server.store.clients import Clients, check_url, connect
from server.store.due import DueIndex
from server.store.durability import Durability
from server.store.faults import is_transient, translate
from server.store.hints import HintListener
from server.store.keys import Keys, check_meta, commit_arguments
from server.store.pipeline import GroupCommit

T = TypeVar("T")

BOUND_S: Final = 5.0
CONNECT_S: Final = 2.0
PING_LIFE_MS: Final = 60_000
FIRST_PAUSE_S: Final = 0.02
LONGEST_PAUSE_S: Final = 0.5


def script(name: str) -> bytes:
    """The text of one of the Lua scripts beside this module."""
    return files("server.store").joinpath(name).read_bytes()


class _Open(NamedTuple):
    """What a started store works with."""

    clients: Clients
    pipeline: GroupCommit
    due: DueIndex
    load: AsyncScript
    top: AsyncScript
    set_meta: AsyncScript


class RedisStore:
    """A Store on one Redis or Valkey server.

    `url` is redis://, rediss:// or unix://. `durability` is "everysec" (take what the server's settings give), "always" or
    "replicas=N". `bound_s` is how long any call may take, repeats included, before StoreUnavailable. `prefix` keeps several
    installations apart on one server. Raises ValueError for a URL or durability nobody knows.
    """

    name = "redis"

    def __init__(
        self,
        url: str,
        durability: str = "everysec",
        *,
        bound_s: float = BOUND_S,
        prefix: str = "dustup",
        queue_limit: int = 10_000,
        wait_ms: int = 1000,
    ) -> None:
        self._url = self._check(url)
        self._bound_s = bound_s
        self._connect_s = min(CONNECT_S, bound_s)
        self._keys = Keys(prefix)
        # A wait must end before the round trip it is part of is given up.
        self._durability = Durability(durability, _loop_time, wait_ms=min(wait_ms, int(bound_s * 400)))
        self._queue_limit = queue_limit
        self._hints = HintListener(lambda: self._open.clients.hints(), self._keys, connect_s=self._connect_s)
        self._opened: _Open | None = None

    def _check(self, url: str) -> str:
        return check_url(url)

    def _connect(self) -> Clients:
        return connect(self._url, answer_s=self._bound_s, connect_s=self._connect_s)

    @property
    def pipeline(self) -> GroupCommit:
        """The group commit of a started store, for its counters. Raises StoreUnavailable before start()."""
        return self._open.pipeline

    @property
    def durability(self) -> str:
        """What the server's own settings promise for a write: memory, os or disk. Known once started."""
        return self._durability.local

    async def start(self) -> None:
        clients = self._connect()
        pipeline = GroupCommit(
            clients.commits,
            script("commit.lua"),
            self._durability,
            where=clients.where,
            bound_s=self._bound_s,
            try_s=self._bound_s / 2,
            queue_limit=self._queue_limit,
        )
        try:
            await pipeline.start()
        except BaseException:
            await clients.close()
            raise
        self._opened = _Open(
            clients,
            pipeline,
            DueIndex(clients.questions, self._keys),
            AsyncScript(clients.questions, script("load.lua")),
            AsyncScript(clients.questions, script("top.lua")),
            AsyncScript(clients.questions, script("set_meta.lua")),
        )
        self._hints.start()

    async def close(self) -> None:
        await self._hints.close()
        if self._opened is not None:
            await self._opened.pipeline.close()
            await self._opened.clients.close()

    async def ping(self) -> None:
        # A write, because a replica, a full disk and a full memory all answer PING.
        await self._ask(lambda: self._redis.set(self._keys.ping, b"1", px=PING_LIFE_MS), repeat=False)

    # ------------------------------------------------------------------ commits

    async def create(self, commit: Commit, *, seed: bytes) -> Committed:
        return await self.pipeline.submit(commit_arguments(self._keys.session(commit.session), commit, seed))

    def commit(self, commit: Commit) -> asyncio.Future[Committed]:
        return self.pipeline.submit(commit_arguments(self._keys.session(commit.session), commit))

    # ------------------------------------------------------------------ reading a session

    async def load(self, session: str) -> Loaded | None:
        keys = self._keys.session(session)
        found = await self._ask(lambda: self._open.load(keys=[keys.log, keys.snap, keys.meta]))
        if found is None:
            return None
        flat, snapshot, entries = found
        meta = {flat[i].decode(): flat[i + 1].decode() for i in range(0, len(flat), 2)}
        return Loaded(
            meta=meta,
            snapshot=None if snapshot is None else (int(meta["snap"]), snapshot),
            entries=[(_version(id_), _payload(fields)) for id_, fields in entries],
        )

    async def top(self, session: str) -> tuple[int, str] | None:
        keys = self._keys.session(session)
        found = await self._ask(lambda: self._open.top(keys=[keys.log, keys.meta]))
        return None if not found else (int(found[0]), found[1].decode())

    async def entries(self, session: str, after: int, limit: int = 1000) -> list[tuple[int, bytes]]:
        log = self._keys.session(session).log
        found = await self._ask(lambda: self._redis.xrange(log, f"({after}-0", "+", count=limit)) if limit > 0 else []
        return [(_version(id_), fields[b"e"]) for id_, fields in found]

    async def entries_before(self, session: str, before: int, limit: int = 200) -> list[tuple[int, bytes]]:
        log = self._keys.session(session).log
        found = await self._ask(lambda: self._redis.xrevrange(log, f"({before}-0", "-", count=limit)) if limit > 0 else []
        return [(_version(id_), fields[b"e"]) for id_, fields in found]

    async def acks(self, session: str, client: str) -> tuple[int, Mapping[int, int]]:
        ids = self._keys.session(session).ids
        record = await self._ask(lambda: self._redis.hget(ids, client))
        if record is None:
            return 0, {}
        last, _, *pairs = record.split()
        return int(last), {int(n): int(v) for n, v in (pair.split(b":") for pair in pairs)}

    async def texts(self, session: str, ids: Sequence[str]) -> dict[str, bytes | None]:
        text = self._keys.session(session).text
        wanted = list(dict.fromkeys(ids))
        bodies = await self._ask(lambda: self._redis.hmget(text, wanted)) if wanted else []
        return dict(zip(wanted, bodies, strict=True))

    async def erase_text(self, session: str, text_id: str) -> bool:
        text = self._keys.session(session).text
        return bool(await self._ask(lambda: self._redis.hdel(text, text_id)))

    async def seed(self, session: str) -> bytes | None:
        return await self._ask(lambda: self._redis.get(self._keys.session(session).seed))

    async def set_meta(self, session: str, fields: Mapping[str, str]) -> None:
        """Set meta fields. A session that does not exist is left alone; ValueError for v, stamp and snap."""
        check_meta(tuple(fields.items()))
        if fields:
            arguments = [part for pair in fields.items() for part in pair]
            await self._ask(lambda: self._open.set_meta(keys=[self._keys.session(session).meta], args=arguments))

    async def sessions(self, cursor: str = "", limit: int = 100) -> tuple[list[str], str]:
        """About `limit` session ids and the next cursor. Found by walking the meta keys themselves, so nothing can be missing;
        one that is made or deleted meanwhile may or may not appear, and one may appear twice."""
        at = int(cursor or 0)
        found: dict[str, None] = {}
        while True:
            here = at
            at, keys = await self._ask(lambda here=here: self._redis.scan(here, match=self._keys.meta_pattern, count=max(limit, 10)))  # type: ignore[misc]
            found.update((self._keys.session_of(key), None) for key in keys)
            if not at or len(found) >= limit:
                return list(found), str(at) if at else ""

    async def delete(self, session: str) -> bool:
        keys = self._keys.session(session)
        gone = await self._ask(lambda: self._redis.delete(*keys[:6]))
        await self._ask(lambda: self._open.due.forget(session))
        return bool(gone)

    # ------------------------------------------------------------------ deadlines

    async def set_due(self, session: str, due_ms: int | None) -> None:
        await self._ask(lambda: self._open.due.set(session, due_ms))

    async def due(self, now_ms: int, limit: int = 100) -> list[str]:
        return await self._ask(lambda: self._open.due.until(now_ms, limit))

    async def repair_due(self) -> int:
        wrong, cursor, seen = 0, "", set[str]()
        while True:
            page, cursor = await self.sessions(cursor, 500)
            fresh = [session for session in page if session not in seen]
            seen.update(fresh)
            wrong += await self._ask(lambda page=fresh: self._open.due.repair(page))  # type: ignore[misc]
            if not cursor:
                return wrong + await self._ask(lambda: self._open.due.sweep())

    # ------------------------------------------------------------------ small values

    async def put(self, key: str, value: bytes, *, ttl_ms: int | None = None) -> None:
        await self._ask(lambda: self._redis.set(self._keys.value(key), value, px=ttl_ms))

    async def get(self, key: str) -> bytes | None:
        return await self._ask(lambda: self._redis.get(self._keys.value(key)))

    async def take(self, key: str) -> bytes | None:
        # Never asked twice: if the first answer got lost, the second would tell the winner that somebody else won.
        return await self._ask(lambda: self._redis.getdel(self._keys.value(key)), repeat=False)

    async def drop(self, key: str) -> bool:
        return bool(await self._ask(lambda: self._redis.delete(self._keys.value(key))))

    # ------------------------------------------------------------------ hints

    def on_hint(self, callback: Callable[[str, int], None]) -> None:
        self._hints.on_hint(callback)

    async def watch(self, session: str) -> None:
        await self._hints.watch(session)

    async def unwatch(self, session: str) -> None:
        await self._hints.unwatch(session)

    # ------------------------------------------------------------------ asking

    @property
    def _open(self) -> _Open:
        if self._opened is None:
            raise StoreUnavailable("the store has not been started")
        return self._opened

    @property
    def _redis(self) -> Any:
        # redis-py annotates every answer as "maybe awaitable"; the answers used here are checked by the contract tests instead.
        return self._open.clients.questions

    async def _ask(self, question: Callable[[], Awaitable[T]], *, repeat: bool = True) -> T:
        """The answer, asked again while the server is away and the bound allows. Raises StoreUnavailable or StoreReadOnly."""
        deadline = _loop_time() + self._bound_s
        pause = FIRST_PAUSE_S
        while True:
            try:
                async with asyncio.timeout_at(deadline):
                    return await question()
            except (RedisError, OSError) as error:
                if not repeat or not is_transient(error) or _loop_time() + pause >= deadline:
                    raise translate(error, self._open.clients.where) from error
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE_S)


def _loop_time() -> float:
    return asyncio.get_running_loop().time()


def _version(entry_id: bytes) -> int:
    return int(entry_id.partition(b"-")[0])


def _payload(fields: list[bytes]) -> bytes:
    """The entry among a stream entry's fields as a script returns them: s, stamp, e, entry."""
    return fields[3]
