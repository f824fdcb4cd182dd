"""Promises of engine.prompts: questions wait, are answered once by who is asked, stay secret while secret, and can always be settled."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

import engine
from engine import ScriptedDice
from engine.session import Ints
from tests.support.table import Table


def facing(faces: tuple[int, ...] = (), **setup: Any) -> Table:
    """A duel with Reed (ann's c1, on turn) and Tollman (the GM's c3) within arm's reach."""
    table = Table(dice=ScriptedDice(faces) if faces else None, **setup)
    table.do("ann", "move", combatant="c1", zone="yard", near=["c3"])
    return table


def waiting(faces: tuple[int, ...] = ()) -> Table:
    """Reed strikes at Tollman; the GM is asked whether he parries."""
    table = facing(faces)
    table.do("ann", "attack", target="c3")
    return table


def test_an_action_waits_for_an_answer_and_goes_on_with_it() -> None:
    table = waiting((20, 1, 3, 6))
    assert table.prompt().to == "gm"
    assert not table.last.rolls
    table.answer("no")
    assert table.event("duel.hit").data["damage"] == 5  # 6 + 1 for the blade - 2 armor, to the body


def test_a_question_is_answered_once() -> None:
    table = waiting()
    prompt = table.prompt().id
    table.answer("no")
    table.refused("gm", "unknown_id", "answer", prompt=prompt, choice="no")


def test_a_question_is_for_the_seat_that_is_asked_and_for_a_gm() -> None:
    table = waiting()
    for seat in ("ann", "ben"):
        table.refused(seat, "not_yours", "answer", prompt=table.prompt().id, choice="no")
    table.do("gm", "gm.seat", seat="ben", controls=["c2", "c3"])
    table.do("gm", "gm.prompt", prompt=table.prompt().id, do="void")
    table.do("ann", "turn.end")
    table.do("gm", "gm.turn", encounter=table.encounter.id, combatant="c3")
    table.do("ben", "attack", combatant="c3", target="c1")
    assert table.prompt().to == "ann"
    table.answer("no", by="gm")
    assert not table.prompts(to="ann")


def test_an_answer_that_is_not_offered_is_refused_with_those_that_are() -> None:
    table = waiting()
    prompt = table.prompt().id
    assert table.refused("gm", "illegal_choice", "answer", prompt=prompt, choice="perhaps").data["known"] == ["yes", "no"]
    table.refused("gm", "illegal_choice", "answer", prompt=prompt)
    table.refused("gm", "illegal_choice", "answer", prompt=prompt, choice="yes", ints=[1])


@pytest.mark.parametrize("ints", [[], [1], [1, 2, 3, 4], [0, 1], [1, 7], [-1, 2], [1, 2**53 - 1]])
def test_numbers_that_go_with_an_answer_keep_their_bounds(ints: list[int]) -> None:
    """Two or three numbers from 1 to 6 are asked for; these are not such."""
    table = waiting()
    asked = msgspec.structs.replace(table.prompt(), ints=Ints(least=2, most=3, low=1, high=6, choice="yes"))
    table.session = msgspec.structs.replace(table.session, prompts=engine.session.freeze({asked.id: asked}))
    table.refused("gm", "illegal_choice", "answer", prompt=asked.id, choice="yes", ints=ints)
    table.watched = False  # this prompt came from nowhere, so no frame told of it
    table.do("gm", "answer", prompt=asked.id, choice="no")


def test_an_unfinished_action_blocks_turns_and_never_talk_or_the_gm() -> None:
    table = waiting()
    table.refused("ann", "busy", "turn.end")
    table.refused("ann", "busy", "move", zone="gate")
    table.do("ann", "chat", text="come on")
    table.do("gm", "gm.set", kind="combatants", id="c1", field="hp", value=11)
    assert table.prompt().kind == "parry"


def test_a_preference_answers_without_waiting() -> None:
    table = facing((20, 1, 3, 6))
    table.do("gm", "seat.prefs", kind="parry", value="never")
    table.do("ann", "attack", target="c3")
    assert table.event("duel.hit").data["target"] == "c3"
    assert not table.session.prompts


def test_a_preference_can_say_yes_and_be_taken_back() -> None:
    table = facing((10, 10))
    table.do("gm", "seat.prefs", kind="parry", value="always")
    table.do("ann", "attack", target="c3")
    assert table.event("duel.cross").data["parry"] is True
    table.do("gm", "seat.prefs", kind="parry", value="ask")
    assert table.session.seats["gm"].prefs == ()


