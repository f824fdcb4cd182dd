"""Duel's rules as docs/rules/duel.md tells them, with faces chosen by hand."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import pytest

from engine import ScriptedDice, Setup
from engine.commands import ZoneSpec
from engine.setup import CombatantSetup, SceneSetup, SeatSetup
from tests.support.table import Table

DAMAGE = {"blade": 4 + 1, "maul": 4, "sling": 4 + 1}
"""What a 4 on the weapon's die does."""


def duel(faces: tuple[int, ...], *, variant: str = "", options: dict[str, Any] | None = None, **stats: dict[str, Any]) -> Table:
    """a (ann's, first) and b (ben's) within arm's reach, skill 4, guard 3 and no grit unless told otherwise."""
    ring = SceneSetup(id="ring", zones=(ZoneSpec(id="sand", name="the sand"), ZoneSpec(id="steps", name="the steps")))
    people = tuple(
        CombatantSetup(id=name, name=name, side=name, scene="ring", zone="sand", seat=seat, fields={**own, **stats.get(name, {})})
        for name, seat, own in (("a", "ann", {"grit": 0, "speed": 12}), ("b", "ben", {"grit": 0, "speed": 11}))
    )
    setup = Setup(
        ruleset="duel",
        variant=variant,
        options=options or {},
        scenes=(ring,),
        combatants=people,
        seats=(SeatSetup(id="ann"), SeatSetup(id="ben")),
    )
    table = Table(setup=setup, dice=ScriptedDice(faces))
    table.do("gm", "gm.move", combatant="a", scene="ring", zone="sand", near=["b"])
    table.do("gm", "gm.encounter", scene="ring")
    return table


def strike(table: Table, parry: str = "no", **more: Any) -> list[str]:
    table.do("ann", "attack", target="b", **more)
    table.answer(parry, to="ben")
    return [event.type for event in table.events]


@pytest.mark.parametrize(("mine", "theirs", "hits"), [(10, 11, True), (10, 12, False), (1, 2, True), (1, 3, False), (20, 20, True)])
def test_a_strike_hits_when_die_and_skill_reach_die_and_guard(mine: int, theirs: int, hits: bool) -> None:
    table = duel((mine, theirs, 2, 4) if hits else (mine, theirs))
    assert strike(table)[-1] == ("duel.hit" if hits else "duel.miss")


@pytest.mark.parametrize(("options", "variant", "bonus"), [({}, "", 3), ({"parry_bonus": 5}, "", 5), ({}, "bloody", 0)])
def test_a_parry_helps_once_a_round(options: dict[str, Any], variant: str, bonus: int) -> None:
    """10 + 4 against die + 3 + the bonus: it just hits, and with one more it does not."""
    most = 14 - 3 - bonus
    hit = duel((10, most, 2, 4), options=options, variant=variant)
    assert strike(hit, "yes")[-1] == "duel.hit"
    miss = duel((10, most + 1), options=options, variant=variant)
    assert strike(miss, "yes")[-1] == "duel.miss"
    miss.do("gm", "gm.set", kind="combatants", id="a", field="acted", value=False)
    miss.dice = ScriptedDice((1, 20))
    miss.do("ann", "attack", target="b")
    assert not miss.prompts(), "it has parried this round"


PLACES = [(1, "head", 2), (2, "body", 0), (3, "body", 0), (4, "body", 0), (5, "arm", 0), (6, "leg", 0)]


@pytest.mark.parametrize(("face", "place", "more"), PLACES)
def test_where_a_hit_lands_and_what_it_hurts(face: int, place: str, more: int) -> None:
    table = duel((20, 1, face, 4), b={"armor": 2})
    strike(table)
    data = table.event("duel.hit").data
    assert (data["place"], data["damage"]) == (place, 4 + 1 + more - 2)
    assert table.session.combatants["b"].hp == 12 - data["damage"]


@pytest.mark.parametrize("weapon", sorted(DAMAGE))
def test_each_weapon_hurts_as_the_table_says(weapon: str) -> None:
    table = duel((20, 1, 2, 4), a={"weapon": weapon})
    strike(table)
    assert table.event("duel.hit").data["damage"] == DAMAGE[weapon]


def test_armor_never_heals() -> None:
    table = duel((20, 1, 2, 1), b={"armor": 50})
    strike(table)
    assert table.event("duel.hit").data["damage"] == 0
    assert table.session.combatants["b"].hp == 12


def test_a_bold_strike_is_harder_and_hurts_more() -> None:
    assert strike(duel((10, 10)), bold=True)[-1] == "duel.miss"  # 10 + 4 - 2 against 10 + 3
    table = duel((10, 9, 2, 4))
    assert strike(table, bold=True)[-1] == "duel.hit"
    assert table.event("duel.hit").data["damage"] == 4 + 1 + 2


def test_grit_rolls_the_own_die_again_and_leaves_the_foes() -> None:
    table = duel((1, 10, 9, 2, 4), a={"grit": 1})
    strike(table)
    table.answer("yes", to="ann")
    assert table.event("duel.hit").data["target"] == "b"  # 9 + 4 against 10 + 3
    assert table.session.combatants["a"].grit == 0


