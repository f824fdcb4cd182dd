"""The way of one action, seen by clients on real sockets."""

from __future__ import annotations

import asyncio

import pytest

from protocol.codec import MSGPACK
from server.app import Server
from tests.integration.conftest import HOUR_MS, Connect, Join, MakeTable, StartNode
from tests.integration.raw import Message


async def test_frame_comes_before_its_ack(node: Server, make_table: MakeTable, seat: Join) -> None:
    session = await make_table(node)
    ann = await seat(node, session, "ann")
    ack = await ann.do(session, "a.1", {"type": "chat", "text": "hello"})
    assert ack["t"] == "ack"
    kinds = [(message["t"], message.get("v")) for message in ann.seen if message["t"] in ("frame", "ack")]
    assert kinds == [("frame", ack["v"]), ("ack", ack["v"])]


async def test_the_json_subprotocol_tells_the_same(node: Server, make_table: MakeTable, seat: Join) -> None:
    session = await make_table(node)
    binary, text = await seat(node, session, "ann"), await seat(node, session, "ann", text=True)
    await text.do(session, "t.1", {"type": "chat", "text": "für alle ✓"})
    await binary.at(session, text.tables[session].v)
    assert binary.tables[session].frames == text.tables[session].frames
    assert binary.tables[session].shown == text.tables[session].shown


async def test_every_request_of_a_pipeline_gets_exactly_one_answer_and_actions_keep_their_order(
    node: Server, make_table: MakeTable, seat: Join
) -> None:
    """Accepted, refused by the rules, refused by form, and questions, all sent without waiting."""
    session = await make_table(node)
    ann = await seat(node, session, "ann")
    expected: dict[str, str] = {}
    for n in range(1, 31):
        kind = n % 3
        command = (
            {"type": "chat", "text": f"line {n}"}
            if kind == 0
            else {"type": "attack", "target": "nobody-here"}
            if kind == 1
            else {"type": "no.such.command"}
        )
        expected[f"a.{n}"] = "ack" if kind == 0 else "error"
        await ann.send({"t": "do", "id": f"a.{n}", "session": session, "command": command})
        if n % 10 == 0:
            await ann.send({"t": "options", "id": f"o{n}", "session": session})
            expected[f"o{n}"] = "options"
    await ann.settle()
    for id in expected:
        await ann.answer(id)
    answers = [message for message in ann.seen if message.get("id") in expected]
    assert {message["id"]: message["t"] for message in answers} == expected
    assert len(answers) == len(expected)
    said = [event["body"] for frame in ann.tables[session].frames for event in frame.get("events", ()) if event["type"] == "chat"]
    assert said == [f"line {n}" for n in range(3, 31, 3)]
    # Those the rules judge are answered in the order sent, be they accepted or refused.
    judged = [message["id"] for message in answers if message.get("code") != "unknown_command" and message["id"].startswith("a.")]
    assert judged == [f"a.{n}" for n in range(1, 31) if n % 3 != 2]


async def test_acks_tell_what_the_entry_survives(node: Server, make_table: MakeTable, seat: Join) -> None:
    session = await make_table(node)
    ann = await seat(node, session, "ann")
    assert (await ann.do(session, "a.1", {"type": "chat", "text": "x"}))["durability"] == "memory"


async def test_durability_on_a_real_store_is_os(valkey_node: Server, make_table: MakeTable, seat: Join) -> None:
    session = await make_table(valkey_node)
    ann = await seat(valkey_node, session, "ann")
    assert (await ann.do(session, "a.1", {"type": "chat", "text": "x"}))["durability"] == "os"


