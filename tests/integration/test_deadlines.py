"""Deadlines: taken on time, once, by any node, and never charged for time in which nobody could act."""

from __future__ import annotations

import asyncio

import pytest
from fakeredis import FakeServer

import engine
from engine.commands import GmPause
from server.app import Server
from server.clock import ManualClock
from server.sessions.actor import Actor
from server.sessions.jobs import Done
from server.store.memory import MemoryStore
from tests.integration.conftest import Join, MakeTable, StartNode

START_MS = 1_750_000_000_000
MINUTE = 60_000
HOUR = 60 * MINUTE


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(START_MS)


@pytest.fixture
def shared() -> FakeServer:
    return FakeServer()


async def start(start_node: StartNode, shared: FakeServer, clock: ManualClock) -> Server:
    # Its own sweeps are an hour apart: the tests say when.
    return await start_node(MemoryStore(shared), clock, deadline_sweep_seconds=3600)


async def ask(node: Server, session: str) -> str:
    """Have the tollman asked whether he parries; the id of the open question."""
    actor = await node.registry.get(session)

    async def do(by: str, **command: object) -> None:
        outcome = await actor.act(by, actor.rules.decode(command))
        assert isinstance(outcome, Done), outcome

    await do("gm", type="gm.move", combatant="c1", scene="mill", zone="yard", near=["c3"])
    await do("ann", type="attack", combatant="c1", target="c3")
    [prompt] = [one for one in actor.session.prompts.values() if one.answer is None]
    return prompt.id


