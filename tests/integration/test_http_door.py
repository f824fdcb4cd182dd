"""The door of the HTTP routes: who may come in, what may come in, and how every no is said."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import aiohttp
import msgpack  # type: ignore[import-untyped]  # it ships no types
import pytest

from protocol.errors import CODES
from server.app import Server
from server.gateway.http import MAX_UPLOAD, ROUTES
from server.gateway.http_base import STATUS
from server.gateway.http_logs import MAX_IMPORT
from server.store import StoreReadOnly, StoreUnavailable
from tests.integration.api import DUEL, HOUR_MS, Api, refused
from tests.integration.conftest import StartNode


@pytest.fixture
def api(http: aiohttp.ClientSession, node: Server) -> Api:
    return Api(http, node)


def a_path(path: str) -> str:
    return re.sub(r"{\w+}", "abcdefghijklmnop", path)


def test_every_code_has_a_status_and_those_worth_a_retry_say_so():
    assert set(STATUS) == set(CODES)
    assert all(STATUS[code] in (408, 409, 429, 503) for code, info in CODES.items() if info.retry)
    assert all(400 <= STATUS[code] < 600 for code in CODES)


@pytest.mark.parametrize(
    "route", [one for one in ROUTES if one.access in ("token", "seat", "gm")], ids=lambda one: f"{one.method} {one.path}"
)
async def test_a_route_that_needs_a_token_says_so_without_one_and_tells_nothing_with_a_false_one(api: Api, route: Any):
    reply = await api.call(route.method, a_path(route.path), body={} if route.body is not None else None)
    refused(reply, 401, "unauthorized")
    assert reply.headers["WWW-Authenticate"] == "Bearer"
    refused(await api.call(route.method, a_path(route.path), "no.such.token"), 401, "unauthorized")
    basic = {"Authorization": "Basic Z206Z20="}
    refused(await api.call(route.method, a_path(route.path), headers=basic), 401, "unauthorized")


async def test_a_token_of_another_table_opens_nothing_and_cannot_tell_whether_a_table_exists(api: Api):
    one, other = await api.table(), await api.table()
    there = await api.call("GET", f"/v1/sessions/{other['session']}", one["token"])
    nowhere = await api.call("GET", "/v1/sessions/aaaaaaaaaaaaaaaa", one["token"])
    refused(there, 401, "unauthorized")
    assert there.told == nowhere.told
    for path in ("export", "verify", "options", "history", "invites"):
        refused(await api.call("GET", f"/v1/sessions/{other['session']}/{path}", one["token"]), 401, "unauthorized")


@pytest.mark.parametrize("name", ["token", "access_token", "code"])
async def test_tokens_and_codes_in_an_address_are_refused_even_good_ones(api: Api, name: str):
    table = await api.table()
    refused(await api.call("GET", f"/v1/sessions/{table['session']}?{name}={table['token']}"), 400, "bad_command")
    refused(await api.call("GET", f"/v1/sessions/{table['session']}?{name}=x", table["token"]), 400, "bad_command")


async def test_answers_come_in_the_encoding_that_was_asked_for(api: Api):
    table = await api.good("POST", "/v1/sessions", body=DUEL, packed=True)
    packed = await api.call("GET", f"/v1/sessions/{table['session']}", table["token"], packed=True)
    plain = await api.call("GET", f"/v1/sessions/{table['session']}", table["token"])
    assert packed.headers["Content-Type"] == "application/msgpack"
    assert plain.headers["Content-Type"].startswith("application/json")
    assert packed.told == plain.told
    assert (await api.call("GET", "/nope", packed=True)).told["code"] == "unknown_id"


BAD_BODIES: dict[str, tuple[bytes, str, int, str]] = {
    "nothing": (b"", "application/json", 400, "bad_frame"),
    "cut off": (b'{"code": "a', "application/json", 400, "bad_frame"),
    "not utf-8": (b'{"code": "\xff"}', "application/json", 400, "bad_frame"),
    "a list": (b"[1]", "application/json", 400, "bad_frame"),
    "twice the same key": (b'{"code": "a", "code": "b"}', "application/json", 400, "bad_frame"),
    "a float": (b'{"code": 1.5}', "application/json", 400, "bad_frame"),
    "NaN": (b'{"code": NaN}', "application/json", 400, "bad_frame"),
    "a huge int": (b'{"code": 9007199254740992}', "application/json", 400, "bad_frame"),
    "thousands of digits": (b'{"code": ' + b"9" * 5000 + b"}", "application/json", 400, "bad_frame"),
    "too deep": (b'{"code": ' + b"[" * 5000 + b"]" * 5000 + b"}", "application/json", 400, "bad_frame"),
    "half a surrogate": (b'{"code": "\\ud800"}', "application/json", 400, "bad_frame"),
    "an unknown field": (b'{"code": "a.b", "seat": "gm"}', "application/json", 400, "bad_command"),
    "a wrong type": (b'{"code": 1}', "application/json", 400, "bad_command"),
    "no field": (b"{}", "application/json", 400, "bad_command"),
    "trailing msgpack": (msgpack.packb({"code": "a.b"}) + b"\x00", "application/msgpack", 400, "bad_frame"),
    "a msgpack bin": (msgpack.packb({"code": b"a.b"}), "application/msgpack", 400, "bad_frame"),
    "a msgpack extension": (msgpack.packb({"code": msgpack.ExtType(1, b"a")}), "application/msgpack", 400, "bad_frame"),
    "a claim of a billion items": (b"\x81\xa4code\xdd\x40\x00\x00\x00", "application/msgpack", 400, "bad_frame"),
    "json called msgpack": (b'{"code": "a.b"}', "application/msgpack", 400, "bad_frame"),
    "plain text": (b'{"code": "a.b"}', "text/plain", 415, "bad_frame"),
    "a form": (b"code=a.b", "application/x-www-form-urlencoded", 415, "bad_frame"),
    "more than a body may have": (b'{"code": "' + b"a" * 70_000 + b'"}', "application/json", 413, "too_large"),
}


@pytest.mark.parametrize("name", BAD_BODIES)
async def test_a_bad_body_gets_a_clear_no_and_the_server_goes_on(api: Api, name: str):
    data, mime, status, code = BAD_BODIES[name]
    refused(await api.call("POST", "/v1/invites/redeem", data=data, headers={"Content-Type": mime}), status, code)
    assert (await api.call("GET", "/healthz")).status == 200


async def test_a_body_larger_than_it_claims_or_packed_is_refused_as_well(api: Api):
    async def pour() -> Any:
        for _ in range(40):
            yield b"a" * 4096

    typed = {"Content-Type": "application/json"}
    refused(await api.call("POST", "/v1/invites/redeem", data=pour(), headers=typed), 413, "too_large")
    reply = await api.call("POST", "/v1/invites/redeem", data=b"x", headers={**typed, "Content-Encoding": "gzip"})
    assert reply.status in (400, 415)


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/v1/nothing", 404), ("PUT", "/v1/sessions", 405), ("GET", "/v1/invites/redeem", 405), ("GET", "/v1/sessions/a%20b", 404)],
)
async def test_an_address_that_is_none_is_told_in_the_same_form(api: Api, method: str, path: str, status: int):
    reply = await api.call(method, path)
    assert reply.status == status
    assert set(reply.told) >= {"code", "text"}
    assert (status == 405) == ("Allow" in reply.headers)


@pytest.mark.parametrize("path", ["/", "/app.js", "/style.css", "/healthz", "/v1/rulesets", "/nope"])
async def test_every_answer_wears_the_headers_that_keep_browsers_safe(api: Api, path: str):
    headers = (await api.call("GET", path)).headers
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "no-referrer"
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert "Access-Control-Allow-Origin" not in headers


async def test_the_page_is_served_once_and_then_known(api: Api):
    first = await api.call("GET", "/app.js")
    assert first.status == 200
    again = await api.call("GET", "/app.js", headers={"If-None-Match": first.headers["ETag"]})
    assert (again.status, again.raw) == (304, b"")


async def test_pages_of_others_may_call_only_where_the_host_says_so(api: Api, http: aiohttp.ClientSession, start_node: StartNode):
    stranger = {"Origin": "https://evil.example"}
    refused(await api.call("POST", "/v1/sessions", body=DUEL, headers=stranger), 403, "forbidden")
    refused(await api.call("GET", "/v1/rulesets", headers={"Origin": "null"}), 403, "forbidden")
    assert (await api.call("GET", "/v1/rulesets", headers={"Origin": api.node.url})).status == 200

    friendly = Api(http, await start_node(origins="https://game.example"))
    asked = {"Origin": "https://game.example", "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization"}
    before = await friendly.call("OPTIONS", "/v1/sessions", headers=asked)
    assert before.status == 204
    assert before.headers["Access-Control-Allow-Origin"] == "https://game.example"
    assert "Authorization" in before.headers["Access-Control-Allow-Headers"]
    assert "Access-Control-Allow-Credentials" not in before.headers
    made = await friendly.call("POST", "/v1/sessions", body=DUEL, headers={"Origin": "https://game.example"})
    assert (made.status, made.headers["Access-Control-Allow-Origin"]) == (201, "https://game.example")
    refused(await friendly.call("POST", "/v1/sessions", body=DUEL, headers=stranger), 403, "forbidden")


async def test_floods_are_slowed_down_with_the_time_to_wait(http: aiohttp.ClientSession, start_node: StartNode):
    api = Api(http, await start_node(limits__seat_rate=1, limits__seat_burst=3))
    table = await api.table()
    replies = [await api.call("GET", f"/v1/sessions/{table['session']}/options", table["token"]) for _ in range(5)]
    refused(replies[-1], 429, "rate_limited")
    assert replies[-1].told["retry_after"] > 0
    assert int(replies[-1].headers["Retry-After"]) >= 1
    ann = await api.sit(table, "ann")
    assert (await api.call("GET", f"/v1/sessions/{table['session']}", ann)).status == 200, "another seat does not pay for it"


async def test_guessing_tokens_and_codes_is_slowed_down_but_good_ones_are_free(http: aiohttp.ClientSession, start_node: StartNode):
    api = Api(http, await start_node(limits__tries_per_minute=3))
    table = await api.table()
    for _ in range(8):
        assert (await api.call("GET", f"/v1/sessions/{table['session']}", table["token"])).status == 200
    for _ in range(3):
        refused(await api.call("POST", "/v1/invites/redeem", body={"code": f"{table['session']}.0000-0000-0000-0000"}), 401, "unauthorized")
    good = {"code": table["seats"]["ann"]["invite"]}
    refused(await api.call("POST", "/v1/invites/redeem", body=good), 429, "rate_limited")
    refused(await api.call("GET", f"/v1/sessions/{table['session']}", "false"), 429, "rate_limited")


class Broken:
    """A store's method that fails."""

    def __init__(self, problem: Exception) -> None:
        self.problem = problem

    async def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise self.problem


