"""Clocks stand still when told to; ids look as promised, differ, and cannot be faked by look-alikes."""

from __future__ import annotations

import os
import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server import ids
from server.clock import ManualClock, SystemClock


def test_a_manual_clock_moves_only_when_told():
    clock = ManualClock(1_000)
    assert (clock.now_ms(), clock.monotonic_ms()) == (1_000, 0)
    clock.advance(250)
    assert (clock.now_ms(), clock.monotonic_ms()) == (1_250, 250)


def test_setting_the_wall_clock_back_leaves_the_monotonic_clock_alone():
    clock = ManualClock(1_000)
    clock.advance(10)
    clock.jump(5)
    assert (clock.now_ms(), clock.monotonic_ms()) == (5, 10)
    with pytest.raises(ValueError):
        clock.advance(-1)


def test_the_system_clock_is_the_machines_in_whole_milliseconds():
    clock = SystemClock()
    before = int(time.time() * 1000)
    now = clock.now_ms()
    after = int(time.time() * 1000)
    assert before - 1 <= now <= after + 1
    first = clock.monotonic_ms()
    assert isinstance(first, int)
    assert clock.monotonic_ms() >= first


def test_every_id_has_its_form():
    assert re.fullmatch(r"[a-z2-7]{16}", ids.session_id())
    assert re.fullmatch(r"[0-9a-f]{16}", ids.stamp())
    assert re.fullmatch(r"[0-9a-f]{16}", ids.epoch())
    assert re.fullmatch(r"[0-9a-f]{16}", ids.text_id())
    assert re.fullmatch(r"[0-9a-f]{32}", ids.token_id())
    assert ids.is_session_id(ids.session_id())
    assert ids.is_mark(ids.stamp())
    for made in (ids.session_id(), ids.stamp(), ids.token_id(), ids.text_id(), ids.connection_id(), ids.invite_code()):
        assert ids.is_id(made)


def test_stamps_do_not_repeat_across_several_blocks():
    drawn = [ids.stamp() for _ in range(5_000)]
    assert len(set(drawn)) == len(drawn)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the machine cannot fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_does_not_hand_out_its_parents_stamps():
    ids.stamp()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writing, ids.stamp().encode())
        os._exit(0)
    os.waitpid(child, 0)
    os.close(writing)
    of_child = os.read(reading, 64).decode()
    os.close(reading)
    assert ids.is_mark(of_child)
    assert of_child not in {ids.stamp() for _ in range(1_024)}


def test_an_invite_code_has_eighty_bits_and_no_lookalikes():
    codes = [ids.invite_code() for _ in range(500)]
    assert len(set(codes)) == len(codes)
    letters = set("".join(codes)) - {"-"}
    assert not letters & set("ilou")
    # 500 codes of 16 letters miss one of 32 letters with a chance below 10^-100: all 5 bits of a letter are in use.
    assert len(letters) == 32
    for code in codes:
        assert re.fullmatch(r"(?:\w{4}-){3}\w{4}", code)


def test_every_place_of_an_invite_code_varies():
    codes = [ids.invite_code().replace("-", "") for _ in range(500)]
    for place in range(16):
        assert len({code[place] for code in codes}) > 20


def test_a_carelessly_typed_code_is_understood():
    assert ids.canonical_code("K7PW-3M2X-9ABC-DEF0") == "k7pw3m2x9abcdef0"
    assert ids.canonical_code(" k7pw 3m2x 9abc defO ") == "k7pw3m2x9abcdef0"
    assert ids.canonical_code("IL1i-0000-0000-0000") == "1111000000000000"


@pytest.mark.parametrize("typed", ["", "abcd", "u" * 16, "k7pw-3m2x-9abc-def", "k7pw-3m2x-9abc-def00", "k7pw3m2x9abcdef\n", "-" * 10_000])
def test_what_cannot_be_a_code_is_none(typed: str):
    assert ids.canonical_code(typed) is None


@given(st.text(max_size=80))
def test_an_id_is_one_to_sixty_four_plain_characters_and_nothing_else(text: str):
    plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.:-"
    assert ids.is_id(text) == (1 <= len(text) <= 64 and all(c in plain for c in text))


@pytest.mark.parametrize("bad", ["", "a/b", "a b", "a\n", "ä", "٣", "x" * 65, "../etc", "\x00"])
def test_a_bad_id_is_refused_with_what_is_allowed_and_on_one_line(bad: str):
    with pytest.raises(ValueError, match="A-Z a-z 0-9") as caught:
        ids.check_id(bad, "seat")
    text = str(caught.value)
    assert text.startswith("seat ")
    assert text.isprintable()


def test_good_ids_pass_through():
    assert ids.check_id("ann:2.b_c-D") == "ann:2.b_c-D"
    session = ids.session_id()
    assert ids.check_session_id(session) == session
    for bad in ("abc", session + "a", session.upper(), session[:-1] + "1", session + "\n"):
        with pytest.raises(ValueError, match="16"):
            ids.check_session_id(bad)
