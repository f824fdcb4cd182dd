"""Connections to Redis, each kind with its own explicit limits: commits, questions, hints.

Everything redis-py would do behind our back is switched off: no retries (the store repeats only what is safe to repeat), no
maintenance messages, no shared time-outs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final
from urllib.parse import urlsplit

from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.connection import AbstractConnection, ConnectionPool
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.maint_notifications import MaintNotificationsConfig

SCHEMES: Final = ("redis", "rediss", "unix")
_LATER: Final = {"redis+sentinel": "Sentinel", "rediss+sentinel": "Sentinel", "redis+cluster": "Cluster", "rediss+cluster": "Cluster"}


class Clients:
    """What a RedisStore connects with. `where` names the server in messages and never holds a password."""

    def __init__(
        self,
        *,
        where: str,
        questions: Redis,
        commits: Callable[[], AbstractConnection],
        hints: Callable[[], AbstractConnection],
    ) -> None:
        self.where = where
        self.questions = questions
        self.commits = commits
        self.hints = hints

    async def close(self) -> None:
        await self.questions.aclose()


def check_url(url: str) -> str:
    """`url`, or ValueError saying which forms there are."""
    scheme = urlsplit(url).scheme
    if scheme in _LATER:
        raise ValueError(
            f"{scheme}:// is not supported yet: Dustup cannot talk to Redis {_LATER[scheme]} so far. Give a primary's redis:// URL."
        )
    if scheme not in SCHEMES:
        raise ValueError(f"{scheme or url[:40]!r} is no Redis URL: use redis://host:port/0, rediss://host:port/0 or unix:///path/to.sock")
    return url


def without_password(url: str) -> str:
    """The address in `url` alone: scheme, host, port, path."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}{parts.path}"


def connect(url: str, *, answer_s: float, connect_s: float, questions: int = 16) -> Clients:
    """Clients for one Redis or Valkey; nothing is dialled yet.

    `answer_s` bounds the wait for an answer on the question connections, `connect_s` every dialling; at most `questions`
    questions are out at once, more wait for a free connection. Raises ValueError for an unknown URL.
    """
    check_url(url)
    # Dead peers are found by our own time-outs; keep-alive only helps routers that forget quiet connections.
    tcp = {} if url.startswith("unix:") else {"socket_keepalive": True}

    def pool(protocol: int, socket_timeout: float | None) -> ConnectionPool:
        return ConnectionPool.from_url(
            url,
            protocol=protocol,
            socket_timeout=socket_timeout,
            socket_connect_timeout=connect_s,
            retry=Retry(NoBackoff(), 0),
            health_check_interval=0,
            maint_notifications_config=MaintNotificationsConfig(enabled=False),
            client_name="dustup",
            **tcp,
        )

    asking = BlockingConnectionPool.from_url(
        url,
        protocol=3,
        max_connections=questions,
        timeout=answer_s,
        socket_timeout=answer_s,
        socket_connect_timeout=connect_s,
        retry=Retry(NoBackoff(), 0),
        health_check_interval=0,
        maint_notifications_config=MaintNotificationsConfig(enabled=False),
        client_name="dustup",
        **tcp,
    )
    return Clients(
        where=without_password(url),
        questions=Redis.from_pool(asking),
        # Commits bound a whole batch with one timer of their own: a timer per read costs more than the read.
        commits=pool(3, None).make_connection,
        # Hints speak RESP2, where pushed messages are ordinary answers and no library stands between them and us.
        hints=pool(2, None).make_connection,
    )