def test_a_seat_keeps_a_bounded_number_of_preferences() -> None:
    table = Table()
    for n in range(64):
        table.do("ann", "seat.prefs", kind=f"kind{n}", value="never")
    table.refused("ann", "limit", "seat.prefs", kind="one-more", value="never")
    table.do("ann", "seat.prefs", kind="kind0", value="always")


def test_the_gm_takes_a_default_or_calls_the_action_off() -> None:
    table = waiting((3, 18))
    table.do("gm", "gm.prompt", prompt=table.prompt().id)
    assert table.event("duel.cross").data["parry"] is False
    table.do("gm", "gm.prompt", prompt=table.prompt(kind="reroll").id, do="void")
    assert not table.session.prompts
    assert table.encounter.pending == ()
    assert [event.type for event in table.events] == ["prompt.voided"]
    table.do("ann", "turn.end")


def test_an_interrupt_stacks_on_what_it_interrupts() -> None:
    """A miss asks for a re-roll; its answer resumes the strike that the parry had interrupted before."""
    table = waiting((2, 10, 19, 1, 4))
    table.answer("yes")
    assert table.prompt().kind == "reroll"
    table.answer("yes", to="ann")
    again = table.last.rolls[0]
    assert (again.of, again.positions) == (table.entries[-2].rolls[0].n, (0,))
    assert table.session.combatants["c1"].grit == 0
    assert table.event("duel.hit").data["target"] == "c3"


def test_an_action_whose_target_is_gone_ends_quietly() -> None:
    table = waiting()
    table.do("gm", "gm.remove", combatant="c3")
    table.answer("yes")
    assert table.last.rolls == ()
    assert not table.session.prompts
    assert table.current == "c1"


# --- groups and secrets ----------------------------------------------------------------------------------------------------


def feinting() -> Table:
    table = facing()
    table.do("gm", "gm.seat.add", seat="cyd", name="Cyd", controls=["c3"])
    table.do("gm", "gm.seat.add", seat="gm2", name="Second GM", role="gm")
    table.do("ann", "feint", target="c3")
    return table


def test_a_group_asks_all_at_once_and_goes_on_when_all_have_answered() -> None:
    table = feinting()
    assert [one.to for one in table.prompts()] == ["ann", "cyd"]
    first = table.prompt(to="ann").id
    table.answer("high", to="ann")
    table.refused("ann", "already_answered", "answer", prompt=first, choice="low")
    table.answer("low", to="cyd")
    assert table.event("duel.guessed").data["won"] is True
    assert not table.session.prompts


@pytest.mark.parametrize("first", ["high", "middle", "low"])
def test_the_first_secret_answer_looks_the_same_to_everybody_else_whatever_it_is(first: str) -> None:
    """GMs included: every frame after it is byte for byte what it is for any other answer, until the group is complete."""

    def frames(choice: str) -> dict[str, list[bytes]]:
        table = feinting()
        table.answer(choice, to="ann")
        return {seat: viewer.sent for seat, viewer in table.viewers.items() if seat != "ann"}

    assert frames(first) == frames("high")


def test_a_secret_question_shows_that_it_is_answered_to_all_and_its_answer_to_who_gave_it() -> None:
    table = feinting()
    prompt = table.prompt(to="ann").id
    table.answer("low", to="ann")
    for seat in ("gm", "gm2", "cyd", "ben"):
        assert table.view(seat)["prompts"][prompt] == {"id": prompt, "to": "ann", "answered": True}
    assert table.view("ann")["prompts"][prompt]["answer"] == "low"


def test_an_open_question_shows_to_others_who_is_asked_and_for_whom_but_not_what() -> None:
    table = waiting()
    prompt = table.prompt().id
    assert table.view("ben")["prompts"][prompt] == {"id": prompt, "to": "gm", "answered": False, "combatant": "c3"}
    assert table.view("gm")["prompts"][prompt]["text"].startswith("Reed strikes at Tollman")


# --- seats that go ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["leave", "remove"])
def test_questions_to_a_seat_that_goes_pass_to_a_gm(how: str) -> None:
    table = feinting()
    prompt = table.prompt(to="cyd").id
    if how == "leave":
        table.do("cyd", "seat.leave")
    else:
        table.do("gm", "gm.seat.remove", seat="cyd")
    assert table.session.prompts[prompt].to == "gm"
    table.answer("middle", to="gm")
    table.answer("middle", to="ann")
    assert not table.session.prompts


def test_an_undo_brings_no_question_back_to_a_seat_that_went() -> None:
    table = feinting()
    asked_at = table.session.v
    table.answer("middle", to="cyd")
    table.answer("middle", to="ann")
    table.do("cyd", "seat.leave")
    table.do("gm", "gm.undo", to=asked_at)
    assert {one.to for one in table.prompts()} == {"ann", "gm"}
