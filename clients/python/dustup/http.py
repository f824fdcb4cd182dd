"""The few calls that go over plain HTTP: make a table, turn an invite into a token."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import aiohttp

from ._codec import Message
from .errors import BadMessage, Refused, Unavailable, why
from .links import Link, http_url, parse_link

__all__ = ["Link", "create", "parse_link", "redeem"]

WITHIN = 30.0


async def create(url: str, setup: Mapping[str, Any], token: str | None = None) -> dict[str, Any]:
    """Make a table from a set-up (`{"ruleset": "duel", "sample": ...}`). `token` is an admin or person token where the server asks for one.

    Returns the server's answer: at least `session`. Raises Refused with the server's code, or Unavailable.
    """
    return await _post(url, "/v1/sessions", dict(setup), token)


async def redeem(url: str, code: str) -> dict[str, Any]:
    """Turn an invite `<session>.<code>` into a seat: `{token, session, seat, role}`. An invite works once.

    Raises Refused (`unauthorized` when it was used, expired, withdrawn or mistyped), or Unavailable.
    """
    return await _post(url, "/v1/invites/redeem", {"code": code}, None)


async def _post(url: str, path: str, body: Message, token: str | None) -> dict[str, Any]:
    address = http_url(url) + path
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    try:
        async with (
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=WITHIN)) as session,
            session.post(address, json=body, headers=headers) as answer,
        ):
            return await _read(answer, address)
    except (aiohttp.ClientError, OSError, TimeoutError) as error:
        raise Unavailable(f"cannot reach {address}: {why(error)}") from None


async def _read(answer: aiohttp.ClientResponse, address: str) -> dict[str, Any]:
    try:
        body = await answer.json(content_type=None)
    except ValueError:
        body = None
    if answer.ok and isinstance(body, dict):
        return body
    if answer.ok:
        raise BadMessage(f"{address} did not answer like a Dustup server")
    if isinstance(body, dict) and isinstance(body.get("code"), str):
        raise Refused(body["code"], str(body.get("text", "")), body.get("v"), body.get("data"), body.get("retry_after"))
    if answer.status in (502, 503, 504):
        raise Unavailable(f"{address} answered {answer.status} {answer.reason}")
    raise Refused("unavailable" if answer.status >= 500 else "bad_command", f"{address} answered {answer.status} {answer.reason}")
