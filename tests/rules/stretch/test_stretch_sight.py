"""What a seat learns under stretch: everything of its own, of others what can be seen; and dice that players roll themselves."""

from __future__ import annotations

from typing import Any

import engine
from engine import ScriptedDice, Setup
from engine.rulesets.stretch import RULES
from tests.support.table import Table

engine.register(RULES)

PRIVATE = {"special", "skills", "dt", "dr", "rads", "stress", "resolve", "ap", "stimpaks", "agility_modifier"}


def culvert(faces: tuple[int, ...] = (), **fields: Any) -> Table:
    return Table("stretch", Setup(ruleset="stretch", sample="culvert", encounter="culvert", **fields), dice=ScriptedDice(faces))


def test_a_seat_sees_its_own_numbers_and_of_others_only_what_shows() -> None:
    table = culvert()
    seen = table.view("ann")["combatants"]
    assert set(seen["tamsin"]) >= PRIVATE
    for other in ("ox", "jack", "keeper", "dog"):
        assert not PRIVATE & set(seen[other])
        assert all(set(weapon) == {"id", "name"} for weapon in seen[other]["weapons"])
    assert set(table.view("gm")["combatants"]["jack"]) >= PRIVATE


def test_the_total_of_an_attack_is_told_to_who_rolled_it_and_to_the_gm() -> None:
    """Anybody sees the face and what came of it; the total would give the skill away."""
    table = culvert((12,))
    table.do("gm", "gm.encounter.end", encounter=table.encounter.id)
    table.do("gm", "gm.encounter", scene="culvert", combatants=["tamsin", "jack"])
    table.do("ann", "attack", combatant="tamsin", target="jack", weapon="longarm")
    for seat, knows in (("ann", True), ("gm", True), ("ben", False)):
        told = table.viewers[seat].told("stretch.attack")[-1]
        assert told["hit"] is True
        assert told["rolls"][0]["faces"] == [12]
        assert ("total" in told) is knows
        assert ("bonus" in told) is knows


def test_how_wide_a_gap_is_stays_with_who_attempts_it() -> None:
    table = culvert()
    table.do("gm", "test.request", combatant="tamsin", using="sneak", threshold=60)
    assert table.viewers["ann"].told("stretch.gap")[-1]["gap"] == 12
    assert not table.viewers["ben"].told("stretch.gap")
    assert table.view("ben")["tests"]
    assert "need" not in next(iter(table.view("ben")["tests"].values()))["frame"]


def test_at_a_table_with_physical_dice_the_attacker_enters_the_face() -> None:
    table = culvert(physical=True)
    by = table.encounter.current
    table.do("gm", "gm.move", combatant="jack", scene="culvert", zone=table.session.combatants[by].zone)
    if by != "tamsin":
        table.do("gm", "gm.turn", encounter=table.encounter.id, combatant="tamsin")
    table.do("gm", "gm.move", combatant="jack", scene="culvert", zone="road")
    before = table.session.combatants["jack"].health
    table.do("ann", "attack", combatant="tamsin", target="jack", weapon="longarm")
    assert table.session.combatants["jack"].health == before
    table.answer(kind="dice", to="ann", ints=(15,))
    assert table.session.combatants["jack"].health == before - 15  # 16, less a Threshold of 1


def test_a_gm_who_voids_a_question_outside_a_fight_leaves_nothing_behind() -> None:
    table = Table("stretch", Setup(ruleset="stretch", sample="culvert"), dice=ScriptedDice())
    table.do("gm", "gm.hurt", combatant="tamsin", damage=100)
    table.do("gm", "gm.prompt", prompt=table.prompt(kind="fall").id, do="void")
    assert table.session.combatants["tamsin"].state == "down"
    table.do("gm", "gm.fate", combatant="tamsin", state="stable")
    table.do("gm", "gm.hurt", combatant="ox", damage=100)
    table.answer("dying", kind="fall")
    assert not table.session.tests
    assert not table.session.prompts


def test_who_tends_somebody_unseen_for_the_gm_does_not_learn_whom() -> None:
    table = Table("stretch", Setup(ruleset="stretch", sample="culvert"), dice=ScriptedDice())
    table.do("gm", "gm.move", combatant="jack", scene="culvert", zone="road")
    table.do("gm", "gm.hide", id="jack")
    table.do("gm", "gm.hurt", combatant="jack", damage=5)
    table.do("gm", "stimpak", combatant="tamsin", target="jack")
    table.do("gm", "move", combatant="tamsin", zone="road", near=["jack"])
    assert table.viewers["gm"].told("stretch.stimpak")
    assert not table.viewers["ann"].told("stretch.stimpak")
    assert table.viewers["ann"].told("stretch.move")[-1]["near"] == []
