"""A throw-away store: the very same scripts and code as on Redis, run by fakeredis inside this process.

For `--store memory`, for trying things out and for unit tests. Everything is gone with the process, and every ack says so.
"""

from __future__ import annotations

from typing import Any, cast

from fakeredis import FakeAsyncRedis, FakeServer
from redis.asyncio import Redis
from redis.asyncio.connection import AbstractConnection

from server.store.clients import Clients
from server.store.redis import BOUND_S, RedisStore


class MemoryStore(RedisStore):
    """A Store that forgets. Stores given the same `server` see the same sessions, as two nodes on one Redis would."""

    name = "memory"

    def __init__(
        self, server: FakeServer | None = None, *, bound_s: float = BOUND_S, prefix: str = "dustup", queue_limit: int = 10_000
    ) -> None:
        self._server = server or FakeServer()
        super().__init__("memory:", bound_s=bound_s, prefix=prefix, queue_limit=queue_limit)

    def _check(self, url: str) -> str:
        return url

    def _connect(self) -> Clients:
        def client(protocol: int) -> Redis:
            return cast(Redis, cast(Any, FakeAsyncRedis)(server=self._server, protocol=protocol))

        commits, hints = client(3), client(2)

        def dial(pool_of: Redis) -> AbstractConnection:
            return cast(AbstractConnection, pool_of.connection_pool.make_connection())  # type: ignore[no-untyped-call]

        return Clients(where="memory", questions=client(3), commits=lambda: dial(commits), hints=lambda: dial(hints))
