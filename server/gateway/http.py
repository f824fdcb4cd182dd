"""HTTP: everything a person can do over the socket, a bot can do here. This module holds the door; http_*.py hold the routes by topic."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final

from aiohttp import web

from engine import Rejected
from protocol.errors import Code
from server.gateway import bodies, http_access, http_logs, http_public, http_sessions
from server.gateway.auth import AuthError
from server.gateway.http_base import STATUS, Call, Failure, Route
from server.gateway.invites import InviteError
from server.gateway.limits import client_address
from server.gateway.websocket import origin_allowed
from server.logs import get_logger
from server.sessions.actor import SessionGone
from server.sessions.watchdog import TooSlow
from server.store import StoreReadOnly, StoreUnavailable

if TYPE_CHECKING:
    from server.app import Server

log = get_logger("http")

MAX_UPLOAD = 16 * 1024 * 1024
SOCKET: Final = "/v1/ws"
ROUTES: Final[tuple[Route, ...]] = (*http_sessions.ROUTES, *http_access.ROUTES, *http_logs.ROUTES, *http_public.ROUTES)
ALWAYS: Final = frozenset({"/healthz", "/readyz", "/metrics"})
"""Served also while the server stops, and counted against nobody."""

HEADERS: Final = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_FOR_OTHERS: Final = frozenset({"token", "access_token", "code"})
_PREFLIGHT: Final = {
    "Access-Control-Allow-Methods": "GET, POST, DELETE",
    "Access-Control-Allow-Headers": "Authorization, Content-Type",
    "Access-Control-Max-Age": "600",
}

Next = Callable[[web.Request], Awaitable[web.StreamResponse]]


def add_routes(app: web.Application, server: Server) -> None:
    """Serve every route of ROUTES, with its limits, headers and errors. The socket's own route is left alone."""
    http_sessions.prepare(app)
    http_logs.prepare(app)
    for route in ROUTES:
        app.router.add_route(route.method, route.path, _serve(route, server))

    @web.middleware
    async def guard(request: web.Request, handler: Next) -> web.StreamResponse:
        if request.path == SOCKET:
            return await handler(request)
        return await _guarded(request, handler, server)

    async def prepare(request: web.Request, response: web.StreamResponse) -> None:
        if request.path != SOCKET:
            _dress(request, response, server)

    app.middlewares.append(guard)
    app.on_response_prepare.append(prepare)


def _address(request: web.Request, server: Server) -> str:
    return client_address(request.remote, request.headers.get("X-Forwarded-For", ""), server.config.trusted_proxies)


def _serve(route: Route, server: Server) -> Next:
    async def serve(request: web.Request) -> web.StreamResponse:
        call = Call(server, request, _address(request, server))
        if route.access not in ("seat", "gm") and route.path not in ALWAYS:
            # Routes of a table count against its seat too, once it is known.
            wait = server.limits.message(call.address)
            if wait:
                call.limited(wait)
        return await route.handler(call)

    return serve


def _dress(request: web.Request, response: web.StreamResponse, server: Server) -> None:
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)
    origin = request.headers.get("Origin")
    if origin is not None:
        response.headers["Vary"] = "Origin"
        if "*" in server.config.origins or origin in server.config.origins:
            response.headers["Access-Control-Allow-Origin"] = origin


async def _guarded(request: web.Request, handler: Next, server: Server) -> web.StreamResponse:
    try:
        if not origin_allowed(request, server):
            raise Failure(Code.FORBIDDEN, "This page may not call here; the host can add it to `origins`.")
        if request.method == "OPTIONS" and "Access-Control-Request-Method" in request.headers:
            return web.Response(status=204, headers=_PREFLIGHT)
        if _FOR_OTHERS & set(request.query):
            raise Failure(
                Code.BAD_COMMAND, "Tokens and codes never go into an address, where they would be logged: use the Authorization header."
            )
        if server.draining and request.path not in ALWAYS:
            raise Failure(Code.SHUTTING_DOWN, retry_after=1000)
        return await handler(request)
    except (Exception, TooSlow) as problem:
        if isinstance(problem, (AuthError, InviteError)) and problem.code not in (Code.BAD_COMMAND, Code.LIMIT):
            server.limits.refused(_address(request, server))
        failure = _failure(problem)
        if failure.status == 500:
            log.exception("a request failed", method=request.method, path=request.path, exc_info=problem)
        return _answer(request, failure)


def _failure(problem: BaseException) -> Failure:
    """What a caller is told of anything that went wrong."""
    if isinstance(problem, Failure):
        return problem
    if isinstance(problem, Rejected):
        return Failure(problem.code, problem.text, data=problem.data or None)
    if isinstance(problem, (AuthError, InviteError)):
        return Failure(problem.code, problem.text)
    if isinstance(problem, SessionGone):
        return Failure(problem.code, problem.text, retry_after=1000 if STATUS.get(problem.code) == 503 else None)
    if isinstance(problem, StoreUnavailable):
        code = Code.READ_ONLY if isinstance(problem, StoreReadOnly) else Code.UNAVAILABLE
        return Failure(code, problem.text, retry_after=problem.retry_after_ms)
    if isinstance(problem, web.HTTPMethodNotAllowed):
        allow = ", ".join(sorted(problem.allowed_methods))
        return Failure(Code.BAD_COMMAND, f"This address takes {allow}.", status=405, headers={"Allow": allow})
    if isinstance(problem, web.HTTPNotFound):
        return Failure(Code.UNKNOWN_ID, "There is nothing at this address; /v1/openapi.json lists what there is.")
    if isinstance(problem, web.HTTPException):
        return Failure(Code.BAD_FRAME, f"The request was refused: {problem.reason}.", status=problem.status)
    return Failure(Code.INTERNAL, "The server failed on this request. The host's log says more.")


def _answer(request: web.Request, failure: Failure) -> web.Response:
    told: dict[str, Any] = {"code": failure.code, "text": failure.text}
    for name in ("v", "data", "retry_after"):
        value = getattr(failure, name)
        if value:
            told[name] = value
    headers = failure.headers
    if failure.retry_after:
        headers["Retry-After"] = str(-(failure.retry_after // -1000))
    if failure.status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    return bodies.write(request, told, failure.status, headers)
