"""Messages to bytes and back: msgpack with the protocol's limits, one map per WebSocket message."""

from __future__ import annotations

from typing import Any

import msgpack  # type: ignore[import-untyped]  # it ships no types

from .errors import BadMessage

Message = dict[str, Any]

MAX_INT = 2**53 - 1
DEPTH_IN = 16
"""How deep maps and lists may nest in what a server takes; the message itself is the first level."""
DEPTH_OUT = 64
"""How deep this client reads what a server sends."""
FRAME_IN = 64 * 1024
"""Bytes a server takes in one message unless its `welcome` says otherwise."""
FRAME_OUT = 1024 * 1024
"""Bytes a server sends in one message; larger views come in numbered parts."""


def encode(message: Message, limit: int = FRAME_IN) -> bytes:
    """One message as bytes. Raises BadMessage for what the protocol does not carry or what is larger than `limit` bytes."""
    check(message, DEPTH_IN)
    try:
        raw: bytes = msgpack.packb(message, use_bin_type=True)
    except (ValueError, TypeError, OverflowError) as error:
        raise BadMessage(f"cannot be sent: {error}") from None
    if len(raw) > limit:
        raise BadMessage(f"too large: {len(raw)} bytes, the server takes {limit}")
    return raw


def decode(raw: bytes) -> Message:
    """One message from bytes. Raises BadMessage for anything but exactly one map of the protocol's values with a text `t`."""
    try:
        message = msgpack.unpackb(raw, raw=False, strict_map_key=True, use_list=True)
    except (ValueError, TypeError, RecursionError, msgpack.UnpackException) as error:
        raise BadMessage(f"not a message: {type(error).__name__} {error}") from None
    if type(message) is not dict:
        raise BadMessage("not a message: a map is needed")
    check(message, DEPTH_OUT)
    if type(message.get("t")) is not str:
        raise BadMessage("not a message: no tag `t`")
    return message


def check(value: Any, depth: int) -> None:
    """Raise BadMessage unless `value` is made of maps with text keys, lists, text, ints in range, booleans and None.

    Maps and lists may nest `depth` levels at most, `value` being the first.
    """
    level = [value]
    for left in range(depth, -1, -1):
        deeper: list[Any] = []
        nested = False
        for item in level:
            kind = type(item)
            if kind is dict:
                nested = True
                for key in item:
                    if type(key) is not str:
                        raise BadMessage(f"map keys are text, not {type(key).__name__}")
                deeper.extend(item.values())
            elif kind is list or kind is tuple:
                nested = True
                deeper.extend(item)
            elif kind is int:
                if not -MAX_INT <= item <= MAX_INT:
                    raise BadMessage("whole numbers lie within ±(2^53−1)")
            elif kind is not str and kind is not bool and item is not None:
                raise BadMessage(f"{kind.__name__} values do not go over the wire")
        if nested and not left:
            raise BadMessage(f"nested deeper than {depth} levels")
        if not deeper:
            return
        level = deeper
