"""Large views come apart and together again without loss, each part within the limit."""

from __future__ import annotations

from typing import Any

import msgpack  # type: ignore[import-untyped]  # it ships no types
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.codec import CODECS, MSGPACK, Codec, Wire
from protocol.messages import Frame, Joined, Reset
from protocol.parts import EntityTooLarge, ViewMessage, encode_parts, fit_entries, join_parts
from protocol.versions import MAX_FRAME_OUT

STAMP = "0" * 16
ENTRY = {"v": 1, "stamp": STAMP, "events": [{"type": "x", "text": "é" * 50}]}


def joined(view: Any, history: Any = None) -> Joined:
    return Joined("s", "ann", "player", STAMP, 7, STAMP, "duel", "standard", False, view, history=history, id="r1")


def size(frame: Wire) -> int:
    return len(frame.encode()) if isinstance(frame, str) else len(frame)


def decoded(frames: list[Wire], codec: Codec) -> list[Any]:
    return [codec.decode_server(frame) for frame in frames]


ENTITIES = st.dictionaries(
    st.text("abc.:", min_size=1, max_size=12), st.fixed_dictionaries({"text": st.text("xé\n", max_size=120)}), max_size=12
)
VIEWS = st.dictionaries(st.sampled_from(["table", "seats", "combatants", "prompts"]), ENTITIES)


@given(VIEWS, st.sampled_from(CODECS))
def test_any_view_comes_together_again_and_no_part_is_too_large(view: dict[str, dict[str, Any]], codec: Codec):
    messages: list[ViewMessage] = [
        joined(view, [ENTRY]),
        Reset("s", STAMP, 7, STAMP, "a reason", view),
        Frame("s", 7, STAMP, 1, "ann", [ENTRY], view=view),
        Frame("s", 7, STAMP, 1, "ann", [ENTRY], views=view, gone={"prompts": ["p.1"]}),
    ]
    for message in messages:
        frames = encode_parts(message, codec, limit=900)
        assert all(size(frame) <= 900 for frame in frames)
        assert join_parts(decoded(frames, codec)) == message


def test_a_view_that_fits_is_one_message_without_numbers(codec: Codec):
    message = joined({"table": {"table": {"title": "x"}}})
    frames = encode_parts(message, codec)
    assert frames == [codec.encode(message)]


def test_the_limit_is_a_mebibyte_and_parts_are_few(codec: Codec):
    view = {"combatants": {f"c{n}": {"note": "x" * 1000} for n in range(3000)}}
    frames = encode_parts(joined(view), codec)
    assert all(size(frame) <= MAX_FRAME_OUT for frame in frames)
    assert len(frames) == 3
    assert join_parts(decoded(frames, codec)) == joined(view)


def test_only_the_first_part_has_the_rest(codec: Codec):
    view = {"combatants": {f"c{n}": {"note": "x" * 100} for n in range(30)}}
    frames = encode_parts(Frame("s", 7, STAMP, 1, "ann", [{"type": "x"}], views=view, gone={"seats": ["bo"]}), codec, limit=1000)
    first, *others = decoded(frames, codec)
    assert (first.events, first.gone, first.by, first.part, first.parts) == ([{"type": "x"}], {"seats": ["bo"]}, "ann", 1, len(frames))
    assert others
    for number, other in enumerate(others, 2):
        assert other == Frame("s", 7, STAMP, views=other.views, part=number, parts=len(frames))


def test_pieces_encoded_before_can_be_split(codec: Codec):
    view = {"combatants": {f"c{n}": {"note": "x" * 100} for n in range(30)}}
    spliced = {"combatants": {id: codec.pack(entity) for id, entity in view["combatants"].items()}}
    for body in (spliced, codec.pack(view)):
        assert join_parts(decoded(encode_parts(joined(body), codec, limit=1000), codec)) == joined(view)


def test_an_entity_that_fits_no_frame_is_named(codec: Codec):
    with pytest.raises(EntityTooLarge, match=r"combatants.*'c1'"):
        encode_parts(joined({"combatants": {"c1": {"note": "x" * 2000}}}), codec, limit=1000)


def test_a_head_that_fits_no_frame_is_refused(codec: Codec):
    with pytest.raises(EntityTooLarge, match="even without its view"):
        encode_parts(joined({"table": {"table": {}}}, history=[ENTRY] * 20), codec, limit=1000)


def parts_of(view: Any) -> list[Any]:
    return decoded(encode_parts(joined(view), MSGPACK, limit=600), MSGPACK)


@pytest.mark.parametrize("harm", ["missing last", "missing middle", "out of order", "foreign", "twice"])
def test_parts_that_do_not_belong_together_are_refused(harm: str):
    parts = parts_of({"combatants": {f"c{n}": {"note": "x" * 100} for n in range(12)}})
    assert len(parts) > 3
    broken = {
        "missing last": parts[:-1],
        "missing middle": parts[:1] + parts[2:],
        "out of order": [parts[1], parts[0], *parts[2:]],
        "foreign": [parts[0], msgspec.structs.replace(parts[1], stamp="1" * 16), *parts[2:]],
        "twice": [parts[0], parts[0], *parts[2:]],
    }[harm]
    with pytest.raises(ValueError, match="missing or belongs"):
        join_parts(broken)


def test_history_keeps_the_newest_entries_that_fit(codec: Codec):
    entries = [ENTRY | {"v": v} for v in range(1, 101)]
    one = size(codec.encode(Reset("s", STAMP, 1, STAMP, "", ENTRY | {"v": 100}))) - size(codec.encode(Reset("s", STAMP, 1, STAMP, "", {})))
    kept = fit_entries(entries, codec, limit=one * 10)
    values = codec.unpack(kept)
    assert [entry["v"] for entry in values] == list(range(101 - len(kept), 101))
    assert 8 <= len(kept) <= 10


def test_history_keeps_all_entries_when_they_fit_and_one_when_none_does(codec: Codec):
    entries = [ENTRY | {"v": v} for v in range(1, 4)]
    assert codec.unpack(fit_entries(entries, codec)) == entries
    assert codec.unpack(fit_entries(entries, codec, limit=10)) == entries[-1:]
    assert fit_entries([], codec) == []


def test_parts_are_plain_messages_to_other_programs():
    first, *_ = (
        msgpack.unpackb(frame)
        for frame in encode_parts(joined({"seats": {"a": {"x": "y" * 500}, "b": {"x": "y" * 500}}}), MSGPACK, limit=800)
    )
    assert (first["t"], first["part"], first["parts"]) == ("joined", 1, 2)
