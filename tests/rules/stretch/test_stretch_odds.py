"""Odds told under stretch are exact: they are what happens over all twenty faces, and what icepool says of the same sums."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import icepool
import pytest
from hypothesis import given
from hypothesis import strategies as st

import engine
from engine import Setup
from engine.commands import ZoneSpec
from engine.rulesets.stretch import RULES, sums
from engine.rulesets.stretch.model import Special, Wanderer
from engine.setup import CombatantSetup, SceneSetup, SeatSetup
from tests.support import every_die

engine.register(RULES)


def pair(by: dict[str, Any], target: dict[str, Any], options: dict[str, str | int | bool] | None = None) -> engine.Session:
    """Ann's A and the GM's B in one room; A acts first."""
    weapon = {"id": "gun", "name": "Gun", "skill": "guns", "damage": 12, "range": 1}
    setup = Setup(
        ruleset="stretch",
        options=options or {},
        seats=(SeatSetup(id="gm", role="gm"), SeatSetup(id="ann")),
        scenes=(SceneSetup(id="room", zones=(ZoneSpec(id="floor", name="the floor"),)),),
        combatants=(
            CombatantSetup(id="a", side="one", scene="room", zone="floor", seat="ann", fields={"weapons": [weapon], **by}),
            CombatantSetup(id="b", side="two", scene="room", zone="floor", fields={"weapons": [weapon], **target}),
        ),
        encounter="room",
    )
    return every_die.created(RULES, setup)


ATTACKS = [
    (luck, skill, modifier, place, options)
    for luck in (5, 7, 9)
    for skill, modifier in ((0, 0), (47, 2), (95, -3), (0, 14))
    for place in (None, "torso", "head")
    for options in ({}, {"nat20_auto_hit": "off", "crit_range_auto_hit": "off", "nat1_auto_miss": "off", "to_hit": "beat"})
]


@pytest.mark.parametrize(("luck", "skill", "modifier", "place", "options"), ATTACKS)
def test_an_attacks_odds_are_what_its_twenty_faces_do(luck: int, skill: int, modifier: int, place: str | None, options: Any) -> None:
    """As the GM is told them, who knows the armor."""
    session = pair(
        {"special": {"AGI": 9, "LCK": luck}, "skills": [["guns", skill]]}, {"agility_modifier": modifier, "dt": 3, "dr": 25}, options
    )
    command: dict[str, Any] = {"type": "attack", "combatant": "a", "target": "b"} | ({"place": place} if place else {})
    told = RULES.odds(session, "gm", RULES.decode(command))
    hits: list[int] = []
    criticals = fumbles = 0
    for weight, after, entry in every_die.outcomes(RULES, session, "ann", command):
        assert weight == 20
        done = next(event for event in entry.events if event.type == "stretch.attack").data
        criticals += done["critical"]
        fumbles += done["fumble"]
        if done["hit"]:
            hits.append(session.combatants["b"].health - after.combatants["b"].health)
    assert {part.name: Fraction(part.p) for part in told.parts} == {
        "hit": Fraction(len(hits), 20),
        "critical": Fraction(criticals, 20),
        "fumble": Fraction(fumbles, 20),
    }
    assert {one.value: Fraction(one.p) for one in told.damage} == {value: Fraction(hits.count(value), len(hits)) for value in set(hits)}


@pytest.mark.parametrize(("luck", "lowest"), [(6, 20), (7, 19), (8, 19), (9, 18), (10, 18)])
def test_icepool_agrees_about_hits_and_damage(luck: int, lowest: int) -> None:
    """Skill 47 against a modifier of +2: d20 + 4 >= 12; 12 damage, Threshold 3, Resistance 25%: 6, doubled 12."""
    session = pair({"special": {"AGI": 9, "LCK": luck}, "skills": [["guns", 47]]}, {"agility_modifier": 2, "dt": 3, "dr": 25})
    told = RULES.odds(session, "gm", RULES.decode({"type": "attack", "combatant": "a", "target": "b"}))
    damage = icepool.d(20).map(lambda face: 12 if face >= lowest else 6 if face + 4 >= 12 else 0)
    assert Fraction(next(part.p for part in told.parts if part.name == "hit")) == damage.probability(">", 0)
    hits = {value: p for value, p in zip(damage.outcomes(), damage.probabilities(), strict=True) if value}
    assert {one.value: Fraction(one.p) for one in told.damage} == {value: p / sum(hits.values()) for value, p in hits.items()}


def test_a_player_is_told_damage_before_armor_and_nothing_of_others_skill() -> None:
    session = pair({"special": {"AGI": 9}, "skills": [["guns", 47]]}, {"dt": 8, "dr": 50})
    told = RULES.odds(session, "ann", RULES.decode({"type": "attack", "combatant": "a", "target": "b"}))
    assert [one.value for one in told.damage] == [12, 24]
    with pytest.raises(engine.Rejected) as refusal:
        RULES.odds(session, "ann", RULES.decode({"type": "attack", "combatant": "b", "target": "a"}))
    assert refusal.value.code == "not_yours"


@pytest.mark.parametrize(("threshold", "chance"), [(41, "11/20"), (45, "11/20"), (46, "7/20"), (51, "1/5"), (56, "1/10"), (60, "1/10")])
def test_a_tests_odds_are_its_bands(threshold: int, chance: str) -> None:
    """10+ is eleven faces of twenty, 14+ seven, 17+ four, 19+ two."""
    session = pair({"special": {"AGI": 9}, "skills": [["locks", 40]]}, {})
    request = {"type": "test.request", "combatant": "a", "using": "locks", "threshold": threshold}
    ((_, session, _),) = every_die.outcomes(RULES, session, "gm", request)
    test = next(iter(session.tests))
    told = RULES.odds(session, "ann", RULES.decode({"type": "test.roll", "test": test}))
    assert [part.p for part in told.parts] == [chance]
    passed = sum(
        next(event for event in entry.events if event.type == "test.rolled").data["passed"]
        for _, _, entry in every_die.outcomes(RULES, session, "ann", {"type": "test.roll", "test": test})
    )
    assert Fraction(passed, 20) == Fraction(chance)


def test_a_wall_has_no_odds_and_no_roll_on_offer() -> None:
    session = pair({"special": {"AGI": 9}}, {})
    request = {"type": "test.request", "combatant": "a", "using": "locks", "threshold": 21}
    ((_, session, _),) = every_die.outcomes(RULES, session, "gm", request)
    test = next(iter(session.tests))
    assert not [option for option in RULES.options(session, "ann") if option.type == "test.roll"]
    with pytest.raises(engine.Rejected) as refusal:
        RULES.odds(session, "ann", RULES.decode({"type": "test.roll", "test": test}))
    assert refusal.value.code == "not_now"


@given(gap=st.integers(-200, 200))
def test_each_gap_falls_into_the_band_that_the_text_prints(gap: int) -> None:
    """0 or less: no roll; 1-5: 10+; 6-10: 14+; 11-15: 17+; 16-20: 19+; 21 or more: a Wall."""
    table = {range(-1000, 1): 0, range(1, 6): 10, range(6, 11): 14, range(11, 16): 17, range(16, 21): 19}
    assert sums.needed(gap) == next((need for band, need in table.items() if gap in band), None)


@given(raw=st.integers(0, 60), dt=st.integers(0, 60), dr=st.integers(0, 100), more=st.integers(0, 20))
def test_damage_is_at_least_1_doubles_on_a_critical_and_never_grows_with_armor(raw: int, dt: int, dr: int, more: int) -> None:
    session = pair({}, {})
    dealt = sums.damage(session, raw, dt, dr)
    assert dealt >= 1
    assert sums.damage(session, raw, dt, dr, critical=True) == 2 * dealt
    assert sums.damage(session, raw, dt + more, dr) <= dealt
    assert sums.damage(session, raw, dt, min(dr + more, 100)) <= dealt
    if dr == 0:
        assert dealt == max(raw - dt, 1)


@given(luck=st.integers(0, 20))
def test_luck_widens_the_critical_range_at_7_and_at_9_and_no_more(luck: int) -> None:
    who = Wanderer(id="w", name="W", special=Special(LCK=luck))
    assert sums.crit_from(pair({}, {}), who.special.LCK) == (20 if luck < 7 else 19 if luck < 9 else 18)
