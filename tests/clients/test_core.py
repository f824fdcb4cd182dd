"""The client's core without sockets: bytes in, bytes out, and a clock that the test moves."""

from __future__ import annotations

import random
from typing import Any

import msgpack  # type: ignore[import-untyped]
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dustup
from dustup._core import Core
from dustup._events import Answered, Changed, Failed, Fatal, HangUp, TableLost
from dustup._requests import Backoff

S = "k3v9mq2w7rt5xyab"
EPOCH = "00000000000000e1"


def pack(**message: Any) -> bytes:
    raw: bytes = msgpack.packb(message)
    return raw


def stamp(v: int) -> str:
    return f"{v:016x}"


def welcome(**limits: int) -> bytes:
    return pack(t="welcome", version=1, person="ann", now=0, limits={"frame_in": 65536, **limits}, sessions=[])


def joined(v: int, view: dict[str, Any] | None = None, **more: Any) -> bytes:
    message = {"t": "joined", "session": S, "seat": "ann", "role": "player", "epoch": EPOCH, "v": v, "stamp": stamp(v)}
    return pack(**message, ruleset="r", variant="", resumed=view is None, **({} if view is None else {"view": view}), **more)


def frame(v: int, **more: Any) -> bytes:
    return pack(t="frame", session=S, v=v, stamp=more.pop("stamp", stamp(v)), **more)


def core(**settings: float) -> Core:
    return Core("a token", client="me", rng=random.Random(1), **settings)


def sent(client: Core) -> list[dict[str, Any]]:
    return [msgpack.unpackb(raw) for raw in client.outgoing()]


def seated(**settings: float) -> Core:
    """Connected and joined at v 1, at time 0."""
    client = core(**settings)
    client.connected(0)
    client.receive(welcome(), 0)
    client.join(S, None, 0, 0)
    client.receive(joined(1, {"pools": {"p": {"value": 1}}}), 0)
    client.outgoing()
    return client


def do(client: Core, now: float = 0, **fields: Any) -> str:
    return client.ask("do", S, {"command": {"type": "hit", **fields}}, now, ordered=True)


def test_hello_comes_first_and_nothing_else_before_the_welcome() -> None:
    client = core()
    client.join(S, "seat token", 20, 0)
    client.connected(0)
    assert [message["t"] for message in sent(client)] == ["hello"]
    client.receive(welcome(), 0)
    [join] = sent(client)
    assert join == {"t": "join", "session": S, "token": "seat token", "history": 20, "id": join["id"]}


def test_actions_wait_for_the_seat_and_go_one_at_a_time_in_order() -> None:
    client = core()
    client.connected(0)
    client.receive(welcome(), 0)
    client.join(S, None, 0, 0)
    first, second = do(client), do(client)
    assert [message["t"] for message in sent(client)] == ["hello", "join"]
    client.receive(joined(1, {}), 0)
    assert [message["id"] for message in sent(client)] == [first]
    client.receive(frame(2), 0)
    events = client.receive(pack(t="ack", id=first, session=S, v=2), 0)
    assert [event.id for event in events if isinstance(event, Answered)] == [first]
    assert [message["id"] for message in sent(client)] == [second]


def test_questions_do_not_wait_for_actions() -> None:
    client = seated()
    do(client)
    client.ask("options", S, {}, 0)
    assert [message["t"] for message in sent(client)] == ["do", "options"]


def test_two_tables_do_not_wait_for_each_other() -> None:
    client = seated()
    client.join("other", None, 0, 0)
    client.receive(pack(t="joined", session="other", epoch=EPOCH, v=1, stamp=stamp(1), resumed=False, view={}), 0)
    client.outgoing()
    do(client)
    client.ask("do", "other", {"command": {"type": "hit"}}, 0, ordered=True)
    assert [message["session"] for message in sent(client)] == [S, "other"]


def test_after_a_reconnect_open_requests_go_again_unchanged_and_only_after_the_join() -> None:
    client = seated()
    do(client)
    client.ask("options", S, {}, 0)
    before = sent(client)
    client.disconnected(1, None)
    client.connected(2)
    client.receive(welcome(), 2)
    hello, join = sent(client)
    assert (hello["t"], join["t"], join["resume"]) == ("hello", "join", {"epoch": EPOCH, "v": 1, "stamp": stamp(1)})
    client.receive(joined(1), 2)
    assert sent(client) == before


