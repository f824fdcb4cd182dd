"""Both subprotocols keep every limit, give the same messages, and never raise anything but FrameError at a client's frame."""

from __future__ import annotations

import json
import tracemalloc
from typing import Any

import msgpack  # type: ignore[import-untyped]  # it ships no types
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.codec import CODECS, JSON, MSGPACK, Codec, FrameError, choose
from protocol.errors import CloseCode
from protocol.messages import Ack, ClientMessage, Do, Frame, Hello, Joined, Odds, Ping, Pong, split_action_id
from protocol.vectors import load
from tests.protocol.frames import COMMANDS, IDS, ODD_VALUES, Pairs, allowed, do_frame, read

VALID = [bytes.fromhex(vector["msgpack"]) for vector in load("messages.json") if vector["from"] == "client"]
VALID_JSON = [json.dumps(vector["message"], ensure_ascii=False) for vector in load("messages.json") if vector["from"] == "client"]


def pack(codec: Codec, message: Any) -> bytes | str:
    """A frame made without our encoder."""
    if codec is MSGPACK:
        frame: bytes = msgpack.packb(message)
        return frame
    return json.dumps(message)


def refused(codec: Codec, message: Any) -> FrameError:
    with pytest.raises(FrameError) as info:
        codec.decode_client(pack(codec, message))
    return info.value


# --- Limits -----------------------------------------------------------------------------------------------------------


def ping_of(codec: Codec, size: int) -> bytes | str:
    """A frame of exactly `size` bytes, with an id that is too long."""
    shell = len(pack(codec, {"t": "ping", "id": "x" * 60000})) - 60000
    return pack(codec, {"t": "ping", "id": "x" * (size - shell)})


def test_a_frame_of_64_kib_is_read_and_one_byte_more_is_not(codec: Codec):
    with pytest.raises(FrameError) as fits:
        codec.decode_client(ping_of(codec, 65536))
    assert (fits.value.code, fits.value.close) == ("bad_frame", None)
    with pytest.raises(FrameError) as too_large:
        codec.decode_client(ping_of(codec, 65537))
    assert (too_large.value.code, too_large.value.close) == ("too_large", CloseCode.TOO_LARGE)


def test_a_large_command_that_fits_is_accepted(codec: Codec):
    message = codec.decode_client(pack(codec, {"t": "do", "id": "w.1", "session": "s", "command": {"type": "post", "text": "x" * 65000}}))
    assert isinstance(message, Do)


@pytest.mark.parametrize(("levels", "fine"), [(15, True), (16, False)])
def test_a_command_has_fifteen_levels_of_the_sixteen(codec: Codec, levels: int, fine: bool):
    value: Any = 0
    for _ in range(levels - 1):
        value = [value]
    message = {"t": "do", "id": "w.1", "session": "s", "command": {"type": "x", "a": value}}
    if fine:
        assert isinstance(codec.decode_client(pack(codec, message)), Do)
    else:
        error = refused(codec, message)
        assert (error.code, error.id, error.close) == ("bad_frame", "w.1", None)
        assert "deeper than 16" in error.text


@pytest.mark.parametrize("number", [2**53 - 1, -(2**53) + 1])
def test_the_largest_numbers_pass(codec: Codec, number: int):
    message = codec.decode_client(pack(codec, {"t": "odds", "id": "r", "session": "s", "command": {"type": "x", "a": number}}))
    assert isinstance(message, Odds)
    assert msgpack.unpackb(bytes(message.command))["a"] == number


@pytest.mark.parametrize("value", [2**53, -(2**53), 1.5, 1.0, 0.0])
def test_numbers_that_are_no_safe_ints_are_refused_but_answered(codec: Codec, value: float):
    error = refused(codec, {"t": "do", "id": "w.1", "session": "s", "command": {"type": "x", "a": value}})
    assert (error.code, error.id, error.session, error.close) == ("bad_frame", "w.1", "s", None)


