"""What a seat learns under skirmish: everything of its own crew, of others what can be seen; and dice that players roll themselves."""

from __future__ import annotations

from typing import Any

import pytest

import engine
from engine import ScriptedDice, Setup
from engine.rulesets.skirmish import RULES
from tests.support.table import Table

engine.register(RULES)

PRIVATE = {"special", "fatigue", "rerolls", "harm_limit", "acted", "moved"}


def ferry(faces: tuple[int, ...] = (), **fields: Any) -> Table:
    """The ready table; Foreman Dace's crew begins."""
    table = Table("skirmish", Setup(ruleset="skirmish", sample="ferry", **fields), dice=ScriptedDice(faces))
    table.do("gm", "gm.encounter", scene="ferry", first="dace")
    return table


def test_a_seat_sees_its_own_crews_numbers_and_of_others_only_what_shows() -> None:
    table = ferry()
    seen = table.view("ann")["combatants"]
    for own in ("dace", "ferrier", "linesman"):
        assert set(seen[own]) >= PRIVATE
    for other in ("warden", "burner", "wasp"):
        assert not PRIVATE & set(seen[other])
        assert all(set(weapon) == {"id", "name"} for weapon in seen[other]["weapons"])


def test_the_asked_seat_alone_sees_the_dice_that_may_be_rolled_again_in_a_hidden_test() -> None:
    table = ferry((9, 9))
    table.do("gm", "test.request", combatant="warden", pool="2I", rerolls=1, hidden=True, lucky=False)
    test = next(iter(table.session.tests))
    table.do("gm", "test.roll", test=test)
    prompt = table.prompt(kind="reroll")
    assert prompt.to == "ben"
    assert table.view("ben")["prompts"][prompt.id]["data"]["dice"] == [{"face": 9, "luck": False}] * 2
    assert "data" not in table.view("ann")["prompts"][prompt.id]
    assert not table.view("ann").get("tests")
    table.answer("no", kind="reroll")
    assert table.viewers["ben"].told("test.rolled")
    assert not table.viewers["ann"].told("test.rolled")


def test_a_seat_that_never_re_rolls_is_not_asked() -> None:
    table = ferry((6, 6, 6, 6, 6))
    table.do("ann", "seat.prefs", kind="reroll", value="never")
    table.do("ann", "move", combatant="dace", zone="yard")
    table.do("gm", "gm.move", combatant="wasp", scene="ferry", zone="yard")
    table.do("gm", "gm.set", kind="combatants", id="dace", field="special", value={"P": 1, "L": 0})
    table.do("ann", "attack", combatant="dace", weapon="carbine", target="wasp")
    assert not table.prompts()
    assert table.event("skirmish.rolled").data["successes"] == 0


def test_at_a_table_with_physical_dice_each_crew_enters_its_own_face_of_a_roll_off() -> None:
    table = Table("skirmish", Setup(ruleset="skirmish", sample="ferry", physical=True), dice=ScriptedDice())
    table.do("gm", "gm.encounter", scene="ferry")
    assert not table.session.encounters
    table.answer(kind="dice", to="ann", ints=(4,))
    table.answer(kind="dice", to="ben", ints=(4,))
    table.answer(kind="dice", to="ann", ints=(8,))
    table.answer(kind="dice", to="ben", ints=(3,))
    assert table.event("skirmish.begins").data["faces"] == [[4, 4], [8, 3]]
    assert table.session.combatants[table.encounter.current].side == "tithe"


def test_a_die_named_twice_is_refused_and_the_question_stays_open() -> None:
    table = ferry((9, 9, 9, 3, 3))
    table.do("gm", "test.request", combatant="dace", pool="3P", rerolls=2, lucky=False)
    table.do("ann", "test.roll", test=next(iter(table.session.tests)))
    prompt = table.prompt(kind="reroll")
    with pytest.raises(engine.Rejected) as refusal:
        table.answer("yes", kind="reroll", ints=(2, 2))
    assert refusal.value.code == "illegal_choice"
    assert table.prompt(kind="reroll") == prompt
    # Two of the test's rights and one of Dace's own: three, of which two are used, so a third is asked about.
    table.answer("yes", kind="reroll", ints=(1, 3))
    assert table.event("skirmish.rerolled").data["new"] == [3, 3]
    table.answer("no", kind="reroll")
    assert table.event("test.rolled").data["regular"] == [3, 9, 3]


def test_a_roll_off_with_somebody_unseen_is_told_to_who_may_know_them() -> None:
    """The GM plays one of Ann's models against a hidden one of Ben's: Ann does not learn of it."""
    table = ferry((3, 7))
    table.do("gm", "gm.hide", id="wasp")
    table.do("gm", "rolloff", combatant="dace", against="wasp")
    assert [bool(table.viewers[seat].told("skirmish.rolloff")) for seat in ("gm", "ben", "ann")] == [True, True, False]


def test_nobody_learns_from_a_refusal_whose_activation_it_is() -> None:
    table = Table("skirmish", Setup(ruleset="skirmish", sample="ferry"), dice=ScriptedDice())
    table.do("gm", "gm.hide", id="warden")
    table.do("gm", "gm.encounter", scene="ferry", first="warden")
    refusal = table.refused("ann", "not_your_turn", "activate", combatant="dace")
    assert "warden" not in f"{refusal.text} {refusal.data}".lower()
