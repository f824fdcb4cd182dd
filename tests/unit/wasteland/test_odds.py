"""Odds are exact: held to playing every outcome of the dice through the engine, to counting by hand, and to icepool."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import product
from typing import Any

import icepool  # type: ignore[import-not-found,unused-ignore]
import pytest

import engine
from engine import Act, Session, Setup
from engine.commands import ZoneSpec
from engine.rulesets.wasteland import RULES, checks, derived
from engine.rulesets.wasteland import odds as wasteland_odds
from engine.session import Cover
from engine.setup import CombatantSetup, SceneSetup, SeatSetup
from tests.unit.wasteland.exhaustive import Counting, outcomes

HIT = (1, 1)
EPOCH = "0" * 16


def duel(
    effects: tuple[Mapping[str, Any], ...] = (),
    *,
    dice: int = 2,
    kind: str = "physical",
    target: Mapping[str, Any] | None = None,
    cover: tuple[int, tuple[str, ...]] | None = None,
    weapon: Mapping[str, Any] | None = None,
    options: Mapping[str, Any] | None = None,
    pool: int = 0,
) -> Session:
    """A fight of two: Hale may shoot Mark, and it is Hale's turn."""
    covers = () if cover is None else (Cover(id="wall", name="a wall", hides=cover[1], value=cover[0]),)
    gun = {"id": "gun", "name": "Gun", "kind": "small_guns", "dice": dice, "type": kind, "effects": list(effects), **(weapon or {})}
    setup = Setup(
        ruleset="wasteland",
        seats=(SeatSetup(id="gm", role="gm"), SeatSetup(id="ann")),
        scenes=(SceneSetup(id="yard", zones=(ZoneSpec(id="yard", name="the yard", covers=covers),)),),
        combatants=(
            CombatantSetup(
                id="hale",
                side="a",
                scene="yard",
                zone="yard",
                seat="ann",
                fields={"tier": "pc", "luck": 0, "initiative": 20, "skills": {"small_guns": 4, "melee_weapons": 4}, "weapons": [gun]},
            ),
            CombatantSetup(id="mark", side="b", scene="yard", zone="yard", fields={"max_hp": 7, "initiative": 1, **(target or {})}),
            CombatantSetup(id="rest", side="b", scene="yard", zone="yard", fields={"initiative": 0}),
        ),
        options=dict(options or {}),
        pools={"group": pool},
        encounter="yard",
    )
    session, _ = engine.create(RULES, setup, session_id="s" * 16, epoch=EPOCH, now_ms=0, dice=engine.ScriptedDice())
    if covers:
        session = send(session, "gm", {"type": "gm.move", "combatant": "mark", "scene": "yard", "zone": "yard", "cover": "wall"})
    for prefs in ("luck", "damage_luck", "complication", "damage_ap"):
        session = send(session, "gm", {"type": "seat.prefs", "kind": prefs, "value": "never"})
        session = send(session, "ann", {"type": "seat.prefs", "kind": prefs, "value": "never"})
    return session


def send(session: Session, by: str, raw: Mapping[str, Any], dice: engine.Dice | None = None) -> Session:
    after, _ = engine.apply(RULES, session, Act(by=by, command=RULES.decode(raw)), now_ms=0, dice=dice or engine.ScriptedDice())
    return after


def told(session: Session, raw: Mapping[str, Any], seat: str = "gm") -> engine.Odds:
    return RULES.odds(session, seat, RULES.decode(raw))


def parts(odds: engine.Odds) -> dict[str, Fraction]:
    return {part.name: Fraction(part.p) for part in odds.parts}


def damage(odds: engine.Odds) -> dict[int, Fraction]:
    return {one.value: Fraction(one.p) for one in odds.damage}


SITUATIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "three dice against resistance": {"dice": 3, "target": {"dr": [{"at": "*", "physical": 1}, {"at": "head", "physical": 2}]}},
    "vicious and piercing": {
        "effects": ({"id": "vicious"}, {"id": "piercing", "x": 1}),
        "dice": 3,
        "target": {"dr": [{"at": "*", "physical": 3}]},
    },
    "breaking": {"effects": ({"id": "breaking"},), "target": {"dr": [{"at": "*", "physical": 2}]}},
    "breaking a cover": {"effects": ({"id": "breaking"},), "cover": (1, ("torso", "head")), "dice": 2},
    "breaking what is behind a cover": {
        "effects": ({"id": "breaking"},),
        "cover": (1, ("torso",)),
        "target": {"dr": [{"at": "*", "physical": 1}]},
        "options": {"breaking_carry": True},
        "dice": 2,
    },
    "radioactive": {"effects": ({"id": "radioactive"},), "dice": 3, "target": {"dr": [{"at": "head", "radiation": 1}], "hp": 2}},
    "radiation": {"kind": "radiation", "dice": 3, "target": {"max_hp": 5}},
    "immune": {"kind": "poison", "target": {"immune": ["poison"]}},
    "cover": {"cover": (1, ("torso", "legL", "legR")), "dice": 2},
    "prone behind cover": {"cover": (1, ("torso", "head")), "dice": 2, "target": {"prone": True, "defense": 2}},
    "prone behind cover by effects": {
        "cover": (2, ("torso",)),
        "dice": 1,
        "target": {"prone": True, "defense": 2},
        "options": {"cover_dr": "effects", "effect_face_damage": 0},
    },
    "two types": {
        "kind": "energy",
        "weapon": {"also": ["physical"]},
        "dice": 3,
        "target": {"dr": [{"at": "*", "physical": 2, "energy": 1}]},
    },
    "surge against a machine": {"weapon": {"qualities": [{"id": "surge"}]}, "target": {"body_type": "hover_robot"}, "dice": 3},
    "from behind": {"target": {"unaware": True, "defense": 2}, "dice": 3},
    "a thick skin": {"target": {"perks": [{"id": "thick_skin", "rank": 1}]}, "dice": 3},
    "what goes on burning": {"effects": ({"id": "persistent"}, {"id": "stun"}, {"id": "freeze"}), "dice": 2},
    "a little creature": {"target": {"beast": {"body": 3, "little": True}, "max_hp": 9}, "dice": 3},
    "other readings": {
        "cover": (1, ("head",)),
        "dice": 2,
        "options": {"cover_dr": "effects", "cover_scope": "any", "effect_face_damage": 0, "crit_after_dr": False},
        "target": {"max_hp": 3},
    },
}


@pytest.mark.parametrize("name", SITUATIONS)
def test_damage_injury_and_defeat_are_those_of_playing_every_outcome(name: str) -> None:
    """The attack roll is fixed to hit; every face of location, damage and cover dice is played through the engine."""
    session = duel(**SITUATIONS[name])
    attack = {"type": "attack", "combatant": "hale", "target": "mark"}
    before = session.combatants["mark"]
    chances: dict[int, Fraction] = {}
    injured = down = Fraction(0)

    def play(dice: Counting) -> Any:
        return send(session, "ann", attack, dice).combatants["mark"]

    for mark, chance in outcomes(play, HIT):
        lost = before.hp - mark.hp
        chances[lost] = chances.get(lost, Fraction(0)) + chance
        injured += chance if mark.injuries else 0
        down += chance if mark.out or mark.dying else 0
    odds = told(session, attack)
    found = parts(odds)
    assert found["injury"] == found["success"] * injured
    assert found["defeat"] == found["success"] * down
    assert sum(chances.values()) == 1
    if name not in ("radioactive", "radiation", "a little creature"):
        clipped: dict[int, Fraction] = {}
        for value, p in damage(odds).items():
            clipped[min(value, before.hp)] = clipped.get(min(value, before.hp), Fraction(0)) + p
        assert clipped == chances


def test_spread_hits_are_those_of_playing_every_outcome_at_a_called_location() -> None:
    """Extra hits roll their own locations; a called shot keeps the number of outcomes small."""
    session = duel(
        ({"id": "spread"},), target={"dr": [{"at": "head", "physical": 1}], "max_hp": 3}, weapon={"attribute": "LCK"}, options={}
    )
    attack = {"type": "attack", "combatant": "hale", "target": "mark", "location": "torso"}
    down = Fraction(0)
    for mark, chance in outcomes(lambda dice: send(session, "ann", attack, dice).combatants["mark"], HIT):
        down += chance if mark.out or mark.dying else 0
    found = parts(told(session, attack))
    assert 0 < down < 1
    assert found["defeat"] == found["success"] * down


def test_success_action_points_and_complications_are_those_of_playing_every_attack_roll() -> None:
    """Two d20s, all 400 outcomes, as the engine's own events count them."""
    session = duel()
    attack = {"type": "attack", "combatant": "hale", "target": "mark"}
    hits = extra = Fraction(0)
    for face, other in product(range(1, 21), repeat=2):
        after = send(session, "ann", attack, engine.ScriptedDice([face, other, *([3, 1, 1] if min(face, other) <= 9 else [])]))
        hits += after.combatants["mark"].hp < 7
        extra += after.pools["group"].value >= 1
    found = parts(told(session, attack))
    assert found["success"] == hits / 400
    assert found["ap_1"] == extra / 400
    assert found["complication"] == 1 - Fraction(19, 20) ** 2
    assert found["complications_2"] == Fraction(1, 400)