@pytest.mark.parametrize(
    ("message", "where"),
    [
        ({"t": "hello", "token": "", "min": 1, "max": 1}, "token"),
        ({"t": "hello", "token": "x" * 4097, "min": 1, "max": 1}, "token"),
        ({"t": "hello", "token": "x", "min": 0, "max": 1}, "min"),
        ({"t": "hello", "token": "x", "min": 1, "max": 10000}, "max"),
        ({"t": "hello", "token": "x", "min": 1, "max": 1, "client": {"name": "x" * 65}}, "name"),
        ({"t": "hello", "token": "x", "min": 1, "max": 1, "client": {"name": "x", "os": "y"}}, "os"),
        ({"t": "join", "session": ""}, "session"),
        ({"t": "join", "session": "x" * 65}, "session"),
        ({"t": "join", "session": "s", "history": 201}, "history"),
        ({"t": "join", "session": "s", "history": -1}, "history"),
        ({"t": "join", "session": "s", "resume": {"epoch": "0" * 16, "v": 0, "stamp": "0" * 16}}, "v"),
        ({"t": "join", "session": "s", "resume": {"epoch": "0" * 15, "v": 1, "stamp": "0" * 16}}, "epoch"),
        ({"t": "join", "session": "s", "resume": {"epoch": "0" * 16, "v": 1, "stamp": "G" * 16}}, "stamp"),
        ({"t": "join", "session": "s", "resume": {"epoch": "0" * 16, "v": 1}}, "stamp"),
        ({"t": "do", "id": "1", "session": "s", "command": {"type": "x"}}, "id"),
        ({"t": "do", "id": "a.b.1", "session": "s", "command": {"type": "x"}}, "id"),
        ({"t": "do", "id": "w.01", "session": "s", "command": {"type": "x"}}, "id"),
        ({"t": "do", "id": "w.1\n", "session": "s", "command": {"type": "x"}}, "id"),
        ({"t": "do", "id": "w.1000000000000000", "session": "s", "command": {"type": "x"}}, "id"),
        ({"t": "do", "id": "x" * 49 + ".1", "session": "s", "command": {"type": "x"}}, "id"),
        ({"t": "do", "id": "w.1", "session": "s", "command": {"type": "x"}, "at": -1}, "at"),
        ({"t": "history", "id": "r", "session": "s", "limit": 0}, "limit"),
        ({"t": "history", "id": "r", "session": "s", "limit": 201}, "limit"),
        ({"t": "history", "id": "r", "session": "s", "before": 0}, "before"),
        ({"t": "salt", "id": "w.1", "session": "s", "salt": ""}, "salt"),
        ({"t": "salt", "id": "w.1", "session": "s", "salt": "x" * 65}, "salt"),
        ({"t": "ping", "id": "x" * 65}, "id"),
        ({"t": "ping", "id": 7}, "id"),
        ({"t": "ping", "now": 7}, "now"),
    ],
)
def test_every_field_is_bounded_and_the_refusal_names_it(codec: Codec, message: dict[str, Any], where: str):
    error = refused(codec, message)
    assert (error.code, error.close) == ("bad_frame", None)
    assert where in error.text


def test_the_bounds_themselves_are_allowed(codec: Codec):
    for message in (
        {"t": "hello", "token": "x" * 4096, "min": 1, "max": 9999, "client": {"name": "x" * 64, "version": "y" * 64}},
        {"t": "join", "session": "x" * 64, "history": 200, "id": "é" * 64},
        {"t": "do", "id": "x" * 48 + ".999999999999999", "session": "s", "command": {"type": "x"}, "at": 0},
        {"t": "history", "id": "r", "session": "s", "limit": 200, "before": 1},
        {"t": "salt", "id": "w.1", "session": "s", "salt": "é" * 64},
    ):
        assert codec.decode_client(pack(codec, message)).__struct_config__.tag == message["t"]


def test_a_field_name_as_long_as_the_frame_is_not_sent_back(codec: Codec):
    assert len(refused(codec, {"t": "ping", "x" * 60000: 1}).text) < 300
    assert len(refused(codec, {"t": "x" * 60000}).text) < 300


# --- Which refusals close --------------------------------------------------------------------------------------------


def test_an_unknown_kind_is_answered_not_closed(codec: Codec):
    error = refused(codec, {"t": "dance", "id": "r1", "session": "s", "with": {"whom": [1.5]}})
    assert (error.code, error.id, error.session, error.close) == ("unknown_kind", "r1", "s", None)


@pytest.mark.parametrize(("id", "session"), [(5, 5), ("", ""), ("x" * 65, "x" * 65), (None, "a b")])
def test_an_id_that_could_not_be_one_is_not_repeated(codec: Codec, id: Any, session: Any):
    error = refused(codec, {"t": "dance", "id": id, "session": session})
    assert (error.id, error.session) == (None, None)


