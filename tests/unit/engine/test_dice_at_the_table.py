"""Promises of dice inside a session: epochs with commitments and salt, rotation, and physical dice that players enter."""

from __future__ import annotations

import hashlib

import pytest

import engine
from engine import Rejected, ScriptedDice
from engine.dice import stream_key
from engine.rulesets.duel import Duel
from engine.step import Step
from engine.talk import fact
from tests.support.table import Table


def with_physical_dice() -> Table:
    table = Table()
    table.do("gm", "gm.dice", do="physical")
    table.do("ann", "move", combatant="c1", zone="yard", near=["c3"])
    return table


# --- epochs ----------------------------------------------------------------------------------------------------------------


def test_a_commitment_is_published_before_the_first_roll_and_kept_after_it() -> None:
    table = Table()
    opened = {one.data["stream"]: one.data["commitment"] for one in table.entries[0].events if one.type == "dice.opened"}
    table.do("ann", "roll", notation="3d6")
    table.do("gm", "gm.dice", do="reveal")
    revealed = table.event("dice.revealed").data
    assert hashlib.sha256(bytes.fromhex(revealed["seed"])).hexdigest() == opened["open"] == revealed["commitment"]


def test_salt_goes_in_before_the_first_roll_alone_and_changes_the_faces() -> None:
    plain, salted = Table(), Table()
    salted.do("ann", "dice.salt", salt="pepper")
    salted.do("ben", "dice.salt", salt="thyme")
    salted.do("ann", "dice.salt", salt="basil")
    plain.do("ann", "roll", notation="20d20")
    salted.do("ann", "roll", notation="20d20")
    assert salted.session.table.open.salts == (("ann", "basil"), ("ben", "thyme"))
    assert plain.last.rolls[0].faces != salted.last.rolls[0].faces
    salted.refused("ann", "not_now", "dice.salt", salt="late")
    salted.do("gm", "gm.dice", do="reveal")
    seed = bytes.fromhex(salted.event("dice.revealed").data["seed"])
    key = stream_key(seed, [("ben", "thyme"), ("ann", "basil")])
    assert engine.dice.faces(key, 1, 20, 20) == salted.entries[-2].rolls[0].faces
    salted.do("ann", "dice.salt", salt="a new epoch takes new salt")


def test_the_end_of_a_fight_reveals_its_dice_and_commits_to_fresh_ones() -> None:
    table = Table()
    table.do("ann", "roll", notation="d20")
    old = table.session.table.open
    table.do("gm", "gm.encounter.end", encounter=table.encounter.id)
    new = table.session.table.open
    assert [event.type for event in table.events] == ["encounter.ended", "dice.revealed", "dice.opened"]
    assert (new.index, new.n, new.first, new.salts) == (old.index + 1, 1, 2, ())
    assert new.commitment != old.commitment


def test_dice_that_never_rolled_stay() -> None:
    table = Table()
    table.do("gm", "gm.encounter.end", encounter=table.encounter.id)
    assert [event.type for event in table.events] == ["encounter.ended"]


def test_the_hidden_dice_are_revealed_at_the_gms_word_alone() -> None:
    table = Table()
    table.do("gm", "roll", notation="d20", hidden=True)
    table.do("gm", "gm.encounter.end", encounter=table.encounter.id)
    assert table.session.table.hidden.index == 1
    table.do("gm", "gm.dice", do="reveal", stream="hidden")
    assert table.event("dice.revealed").data["stream"] == "hidden"
    assert table.session.table.hidden.index == 2


def test_whether_the_hidden_dice_have_rolled_shows_nowhere() -> None:
    """Not in the view, not in what salt does, not in a frame."""
    quiet, busy = Table(), Table()
    busy.do("gm", "roll", notation="d20", hidden=True, label="what lurks")
    quiet.do("gm", "seat.prefs", kind="parry", value="never")
    for table in (quiet, busy):
        table.do("ann", "dice.salt", salt="pepper")
    assert busy.viewers["ann"].sent == quiet.viewers["ann"].sent
    assert busy.session.table.hidden.salts == ()
    assert quiet.session.table.hidden.salts == (("ann", "pepper"),)


