"""Bytes to typed messages and back, for both subprotocols, with every limit on what a stranger may send.

Three compiled passes do the usual work (about 2 µs for an action): decode the whole frame under a type that allows only
what the wire allows, commands included; compare its re-encoding with the frame, which proves that no key occurred
twice; decode the frame again into its message. Only frames that fail one of them reach `wire`, which is written in
Python. Memory is bounded by the 64 KiB cap, which is checked first.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Annotated, Any, ClassVar, Final

import msgspec
from msgspec import Meta, Raw

from protocol import wire
from protocol.errors import CloseCode, Code, close_code, sentence
from protocol.messages import CLIENT_TYPES, ID_PATTERN, ClientMessage, Do, Odds, ServerMessage
from protocol.versions import (
    MAX_DEPTH,
    MAX_FRAME_IN,
    MAX_INT,
    SUBPROTOCOL_JSON,
    SUBPROTOCOL_MSGPACK,
    mismatch,
    negotiate,
)

Wire = bytes | str
"""What goes through the socket: bytes in a binary message, str in a text message."""


class FrameError(Exception):
    """A frame from a client that is refused.

    `code` is bad_frame, unknown_kind, too_large, unsupported_version or bad_command; `text` is for people. `id` and
    `session` are the frame's own, when it was whole enough to have them. `close` says with which code the connection
    must end; None when the frame was one well-formed map with a `t`, so that the sender can be told and carry on.
    """

    def __init__(
        self,
        code: str,
        text: str,
        *,
        id: str | None = None,
        session: str | None = None,
        data: dict[str, Any] | None = None,
        close: CloseCode | None = None,
    ) -> None:
        super().__init__(f"{code}: {text}")
        self.code = code
        self.text = text
        self.id = id
        self.session = session
        self.data = data
        self.close = close


_COMPILED_DEPTH: Final = 8
"""Levels that the compiled type reaches: its size doubles with each. What nests deeper, up to MAX_DEPTH, is left to `wire`."""


def _allowed(levels: int) -> Any:
    """The type of values that nest at most `levels` deep. Unrolled, so that compiled code counts the depth."""
    number = Annotated[int, Meta(ge=-MAX_INT, le=MAX_INT)]
    value: Any = bool | number | str | None
    for _ in range(levels):
        value = bool | number | str | list[value] | dict[str, value] | None
    return value


_MESSAGE: Final[Any] = dict[str, _allowed(_COMPILED_DEPTH - 1)]  # type: ignore[misc]  # built at run time
_KINDS: Final = frozenset(kind.__struct_config__.tag for kind in CLIENT_TYPES)
_ID: Final = re.compile(ID_PATTERN)

_msgpack_encode = msgspec.msgpack.Encoder().encode
_msgpack_value = msgspec.msgpack.Decoder(_MESSAGE).decode
_msgpack_client: Callable[[bytes], ClientMessage] = msgspec.msgpack.Decoder(ClientMessage).decode
_msgpack_server: Callable[[bytes], ServerMessage] = msgspec.msgpack.Decoder(ServerMessage).decode
_msgpack_any = msgspec.msgpack.Decoder().decode
_json_encode = msgspec.json.Encoder().encode
_json_value = msgspec.json.Decoder(_MESSAGE).decode
_json_client: Callable[[bytes], ClientMessage] = msgspec.json.Decoder(ClientMessage).decode
_json_server: Callable[[bytes], ServerMessage] = msgspec.json.Decoder(ServerMessage).decode
_json_any = msgspec.json.Decoder().decode

_UNREADABLE = (msgspec.MsgspecError, RecursionError, wire.WireError)
# What decoding without a type may raise on hostile bytes: also dates out of range, and map keys that cannot be keys.
_MALFORMED = (msgspec.MsgspecError, RecursionError, ValueError, TypeError, OverflowError)


class Codec(ABC):
    """One subprotocol. Codecs hold no state: use MSGPACK and JSON."""

    subprotocol: ClassVar[str]
    text: ClassVar[bool]
    """True when frames are str in text messages, False when they are bytes in binary messages."""

    @abstractmethod
    def decode_client(self, frame: Wire) -> ClientMessage:
        """The message in a frame from a client. Raises FrameError, and nothing else, for any bytes."""

    @abstractmethod
    def decode_server(self, frame: Wire) -> ServerMessage:
        """The message in a frame from a server, ignoring fields it does not know. Raises msgspec.DecodeError."""

    @abstractmethod
    def encode(self, message: ClientMessage | ServerMessage) -> Wire:
        """The frame of a message. Any Raw in it must come from this codec's `pack` (or, in commands, be of this encoding)."""

    @abstractmethod
    def pack(self, value: Any) -> Raw:
        """Builtins, encoded once, to be put into any number of messages of this codec."""

    @abstractmethod
    def unpack(self, value: Any) -> Any:
        """Builtins of a body part, which may be a Raw of this codec or hold some."""


