"""Whole logs over HTTP: export, import, verify. One of them at a time: each may keep a core busy for a while."""

from __future__ import annotations

import asyncio
from typing import Final

from aiohttp import web

from protocol.errors import Code
from server.exports import ExportError, export_session, load_export
from server.gateway import bodies
from server.gateway.http_access import welcome
from server.gateway.http_base import Call, Failure, Route
from server.imports import ImportRefused, import_session
from server.logs import get_logger
from server.store import StoreUnavailable
from server.verify import verify_session

log = get_logger("http")

MAX_IMPORT: Final = 16 * 1024 * 1024
UPLOAD_SECONDS: Final = 120
MEDIA: Final = "application/vnd.dustup.export"
PATIENCE_SECONDS: Final = 20
_ONE: Final = web.AppKey("one_log_at_a_time", asyncio.Semaphore)


def prepare(app: web.Application) -> None:
    app[_ONE] = asyncio.Semaphore(1)


class _Turn:
    """The right to work on a whole log; refused when others take too long."""

    def __init__(self, call: Call) -> None:
        self._free = call.request.app[_ONE]

    async def __aenter__(self) -> None:
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                await self._free.acquire()
        except TimeoutError:
            raise Failure(Code.RATE_LIMITED, "Other logs are being read or checked; try again in a moment.", retry_after=10_000) from None

    async def __aexit__(self, *_: object) -> None:
        self._free.release()


async def get_export(call: Call) -> web.StreamResponse:
    found = await call.seated(gm=True)
    session = found.actor.id
    await found.actor.settled()
    chunks = export_session(call.server.store, session, hidden=True, exported_ms=call.server.clock.now_ms())
    try:
        first = await anext(chunks)
    except ExportError as problem:
        raise Failure(Code.NO_SESSION, problem.text) from None
    response = web.StreamResponse(
        headers={"Content-Type": MEDIA, "Content-Disposition": f'attachment; filename="{session}.dustup"'},
    )
    await response.prepare(call.request)
    try:
        await response.write(first)
        async for chunk in chunks:
            await response.write(chunk)
        await response.write_eof()
    except (ExportError, StoreUnavailable) as problem:
        # Too late for a status. Cut the line: the file has no end, and whoever reads it is told.
        log.warning("an export broke off", session=session, problem=problem.text)
        if call.request.transport is not None:
            call.request.transport.abort()
    finally:
        await chunks.aclose()  # type: ignore[attr-defined]  # it is a generator
    return response


async def post_import(call: Call) -> web.StreamResponse:
    claims = await call.creator()
    wanted = call.request.query.get("session")
    if wanted is not None and (claims is None or claims.scope != "admin"):
        raise Failure(Code.FORBIDDEN, "Only an admin chooses the id of a table; leave `session` out.")
    if call.request.content_type.startswith(("text/", "multipart/", "application/x-www-form-urlencoded")):
        raise Failure(Code.BAD_FRAME, f"Send the export itself, as {MEDIA}.", status=415)
    data = await bodies.read_bytes(call.request, MAX_IMPORT, UPLOAD_SECONDS)
    async with _Turn(call):
        try:
            export = await asyncio.to_thread(load_export, data, max_bytes=MAX_IMPORT)
            actor = await import_session(call.server.registry, export, session_id=wanted)
        except ExportError as problem:
            raise Failure(Code.BAD_COMMAND, problem.text) from None
        except ImportRefused as refusal:
            raise Failure(refusal.code, refusal.text) from None
    return bodies.write(call.request, await welcome(call, actor, claims), 201)


async def get_verify(call: Call) -> web.StreamResponse:
    found = await call.seated(gm=True)
    async with _Turn(call):
        await found.actor.settled()
        try:
            report = await verify_session(call.server.store, found.actor.id)
        except ExportError as problem:
            raise Failure(Code.NO_SESSION, problem.text) from None
    return bodies.write(call.request, report)


_AT: Final = "/v1/sessions/{session}"
ROUTES: Final[tuple[Route, ...]] = (
    Route(
        method="GET",
        path=_AT + "/export",
        handler=get_export,
        summary="The whole log as one file, hidden things included, unrevealed seeds excluded.",
        access="gm",
        answers={200: "an export (docs/http.md)"},
        media=MEDIA,
    ),
    Route(
        method="POST",
        path="/v1/sessions/import",
        handler=post_import,
        summary=f"Make a table of an export of at most {MAX_IMPORT // 1024 // 1024} MiB. It is checked first; a bad one changes nothing.",
        access="creator",
        body="bytes",
        query={"session": "the id it shall have (admins; otherwise it gets a fresh one)"},
        answers={201: "as POST /v1/sessions"},
        media=MEDIA,
    ),
    Route(
        method="GET",
        path=_AT + "/verify",
        handler=get_verify,
        summary="Check the whole log: versions, changes, commands executed again, dice against their commitments, texts against hashes.",
        access="gm",
        answers={200: "session, verdict (ok, differs, unchecked), lines, difference, counts"},
    ),
)