def test_after_a_fork_both_streams_go_on_with_new_dice_and_no_seed_is_told() -> None:
    table = Table()
    table.do("ann", "roll", notation="d20")
    table.do("gm", "gm.undo", to=1)
    assert table.session.table.kept
    table.system("system.dice", reason="the log was restored")
    assert [event.type for event in table.events] == ["dice.dropped", "dice.opened"] * 2
    assert (table.session.table.open.index, table.session.table.hidden.index, table.session.table.kept) == (2, 2, ())
    assert table.audit().verdict == "unchecked"


# --- physical dice ---------------------------------------------------------------------------------------------------------


def test_a_command_waits_for_each_of_its_rolls_and_then_happens_at_once() -> None:
    table = with_physical_dice()
    table.do("gm", "seat.prefs", kind="parry", value="never")
    table.do("ann", "attack", target="c3")
    assert not table.session.combatants["c1"].acted
    for purpose, to, face in (("strike", "ann", 19), ("guard", "gm", 2), ("place", "ann", 1), ("damage", "ann", 5)):
        prompt = table.prompt(kind="dice")
        assert (prompt.to, purpose in prompt.text) == (to, True)
        table.answer(kind="dice", ints=(face,))
    assert table.event("duel.hit").data["damage"] == 6  # 5 + 1 for the blade + 2 for the head - 2 armor
    assert [(one.faces, one.proven) for one in table.last.rolls] == [((19,), False), ((2,), False), ((1,), False), ((5,), False)]
    assert table.event("duel.cross").data["rolls"][0]["proven"] is False
    assert not table.session.prompts


def test_a_question_inside_the_action_interrupts_the_dice_and_they_go_on() -> None:
    table = with_physical_dice()
    table.do("ann", "attack", target="c3")
    table.answer("no", kind="parry")
    for face in (1, 20):
        table.answer(kind="dice", ints=(face,))
    table.answer("yes", kind="reroll")
    for face in (20, 6, 4):
        table.answer(kind="dice", ints=(face,))
    assert table.event("duel.reroll").data["rolls"][0]["of"] > 0
    assert table.event("duel.hit").data["place"] == "leg"
    assert table.session.combatants["c1"].grit == 0


def test_faces_that_the_dice_do_not_have_are_refused() -> None:
    table = with_physical_dice()
    table.do("ann", "roll", notation="2d6")
    for bad in ([], [3], [3, 4, 5], [0, 3], [3, 7], [-1, 3]):
        table.refused("ann", "illegal_choice", "answer", prompt=table.prompt().id, ints=bad)
    table.refused("ben", "not_yours", "answer", prompt=table.prompt().id, ints=[1, 1])
    table.answer(ints=(6, 6))
    assert table.event("rolled").data["total"] == 12


def test_an_action_that_is_no_longer_possible_when_its_dice_are_entered_is_off() -> None:
    table = with_physical_dice()
    table.do("gm", "seat.prefs", kind="parry", value="never")
    table.do("ann", "attack", target="c3")
    table.do("gm", "gm.move", combatant="c3", scene="mill", zone="loft")
    before = table.session.combatants
    table.answer(kind="dice", ints=(20,))
    assert table.event("dice.refused").data["code"] == "out_of_range"
    assert table.session.combatants == before
    assert (table.session.prompts, table.session.table.suspended) == ({}, None)
    assert "out of reach" not in table.viewers["ben"].told("dice.refused")[0]["text"]
    table.do("ann", "turn.end")


def test_an_action_of_a_seat_that_left_is_off() -> None:
    table = with_physical_dice()
    table.do("ann", "roll", notation="2d6")
    table.do("ann", "seat.leave")
    assert table.prompt().to == "gm"
    table.answer(ints=(3, 3))
    assert table.event("dice.refused").data["code"] == "unknown_seat"