@pytest.mark.parametrize(
    ("problem", "code"), [(StoreUnavailable("It is away."), "unavailable"), (StoreReadOnly("It is a replica."), "read_only")]
)
async def test_a_store_that_is_away_is_told_with_when_to_come_again(
    api: Api, monkeypatch: pytest.MonkeyPatch, problem: Exception, code: str
):
    table = await api.table()
    for name in ("ping", "entries_before", "create", "commit"):
        monkeypatch.setattr(api.node.store, name, Broken(problem))
    for method, path, body in (("GET", f"/v1/sessions/{table['session']}/history", None), ("POST", "/v1/sessions", DUEL)):
        reply = await api.call(method, path, table["token"] if body is None else "", body)
        refused(reply, 503, code)
        assert int(reply.headers["Retry-After"]) >= 1
    refused(await api.do(table["session"], table["token"], "a.1", type="roll", notation="1d6"), 503, code)
    ready = await api.call("GET", "/readyz")
    assert (ready.status, ready.told["ready"]) == (503, False)
    assert str(problem) in ready.told["why"]
    assert (await api.call("GET", "/healthz")).told == {"alive": True}


async def test_a_stopping_server_is_alive_and_not_ready_and_takes_nothing(api: Api):
    table = await api.table()
    api.node.draining = True
    try:
        reply = await api.call("GET", f"/v1/sessions/{table['session']}", table["token"])
        refused(reply, 503, "shutting_down")
        assert (await api.call("GET", "/healthz")).status == 200
        ready = await api.call("GET", "/readyz")
        assert (ready.status, ready.told) == (503, {"ready": False, "why": "The server is stopping."})
    finally:
        api.node.draining = False


