"""What a value on the wire may be, checked by walking the bytes once.

One map, at most 16 levels deep, made of maps with string keys, arrays, strings, ints within ±(2**53-1), booleans and
null; no key twice in a map; nothing after it. The codec's usual path gets the same answer from compiled code and comes
here for the rest: to find a key that occurs twice in an unusual encoding, and to say in words what is wrong.
"""

from __future__ import annotations

import json
from typing import Any, NoReturn

import msgspec

from protocol.versions import MAX_DEPTH, MAX_INT


class WireError(Exception):
    """The value breaks a rule of the wire. `text` says which, for the author of a client."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


_FORBIDDEN = (
    dict.fromkeys((0xC4, 0xC5, 0xC6), "binary data (use a string of hex digits)")
    | dict.fromkeys((0xC7, 0xC8, 0xC9, 0xD4, 0xD5, 0xD6, 0xD7, 0xD8), "an extension type")
    | dict.fromkeys((0xCA, 0xCB), "a float (numbers are ints)")
    | {0xC1: "the byte 0xc1, which msgpack never uses"}
)
_STR_SIZES = {0xD9: 1, 0xDA: 2, 0xDB: 4}
_INT_SIZES = {0xCC: 1, 0xCD: 2, 0xCE: 4, 0xCF: 8, 0xD0: 1, 0xD1: 2, 0xD2: 4, 0xD3: 8}
_ARRAY_SIZES = {0xDC: 2, 0xDD: 4}
_MAP_SIZES = {0xDE: 2, 0xDF: 4}


def check_msgpack(data: bytes) -> None:
    """Raise WireError unless `data` is exactly one value that the wire allows.

    The work is proportional to the bytes present, whatever sizes they claim.
    """
    size = len(data)
    position = 0
    # The container being read: how many items are still to come (keys and values counted apart), and the keys seen if
    # it is a map. The message itself is read as the only item of an array.
    left, keys = 1, None  # type: int, set[str] | None
    outer: list[tuple[int, set[str] | None]] = []
    while True:
        while left == 0:
            if not outer:
                if position != size:
                    raise WireError(f"There are {size - position} bytes after the end of the message.")
                return
            left, keys = outer.pop()
        if position >= size:
            _truncated(size)
        is_key = keys is not None and left % 2 == 0
        left -= 1
        start = position
        head = data[position]
        position += 1
        if 0xA0 <= head <= 0xBF or head in _STR_SIZES:
            width = _STR_SIZES.get(head, 0)
            length = int.from_bytes(data[position : position + width], "big") if width else head & 0x1F
            position += width
            if position + length > size:
                _truncated(size)
            try:
                text = str(data[position : position + length], "utf-8")
            except UnicodeDecodeError:
                raise WireError(f"The string at byte {start} is not UTF-8.") from None
            position += length
            if is_key:
                assert keys is not None
                if text in keys:
                    raise WireError(f"The key '{text[:32]}' occurs twice in one map (byte {start}).")
                keys.add(text)
            elif not outer:
                raise WireError("A message is a map.")
            continue
        if head in _FORBIDDEN:
            raise WireError(f"At byte {start} there is {_FORBIDDEN[head]}.")
        if is_key:
            raise WireError(f"The map key at byte {start} is not a string.")
        if 0x80 <= head <= 0x9F or head in _ARRAY_SIZES or head in _MAP_SIZES:
            is_map = head <= 0x8F or head in _MAP_SIZES
            width = _ARRAY_SIZES.get(head, 0) or _MAP_SIZES.get(head, 0)
            if position + width > size:
                _truncated(size)
            count = int.from_bytes(data[position : position + width], "big") if width else head & 0x0F
            position += width
            items = count * 2 if is_map else count
            if not outer and not is_map:
                raise WireError("A message is a map.")
            if len(outer) == MAX_DEPTH:
                raise WireError(f"Maps and arrays nest deeper than {MAX_DEPTH} levels at byte {start}.")
            if items > size - position:
                _truncated(size)
            outer.append((left, keys))
            left, keys = items, set() if is_map else None
            continue
        if not outer:
            raise WireError("A message is a map.")
        width = _INT_SIZES.get(head, 0)
        if position + width > size:
            _truncated(size)
        if width == 8:
            number = int.from_bytes(data[position : position + 8], "big", signed=head == 0xD3)
            if not -MAX_INT <= number <= MAX_INT:
                raise WireError(f"The number at byte {start} is not within ±(2**53-1).")
        position += width


def _truncated(size: int) -> NoReturn:
    raise WireError("The message is empty." if size == 0 else f"The message is cut off after {size} bytes.")


def check_json(data: bytes) -> None:
    """Raise WireError unless `data` is exactly one value that the wire allows. May raise RecursionError on deep input."""
    try:
        text = str(data, "utf-8")
        value = json.loads(text, object_pairs_hook=_pairs, parse_float=_float, parse_int=_int, parse_constant=_float)
    except UnicodeDecodeError:
        raise WireError("The message is not UTF-8.") from None
    except ValueError as error:
        raise WireError("The message is empty." if not data else f"The message is not JSON: {error}.") from None
    if type(value) is not dict:
        raise WireError("A message is a map.")
    level: list[Any] = [value]
    for _ in range(MAX_DEPTH):
        level = [item for node in level for item in (node.values() if type(node) is dict else node) if type(item) in (dict, list)]
    if level:
        raise WireError(f"Maps and arrays nest deeper than {MAX_DEPTH} levels.")
    try:
        msgspec.msgpack.encode(value)
    except UnicodeEncodeError:
        raise WireError("A string holds half of a surrogate pair.") from None


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise WireError(f"The key '{key[:32]}' occurs twice in one map.")
            seen.add(key)
    return found


def _float(text: str) -> NoReturn:
    raise WireError(f"There is a float (numbers are ints): {text[:32]}.")


def _int(text: str) -> int:
    # Length first: converting thousands of digits costs time.
    number = int(text) if len(text) <= 17 else MAX_INT + 1
    if not -MAX_INT <= number <= MAX_INT:
        raise WireError("There is a number that is not within ±(2**53-1).")
    return number
