"""Bodies of HTTP requests and answers: JSON or msgpack, by Content-Type and Accept, with the wire's own limits on what may come in."""

from __future__ import annotations

import asyncio
from typing import Any, Final, TypeVar

import msgspec
from aiohttp import web

from protocol import wire
from protocol.errors import Code
from server.gateway.http_base import Failure

T = TypeVar("T")

JSON: Final = "application/json"
MSGPACK: Final = "application/msgpack"
_MSGPACK_NAMES: Final = frozenset({MSGPACK, "application/x-msgpack", "application/vnd.msgpack"})
MAX_BODY: Final = 64 * 1024
MAX_SETUP: Final = 256 * 1024
WITHIN_SECONDS = 30.0

_json: Final = msgspec.json.Encoder()
_msgpack: Final = msgspec.msgpack.Encoder()


async def read_bytes(request: web.Request, limit: int, within: float | None = None) -> bytes:
    """The body, at most `limit` bytes of it, whatever its length claims. Raises Failure too_large (413), or 408 when it is too slow."""
    if request.headers.get("Content-Encoding", "identity") != "identity":
        raise Failure(Code.BAD_FRAME, "Send the body as it is, without compression.", status=415)
    too_large = Failure(Code.TOO_LARGE, f"The body may have {limit} bytes.")
    if request.content_length is not None and request.content_length > limit:
        raise too_large
    data = bytearray()
    seconds = WITHIN_SECONDS if within is None else within
    try:
        async with asyncio.timeout(seconds):
            async for chunk in request.content.iter_any():
                data += chunk
                if len(data) > limit:
                    raise too_large
    except TimeoutError:
        raise Failure(Code.BAD_FRAME, f"The body did not arrive within {seconds:g} seconds.", status=408) from None
    return bytes(data)


async def read(request: web.Request, kind: type[T], limit: int = MAX_BODY) -> T:
    """The body as a `kind`.

    Raises Failure: 415 for another media type, bad_frame for what the wire never allows, bad_command for what does not fit.
    """
    mime = request.content_type if "Content-Type" in request.headers else ""
    if mime != JSON and mime not in _MSGPACK_NAMES:
        # A page on another site can send a form or plain text without asking; it cannot send these two.
        raise Failure(Code.BAD_FRAME, f"Send the body as {JSON} or {MSGPACK}, and say so in Content-Type.", status=415)
    data = await read_bytes(request, limit)
    try:
        if mime == JSON:
            wire.check_json(data)
            return msgspec.json.decode(data, type=kind)
        wire.check_msgpack(data)
        return msgspec.msgpack.decode(data, type=kind)
    except wire.WireError as problem:
        raise Failure(Code.BAD_FRAME, problem.text) from None
    except RecursionError:
        raise Failure(Code.BAD_FRAME, "The body nests too deeply.") from None
    except msgspec.ValidationError as problem:
        raise Failure(Code.BAD_COMMAND, f"The body does not fit: {str(problem)[:300]}.") from None
    except msgspec.DecodeError as problem:
        raise Failure(Code.BAD_FRAME, f"The body cannot be read: {str(problem)[:200]}.") from None


def wants_msgpack(request: web.Request) -> bool:
    """Whether the answer is to be msgpack: `Accept` names it, and JSON not before it."""
    for part in request.headers.get("Accept", "").split(","):
        name = part.partition(";")[0].strip().lower()
        if name in _MSGPACK_NAMES:
            return True
        if name == JSON:
            return False
    return False


def write(request: web.Request, value: Any, status: int = 200, headers: dict[str, str] | None = None) -> web.Response:
    """An answer in the encoding that the caller accepts."""
    if wants_msgpack(request):
        return web.Response(body=_msgpack.encode(value), status=status, headers=headers, content_type=MSGPACK)
    return web.Response(body=_json.encode(value), status=status, headers=headers, content_type=JSON, charset="utf-8")
