"""Odds told under skirmish are exact: they are what happens over all ways the dice fall, and what icepool says of the same pools."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import pairwise
from typing import Any

import icepool
import pytest
from hypothesis import given
from hypothesis import strategies as st

import engine
from engine import Setup
from engine.commands import ZoneSpec
from engine.rulesets.skirmish import RULES, crews, harm, pools
from engine.setup import CombatantSetup, SceneSetup, SeatSetup
from tests.support import every_die

engine.register(RULES)

Options = dict[str, str | int | bool]


def pair(by: dict[str, Any], target: dict[str, Any], options: Options | None = None) -> engine.Session:
    """Ann's A and Ben's B in one zone; A's crew begins."""
    setup = Setup(
        ruleset="skirmish",
        options=options or {},
        seats=(SeatSetup(id="gm", role="gm"), SeatSetup(id="ann"), SeatSetup(id="ben")),
        scenes=(SceneSetup(id="room", zones=(ZoneSpec(id="floor", name="the floor"),)),),
        combatants=(
            CombatantSetup(id="a", side="one", scene="room", zone="floor", seat="ann", fields=by),
            CombatantSetup(id="b", side="two", scene="room", zone="floor", seat="ben", fields=target),
        ),
    )
    session = every_die.created(RULES, setup)
    start = {"type": "gm.encounter", "scene": "room", "first": "a"}
    ((_, session, _),) = every_die.outcomes(RULES, session, "gm", start)
    return session


@pytest.mark.parametrize("luck", [0, 1, 2, 4])
@pytest.mark.parametrize("options", [{"wide_open": "off"}, {}, {"luck_pool": "total"}, {"luck_pool": "total", "bonus_chain": "once"}])
def test_an_attacks_odds_are_what_all_its_dice_do(luck: int, options: Options) -> None:
    """1P with Perception 3, over every face of pool, bonus dice and chained dice, on a target that is wide open or not."""
    weapon = {"id": "gun", "name": "Gun", "range": 8, "test": "1P"}
    session = pair({"special": {"P": 3, "L": luck}, "weapons": [weapon]}, {"special": {"E": 2}}, options)
    command = {"type": "attack", "combatant": "a", "target": "b"}
    told = RULES.odds(session, "gm", RULES.decode(command))
    hits: Counter[int] = Counter()
    came: dict[str, Fraction] = {"critical": Fraction(0), "harm": Fraction(0), "injury": Fraction(0), "incapacitated": Fraction(0)}
    amounts: dict[int, Fraction] = {}
    for weight, after, entry in every_die.outcomes(RULES, session, "ann", command):
        chance = Fraction(1, weight)
        done = next(event for event in entry.events if event.type == "skirmish.rolled").data
        amounts[done["successes"]] = amounts.get(done["successes"], Fraction(0)) + chance
        hits[done["successes"]] += 1
        came["critical"] += chance * any(face <= 3 for face in done["luck"])
        target = after.combatants["b"]
        state = "incapacitated" if target.out else "injury" if target.injuries else "harm" if target.harm else ""
        if state:
            came[state] += chance
    assert sum(amounts.values()) == 1
    assert {one.value: Fraction(one.p) for one in told.damage} == amounts
    assert {part.name: Fraction(part.p) for part in told.parts} == {"hit": 1 - amounts[0], **came}


