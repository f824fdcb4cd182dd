"""What every HTTP route shares: how it is described, what a call knows of its caller, and how it says no."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec
from aiohttp import web

from engine.session import Role
from protocol.errors import Code, sentence
from server import ids
from server.gateway.auth import AuthError, Claims
from server.sessions.actor import Actor

if TYPE_CHECKING:
    from server.app import Server

Access = Literal["open", "creator", "token", "seat", "gm"]
"""Who may call: anyone; whoever may create tables; any token; who sits at the table; its GM or an admin."""

STATUS: Final[Mapping[str, int]] = MappingProxyType(
    {
        Code.BAD_COMMAND: 400,
        Code.UNKNOWN_COMMAND: 400,
        Code.UNKNOWN_SEAT: 404,
        Code.UNKNOWN_ID: 404,
        Code.NOT_YOURS: 403,
        Code.FORBIDDEN: 403,
        Code.NOT_YOUR_TURN: 409,
        Code.NOT_NOW: 409,
        Code.BUSY: 409,
        Code.PAUSED: 409,
        Code.ALREADY_ANSWERED: 409,
        Code.ILLEGAL_CHOICE: 400,
        Code.CANNOT_PAY: 409,
        Code.OUT_OF_RANGE: 409,
        Code.NO_TARGET: 409,
        Code.STALE: 409,
        Code.LIMIT: 409,
        Code.INTERNAL: 500,
        Code.BAD_FRAME: 400,
        Code.UNKNOWN_KIND: 400,
        Code.TOO_LARGE: 413,
        Code.UNSUPPORTED_VERSION: 400,
        Code.HELLO_TIMEOUT: 408,
        Code.UNAUTHORIZED: 401,
        Code.EXPIRED: 401,
        Code.REVOKED: 401,
        Code.NO_SESSION: 404,
        Code.NOT_JOINED: 409,
        Code.TOO_OLD: 409,
        Code.RATE_LIMITED: 429,
        Code.UNAVAILABLE: 503,
        Code.ARCHIVED: 503,
        Code.RESYNC: 409,
        Code.SHUTTING_DOWN: 503,
        Code.READ_ONLY: 503,
        Code.BYE: 503,
    }
)
"""The status of an error by its code."""


class Failure(Exception):
    """A request that is refused: a code of the protocol, a sentence for people, and a status when the code's own does not fit."""

    def __init__(
        self,
        code: str,
        text: str = "",
        *,
        status: int = 0,
        v: int | None = None,
        data: dict[str, Any] | None = None,
        retry_after: int | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(text)
        self.code, self.text = code, text or sentence(code)
        self.status = status or STATUS.get(code, 500)
        self.v, self.data, self.retry_after = v, data, retry_after
        self.headers = dict(headers or {})


class Claimed(msgspec.Struct, frozen=True):
    """A caller at a table: the live session, the seat it speaks for ("" for an admin), and what its token says."""

    actor: Actor
    seat: str
    role: Role | Literal["admin"]
    claims: Claims


class Call:
    """One request on its way through a route."""

    def __init__(self, server: Server, request: web.Request, address: str) -> None:
        self.server, self.request, self.address = server, request, address

    def path(self, name: str) -> str:
        """A part of the path that names something. Raises Failure when nothing can be called that."""
        value = self.request.match_info[name]
        if not ids.is_id(value):
            raise Failure(Code.NO_SESSION if name == "session" else Code.UNKNOWN_ID, f"Nothing can be called {value[:64]!a}.")
        return value

    def number(self, name: str, least: int, most: int) -> int | None:
        """A whole number of the query, None when it is not there. Raises Failure when it is none or out of bounds."""
        raw = self.request.query.get(name)
        if raw is None:
            return None
        if not (raw.isascii() and raw.isdecimal()) or len(raw) > 16 or not least <= int(raw) <= most:
            raise Failure(Code.BAD_COMMAND, f"In the address, `{name}` is a whole number from {least} to {most}.")
        return int(raw)

    def bearer(self) -> str | None:
        """The token of the Authorization header, None when there is no such header. Raises Failure for any other scheme."""
        header = self.request.headers.get("Authorization")
        if header is None:
            return None
        scheme, _, token = header.partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            raise Failure(Code.UNAUTHORIZED, "Send the token as `Authorization: Bearer <token>`.")
        return token.strip()

    async def claims(self, required: bool = True) -> Claims | None:
        """What the caller's token says; None without one, unless it is required. Raises Failure, AuthError, StoreUnavailable."""
        token = self.bearer()
        if token is None:
            if required:
                raise Failure(Code.UNAUTHORIZED, "This needs a token: `Authorization: Bearer <token>`.")
            return None
        self.may_try()
        return await self.server.tokens.check(token)

    async def creator(self) -> Claims | None:
        """Who may make tables: anyone where the host says so, else an admin. Raises Failure, AuthError, StoreUnavailable."""
        claims = await self.claims(required=not self.server.config.anyone_may_create)
        if not self.server.config.anyone_may_create and (claims is None or claims.scope != "admin"):
            raise Failure(Code.FORBIDDEN, "Only an admin makes tables here; ask the host for one, or for an invite.")
        return claims

    async def seated(self, *, gm: bool = False) -> Claimed:
        """The caller's seat at the session of the path, counted against its limits. An admin has none, but may do what a GM's host may.

        Raises Failure (forbidden when `gm` and it is neither), AuthError, SessionGone, StoreUnavailable.
        """
        session = self.path("session")
        claims = await self.claims()
        assert claims is not None
        if claims.scope == "seat" and claims.session != session:
            # Before looking: a token of one table must not tell whether there is another.
            raise AuthError("unauthorized", "That token does not give access to this table.")
        actor = await self.server.registry.get(session)
        found = self._seat(actor, claims, gm)
        wait = self.server.limits.message(self.address, session, found.seat)
        if wait:
            self.limited(wait)
        if gm and found.role not in ("gm", "admin"):
            raise Failure(Code.FORBIDDEN, "Only a GM can do that.")
        return found

    @staticmethod
    def _seat(actor: Actor, claims: Claims, gm: bool) -> Claimed:
        if claims.scope == "admin":
            if not gm:
                raise Failure(Code.FORBIDDEN, "An admin has no seat here; make yourself an invite.")
            return Claimed(actor, "", "admin", claims)
        seats = actor.session.seats
        held = [seats[seat_id] for seat_id in claims.seats(actor.session)]
        if not held:
            raise AuthError("unauthorized", "That token does not give access to this table.")
        seat = next((one for one in held if gm and one.role == "gm"), held[0])
        return Claimed(actor, seat.id, seat.role, claims)

    def may_try(self) -> None:
        """Raises Failure when too many tokens and invites from this address were no good lately."""
        wait = self.server.limits.may_try(self.address)
        if wait:
            self.limited(wait, "Too many refused tokens from your address.")

    def limited(self, wait_ms: int, text: str = "") -> None:
        """Raises Failure rate_limited."""
        self.server.metrics.rate_limited.inc()
        raise Failure(Code.RATE_LIMITED, text, retry_after=wait_ms)


Handler = Callable[[Call], Awaitable[web.StreamResponse]]


class Route(msgspec.Struct, frozen=True, kw_only=True):
    """One route, as it is served and as openapi.json tells of it. `body` is the type of its JSON or msgpack body, "bytes" an upload."""

    method: Literal["GET", "POST", "DELETE"]
    path: str
    handler: Handler
    summary: str
    access: Access = "open"
    body: Any = None
    query: Mapping[str, str] = {}
    answers: Mapping[int, str]
    media: str = "application/json"