def test_what_nobody_waits_for_any_more_is_not_sent_again() -> None:
    """It keeps its place while its answer may come, and is forgotten with the connection."""
    client = seated()
    given_up, wanted = do(client), do(client)
    client.outgoing()
    client.abandon(given_up)
    assert sent(client) == []
    client.disconnected(0, None)
    client.connected(0)
    client.receive(welcome(), 0)
    client.receive(joined(1), 0)
    assert [message["id"] for message in sent(client) if message["t"] == "do"] == [wanted]


def test_a_retry_waits_as_long_as_told_even_over_a_reconnect() -> None:
    client = seated()
    id = do(client)
    client.outgoing()
    client.receive(pack(t="error", id=id, code="unavailable", text="", retry_after=4000), 0)
    client.disconnected(1, None)
    client.connected(1)
    client.receive(welcome(), 1)
    client.receive(joined(1), 1)
    client.outgoing()
    client.tick(3.9)
    assert sent(client) == []
    assert 4 <= (client.wake_at(3.9) or 0) <= 5
    client.tick(5)
    assert [message["id"] for message in sent(client)] == [id]


def test_patience_bounds_all_tries_together() -> None:
    client = seated(patience=10)
    id = do(client)
    failures: list[Failed] = []
    now = 0.0
    while not failures:
        client.outgoing()
        events = client.receive(pack(t="error", id=id, code="unavailable", text="no disk", retry_after=3000), now)
        now = client.wake_at(now) or now
        events += client.tick(now)
        failures = [event for event in events if isinstance(event, Failed)]
        assert now <= 10
    assert isinstance(failures[0].error, dustup.Unavailable)
    assert failures[0].error.id == id
    assert "no disk" in str(failures[0].error)
    assert do(client, now) != id


def test_a_request_never_sent_says_so() -> None:
    client = core(patience=5)
    client.join(S, None, 0, 0)
    do(client)
    events = client.tick(5)
    failed = next(event for event in events if isinstance(event, Failed))
    assert isinstance(failed.error, dustup.Unavailable)
    assert failed.error.id is None
    assert any(isinstance(event, TableLost) for event in events)


def test_a_table_once_joined_is_waited_for_without_end() -> None:
    client = seated(patience=5)
    client.disconnected(1, None)
    assert client.tick(10_000) == []
    assert S in client.tables


def test_not_joined_means_join_again_then_send_again() -> None:
    client = seated()
    id = do(client)
    client.outgoing()
    client.receive(pack(t="error", id=id, session=S, code="not_joined", text=""), 0)
    [join] = sent(client)
    assert join["resume"]["v"] == 1
    client.receive(joined(1), 0)
    client.tick(20)
    assert [message["id"] for message in sent(client)] == [id]


@pytest.mark.parametrize("code", [1000, 1001, 1006, 1011, 1012, 4001, 4008, 4009, 4014, None])
def test_these_ends_of_a_connection_are_mended_by_another_one(code: int | None) -> None:
    client = seated()
    assert client.disconnected(1, code) == []
    assert client.reconnect_in > 0


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (4002, dustup.ProtocolError),
        (4003, dustup.Unauthorized),
        (4004, dustup.UnsupportedVersion),
        (4013, dustup.ProtocolError),
        (1009, dustup.ProtocolError),
    ],
)
def test_these_ends_are_final_and_fail_what_is_open(code: int, kind: type[dustup.Closed]) -> None:
    client = seated()
    id = do(client)
    events = client.disconnected(1, code)
    assert [event.id for event in events if isinstance(event, Failed)] == [id]
    assert [type(event.error) for event in events if isinstance(event, Fatal)] == [kind]
    with pytest.raises(kind):
        do(client)


def test_bye_sets_the_wait_before_the_next_connection() -> None:
    client = seated()
    client.receive(pack(t="bye", code="shutting_down", text="", retry_after=7000), 0)
    client.disconnected(0, 4001)
    assert 7 <= client.reconnect_in <= 7 * 1.25


def test_goodbye_for_good_is_final_and_goodbye_for_now_is_not() -> None:
    for_good = seated()
    for_good.receive(pack(t="bye", code="bye", text="Closed for the night."), 0)
    [*_, fatal] = for_good.disconnected(0, 4000)
    assert isinstance(fatal, Fatal)
    assert str(fatal.error) == "Closed for the night."
    without_a_word = seated()
    assert without_a_word.disconnected(0, 4000) == [], "no goodbye was said: something broke"
    for_now = seated()
    for_now.receive(pack(t="bye", code="bye", text="Moving house.", retry_after=2000), 0)
    assert for_now.disconnected(0, 4000) == []
    assert for_now.reconnect_in >= 2


