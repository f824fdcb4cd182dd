"""Frames and values that several protocol tests build, and an independent judge of what the wire allows."""

from __future__ import annotations

from typing import Any

import msgpack  # type: ignore[import-untyped]  # it ships no types
from hypothesis import strategies as st

MAX_INT = 2**53 - 1

IDS = st.from_regex(r"[A-Za-z0-9_.:-]{1,64}", fullmatch=True)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
SCALARS = st.none() | st.booleans() | st.integers(-MAX_INT, MAX_INT) | TEXTS
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4), max_leaves=12)
COMMANDS = st.dictionaries(TEXTS, VALUES, max_size=5).map(lambda fields: fields | {"type": "x"})

ODD_SCALARS = (
    SCALARS
    | st.floats()
    | st.binary(max_size=4)
    | st.integers(-(2**63), 2**64 - 1)
    | st.builds(msgpack.ExtType, st.integers(0, 127), st.binary(max_size=4))
)
ODD_VALUES = st.recursive(
    ODD_SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(ODD_SCALARS.filter(lambda key: key == key), inner, max_size=4),
    max_leaves=12,
)
"""Values that msgpack can carry and the wire may not."""


class Pairs(list[tuple[Any, Any]]):
    """A map, keeping keys that occur twice."""


def do_frame(command: bytes, id: str = "w.1", session: str = "s") -> bytes:
    """A `do` around the given bytes, right or wrong."""
    head = msgpack.packb({"t": "do", "id": id, "session": session})
    return bytes([head[0] + 1]) + head[1:] + msgpack.packb("command") + command


def read(data: bytes) -> Any:
    """The value in msgpack bytes by the msgpack package, maps as Pairs. Raises ValueError for bytes that are not exactly one value."""
    try:
        return msgpack.unpackb(data, object_pairs_hook=Pairs, strict_map_key=False)
    except UnicodeDecodeError:
        raise
    except (msgpack.UnpackException, ValueError) as error:
        raise ValueError(str(error)) from None


def allowed(value: Any, levels: int = 16) -> bool:
    """Whether the wire allows a value as `read` gives it, nesting at most `levels` deep."""
    if isinstance(value, Pairs):
        keys = [key for key, _ in value]
        plain = all(type(key) is str for key in keys)
        return levels > 0 and plain and len(set(keys)) == len(keys) and all(allowed(item, levels - 1) for _, item in value)
    if type(value) is list:
        return levels > 0 and all(allowed(item, levels - 1) for item in value)
    return value is None or type(value) in (bool, str) or (type(value) is int and abs(value) <= MAX_INT)