def test_a_gms_secret_roll_is_entered_by_the_gm_and_told_to_gms() -> None:
    table = with_physical_dice()
    table.do("gm", "roll", notation="d20", hidden=True)
    assert table.prompt().to == "gm"
    table.answer(ints=(13,))
    assert table.viewers["gm"].told("rolled")[0]["total"] == 13
    assert table.viewers["ann"].told("rolled") == []
    assert (table.last.rolls[0].stream, table.last.rolls[0].proven) == ("hidden", False)


def test_an_answer_that_needs_dice_waits_while_other_dice_are_entered() -> None:
    table = with_physical_dice()
    table.do("ann", "attack", target="c3")
    table.do("gm", "gm.setting", key="deadline.prompt", value=1)
    table.do("gm", "roll", notation="d6")
    table.refused("gm", "busy", "answer", prompt=table.prompt(kind="parry").id, choice="no")
    table.answer(kind="dice", ints=(2,))
    table.answer("no", kind="parry")
    assert table.prompt(kind="dice").to == "ann"


def test_while_dice_are_entered_no_other_deadline_fires_and_theirs_calls_the_action_off() -> None:
    table = with_physical_dice()
    table.do("gm", "gm.setting", key="deadline.prompt", value=5)
    table.do("ann", "attack", target="c3")
    table.later(1)
    table.do("gm", "roll", notation="d6")
    table.later(20)
    (deadline,) = engine.overdue(table.session, table.now_ms)
    assert deadline.prompt == table.prompt(kind="dice").id
    table.system("system.deadline", prompt=deadline.prompt)
    assert table.session.table.suspended is None
    assert [one.prompt for one in engine.overdue(table.session, table.now_ms)] == [table.prompt(kind="parry").id]


def test_the_gm_calls_dice_off_that_nobody_enters() -> None:
    table = with_physical_dice()
    table.do("ann", "roll", notation="d6")
    table.do("gm", "gm.prompt", prompt=table.prompt().id)
    assert (table.prompts(), table.session.table.suspended) == ([], None)
    table.do("ann", "turn.end")


def test_entered_faces_are_no_seeds_business_and_take_their_numbers() -> None:
    with ScriptedDice([4]) as dice:
        table = Table(dice=dice)
        table.do("gm", "gm.dice", do="physical")
        table.do("ann", "roll", notation="2d6")
        table.answer(ints=(1, 2))
        table.do("gm", "gm.dice", do="seeded")
        table.do("ann", "roll", notation="d6")
    assert [roll.n for entry in table.entries for roll in entry.rolls] == [1, 2]


def test_the_audit_says_ok_and_counts_the_entered_rolls_as_unproven() -> None:
    table = with_physical_dice()
    table.do("ann", "roll", notation="2d6")
    table.answer(ints=(1, 2))
    found = table.audit()
    assert found.verdict == "ok"
    assert found.dice is not None
    assert (found.dice.unproven, found.dice.checked) == (1, 0)


def test_ids_that_a_suspended_action_drew_are_recorded_whatever_becomes_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The audit runs it again from its start and asks for them: when it waits for faces, and when it is off in the end."""

    def wordy(rules: Duel, step: Step, command: object) -> None:
        ids = [step.ident("x") for _ in range(3)]
        rolled = step.roll(1, 6, purpose="test", actor="ann")
        if step.combatants["c1"].out:
            raise Rejected("not_now", "Too late.")
        step.emit("duel.wordy", "Said.", ids=ids, rolls=[fact(rolled)])

    monkeypatch.setattr(Duel, "apply", wordy)
    table = Table()
    table.do("gm", "gm.dice", do="physical")
    for off in (False, True):
        table.do("ann", "brace", combatant="c1")
        table.do("gm", "gm.set", kind="combatants", id="c1", field="out", value=off)
        table.answer(kind="dice", ints=(4,))
        assert [one.type for one in table.events] == (["dice.refused"] if off else ["duel.wordy"])
    assert table.audit().executed == len(table.entries)
    assert table.audit().difference is None
