"""Getting in over HTTP: making tables, invites, turning one into a seat, and taking access away."""

from __future__ import annotations

from typing import Annotated, Any, Final

import msgspec
from aiohttp import web
from msgspec import Meta

from engine import SYSTEM, Setup
from engine.commands import GmSeatAdd, GmSeatRemove, Hold
from engine.session import Role
from protocol.errors import Code
from protocol.messages import Id
from server import ids
from server.gateway import bodies
from server.gateway.auth import MAX_TTL_MS, Claims
from server.gateway.http_base import Call, Failure, Route
from server.gateway.http_sessions import forget
from server.gateway.invites import Invite, InviteError
from server.sessions.actor import Actor
from server.sessions.jobs import Done

INVITE_MINUTES: Final = 7 * 24 * 60
FIRST_INVITES: Final = 24
"""Seats of a new table that get an invite at once; for more, a GM makes them when they are needed."""

Minutes = Annotated[int, Meta(ge=1, le=90 * 24 * 60)]
Name = Annotated[str, Meta(max_length=120)]


class InviteBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An invite for a seat that is there, or for a new one of a role: give one of the two."""

    seat: Id | None = None
    role: Role | None = None
    ttl_minutes: Minutes = INVITE_MINUTES


class RedeemBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An invite `<session>.<code>`, and what the person wants to be called."""

    code: Annotated[str, Meta(min_length=1, max_length=256)]
    name: Name = ""


def invite_link(call: Call, code: str) -> str:
    return f"{call.server.url}/#{code}"


def fresh_person() -> str:
    """A name for a person whom no token names yet."""
    return "p-" + ids.token_id()[:16]


def person_of(claims: Claims | None) -> str:
    return claims.person if claims is not None and claims.scope != "seat" else fresh_person()


async def hold(actor: Actor, seat: str, person: str, name: str = "") -> None:
    """Put a person on a seat. Raises Failure with what the table says against it."""
    await system(actor, Hold(seat=seat, person=person, name=name))


async def system(actor: Actor, command: Any) -> None:
    """Have the system do a command. Raises Failure."""
    outcome = await actor.act(SYSTEM, command)
    if not isinstance(outcome, Done):
        raise Failure(outcome.code, outcome.text, v=outcome.v, data=outcome.data, retry_after=outcome.retry_after)


async def welcome(call: Call, actor: Actor, claims: Claims | None) -> dict[str, Any]:
    """What whoever made a table gets: the GM's token, and an invite for every other seat. Raises Failure, StoreUnavailable."""
    person = person_of(claims)
    mine = next(seat.id for seat in actor.session.seats.values() if seat.role == "gm")
    await hold(actor, mine, person)
    token = await call.server.tokens.seat_token(actor.id, mine, person, MAX_TTL_MS, actor.session.seats[mine].since)
    seats: dict[str, Any] = {}
    for seat in actor.session.seats.values():
        if seat.id != mine:
            seats[seat.id] = {"role": seat.role}
            if len(seats) <= FIRST_INVITES:
                code = await call.server.invites.create(actor.id, seat=seat.id, ttl_ms=INVITE_MINUTES * 60_000, by=person)
                seats[seat.id].update(invite=code, link=invite_link(call, code))
    return {
        "session": actor.id,
        "v": actor.session.v,
        "epoch": actor.session.epoch,
        "seat": mine,
        "token": token,
        "seats": seats,
        "link": f"{call.server.url}/#token={token}&session={actor.id}",
    }


async def create_session(call: Call) -> web.StreamResponse:
    claims = await call.creator()
    setup = await bodies.read(call.request, Setup, bodies.MAX_SETUP)
    actor = await call.server.registry.create(setup)
    try:
        told = await welcome(call, actor, claims)
    except BaseException:
        # Nobody was told of it, so nobody could ever use or delete it.
        await call.server.store.delete(actor.id)
        await forget(actor)
        raise
    return bodies.write(call.request, told, 201)


async def create_invite(call: Call) -> web.StreamResponse:
    found = await call.seated(gm=True)
    body = await bodies.read(call.request, InviteBody)
    seats = found.actor.session.seats
    if body.seat is not None and body.seat not in seats:
        raise Failure(Code.UNKNOWN_SEAT, f"There is no seat '{body.seat}' at this table.", data={"known": list(seats)})
    by = found.seat or found.claims.person
    code = await call.server.invites.create(
        found.actor.id, seat=body.seat or "", role=body.role or "", ttl_ms=body.ttl_minutes * 60_000, by=by
    )
    return bodies.write(call.request, {"code": code, "link": invite_link(call, code)}, 201)


async def list_invites(call: Call) -> web.StreamResponse:
    found = await call.seated(gm=True)
    listed = [
        {"id": one.id, "seat": one.seat, "role": one.role, "by": one.by, "created": one.created_ms, "expires": one.expires_ms}
        for one in await call.server.invites.open(found.actor.id)
    ]
    return bodies.write(call.request, {"session": found.actor.id, "invites": listed})


