"""Coming back: from the ring where it reaches, else by a whole view, and always to what a fresh join would show."""

from __future__ import annotations

import random

import pytest

import engine
from server.app import Server
from server.sessions.actor import Actor
from server.sessions.jobs import Done
from server.sessions.texts import detach
from tests.integration.conftest import Join, MakeTable, StartNode
from tests.integration.play import next_command
from tests.integration.raw import RawClient

SEATS = ("gm", "ann", "ben")


async def play(actor: Actor, rng: random.Random, steps: int) -> int:
    """Let somebody do something, `steps` times; how many were accepted."""
    done = 0
    for _ in range(steps):
        by, raw = next_command(actor.rules, actor.session, rng)
        command, texts = detach(actor.rules.decode(raw))
        done += isinstance(await actor.act(by, command, texts=texts), Done)
    return done


@pytest.mark.parametrize("seed", range(6))
async def test_a_view_kept_by_frames_equals_a_fresh_one_across_resumes_at_random_points(
    node: Server, make_table: MakeTable, seat: Join, seed: int
) -> None:
    """Through hiding and revealing, control that changes hands, undo, whispers and secret rolls, for every seat."""
    rng = random.Random(seed)
    session = await make_table(node)
    actor = await node.registry.get(session)
    clients = {place: await seat(node, session, place, text=place == "ben") for place in SEATS}
    accepted = 0
    resumed = 0
    for _ in range(12):
        accepted += await play(actor, rng, rng.randint(1, 12))
        for place in SEATS:
            if rng.random() < 0.5:
                old = clients[place]
                table = old.tables[session]  # read up to some point, not to the newest
                await old.close()
                new = await seat(node, session, place, resume=table.resume)
                if new.of("joined")[0]["resumed"]:
                    new.tables[session] = table
                    for message in new.seen:
                        if message["t"] == "frame":
                            table.frame(message)
                    resumed += 1
                clients[place] = new
            await clients[place].at(session, actor.session.v)
            expected = engine.view(actor.rules, actor.session, engine.sight_of(actor.session, place))
            fresh = await seat(node, session, place)
            assert clients[place].tables[session].shown == fresh.tables[session].shown
            # What the server holds is what the wire tells, too (as plain values).
            assert {kind for kind, entities in expected.items() if entities} == set(fresh.tables[session].shown)
            await fresh.close()
    assert accepted > 30
    assert resumed > 5


async def rejoin(node: Server, session: str, seat: Join, place: str, **resume: object) -> tuple[RawClient, dict[str, object]]:
    client = await seat(node, session, place, resume=resume)
    return client, client.of("joined")[0]


async def test_the_ring_serves_those_it_reaches_and_nobody_else(start_node: StartNode, make_table: MakeTable, seat: Join) -> None:
    """With a ring of 5 entries, the last 6 versions can be resumed from (each entry knows the one before it)."""
    node = await start_node(ring=5)
    session = await make_table(node)
    ann = await seat(node, session, "ann")
    places = [ann.tables[session].resume]
    for n in range(1, 10):
        await ann.do(session, f"a.{n}", {"type": "chat", "text": str(n)})
        places.append(ann.tables[session].resume)
    newest = places[-1]["v"]
    for place in places:
        client, joined = await rejoin(node, session, seat, "ann", **place)
        assert joined["resumed"] is (place["v"] >= newest - 5), place
        await client.settle()
        frames = [message["v"] for message in client.seen if message["t"] == "frame"]
        assert frames == (list(range(place["v"] + 1, newest + 1)) if joined["resumed"] else [])
        if not joined["resumed"]:
            assert client.tables[session].shown == ann.tables[session].shown


async def test_another_stamp_or_epoch_or_future_gets_a_whole_view(node: Server, make_table: MakeTable, seat: Join) -> None:
    """Such a client has seen entries that are not in this log."""
    session = await make_table(node)
    ann = await seat(node, session, "ann")
    for n in range(1, 4):
        await ann.do(session, f"a.{n}", {"type": "chat", "text": str(n)})
    here = ann.tables[session].resume
    for wrong in (
        {**here, "stamp": "0" * 16},
        {**here, "v": here["v"] - 1, "stamp": "0" * 16},
        {**here, "epoch": "0" * 16},
        {**here, "v": here["v"] + 5},
        {**here, "v": 2**53 - 1},
    ):
        client, joined = await rejoin(node, session, seat, "ann", **wrong)
        assert joined["resumed"] is False, wrong
        assert client.tables[session].shown == ann.tables[session].shown
        assert client.tables[session].resume == here


async def test_a_whole_view_comes_with_the_history_that_was_asked_for(node: Server, make_table: MakeTable, seat: Join) -> None:
    session = await make_table(node)
    ann = await seat(node, session, "ann")
    for n in range(1, 31):
        await ann.do(session, f"a.{n}", {"type": "chat", "text": str(n)})
    back = await seat(node, session, "ann", history=10, resume={**ann.tables[session].resume, "epoch": "0" * 16})
    history = back.of("joined")[0]["history"]
    assert [frame["events"][0]["body"] for frame in history] == [str(n) for n in range(21, 31)]


async def test_a_gap_left_by_forgotten_texts_is_a_whole_view_not_an_erased_line(node: Server, make_table: MakeTable, seat: Join) -> None:
    """The ring may outlive the texts in memory; what was said must not look erased."""
    session = await make_table(node)
    ann = await seat(node, session, "ann")
    start = ann.tables[session].resume
    long = "x" * 15_900
    for n in range(1, 81):
        await ann.do(session, f"a.{n}", {"type": "post", "text": f"{n}{long}"})
    _, joined = await rejoin(node, session, seat, "ann", **start)
    assert joined["resumed"] is False
    assert ann.tables[session].v - start["v"] == 80


async def test_joining_again_on_the_same_connection_is_a_fresh_view(node: Server, make_table: MakeTable, seat: Join) -> None:
    session = await make_table(node)
    ann = await seat(node, session, "ann")
    await ann.do(session, "a.1", {"type": "chat", "text": "x"})
    before = ann.tables[session]
    assert (await ann.join(session))["resumed"] is False
    assert ann.tables[session] is not before
    assert ann.tables[session].shown == before.shown
    actor = await node.registry.get(session)
    assert len(actor.fanout) == 1  # not seated twice: every frame comes once
    ack = await ann.do(session, "a.2", {"type": "chat", "text": "y"})
    assert [frame["v"] for frame in ann.tables[session].frames] == [ack["v"]]
