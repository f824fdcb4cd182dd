"""Idle sessions leave memory and cost nothing; what is kept for a live one is bounded."""

from __future__ import annotations

import asyncio

import pytest

import engine
from server.app import Server
from server.clock import ManualClock
from server.sessions import acks, fanout, jobs, texts
from server.sessions.acks import Acks
from server.sessions.jobs import Done, Job, Outcome, Refusal
from server.sessions.texts import Bodies, detach
from tests.integration.conftest import Join, MakeTable, StartNode
from tests.integration.raw import eventually

MINUTE = 60_000


async def test_an_idle_session_leaves_nothing_behind_and_comes_back_the_same(
    start_node: StartNode, make_table: MakeTable, seat: Join
) -> None:
    clock = ManualClock(1_750_000_000_000)
    node = await start_node(clock=clock, idle_minutes=1, deadline_sweep_seconds=3600)
    await asyncio.sleep(0)
    kept = await make_table(node)
    watched = await seat(node, kept, "gm")
    tasks = set(asyncio.all_tasks())
    sessions = [await make_table(node) for _ in range(20)]
    before = {}
    for session in sessions:
        actor = await node.registry.get(session)
        outcome = await actor.act("ann", actor.rules.decode({"type": "roll", "notation": "2d20"}), client="a", n=1)
        assert isinstance(outcome, Done)
        before[session] = actor.session
    del actor
    assert len(node.registry.live) == 21
    clock.advance(MINUTE)
    assert await node.registry.sweep() == 20
    assert [actor.id for actor in node.registry.live] == [kept]  # somebody watches this one
    channels = set(node.store._hints._watched)  # type: ignore[attr-defined]
    assert channels == {node.store._keys.session(kept).channel}  # type: ignore[attr-defined]
    assert {task for task in asyncio.all_tasks() if not task.done()} <= tasks
    assert not node.registry._loading
    for session in sessions:
        actor = await node.registry.get(session)
        assert actor.session == before[session]
        again = await actor.act("ann", actor.rules.decode({"type": "roll", "notation": "2d20"}), client="a", n=1)
        assert again == Done(2, "", again=True)
    assert (await watched.do(kept, "g.1", {"type": "chat", "text": "still here"}))["t"] == "ack"


async def test_a_session_in_use_does_not_leave(start_node: StartNode, make_table: MakeTable) -> None:
    clock = ManualClock(1_750_000_000_000)
    node = await start_node(clock=clock, idle_minutes=1)
    session = await make_table(node)
    actor = await node.registry.get(session)
    clock.advance(MINUTE - 1)
    assert await node.registry.get(session) is actor  # somebody asked
    clock.advance(1)
    assert await node.registry.sweep() == 0
    clock.advance(MINUTE)
    working = asyncio.create_task(actor.act("ann", actor.rules.decode({"type": "roll", "notation": "1d6"}), client="a", n=1))
    await asyncio.sleep(0)
    clock.advance(MINUTE)
    assert await node.registry.sweep() == 0  # its commit is under way
    assert isinstance(await working, Done)


async def test_who_holds_an_actor_that_left_is_told_to_send_again(start_node: StartNode, make_table: MakeTable) -> None:
    clock = ManualClock(1_750_000_000_000)
    node = await start_node(clock=clock, idle_minutes=1)
    session = await make_table(node)
    old = await node.registry.get(session)
    clock.advance(MINUTE)
    assert await node.registry.sweep() == 1
    outcome = await old.act("ann", old.rules.decode({"type": "roll", "notation": "1d6"}), client="a", n=1)
    assert isinstance(outcome, Refusal)
    assert (outcome.code, outcome.retry_after is not None) == ("unavailable", True)
    new = await node.registry.get(session)
    assert isinstance(await new.act("ann", new.rules.decode({"type": "roll", "notation": "1d6"}), client="a", n=1), Done)


async def test_many_who_want_a_session_at_once_load_it_once(node: Server, make_table: MakeTable, monkeypatch: pytest.MonkeyPatch) -> None:
    session = await make_table(node)
    await node.registry.close()
    node.registry._closing = False
    loads = 0
    original = node.store.load

    async def counted(wanted: str) -> object:
        nonlocal loads
        loads += 1
        return await original(wanted)

    monkeypatch.setattr(node.store, "load", counted)
    found = await asyncio.gather(*(node.registry.get(session) for _ in range(20)))
    assert loads == 1
    assert all(actor is found[0] for actor in found)


async def test_a_session_that_is_not_there_leaves_no_subscription(node: Server) -> None:
    from server.sessions.actor import SessionGone

    for _ in range(3):
        with pytest.raises(SessionGone):
            await node.registry.get("k3v9mq2w7rt5xyab")
    await eventually(lambda: not node.store._hints._watched)  # type: ignore[attr-defined]


async def test_a_deleted_session_is_gone_for_those_who_sit_there(node: Server, make_table: MakeTable, seat: Join) -> None:
    session = await make_table(node)
    ann = await seat(node, session, "ann")
    await node.store.delete(session)
    refused = await ann.do(session, "a.1", {"type": "chat", "text": "x"})
    assert refused["code"] == "no_session"
    errors = [message for message in ann.seen if message["t"] == "error"]
    assert sum(message.get("id") == "a.1" for message in errors) == 1
    assert not node.registry.live
    assert (await ann.join(session))["code"] == "no_session"


