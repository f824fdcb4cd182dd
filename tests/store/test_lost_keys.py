"""Keys that somebody deleted: what can be worked out again costs nothing, and a session that lost the rest is missing, not half there."""

from __future__ import annotations

import pytest

from server.store.redis import RedisStore
from tests.store.steps import Table


async def drop(store: RedisStore, session: str, part: str) -> None:
    """Delete one of a session's keys behind the store's back."""
    assert await store._redis.delete(getattr(store._keys.session(session), part)) == 1


@pytest.fixture
async def table(store: RedisStore) -> Table:
    """Three steps after a snapshot at version 3."""
    table = Table(store, "table1")
    await table.create()
    await table.add()
    await table.add(snapshot=b"snapshot 3")
    for _ in range(3):
        await table.add()
    return table


async def test_without_its_snapshot_a_session_loads_from_its_log(store: RedisStore, table: Table) -> None:
    await drop(store, "table1", "snap")
    loaded = await store.load("table1")
    assert loaded is not None
    assert loaded.snapshot is None
    assert loaded.entries == table.log
    await table.add()


@pytest.mark.parametrize("part", ["log", "meta"])
async def test_a_session_without_its_log_or_meta_is_missing_and_takes_no_step(store: RedisStore, table: Table, part: str) -> None:
    await drop(store, "table1", part)
    assert await store.load("table1") is None
    assert await store.top("table1") is None
    assert (await store.commit(table.next())).status == "missing"
    assert await store.top("table1") is None


@pytest.mark.parametrize("part", ["log", "meta"])
async def test_a_session_that_lost_a_key_is_not_replaced_by_a_new_one(store: RedisStore, table: Table, part: str) -> None:
    """What is left of it may be all that a host can save."""
    await drop(store, "table1", part)
    assert (await store.create(Table(store, "table1").next(), seed=b"another")).status == "conflict"
    assert await store.seed("table1") == b"seed"
