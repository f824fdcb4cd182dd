"""Exactly once: however often, wherever and whenever an action id is sent."""

from __future__ import annotations

import asyncio
import random

import pytest

from server.app import Server
from tests.integration.conftest import Join, MakeTable, StartNode
from tests.integration.raw import Message, RawClient


async def lines(client: RawClient, session: str) -> list[str]:
    """Every chat line in the log, as history tells it."""
    page = await client.ask("history", session, limit=200)
    return [event["body"] for frame in page["frames"] for event in frame.get("events", ()) if event["type"] == "chat"]


async def test_the_same_id_again_gets_the_first_ack_on_any_connection_even_with_another_command(
    node: Server, make_table: MakeTable, seat: Join
) -> None:
    session = await make_table(node)
    one, two = await seat(node, session, "ann"), await seat(node, session, "ann")
    first = await one.do(session, "a.1", {"type": "chat", "text": "once"})
    for client in (one, two):
        again = await client.do(session, "a.1", {"type": "chat", "text": "something else"})
        assert (again["t"], again["v"], again["again"]) == ("ack", first["v"], True)
    assert "again" not in first
    assert await lines(one, session) == ["once"]


async def test_an_id_sent_twice_before_its_answer_is_answered_once(node: Server, make_table: MakeTable, seat: Join) -> None:
    session = await make_table(node)
    ann = await seat(node, session, "ann")
    for _ in range(5):
        await ann.send({"t": "do", "id": "a.1", "session": session, "command": {"type": "chat", "text": "once"}})
    await ann.settle()
    await ann.do(session, "a.2", {"type": "chat", "text": "twice"})
    acks = [message for message in ann.seen if message["t"] == "ack" and message["id"] == "a.1"]
    assert len([ack for ack in acks if not ack.get("again")]) == 1
    assert await lines(ann, session) == ["once", "twice"]


async def test_sent_at_once_from_many_connections_and_nodes_it_is_done_once(
    two_nodes: tuple[Server, Server], make_table: MakeTable, seat: Join
) -> None:
    session = await make_table(two_nodes[0])
    clients = [await seat(two_nodes[i % 2], session, "ann") for i in range(6)]
    for n in range(1, 11):
        answers = await asyncio.gather(*(client.do(session, f"a.{n}", {"type": "chat", "text": f"line {n}"}) for client in clients))
        assert {answer["t"] for answer in answers} == {"ack"}, answers
        assert len({answer["v"] for answer in answers}) == 1
        assert sum(not answer.get("again") for answer in answers) == 1
    assert await lines(clients[0], session) == [f"line {n}" for n in range(1, 11)]
    for client in clients:
        await client.at(session, answers[0]["v"])
        assert [frame["v"] for frame in client.tables[session].frames] == list(range(2, answers[0]["v"] + 1))


async def test_an_id_below_the_last_is_remembered_64_acks_and_then_too_old(node: Server, make_table: MakeTable, seat: Join) -> None:
    session = await make_table(node)
    ann = await seat(node, session, "ann")
    acks = {n: (await ann.do(session, f"a.{n}", {"type": "chat", "text": str(n)}))["v"] for n in range(2, 90)}
    for n in range(1, 90):
        again = await ann.do(session, f"a.{n}", {"type": "chat", "text": "no"})
        if n >= 90 - 64:
            assert (again["t"], again["v"], again["again"]) == ("ack", acks[n], True)
        else:
            assert (again["t"], again["code"]) == ("error", "too_old"), n
    assert await lines(ann, session) == [str(n) for n in range(2, 90)]


async def test_what_is_remembered_outlives_the_memory_of_the_server(
    two_nodes: tuple[Server, Server], make_table: MakeTable, seat: Join
) -> None:
    """The same answers from a node that loads the session afterwards."""
    first, second = two_nodes
    session = await make_table(first)
    ann = await seat(first, session, "ann")
    acks = {n: (await ann.do(session, f"a.{n}", {"type": "chat", "text": str(n)}))["v"] for n in range(1, 71)}
    elsewhere = await seat(second, session, "ann")
    for n in (70, 7, 8):
        assert (await elsewhere.do(session, f"a.{n}", {"type": "chat", "text": "no"}))["v"] == acks[n]
    assert (await elsewhere.do(session, "a.6", {"type": "chat", "text": "no"}))["code"] == "too_old"
    assert (await elsewhere.do(session, "a.71", {"type": "chat", "text": "new"}))["t"] == "ack"


async def test_a_refusal_is_judged_anew_under_the_same_id(node: Server, make_table: MakeTable, seat: Join) -> None:
    session = await make_table(node)
    ann, gm = await seat(node, session, "ann"), await seat(node, session, "gm")
    attack = {"type": "attack", "combatant": "c1", "target": "c3"}
    refused = await ann.do(session, "a.1", attack)
    assert (refused["t"], refused["code"]) == ("error", "out_of_range")
    assert refused["v"] == ann.tables[session].v
    await gm.do(session, "g.1", {"type": "gm.move", "combatant": "c1", "scene": "mill", "zone": "yard", "near": ["c3"]})
    done = await ann.do(session, "a.1", attack)
    assert (done["t"], done.get("again")) == ("ack", None)


async def test_a_refused_id_between_accepted_ones_is_too_old_once_a_higher_one_was_acked(
    node: Server, make_table: MakeTable, seat: Join
) -> None:
    session = await make_table(node)
    ann = await seat(node, session, "ann")
    assert (await ann.do(session, "a.1", {"type": "attack", "target": "c3"}))["t"] == "error"
    assert (await ann.do(session, "a.2", {"type": "chat", "text": "x"}))["t"] == "ack"
    assert (await ann.do(session, "a.1", {"type": "chat", "text": "y"}))["code"] == "too_old"


