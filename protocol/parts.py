"""Large views in numbered parts, and pages of history that fit a frame.

Parts of one message follow one another on the connection; a client applies nothing until it has all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from protocol.codec import Codec, Wire
from protocol.messages import Frame, Joined, Reset
from protocol.versions import MAX_FRAME_OUT

ViewMessage = Joined | Frame | Reset

# Room for the part numbers and for the header of the view, which the empty view does not have yet.
_SLACK = 64
# The most that surrounds the entities of one kind besides the kind's name.
_MAP_HEADER = 10


class EntityTooLarge(ValueError):
    """One entity alone does not fit a frame, so its view cannot be sent."""


def encode_parts(message: ViewMessage, codec: Codec, limit: int = MAX_FRAME_OUT) -> list[Wire]:
    """The frames of `message`: one when it fits `limit` bytes, else parts that split its view by entities.

    The first part carries everything else the message has; the others repeat only what identifies it. Raises
    EntityTooLarge when an entity, or what the first part must carry, is too large by itself.
    """
    whole = codec.encode(message)
    if _size(whole) <= limit:
        return [whole]
    # A joined answer that resumes has no view and cannot be split; history is cut to size by its sender (fit_entries).
    field = "views" if isinstance(message, Frame) and message.view is None else "view"
    view = codec.unpack(getattr(message, field)) or {}
    first = msgspec.structs.replace(message, **{field: {}})
    rooms = [limit - _SLACK - _size(codec.encode(base)) for base in (first, _stub(message))]
    if min(rooms) < 0:
        raise EntityTooLarge(f"a {type(message).__name__.lower()} message exceeds {limit} bytes even without its view")
    pieces = _pack(view, codec, *rooms)
    parts = len(pieces)
    frames: list[Wire] = []
    for part, piece in enumerate(pieces, 1):
        base = first if part == 1 else _stub(message)
        frames.append(codec.encode(msgspec.structs.replace(base, **{field: piece}, part=part, parts=parts)))
    return frames


def join_parts(messages: Sequence[ViewMessage]) -> ViewMessage:
    """The message that was split into `messages`, which are all its parts in order, with builtins as views.

    Raises ValueError when one is missing, foreign or out of order.
    """
    head = messages[0]
    if head.parts is None and len(messages) == 1:
        return head
    view: dict[str, dict[str, Any]] = {}
    field = "view" if head.view is not None else "views"
    for number, message in enumerate(messages, 1):
        same = type(message) is type(head) and (message.session, message.v, message.stamp) == (head.session, head.v, head.stamp)
        if not same or message.part != number or message.parts != len(messages):
            raise ValueError(f"part {number} of {head.parts} is missing or belongs to another message")
        for kind, entities in (getattr(message, field) or {}).items():
            view.setdefault(kind, {}).update(entities)
    return msgspec.structs.replace(head, **{field: view}, part=None, parts=None)


def fit_entries(entries: Sequence[Any], codec: Codec, limit: int = MAX_FRAME_OUT - 4096) -> list[msgspec.Raw]:
    """The newest of `entries` (oldest first) whose encodings together fit `limit` bytes; at least one, if there is any."""
    kept: list[msgspec.Raw] = []
    total = 0
    for entry in reversed(entries):
        raw = codec.pack(entry)
        total += len(bytes(raw)) + 1
        if kept and total > limit:
            break
        kept.append(raw)
    kept.reverse()
    return kept


def _stub(message: ViewMessage) -> ViewMessage:
    """`message` with only what every part repeats."""
    if isinstance(message, Frame):
        return Frame(session=message.session, v=message.v, stamp=message.stamp)
    if isinstance(message, Joined):
        return msgspec.structs.replace(message, view={}, history=None)
    return msgspec.structs.replace(message, view={})


def _pack(view: dict[str, dict[str, Any]], codec: Codec, first: int, later: int) -> list[dict[str, dict[str, Any]]]:
    """`view` in pieces: one of at most `first` bytes, then ones of at most `later`, in the view's own order."""
    pieces: list[dict[str, dict[str, Any]]] = [{}]
    left = first
    for kind, entities in view.items():
        header = len(kind) + _MAP_HEADER
        pieces[-1].setdefault(kind, {})
        left -= header
        for name, entity in entities.items():
            raw = codec.pack(entity)
            # Name, entity, and the punctuation between them in either encoding.
            size = len(bytes(raw)) + len(bytes(codec.pack(name))) + 2
            if size > left:
                if header + size > later:
                    raise EntityTooLarge(f"the {kind} entity '{name}' has {size} bytes, more than a frame holds")
                pieces.append({kind: {}})
                left = later - header
            pieces[-1][kind][name] = raw
            left -= size
    return pieces


def _size(frame: Wire) -> int:
    return len(frame.encode()) if isinstance(frame, str) else len(frame)