async def test_a_failure_of_the_server_is_told_as_one_without_its_insides(api: Api, monkeypatch: pytest.MonkeyPatch):
    table = await api.table()
    monkeypatch.setattr(api.node.store, "entries_before", Broken(RuntimeError("the secret is 12345")))
    reply = await api.call("GET", f"/v1/sessions/{table['session']}/history", table["token"])
    refused(reply, 500, "internal")
    assert b"12345" not in reply.raw


async def test_metrics_are_for_this_machine_and_admins(api: Api, http: aiohttp.ClientSession, start_node: StartNode):
    text = (await api.call("GET", "/metrics")).raw.decode()
    assert re.search(r"^dustup_connections 0\.0$", text, flags=re.MULTILINE)
    # An undeclared proxy makes everyone look local, but says that it is one.
    refused(await api.call("GET", "/metrics", headers={"X-Forwarded-For": "203.0.113.9"}), 401, "unauthorized")
    proxied = Api(http, await start_node(trusted_proxies="127.0.0.0/8"))
    far = {"X-Forwarded-For": "203.0.113.9"}
    refused(await proxied.call("GET", "/metrics", headers=far), 401, "unauthorized")
    person = proxied.node.tokens.person_token("somebody", HOUR_MS)
    refused(await proxied.call("GET", "/metrics", person, headers=far), 403, "forbidden")
    assert (await proxied.call("GET", "/metrics", await proxied.admin(), headers=far)).status == 200