class _Msgpack(Codec):
    subprotocol = SUBPROTOCOL_MSGPACK
    text = False

    def decode_client(self, frame: Wire) -> ClientMessage:
        if type(frame) is not bytes:
            raise _fatal(Code.BAD_FRAME, f"{SUBPROTOCOL_MSGPACK} uses binary messages, not text.")
        if len(frame) > MAX_FRAME_IN:
            raise _too_large(len(frame))
        try:
            try:
                value = _msgpack_value(frame)
                if _msgpack_encode(value) != frame:
                    wire.check_msgpack(frame)
            except msgspec.ValidationError:
                wire.check_msgpack(frame)
                value = _msgpack_any(frame)
            message = _msgpack_client(frame)
        except _UNREADABLE as error:
            raise _refusal(frame, error, _msgpack_any, wire.check_msgpack) from None
        if type(message) is Do or type(message) is Odds:
            _check_command(message, value)
        return message

    def decode_server(self, frame: Wire) -> ServerMessage:
        return _msgpack_server(_as_bytes(frame))

    def encode(self, message: ClientMessage | ServerMessage) -> bytes:
        return _msgpack_encode(message)

    def pack(self, value: Any) -> Raw:
        return Raw(_msgpack_encode(value))

    def unpack(self, value: Any) -> Any:
        return _msgpack_any(_msgpack_encode(value))


class _Json(Codec):
    subprotocol = SUBPROTOCOL_JSON
    text = True

    def decode_client(self, frame: Wire) -> ClientMessage:
        if type(frame) is not str:
            raise _fatal(Code.BAD_FRAME, f"{SUBPROTOCOL_JSON} uses text messages, not binary.")
        if len(frame) > MAX_FRAME_IN:
            raise _too_large(len(frame))
        try:
            data = frame.encode()
        except UnicodeEncodeError:
            raise _fatal(Code.BAD_FRAME, "The message holds half of a surrogate pair.") from None
        if len(data) > MAX_FRAME_IN:
            raise _too_large(len(data))
        try:
            try:
                value = _json_value(data)
                if _json_encode(value) != data:
                    wire.check_json(data)
            except msgspec.ValidationError:
                wire.check_json(data)
                value = _json_any(data)
            message = _json_client(data)
        except _UNREADABLE as error:
            raise _refusal(data, error, _json_any, wire.check_json) from None
        if type(message) is Do or type(message) is Odds:
            _check_command(message, value)
            return msgspec.structs.replace(message, command=MSGPACK.pack(value["command"]))
        return message

    def decode_server(self, frame: Wire) -> ServerMessage:
        return _json_server(_as_bytes(frame))

    def encode(self, message: ClientMessage | ServerMessage) -> str:
        return _json_encode(message).decode()

    def pack(self, value: Any) -> Raw:
        return Raw(_json_encode(value))

    def unpack(self, value: Any) -> Any:
        return _json_any(_json_encode(value))


MSGPACK: Final[Codec] = _Msgpack()
JSON: Final[Codec] = _Json()
CODECS: Final[tuple[Codec, ...]] = (MSGPACK, JSON)
"""Every subprotocol, the preferred one first."""


def choose(offered: Iterable[str]) -> Codec | None:
    """The codec for the first subprotocol the client offers that the server speaks, or None."""
    known = {codec.subprotocol: codec for codec in CODECS}
    return next((known[name] for name in offered if name in known), None)


def _as_bytes(frame: Wire) -> bytes:
    return frame.encode() if isinstance(frame, str) else frame


def _fatal(code: str, text: str) -> FrameError:
    return FrameError(code, text, close=close_code(code))


def _too_large(size: int) -> FrameError:
    return _fatal(Code.TOO_LARGE, f"A message may have {MAX_FRAME_IN} bytes; this one has at least {size}.")


def _check_command(message: Do | Odds, value: dict[str, Any]) -> None:
    command = value["command"]
    if type(command) is not dict or type(command.get("type")) is not str:
        text = "A command is a map with a string `type`."
        raise FrameError(Code.BAD_COMMAND, text, id=message.id, session=message.session)


def _refusal(frame: bytes, error: Exception, decode: Callable[[bytes], Any], check: Callable[[bytes], None]) -> FrameError:
    """What to answer to a frame that could not be decoded because of `error`."""
    try:
        envelope = decode(frame)
    except _MALFORMED:
        return _fatal(Code.BAD_FRAME, _reason(frame, error, check))
    if type(envelope) is not dict or type(envelope.get("t")) is not str:
        return _fatal(Code.BAD_FRAME, "A message is a map with a string `t`.")
    kind, versions = envelope["t"], _versions(envelope)
    if kind not in _KINDS:
        code, text = Code.UNKNOWN_KIND, f"{sentence(Code.UNKNOWN_KIND)} Kind: '{kind[:32]}'."
    elif kind == "hello" and versions and negotiate(*versions) is None:
        # A client from another age may say hello with fields this version does not know; tell it what is really wrong.
        text, data = mismatch(*versions)
        return FrameError(Code.UNSUPPORTED_VERSION, text, data=data, close=CloseCode.UNSUPPORTED_VERSION)
    else:
        code, text = Code.BAD_FRAME, _reason(frame, error, check)
    id, session = envelope.get("id"), envelope.get("session")
    return FrameError(
        code,
        text,
        id=id if type(id) is str and 1 <= len(id) <= 64 else None,
        session=session if type(session) is str and _ID.match(session) else None,
    )


def _reason(frame: bytes, error: Exception, check: Callable[[bytes], None]) -> str:
    try:
        check(frame)
    except wire.WireError as found:
        return found.text
    except RecursionError:
        return f"Maps and arrays nest deeper than {MAX_DEPTH} levels."
    # The reason names fields the client sent; they may be as long as the frame.
    return f"{str(error)[:200]}."


def _versions(envelope: dict[str, Any]) -> tuple[int, int] | None:
    low, high = envelope.get("min"), envelope.get("max")
    if type(low) is int and type(high) is int and 1 <= low <= high <= MAX_INT:
        return low, high
    return None
