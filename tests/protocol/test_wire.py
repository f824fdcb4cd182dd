"""The byte-level check agrees with an independent reading of the same bytes, and its work is bounded."""

from __future__ import annotations

import json
from typing import Any

import msgpack  # type: ignore[import-untyped]  # it ships no types
import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.wire import WireError, check_json, check_msgpack
from tests.protocol.frames import ODD_VALUES, VALUES, Pairs, allowed, read


def passes(data: bytes) -> bool:
    try:
        check_msgpack(data)
    except WireError:
        return False
    return True


def should_pass(data: bytes) -> bool:
    try:
        value = read(data)
    except ValueError:
        return False
    return isinstance(value, Pairs) and allowed(value)


@given(st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=8), VALUES, max_size=5))
def test_what_the_wire_allows_passes_in_both_encodings(value: dict[str, Any]):
    check_msgpack(msgpack.packb(value))
    check_json(json.dumps(value).encode())


@given(ODD_VALUES)
def test_any_msgpack_value_is_judged_as_an_independent_reader_does(value: Any):
    data = msgpack.packb(value)
    assert passes(data) == should_pass(data)
    wrapped = msgpack.packb({"t": value})
    assert passes(wrapped) == should_pass(wrapped)


@given(st.binary(max_size=60))
def test_any_bytes_are_judged_as_an_independent_reader_does(data: bytes):
    assert passes(data) == should_pass(data)
    assert passes(b"\x81\xa1a" + data) == should_pass(b"\x81\xa1a" + data)


@given(VALUES, st.data())
def test_every_proper_beginning_of_a_message_is_cut_off(value: Any, data: st.DataObject):
    frame = msgpack.packb({"a": value})
    cut = data.draw(st.integers(0, len(frame) - 1))
    with pytest.raises(WireError, match=r"cut off|empty"):
        check_msgpack(frame[:cut])


@pytest.mark.parametrize(
    ("long", "short"),
    [
        ("d901 61".replace(" ", ""), "a161"),
        ("da000161", "a161"),
        ("db0000000161", "a161"),
        ("cc01", "01"),
        ("cd0001", "01"),
        ("ce00000001", "01"),
        ("cf0000000000000001", "01"),
        ("d0ff", "ff"),
        ("d1ffff", "ff"),
        ("d2ffffffff", "ff"),
        ("d3ffffffffffffffff", "ff"),
        ("dc000101", "9101"),
        ("dd0000000101", "9101"),
        ("de0001a16101", "81a16101"),
        ("df00000001a16101", "81a16101"),
    ],
)
def test_longer_encodings_than_needed_are_allowed(long: str, short: str):
    assert read(bytes.fromhex(long)) == read(bytes.fromhex(short))
    check_msgpack(b"\x81\xa1k" + bytes.fromhex(long))


@pytest.mark.parametrize("outer", ["82a16101a16102", "82a16101d9016102", "82da00016101a16102"])
def test_a_key_twice_is_found_in_any_encoding(outer: str):
    with pytest.raises(WireError, match="'a' occurs twice"):
        check_msgpack(bytes.fromhex(outer))


def test_the_same_key_in_two_maps_is_fine():
    check_msgpack(msgpack.packb({"a": {"a": 1}, "b": [{"a": 1}, {"a": 1}]}))


def test_sixteen_levels_pass_and_seventeen_do_not():
    for levels, fine in ((16, True), (17, False)):
        value: Any = []
        for _ in range(levels - 2):
            value = [value]
        for check, data in ((check_msgpack, msgpack.packb({"a": value})), (check_json, json.dumps({"a": value}).encode())):
            if fine:
                check(data)
            else:
                with pytest.raises(WireError, match="deeper than 16"):
                    check(data)


@pytest.mark.parametrize("header", ["dd", "df", "db"])
def test_a_claimed_size_costs_nothing(header: str):
    with pytest.raises(WireError, match="cut off"):
        check_msgpack(bytes.fromhex("81a161" + header + "ffffffff"))


@pytest.mark.parametrize(
    "text",
    ['{"a":"\\ud800"}', '{"\\udc00":1}', '{"a":1.0}', '{"a":NaN}', '{"a":9007199254740992}', '{"a":1,"\\u0061":2}', "[1]", '{"a":1}x', ""],
)
def test_what_json_must_not_hold_is_refused(text: str):
    with pytest.raises(WireError):
        check_json(text.encode())


@pytest.mark.parametrize("data", [b'{"a":"\xff"}', '{"a":1}'.encode("utf-16"), b'\xef\xbb\xbf{"a":1}'])
def test_json_is_utf8_without_a_mark(data: bytes):
    with pytest.raises(WireError):
        check_json(data)
