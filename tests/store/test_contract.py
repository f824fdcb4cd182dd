"""What every store promises, whatever it runs on (see server/store/base.py)."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from server.store.base import Commit, StoreUnavailable
from server.store.memory import MemoryStore
from server.store.redis import RedisStore
from tests.store.conftest import Node
from tests.store.steps import Table, mark


@pytest.fixture
async def table(store: RedisStore) -> Table:
    table = Table(store, "table1")
    await table.create()
    return table


async def everything(store: RedisStore, session: str) -> object:
    """All a session holds, to show that nothing changed."""
    return (
        await store.load(session),
        await store.entries(session, 0),
        await store.acks(session, "ann/c1"),
        await store.texts(session, ["t"]),
    )


class TestCreate:
    async def test_a_created_session_loads_as_it_was_given(self, store: RedisStore) -> None:
        commit = Commit("s", 0, "", 1, mark(), bytes(range(256)), snapshot=b"\xc1\x00snap", meta=(("epoch", "e0"), ("due", "")))
        assert (await store.create(commit, seed=b"\x00\xff")).status == "ok"
        loaded = await store.load("s")
        assert loaded is not None
        assert loaded.snapshot == (1, b"\xc1\x00snap")
        assert loaded.entries == []
        assert {"epoch": "e0", "due": "", "v": "1", "stamp": commit.stamp}.items() <= loaded.meta.items()
        assert await store.entries("s", 0) == [(1, bytes(range(256)))]
        assert await store.seed("s") == b"\x00\xff"

    async def test_an_existing_session_is_not_replaced(self, store: RedisStore, table: Table) -> None:
        before = await everything(store, "table1")
        rival = Commit("table1", 0, "", 1, mark(), b"rival", snapshot=b"rival")
        answer = await store.create(rival, seed=b"rival")
        assert (answer.status, answer.v, answer.stamp) == ("conflict", 1, table.stamp)
        assert await everything(store, "table1") == before
        assert await store.seed("table1") == b"seed"

    async def test_the_seed_is_nowhere_but_under_its_own_name(self, store: RedisStore) -> None:
        table = Table(store, "s")
        await table.create(seed=b"the secret seed")
        await table.add()
        assert b"the secret seed" not in repr(await everything(store, "s")).encode()
        assert await store.seed("s") == b"the secret seed"
        assert await store.seed("unknown") is None

    async def test_only_create_makes_a_session(self, store: RedisStore) -> None:
        answer = await store.commit(Commit("nobody", 1, mark(), 2, mark(), b"x"))
        assert answer.status == "missing"
        assert await store.load("nobody") is None
        assert await store.top("nobody") is None
        with pytest.raises(ValueError, match="create"):
            store.commit(Commit("nobody", 0, "", 1, mark(), b"x"))


class TestCommit:
    async def test_steps_are_numbered_without_gaps_and_kept_in_order(self, store: RedisStore, table: Table) -> None:
        for _ in range(5):
            await table.add()
        assert await store.entries("table1", 0) == table.log
        assert [v for v, _ in table.log] == [1, 2, 3, 4, 5, 6]
        assert await store.top("table1") == (6, table.stamp)

    async def test_a_part_of_the_log_can_be_read_from_either_side(self, store: RedisStore, table: Table) -> None:
        for _ in range(9):
            await table.add()
        log = table.log
        assert await store.entries("table1", 4, 3) == log[4:7]
        assert await store.entries("table1", 10) == []
        assert await store.entries("table1", 0, 0) == []
        assert await store.entries_before("table1", 4, 2) == [log[2], log[1]]
        assert await store.entries_before("table1", 1) == []
        assert await store.entries_before("table1", 99) == log[::-1]
        assert await store.entries("unknown", 0) == []

    @pytest.mark.parametrize("which", ["behind", "ahead", "other stamp"])
    async def test_a_step_on_anything_but_the_exact_top_changes_nothing(self, store: RedisStore, table: Table, which: str) -> None:
        await table.add(client="ann/c1", n=1, texts=(("t", b"hello"),))
        before = await everything(store, "table1")
        base_v, base_stamp = {"behind": (1, table.stamp), "ahead": (3, table.stamp), "other stamp": (2, mark())}[which]
        loser = Commit("table1", base_v, base_stamp, base_v + 1, mark(), b"x", "ann/c1", 2, b"snap", (("due", "1"),), (("t", b"x"),))
        answer = await store.commit(loser)
        assert (answer.status, answer.v, answer.stamp) == ("conflict", 2, table.stamp)
        assert await everything(store, "table1") == before

    async def test_of_two_nodes_on_the_same_top_exactly_one_wins(self, store: RedisStore, other: RedisStore, table: Table) -> None:
        for _ in range(20):
            mine, theirs = table.next(), table.next()
            answers = await asyncio.gather(store.commit(mine), other.commit(theirs))
            winner, loser = (mine, answers[1]) if answers[0].status == "ok" else (theirs, answers[0])
            assert sorted(answer.status for answer in answers) == ["conflict", "ok"]
            assert (loser.v, loser.stamp) == (winner.v, winner.stamp)
            table.took(winner)
        assert await other.entries("table1", 0) == table.log

    async def test_the_very_same_step_sent_again_is_told_it_is_there(self, store: RedisStore, table: Table) -> None:
        """A lost reply must not turn an accepted step into a refused one, even when others have built on it since."""
        for client in ("ann/c1", None):
            step = table.next(client=client, n=1)
            assert (await store.commit(step)).status == "ok"
            table.took(step)
            assert (await store.commit(step)).status == "ok"
            await table.add()
            assert (await store.commit(step)).status == "ok"
        assert await store.entries("table1", 0) == table.log

    async def test_an_archived_session_takes_no_step_but_knows_its_actions(self, store: RedisStore, table: Table) -> None:
        await table.add(client="ann/c1", n=1)
        await store.set_meta("table1", {"archived": "1"})
        assert (await store.commit(table.next())).status == "archived"
        again = await store.commit(table.next(client="ann/c1", n=1))
        assert (again.status, again.v) == ("duplicate", 2)
        await store.set_meta("table1", {"archived": ""})
        await table.add()

    @pytest.mark.parametrize(
        "change",
        [
            {"v": 3},
            {"base_v": -1, "v": 0},
            {"stamp": ""},
            {"entry": b""},
            {"client": ""},
            {"n": -1},
            {"meta": (("v", "9"),)},
            {"session": "a}b"},
        ],
        ids=lambda change: ",".join(change),
    )
    async def test_a_malformed_commit_is_refused_before_it_is_sent(
        self, store: RedisStore, table: Table, change: dict[str, object]
    ) -> None:
        with pytest.raises(ValueError):
            store.commit(msgspec.structs.replace(table.next(client="ann/c1", n=1), **change))
        assert await store.top("table1") == (1, table.stamp)


class TestActionIds:
    async def test_an_action_happens_once_and_is_answered_with_its_first_version(self, store: RedisStore, table: Table) -> None:
        await table.add(client="ann/c1", n=7, texts=(("t", b"first"),))
        await table.add()
        before = await everything(store, "table1")
        again = await store.commit(table.next(client="ann/c1", n=7, snapshot=b"x", meta=(("due", "5"),), texts=(("t", b"second"),)))
        assert (again.status, again.v) == ("duplicate", 2)
        assert await everything(store, "table1") == before

    async def test_a_repeated_action_on_a_stale_top_is_still_a_duplicate(self, store: RedisStore, table: Table) -> None:
        stale = table.next(client="ann/c1", n=1)
        await table.add(client="ann/c1", n=1)
        await table.add()
        answer = await store.commit(stale)
        assert (answer.status, answer.v) == ("duplicate", 2)

    async def test_the_last_64_actions_are_remembered_and_older_ones_are_too_old(self, store: RedisStore, table: Table) -> None:
        numbers = range(10, 10 + 66 * 3, 3)
        versions = {}
        for n in numbers:
            versions[n] = (await table.add(client="ann/c1", n=n)).v
        last, acks = await store.acks("table1", "ann/c1")
        assert last == numbers[-1]
        assert acks == {n: versions[n] for n in numbers[-64:]}
        oldest_known = await store.commit(table.next(client="ann/c1", n=numbers[2]))
        assert (oldest_known.status, oldest_known.v) == ("duplicate", versions[numbers[2]])
        for forgotten in (numbers[0], numbers[1]):
            assert (await store.commit(table.next(client="ann/c1", n=forgotten))).status == "too_old"
        assert await store.top("table1") == (table.v, table.stamp)

    async def test_a_number_that_was_skipped_cannot_be_used_later(self, store: RedisStore, table: Table) -> None:
        await table.add(client="ann/c1", n=11)
        for skipped in (1, 10):
            assert (await store.commit(table.next(client="ann/c1", n=skipped))).status == "too_old"

    async def test_a_refused_step_uses_up_no_action_id(self, store: RedisStore, table: Table) -> None:
        stale = table.next(client="ann/c1", n=1)
        await table.add()
        assert (await store.commit(stale)).status == "conflict"
        assert (await table.add(client="ann/c1", n=1)).v == 3

    async def test_clients_count_for_themselves(self, store: RedisStore, table: Table) -> None:
        for client in ("ann/c1", "bob/c1", "ann/c2"):
            await table.add(client=client, n=1)
        assert await store.acks("table1", "bob/c1") == (1, {1: 3})
        assert await store.acks("table1", "eve/c1") == (0, {})

    async def test_large_numbers_stay_exact(self, store: RedisStore, table: Table) -> None:
        n = 2**53 - 1
        await table.add(client="ann/c1", n=n - 1)
        await table.add(client="ann/c1", n=n)
        assert await store.acks("table1", "ann/c1") == (n, {n - 1: 2, n: 3})
        assert (await store.commit(table.next(client="ann/c1", n=n - 1))).v == 2


class TestLoad:
    async def test_a_load_is_the_newest_snapshot_and_what_came_after(self, store: RedisStore, table: Table) -> None:
        await table.add()
        await table.add(snapshot=b"snapshot 3", meta=(("due", "99"),))
        await table.add()
        await table.add()
        loaded = await store.load("table1")
        assert loaded is not None
        assert loaded.snapshot == (3, b"snapshot 3")
        assert list(loaded.entries) == table.log[3:]
        assert {"v": "5", "stamp": table.stamp, "due": "99", "epoch": "e0"}.items() <= loaded.meta.items()

    async def test_a_session_without_snapshot_loads_its_whole_log(self, store: RedisStore) -> None:
        table = Table(store, "bare")
        first = table.next()
        await store.create(first, seed=b"s")
        table.took(first)
        await table.add()
        loaded = await store.load("bare")
        assert loaded is not None
        assert loaded.snapshot is None
        assert list(loaded.entries) == table.log

    async def test_a_load_during_play_never_mixes_two_moments(self, store: RedisStore, other: RedisStore, table: Table) -> None:
        async def play() -> None:
            for i in range(60):
                v = table.v + 1
                await table.add(snapshot=f"snapshot {v}".encode() if i % 3 == 0 else None)

        playing = asyncio.create_task(play())
        seen = set()
        while not playing.done():
            loaded = await other.load("table1")
            assert loaded is not None
            assert loaded.snapshot is not None
            v, snapshot = loaded.snapshot
            assert snapshot == f"snapshot {v}".encode()
            assert [at for at, _ in loaded.entries] == list(range(v + 1, int(loaded.meta["v"]) + 1))
            seen.add(loaded.meta["v"])
        await playing
        assert len(seen) > 1

    async def test_meta_belongs_to_sessions_that_exist(self, store: RedisStore, table: Table) -> None:
        await store.set_meta("table1", {"noticed_v": "3", "waiting": "ann"})
        loaded = await store.load("table1")
        assert loaded is not None
        assert loaded.meta["noticed_v"] == "3"
        await store.set_meta("ghost", {"noticed_v": "3"})
        assert await store.load("ghost") is None
        assert (await store.sessions())[0] == ["table1"]
        with pytest.raises(ValueError, match="stamp"):
            await store.set_meta("table1", {"stamp": "x"})


class TestTexts:
    async def test_a_text_can_be_read_and_erased_for_good(self, store: RedisStore, table: Table) -> None:
        await table.add(texts=(("t1", "Grüße".encode()), ("t2", b"")))
        assert await store.texts("table1", ["t1", "t2", "t3", "t1"]) == {"t1": "Grüße".encode(), "t2": b"", "t3": None}
        assert await store.erase_text("table1", "t1") is True
        assert await store.erase_text("table1", "t1") is False
        assert await store.texts("table1", ["t1", "t2"]) == {"t1": None, "t2": b""}
        assert await store.texts("table1", []) == {}


class TestSessions:
    async def test_every_session_is_listed_over_pages(self, store: RedisStore) -> None:
        names = {f"table-{i}" for i in range(30)}
        for name in names:
            await Table(store, name).create()
        listed: list[str] = []
        cursor = ""
        while True:
            page, cursor = await store.sessions(cursor, 7)
            listed += page
            if not cursor:
                break
        assert set(listed) == names

    async def test_a_deleted_session_leaves_nothing_behind(self, store: RedisStore, table: Table) -> None:
        await table.add(client="ann/c1", n=1, texts=(("t", b"x"),), meta=(("due", "5"),))
        await store.set_due("table1", 5)
        assert await store.delete("table1") is True
        assert await store.delete("table1") is False
        assert await store.load("table1") is None
        assert await store.entries("table1", 0) == []
        assert await store.seed("table1") is None
        assert await store.acks("table1", "ann/c1") == (0, {})
        assert await store.texts("table1", ["t"]) == {"t": None}
        assert await store.due(10) == []
        assert await store.sessions() == ([], "")
        assert (await store.commit(table.next())).status == "missing"
        await Table(store, "table1").create()


class TestDeadlines:
    async def test_sessions_come_due_in_order_of_their_deadlines(self, store: RedisStore) -> None:
        dues = {f"table{i}": 1000 - i for i in range(40)}
        for session, due in dues.items():
            await Table(store, session).create(meta=(("due", str(due)),))
            await store.set_due(session, due)
        assert await store.due(960) == []
        assert await store.due(961) == ["table39"]
        assert await store.due(970, limit=4) == ["table39", "table38", "table37", "table36"]
        assert len(await store.due(5000)) == 40
        await store.set_meta("table39", {"due": ""})
        await store.set_due("table39", None)
        assert (await store.due(5000))[0] == "table38"

    async def test_the_meta_field_wins_over_a_late_word_of_another_node(self, store: RedisStore, table: Table) -> None:
        await table.add(meta=(("due", "200"),))
        await store.set_due("table1", 200)
        await store.set_due("table1", 100)
        assert await store.due(199) == []
        assert await store.due(200) == ["table1"]

    async def test_repair_rebuilds_what_was_lost_or_is_wrong(self, store: RedisStore) -> None:
        for session, due in (("right", "10"), ("lost", "20"), ("none", ""), ("gone", "30"), ("wrong", "40")):
            await Table(store, session).create(meta=(("due", due),))
            if due and session != "lost":
                await store.set_due(session, int(due))
        await store.set_meta("wrong", {"due": "50"})
        index = await store.due(1000)
        assert index == ["right", "gone", "wrong"]
        await store.delete("gone")
        await store.set_due("gone", 30)
        assert await store.repair_due() == 3
        assert await store.due(1000) == ["right", "lost", "wrong"]
        assert await store.due(49) == ["right", "lost"]
        assert await store.repair_due() == 0


class TestSmallValues:
    async def test_a_value_is_kept_until_it_is_dropped(self, store: RedisStore) -> None:
        assert await store.get("k") is None
        await store.put("k", b"\x00\xff")
        await store.put("k", b"new")
        assert await store.get("k") == b"new"
        assert await store.drop("k") is True
        assert await store.drop("k") is False
        assert await store.get("k") is None

    async def test_of_many_takers_exactly_one_gets_it(self, store: RedisStore, other: RedisStore) -> None:
        await store.put("invite", b"seat")
        taken = await asyncio.gather(*((store, other)[i % 2].take("invite") for i in range(20)))
        assert [value for value in taken if value is not None] == [b"seat"]
        assert await store.get("invite") is None

    async def test_a_value_with_a_lifetime_goes_away(self, store: RedisStore) -> None:
        await store.put("lease", b"x", ttl_ms=30)
        await store.put("long", b"y", ttl_ms=3_600_000)
        async with asyncio.timeout(10):
            while await store.get("lease") is not None:  # noqa: ASYNC110 - an expiry rings no bell
                await asyncio.sleep(0.01)
        assert await store.get("long") == b"y"


class TestHints:
    async def test_a_watcher_hears_of_commits_by_any_node_and_of_no_other_session(
        self, store: RedisStore, other: RedisStore, table: Table
    ) -> None:
        heard: asyncio.Queue[tuple[str, int]] = asyncio.Queue()
        store.on_hint(lambda session, v: heard.put_nowait((session, v)))
        await store.watch("table1")
        unwatched = Table(other, "table2")
        await unwatched.create()
        table.store = other
        await table.add()
        async with asyncio.timeout(10):
            assert await heard.get() == ("table1", 2)
        await store.unwatch("table1")
        await store.watch("table2")
        await table.add()
        await unwatched.add()
        async with asyncio.timeout(10):
            assert await heard.get() == ("table2", 2)

    async def test_a_failing_callback_silences_no_other(self, store: RedisStore, table: Table) -> None:
        heard: asyncio.Queue[int] = asyncio.Queue()

        def fails(session: str, v: int) -> None:
            raise RuntimeError("a bug in a reader")

        store.on_hint(fails)
        store.on_hint(lambda session, v: heard.put_nowait(v))
        await store.watch("table1")
        await table.add()
        await table.add()
        async with asyncio.timeout(10):
            assert [await heard.get(), await heard.get()] == [2, 3]


class TestGroupCommit:
    async def test_commits_of_many_sessions_share_round_trips(self, store: RedisStore) -> None:
        tables = [Table(store, f"table{i}") for i in range(100)]
        await asyncio.gather(*(table.create() for table in tables))
        before = store.pipeline.round_trips
        first = tables[0].next()
        pending = [store.commit(first)]
        await asyncio.sleep(0)  # the first one is on its way, alone
        await asyncio.sleep(0)
        pending += [store.commit(table.next()) for table in tables[1:]]
        answers = await asyncio.gather(*pending)
        assert {answer.status for answer in answers} == {"ok"}
        assert store.pipeline.round_trips - before == 2

    async def test_a_commit_outlives_its_cancelled_caller(self, store: RedisStore, table: Table) -> None:
        step = table.next(client="ann/c1", n=1)

        async def caller() -> None:
            await store.commit(step)

        task = asyncio.create_task(caller())
        await asyncio.sleep(0)  # it has been handed over
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        # Commits keep their order, so this answer comes after the other's fate is sealed.
        again = await store.commit(table.next(client="ann/c1", n=1))
        assert (again.status, again.v) == ("duplicate", 2)
        assert await store.top("table1") == (2, step.stamp)

    async def test_a_closing_store_finishes_what_it_was_given_and_takes_nothing_more(self, node: Node, other: RedisStore) -> None:
        table = Table(other, "table1")
        await table.create()
        step = table.next()
        answer = other.commit(step)
        await other.close()
        assert (await answer).status == "ok"
        with pytest.raises(StoreUnavailable, match="closed"):
            await other.commit(table.next())
        assert await node.store.top("table1") == (2, step.stamp)


async def test_a_full_queue_refuses_at_once_and_keeps_its_promises() -> None:
    store = MemoryStore(queue_limit=3)
    await store.start()
    tables = [Table(store, f"table{i}") for i in range(5)]
    for table in tables:
        await table.create()
    answers = await asyncio.gather(*(store.commit(table.next()) for table in tables), return_exceptions=True)
    assert [getattr(answer, "status", None) for answer in answers[:3]] == ["ok"] * 3
    assert all(isinstance(answer, StoreUnavailable) for answer in answers[3:])
    assert [await store.top(table.session) for table in tables[3:]] == [(1, table.stamp) for table in tables[3:]]
    await store.close()


async def test_a_store_that_was_not_started_says_so(node: Node) -> None:
    with pytest.raises(StoreUnavailable, match="started"):
        await node.another().load("table1")