async def test_seats_and_client_names_do_not_share_ids(node: Server, make_table: MakeTable, seat: Join) -> None:
    session = await make_table(node)
    ann, ben = await seat(node, session, "ann"), await seat(node, session, "ben")
    acks = [
        await ann.do(session, "web.1", {"type": "chat", "text": "ann's"}),
        await ben.do(session, "web.1", {"type": "chat", "text": "ben's"}),
        await ann.do(session, "app.1", {"type": "chat", "text": "ann's phone"}),
    ]
    assert [ack.get("again") for ack in acks] == [None] * 3
    assert await lines(ann, session) == ["ann's", "ben's", "ann's phone"]


@pytest.mark.parametrize("seed", range(4))
async def test_refusals_and_strange_clients_in_a_pipeline_never_overtake(
    node: Server, make_table: MakeTable, seat: Join, seed: int
) -> None:
    """Each new client name makes the server read the store first, each refusal makes it look at the log's end; order holds nevertheless."""
    rng = random.Random(seed)
    session = await make_table(node)
    ann = await seat(node, session, "ann")
    sent: list[str] = []
    for n in range(1, 61):
        id = f"{rng.choice(['a', 'b', f'fresh{n}'])}.{n}"
        sent.append(id)
        command = rng.choice([{"type": "chat", "text": id}, {"type": "attack", "combatant": "c1", "target": "c3"}])
        await ann.send({"t": "do", "id": id, "session": session, "command": command})
    for id in sent:
        await ann.answer(id)
    answered = [message["id"] for message in ann.seen if message["t"] in ("ack", "error")]
    assert answered == sent
    acked = [message["id"] for message in ann.seen if message["t"] == "ack"]
    assert await lines(ann, session) == acked
    assert acked
    assert len(acked) < 60


# --- at --------------------------------------------------------------------------------------------------------------------


async def test_at_is_stale_only_after_something_that_seat_could_see(node: Server, make_table: MakeTable, seat: Join) -> None:
    """Chat, private chat, preferences, secret rolls and hidden things leave a decision fresh; what shows makes it stale."""
    session = await make_table(node)
    ann, gm = await seat(node, session, "ann"), await seat(node, session, "gm")
    hidden = await gm.do(
        session, "g.1", {"type": "gm.spawn", "id": "lurker", "template": "stray", "scene": "mill", "zone": "loft", "hidden": True}
    )
    at = hidden["v"]
    unseen: list[Message] = [
        {"type": "chat", "text": "talk"},
        {"type": "chat", "text": "psst", "to": ["gm"]},
        {"type": "roll", "notation": "2d6", "hidden": True},
        {"type": "gm.set", "kind": "combatants", "id": "lurker", "field": "hp", "value": 3},
        {"type": "seat.prefs", "kind": "parry", "value": "never"},
    ]
    for n, command in enumerate(unseen, 2):
        assert (await gm.do(session, f"g.{n}", command))["t"] == "ack", command
    assert (await ann.do(session, "a.1", {"type": "roll", "notation": "1d6"}, at=at))["t"] == "ack"
    at = ann.tables[session].v
    seen: list[Message] = [
        {"type": "gm.set", "kind": "combatants", "id": "c3", "field": "hp", "value": 3},
        {"type": "roll", "notation": "1d6"},
        {"type": "gm.reveal", "kind": "combatants", "id": "lurker"},
        {"type": "gm.seat", "seat": "ann", "controls": ["c1", "lurker"]},
    ]
    for n, command in enumerate(seen, 20):
        shown = await gm.do(session, f"g.{n}", command)
        stale = await ann.do(session, "a.2", {"type": "roll", "notation": "1d6"}, at=at)
        assert (stale["t"], stale["code"], stale["data"]) == ("error", "stale", {"at": at}), command
        at = shown["v"]
    assert (await ann.do(session, "a.2", {"type": "roll", "notation": "1d6"}, at=at))["t"] == "ack"


async def test_at_beyond_what_memory_holds_is_stale(start_node: StartNode, make_table: MakeTable, seat: Join) -> None:
    """Not knowing is no reason to guess."""
    node = await start_node(ring=3)
    session = await make_table(node)
    ann = await seat(node, session, "ann")
    at = ann.tables[session].v
    for n in range(1, 6):
        await ann.do(session, f"a.{n}", {"type": "chat", "text": "x"})
    assert (await ann.do(session, "a.9", {"type": "roll", "notation": "1d6"}, at=at))["code"] == "stale"
    assert (await ann.do(session, "a.9", {"type": "roll", "notation": "1d6"}, at=at + 2))["t"] == "ack"


async def test_a_repeated_id_is_acked_again_whatever_its_at_says(node: Server, make_table: MakeTable, seat: Join) -> None:
    session = await make_table(node)
    ann, gm = await seat(node, session, "ann"), await seat(node, session, "gm")
    at = ann.tables[session].v
    first = await ann.do(session, "a.1", {"type": "roll", "notation": "1d6"}, at=at)
    await gm.do(session, "g.1", {"type": "gm.set", "kind": "combatants", "id": "c3", "field": "hp", "value": 3})
    again = await ann.do(session, "a.1", {"type": "roll", "notation": "1d6"}, at=at)
    assert (again["t"], again["v"], again["again"]) == ("ack", first["v"], True)
