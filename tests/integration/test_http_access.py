"""Getting in over HTTP: who may make tables, what an invite is good for, and how access is taken away."""

from __future__ import annotations

import asyncio
from typing import Any

import aiohttp
import pytest

from server.app import Server
from server.sessions.jobs import Refusal
from server.store import StoreUnavailable
from tests.integration.api import DUEL, HOUR_MS, Answer, Api, refused
from tests.integration.conftest import StartNode


@pytest.fixture
def api(http: aiohttp.ClientSession, node: Server) -> Api:
    return Api(http, node)


async def redeem(api: Api, code: str, token: str = "", **more: Any) -> Any:
    return await api.call("POST", "/v1/invites/redeem", token, {"code": code, **more})


async def test_a_new_table_comes_with_the_gms_token_and_an_invite_for_everybody_else(api: Api):
    table = await api.table(name="Friday")
    assert table["seat"] == "gm"
    assert {seat: one["role"] for seat, one in table["seats"].items()} == {"ann": "player", "ben": "player"}
    assert table["link"] == f"{api.node.url}/#token={table['token']}&session={table['session']}"
    seen = await api.good("GET", f"/v1/sessions/{table['session']}", table["token"])
    assert (seen["v"], seen["epoch"], seen["role"]) == (table["v"], table["epoch"], "gm")
    assert seen["view"]["table"]["table"]["name"] == "Friday"
    for seat, one in table["seats"].items():
        assert one["link"] == f"{api.node.url}/#{one['invite']}"
        assert one["invite"].startswith(table["session"] + ".")
        assert (await redeem(api, one["invite"])).told["seat"] == seat


async def test_where_not_everybody_may_make_tables_an_admin_may(http: aiohttp.ClientSession, start_node: StartNode):
    api = Api(http, await start_node(open_creation=False))
    refused(await api.call("POST", "/v1/sessions", body=DUEL), 401, "unauthorized")
    person = api.node.tokens.person_token("somebody", HOUR_MS)
    for method, path in (("POST", "/v1/sessions"), ("POST", "/v1/sessions/import")):
        refused(await api.call(method, path, person, DUEL), 403, "forbidden")
    made = await api.good("POST", "/v1/sessions", await api.admin(), DUEL)
    seen = await api.good("GET", f"/v1/sessions/{made['session']}", made["token"])
    assert seen["view"]["seats"]["gm"]["person"] == "host"


@pytest.mark.parametrize(
    ("setup", "status", "code"),
    [
        ({}, 400, "bad_command"),
        ({"ruleset": "chess"}, 404, "unknown_id"),
        ({"ruleset": "duel", "variant": "nice"}, 404, "unknown_id"),
        ({"ruleset": "duel", "options": {"parry_bonus": 4}}, 400, "illegal_choice"),
        ({"ruleset": "duel", "sample": "moon"}, 404, "unknown_id"),
        ({"ruleset": "duel", "seats": [{"id": "@system"}]}, 400, "bad_command"),
        ({"ruleset": "duel", "seats": [{"id": "a"}, {"id": "a"}]}, 400, "bad_command"),
        ({"ruleset": "duel", "unknown": 1}, 400, "bad_command"),
        ({"ruleset": "duel", "settings": {"deadline.turn": "soon"}}, 400, "bad_command"),
    ],
)
async def test_a_set_up_that_does_not_hold_together_makes_nothing(api: Api, setup: Answer, status: int, code: str):
    refused(await api.call("POST", "/v1/sessions", body=setup), status, code)
    assert await api.node.store.sessions() == ([], "")


async def test_a_table_whose_invites_could_not_be_made_is_not_left_behind(api: Api, monkeypatch: pytest.MonkeyPatch):
    """Nobody would know its id or have its token: it could neither be played nor deleted."""

    async def away(*args: Any, **kwargs: Any) -> Any:
        raise StoreUnavailable("It went away.")

    monkeypatch.setattr(api.node.invites, "create", away)
    refused(await api.call("POST", "/v1/sessions", body=DUEL), 503, "unavailable")
    assert await api.node.store.sessions() == ([], "")
    assert api.node.registry.live == []


async def test_an_invite_seats_one_person_once_under_the_name_they_chose(api: Api):
    table = await api.table()
    code = table["seats"]["ann"]["invite"]
    told = (await redeem(api, code, name="  Anna \n Lee ")).told
    assert (told["session"], told["seat"], told["role"]) == (table["session"], "ann", "player")
    seen = await api.good("GET", f"/v1/sessions/{table['session']}", told["token"])
    assert seen["view"]["seats"]["ann"]["name"] == "Anna Lee"
    used, never = await redeem(api, code), await redeem(api, code[:-1] + ("2" if code[-1] != "2" else "3"))
    refused(used, 401, "unauthorized")
    assert used.told == never.told, "a guesser learns nothing"


