"""Calls of the HTTP routes for tests: JSON or msgpack, and whatever else a stranger may send."""

from __future__ import annotations

import json
from typing import Any

import aiohttp
import msgpack  # type: ignore[import-untyped]  # it ships no types
import msgspec

from server.app import Server

Answer = dict[str, Any]
DUEL: dict[str, Any] = {"ruleset": "duel", "sample": "yard", "encounter": "mill"}
HOUR_MS = 3_600_000


class Reply(msgspec.Struct):
    """What came back: status, headers (any case), raw bytes; `told` is the decoded body."""

    status: int
    headers: Any
    raw: bytes

    @property
    def told(self) -> Answer:
        if "msgpack" in self.headers.get("Content-Type", ""):
            return dict(msgpack.unpackb(self.raw))
        return dict(json.loads(self.raw))


class Api:
    """One server's routes. `call` sends anything; the others are what tests do often."""

    def __init__(self, http: aiohttp.ClientSession, node: Server) -> None:
        self.http, self.node = http, node

    async def call(self, method: str, path: str, token: str = "", body: Any = None, *, packed: bool = False, **more: Any) -> Reply:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        headers |= more.pop("headers", {})
        if body is not None and "data" not in more:
            more["data"] = msgpack.packb(body) if packed else json.dumps(body).encode()
            headers.setdefault("Content-Type", "application/msgpack" if packed else "application/json")
        if packed:
            headers.setdefault("Accept", "application/msgpack")
        async with self.http.request(method, self.node.url + path, headers=headers, **more) as answer:
            return Reply(answer.status, answer.headers, await answer.read())

    async def good(self, method: str, path: str, token: str = "", body: Any = None, **more: Any) -> Answer:
        reply = await self.call(method, path, token, body, **more)
        assert reply.status in (200, 201), (reply.status, reply.raw[:500])
        return reply.told

    async def table(self, **setup: Any) -> Answer:
        """A new table: its session, its GM's token, its invites."""
        return await self.good("POST", "/v1/sessions", body={**DUEL, **setup})

    async def sit(self, table: Answer, seat: str) -> str:
        """Redeem the seat's invite; the token."""
        return str((await self.good("POST", "/v1/invites/redeem", body={"code": table["seats"][seat]["invite"]}))["token"])

    async def do(self, session: str, token: str, action: str, **command: Any) -> Reply:
        return await self.call("POST", f"/v1/sessions/{session}/commands", token, {"id": action, "command": command})

    async def admin(self) -> str:
        return self.node.tokens.admin_token("host", HOUR_MS)


def refused(reply: Reply, status: int, code: str) -> str:
    """Hold that a request was refused so, in the form every refusal has; gives the sentence."""
    assert (reply.status, reply.told.get("code")) == (status, code), (reply.status, reply.raw[:500])
    text = str(reply.told["text"])
    assert len(text.split()) >= 3, text
    return text
