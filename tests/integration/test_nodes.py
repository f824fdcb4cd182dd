"""Two servers on one store: one order, one truth, whoever is asked."""

from __future__ import annotations

import asyncio
import random

import pytest

import engine
from server.app import Server
from server.sessions.jobs import Done, Refusal
from server.sessions.texts import detach
from tests.integration.conftest import Join, MakeTable
from tests.integration.play import next_command

Nodes = tuple[Server, Server]


def deaf(node: Server) -> None:
    """From now on this node hears no hints."""
    node.registry.store._hints._callbacks.clear()  # type: ignore[attr-defined]


async def log_of(node: Server, session: str) -> list[engine.Entry]:
    return [engine.decode_entry(data) for _, data in await node.store.entries(session, 0, 100_000)]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("hints", [True, False], ids=["hints", "deaf"])
async def test_interleaved_actions_from_both_nodes_make_one_gapless_log_and_equal_views(
    two_nodes: Nodes, make_table: MakeTable, seat: Join, seed: int, hints: bool
) -> None:
    rng = random.Random(seed)
    session = await make_table(two_nodes[0])
    clients = {(i, place): await seat(two_nodes[i], session, place) for i in (0, 1) for place in ("gm", "ann", "ben")}
    actors = [await node.registry.get(session) for node in two_nodes]
    if not hints:
        for node in two_nodes:
            deaf(node)
    done: list[str] = []
    n = 0
    for _ in range(25):
        jobs = []
        for actor in rng.choices(actors, k=4):
            n += 1
            by, raw = next_command(actor.rules, actor.session, rng, meddle=0.5)
            command, texts = detach(actor.rules.decode(raw))
            jobs.append((f"c.{n}", actor.act(by, command, client="c", n=n, texts=texts)))
        outcomes = await asyncio.gather(*(work for _, work in jobs))
        for (id, _), outcome in zip(jobs, outcomes, strict=True):
            assert isinstance(outcome, Done) or outcome.code not in ("internal", "unavailable"), outcome
            if isinstance(outcome, Done) and not outcome.again:
                done.append(id)
    for node in two_nodes:
        await node.registry.look_around()
    log = await log_of(two_nodes[0], session)
    assert [entry.v for entry in log] == list(range(1, len(log) + 1))
    ids = [entry.id for entry in log if entry.id]
    assert sorted(ids) == sorted(done)
    assert len(set(ids)) == len(ids) > 20
    assert actors[0].session == actors[1].session == engine.replay(actors[0].rules, log, epoch=actors[0].session.epoch)
    for place in ("gm", "ann", "ben"):
        views = [(await clients[i, place].at(session, log[-1].v)).shown for i in (0, 1)]
        fresh = await seat(two_nodes[0], session, place)
        assert views[0] == views[1] == fresh.tables[session].shown
    assert engine.audit(actors[0].rules, log, epoch=actors[0].session.epoch).verdict != "differs"


async def test_the_loser_of_a_race_is_judged_again_and_told_why(two_nodes: Nodes, make_table: MakeTable, seat: Join) -> None:
    """Two answers to one question from two nodes: one counts, the other hears that it is settled."""
    session = await make_table(two_nodes[0])
    gms = [await seat(node, session, "gm") for node in two_nodes]
    for node in two_nodes:
        deaf(node)
    await gms[0].do(session, "g.1", {"type": "gm.move", "combatant": "c1", "scene": "mill", "zone": "yard", "near": ["c3"]})
    opened = await gms[0].do(session, "g.2", {"type": "attack", "combatant": "c1", "target": "c3"})
    await two_nodes[1].registry.look_around()
    await gms[1].at(session, opened["v"])
    [prompt] = gms[0].of("prompt")
    answers = await asyncio.gather(
        *(
            gm.do(session, f"n{i}.1", {"type": "answer", "prompt": prompt["prompt"]["id"], "choice": choice})
            for i, (gm, choice) in enumerate(zip(gms, ("yes", "no"), strict=True))
        )
    )
    assert sorted(answer["t"] for answer in answers) == ["ack", "error"]
    [refused] = [answer for answer in answers if answer["t"] == "error"]
    assert refused["code"] in ("already_answered", "unknown_id")
    [acked] = [answer for answer in answers if answer["t"] == "ack"]
    for gm in gms:
        await gm.at(session, acked["v"])
    # The loser's own client had the winner's frame before it was told.
    loser = gms[answers.index(refused)]
    assert [message for message in loser.seen if message["t"] == "frame" and message["v"] == acked["v"]]
    assert loser.seen.index(refused) > next(i for i, m in enumerate(loser.seen) if m["t"] == "frame" and m["v"] == acked["v"])


async def test_lost_hints_are_made_up_for_by_looking_around(two_nodes: Nodes, make_table: MakeTable, seat: Join) -> None:
    session = await make_table(two_nodes[0])
    here, there = await seat(two_nodes[0], session, "ann"), await seat(two_nodes[1], session, "ben")
    deaf(two_nodes[1])
    ack = await here.do(session, "a.1", {"type": "chat", "text": "anyone?"})
    await there.settle()
    assert there.tables[session].v < ack["v"]
    await two_nodes[1].registry.look_around()
    await there.at(session, ack["v"])
    assert there.tables[session].frames[-1]["events"][0]["body"] == "anyone?"


