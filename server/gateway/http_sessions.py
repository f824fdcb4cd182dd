"""Playing over HTTP: the view, what came since, commands, options, odds, history, and what was said."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated, Any, Final

import msgspec
from aiohttp import web
from msgspec import Meta

import engine
from engine.sight import may_read
from protocol import messages as m
from protocol.codec import JSON, Wire
from protocol.errors import Code
from protocol.parts import fit_entries
from protocol.versions import MAX_HISTORY, MAX_INT
from server.gateway import bodies
from server.gateway.auth import Claims
from server.gateway.http_base import Call, Claimed, Failure, Route
from server.sessions.actor import Actor, SessionGone
from server.sessions.jobs import Done
from server.sessions.texts import detach
from server.sessions.watchdog import watched

MAX_WAIT: Final = 30
SEARCHED: Final = 1000


class CommandBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A command to be done. `id` is an action id: sent again with the same one, it is done once."""

    id: m.ActionId
    command: dict[str, Any]
    at: Annotated[int, Meta(ge=0, le=MAX_INT)] | None = None


class OddsBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A command to be judged, and not done."""

    command: dict[str, Any]


class DeleteBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`confirm` repeats the session's id, so that nobody deletes a table by a slip."""

    confirm: str


class Waiter:
    """A reader over HTTP who waits for the next entry: to the fan-out one more viewer, who only wants to be woken."""

    codec = JSON

    def __init__(self, seat: str, claims: Claims) -> None:
        self.seat, self.claims = seat, claims
        self.over = False
        """Nothing will come any more: the seat or its token is gone, or the server stops."""
        self._woken = asyncio.Event()

    def push(self, wires: Sequence[Wire]) -> None:
        self._woken.set()

    def entitled(self, session: engine.Session) -> bool:
        return self.claims.opens(session, self.seat)

    def evict(self, code: str, text: str) -> None:
        self.end()

    def end(self) -> None:
        self.over = True
        self._woken.set()

    async def after(self, actor: Actor, v: int) -> None:
        """Return when the session has moved on from `v`, or nothing will come."""
        # Who comes and goes is told too, and wakes; only an entry counts.
        while actor.session.v == v and not actor.gone and not self.over:
            self._woken.clear()
            await self._woken.wait()


WAITERS: Final = web.AppKey[set[Waiter]]("waiters")


def prepare(app: web.Application) -> None:
    """Make a stopping server answer those who wait."""
    waiting: set[Waiter] = set()
    app[WAITERS] = waiting

    async def wake(app: web.Application) -> None:
        for waiter in list(waiting):
            waiter.end()

    app.on_shutdown.append(wake)


async def get_session(call: Call) -> web.StreamResponse:
    found = await call.seated()
    actor = found.actor
    since = call.number("since", 0, MAX_INT)
    wait = call.number("wait", 0, MAX_WAIT) or 0
    if since is not None and wait and since == actor.session.v:
        await _wait(call, found, wait)
        # Its token may have died meanwhile, its seat or the whole table be gone.
        await call.claims()
        actor = await call.server.registry.get(actor.id) if actor.gone and not call.server.draining else actor
    if since is not None and since < actor.session.v:
        await actor.note_erased(since)
    session = actor.session
    if not found.claims.opens(session, found.seat):
        raise Failure(Code.REVOKED, "Your seat was removed from this table, or given to somebody else.")
    told: dict[str, Any] = {
        "session": actor.id,
        "seat": found.seat,
        "role": session.seats[found.seat].role,
        "ruleset": session.header.ruleset,
        "variant": session.header.variant,
        "epoch": session.epoch,
        "v": session.v,
        "stamp": session.stamp,
    }
    frames = None if since is None else frames_since(call, actor, found.seat, since)
    if frames is None:
        told["view"] = engine.view(actor.rules, session, engine.sight_of(session, found.seat))
    else:
        told["frames"] = frames
        if frames and frames[-1]["v"] != session.v:
            told.update(v=frames[-1]["v"], stamp=frames[-1]["stamp"], more=True)
    return bodies.write(call.request, told)


