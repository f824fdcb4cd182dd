"""The deadline index: which sessions want attention at what time, over several sorted sets so that no key grows hot.

It is derived. The truth is the meta field `due` of each session; whatever is lost here is found again by repair.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from redis.asyncio import Redis

from server.store.keys import Keys

_TRIES: Final = 3


class DueIndex:
    """All methods raise the errors of redis-py; RedisStore translates them."""

    def __init__(self, redis: Redis, keys: Keys) -> None:
        self._redis: Any = redis
        self._keys = keys

    async def set(self, session: str, due_ms: int | None) -> None:
        """Note that `session` is due at `due_ms` (None: not at all), or when its meta says, should meta say otherwise by now.

        Two nodes may commit in one order and come here in the other; looking at meta after writing makes the later word win.
        """
        for _ in range(_TRIES):
            await self._write(session, due_ms)
            says = await self._redis.hget(self._keys.session(session).meta, "due")
            if says is None or _due(says) == due_ms:
                return
            due_ms = _due(says)

    async def until(self, now_ms: int, limit: int) -> list[str]:
        """At most `limit` sessions due at or before `now_ms`, earliest first."""
        if limit <= 0:
            return []
        pipe = self._redis.pipeline(transaction=False)
        for bucket in self._keys.due:
            pipe.zrangebyscore(bucket, "-inf", now_ms, start=0, num=limit, withscores=True)
        found = [(score, member) for members in await pipe.execute() for member, score in members]
        return [member.decode() for _, member in sorted(found)[:limit]]

    async def forget(self, session: str) -> None:
        await self._redis.zrem(self._keys.due_bucket(session), session)

    async def repair(self, sessions: Sequence[str]) -> int:
        """Make the index agree with the meta of these sessions; returns how many it was wrong about."""
        if not sessions:
            return 0
        pipe = self._redis.pipeline(transaction=False)
        for session in sessions:
            pipe.hget(self._keys.session(session).meta, "due")
            pipe.zscore(self._keys.due_bucket(session), session)
        answers = await pipe.execute()
        wrong = 0
        for session, says, score in zip(sessions, answers[::2], answers[1::2], strict=True):
            truth = None if says is None else _due(says)
            if truth != (None if score is None else int(score)):
                wrong += 1
                await self.set(session, truth)
        return wrong

    async def sweep(self) -> int:
        """Drop index entries of sessions that are gone; returns how many."""
        wrong = 0
        for bucket in self._keys.due:
            members = [member async for member, _ in self._redis.zscan_iter(bucket, count=500)]
            for start in range(0, len(members), 500):
                page = [member.decode() for member in members[start : start + 500]]
                pipe = self._redis.pipeline(transaction=False)
                for session in page:
                    pipe.exists(self._keys.session(session).meta)
                gone = [session for session, there in zip(page, await pipe.execute(), strict=True) if not there]
                if gone:
                    wrong += await self._redis.zrem(bucket, *gone)
        return wrong

    async def _write(self, session: str, due_ms: int | None) -> None:
        if due_ms is None:
            await self.forget(session)
        else:
            await self._redis.zadd(self._keys.due_bucket(session), {session: due_ms})


def _due(says: bytes) -> int | None:
    return int(says) if says else None
