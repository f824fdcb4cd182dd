"""The pure counting of wasteland: held to the rule texts' figures and to counting by hand."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.rulesets.wasteland import checks, derived, tables
from engine.rulesets.wasteland.model import Apparel, Beast, Pair, Resist, Skills, Special, Survivor, Weapon

D20 = st.integers(1, 20)


@given(st.lists(D20, min_size=1, max_size=6), st.integers(0, 20), st.integers(1, 6))
def test_successes_are_counted_die_by_die(faces: list[int], tn: int, crit: int) -> None:
    """Nothing above the target number, one up to it, two up to the critical face; a pool is the sum of its dice."""
    assert checks.successes(faces, tn, crit) == sum(checks.successes([face], tn, crit) for face in faces)
    for face in faces:
        alone = checks.successes([face], tn, crit)
        assert alone == (2 if face <= crit else int(face <= tn))


@pytest.mark.parametrize(("range_", "lowest"), [(1, 20), (2, 19), (3, 18), (4, 17), (5, 16)])
def test_a_wider_range_has_lower_complications(range_: int, lowest: int) -> None:
    assert [face for face in range(1, 21) if checks.complications([face], range_)] == list(range(lowest, 21))
    assert checks.lowest_complication(range_) == lowest


@pytest.mark.parametrize(
    ("rank", "tagged", "switch", "face"),
    [(4, True, "le", 4), (0, True, "le", 1), (4, False, "le", 1), (3, True, "lt", 2), (1, True, "lt", 1), (5, True, "none", 1)],
)
def test_a_tag_skill_is_critical_up_to_its_rank_and_never_below_one(rank: int, tagged: bool, switch: str, face: int) -> None:
    assert checks.crit_face(rank, tagged, switch) == face


@given(st.integers(0, 10), st.lists(st.integers(0, 2), max_size=4))
def test_helpers_count_behind_a_leader_who_scored_and_not_otherwise(lead: int, helpers: list[int]) -> None:
    assert checks.with_help(lead, helpers, True) == (lead + sum(helpers) if lead else 0)
    assert checks.with_help(lead, helpers, False) == lead + sum(helpers)


def test_combat_dice_have_the_six_printed_faces() -> None:
    assert [checks.damage([face]) for face in range(1, 7)] == [(1, 0), (2, 0), (0, 0), (0, 0), (1, 1), (1, 1)]
    assert [checks.damage([face], 0) for face in (5, 6)] == [(0, 1), (0, 1)]
    # Mean 5/6 damage and 1/3 effects a die.
    pairs = [checks.damage(faces) for faces in product(range(1, 7), repeat=3)]
    assert sum(one for one, _ in pairs) * 6 == 3 * 5 * len(pairs)
    assert sum(two for _, two in pairs) * 3 == 3 * 1 * len(pairs)


def test_range_steps_are_the_printed_table() -> None:
    bands = ("close", "medium", "long", "extreme")
    table = [[checks.range_steps(at, ideal) for ideal in bands] for at in bands]
    assert table == [[0, 1, 2, 3], [1, 0, 1, 2], [2, 1, 0, 1], [3, 2, 1, 0]]


def test_bought_dice_cost_one_two_and_three() -> None:
    assert [checks.dice_price(n) for n in range(4)] == [0, 1, 3, 6]


@pytest.mark.parametrize(("dice", "points"), [(1, 1), (3, 1), (4, 2), (6, 2), (7, 3)])
def test_one_luck_rerolls_up_to_three_combat_dice(dice: int, points: int) -> None:
    assert checks.luck_price(dice) == points


def test_every_face_of_the_location_die_hits_exactly_one_place_of_every_body() -> None:
    for body, rows in tables.LOCATIONS.items():
        tops = [top for top, _, _ in rows]
        assert tops == sorted(set(tops)), body
        assert tops[-1] == 20
        assert {tables.location_of(body, face) for face in range(1, 21)} == {at for _, at, _ in rows}


PC = Survivor(id="a", name="A", tier="pc", level=1, special=Special(STR=9, PER=6, END=5, AGI=9, LCK=7), skills=Skills(small_guns=3))


def test_derived_figures_of_people_follow_their_attributes() -> None:
    """END + LCK + level - 1; PER + AGI; Defense 2 from AGI 9; Luck points LCK; STR 9 is two damage dice."""
    assert derived.max_hp(PC) == 5 + 7 + 1 - 1
    assert derived.initiative(PC) == 15
    assert derived.defense(PC) == 2
    assert derived.max_luck(PC) == 7
    assert [checks.melee_bonus(strength) for strength in (6, 7, 8, 9, 10, 11)] == [0, 1, 1, 2, 2, 3]


@pytest.mark.parametrize(
    ("tier", "hp", "initiative", "luck"), [("normal", 5 + 2, 11, 0), ("notable", 5 + 6 + 2, 13, 3), ("major", 5 + 12 + 2, 15, 6)]
)
def test_npc_tiers(tier: str, hp: int, initiative: int, luck: int) -> None:
    npc = Survivor(id="n", name="N", tier=tier, level=2, special=Special(PER=5, END=5, AGI=6, LCK=6))  # type: ignore[arg-type]
    assert (derived.max_hp(npc), derived.initiative(npc), derived.max_luck(npc)) == (hp, initiative, luck)


@pytest.mark.parametrize(
    ("tier", "beast", "level", "hp"),
    [
        ("normal", Beast(body=5), 3, 8),
        ("mighty", Beast(body=7), 4, 22),
        ("legendary", Beast(body=8), 4, 36),
        ("normal", Beast(body=9, big=True), 11, 31),
        ("normal", Beast(body=4, little=True), 3, 6),
    ],
)
def test_creatures_have_body_and_level(tier: str, beast: Beast, level: int, hp: int) -> None:
    creature = Survivor(id="c", name="C", tier=tier, level=level, beast=beast)  # type: ignore[arg-type]
    assert derived.max_hp(creature) == hp
    assert derived.initiative(creature) == beast.body + 5


def test_radiation_lowers_the_maximum_and_rest_raises_it() -> None:
    from msgspec.structs import replace

    assert derived.max_hp(replace(PC, radiation=3)) == derived.max_hp(PC) - 3
    assert derived.max_hp(replace(PC, well_rested=True)) == derived.max_hp(PC) + 2
    assert derived.max_hp(replace(PC, radiation=100)) == 0


def test_luck_takes_the_attributes_place_and_not_the_skills() -> None:
    pair = Pair(attribute="AGI", skill="small_guns")
    assert derived.target_number(PC, pair) == 12
    assert derived.target_number(PC, pair, lucky=True) == 10


def test_a_creature_uses_body_or_mind_where_a_person_uses_attributes() -> None:
    creature = Survivor(id="c", name="C", beast=Beast(body=6, mind=4, melee=3, guns=2, other=1))
    shown = {
        (pair.attribute, pair.skill): derived.target_number(creature, pair)
        for pair in (
            Pair(attribute="STR", skill="unarmed"),
            Pair(attribute="AGI", skill="small_guns"),
            Pair(attribute="PER", skill="survival"),
            Pair(attribute="mind", skill="other"),
        )
    }
    assert list(shown.values()) == [9, 8, 5, 5]
    assert derived.crit_face(creature, Pair(attribute="STR", skill="unarmed"), "le", attack=True) == 3
    assert derived.crit_face(creature, Pair(attribute="STR", skill="unarmed"), "le") == 1


def test_weapons_are_used_with_the_pair_of_their_kind() -> None:
    """STR for melee and unarmed, AGI small guns, END big guns, PER energy weapons and explosives, AGI throwing."""
    pairs = {
        kind: derived.weapon_pair(Weapon(id="w", name="W", kind=kind)).attribute
        for kind in ("melee_weapons", "unarmed", "small_guns", "big_guns", "energy_weapons", "explosives", "throwing")
    }
    assert list(pairs.values()) == ["STR", "STR", "AGI", "END", "PER", "PER", "AGI"]


def test_resistance_is_natural_plus_the_better_layer_less_what_is_broken() -> None:
    worn = Survivor(
        id="a",
        name="A",
        dr=(Resist(physical=1), Resist(at="head", energy=2)),
        apparel=(
            Apparel(id="c", name="cloth", layer="clothing", covers=("torso", "head"), physical=1, energy=3),
            Apparel(id="p", name="plate", covers=("torso",), physical=4),
            Apparel(id="x", name="in the bag", covers=("torso",), physical=9, worn=False),
        ),
        broken=(Resist(at="torso", physical=2), Resist(at="head", physical=9)),
    )
    assert derived.resistance(worn, "torso", "physical") == 1 + 4 - 2
    assert derived.resistance(worn, "torso", "energy") == 3
    assert derived.resistance(worn, "head", "energy") == 2 + 3
    assert derived.resistance(worn, "head", "physical") == 0
    assert derived.resistance(worn, "legL", "physical") == 1
    assert derived.resistance(worn, "torso", "poison") == 0
