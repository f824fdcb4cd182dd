"""openapi.json, made from the routes themselves, so that it cannot name what is not there nor forget what is."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from protocol.errors import CODES
from server.gateway.http_base import Route
from server.gateway.websocket import VERSION

_WHO: Final = {
    "open": "Anyone.",
    "creator": "Anyone where the host allows it, else an admin token.",
    "token": "Any token.",
    "seat": "A token that opens a seat of this table.",
    "gm": "A GM's token of this table, or an admin token.",
}


def describe(routes: Sequence[Route], url: str) -> dict[str, Any]:
    """The OpenAPI 3.1 description of `routes`, as JSON-ready values."""
    kinds = [route.body for route in routes if isinstance(route.body, type)]
    _, components = msgspec.json.schema_components(kinds, ref_template="#/components/schemas/{name}")
    # Python needs the look-ahead after `$`; other languages do not, and some cannot read it.
    schemas: dict[str, Any] = json.loads(json.dumps(components).replace(r"$(?!\\n)", "$"))
    schemas["Error"] = {
        "type": "object",
        "required": ["code", "text"],
        "properties": {
            "code": {"type": "string", "description": "Decide by this. Known: " + ", ".join(sorted(CODES))},
            "text": {"type": "string", "description": "Show this"},
            "v": {"type": "integer", "description": "Where the session stands"},
            "data": {"type": "object", "description": "Facts beside the text"},
            "retry_after": {"type": "integer", "description": "Milliseconds; the Retry-After header says it in seconds"},
        },
    }
    paths: dict[str, Any] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Dustup over HTTP",
            "version": VERSION,
            "description": "Bodies and answers are JSON or msgpack (Content-Type, Accept). docs/http.md says more; "
            "the socket at /v1/ws is described in protocol/SPEC.md.",
        },
        "servers": [{"url": url}],
        "paths": paths,
        "components": {"schemas": schemas, "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"}}},
    }


def _operation(route: Route) -> dict[str, Any]:
    parameters: list[dict[str, Any]] = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in re.findall(r"{(\w+)}", route.path)
    ]
    parameters += [{"name": name, "in": "query", "description": text, "schema": {"type": "string"}} for name, text in route.query.items()]
    refused = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    name = route.handler.__name__
    told: dict[str, Any] = {
        "operationId": name if name != "serve_file" else f"page{re.sub('[^a-z]', '_', route.path)}",
        "summary": route.summary,
        "description": _WHO[route.access],
        "parameters": parameters,
        "responses": {
            **{str(status): {"description": text, "content": {route.media: {}}} for status, text in route.answers.items()},
            "default": {"description": "Refused: the code says why.", "content": refused},
        },
    }
    if route.access != "open":
        told["security"] = [{"bearer": []}] if route.access != "creator" else [{}, {"bearer": []}]
    if route.body is not None:
        upload = route.body == "bytes"
        schema = {"type": "string", "format": "binary"} if upload else {"$ref": f"#/components/schemas/{route.body.__name__}"}
        kinds = (route.media,) if upload else ("application/json", "application/msgpack")
        told["requestBody"] = {"required": True, "content": {kind: {"schema": schema} for kind in kinds}}
    return told
