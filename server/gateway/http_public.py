"""What is served without a table: the page, what can be played, what the routes are, and how the server is."""

from __future__ import annotations

import ipaddress
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any, Final

from aiohttp import web

import engine
from protocol.errors import Code
from protocol.schema import build_schema
from server.gateway import bodies, openapi
from server.gateway.http_base import Call, Failure, Handler, Route
from server.logs import get_logger
from server.metrics import CONTENT_TYPE
from server.store import StoreUnavailable

log = get_logger("http")

PAGE_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_FILES: Final = {
    "/": ("index.html", "text/html"),
    "/app.js": ("app.js", "text/javascript"),
    "/style.css": ("style.css", "text/css"),
}


@cache
def page_folder() -> str:
    """Where the page's files lie: `app`, the browser client as `make browser` builds it, when all of it is there; else the small `page`."""
    app = files("server.gateway").joinpath("app")
    return "app" if all(app.joinpath(name).is_file() for name, _ in _FILES.values()) else "page"


@cache
def _file(folder: str, name: str) -> tuple[bytes, str]:
    data = files("server.gateway").joinpath(folder, name).read_bytes()
    return data, f'"{sha256(data).hexdigest()[:16]}"'


def _page(path: str) -> Handler:
    name, mime = _FILES[path]

    async def serve_file(call: Call) -> web.StreamResponse:
        data, tag = _file(page_folder(), name)
        headers = {"ETag": tag, "Cache-Control": "no-cache", "Content-Security-Policy": PAGE_POLICY}
        if call.request.headers.get("If-None-Match") == tag:
            return web.Response(status=304, headers=headers)
        return web.Response(body=data, headers=headers, content_type=mime, charset="utf-8")

    return serve_file


@cache
def _about(name: str) -> dict[str, Any]:
    rules = engine.ruleset(name)
    own = build_schema({name: rules.commands})["$defs"]
    return {
        "name": rules.name,
        "title": rules.title,
        "summary": rules.summary,
        "version": rules.version,
        "variants": {variant: dict(switches) for variant, switches in rules.variants.items()},
        "switches": {switch: list(values) for switch, values in rules.switches.items()},
        "samples": dict(rules.samples),
        "commands": {key: value for key, value in own.items() if key == name or key.startswith(f"{name}.")},
    }


async def get_rulesets(call: Call) -> web.StreamResponse:
    listed = []
    for name in engine.names():
        try:
            listed.append(_about(name))
        except Exception:
            # An installed package that does not load is no reason to hide the others.
            log.exception("a ruleset cannot be loaded", ruleset=name)
    return bodies.write(call.request, {"rulesets": listed})


async def get_openapi(call: Call) -> web.StreamResponse:
    from server.gateway.http import ROUTES  # it lists this very route

    return web.json_response(openapi.describe(ROUTES, call.server.url))


async def get_health(call: Call) -> web.StreamResponse:
    return bodies.write(call.request, {"alive": True})


async def get_ready(call: Call) -> web.StreamResponse:
    why = "The server is stopping." if call.server.draining else ""
    if not why:
        try:
            await call.server.store.ping()
        except StoreUnavailable as problem:
            why = problem.text
    return bodies.write(call.request, {"ready": not why, "why": why} if why else {"ready": True}, 503 if why else 200)


async def get_metrics(call: Call) -> web.StreamResponse:
    if not _is_local(call):
        claims = await call.claims()
        if claims is None or claims.scope != "admin":
            raise Failure(Code.FORBIDDEN, "Only this machine and admins read the metrics.")
    return web.Response(body=call.server.metrics.render(), headers={"Content-Type": CONTENT_TYPE})


def _is_local(call: Call) -> bool:
    """Whether the caller is on this machine. A proxy that nobody declared makes strangers look local, but says so in its headers."""
    if not call.server.config.trusted_proxies and {"X-Forwarded-For", "Forwarded", "X-Real-IP", "Via"} & set(call.request.headers):
        return False
    try:
        return ipaddress.ip_address(call.address).is_loopback
    except ValueError:
        return call.address == "local"


ROUTES: Final[tuple[Route, ...]] = (
    *(
        Route(method="GET", path=path, handler=_page(path), summary=summary, media=_FILES[path][1], answers={200: "a file"})
        for path, summary in (("/", "The browser page."), ("/app.js", "Its program."), ("/style.css", "Its looks."))
    ),
    Route(
        method="GET",
        path="/v1/rulesets",
        handler=get_rulesets,
        summary="What can be played here, with the JSON Schema of every command.",
        answers={200: "rulesets [{name, title, summary, version, variants, switches, samples, commands}]"},
    ),
    Route(method="GET", path="/v1/openapi.json", handler=get_openapi, summary="This description.", answers={200: "OpenAPI 3.1"}),
    Route(method="GET", path="/healthz", handler=get_health, summary="The process is alive.", answers={200: "alive"}),
    Route(
        method="GET",
        path="/readyz",
        handler=get_ready,
        summary="The server can take commands: its store takes writes, and it is not stopping.",
        answers={200: "ready", 503: "ready (false), why"},
    ),
    Route(
        method="GET",
        path="/metrics",
        handler=get_metrics,
        summary="Counters for Prometheus. From this machine, or with an admin token.",
        answers={200: "text"},
        media="text/plain",
    ),
)