async def _wait(call: Call, found: Claimed, seconds: int) -> None:
    """Until an entry comes, the seat or its token is gone, or the time is over."""
    if not call.server.limits.connect(call.address):
        raise Failure(Code.RATE_LIMITED, "Too many connections from your address.", retry_after=10_000)
    actor, waiter, waiters = found.actor, Waiter(found.seat, found.claims), call.request.app[WAITERS]
    held = call.server.tokens.hold(found.claims, lambda problem: waiter.end())
    waiters.add(waiter)
    actor.attach(waiter, None)
    try:
        async with asyncio.timeout(seconds):
            await waiter.after(actor, actor.session.v)
    except TimeoutError:
        pass
    finally:
        actor.detach(waiter)
        waiters.discard(waiter)
        call.server.tokens.release(held)
        call.server.limits.disconnect(call.address)


def frames_since(call: Call, actor: Actor, seat: str, since: int) -> list[dict[str, Any]] | None:
    """What a seat may see of the entries after `since`; None when they are not at hand and a whole view is needed.

    `stamp` and `epoch` in the query, when given, must be those of version `since`: else the log went another way.
    """
    session, ring = actor.session, list(actor.fanout.ring)
    stamp, epoch = call.request.query.get("stamp"), call.request.query.get("epoch")
    if since > session.v or (epoch is not None and epoch != session.epoch):
        return None
    if since == session.v:
        return [] if stamp in (None, session.stamp) else None
    later = [item for item in ring if item.entry.v > since]
    if not later or later[0].entry.v != since + 1 or later[0].before is None or stamp not in (None, later[0].before.stamp):
        return None
    if engine.sight_of(later[0].before, seat).since != engine.sight_of(session, seat).since:
        return None  # the seat changed hands meanwhile: what was for the former holder is not for this one
    frames: list[dict[str, Any]] = []
    for item in later[:MAX_HISTORY]:
        entry = item.entry
        renderer = engine.Renderer(actor.rules, item.before, item.after, entry, actor.bodies.get)
        _, parts = renderer.frame(engine.sight_of(item.after, seat))
        frame: dict[str, Any] = {"v": entry.v, "stamp": entry.stamp}
        if parts:
            frame.update(at=entry.at, by=entry.by, **parts)
        frames.append(frame)
    return frames


async def post_command(call: Call) -> web.StreamResponse:
    found = await call.seated()
    body = await bodies.read(call.request, CommandBody)
    command, texts = detach(found.actor.rules.decode(body.command))
    client, n = m.split_action_id(body.id)
    outcome = await found.actor.act(found.seat, command, client=client, n=n, at=body.at, texts=texts)
    if not isinstance(outcome, Done):
        raise Failure(outcome.code, outcome.text, v=outcome.v, data=outcome.data, retry_after=outcome.retry_after)
    told: dict[str, Any] = {"session": found.actor.id, "id": body.id, "v": outcome.v}
    if outcome.durability:
        told["durability"] = outcome.durability
    if outcome.again:
        told["again"] = True
    return bodies.write(call.request, told)


async def get_options(call: Call) -> web.StreamResponse:
    found = await call.seated()
    session = found.actor.session
    with watched():
        options = engine.options_of(found.actor.rules, session, found.seat)
    return bodies.write(call.request, {"session": found.actor.id, "v": session.v, "options": options})


async def post_odds(call: Call) -> web.StreamResponse:
    found = await call.seated()
    body = await bodies.read(call.request, OddsBody)
    session = found.actor.session
    command = found.actor.rules.decode(body.command)
    odds = await call.server.odds.ask(found.actor.rules, session, found.seat, command)
    return bodies.write(call.request, {"session": found.actor.id, "v": session.v, "odds": odds})


async def get_history(call: Call) -> web.StreamResponse:
    found = await call.seated()
    before, limit = call.number("before", 1, MAX_INT), call.number("limit", 1, MAX_HISTORY) or 50
    page, more = await found.actor.history(found.seat, before, limit)
    kept = page[len(page) - len(fit_entries(page, JSON)) :]
    return bodies.write(call.request, {"session": found.actor.id, "frames": kept, "more": more or len(kept) < len(page)})