async def test_a_hint_brings_the_frame_to_the_other_node_without_anyone_acting_there(
    two_nodes: Nodes, make_table: MakeTable, seat: Join
) -> None:
    session = await make_table(two_nodes[0])
    here, there = await seat(two_nodes[0], session, "ann"), await seat(two_nodes[1], session, "ben")
    ack = await here.do(session, "a.1", {"type": "chat", "text": "hello over there"})
    await there.at(session, ack["v"])
    assert there.tables[session].frames[-1]["events"][0]["body"] == "hello over there"


async def test_a_refusal_on_a_node_that_lags_is_judged_again_on_the_newest_state(
    two_nodes: Nodes, make_table: MakeTable, seat: Join
) -> None:
    session = await make_table(two_nodes[0])
    gm, ann = await seat(two_nodes[0], session, "gm"), await seat(two_nodes[1], session, "ann")
    deaf(two_nodes[1])
    attack = {"type": "attack", "combatant": "c1", "target": "c3"}
    assert (await ann.do(session, "a.1", attack))["code"] == "out_of_range"
    await gm.do(session, "g.1", {"type": "gm.move", "combatant": "c1", "scene": "mill", "zone": "yard", "near": ["c3"]})
    done = await ann.do(session, "a.1", attack)
    assert done["t"] == "ack"
    assert [message["v"] for message in ann.seen if message["t"] == "frame"][-1] == done["v"]


async def test_an_action_done_on_the_other_node_gives_its_frame_and_then_its_ack_again(
    two_nodes: Nodes, make_table: MakeTable, seat: Join
) -> None:
    """Whether this node learns of it from the client's record, from the commit, or from the log."""
    session = await make_table(two_nodes[0])
    here, there = await seat(two_nodes[0], session, "ann"), await seat(two_nodes[1], session, "ann")
    deaf(two_nodes[1])
    for n in range(1, 4):  # the first time this node does not know the client, later it does
        done = await here.do(session, f"a.{n}", {"type": "chat", "text": str(n)})
        again = await there.do(session, f"a.{n}", {"type": "chat", "text": str(n)})
        assert (again["t"], again["v"], again["again"]) == ("ack", done["v"], True)
        order = [(m["t"], m["v"]) for m in there.seen if m["t"] in ("frame", "ack")]
        assert order[-2:] == [("frame", done["v"]), ("ack", done["v"])]


async def test_coming_back_at_a_node_that_lags_it_looks_first(two_nodes: Nodes, make_table: MakeTable, seat: Join) -> None:
    """A client that knows more than the node resumes; nobody's view goes back in time."""
    session = await make_table(two_nodes[0])
    here = await seat(two_nodes[0], session, "ann")
    stays = await seat(two_nodes[1], session, "ben")
    deaf(two_nodes[1])
    await here.do(session, "a.1", {"type": "chat", "text": "one"})
    await here.do(session, "a.2", {"type": "chat", "text": "two"})
    back = await seat(two_nodes[1], session, "ann", resume=here.tables[session].resume)
    joined = back.of("joined")[0]
    assert joined["resumed"] is True
    assert joined["v"] == here.tables[session].v
    await stays.at(session, joined["v"])


async def test_own_commits_are_not_looked_up_again(
    node: Server, make_table: MakeTable, seat: Join, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A node hears its own hints; they cost no read and no task."""
    session = await make_table(node)
    ann = await seat(node, session, "ann")
    reads = 0
    original = node.store.entries

    async def counted(*args: int, **kwargs: int) -> object:
        nonlocal reads
        reads += 1
        return await original(*args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(node.store, "entries", counted)
    for n in range(1, 51):
        assert (await ann.do(session, f"a.{n}", {"type": "chat", "text": "x"}))["t"] == "ack"
    assert reads == 0


async def test_a_seat_removed_on_one_node_is_out_on_the_other(two_nodes: Nodes, make_table: MakeTable, seat: Join) -> None:
    session = await make_table(two_nodes[0])
    gm, ben = await seat(two_nodes[0], session, "gm"), await seat(two_nodes[1], session, "ben")
    await gm.do(session, "g.1", {"type": "gm.seat.remove", "seat": "ben"})
    told = await ben.until(lambda message: message["t"] == "error")
    assert (told["code"], told["session"]) == ("revoked", session)
    refused = await ben.do(session, "b.1", {"type": "chat", "text": "still here?"})
    assert refused["code"] == "not_joined"
    assert (await ben.join(session))["code"] == "unauthorized"


async def test_too_many_rivals_end_in_unavailable_never_in_silence(
    two_nodes: Nodes, make_table: MakeTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A table that others write to all the time: the command is answered within bounds, and the same id works later."""
    session = await make_table(two_nodes[0])
    rival, actor = [await node.registry.get(session) for node in two_nodes]
    deaf(two_nodes[1])
    original = two_nodes[1].store.commit
    racing = True

    async def late(commit: object) -> object:
        if racing:
            command, texts = detach(rival.rules.decode({"type": "chat", "text": "first!"}))
            await rival.act("ben", command, texts=texts)
        return await original(commit)  # type: ignore[arg-type]

    monkeypatch.setattr(two_nodes[1].store, "commit", late)
    command = actor.rules.decode({"type": "roll", "notation": "1d6"})
    outcome = await actor.act("ann", command, client="a", n=1)
    assert isinstance(outcome, Refusal)
    assert outcome.code == "unavailable"
    assert outcome.retry_after
    racing = False
    done = await actor.act("ann", command, client="a", n=1)
    assert isinstance(done, Done)
    assert [entry.id for entry in await log_of(two_nodes[0], session) if entry.id] == ["a.1"]
