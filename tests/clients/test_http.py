"""The few calls over plain HTTP, against a small server of the test's own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import web

import dustup


class Site:
    """Answers every POST with `answer`, and remembers what was asked."""

    def __init__(self) -> None:
        self.url = ""
        self.asked: list[tuple[str, Any, str | None]] = []
        self.status = 200
        self.body: bytes = b"{}"

    async def handle(self, request: web.Request) -> web.Response:
        self.asked.append((request.path, await request.json(), request.headers.get("Authorization")))
        return web.Response(status=self.status, body=self.body)


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    found = Site()
    app = web.Application()
    app.router.add_post("/{path:.*}", found.handle)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    found.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield found
    await runner.cleanup()


async def test_a_table_is_made_with_the_token_in_a_header(site: Site) -> None:
    site.status, site.body = 201, b'{"session": "k3v9mq2w"}'
    made = await dustup.http.create(site.url + "/", {"ruleset": "duel"}, token="admin")
    assert made == {"session": "k3v9mq2w"}
    assert site.asked == [("/v1/sessions", {"ruleset": "duel"}, "Bearer admin")]


async def test_an_invite_is_exchanged_by_post_and_never_put_in_an_address(site: Site) -> None:
    site.body = b'{"token": "t", "session": "abc", "seat": "ann"}'
    assert (await dustup.http.redeem(site.url, "abc.code"))["seat"] == "ann"
    assert site.asked == [("/v1/invites/redeem", {"code": "abc.code"}, None)]


async def test_a_refusal_keeps_code_and_text(site: Site) -> None:
    site.status, site.body = 401, b'{"code": "unauthorized", "text": "Used already.", "retry_after": 5}'
    with pytest.raises(dustup.Refused) as caught:
        await dustup.http.redeem(site.url, "abc.code")
    assert (caught.value.code, caught.value.text, caught.value.retry_after) == ("unauthorized", "Used already.", 5)


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (502, b"<html>", dustup.Unavailable),
        (503, b"", dustup.Unavailable),
        (404, b"<html>", dustup.Refused),
        (500, b"oops", dustup.Refused),
        (200, b"<html>", dustup.BadMessage),
        (200, b"[]", dustup.BadMessage),
        (200, b"\xff", dustup.BadMessage),
    ],
)
async def test_what_is_no_answer_of_a_dustup_server_says_so(site: Site, status: int, body: bytes, kind: type[Exception]) -> None:
    site.status, site.body = status, body
    with pytest.raises(kind, match=r"127\.0\.0\.1"):
        await dustup.http.create(site.url, {})


async def test_a_server_that_is_not_there_is_unavailable() -> None:
    with pytest.raises(dustup.Unavailable, match="cannot reach"):
        await dustup.http.create("http://127.0.0.1:9", {})
