"""What went wrong, in words that say what to try: the store's errors made from those of Redis and the network."""

from __future__ import annotations

import asyncio
from typing import Final

from redis.exceptions import (
    AuthenticationError,
    BusyLoadingError,
    ClusterDownError,
    ConnectionError,
    MasterDownError,
    NoPermissionError,
    NoScriptError,
    OutOfMemoryError,
    ReadOnlyError,
    RedisError,
    TimeoutError,
    TryAgainError,
)

from server.store.base import StoreReadOnly, StoreUnavailable

# What redis-py raises for a server that is away or not ready; anything else is an answer, and asking again would not change it.
_AWAY: Final = (ConnectionError, TimeoutError, OSError, asyncio.IncompleteReadError, EOFError)
_NOT_READY: Final = (BusyLoadingError, MasterDownError, ClusterDownError, TryAgainError)


def is_transient(error: BaseException) -> bool:
    """Whether the same request may well succeed in a moment: the server is away, starting, loading or busy."""
    if isinstance(error, AuthenticationError):
        return False
    return isinstance(error, (*_AWAY, *_NOT_READY, NoScriptError)) or str(error).startswith("BUSY ")


def translate(error: BaseException, where: str) -> StoreUnavailable:
    """The store error for `error`. `where` names the server, without its password."""
    if isinstance(error, StoreUnavailable):
        return error
    said = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
    if isinstance(error, ReadOnlyError):
        return StoreReadOnly(
            f"Redis at {where} is a read-only replica. Point --redis at the primary, or wait until a replica has been promoted.",
            retry_after_ms=2000,
        )
    if isinstance(error, OutOfMemoryError):
        return StoreReadOnly(
            f"Redis at {where} is out of memory and refuses writes. Raise its maxmemory or archive idle sessions; never let it evict keys.",
            retry_after_ms=5000,
        )
    if said.startswith("MISCONF"):
        return StoreReadOnly(
            f"Redis at {where} cannot write to its disk and refuses changes. Free disk space and look at its log.", retry_after_ms=5000
        )
    if said.startswith("NOREPLICAS"):
        return StoreReadOnly(
            f"Redis at {where} has fewer replicas than its min-replicas-to-write asks for. Start the missing one or lower that setting.",
            retry_after_ms=2000,
        )
    if isinstance(error, AuthenticationError):
        return StoreUnavailable(
            f"Redis at {where} did not accept the user and password. Check those in --redis redis://user:password@host:port/0.",
            retry_after_ms=5000,
        )
    if isinstance(error, NoPermissionError):
        return StoreUnavailable(
            f"Redis at {where} does not let this user do what Dustup needs ({said}). Allow keys and channels dustup:* and scripting.",
            retry_after_ms=5000,
        )
    if isinstance(error, (TimeoutError, asyncio.TimeoutError)):
        return StoreUnavailable(
            f"Redis at {where} did not answer in time. Is it overloaded or stopped? The same request may be sent again."
        )
    if is_transient(error):
        return StoreUnavailable(f"Redis at {where} cannot be reached ({said}). Is it running? Check --redis, or leave it out.")
    if isinstance(error, RedisError):
        return StoreUnavailable(f"Redis at {where} refused the request: {said}", retry_after_ms=5000)
    return StoreUnavailable(f"the store at {where} failed: {said}", retry_after_ms=5000)


def needs_new_connection(error: BaseException) -> bool:
    """Whether the server answered, but a fresh connection may reach a better one (a primary behind a name that moved)."""
    return isinstance(error, (ReadOnlyError, NoScriptError))