async def test_equal_sights_share_one_encoding(
    node: Server, make_table: MakeTable, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twenty spectators and two players: what all may know is encoded once per subprotocol, not once per viewer."""
    session = await make_table(node)
    actor = await node.registry.get(session)
    sitting = []
    for place in ["ann", "ben", "gm", *["ann"] * 17]:
        token = await node.tokens.seat_token(session, place, "p", HOUR_MS)
        client = await connect(node, token)
        await client.join(session)
        sitting.append(client)
    count = 0
    original = actor.fanout.encode

    def counted(*args: object) -> object:
        nonlocal count
        count += 1
        return original(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(actor.fanout, "encode", counted)
    ack = await sitting[0].do(session, "a.1", {"type": "chat", "text": "to all"})
    for client in sitting:
        await client.at(session, ack["v"])
    assert count == 1
    private = await sitting[0].do(session, "a.2", {"type": "chat", "text": "to the GM", "to": ["gm"]})
    for client in sitting:
        await client.at(session, private["v"])
    assert count == 3  # ann and the GM read it, ben gets an empty frame


async def test_a_prompt_follows_the_frame_that_opened_it_and_only_its_seat_gets_it(node: Server, make_table: MakeTable, seat: Join) -> None:
    session = await make_table(node)
    clients = {place: await seat(node, session, place) for place in ("gm", "ann", "ben")}
    gm, ann = clients["gm"], clients["ann"]
    await gm.do(session, "g.1", {"type": "gm.move", "combatant": "c1", "scene": "mill", "zone": "yard", "near": ["c3"]})
    ack = await gm.do(session, "g.2", {"type": "attack", "combatant": "c1", "target": "c3"})
    assert ack["t"] == "ack", ack
    for client in clients.values():
        await client.at(session, ack["v"])
        await client.settle()
    [prompt] = gm.of("prompt")  # the tollman is the GM's to parry with
    place = gm.seen.index(prompt)
    assert gm.seen[place - 1]["t"] == "frame"
    assert gm.seen[place - 1]["v"] == prompt["v"] == ack["v"]
    assert gm.seen[place + 1] == ack
    assert not ann.of("prompt")
    assert not clients["ben"].of("prompt")
    # Everybody sees that somebody is asked, only the asked seat what.
    assert ann.tables[session].view["prompts"][prompt["prompt"]["id"]]["to"] == "gm"
    assert "choices" not in ann.tables[session].view["prompts"][prompt["prompt"]["id"]]


async def test_after_joined_come_missed_frames_then_open_prompts_then_news(node: Server, make_table: MakeTable, seat: Join) -> None:
    session = await make_table(node)
    gm = await seat(node, session, "gm")
    watcher = await seat(node, session, "ann")
    table = watcher.tables[session]
    await gm.do(session, "g.1", {"type": "gm.move", "combatant": "c3", "scene": "mill", "zone": "yard", "near": ["c1"]})
    await gm.do(session, "g.2", {"type": "gm.set", "kind": "combatants", "id": "c1", "field": "speed", "value": 1})
    await gm.do(session, "g.3", {"type": "gm.turn", "encounter": next(iter(gm.tables[session].view["encounters"])), "combatant": "c3"})
    ack = await gm.do(session, "g.4", {"type": "attack", "combatant": "c3", "target": "c1"})
    assert ack["t"] == "ack", ack
    again = await seat(node, session, "ann", resume=table.resume)
    again.tables[session] = table
    joined = again.of("joined")[0]
    assert joined["resumed"] is True
    assert joined["v"] == ack["v"]  # where the missed frames lead to
    assert "view" not in joined
    news = await gm.do(session, "g.5", {"type": "chat", "text": "and?"})
    await again.at(session, news["v"])
    order = [(message["t"], message.get("v")) for message in again.seen if message["t"] in ("joined", "frame", "prompt")]
    missed = [("frame", v) for v in range(table.frames[0]["v"], ack["v"] + 1)]
    assert order == [("joined", ack["v"]), *missed, ("prompt", ack["v"]), ("frame", news["v"])]


async def test_presence_counts_connections_per_seat(node: Server, make_table: MakeTable, seat: Join) -> None:
    session = await make_table(node)
    ann = await seat(node, session, "ann")
    gm = await seat(node, session, "gm")
    second = await seat(node, session, "ann")

    def tells(expected: dict[str, int]) -> bool:
        return any(message["t"] == "presence" and message["seats"] == expected for message in gm.seen)

    while not tells({"ann": 2, "gm": 1}):
        await gm.receive()
    await second.close()
    gm.seen.clear()
    while not tells({"ann": 1, "gm": 1}):
        await gm.receive()
    await ann.send({"t": "leave", "session": session, "id": "l1"})
    assert await ann.answer("l1") == {"t": "ack", "id": "l1", "session": session}
    gm.seen.clear()
    while not tells({"gm": 1}):
        await gm.receive()


async def test_leaving_a_table_ends_its_frames_and_keeps_the_connection(node: Server, make_table: MakeTable, connect: Connect) -> None:
    first, second = await make_table(node), await make_table(node)
    client = await connect(node, await node.tokens.seat_token(first, "ann", "p", HOUR_MS))
    other = await node.tokens.seat_token(second, "ann", "p", HOUR_MS)
    await client.join(first)
    assert (await client.join(second, token=other))["seat"] == "ann"
    await client.send({"t": "leave", "session": first, "id": "bye"})
    await client.answer("bye")
    actor = await node.registry.get(first)
    assert not actor.fanout.viewers
    refused = await client.do(first, "a.1", {"type": "chat", "text": "x"})
    assert (refused["t"], refused["code"]) == ("error", "not_joined")
    assert (await client.do(second, "a.1", {"type": "chat", "text": "x"}))["t"] == "ack"


async def test_two_connections_of_one_seat_both_stay_and_show_the_same(node: Server, make_table: MakeTable, seat: Join) -> None:
    session = await make_table(node)
    one, two = await seat(node, session, "ann"), await seat(node, session, "ann")
    await one.do(session, "one.1", {"type": "chat", "text": "from one"})
    ack = await two.do(session, "two.1", {"type": "chat", "text": "from two"})
    await one.at(session, ack["v"])
    assert one.tables[session].shown == two.tables[session].shown
    assert one.tables[session].frames == two.tables[session].frames


async def test_odds_options_and_history_are_answered_as_the_seat_may_know(node: Server, make_table: MakeTable, seat: Join) -> None:
    session = await make_table(node)
    ann = await seat(node, session, "ann", history=50)
    gm = await seat(node, session, "gm")
    await gm.do(session, "g.1", {"type": "chat", "text": "GM's notes", "to": ["gm"]})
    said = await gm.do(session, "g.2", {"type": "chat", "text": "for all"})
    await ann.at(session, said["v"])
    options = await ann.ask("options", session)
    assert options["v"] == said["v"]
    odds = await ann.ask("odds", session, command={"type": "attack", "combatant": "c1", "target": "c3"})
    assert odds["t"] == "odds"
    assert {part["name"] for part in odds["odds"]["parts"]} == {"hit", "hit_parried"}
    page = await ann.ask("history", session, limit=2)
    assert [frame["v"] for frame in page["frames"]] == [said["v"] - 1, said["v"]]
    assert page["more"] is True
    assert "events" not in page["frames"][0]
    assert page["frames"][1]["events"][0]["body"] == "for all"
    first = await ann.ask("history", session, before=2)
    assert [frame["v"] for frame in first["frames"]] == [1]
    assert first["more"] is False
    refused = await ann.ask("odds", session, command={"type": "brace"})
    assert (refused["t"], refused["code"]) == ("error", "bad_command")


async def test_a_long_page_of_posts_is_told_whole_and_not_as_erased(node: Server, make_table: MakeTable, seat: Join) -> None:
    session = await make_table(node)
    ann = await seat(node, session, "ann")
    text = "a long tale " * 1200
    for n in range(1, 81):
        assert (await ann.do(session, f"a.{n}", {"type": "post", "text": f"{n} {text}"}))["t"] == "ack"
    page: list[Message] = []
    before = None
    while True:
        answer = await ann.ask("history", session, limit=100, **({} if before is None else {"before": before}))
        page = answer["frames"] + page
        if not answer["more"]:
            break
        before = page[0]["v"]
    bodies = [event["body"] for frame in page for event in frame.get("events", ()) if event["type"] == "post"]
    assert bodies == [f"{n} {text}" for n in range(1, 81)]


async def test_the_view_of_a_large_table_comes_in_parts_and_is_whole(start_node: StartNode, make_table: MakeTable, seat: Join) -> None:
    """A view larger than a frame may be, and than what may wait for a slow reader, still reaches somebody who reads."""
    node = await start_node(limits__queue_bytes=1_048_576)
    session = await make_table(node)
    actor = await node.registry.get(session)
    rules = actor.rules
    tags = ["t" * 110] * 10
    zones = [{"id": f"z{i}", "name": "n" * 100, "tags": tags} for i in range(40)]
    for n in range(45):
        command = rules.decode({"type": "gm.scene", "scene": f"s{n}", "name": f"Scene {n}", "zones": zones})
        outcome = await actor.act("gm", command)
        assert hasattr(outcome, "durability"), outcome
    ann = await seat(node, session, "ann")
    parts = ann.of("joined")
    assert len(parts) == parts[0]["parts"] > 1
    assert set(ann.tables[session].view["scenes"]) == {"mill", *(f"s{n}" for n in range(45))}
    assert all(len(MSGPACK.encode(part)) <= 1_048_576 for part in parts)  # type: ignore[arg-type]


async def test_a_person_finds_all_tables_at_the_welcome(node: Server, make_table: MakeTable, connect: Connect) -> None:
    """Seats held, changed and lost are listed for a person's token; joining needs no other token."""
    from engine.commands import GmSeat, GmSeatRemove, Hold
    from engine.entry import SYSTEM

    first, second, third = [await make_table(node) for _ in range(3)]
    for session in (first, second, third):
        actor = await node.registry.get(session)
        await actor.act(SYSTEM, Hold(seat="ann", person="ada"))
    await (await node.registry.get(second)).act("gm", GmSeat(seat="ann", role="spectator"))
    await (await node.registry.get(third)).act("gm", GmSeatRemove(seat="ann"))

    client = await connect(node)
    expected = {(first, "ann", "player"), (second, "ann", "spectator")}
    async with asyncio.timeout(20):  # the index is written after the fact
        while True:
            welcome = await client.hello(node.tokens.person_token("ada", HOUR_MS))
            if {(one["session"], one["seat"], one["role"]) for one in welcome.get("sessions", [])} == expected:
                break
            client = await connect(node)
    for session in (first, second):
        assert (await client.join(session))["seat"] == "ann"
    assert (await client.join(third))["code"] == "unauthorized"