async def test_of_many_who_redeem_at_once_exactly_one_is_seated(api: Api):
    table = await api.table()
    replies = await asyncio.gather(*(redeem(api, table["seats"]["ann"]["invite"]) for _ in range(8)))
    assert sorted(reply.status for reply in replies) == [200] + [401] * 7


async def test_the_person_who_redeems_with_their_own_token_holds_the_seat_with_it(api: Api):
    table = await api.table()
    person = api.node.tokens.person_token("cleo", HOUR_MS)
    assert (await redeem(api, table["seats"]["ann"]["invite"], person)).status == 200
    seen = await api.good("GET", f"/v1/sessions/{table['session']}", person)
    assert (seen["seat"], seen["view"]["seats"]["ann"]["person"]) == ("ann", "cleo")


async def test_an_invite_for_a_role_makes_a_seat_and_takes_no_other(api: Api):
    table = await api.table()
    at = f"/v1/sessions/{table['session']}"
    made = await api.call("POST", f"{at}/invites", table["token"], {"role": "spectator", "ttl_minutes": 5})
    assert made.status == 201
    told = (await redeem(api, made.told["code"], name="Wanda")).told
    assert told["role"] == "spectator"
    assert told["seat"] not in ("gm", "ann", "ben")
    seen = await api.good("GET", at, told["token"])
    assert seen["view"]["seats"][told["seat"]]["name"] == "Wanda"
    refused(await api.do(table["session"], told["token"], "a.1", type="roll", notation="1d6"), 403, "forbidden")


async def test_a_guest_whose_seat_could_not_be_given_may_try_the_same_code_again(api: Api, monkeypatch: pytest.MonkeyPatch):
    table = await api.table()
    actor = await api.node.registry.get(table["session"])

    async def away(*args: Any, **kwargs: Any) -> Refusal:
        return Refusal("unavailable", "The store is away.", actor.session.v, retry_after=500)

    with monkeypatch.context() as patch:
        patch.setattr(type(actor), "act", away)
        refused(await redeem(api, table["seats"]["ann"]["invite"]), 503, "unavailable")
    assert (await redeem(api, table["seats"]["ann"]["invite"])).status == 200


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({}, 400, "bad_command"),
        ({"seat": "ann", "role": "player"}, 400, "bad_command"),
        ({"seat": "zoe"}, 404, "unknown_seat"),
        ({"role": "king"}, 400, "bad_command"),
        ({"seat": "ann", "ttl_minutes": 0}, 400, "bad_command"),
        ({"seat": "ann", "ttl_minutes": 10**9}, 400, "bad_command"),
        ({"seat": "a b"}, 400, "bad_command"),
    ],
)
async def test_an_invite_that_makes_no_sense_is_not_made(api: Api, body: Answer, status: int, code: str):
    table = await api.table()
    path = f"/v1/sessions/{table['session']}/invites"
    before = await api.good("GET", path, table["token"])
    refused(await api.call("POST", path, table["token"], body), status, code)
    assert await api.good("GET", path, table["token"]) == before


async def test_a_gm_lists_invites_without_their_codes_and_withdraws_them(api: Api):
    table = await api.table()
    path = f"/v1/sessions/{table['session']}/invites"
    listed = await api.call("GET", path, table["token"])
    assert [one["seat"] for one in listed.told["invites"]] == ["ann", "ben"]
    for one in table["seats"].values():
        assert one["invite"].rpartition(".")[2].encode() not in listed.raw
    ann = next(one["id"] for one in listed.told["invites"] if one["seat"] == "ann")
    assert await api.good("DELETE", f"{path}/{ann}", table["token"]) == {"withdrawn": True}
    refused(await api.call("DELETE", f"{path}/{ann}", table["token"]), 404, "unknown_id")
    refused(await redeem(api, table["seats"]["ann"]["invite"]), 401, "unauthorized")
    assert (await redeem(api, table["seats"]["ben"]["invite"])).status == 200
    other = await api.table()
    theirs = (await api.good("GET", f"/v1/sessions/{other['session']}/invites", other["token"]))["invites"][0]["id"]
    refused(await api.call("DELETE", f"{path}/{theirs}", table["token"]), 404, "unknown_id")


GM_ONLY = (
    ("POST", "/invites", {"role": "gm"}),
    ("GET", "/invites", None),
    ("DELETE", "/invites/abc", None),
    ("POST", "/seats/ben/revoke", None),
    ("GET", "/export", None),
    ("GET", "/verify", None),
    ("DELETE", "", {"confirm": "x"}),
)