async def delete_invite(call: Call) -> web.StreamResponse:
    found = await call.seated(gm=True)
    if not await call.server.invites.revoke(found.actor.id, call.path("invite")):
        raise Failure(Code.UNKNOWN_ID, "That invite is not open: it was used, has expired, was withdrawn, or never was.")
    return bodies.write(call.request, {"withdrawn": True})


async def redeem(call: Call) -> web.StreamResponse:
    body = await bodies.read(call.request, RedeemBody)
    call.may_try()
    claims = await call.claims(required=False)
    invite = await call.server.invites.redeem(body.code)
    person = claims.person if claims is not None and claims.scope == "person" else fresh_person()
    try:
        actor = await call.server.registry.get(invite.session)
        seat = await _sit(actor, invite, person, " ".join(body.name.split()))
        token = await call.server.tokens.seat_token(actor.id, seat, person, MAX_TTL_MS, actor.session.seats[seat].since)
    except BaseException:
        await call.server.invites.give_back(invite)
        raise
    role = actor.session.seats[seat].role
    return bodies.write(call.request, {"session": actor.id, "seat": seat, "role": role, "token": token})


async def _sit(actor: Actor, invite: Invite, person: str, name: str) -> str:
    if invite.seat:
        if invite.seat not in actor.session.seats:
            raise InviteError("unauthorized", "The seat of this invite is not at the table any more. Ask the host for another.")
        await hold(actor, invite.seat, person, name)
        return invite.seat
    seat = f"{invite.role}-{ids.text_id()[:8]}"
    await system(actor, GmSeatAdd(seat=seat, name=name or str(invite.role).title(), role=invite.role or "player"))
    try:
        await hold(actor, seat, person, name)
    except BaseException:
        await actor.act(SYSTEM, GmSeatRemove(seat=seat))
        raise
    return seat


async def revoke_seat(call: Call) -> web.StreamResponse:
    found = await call.seated(gm=True)
    actor, seat = found.actor, call.path("seat")
    if seat not in actor.session.seats:
        raise Failure(Code.UNKNOWN_SEAT, f"There is no seat '{seat}' at this table.", data={"known": list(actor.session.seats)})
    # Its open invites first: whoever is thrown out must not come back by one.
    for invite in await call.server.invites.open(actor.id):
        if invite.seat == seat:
            await call.server.invites.revoke(actor.id, invite.id)
    await call.server.tokens.revoke_seat(actor.id, seat)
    told: dict[str, Any] = {"session": actor.id, "seat": seat, "revoked": True}
    if seat == found.seat:
        told["token"] = await call.server.tokens.seat_token(
            actor.id, seat, found.claims.person, MAX_TTL_MS, actor.session.seats[seat].since
        )
    return bodies.write(call.request, told)


async def revoke_token(call: Call) -> web.StreamResponse:
    claims = await call.claims()
    assert claims is not None
    await call.server.tokens.revoke(claims.jti, claims.expires_ms)
    return bodies.write(call.request, {"revoked": True})


_AT: Final = "/v1/sessions/{session}"
_NEW: Final = "session, v, epoch, seat and token of the GM, seats {seat: {role, invite, link}}, link (holds the GM's token: keep it)"
ROUTES: Final[tuple[Route, ...]] = (
    Route(
        method="POST",
        path="/v1/sessions",
        handler=create_session,
        summary="Make a table.",
        access="creator",
        body=Setup,
        answers={201: _NEW},
    ),
    Route(
        method="POST",
        path=_AT + "/invites",
        handler=create_invite,
        summary="Make an invite: a code that seats whoever redeems it first.",
        access="gm",
        body=InviteBody,
        answers={201: "code, link"},
    ),
    Route(
        method="GET",
        path=_AT + "/invites",
        handler=list_invites,
        summary="The open invites of the table, without their codes.",
        access="gm",
        answers={200: "session, invites [{id, seat, role, by, created, expires}]"},
    ),
    Route(
        method="DELETE",
        path=_AT + "/invites/{invite}",
        handler=delete_invite,
        summary="Withdraw an invite.",
        access="gm",
        answers={200: "withdrawn"},
    ),
    Route(
        method="POST",
        path="/v1/invites/redeem",
        handler=redeem,
        summary="Turn an invite into a seat. With a person token the seat is that person's.",
        body=RedeemBody,
        answers={200: "session, seat, role, token"},
    ),
    Route(
        method="POST",
        path=_AT + "/seats/{seat}/revoke",
        handler=revoke_seat,
        summary="End every token and every open invite of a seat.",
        access="gm",
        answers={200: "session, seat, revoked, token (a fresh one, when it was the caller's own seat)"},
    ),
    Route(
        method="DELETE",
        path="/v1/token",
        handler=revoke_token,
        summary="End the token this is called with.",
        access="token",
        answers={200: "revoked"},
    ),
)
