"""The connection allows exactly the transitions of its table, and keeps its bounds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgpack  # type: ignore[import-untyped]  # it ships no types
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.codec import MSGPACK, Codec
from protocol.connection import Connection, Fault, LocalProtocolError, State
from protocol.errors import CloseCode
from protocol.messages import (
    Ack,
    Bye,
    Do,
    Error,
    Frame,
    Hello,
    HistoryReply,
    Join,
    Joined,
    Leave,
    Limits,
    OddsReply,
    Options,
    OptionsReply,
    Ping,
    Pong,
    Prompt,
    Reset,
    ServerInfo,
    Welcome,
)
from tests.protocol.frames import do_frame

HELLO = Hello("token", 1, 1)
WELCOME = Welcome(1, ServerInfo("dustup", "0"), "ann", 0, Limits(65536, 1048576, 10, 200, 64), [])
STAMP = "0" * 16


def say(connection: Connection, message: Any) -> list[Any]:
    return connection.receive(connection.codec.encode(message))


def do(connection: Connection, id: str, session: str = "s", **command: Any) -> list[Any]:
    return say(connection, Do(id, session, connection.codec.pack({"type": "x"} | command)))


def fault(events: list[Any], code: str, close: CloseCode | None = None) -> Error:
    """The error of the only event, which must be a fault with this code and close."""
    (event,) = events
    assert isinstance(event, Fault)
    assert (event.error.code, event.close) == (code, close)
    return event.error


def joined(session: str = "s", id: str | None = None, **other: Any) -> Joined:
    return Joined(session, "ann", "player", STAMP, 1, STAMP, "duel", "standard", False, {}, id=id, **other)


def greeted(codec: Codec = MSGPACK, **options: Any) -> Connection:
    connection = Connection(codec, **options)
    assert say(connection, HELLO) == [HELLO]
    return connection


def ready(codec: Codec = MSGPACK, **options: Any) -> Connection:
    connection = greeted(codec, **options)
    connection.accept(WELCOME)
    return connection


def seated(*sessions: str, **options: Any) -> Connection:
    connection = ready(**options)
    for session in sessions or ("s",):
        say(connection, Join(session))
        connection.send(joined(session))
    return connection


def closing() -> Connection:
    connection = ready()
    connection.close("bye")
    return connection


def closed() -> Connection:
    connection = ready()
    connection.closed()
    return connection


# --- Transitions -----------------------------------------------------------------------------------------------------


def test_a_conversation_from_hello_to_the_end(codec: Codec):
    connection = Connection(codec)
    assert connection.state.value == "new"
    assert say(connection, HELLO) == [HELLO]
    assert (connection.state, connection.version) == (State.GREETED, 1)
    assert codec.decode_server(connection.accept(WELCOME)) == WELCOME
    assert connection.state.value == "ready"
    assert say(connection, Join("s", id="r1")) == [Join("s", id="r1")]
    assert codec.decode_server(connection.send(joined(id="r1"))) == joined(id="r1")
    assert connection.joined == {"s"}
    (event,) = do(connection, "w.1", n=1)
    assert isinstance(event, Do)
    assert msgpack.unpackb(bytes(event.command)) == {"type": "x", "n": 1}
    assert connection.outstanding == 1
    assert codec.decode_server(connection.send(Ack("w.1", "s", 2, "os"))) == Ack("w.1", "s", 2, "os")
    assert connection.outstanding == 0
    assert codec.decode_server(connection.close("shutting_down", retry_after=5)) == Bye(
        "shutting_down", "The server is going down. Connect again in a moment.", 5
    )
    assert (connection.state, connection.close_code) == (State.CLOSING, CloseCode.SHUTTING_DOWN)
    connection.closed()
    assert connection.state is State.CLOSED


@pytest.mark.parametrize("first", [Ping(), Join("s"), Leave("s"), Options("r", "s")])
def test_new_anything_but_hello_closes(codec: Codec, first: Any):
    connection = Connection(codec)
    assert "hello" in fault(say(connection, first), "bad_frame", CloseCode.BAD_FRAME).text
    assert (connection.state, connection.close_code) == (State.CLOSING, CloseCode.BAD_FRAME)


@pytest.mark.parametrize(
    ("frame", "code"),
    [
        (b"\xc1", "bad_frame"),
        (b"\x81\xa1t\xa5dance", "unknown_kind"),
        (b"\x81\xa1t\xa4ping\x00", "bad_frame"),
        (do_frame(b"\x80"), "bad_command"),
        (b"\x81\xa1t\xa5hello", "bad_frame"),
    ],
)
def test_new_any_bad_frame_closes(frame: bytes, code: str):
    connection = Connection(MSGPACK)
    fault(connection.receive(frame), code, CloseCode.BAD_FRAME)
    assert connection.state is State.CLOSING


def test_new_a_frame_that_is_too_large_closes_with_its_own_code():
    fault(Connection(MSGPACK).receive(bytes(65537)), "too_large", CloseCode.TOO_LARGE)


@pytest.mark.parametrize(("low", "high"), [(2, 3), (9999, 9999)])
def test_new_hello_without_a_common_version_closes_and_says_who_is_too_old(low: int, high: int):
    connection = Connection(MSGPACK)
    error = fault(say(connection, Hello("x", low, high)), "unsupported_version", CloseCode.UNSUPPORTED_VERSION)
    assert "the server is too old" in error.text
    assert error.data == {"client": [low, high], "server": [1, 1], "too_old": "server"}


def test_new_hello_takes_the_highest_common_version():
    connection = Connection(MSGPACK)
    say(connection, Hello("x", 1, 9999))
    assert connection.version == 1


def test_new_hello_with_a_range_upside_down_closes():
    fault(say(Connection(MSGPACK), Hello("x", 2, 1)), "bad_frame", CloseCode.BAD_FRAME)


def test_new_hello_overdue_closes_once(codec: Codec):
    connection = Connection(codec)
    late = connection.hello_overdue()
    assert late is not None
    assert (late.error.code, late.close) == ("hello_timeout", CloseCode.HELLO_TIMEOUT)
    assert codec.decode_server(late.reply) == late.error
    assert connection.state is State.CLOSING
    assert connection.hello_overdue() is None


@pytest.mark.parametrize("make", [greeted, ready, closing, closed])
def test_hello_overdue_is_nothing_once_hello_came(make: Callable[[], Connection]):
    connection = make()
    before = connection.state
    assert connection.hello_overdue() is None
    assert connection.state is before


def test_greeted_refuse_closes_with_the_code_of_the_refusal(codec: Codec):
    for code, close in (("expired", CloseCode.UNAUTHORIZED), ("rate_limited", CloseCode.RATE_LIMITED), ("unavailable", CloseCode.BYE)):
        connection = greeted(codec)
        error = codec.decode_server(connection.refuse(code, retry_after=7))
        assert isinstance(error, Error)
        assert (error.code, error.retry_after) == (code, 7)
        assert (connection.state, connection.close_code) == (State.CLOSING, close)


def test_greeted_the_welcome_must_name_the_negotiated_version():
    connection = greeted()
    with pytest.raises(LocalProtocolError):
        connection.accept(msgspec.structs.replace(WELCOME, version=2))
    assert connection.state is State.GREETED


def test_ready_a_second_hello_closes():
    connection = ready()
    fault(say(connection, HELLO), "bad_frame", CloseCode.BAD_FRAME)
    assert connection.state is State.CLOSING


def test_ready_a_frame_that_is_no_map_closes():
    connection = ready()
    fault(connection.receive(b"\x90"), "bad_frame", CloseCode.BAD_FRAME)
    assert connection.state is State.CLOSING


def test_ready_a_well_formed_mistake_does_not_close():
    connection = seated()
    fault(connection.receive(b"\x81\xa1t\xa5dance"), "unknown_kind")
    assert fault(connection.receive(do_frame(b"\x80")), "bad_command").id == "w.1"
    assert connection.state is State.READY
    assert len(do(connection, "w.1")) == 1


@pytest.mark.parametrize("make", [closing, closed])
def test_after_the_end_frames_are_ignored(make: Callable[[], Connection]):
    connection = make()
    assert connection.receive(b"\xc1") == []
    assert say(connection, Ping()) == []


@pytest.mark.parametrize("make", [lambda: Connection(MSGPACK), greeted, ready])
def test_close_works_in_every_open_state(make: Callable[[], Connection]):
    connection = make()
    connection.close("resync")
    assert (connection.state, connection.close_code) == (State.CLOSING, CloseCode.RESYNC)


FORBIDDEN: list[tuple[str, Callable[[], Connection], Callable[[Connection], object]]] = [
    ("receive while the hello is undecided", greeted, lambda c: say(c, Ping())),
    ("accept before hello", lambda: Connection(MSGPACK), lambda c: c.accept(WELCOME)),
    ("accept twice", ready, lambda c: c.accept(WELCOME)),
    ("accept while closing", closing, lambda c: c.accept(WELCOME)),
    ("refuse before hello", lambda: Connection(MSGPACK), lambda c: c.refuse("unauthorized")),
    ("refuse after accept", ready, lambda c: c.refuse("unauthorized")),
    ("send before hello", lambda: Connection(MSGPACK), lambda c: c.send(Pong(1))),
    ("send before accept", greeted, lambda c: c.send(Pong(1))),
    ("send while closing", closing, lambda c: c.send(Pong(1))),
    ("send when closed", closed, lambda c: c.send(Pong(1))),
    ("send a view before accept", greeted, lambda c: c.send_view(joined())),
    ("send a view while closing", closing, lambda c: c.send_view(joined())),
    ("close while closing", closing, lambda c: c.close("bye")),
    ("close when closed", closed, lambda c: c.close("bye")),
]


@pytest.mark.parametrize(("make", "call"), [pytest.param(make, call, id=name) for name, make, call in FORBIDDEN])
def test_what_the_state_forbids_is_the_servers_own_mistake(make: Callable[[], Connection], call: Callable[[Connection], object]):
    connection = make()
    before = connection.state
    with pytest.raises(LocalProtocolError):
        call(connection)
    assert connection.state is before


# --- Sessions --------------------------------------------------------------------------------------------------------


def test_requests_need_a_join_first():
    connection = ready()
    for events in (do(connection, "w.1"), say(connection, Options("r", "s"))):
        assert fault(events, "not_joined").session == "s"
    assert fault(do(connection, "w.2"), "not_joined").id == "w.2"
    fault(say(connection, Leave("s", id="r")), "not_joined")
    assert connection.outstanding == 0


def test_requests_may_follow_the_join_before_its_answer():
    connection = ready()
    say(connection, Join("s"))
    assert len(do(connection, "w.1")) == 1


def test_requests_without_a_join_pass_if_the_server_wishes():
    assert len(do(ready(require_join=False), "w.1")) == 1


def test_a_refused_join_leaves_nothing_behind():
    for refusal in (Error("no_session", "No.", id="r1"), Error("no_session", "No.", id="r1", session="s")):
        connection = ready()
        say(connection, Join("s", id="r1"))
        connection.send(refusal)
        assert connection.joined == frozenset()
        assert connection.outstanding == 0
        fault(do(connection, "w.1"), "not_joined")
        assert len(say(connection, Join("s", id="r1"))) == 1


def test_a_join_without_id_is_refused_by_its_session():
    connection = ready()
    say(connection, Join("s"))
    connection.send(Error("no_session", "No.", session="s"))
    fault(do(connection, "w.1"), "not_joined")


def test_an_error_about_something_else_does_not_refuse_the_join():
    connection = ready()
    say(connection, Join("s", id="r1"))
    do(connection, "w.1")
    connection.send(Error("busy", "No.", id="w.1", session="s"))
    connection.send(joined(id="r1"))
    assert connection.joined == {"s"}


def test_joining_twice_at_once_is_refused_and_joining_again_is_not():
    connection = ready()
    say(connection, Join("s", id="r1"))
    assert fault(say(connection, Join("s", id="r2")), "busy").id == "r2"
    connection.send(joined(id="r1"))
    assert len(say(connection, Join("s", id="r3"))) == 1
    connection.send(Error("unavailable", "No.", id="r3", session="s"))
    assert connection.joined == {"s"}


def test_a_connection_sits_at_so_many_tables_and_no_more():
    connection = seated("a", "b", max_sessions=3)
    say(connection, Join("c"))
    assert fault(say(connection, Join("d", id="r")), "limit").id == "r"
    assert len(say(connection, Join("a"))) == 1  # joining again takes no further place
    connection.send(joined("a"))
    say(connection, Leave("a"))
    assert len(say(connection, Join("d"))) == 1


def test_the_default_is_64_tables():
    connection = seated(*(f"s{n}" for n in range(64)))
    fault(say(connection, Join("more")), "limit")


def test_leaving_takes_effect_at_once():
    connection = seated()
    assert say(connection, Leave("s", id="r")) == [Leave("s", id="r")]
    fault(do(connection, "w.1"), "not_joined")
    assert connection.outstanding == 1
    connection.send(Ack("r", "s"))
    assert connection.outstanding == 0


def test_a_join_answered_after_leaving_does_not_seat_again():
    connection = ready()
    say(connection, Join("s", id="r1"))
    say(connection, Leave("s"))
    connection.send(joined(id="r1"))
    assert connection.joined == frozenset()


def test_the_server_may_take_a_table_away():
    connection = seated("a", "b")
    connection.left("a")
    fault(do(connection, "w.1", "a"), "not_joined")
    assert len(do(connection, "w.2", "b")) == 1


# --- Requests --------------------------------------------------------------------------------------------------------


def test_a_repeated_action_id_that_still_waits_is_dropped_because_its_answer_is_coming():
    connection = seated()
    assert len(do(connection, "w.1")) == 1
    assert do(connection, "w.1") == []
    connection.send(Ack("w.1", "s", 2))
    assert len(do(connection, "w.1")) == 1


@pytest.mark.parametrize("second", [Options("w.1", "s"), Join("other", id="w.1"), Do("w.1", "t", MSGPACK.pack({"type": "x"}))])
def test_an_id_in_use_is_refused_without_seeming_to_answer_its_first_use(second: Any):
    connection = seated("s", "t")
    do(connection, "w.1")
    error = fault(say(connection, second), "bad_frame")
    assert error.id is None
    assert error.data == {"id": "w.1"}
    assert connection.outstanding == 1


def test_an_action_is_never_dropped_because_of_another_kind_of_request_with_its_id():
    connection = seated()
    say(connection, Options("w.1", "s"))
    assert fault(do(connection, "w.1"), "bad_frame").data == {"id": "w.1"}


def test_a_broken_message_with_an_id_in_use_does_not_seem_to_answer_its_first_use():
    connection = seated()
    do(connection, "w.1")
    error = fault(connection.receive(do_frame(b"\x81\xa4type\xcb" + bytes(8))), "bad_frame")
    assert error.id is None
    assert error.data == {"id": "w.1"}


def test_so_many_requests_may_wait_and_no_more():
    connection = seated(max_outstanding=3)
    for n in range(1, 4):
        assert len(do(connection, f"w.{n}")) == 1
    error = fault(do(connection, "w.4"), "rate_limited")
    assert (error.id, error.session) == ("w.4", "s")
    assert error.retry_after is not None
    connection.send(Ack("w.2", "s", 2))
    assert len(do(connection, "w.4")) == 1


def test_the_default_is_256_requests():
    connection = seated()
    for n in range(256):
        assert len(say(connection, Options(f"r{n}", "s"))) == 1
    fault(say(connection, Options("r256", "s")), "rate_limited")


ANSWERS: list[Any] = [
    Ack("r", "s", 2),
    Error("busy", "No.", id="r"),
    OptionsReply("r", "s", 1, []),
    OddsReply("r", "s", 1, {}),
    HistoryReply("r", "s", [], False),
    joined(id="r"),
]


@pytest.mark.parametrize("answer", ANSWERS, ids=lambda answer: type(answer).__name__)
def test_every_kind_of_answer_frees_its_id(answer: Any):
    connection = seated()
    say(connection, Options("r", "s"))
    connection.send(answer)
    assert connection.outstanding == 0


@pytest.mark.parametrize(
    "message",
    [Frame("s", 2, STAMP), Prompt("s", 2, {"id": "p"}), Reset("s", STAMP, 1, STAMP, "why", {}), Error("busy", "No."), Pong(1, id="other")],
)
def test_other_messages_free_nothing(message: Any):
    connection = seated()
    say(connection, Options("r", "s"))
    connection.send(message)
    assert connection.outstanding == 1


def test_a_join_in_parts_is_one_answer():
    connection = ready()
    say(connection, Join("s", id="r1"))
    view = {"combatants": {f"c{n}": {"note": "x" * 10000} for n in range(150)}}
    frames = connection.send_view(msgspec.structs.replace(joined(id="r1"), view=view))
    assert len(frames) == 2
    assert connection.joined == {"s"}
    assert connection.outstanding == 0


def test_nothing_stays_after_the_end():
    connection = seated()
    do(connection, "w.1")
    connection.closed()
    assert (connection.joined, connection.outstanding) == (frozenset(), 0)


# --- Anything at all -------------------------------------------------------------------------------------------------

IDS = st.sampled_from(["w.1", "w.2", "r1"])
SESSIONS = st.sampled_from(["a", "b", "c"])
MOVES = st.one_of(
    st.builds(Join, SESSIONS, id=IDS | st.none()),
    st.builds(Leave, SESSIONS, id=IDS | st.none()),
    st.builds(Options, IDS, SESSIONS),
    st.builds(Do, st.sampled_from(["w.1", "w.2"]), SESSIONS, st.just(MSGPACK.pack({"type": "x"}))),
    st.builds(Ping, IDS | st.none()),
    st.sampled_from(["answer", "refuse"]),
)


@settings(max_examples=100)
@given(st.lists(MOVES, max_size=40))
def test_whatever_is_asked_every_request_is_passed_on_or_refused_and_bounds_hold(moves: list[Any]):
    """A model beside the connection: which requests wait, by id and session, and which sessions may be joined."""
    connection = ready(max_sessions=2, max_outstanding=2)
    waiting: list[Any] = []
    for move in moves:
        if isinstance(move, str):
            if waiting:
                asked = waiting.pop(0)
                if move == "refuse":
                    connection.send(Error("busy", "No.", id=asked.id, session=asked.session))
                elif isinstance(asked, Join):
                    connection.send(joined(asked.session, id=asked.id))
                elif asked.id is not None:
                    connection.send(Ack(asked.id, asked.session))
        else:
            events = say(connection, move)
            assert len(events) <= 1
            if events == [move] and not isinstance(move, Ping):
                waiting.append(move)
            elif not events:
                assert isinstance(move, Do)
                assert any(isinstance(one, Do) and (one.id, one.session) == (move.id, move.session) for one in waiting)
        ids = [one.id for one in waiting if one.id is not None]
        assert len(ids) == len(set(ids)) == connection.outstanding <= 2
        assert len(connection.joined) <= 2
        assert connection.state is State.READY