def test_a_token_withdrawn_ends_with_the_servers_words() -> None:
    client = seated()
    client.receive(pack(t="bye", code="revoked", text="Ask the host."), 0)
    [*_, fatal] = client.disconnected(0, 4003)
    assert isinstance(fatal, Fatal)
    assert isinstance(fatal.error, dustup.Unauthorized)
    assert (fatal.error.code, fatal.error.text) == ("revoked", "Ask the host.")


def test_closed_for_flooding_waits_a_minute_unless_told() -> None:
    client = seated()
    client.disconnected(1, 4008)
    assert client.reconnect_in >= 60


def test_a_table_the_server_lets_go_of_is_joined_again_when_it_is_back() -> None:
    client = seated()
    id = do(client)
    client.outgoing()
    client.receive(pack(t="error", session=S, code="archived", text="", retry_after=1000), 0)
    assert sent(client) == []
    client.tick(1.5)
    [join] = sent(client)
    assert (join["t"], join["resume"]["v"]) == ("join", 1)
    client.receive(joined(1), 2)
    assert sent(client) == [], "its request is still on this connection and will be answered"
    client.receive(pack(t="error", session=S, id=id, code="archived", text="", retry_after=1000), 2)
    client.tick(4)
    assert [message["id"] for message in sent(client)] == [id]


def test_a_seat_that_is_taken_away_ends_its_table_alone() -> None:
    client = seated()
    id = do(client)
    events = client.receive(pack(t="error", session=S, code="revoked", text="Your seat was removed."), 0)
    assert [type(event) for event in events] == [Failed, TableLost]
    assert isinstance(events[0], Failed)
    assert events[0].id == id
    client.join("other", None, 0, 0)
    assert [message["t"] for message in sent(client)][-1] == "join"


def test_waits_start_over_once_a_server_has_given_us_a_seat() -> None:
    client = seated()
    for _ in range(10):
        client.disconnected(0, None)
        assert client.reconnect_in <= 0.25
        client.connected(0)
        client.receive(welcome(), 0)
        client.receive(joined(1), 0)


def test_waits_double_up_to_the_cap_and_start_over_after_a_steady_connection() -> None:
    client = core(first_wait=0.25, longest_wait=15)
    waits = []
    for attempt in range(12):
        client.disconnected(attempt, None)
        waits.append(client.reconnect_in)
    for number, wait in enumerate(waits):
        full = min(15, 0.25 * 2**number)
        assert full / 2 <= wait <= full
    client.connected(100)
    client.disconnected(200, None)
    assert client.reconnect_in <= 0.25


def test_many_clients_do_not_come_back_at_once() -> None:
    waits = {Backoff(random.Random(seed), 1, 15).next() for seed in range(50)}
    assert len(waits) == 50
    told = {Backoff(random.Random(seed), 1, 15).next(2000) for seed in range(50)}
    assert len(told) == 50
    assert min(told) >= 2


def test_no_welcome_in_time_hangs_up() -> None:
    client = core()
    client.connected(0)
    at = client.wake_at(0)
    assert at is not None
    assert [type(event) for event in client.tick(at)] == [HangUp]


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\xc1",
        b"\x93\x01\x02\x03",
        pack(t="frame", session=S),
        pack(t="frame", session=S, v="two"),
        pack(t="joined"),
        pack(t=1),
        pack(x=1),
        pack(t="frame", session=S, v=2, stamp="", views=7),
        msgpack.packb({"t": "frame", "v": 1.5}),
        msgpack.packb({"t": "frame", 1: 2}),
        msgpack.packb({"t": "pong", "now": msgpack.ExtType(5, b"x")}),
        msgpack.packb({"t": "pong", "now": msgpack.Timestamp(1)}),
        b"\x81\xa1t" + b"\x91" * 5000 + b"\xc0",
        pack(t="pong", now=0) + b"\xc0",
    ],
)
def test_garbage_hangs_up_and_raises_nothing(raw: bytes) -> None:
    client = seated()
    assert [type(event) for event in client.receive(raw, 0)] == [HangUp]


@given(st.binary(max_size=200))
def test_any_bytes_are_survived(raw: bytes) -> None:
    client = seated()
    for event in client.receive(raw, 0):
        assert isinstance(event, HangUp)