def test_the_wrong_kind_of_frame_closes(codec: Codec):
    other = b"{}" if codec.text else "{}"
    with pytest.raises(FrameError) as info:
        codec.decode_client(other)
    assert (info.value.code, info.value.close) == ("bad_frame", CloseCode.BAD_FRAME)


def test_a_text_frame_with_half_a_surrogate_pair_closes():
    with pytest.raises(FrameError) as info:
        JSON.decode_client('{"t":"ping","id":"\ud800"}')
    assert info.value.close is CloseCode.BAD_FRAME


# --- Same messages from both -----------------------------------------------------------------------------------------


@given(COMMANDS, IDS)
def test_a_command_arrives_as_the_same_msgpack_by_either_subprotocol(command: dict[str, Any], session: str):
    message = {"t": "do", "id": "w.1", "session": session, "command": command}
    by_msgpack, by_json = MSGPACK.decode_client(pack(MSGPACK, message)), JSON.decode_client(pack(JSON, message))
    assert by_msgpack == by_json
    assert isinstance(by_json, Do)
    assert msgpack.unpackb(bytes(by_json.command)) == command
    assert by_json.session == session


def test_a_command_outlives_its_frame():
    """The command is a view of the frame's bytes; it must keep them alive."""
    message = MSGPACK.decode_client(do_frame(msgpack.packb({"type": "chat", "text": "hello" * 50})))
    assert isinstance(message, Do)
    assert msgpack.unpackb(bytes(message.command))["text"] == "hello" * 50


def test_split_action_id_gives_client_and_number():
    assert split_action_id("a:b_C-9.999999999999999") == ("a:b_C-9", 999999999999999)


@pytest.mark.parametrize(
    ("offered", "chosen"),
    [
        (["dustup.v1.json", "dustup.v1.msgpack"], JSON),
        (["dustup.v1.msgpack", "dustup.v1.json"], MSGPACK),
        (["dustup.v2.msgpack", "dustup.v1.json"], JSON),
        (["chat"], None),
        ([], None),
    ],
)
def test_the_first_known_subprotocol_offered_is_chosen(offered: list[str], chosen: Codec | None):
    assert choose(offered) is chosen


# --- Encoding --------------------------------------------------------------------------------------------------------


def test_fields_with_nothing_to_say_are_left_out():
    assert msgpack.unpackb(MSGPACK.encode(Frame(session="s", v=3, stamp="0" * 16))) == {
        "t": "frame",
        "session": "s",
        "v": 3,
        "stamp": "0" * 16,
    }
    assert msgpack.unpackb(MSGPACK.encode(Ack(id="w.1", again=True))) == {"t": "ack", "id": "w.1", "again": True}
    # Falsy is not nothing: false, 0 and empty lists of required fields are said.
    joined = Joined("s", "a", "gm", "0" * 16, 1, "0" * 16, "duel", "", False, {})
    assert msgpack.unpackb(MSGPACK.encode(joined)) | {"resumed": False, "variant": "", "view": {}} == msgpack.unpackb(
        MSGPACK.encode(joined)
    )
    assert msgpack.unpackb(MSGPACK.encode(Pong(now=0))) == {"t": "pong", "now": 0}


@given(st.dictionaries(st.sampled_from(["combatants", "seats"]), st.dictionaries(IDS, COMMANDS, max_size=3)))
def test_pieces_encoded_before_give_the_same_bytes(view: dict[str, dict[str, Any]]):
    for codec in CODECS:
        plain = Frame(session="s", v=3, stamp="0" * 16, views=view, events=[{"type": "x"}])
        spliced = Frame(
            session="s",
            v=3,
            stamp="0" * 16,
            views={kind: {id: codec.pack(entity) for id, entity in entities.items()} for kind, entities in view.items()},
            events=codec.pack([{"type": "x"}]),
        )
        assert codec.encode(plain) == codec.encode(spliced)
        assert codec.decode_server(codec.encode(spliced)) == plain
        assert codec.unpack(spliced.views) == view


def test_clients_ignore_fields_they_do_not_know(codec: Codec):
    assert codec.decode_server(pack(codec, {"t": "pong", "now": 5, "mood": "fine"})) == Pong(now=5)