async def delete_text(call: Call) -> web.StreamResponse:
    found = await call.seated()
    text_id = call.path("text")
    entry, event = await _said(call, found.actor, text_id)
    seat = found.actor.session.seats[found.seat]
    missing = Failure(Code.UNKNOWN_ID, "There is no such text here.")
    if entry is None or event is None:
        raise missing
    is_author = entry.by == seat.id and entry.v >= seat.since
    if seat.role != "gm" and not is_author:
        if not may_read(event, engine.sight_of(found.actor.session, seat.id), entry.v):
            raise missing
        raise Failure(Code.NOT_YOURS, "Only who said it and a GM erase a text.")
    erased = await found.actor.erase(text_id)
    return bodies.write(call.request, {"session": found.actor.id, "text": text_id, "erased": erased})


async def _said(call: Call, actor: Actor, text_id: str) -> tuple[engine.Entry | None, engine.Event | None]:
    """The entry that said a text, looked for from the newest on."""
    before = actor.session.v + 1
    while before > 1:
        found = await call.server.store.entries_before(actor.id, before, SEARCHED)
        for v, data in found:
            before = v
            # Decoding costs more than looking for the id's bytes.
            if text_id.encode() in data:
                entry = engine.decode_entry(data)
                event = next((one for one in entry.events if one.body == text_id), None)
                if event is not None:
                    return entry, event
        if not found:
            break
    return None, None


async def forget(actor: Actor) -> None:
    """A table was deleted: let it find that out, and say so to everybody who watches."""
    try:
        await actor.look()
    except SessionGone:
        pass


async def delete_session(call: Call) -> web.StreamResponse:
    found = await call.seated(gm=True)
    body = await bodies.read(call.request, DeleteBody)
    actor = found.actor
    if body.confirm != actor.id:
        raise Failure(Code.BAD_COMMAND, "To delete this table for good, send its id as `confirm`. Export it first if you may want it back.")
    await call.server.invites.revoke_all(actor.id)
    await actor.settled()
    await call.server.store.delete(actor.id)
    await forget(actor)
    return bodies.write(call.request, {"session": actor.id, "deleted": True})


_AT: Final = "/v1/sessions/{session}"
ROUTES: Final[tuple[Route, ...]] = (
    Route(
        method="GET",
        path=_AT,
        handler=get_session,
        summary="The table as this seat sees it; with `since`, what came after that version; with `wait`, as soon as something comes.",
        access="seat",
        query={
            "since": "a version: answer with the frames after it, or with a whole view when they are not at hand",
            "stamp": "the stamp of that version; when it does not fit, the answer is a whole view",
            "epoch": "the epoch that version was in, likewise",
            "wait": f"seconds to wait for something new, at most {MAX_WAIT}",
        },
        answers={200: "session, seat, role, ruleset, variant, epoch, v, stamp, and either view or frames (more: there are further ones)"},
    ),
    Route(
        method="DELETE",
        path=_AT,
        handler=delete_session,
        summary="Delete the table for good.",
        access="gm",
        body=DeleteBody,
        answers={200: "session, deleted"},
    ),
    Route(
        method="POST",
        path=_AT + "/commands",
        handler=post_command,
        summary="Do a command, exactly once per action id.",
        access="seat",
        body=CommandBody,
        answers={200: "session, id, v, durability, again (it had been done before)"},
    ),
    Route(
        method="GET",
        path=_AT + "/options",
        handler=get_options,
        summary="What this seat may do now.",
        access="seat",
        answers={200: "session, v, options"},
    ),
    Route(
        method="POST",
        path=_AT + "/odds",
        handler=post_odds,
        summary="How likely the outcomes of a command are, exactly.",
        access="seat",
        body=OddsBody,
        answers={200: "session, v, odds"},
    ),
    Route(
        method="GET",
        path=_AT + "/history",
        handler=get_history,
        summary="Past entries, oldest first.",
        access="seat",
        query={"before": "a version: the entries before it", "limit": f"how many, at most {MAX_HISTORY} (50)"},
        answers={200: "session, frames, more"},
    ),
    Route(
        method="DELETE",
        path=_AT + "/texts/{text}",
        handler=delete_text,
        summary="Erase what was said; its author and a GM may.",
        access="seat",
        answers={200: "session, text, erased (false: it was erased before)"},
    ),
)