def test_grit_is_kept_when_the_miss_is_let_go() -> None:
    table = duel((1, 10), a={"grit": 1})
    strike(table)
    table.answer("no", to="ann")
    assert table.event("duel.miss").data["target"] == "b"
    assert table.session.combatants["a"].grit == 1


@pytest.mark.parametrize(("mine", "theirs"), [*product(("high", "middle", "low"), repeat=2)])
def test_a_won_feint_takes_the_foes_guard_from_the_next_strike(mine: str, theirs: str) -> None:
    beats = {"high": "low", "low": "middle", "middle": "high"}
    won = beats[mine] == theirs
    table = duel((1, 5, 2, 4) if won else (1, 5))
    table.do("ann", "feint", target="b")
    table.answer(mine, to="ann")
    table.answer(theirs, to="ben")
    table.do("gm", "gm.set", kind="combatants", id="a", field="acted", value=False)
    # 1 + 4 against 5 + 3, or against 5 without guard
    assert strike(table)[-1] == ("duel.hit" if won else "duel.miss")
    assert table.session.combatants["b"].exposed is False


def test_bracing_guards_until_the_own_next_turn() -> None:
    table = duel((10, 10, 10, 10, 2, 4))
    table.do("ann", "turn.end")
    table.do("ben", "brace")
    table.do("ben", "turn.end")
    assert strike(table)[-1] == "duel.miss"  # 10 + 4 against 10 + 3 + 2
    table.do("ann", "turn.end")
    assert table.session.combatants["b"].braced is False
    table.do("ben", "turn.end")
    assert strike(table)[-1] == "duel.hit"  # 10 + 4 against 10 + 3


def test_one_move_and_one_act_a_turn() -> None:
    table = duel(())
    table.do("ann", "brace")
    table.refused("ann", "not_now", "brace")
    table.refused("ann", "not_now", "attack", target="b")
    table.do("ann", "move", zone="sand")
    table.refused("ann", "not_now", "move", zone="sand")


def test_the_last_side_that_stands_ends_the_fight() -> None:
    table = duel((20, 1, 2, 6), b={"hp": 7})
    assert strike(table)[:4] == ["duel.cross", "duel.hit", "duel.out", "encounter.ended"]
    assert table.event("encounter.ended").data["side"] == "a"
    assert table.session.combatants["b"].out


def test_whoever_strikes_from_hiding_comes_into_sight() -> None:
    table = duel(())
    table.do("gm", "gm.hide", id="a")
    assert "a" not in table.viewers["ben"].view["combatants"]
    table.do("ann", "attack", target="b")
    assert "a" in table.viewers["ben"].view["combatants"]
    table.do("gm", "gm.prompt", prompt=table.prompt().id, do="void")
    table.do("gm", "gm.hide", kind="zone", scene="ring", id="sand")
    table.do("gm", "gm.set", kind="combatants", id="a", field="acted", value=False)
    table.refused("gm", "not_now", "attack", combatant="a", target="b")


@pytest.mark.parametrize("bold", [False, True])
@pytest.mark.parametrize("armor", [0, 2])
def test_the_odds_are_those_of_counting_every_die(bold: bool, armor: int) -> None:
    """400 pairs of d20 and 36 of place and damage, counted here one by one. The GM sees the armor, the foe's player does not."""
    table = duel((), b={"armor": armor})
    command = table.rules.decode({"type": "attack", "combatant": "a", "target": "b", "bold": bold})
    told = table.rules.odds(table.session, "gm", command)
    for part, bonus in zip(told.parts, (0, 3), strict=True):
        hits = sum(mine + 4 - 2 * bold >= theirs + 3 + bonus for mine, theirs in product(range(1, 21), repeat=2))
        assert Fraction(part.p) == Fraction(hits, 400)
    counted: dict[int, Fraction] = {}
    for place, hurt in product(range(1, 7), repeat=2):
        damage = max(hurt + 1 + 2 * (place == 1) + 2 * bold - armor, 0)
        counted[damage] = counted.get(damage, Fraction(0)) + Fraction(1, 36)
    assert {one.value: Fraction(one.p) for one in told.damage} == counted
    unaware = table.rules.odds(table.session, "ann", command)
    assert unaware.text == "before armor"
    assert min(one.value for one in unaware.damage) == 2 + 2 * bold


def test_the_two_files_of_its_rules_stay_short() -> None:
    """Duel shows that a ruleset is small: under 300 lines of code, comments and docstrings aside."""
    import ast
    from pathlib import Path

    import engine.rulesets.duel.rules as rules

    lines = 0
    for name in ("rules.py", "model.py"):
        source = (Path(rules.__file__).parent / name).read_text()
        told = set()
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
                told |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
        for number, line in enumerate(source.splitlines(), 1):
            lines += bool(line.strip()) and not line.strip().startswith("#") and number not in told
    assert 100 < lines < 300
