"""Playing over HTTP: a bot with nothing but requests sees, acts, waits and looks back exactly as a client on the socket does."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import aiohttp
import pytest

from server.app import Server
from tests.integration.api import Answer, Api, Reply, refused
from tests.integration.conftest import Join, StartNode

SECRET_NAME = "Planted-Nobody-Knows"
SECRET_LINE = "planted-whisper-xyzzy"
SECRET_ARMOR = 777


@pytest.fixture
def api(http: aiohttp.ClientSession, node: Server) -> Api:
    return Api(http, node)


async def see(api: Api, table: Answer, token: str, **query: Any) -> Answer:
    return await api.good("GET", f"/v1/sessions/{table['session']}", token, params=query)


def apply(view: dict[str, Any], frames: list[Answer]) -> dict[str, Any]:
    """The view after some frames, by SPEC.md section 8."""
    for frame in frames:
        view = frame.get("view") or view
        for kind, entities in (frame.get("views") or {}).items():
            view.setdefault(kind, {}).update(entities)
        for kind, gone in (frame.get("gone") or {}).items():
            for one in gone:
                view.get(kind, {}).pop(one, None)
    return {kind: entities for kind, entities in view.items() if entities}


async def test_the_view_is_that_of_the_socket(api: Api, seat: Join):
    table = await api.table()
    token = await api.sit(table, "ann")
    seen = await see(api, table, token)
    client = await seat(api.node, table["session"], "ann")
    replica = client.tables[table["session"]]
    assert seen["view"] == replica.view
    assert (seen["seat"], seen["role"]) == ("ann", "player")
    assert {name: seen[name] for name in ("epoch", "v", "stamp")} == replica.resume


async def test_frames_since_a_version_lead_from_the_old_view_to_the_new(api: Api):
    table = await api.table()
    ann, gm, session = await api.sit(table, "ann"), table["token"], table["session"]
    before = await see(api, table, ann)
    commands: tuple[dict[str, Any], ...] = (
        {"type": "brace", "combatant": "c1"},
        {"type": "gm.spawn", "id": "shade", "template": "stray", "scene": "mill", "zone": "loft", "hidden": True},
        {"type": "gm.reveal", "kind": "combatants", "id": "shade"},
        {"type": "gm.remove", "combatant": "shade"},
        {"type": "turn.end", "combatant": "c1"},
    )
    for n, command in enumerate(commands, 1):
        assert (await api.do(session, gm, f"a.{n}", **command)).status == 200
    later = await see(api, table, ann, since=before["v"], stamp=before["stamp"], epoch=before["epoch"])
    assert [frame["v"] for frame in later["frames"]] == list(range(before["v"] + 1, before["v"] + 6))
    assert later["frames"][1].keys() == {"v", "stamp"}, "what this seat may not see is an empty frame"
    assert apply(before["view"], later["frames"]) == (await see(api, table, ann))["view"]
    assert (later["v"], later["stamp"]) == (later["frames"][-1]["v"], later["frames"][-1]["stamp"])


@pytest.mark.parametrize("query", [{"since": 1, "stamp": "0" * 16}, {"since": 1, "epoch": "0" * 16}, {"since": 10**9}, {"since": 0}])
async def test_who_stands_where_the_log_never_was_gets_a_whole_view(api: Api, query: dict[str, Any]):
    table = await api.table()
    told = await see(api, table, table["token"], **query)
    assert "frames" not in told
    assert told["view"]["combatants"].keys() == {"c1", "c2", "c3", "c4"}


async def test_more_frames_than_the_server_keeps_become_a_whole_view(http: aiohttp.ClientSession, start_node: StartNode):
    api = Api(http, await start_node(ring=3))
    table = await api.table()
    first = await see(api, table, table["token"])
    for n in range(1, 6):
        await api.do(table["session"], table["token"], f"a.{n}", type="chat", text=str(n))
    assert "view" in await see(api, table, table["token"], since=first["v"])
    assert len((await see(api, table, table["token"], since=first["v"] + 3))["frames"]) == 2


@pytest.mark.parametrize(
    "query", ["since=-1", "since=x", "since=1.5", "since=99999999999999999", "since=1&wait=31", "since=1&wait=", "since=%D9%A3"]
)
async def test_a_query_that_is_no_number_in_bounds_is_refused(api: Api, query: str):
    table = await api.table()
    refused(await api.call("GET", f"/v1/sessions/{table['session']}?{query}", table["token"]), 400, "bad_command")


async def attached(api: Api, session: str, seat: str) -> None:
    """Until somebody waits on this seat."""
    actor = await api.node.registry.get(session)
    async with asyncio.timeout(20):
        while seat not in actor.fanout.viewers:  # noqa: ASYNC110  # the fan-out tells nobody of its viewers
            await asyncio.sleep(0)


async def test_a_waiting_reader_is_answered_by_the_next_entry_and_by_nothing_else(api: Api, seat: Join):
    """Somebody coming in is no entry; the chat line is."""
    table = await api.table()
    ann = await api.sit(table, "ann")
    seen = await see(api, table, ann)
    reading = asyncio.create_task(see(api, table, ann, since=seen["v"], wait=30))
    await attached(api, table["session"], "ann")
    watcher = await seat(api.node, table["session"], "ben")
    await watcher.until(lambda message: message["t"] == "presence" and set(message["seats"]) == {"ann", "ben"})
    assert not reading.done()
    await api.do(table["session"], table["token"], "a.1", type="chat", text="now")
    told = await asyncio.wait_for(reading, 20)
    assert [event["body"] for frame in told["frames"] for event in frame["events"]] == ["now"]


async def test_a_wait_that_brings_nothing_ends_with_nothing(api: Api):
    table = await api.table()
    seen = await see(api, table, table["token"])
    assert (await see(api, table, table["token"], since=seen["v"], wait=1))["frames"] == []
    actor = await api.node.registry.get(table["session"])
    assert not actor.fanout.viewers, "nobody is left behind"


async def waiting(api: Api, table: Answer, token: str) -> asyncio.Task[Reply]:
    seen = await see(api, table, token)
    path = f"/v1/sessions/{table['session']}?since={seen['v']}&wait=30"
    task = asyncio.create_task(api.call("GET", path, token))
    await attached(api, table["session"], seen["seat"])
    return task


async def test_a_reader_whose_token_is_revoked_while_it_waits_is_told_at_once(api: Api):
    table = await api.table()
    reading = await waiting(api, table, await api.sit(table, "ann"))
    await api.good("POST", f"/v1/sessions/{table['session']}/seats/ann/revoke", table["token"])
    refused(await asyncio.wait_for(reading, 20), 401, "revoked")


async def test_a_reader_whose_table_is_deleted_while_it_waits_is_told_at_once(api: Api):
    table = await api.table()
    reading = await waiting(api, table, await api.sit(table, "ann"))
    await api.good("DELETE", f"/v1/sessions/{table['session']}", table["token"], {"confirm": table["session"]})
    refused(await asyncio.wait_for(reading, 20), 404, "no_session")


async def test_a_reader_whose_seat_is_removed_while_it_waits_is_told_at_once(api: Api):
    table = await api.table()
    reading = await waiting(api, table, await api.sit(table, "ben"))
    await api.do(table["session"], table["token"], "a.1", type="gm.seat.remove", seat="ben")
    refused(await asyncio.wait_for(reading, 20), 401, "revoked")


async def test_a_stopping_server_does_not_wait_for_those_who_wait(api: Api):
    table = await api.table()
    reading = await waiting(api, table, table["token"])
    await asyncio.wait_for(api.node.stop(), 20)
    assert (await asyncio.wait_for(reading, 20)).status in (200, 503)


async def test_an_action_sent_twice_is_done_once_and_answered_alike(api: Api):
    table = await api.table()
    first = await api.do(table["session"], table["token"], "bot.7", type="roll", notation="3d6")
    again = await api.do(table["session"], table["token"], "bot.7", type="roll", notation="3d6")
    assert again.told == {"session": table["session"], "id": "bot.7", "v": first.told["v"], "again": True}
    assert first.told["durability"] == "memory"
    assert (await see(api, table, table["token"]))["v"] == first.told["v"]
    assert (await api.do(table["session"], table["token"], "bot.9", type="roll", notation="1d6")).status == 200
    refused(await api.do(table["session"], table["token"], "bot.8", type="roll", notation="1d6"), 409, "too_old")


async def test_the_same_action_over_socket_and_http_is_one(api: Api, seat: Join):
    table = await api.table()
    token = await api.sit(table, "ann")
    assert (await api.do(table["session"], token, "both.1", type="chat", text="once")).status == 200
    client = await seat(api.node, table["session"], "ann")
    answer = await client.do(table["session"], "both.1", {"type": "chat", "text": "once"})
    assert (answer["t"], answer.get("again")) == ("ack", True)


REFUSALS: dict[str, tuple[str, dict[str, Any], int, str]] = {
    "an unknown command": ("gm", {"type": "teleport"}, 400, "unknown_command"),
    "no command": ("gm", {}, 400, "bad_command"),
    "a command of the system": ("gm", {"type": "system.dice", "reason": "x"}, 400, "unknown_command"),
    "a field too many": ("gm", {"type": "chat", "text": "a", "loud": True}, 400, "bad_command"),
    "a negative number": ("gm", {"type": "gm.clock", "minutes": -5}, 400, "bad_command"),
    "a huge number": ("gm", {"type": "gm.clock", "minutes": 2**53 - 1}, 400, "bad_command"),
    "an unknown seat": ("gm", {"type": "gm.seat.remove", "seat": "zoe"}, 404, "unknown_id"),
    "an unknown combatant": ("ann", {"type": "attack", "combatant": "c1", "target": "c99"}, 404, "unknown_id"),
    "an unknown zone": ("ann", {"type": "move", "combatant": "c1", "zone": "moon"}, 409, "out_of_range"),
    "a question that is none": ("ann", {"type": "answer", "prompt": "p1", "choice": "yes"}, 404, "unknown_id"),
    "a GM's command from a player": ("ann", {"type": "gm.pause"}, 403, "forbidden"),
    "out of turn": ("ben", {"type": "brace", "combatant": "c2"}, 409, "not_your_turn"),
    "somebody else's": ("ben", {"type": "brace", "combatant": "c1"}, 403, "not_yours"),
    "a text by reference": ("gm", {"type": "chat", "text": {"id": "a", "sha256": "b"}}, 400, "bad_command"),
    "dice notation nobody reads": ("gm", {"type": "roll", "notation": "d"}, 400, "bad_command"),
}


@pytest.mark.parametrize("name", REFUSALS)
async def test_what_the_rules_refuse_has_a_fitting_status_and_changes_nothing(api: Api, name: str):
    who, command, status, code = REFUSALS[name]
    table = await api.table()
    token = table["token"] if who == "gm" else await api.sit(table, who)
    before = (await see(api, table, token))["v"]
    reply = await api.do(table["session"], token, "a.1", **command)
    refused(reply, status, code)
    assert (await see(api, table, token))["v"] == before


@pytest.mark.parametrize("body", [{"id": "a", "command": {}}, {"id": "a.0", "command": {}}, {"id": "a.1"}, {"id": "a.1", "command": "x"}])
async def test_a_command_body_that_is_none_is_refused(api: Api, body: dict[str, Any]):
    table = await api.table()
    refused(await api.call("POST", f"/v1/sessions/{table['session']}/commands", table["token"], body), 400, "bad_command")


async def test_a_command_meant_for_an_older_table_is_refused_with_where_it_stands(api: Api):
    table = await api.table()
    seen = await see(api, table, table["token"])
    await api.do(table["session"], table["token"], "a.1", type="brace", combatant="c1")
    body = {"id": "a.2", "command": {"type": "turn.end", "combatant": "c1"}, "at": seen["v"]}
    reply = await api.call("POST", f"/v1/sessions/{table['session']}/commands", table["token"], body)
    refused(reply, 409, "stale")
    assert reply.told["v"] == seen["v"] + 1


async def test_every_listed_option_can_be_done_and_its_odds_are_exact(api: Api):
    """One option of each kind, taken as listed, at a table of its own; fractions, never floats."""
    table = await api.table()
    offered = await api.good("GET", f"/v1/sessions/{table['session']}/options", table["token"])
    assert offered["v"] == (await see(api, table, table["token"]))["v"]
    for kind in {option["type"]: None for option in offered["options"]}:
        fresh = await api.table()
        there = await api.good("GET", f"/v1/sessions/{fresh['session']}/options", fresh["token"])
        option = [one for one in there["options"] if one["type"] == kind][-1]
        command = {**option["command"], **{p["name"]: p["choices"][0]["value"] for p in option.get("params", [])}}
        assert (await api.do(fresh["session"], fresh["token"], "a.1", **command)).status == 200, option
    near = await api.do(table["session"], table["token"], "a.1", type="gm.move", combatant="c1", scene="mill", zone="yard", near=["c3"])
    assert near.status == 200
    body = {"command": {"type": "attack", "combatant": "c1", "target": "c3"}}
    told = await api.good("POST", f"/v1/sessions/{table['session']}/odds", table["token"], body)
    # d20 + 5 against d20 + 3, ties to the striker: 400 pairs counted.
    hits = sum(mine + 5 >= theirs + 3 for mine in range(1, 21) for theirs in range(1, 21))
    assert next(part["p"] for part in told["odds"]["parts"] if part["name"] == "hit") == f"{hits}/400"
    refused(
        await api.call("POST", f"/v1/sessions/{table['session']}/odds", table["token"], {"command": {"type": "brace"}}), 400, "bad_command"
    )


async def test_history_is_paged_backwards_without_a_gap(api: Api):
    table = await api.table()
    for n in range(1, 8):
        await api.do(table["session"], table["token"], f"a.{n}", type="chat", text=f"line {n}")
    path = f"/v1/sessions/{table['session']}/history"
    found: list[int] = []
    before: dict[str, int] = {}
    while True:
        page = await api.good("GET", path, table["token"], params={"limit": 3, **before})
        found = [frame["v"] for frame in page["frames"]] + found
        if not page["more"]:
            break
        before = {"before": page["frames"][0]["v"]}
    assert found == list(range(1, found[-1] + 1))


# --- what was said -----------------------------------------------------------------------------------------------------------


async def said(api: Api, table: Answer, token: str, action: str, **command: Any) -> str:
    """Say something; the id of its text."""
    v = (await api.do(table["session"], token, action, **command)).told["v"]
    actor = await api.node.registry.get(table["session"])
    return next(item.entry.events[0].body for item in actor.fanout.ring if item.entry.v == v)


async def test_its_author_and_a_gm_erase_a_text_and_nobody_else(api: Api):
    table = await api.table()
    ann, ben = await api.sit(table, "ann"), await api.sit(table, "ben")
    path = f"/v1/sessions/{table['session']}/texts"
    one = await said(api, table, ann, "a.1", type="chat", text="rash words")
    refused(await api.call("DELETE", f"{path}/{one}", ben), 403, "not_yours")
    assert (await api.good("DELETE", f"{path}/{one}", ann))["erased"] is True
    assert (await api.good("DELETE", f"{path}/{one}", ann))["erased"] is False
    other = await said(api, table, ann, "a.2", type="chat", text="more of it")
    assert (await api.good("DELETE", f"{path}/{other}", table["token"]))["erased"] is True
    history = await api.call("GET", f"/v1/sessions/{table['session']}/history", ben)
    assert b"rash words" not in history.raw
    assert b"more of it" not in history.raw
    erased = [event for frame in history.told["frames"] for event in frame.get("events", []) if event.get("erased")]
    assert [event["body"] for event in erased] == [None, None]
    refused(await api.call("DELETE", f"{path}/0123456789abcdef", ann), 404, "unknown_id")


async def test_a_private_text_does_not_exist_for_others_nor_for_a_later_holder_of_the_seat(api: Api):
    table = await api.table()
    ann, ben = await api.sit(table, "ann"), await api.sit(table, "ben")
    private = await said(api, table, ann, "a.1", type="chat", text="between us", to=["gm"])
    path = f"/v1/sessions/{table['session']}/texts/{private}"
    refused(await api.call("DELETE", path, ben), 404, "unknown_id")
    code = await api.good("POST", f"/v1/sessions/{table['session']}/invites", table["token"], {"seat": "ann"})
    later = await api.good("POST", "/v1/invites/redeem", body={"code": code["code"]})
    refused(await api.call("DELETE", path, later["token"]), 404, "unknown_id")


# --- secrets -------------------------------------------------------------------------------------------------------------------


async def test_what_a_seat_may_not_see_is_in_none_of_its_answers(api: Api):
    """Planted in a hidden name, a private line and a number of another's sheet; looked for in every route a player can read."""
    table = await api.table()
    ann, gm, session = await api.sit(table, "ann"), table["token"], table["session"]
    first = (await see(api, table, ann))["v"]
    plant: tuple[dict[str, Any], ...] = (
        {"type": "gm.spawn", "id": "shade", "name": SECRET_NAME, "template": "stray", "scene": "mill", "zone": "yard", "hidden": True},
        {"type": "gm.set", "kind": "combatants", "id": "c3", "field": "armor", "value": SECRET_ARMOR},
        {"type": "chat", "text": SECRET_LINE, "to": ["ben"]},
        {"type": "roll", "notation": "1d6", "label": SECRET_NAME, "hidden": True},
    )
    for n, command in enumerate(plant, 1):
        assert (await api.do(session, gm, f"a.{n}", **command)).status == 200
    at = f"/v1/sessions/{session}"
    replies = [
        await api.call("GET", at, ann),
        await api.call("GET", f"{at}?since={first}", ann),
        await api.call("GET", f"{at}/history?limit=200", ann),
        await api.call("GET", f"{at}/options", ann),
        await api.call("POST", f"{at}/odds", ann, {"command": {"type": "attack", "combatant": "c1", "target": "c3"}}),
        *[await api.call("GET", f"{at}/{path}", ann) for path in ("export", "verify", "invites")],
    ]
    for reply in replies:
        for secret in (SECRET_NAME, SECRET_LINE, '"shade"'):
            assert secret.encode() not in reply.raw, (secret, reply)
        # Digits alone also stand in times and stamps.
        assert not re.search(rf"\b{SECRET_ARMOR}\b", reply.raw.decode()), reply
    assert [reply.status for reply in replies[-3:]] == [403, 403, 403]
    # Asked about by its name, what is hidden answers as what does not exist.
    hidden, nobody = "shade", "ghost"
    strikes = [{"type": "attack", "combatant": "c1", "target": one} for one in (hidden, nobody)]
    odds = [await api.call("POST", f"{at}/odds", ann, {"command": strike}) for strike in strikes]
    acts = [await api.do(session, ann, "b.1", **strike) for strike in strikes]
    for one, other in (odds, acts):
        assert one.status == 404
        assert one.raw.replace(hidden.encode(), nobody.encode()) == other.raw
    seen_by_gm = (await api.call("GET", at, gm)).raw
    assert SECRET_NAME.encode() in seen_by_gm
    assert str(SECRET_ARMOR).encode() in seen_by_gm
