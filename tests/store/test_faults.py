"""What must happen when a real server is killed, stopped, cut off, full or read-only (DESIGN "Faults")."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from server.store.base import Commit, Committed, StoreReadOnly, StoreUnavailable
from server.store.redis import RedisStore
from tests.store.steps import Table
from tests.support.lossy_proxy import LossyProxy
from tests.support.redis_server import RedisProcess

pytestmark = pytest.mark.chaos


@asynccontextmanager
async def opened(url: str, durability: str = "everysec", *, bound_s: float = 5.0, wait_ms: int = 1000) -> AsyncIterator[RedisStore]:
    store = RedisStore(url, durability, bound_s=bound_s, wait_ms=wait_ms)
    await store.start()
    try:
        yield store
    finally:
        await store.close()


async def assert_whole(store: RedisStore, table: Table, unknown: Commit | None = None) -> None:
    """The log is exactly what was confirmed, plus at most the one step whose outcome nobody was told, and meta and snapshot agree."""
    log = await store.entries(table.session, 0)
    expected = list(table.log)
    if unknown is not None and len(log) > len(expected):
        expected.append((unknown.v, unknown.entry))
    assert log == expected
    loaded = await store.load(table.session)
    assert loaded is not None
    assert int(loaded.meta["v"]) == log[-1][0]
    assert loaded.snapshot is not None
    at, snapshot = loaded.snapshot
    assert snapshot == f"snapshot {at}".encode()
    assert list(loaded.entries) == log[at:]


async def test_kill_9_in_the_middle_of_200_commits_loses_nothing_acknowledged(server: RedisProcess) -> None:
    """Every acknowledged step is there exactly once, no other step twice, and play goes on by itself."""
    async with opened(server.url) as store:
        tables = [Table(store, f"table{i}") for i in range(20)]
        for table in tables:
            await table.create()
        acknowledged = 0
        enough = asyncio.Event()

        async def play(table: Table) -> None:
            nonlocal acknowledged
            for n in range(1, 11):
                await table.add(client="ann/c1", n=n, snapshot=f"snapshot {table.v + 1}".encode() if n % 4 == 0 else None)
                acknowledged += 1
                if acknowledged == 60:
                    enough.set()

        playing = [asyncio.create_task(play(table)) for table in tables]
        await enough.wait()
        server.restart()
        await asyncio.gather(*playing)
        assert acknowledged == 200
        for table in tables:
            await assert_whole(store, table)


async def test_a_server_that_stays_away_ends_in_unavailable_with_nothing_half_done(server: RedisProcess) -> None:
    async with opened(server.url, bound_s=0.6) as store:
        tables = [Table(store, f"table{i}") for i in range(10)]
        for table in tables:
            await table.create()
        steps = [table.next(client="ann/c1", n=1, snapshot=b"snapshot 2", meta=(("due", "9"),)) for table in tables]
        answers = [store.commit(step) for step in steps[:5]]
        await asyncio.sleep(0)  # these are on their way when the server dies, the others find it dead
        server.kill9()
        answers += [store.commit(step) for step in steps[5:]]
        results = await asyncio.gather(*answers, return_exceptions=True)
        assert all(isinstance(result, StoreUnavailable) for result in results[5:])
        refused = await asyncio.gather(store.commit(tables[0].next()), store.load("table0"), store.ping(), return_exceptions=True)
        for error in refused:
            assert isinstance(error, StoreUnavailable)
            assert "cannot be reached" in error.text
            assert error.retry_after_ms > 0
        server.start()
        for table, step, result in zip(tables, steps, results, strict=True):
            if isinstance(result, Committed):
                table.took(step)
                await assert_whole(store, table)
            else:
                await assert_whole(store, table, unknown=step)
            # The client sends its action again, as it was told to, and it has happened exactly once.
            again = await store.commit(step)
            assert (again.status, again.v) == ("ok", 2)
            assert await store.entries(table.session, 1) == [(2, step.entry)]


async def test_commits_wait_for_a_restart_and_recover_alone(server: RedisProcess) -> None:
    async with opened(server.url) as store:
        table = Table(store, "table1")
        await table.create()
        server.kill9()
        step = table.next()
        waiting = store.commit(step)
        loading = asyncio.create_task(store.load("table1"))
        while store.pipeline.repeats == 0:  # noqa: ASYNC110 - until it has really met the closed door
            await asyncio.sleep(0.005)
        assert not waiting.done()
        server.start()
        assert (await waiting).status == "ok"
        assert await loading is not None
        table.took(step)
        await table.add()
        await assert_whole(store, table)


@pytest.mark.parametrize("client", ["ann/c1", None])
async def test_a_lost_reply_leaves_one_entry_and_an_honest_answer(server: RedisProcess, client: str | None) -> None:
    async with LossyProxy(server.socket) as proxy, opened(proxy.url) as store:
        table = Table(store, "table1")
        await table.create()
        step = table.next(client=client, n=1, entry=b"the entry whose reply is lost")
        proxy.lose_reply(b"the entry whose reply is lost")
        answer = await store.commit(step)
        assert proxy.lost.is_set()
        assert (answer.status, answer.v, answer.stamp) == ("ok", 2, step.stamp)
        assert store.pipeline.repeats == 1
        table.took(step)
        await assert_whole(store, table)


async def test_a_create_whose_reply_is_lost_is_still_our_session(server: RedisProcess) -> None:
    async with LossyProxy(server.socket) as proxy, opened(proxy.url) as store:
        proxy.lose_reply(b"our own seed")
        table = Table(store, "table1")
        await table.create(seed=b"our own seed")
        assert proxy.lost.is_set()
        assert await store.seed("table1") == b"our own seed"
        await assert_whole(store, table)


async def test_a_value_whose_taking_was_not_confirmed_is_not_handed_out_twice(server: RedisProcess) -> None:
    async with LossyProxy(server.socket) as proxy, opened(proxy.url) as store:
        await store.put("invite", b"seat")
        proxy.lose_reply(b"GETDEL")
        with pytest.raises(StoreUnavailable):
            await store.take("invite")
        assert proxy.lost.is_set()
        assert await store.take("invite") is None


async def test_a_stopped_server_is_given_up_in_time_and_the_step_happens_at_most_once(server: RedisProcess) -> None:
    async with opened(server.url, bound_s=0.6) as store:
        table = Table(store, "table1")
        await table.create()
        server.pause()
        step = table.next()
        try:
            with pytest.raises(StoreUnavailable, match="did not answer in time"):
                await store.commit(step)
            with pytest.raises(StoreUnavailable):
                await store.top("table1")
        finally:
            server.resume()
        # What lay in the socket of the stopped server may be done now: the same step again is recognised either way.
        assert (await store.commit(step)).status == "ok"
        table.took(step)
        await table.add()
        await assert_whole(store, table)


async def test_scripts_lost_by_the_server_are_loaded_again(server: RedisProcess) -> None:
    async with opened(server.url) as store:
        table = Table(store, "table1")
        await table.create()
        assert await store.load("table1") is not None
        server.command("SCRIPT", "FLUSH")
        await table.add()
        server.command("SCRIPT", "FLUSH")
        await assert_whole(store, table)


class TestRefusedWrites:
    """A server that answers but does not take writes: a sentence that helps, nothing changed, and back by itself."""

    async def refused(self, store: RedisStore, table: Table, says: str) -> None:
        for attempt in (store.commit(table.next(entry=b"x" * 1000, snapshot=b"y")), store.ping(), store.put("k", b"v")):
            with pytest.raises(StoreReadOnly, match=says):
                await attempt
        await assert_whole(store, table)

    async def test_missing_replicas(self, server: RedisProcess) -> None:
        async with opened(server.url) as store:
            table = Table(store, "table1")
            await table.create()
            server.command("CONFIG", "SET", "min-replicas-to-write", "1")
            await self.refused(store, table, "min-replicas-to-write")
            server.command("CONFIG", "SET", "min-replicas-to-write", "0")
            await table.add()

    async def test_out_of_memory(self, server: RedisProcess) -> None:
        async with opened(server.url) as store:
            table = Table(store, "table1")
            await table.create()
            server.command("CONFIG", "SET", "maxmemory", "1")
            await self.refused(store, table, "out of memory")
            server.command("CONFIG", "SET", "maxmemory", "0")
            await table.add()

    async def test_a_replica(self, server: RedisProcess) -> None:
        async with opened(server.url) as store:
            table = Table(store, "table1")
            await table.create()
            # A primary that is never reached leaves the replica's data as they are.
            server.command("REPLICAOF", "127.0.0.1", "1")
            await self.refused(store, table, "read-only replica")
            server.command("REPLICAOF", "NO", "ONE")
            await table.add()


class TestDurability:
    @pytest.mark.parametrize(
        ("appendonly", "appendfsync", "label"), [("no", "everysec", "memory"), ("yes", "everysec", "os"), ("yes", "always", "disk")]
    )
    async def test_an_ack_claims_what_the_servers_settings_earn(
        self, server: RedisProcess, appendonly: str, appendfsync: str, label: str
    ) -> None:
        server.command("CONFIG", "SET", "appendonly", appendonly)
        server.command("CONFIG", "SET", "appendfsync", appendfsync)
        async with opened(server.url) as store:
            assert store.durability == label
            assert (await Table(store, "table1").create()).durability == label

    async def test_always_means_disk_or_an_error_at_the_start(self, server: RedisProcess) -> None:
        server.command("CONFIG", "SET", "appendfsync", "everysec")
        if server.command("COMMAND", "INFO", "WAITAOF").startswith((b"*1\r\n*-1", b"*1\r\n$-1", b"*1\r\n_")):
            with pytest.raises(StoreUnavailable, match="WAITAOF"):
                await RedisStore(server.url, "always").start()
        else:
            async with opened(server.url, "always", wait_ms=2000) as store:
                assert (await Table(store, "table1").create()).durability == "disk"
        server.command("CONFIG", "SET", "appendfsync", "always")
        async with opened(server.url, "always") as store:
            assert (await Table(store, "table2").create()).durability == "disk"
        server.command("CONFIG", "SET", "appendonly", "no")
        with pytest.raises(StoreUnavailable, match="appendonly"):
            await RedisStore(server.url, "always").start()

    async def test_replicas_are_claimed_only_when_they_answered(self, server: RedisProcess, tmp_path: Path) -> None:
        with RedisProcess(tmp_path / "replica", program=server.program, settings={"appendonly": "no"}) as replica:
            replica.command("REPLICAOF", "127.0.0.1", str(server.port))
            async with asyncio.timeout(20):
                while b"state=online" not in server.command("INFO", "replication"):  # noqa: ASYNC110 - no event to await
                    await asyncio.sleep(0.02)
            async with opened(server.url, "replicas=1", wait_ms=300) as store:
                table = Table(store, "table1")
                await table.create()
                async with asyncio.timeout(20):
                    while (await table.add()).durability != "replicas:1":  # noqa: ASYNC110 - until the replica has caught up
                        await asyncio.sleep(0.02)
                repeated = await store.commit(Commit("table1", table.v - 1, "x" * 16, table.v, table.stamp, b"sent again"))
                assert (repeated.status, repeated.durability) == ("ok", "os")
                replica.pause()
                try:
                    labels = [(await table.add()).durability for _ in range(6)]
                finally:
                    replica.resume()
                assert set(labels) == {"os"}
        async with opened(server.url) as store:
            assert await store.entries("table1", 0) == table.log


async def test_hints_come_back_after_a_restart_with_a_word_that_some_were_missed(server: RedisProcess) -> None:
    async with opened(server.url) as store, opened(server.unix_url) as other:
        table = Table(other, "table1")
        await table.create()
        heard: asyncio.Queue[tuple[str, int]] = asyncio.Queue()
        store.on_hint(lambda session, v: heard.put_nowait((session, v)))
        await store.watch("table1")
        await store.watch("table2")
        server.restart()
        async with asyncio.timeout(20):
            assert await heard.get() == ("", 0)
            # From here on nothing is missed: all channels were confirmed before the word was given.
            await table.add()
            assert await heard.get() == ("table1", 2)
    assert heard.empty()


async def test_a_watch_while_the_server_is_away_is_made_good_later(server: RedisProcess) -> None:
    async with opened(server.url, bound_s=0.5) as store:
        await Table(store, "table1").create()
        heard: asyncio.Queue[tuple[str, int]] = asyncio.Queue()
        store.on_hint(lambda session, v: heard.put_nowait((session, v)))
        server.kill9()
        watching = asyncio.create_task(store.watch("table1"))
        await asyncio.sleep(0)
        server.start()
        async with asyncio.timeout(20):
            await watching
            assert await heard.get() == ("", 0)


async def test_an_unreachable_server_is_named_without_its_password(tmp_path: Path) -> None:
    store = RedisStore(f"unix://someone:hunter2@{tmp_path}/nothing.sock", bound_s=0.2)
    with pytest.raises(StoreUnavailable, match="cannot be reached") as failure:
        await store.start()
    assert "nothing.sock" in failure.value.text
    assert "hunter2" not in failure.value.text
    await store.close()


async def test_a_wrong_password_is_said_at_once_and_not_repeated(tmp_path: Path) -> None:
    with RedisProcess(tmp_path / "closed", settings={"requirepass": "sesame"}) as server:
        address = server.url.removeprefix("redis://")
        with pytest.raises(StoreUnavailable, match="did not accept the user and password") as failure:
            await RedisStore(f"redis://:hunter2@{address}").start()
        assert "hunter2" not in str(failure.value)
        async with opened(f"redis://:sesame@{address}") as store:
            await Table(store, "table1").create()
