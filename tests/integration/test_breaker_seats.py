"""Seats that change hands, go and come again: whoever had one before sees and does nothing at it any more."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import aiohttp
import pytest

from server.app import Server
from tests.integration.api import HOUR_MS, Api, refused
from tests.integration.conftest import Connect

SECRET = "the key lies under the third step"


@pytest.fixture
def api(http: aiohttp.ClientSession, node: Server) -> Api:
    return Api(http, node)


async def invite(api: Api, table: dict[str, Any], seat: str, person_token: str = "") -> str:
    """Give a seat to somebody else; the token they get."""
    made = await api.good("POST", f"/v1/sessions/{table['session']}/invites", table["token"], {"seat": seat})
    return str((await api.good("POST", "/v1/invites/redeem", person_token, body={"code": made["code"]}))["token"])


async def whisper(api: Api, table: dict[str, Any], action: str, seat: str) -> None:
    """A private line from the GM."""
    reply = await api.do(table["session"], table["token"], action, type="chat", text=SECRET, to=[seat])
    assert reply.status == 200, reply.raw


async def test_whoever_gave_a_seat_up_is_told_and_gets_nothing_of_the_next_holder(api: Api, node: Server, connect: Connect) -> None:
    table = await api.table()
    session = table["session"]
    first = await api.sit(table, "ann")
    before = await connect(node, first)
    await before.join(session)
    second = await invite(api, table, "ann")
    await whisper(api, table, "g.1", "ann")
    told = await before.until(lambda message: message["t"] == "error")
    assert (told["code"], told["session"]) == ("revoked", session)
    again = await before.join(session)
    assert (again["t"], again["code"]) == ("error", "unauthorized")
    await before.settle()
    assert SECRET not in json.dumps(before.seen)
    for path in ("", "/history", "/options"):
        refused(await api.call("GET", f"/v1/sessions/{session}{path}", first), 401, "unauthorized")
    refused(await api.do(session, first, "a.1", type="chat", text="still me"), 401, "unauthorized")
    now = await connect(node, second)
    await now.join(session, history=50)
    assert SECRET in json.dumps(now.seen)


async def test_a_person_keeps_a_seat_they_are_given_once_more(api: Api, node: Server, connect: Connect) -> None:
    """Their earlier token and connection stay good: nothing changed hands."""
    table = await api.table()
    person = node.tokens.person_token("ann-herself", HOUR_MS)
    first = await invite(api, table, "ann", person)
    client = await connect(node, first)
    await client.join(table["session"])
    await invite(api, table, "ann", person)
    await whisper(api, table, "g.1", "ann")
    await client.until(lambda message: SECRET in json.dumps(message))
    assert not client.of("error")


async def test_a_seat_that_went_and_came_again_is_another_seat(api: Api, node: Server, connect: Connect) -> None:
    """Even while nobody holds it: its name alone opens nothing to those who had the old one."""
    table = await api.table()
    session, gm = table["session"], table["token"]
    held = await api.sit(table, "ann")
    by_name = await node.tokens.seat_token(session, "ben", "ben", HOUR_MS, node_seat(node, session, "ben"))
    assert (await api.call("GET", f"/v1/sessions/{session}", by_name)).status == 200
    for n, seat in enumerate(("ann", "ben")):
        assert (await api.do(session, gm, f"g.{2 * n + 1}", type="gm.seat.remove", seat=seat)).status == 200
        assert (await api.do(session, gm, f"g.{2 * n + 2}", type="gm.seat.add", seat=seat, name="New", controls=["c1"])).status == 200
    for token in (held, by_name):
        refused(await api.call("GET", f"/v1/sessions/{session}", token), 401, "unauthorized")
        client = await connect(node, token)
        assert client.seen[0]["sessions"] == []
        assert (await client.join(session))["code"] == "unauthorized"


def node_seat(node: Server, session: str, seat: str) -> int:
    """Since which version a seat has its holder."""
    actor = next(actor for actor in node.registry.live if actor.id == session)
    return actor.session.seats[seat].since


async def test_a_next_holder_who_resumes_from_before_gets_no_line_of_the_former(api: Api, node: Server, connect: Connect) -> None:
    """Version and stamp are the same for every seat, so somebody who watched the table knows a place to resume from."""
    table = await api.table()
    session = table["session"]
    await api.sit(table, "ann")
    watching = await connect(node, await api.sit(table, "ben"))
    here = await watching.join(session)
    await whisper(api, table, "g.1", "ann")
    token = await invite(api, table, "ann")
    client = await connect(node, token)
    joined = await client.join(session, resume={name: here[name] for name in ("epoch", "v", "stamp")})
    assert joined["resumed"] is False
    await client.settle()
    since = await api.good("GET", f"/v1/sessions/{session}?since={here['v']}", token)
    assert "view" in since
    assert SECRET not in json.dumps([client.seen, since])


async def test_tokens_of_a_table_open_no_other_that_is_imported_under_its_id(api: Api, node: Server) -> None:
    table = await api.table()
    session, gm = table["session"], table["token"]
    by_name = await node.tokens.seat_token(session, "ben", "ben", HOUR_MS, node_seat(node, session, "ben"))
    tokens = [gm, await api.sit(table, "ann"), by_name]
    export = (await api.call("GET", f"/v1/sessions/{session}/export", gm)).raw
    await api.good("DELETE", f"/v1/sessions/{session}", gm, {"confirm": session})
    path = f"/v1/sessions/import?session={session}"
    await api.good("POST", path, await api.admin(), data=export, headers={"Content-Type": "application/octet-stream"})
    for token in tokens:
        refused(await api.call("GET", f"/v1/sessions/{session}", token), 401, "unauthorized")


async def test_a_reader_who_waits_while_the_seat_is_given_away_is_told(api: Api) -> None:
    table = await api.table()
    session = table["session"]
    token = await api.sit(table, "ann")
    v = (await api.good("GET", f"/v1/sessions/{session}", token))["v"]
    waiting = asyncio.create_task(api.call("GET", f"/v1/sessions/{session}?since={v}&wait=30", token))
    while not any(actor.fanout.viewers.get("ann") for actor in api.node.registry.live):  # noqa: ASYNC110
        await asyncio.sleep(0.001)
    await invite(api, table, "ann")
    refused(await waiting, 401, "revoked")