async def test_closing_a_connection_ends_its_task_and_its_seats(node: Server, make_table: MakeTable, seat: Join) -> None:
    session = await make_table(node)
    clients = [await seat(node, session, "ann") for _ in range(5)]
    actor = await node.registry.get(session)
    assert len(actor.fanout) == 5
    for client in clients[:4]:
        await client.close()
    clients[4].socket._conn.transport.abort()  # type: ignore[union-attr]
    await eventually(lambda: not node.sockets)
    assert len(actor.fanout) == 0
    assert not node.tokens._held
    assert node.limits.connections("127.0.0.1") == 0


# --- bounds ---------------------------------------------------------------------------------------------------------------------


async def test_the_mailbox_takes_so_many_and_refuses_more(node: Server, make_table: MakeTable) -> None:
    session = await make_table(node)
    actor = await node.registry.get(session)
    outcomes: list[Outcome] = []
    command = actor.rules.decode({"type": "roll", "notation": "1d6"})
    extra = 10
    for n in range(1, jobs.MAILBOX + extra + 2):
        actor.submit(Job(by="ann", command=command, reply=outcomes.append, client="a", n=n))
    assert len(actor._mailbox) == jobs.MAILBOX
    refused = [one for one in outcomes if isinstance(one, Refusal)]
    assert [one.code for one in refused] == ["rate_limited"] * extra
    await actor.settled()
    assert len(outcomes) == jobs.MAILBOX + extra + 1
    assert sum(isinstance(one, Done) for one in outcomes) == jobs.MAILBOX + 1


async def test_the_ring_is_bounded_in_entries_and_in_bytes(start_node: StartNode, make_table: MakeTable) -> None:
    node = await start_node(ring=1000)
    session = await make_table(node)
    actor = await node.registry.get(session)
    zones = [{"id": f"z{i}", "name": "n" * 100, "tags": ["t" * 100] * 5} for i in range(80)]
    for n in range(70):
        command = actor.rules.decode({"type": "gm.scene", "scene": "s", "name": f"{n}", "zones": zones})
        assert isinstance(await actor.act("gm", command), Done)
    sizes = [item.size for item in actor.fanout.ring]
    assert sizes
    assert sum(sizes) <= fanout.RING_BYTES
    assert len(sizes) < 70
    assert sizes == [len(engine.encode_entry(item.entry)) for item in actor.fanout.ring]


def test_texts_in_memory_are_bounded_in_number_and_size() -> None:
    bodies = Bodies()
    for n in range(3 * texts.MAX_KEPT):
        bodies.put(str(n), "x")
    assert len(bodies) == texts.MAX_KEPT
    for n in range(300):
        bodies.put(f"long {n}", "x" * 16_000)
    assert sum(len(body or "") for body in bodies._kept.values()) <= texts.MAX_CHARS
    bodies.put("one", "x" * (2 * texts.MAX_CHARS))
    assert bodies.get("one") is not None  # about to be shown
    bodies.put("one", None)
    assert bodies.get("one") is None
    assert bodies.missing(["one"]) == []  # known to be erased
    assert bodies._chars == sum(len(body or "") for body in bodies._kept.values())


def test_acks_in_memory_are_bounded_in_clients_and_per_client() -> None:
    memory = Acks()
    for client in range(2 * acks.CLIENTS):
        memory.load(f"c{client}", 0, {})
    assert len(memory._clients) == acks.CLIENTS
    last = f"c{2 * acks.CLIENTS - 1}"
    for n in range(1, 200):
        memory.record(last, n, n + 1)
    assert memory.find(last, 199) == 200
    assert memory.find(last, 199 - acks.KEPT) == 0
    assert memory.find(last, 200) is None


async def test_an_erased_text_is_told_as_erased_from_then_on(node: Server, make_table: MakeTable, seat: Join) -> None:
    session = await make_table(node)
    ann = await seat(node, session, "ann")
    start = ann.tables[session].resume
    ack = await ann.do(session, "a.1", {"type": "chat", "text": "regrets"})
    [event] = ann.tables[session].frames[-1]["events"]
    actor = await node.registry.get(session)
    assert await actor.erase(event["body_id"])
    back = await seat(node, session, "ann", resume=start)
    frame = await back.until(lambda message: message["t"] == "frame" and message["v"] == ack["v"])
    assert (frame["events"][0]["body"], frame["events"][0]["erased"]) == (None, True)
    page = await back.ask("history", session)
    assert (page["frames"][-1]["events"][0]["body"], page["frames"][-1]["events"][0]["erased"]) == (None, True)
    assert not await actor.erase(event["body_id"])


async def test_snapshots_bound_what_a_load_has_to_read(start_node: StartNode, make_table: MakeTable) -> None:
    node = await start_node(snapshot_every=10)
    session = await make_table(node)
    actor = await node.registry.get(session)
    for n in range(1, 96):
        command, stored = detach(actor.rules.decode({"type": "chat", "text": str(n)}))
        await actor.act("ann", command, client="a", n=n, texts=stored)
    loaded = await node.store.load(session)
    assert loaded is not None
    assert loaded.snapshot is not None
    assert len(loaded.entries) < 10
    # A snapshot that cannot be read costs time, not the table.
    await node.store._redis.set(node.store._keys.session(session).snap, b"\x00rubbish")  # type: ignore[attr-defined]
    fresh = await start_node(node.store.__class__(node.store._server))  # type: ignore[call-arg, attr-defined]
    assert (await fresh.registry.get(session)).session == actor.session