def test_parts_out_of_order_are_no_view() -> None:
    client = core()
    client.connected(0)
    client.receive(welcome(), 0)
    client.join(S, None, 0, 0)
    assert client.receive(joined(1, {"a": {}}, part=1, parts=3), 0) == []
    assert [type(event) for event in client.receive(joined(1, {"a": {}}, part=3, parts=3), 0)] == [HangUp]


def test_half_a_view_does_not_survive_a_lost_connection() -> None:
    client = core()
    client.connected(0)
    client.receive(welcome(), 0)
    client.join(S, None, 0, 0)
    client.receive(joined(1, {"pools": {"p": {"value": 1}}}, part=1, parts=2), 0)
    client.disconnected(0, None)
    client.connected(0)
    client.receive(welcome(), 0)
    client.receive(joined(2, {"pools": {"q": {"value": 2}}}), 0)
    assert client.tables[S].view == {"pools": {"q": {"value": 2}}}


def test_a_frame_in_parts_moves_the_view_once() -> None:
    client = seated()
    first = frame(2, views={"pools": {"p": {"value": 5}}}, events=[{"type": "x", "text": ""}], part=1, parts=2)
    assert client.receive(first, 0) == []
    assert client.tables[S].view["pools"] == {"p": {"value": 1}}
    [event] = client.receive(frame(2, views={"pools": {"q": {"value": 6}}}, part=2, parts=2), 0)
    assert isinstance(event, Changed)
    assert event.message["events"] == [{"type": "x", "text": ""}]
    assert client.tables[S].view["pools"] == {"p": {"value": 5}, "q": {"value": 6}}


def test_the_servers_own_frame_limit_is_kept() -> None:
    client = seated()
    client.receive(welcome(frame_in=1000), 0)
    with pytest.raises(dustup.BadMessage, match="the server takes 1000"):
        do(client, note="x" * 1000)


def test_an_answer_to_nothing_is_ignored() -> None:
    client = seated()
    assert client.receive(pack(t="ack", id="me.999", session=S, v=9), 0) == []
    assert client.receive(pack(t="error", id="me.999", code="stale", text=""), 0) == []


VALUES = st.integers(0, 3)
IDS = st.sampled_from(["a", "b", "c"])
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("set"), IDS, VALUES),
        st.tuples(st.just("gone"), IDS, VALUES),
        st.tuples(st.just("whole"), IDS, VALUES),
        st.tuples(st.just("empty"), IDS, VALUES),
        st.tuples(st.just("cut"), IDS, VALUES),
        st.tuples(st.just("lose"), IDS, VALUES),
        st.tuples(st.just("twice"), IDS, VALUES),
    ),
    max_size=30,
)


@given(STEPS)
def test_the_view_equals_the_servers_after_any_mix_of_frames_losses_and_resumes(steps: list[tuple[str, str, int]]) -> None:
    """A server keeps a view and a log of frames; frames get lost or doubled, connections cut. In the end both views are equal."""
    client = seated()
    truth: dict[str, dict[str, Any]] = {"p": {"value": 1}}
    log: dict[int, bytes] = {}
    v = 1

    def serve() -> None:
        for message in sent(client):
            if message["t"] == "join" and "resume" in message:
                client.receive(joined(v), 0)
                for missed in range(message["resume"]["v"] + 1, v + 1):
                    client.receive(log[missed], 0)
            elif message["t"] == "join":
                client.receive(joined(v, {"pools": dict(truth)} if truth else {}), 0)

    for kind, id, value in steps:
        if kind == "cut":
            client.disconnected(0, None)
            client.connected(0)
            client.receive(welcome(), 0)
            serve()
            continue
        v += 1
        if kind == "gone":
            truth.pop(id, None)
            log[v] = frame(v, gone={"pools": [id]})
        elif kind == "whole":
            truth = {id: {"value": value}}
            log[v] = frame(v, view={"pools": dict(truth)})
        elif kind == "empty":
            log[v] = frame(v)
        else:
            truth[id] = {"value": value}
            log[v] = frame(v, views={"pools": {id: {"value": value}}})
        for _ in range({"lose": 0, "twice": 2}.get(kind, 1)):
            client.receive(log[v], 0)
        serve()
    v += 1
    log[v] = frame(v)
    client.receive(log[v], 0)
    serve()
    assert client.tables[S].v == v
    assert client.tables[S].view == ({"pools": truth} if truth else {})