def test_aim_rolls_a_failed_die_again() -> None:
    """By hand over all 8,000 outcomes of two dice and the third: one failed die is replaced, one with a complication first."""
    tn, low = 9, 20
    wins = bad = 0
    for a, b, again in product(range(1, 21), repeat=3):
        faces = [a, b]
        failed = [i for i, face in enumerate(faces) if face > tn]
        if failed:
            faces[next((i for i in failed if faces[i] >= low), failed[0])] = again
        wins += checks.successes(faces, tn, 1) >= 2
        bad += checks.complications(faces) > 0
    dist = wasteland_odds.aimed(2, tn, 1, low)
    assert dist.p(lambda one: one[0] >= 2) == Fraction(wins, 8000)
    assert dist.p(lambda one: one[1] > 0) == Fraction(bad, 8000)
    session = duel(target={"defense": 2})
    aimed = send(session, "ann", {"type": "aim", "combatant": "hale"})
    attack = {"type": "attack", "combatant": "hale", "target": "mark"}
    assert parts(told(aimed, attack))["success"] == Fraction(wins, 8000)
    assert parts(told(session, attack))["success"] < Fraction(wins, 8000)


@pytest.mark.parametrize(("n", "tn", "crit"), [(2, 9, 1), (3, 12, 4), (5, 6, 2)])
def test_pools_agree_with_icepool(n: int, tn: int, crit: int) -> None:
    die = icepool.d(20).map(lambda face: 2 if face <= crit else 1 if face <= tn else 0)
    theirs = n @ die
    ours = wasteland_odds.count(n, tn, crit, 20).map(lambda one: one[0])
    assert {outcome: Fraction(weight, ours.total) for outcome, weight in ours} == {
        outcome: Fraction(theirs.probability(outcome)) for outcome in theirs
    }


def test_damage_action_points_come_from_the_pool_and_from_the_roll() -> None:
    """Up to the AP asked for, as far as the pool and the roll's own surplus go: weighed by what the roll came to."""
    club = {"id": "club", "name": "Club", "kind": "melee_weapons", "dice": 1}
    session = duel(weapon=club, pool=0, target={"max_hp": 30})
    session = send(session, "ann", {"type": "move", "combatant": "hale", "zone": "yard", "near": ["mark"]})
    attack = {"type": "attack", "combatant": "hale", "target": "mark", "damage_ap": 3}
    dist = wasteland_odds.count(2, 9, 1, 20).map(lambda one: one[0])
    hit = dist.p(lambda one: one >= 1)
    most = sum((Fraction(dist.weight(scored), dist.total) for scored in (4,)), Fraction(0)) / hit
    found = damage(told(session, attack))
    # Eight damage needs all four dice to show a 2, and four dice need the three AP of two critical successes.
    assert found[8] == most * Fraction(1, 6) ** 4


def test_a_player_is_told_damage_before_resistance_and_nothing_of_injury() -> None:
    """Resistance and HP of a stranger are the GM's; knowing them by odds would be knowing them."""
    tough = duel(target={"dr": [{"at": "*", "physical": 5}], "max_hp": 1})
    soft = duel(target={"max_hp": 40})
    attack = {"type": "attack", "combatant": "hale", "target": "mark"}
    assert told(tough, attack, "ann") == told(soft, attack, "ann")
    assert {"injury", "defeat"}.isdisjoint(parts(told(tough, attack, "ann")))
    assert told(tough, attack, "gm") != told(soft, attack, "gm")


def test_odds_of_other_peoples_actions_are_not_told() -> None:
    session = duel()
    with pytest.raises(engine.Rejected) as caught:
        told(session, {"type": "attack", "combatant": "mark", "target": "hale"}, "ann")
    assert caught.value.code == "not_yours"


def test_a_test_with_a_helper_counts_the_helper_behind_a_leader_that_scored() -> None:
    """Against counting every outcome of two dice and the helper's one."""
    session = duel()
    session = send(
        session, "gm", {"type": "test.request", "combatant": "hale", "attribute": "PER", "skill": "sneak", "difficulty": 2, "help": "any"}
    )
    (test,) = session.tests
    session = send(session, "gm", {"type": "test.join", "test": test, "combatant": "rest"})
    wins = 0
    for a, b, c in product(range(1, 21), repeat=3):
        mine = checks.successes([a, b], 5, 1)
        wins += (mine + checks.successes([c], 5, 1) if mine else 0) >= 2
    assert parts(told(session, {"type": "test.roll", "test": test}, "ann"))["success"] == Fraction(wins, 8000)
    assert derived.target_number(session.combatants["rest"], session.tests[test].frame.pair) == 5