def test_a_client_message_survives_both_directions(codec: Codec):
    for message in (Hello("x", 1, 2), Ping(), Ping("a"), Odds("r", "s", codec.pack({"type": "x", "n": [1, None]}))):
        decoded = codec.decode_client(codec.encode(message))
        expected: ClientMessage = message
        if isinstance(message, Odds):
            expected = msgspec.structs.replace(message, command=MSGPACK.pack({"type": "x", "n": [1, None]}))
        assert decoded == expected


# --- Fuzz ------------------------------------------------------------------------------------------------------------


def survives(codec: Codec, frame: bytes | str) -> ClientMessage | FrameError:
    """The message, or the refusal; anything else that is raised fails the test."""
    try:
        return codec.decode_client(frame)
    except FrameError as error:
        refusal = error
    assert refusal.text
    assert refusal.close is None or refusal.close in CloseCode
    return refusal


@given(st.binary(max_size=300))
def test_random_bytes_raise_frame_errors_only(data: bytes):
    survives(MSGPACK, data)
    survives(JSON, data.decode("latin-1"))
    survives(MSGPACK, do_frame(data))


@given(st.text(max_size=100))
def test_random_text_raises_frame_errors_only(text: str):
    survives(JSON, text)
    survives(JSON, '{"t":"do","id":"w.1","session":"s","command":' + text + "}")


@st.composite
def mutated(draw: st.DrawFn, frames: list[Any]) -> Any:
    frame = draw(st.sampled_from(frames))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(frame)))
        to = draw(st.integers(at, min(len(frame), at + 6)))
        new = draw(
            st.binary(max_size=4) if isinstance(frame, bytes) else st.text(max_size=4) | st.sampled_from(['"', "{", "[", "}", ",", "\\u"])
        )
        frame = frame[:at] + new + frame[to:]
    return frame


@given(mutated(VALID))
def test_mutated_msgpack_frames_are_judged_as_an_independent_reader_does(frame: bytes):
    outcome = survives(MSGPACK, frame)
    try:
        value = read(frame)
    except ValueError:
        assert isinstance(outcome, FrameError)
        assert outcome.close is CloseCode.BAD_FRAME
        return
    if not (isinstance(value, Pairs) and allowed(value)):
        assert isinstance(outcome, FrameError)


@given(mutated(VALID_JSON))
def test_mutated_json_frames_raise_frame_errors_only(frame: str):
    outcome = survives(JSON, frame)
    try:
        json.loads(frame)
    except ValueError:
        assert isinstance(outcome, FrameError)
        assert outcome.close is CloseCode.BAD_FRAME


@given(ODD_VALUES)
def test_a_command_passes_exactly_when_the_wire_allows_it(value: Any):
    data = msgpack.packb({"type": "x", "a": value})
    outcome = survives(MSGPACK, do_frame(data))
    assert isinstance(outcome, Do) == allowed(read(data), levels=15)


HOSTILE = {
    "arrays in arrays": b"\x91" * 65536,
    "maps in maps": b"\x81\xa1a" * 21845,
    "empty maps": b"\x81\xa1t\xdc\xff\xf0" + b"\x80" * 65520,
    "empty arrays": b"\x81\xa1t\xdc\xff\xf0" + b"\x90" * 65520,
    "empty maps in a command": do_frame(b"\x82\xa4type\xa1x\xa1a\xdc\xff\x80" + b"\x80" * 65408),
    "many keys": b"\xde\x3f\xff" + b"".join(b"\xa2" + bytes([97 + i // 26 % 26, 97 + i % 26]) + b"\xc0" for i in range(16383)),
    "headers that promise much": b"\xdd\xff\xff\xff\xff" * 13107,
    "one long string": b"\x81\xa1t\xda\xff\xf0" + b"a" * 65520,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_the_worst_frames_take_bounded_memory(name: str):
    frame = HOSTILE[name]
    assert len(frame) <= 65536
    survives(MSGPACK, frame)  # once before measuring, for what is made only once
    tracemalloc.start()
    try:
        survives(MSGPACK, frame)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # The most a byte can claim is an empty map: 64 bytes of it, plus its place in a list; twice, since a refused frame is read again.
    assert peak < 200 * 65536


@pytest.mark.parametrize(
    "text",
    ["[" * 65536, '{"t":' * 13107, '{"t":[' + "{}," * 21800 + "0]}", '{"t":"do","id":"w.1","session":"s","command":' + "9" * 65000 + "}"],
)
def test_the_worst_texts_raise_frame_errors_only(text: str):
    assert len(text) <= 65536
    assert isinstance(survives(JSON, text), FrameError)