async def test_openapi_names_every_route_and_its_references_lead_somewhere(api: Api):
    described = (await api.call("GET", "/v1/openapi.json")).told
    named = {(method.upper(), path) for path, methods in described["paths"].items() for method in methods}
    # From the router itself, so that a route served past the list would be found.
    runner = api.node._runner
    assert runner is not None
    app = runner.app
    served = {(route.method, route.resource.canonical) for route in app.router.routes() if route.resource is not None}
    assert {one for one in served if one[0] != "HEAD"} - {("GET", "/v1/ws")} == named
    text = json.dumps(described)
    for reference in re.findall(r'"\$ref": "#/components/schemas/(\w+)"', text):
        assert reference in described["components"]["schemas"]
    names = [operation["operationId"] for methods in described["paths"].values() for operation in methods.values()]
    assert len(names) == len(set(names))


def test_the_manual_names_every_route():
    manual = (Path(__file__).resolve().parents[2] / "docs" / "http.md").read_text("utf-8")
    assert [f"{route.method} {route.path}" for route in ROUTES if f"`{route.method} {route.path}`" not in manual] == []


async def test_rulesets_tell_what_can_be_played_with_every_command(api: Api):
    told = (await api.call("GET", "/v1/rulesets")).told
    duel = next(one for one in told["rulesets"] if one["name"] == "duel")
    assert set(duel["samples"]) == {"yard"}
    assert "bloody" in duel["variants"]
    assert duel["switches"]["parry_bonus"][0] == 3
    tags = {
        one["properties"]["type"]["enum"][0]
        for name, one in duel["commands"].items()
        if "properties" in one and "type" in one["properties"]
    }
    assert {"attack", "chat", "answer", "gm.undo"} <= tags
    assert not any(tag.startswith("system.") for tag in tags)


def test_the_application_lets_an_import_through_and_no_more():
    assert MAX_UPLOAD == MAX_IMPORT == 16 * 1024 * 1024


async def test_a_slow_body_does_not_hold_the_server(api: Api, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("server.gateway.bodies.WITHIN_SECONDS", 0)
    never = asyncio.Event()

    async def drip() -> Any:
        yield b'{"code": '
        await never.wait()

    async def slow() -> None:
        refused(await api.call("POST", "/v1/invites/redeem", data=drip(), headers={"Content-Type": "application/json"}), 408, "bad_frame")

    task = asyncio.create_task(slow())
    assert (await api.call("GET", "/healthz")).status == 200
    try:
        await asyncio.wait_for(task, 20)
    finally:
        never.set()