@pytest.mark.parametrize(("method", "path", "body"), GM_ONLY)
async def test_what_is_the_gms_is_refused_to_players_and_open_to_the_host(api: Api, method: str, path: str, body: Answer | None):
    table = await api.table()
    at = f"/v1/sessions/{table['session']}{path}"
    refused(await api.call(method, at, await api.sit(table, "ann"), body), 403, "forbidden")
    assert (await api.call(method, at, await api.admin(), body)).status not in (401, 403)


async def test_an_admin_has_no_seat_and_is_told_so(api: Api):
    table = await api.table()
    for path in ("", "/options", "/history"):
        refused(await api.call("GET", f"/v1/sessions/{table['session']}{path}", await api.admin()), 403, "forbidden")


async def test_revoking_a_seat_ends_its_tokens_its_connections_and_its_invites(api: Api, connect: Any):
    table = await api.table()
    ann = await api.sit(table, "ann")
    second = await api.good("POST", f"/v1/sessions/{table['session']}/invites", table["token"], {"seat": "ann"})
    client = await connect(api.node, ann)
    await client.join(table["session"])
    told = await api.good("POST", f"/v1/sessions/{table['session']}/seats/ann/revoke", table["token"])
    assert told == {"session": table["session"], "seat": "ann", "revoked": True}
    assert await client.ended() == 4003
    refused(await api.call("GET", f"/v1/sessions/{table['session']}", ann), 401, "revoked")
    refused(await redeem(api, second["code"]), 401, "unauthorized")
    fresh = await api.good("POST", f"/v1/sessions/{table['session']}/invites", table["token"], {"seat": "ann"})
    assert (await redeem(api, fresh["code"])).status == 200
    refused(await api.call("POST", f"/v1/sessions/{table['session']}/seats/zoe/revoke", table["token"]), 404, "unknown_seat")


async def test_a_gm_who_revokes_their_own_seat_gets_a_fresh_token_and_is_not_locked_out(api: Api):
    table = await api.table()
    told = await api.good("POST", f"/v1/sessions/{table['session']}/seats/gm/revoke", table["token"])
    refused(await api.call("GET", f"/v1/sessions/{table['session']}", table["token"]), 401, "revoked")
    assert (await api.good("GET", f"/v1/sessions/{table['session']}", told["token"]))["role"] == "gm"


async def test_giving_back_a_token_ends_that_one_alone(api: Api):
    table = await api.table()
    one = await api.sit(table, "ann")
    again = await api.good("POST", f"/v1/sessions/{table['session']}/invites", table["token"], {"seat": "ann"})
    other = (await redeem(api, again["code"])).told["token"]
    assert await api.good("DELETE", "/v1/token", one) == {"revoked": True}
    refused(await api.call("DELETE", "/v1/token", one), 401, "revoked")
    assert (await api.call("GET", f"/v1/sessions/{table['session']}", other)).status == 200


async def test_a_table_is_deleted_only_by_its_name_and_then_gone_for_everybody(api: Api, connect: Any):
    table = await api.table()
    ann, session = await api.sit(table, "ann"), table["session"]
    client = await connect(api.node, ann)
    await client.join(session)
    for confirm in ({}, {"confirm": ""}, {"confirm": session.upper()}):
        refused(await api.call("DELETE", f"/v1/sessions/{session}", table["token"], confirm), 400, "bad_command")
    assert (await api.call("GET", f"/v1/sessions/{session}", ann)).status == 200
    await api.good("DELETE", f"/v1/sessions/{session}", table["token"], {"confirm": session})
    assert (await client.until(lambda message: message["t"] == "error"))["code"] == "no_session"
    for token in (ann, table["token"]):
        refused(await api.call("GET", f"/v1/sessions/{session}", token), 404, "no_session")
    refused(await redeem(api, table["seats"]["ben"]["invite"]), 401, "unauthorized")
    assert await api.node.store.load(session) is None
    assert await api.node.store.seed(session) is None


async def test_an_expired_token_is_told_apart_from_a_false_one(http: aiohttp.ClientSession, start_node: StartNode):
    from server.clock import ManualClock

    clock = ManualClock(1_750_000_000_000)
    api = Api(http, await start_node(clock=clock))
    table = await api.table()
    token = await api.node.tokens.seat_token(table["session"], "ann", "ann", 60_000)
    assert (await api.call("GET", f"/v1/sessions/{table['session']}", token)).status == 200
    clock.advance(61_000)
    refused(await api.call("GET", f"/v1/sessions/{table['session']}", token), 401, "expired")
    refused(await api.call("GET", f"/v1/sessions/{table['session']}", token[:-2]), 401, "unauthorized")