async def pass_time(clock: ManualClock, ms: int, *nodes: Server) -> int:
    """Let time pass as it does in a running server, swept every half minute; how many deadlines were acted on."""
    fired = 0
    while ms > 0:
        clock.advance(min(ms, MINUTE // 2))
        ms -= MINUTE // 2
        for node in nodes:
            fired += await node.sweeper.sweep()
    return fired


def passed(session: list[engine.Entry]) -> list[str]:
    return [event.data["prompt"] for entry in session for event in entry.events if event.type == "deadline.passed"]


async def log_of(node: Server, session: str) -> list[engine.Entry]:
    return [engine.decode_entry(data) for _, data in await node.store.entries(session, 0, 100_000)]


async def test_a_default_is_taken_when_its_time_comes_and_not_before(
    start_node: StartNode, shared: FakeServer, clock: ManualClock, make_table: MakeTable, seat: Join
) -> None:
    node = await start(start_node, shared, clock)
    session = await make_table(node, settings={"deadline.parry": 5})
    gm = await seat(node, session, "gm")
    prompt = await ask(node, session)
    assert await pass_time(clock, 5 * MINUTE - 1, node) == 0
    assert passed(await log_of(node, session)) == []
    clock.advance(1)
    assert await node.sweeper.sweep() == 1
    actor = await node.registry.get(session)
    assert passed(await log_of(node, session)) == [prompt]
    await gm.at(session, actor.session.v)
    told = [event for frame in gm.tables[session].frames for event in frame.get("events", ())]
    assert [event["prompt"] for event in told if event["type"] == "deadline.passed"] == [prompt]
    assert [event["parry"] for event in told if event["type"] == "duel.cross"] == [False]  # the default: no parry
    assert await pass_time(clock, 10 * MINUTE, node) == 0


async def test_two_nodes_that_sweep_at_once_act_once(
    start_node: StartNode, shared: FakeServer, clock: ManualClock, make_table: MakeTable
) -> None:
    nodes = [await start(start_node, shared, clock) for _ in range(2)]
    sessions = [await make_table(nodes[0], settings={"deadline.prompt": 1}) for _ in range(5)]
    prompts = {session: await ask(nodes[i % 2], session) for i, session in enumerate(sessions)}
    for session in sessions:
        for node in nodes:
            await node.registry.get(session)
    clock.advance(MINUTE)
    fired = await asyncio.gather(*(node.sweeper.sweep() for node in nodes for _ in range(2)))
    assert sum(fired) == 5
    for session in sessions:
        assert passed(await log_of(nodes[0], session)) == [prompts[session]]


async def test_a_turn_that_takes_too_long_ends(
    start_node: StartNode, shared: FakeServer, clock: ManualClock, make_table: MakeTable
) -> None:
    node = await start(start_node, shared, clock)
    session = await make_table(node, settings={"deadline.turn": 2})
    actor = await node.registry.get(session)
    [encounter] = actor.session.encounters.values()
    first, turn = encounter.current, encounter.turn
    assert await pass_time(clock, 2 * MINUTE, node) == 1
    now = actor.session.encounters[encounter.id]
    assert (now.turn, now.current) == (turn + 1, encounter.order[(encounter.order.index(first) + 1) % len(encounter.order)])
    assert await pass_time(clock, 2 * MINUTE, node) == 1  # the next one has its own
    assert actor.session.encounters[encounter.id].turn == turn + 2


async def test_deadlines_outlive_a_server_that_is_back_in_time(
    start_node: StartNode, shared: FakeServer, clock: ManualClock, make_table: MakeTable
) -> None:
    first = await start(start_node, shared, clock)
    session = await make_table(first, settings={"deadline.prompt": 60})
    prompt = await ask(first, session)
    await first.stop()
    clock.advance(MINUTE // 2)
    second = await start(start_node, shared, clock)
    assert not second.registry.live
    assert await pass_time(clock, 59 * MINUTE, second) == 0
    assert await pass_time(clock, MINUTE, second) == 1
    assert passed(await log_of(second, session)) == [prompt]


async def test_a_deadline_that_fell_into_a_downtime_moves_back_by_its_length(
    start_node: StartNode, shared: FakeServer, clock: ManualClock, make_table: MakeTable
) -> None:
    """Ten minutes were left when the server went down for three hours: ten minutes and what it was away are left after it."""
    first = await start(start_node, shared, clock)
    session = await make_table(first, settings={"deadline.prompt": 20})
    prompt = await ask(first, session)
    due = engine.due((await first.registry.get(session)).session)
    assert due == START_MS + 20 * MINUTE
    await pass_time(clock, 10 * MINUTE, first)
    await first.stop()
    clock.advance(3 * HOUR)
    nodes = [await start(start_node, shared, clock) for _ in range(2)]
    assert sum(await asyncio.gather(*(node.sweeper.sweep() for node in nodes))) == 0
    for node in nodes:
        actor = await node.registry.get(session)
        await actor.look()
        assert engine.due(actor.session) == due + 3 * HOUR
    extended = [entry for entry in await log_of(nodes[0], session) if entry.command["type"] == "system.extend"]
    assert len(extended) == 1  # though both nodes found it
    assert await pass_time(clock, 10 * MINUTE - 1, *nodes) == 0
    assert await pass_time(clock, 1, *nodes) == 1
    assert passed(await log_of(nodes[0], session)) == [prompt]


async def test_a_server_that_dies_between_finding_a_downtime_and_acting_on_it_loses_nothing(
    start_node: StartNode, shared: FakeServer, clock: ManualClock, make_table: MakeTable
) -> None:
    first = await start(start_node, shared, clock)
    session = await make_table(first, settings={"deadline.prompt": 20})
    await ask(first, session)
    await first.stop()
    clock.advance(3 * HOUR)
    await (await start(start_node, shared, clock)).stop()  # started, never swept
    third = await start(start_node, shared, clock)
    assert await third.sweeper.sweep() == 0
    assert passed(await log_of(third, session)) == []


async def test_a_clock_set_forward_fires_nothing(
    start_node: StartNode, shared: FakeServer, clock: ManualClock, make_table: MakeTable
) -> None:
    node = await start(start_node, shared, clock)
    session = await make_table(node, settings={"deadline.prompt": 20})
    prompt = await ask(node, session)
    await node.sweeper.sweep()
    clock.jump(clock.now_ms() + 24 * HOUR)
    assert await node.sweeper.sweep() == 0
    assert await pass_time(clock, 20 * MINUTE, node) == 1
    assert passed(await log_of(node, session)) == [prompt]


async def test_a_clock_set_back_only_makes_it_later(
    start_node: StartNode, shared: FakeServer, clock: ManualClock, make_table: MakeTable
) -> None:
    node = await start(start_node, shared, clock)
    session = await make_table(node, settings={"deadline.prompt": 2})
    prompt = await ask(node, session)
    clock.jump(clock.now_ms() - 10 * MINUTE)
    assert await pass_time(clock, 10 * MINUTE, node) == 0
    assert await pass_time(clock, 2 * MINUTE, node) == 1
    assert passed(await log_of(node, session)) == [prompt]


async def test_while_paused_no_time_runs(start_node: StartNode, shared: FakeServer, clock: ManualClock, make_table: MakeTable) -> None:
    node = await start(start_node, shared, clock)
    session = await make_table(node, settings={"deadline.prompt": 4})
    await ask(node, session)
    actor: Actor = await node.registry.get(session)
    await pass_time(clock, MINUTE, node)
    await actor.act("gm", GmPause(on=True))
    assert await pass_time(clock, 30 * MINUTE, node) == 0
    await actor.act("gm", GmPause(on=False))
    assert await pass_time(clock, 3 * MINUTE - 1, node) == 0
    assert await pass_time(clock, 1, node) == 1


async def test_a_lost_index_is_found_again_from_the_sessions(
    start_node: StartNode, shared: FakeServer, clock: ManualClock, make_table: MakeTable
) -> None:
    first = await start(start_node, shared, clock)
    session = await make_table(first, settings={"deadline.prompt": 5})
    prompt = await ask(first, session)
    await first.registry.close()
    for bucket in first.store._keys.due:  # type: ignore[attr-defined]
        await first.store._redis.delete(bucket)  # type: ignore[attr-defined]
    assert await first.store.due(clock.now_ms() + HOUR) == []
    second = await start(start_node, shared, clock)
    async with asyncio.timeout(20):  # a server compares the index with the sessions when it starts
        while await second.store.due(clock.now_ms() + HOUR) != [session]:
            pass
    assert await pass_time(clock, 5 * MINUTE, second) == 1
    assert passed(await log_of(second, session)) == [prompt]


async def test_an_answer_in_time_leaves_nothing_to_do(
    start_node: StartNode, shared: FakeServer, clock: ManualClock, make_table: MakeTable
) -> None:
    node = await start(start_node, shared, clock)
    session = await make_table(node, settings={"deadline.parry": 1})
    prompt = await ask(node, session)
    actor = await node.registry.get(session)
    assert isinstance(await actor.act("gm", actor.rules.decode({"type": "answer", "prompt": prompt, "choice": "yes"})), Done)
    assert await pass_time(clock, 10 * MINUTE, node) == 0
    assert passed(await log_of(node, session)) == []


async def test_a_broken_table_does_not_keep_others_from_their_deadlines(
    start_node: StartNode, shared: FakeServer, clock: ManualClock, make_table: MakeTable
) -> None:
    node = await start(start_node, shared, clock)
    broken, sound = [await make_table(node, settings={"deadline.prompt": 1}) for _ in range(2)]
    await ask(node, broken)
    clock.advance(1)
    prompt = await ask(node, sound)
    await node.registry.close()
    await node.store._redis.xadd(node.store._keys.session(broken).log, {"s": "x", "e": "no entry"}, id="1000-0")  # type: ignore[attr-defined]
    fresh = await start(start_node, shared, clock)
    assert await pass_time(clock, MINUTE, fresh) == 1
    assert passed(await log_of(fresh, sound)) == [prompt]


async def test_a_node_whose_clock_is_ahead_does_not_put_deadlines_off_for_ever(
    start_node: StartNode, shared: FakeServer, make_table: MakeTable
):
    """Two minutes ahead is more than the pause that counts as downtime: only the latest heartbeat of any node may count."""
    clocks = (ManualClock(START_MS), ManualClock(START_MS + 2 * MINUTE))
    nodes = [await start(start_node, shared, clock) for clock in clocks]
    session = await make_table(nodes[0], settings={"deadline.parry": 5})
    await ask(nodes[0], session)
    fired = 0
    for _ in range(20):
        for clock in clocks:
            clock.advance(30_000)
        fired += sum([await node.sweeper.sweep() for node in nodes])
    assert fired == 1