def by_icepool(value: int, luck: int, regular: int) -> dict[tuple[int, int], Fraction]:
    """The pool as (successes, luck successes): a luck die that succeeds brings one more regular die.

    icepool sums whole numbers, so a luck success counts a hundred on top of its 1.
    """
    regular_die = icepool.d(10).map(lambda face: int(face <= value))
    luck_die = icepool.d(10).map(lambda face: 101 + regular_die if face <= value else 0)
    sums = luck @ luck_die + regular @ regular_die
    chances = zip(sums.outcomes(), sums.probabilities(), strict=True)
    return {(outcome % 100, outcome // 100): chance for outcome, chance in chances if chance}


@pytest.mark.parametrize(("value", "luck", "regular"), [(4, 2, 2), (4, 0, 3), (7, 3, 0), (1, 1, 5), (9, 4, 4)])
def test_icepool_agrees_about_luck_and_bonus_dice(value: int, luck: int, regular: int) -> None:
    ours = pools.distribution(pair({}, {}), pools.Pool(value=value, luck=luck, regular=regular))
    assert {outcome: Fraction(weight, ours.total) for outcome, weight in ours} == by_icepool(value, luck, regular)


@pytest.mark.parametrize(("pool", "need", "luck"), [("2A", 1, 0), ("2A", 2, 1), ("2A", 1, 2)])
def test_a_tests_odds_are_what_all_its_dice_do(pool: str, need: int, luck: int) -> None:
    session = pair({"special": {"A": 4, "L": luck}}, {})
    request = {"type": "test.request", "combatant": "a", "pool": pool, "need": need}
    ((_, session, _),) = every_die.outcomes(RULES, session, "gm", request)
    command = {"type": "test.roll", "test": next(iter(session.tests))}
    told = {part.name: Fraction(part.p) for part in RULES.odds(session, "ann", RULES.decode(command)).parts}
    passed = critical = Fraction(0)
    for weight, _, entry in every_die.outcomes(RULES, session, "ann", command):
        done = next(event for event in entry.events if event.type == "test.rolled").data
        passed += Fraction(int(done["passed"]), weight)
        critical += Fraction(int(done["critical"]), weight)
    assert told == {"passed": passed, "critical": critical}


def test_what_hits_come_to_is_told_only_to_who_knows_the_targets_endurance() -> None:
    weapon = {"id": "gun", "name": "Gun", "range": 8, "test": "2P"}
    session = pair({"weapons": [weapon]}, {"special": {"E": 2}})
    command = RULES.decode({"type": "attack", "combatant": "a", "target": "b"})
    assert [part.name for part in RULES.odds(session, "ann", command).parts] == ["hit", "critical"]
    with pytest.raises(engine.Rejected) as refusal:
        RULES.odds(session, "ben", command)
    assert refusal.value.code == "not_yours"


@given(base=st.integers(1, 20), bonus=st.integers(0, 12), luck=st.integers(0, 10), unlucky=st.booleans(), lucky=st.booleans())
def test_luck_dice_replace_and_never_add(base: int, bonus: int, luck: int, unlucky: bool, lucky: bool) -> None:
    """Whatever comes together, the pool has its own and the added dice, luck dice among them; an unlucky roll its own alone."""
    session = pair({"special": {"L": luck}}, {})
    pool = pools.build(session, session.combatants["a"], f"{base}A", bonus=bonus, lucky=lucky, unlucky=unlucky)
    assert pool.luck + pool.regular == base + (0 if unlucky else bonus)
    assert pool.luck == (min(luck, base) if lucky and not unlucky else 0)


@given(hits=st.integers(0, 30), endurance=st.integers(1, 10))
def test_hits_against_endurance(hits: int, endurance: int) -> None:
    """FACTS A15: below Endurance a Harm, from it an Injury too, from twice it Incapacitated."""
    expected = "" if hits == 0 else ("harm", "injury", "incapacitated")[min(hits // endurance, 2)]
    assert harm.of_damage(hits, endurance) == expected


@given(sizes=st.lists(st.integers(0, 6), min_size=1, max_size=4))
def test_crews_alternate_until_they_run_out(sizes: list[int]) -> None:
    """Everybody comes once, each crew in its own order, and no crew goes twice while another that has models left waits."""
    made = {f"crew{n}": [f"{n}.{i}" for i in range(size)] for n, size in enumerate(sizes)}
    order = crews.alternate(made)
    assert sorted(order) == sorted(one for models in made.values() for one in models)
    for models in made.values():
        assert [one for one in order if one in models] == models
    for place, (first, second) in enumerate(pairwise(order)):
        if first.split(".")[0] == second.split(".")[0]:
            assert {one.split(".")[0] for one in order[place:]} == {first.split(".")[0]}
