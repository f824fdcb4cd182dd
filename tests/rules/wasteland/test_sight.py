"""What players may not know of strangers: not from views, events, options, odds or refusals."""

from __future__ import annotations

from typing import get_args

import msgspec

from engine.rulesets.wasteland import effects, pack, tables
from engine.rulesets.wasteland.model import EffectId, Tier
from tests.rules.wasteland.tables import camp, quiet
from tests.support.secrets import walk
from tests.support.table import Table

SECRET = 907


def numbers(table: Table, seat: str) -> set[int]:
    """Every number a seat was ever sent."""
    found: set[int] = set()

    def look(value: object) -> None:
        if isinstance(value, int):
            found.add(value)

    for sent in table.viewers[seat].sent:
        walk(msgspec.msgpack.decode(sent), look)
    return found


def test_hp_resistance_ammunition_and_attributes_of_strangers_stay_with_the_gm() -> None:
    table = camp(3, 19, 5, 2, 2, 3, 19, 5, 1, 1)
    quiet(table)
    for field, value in (
        ("hp", 800),
        ("max_hp", 800),
        ("dr", [{"at": "torso", "physical": 2}]),
        ("ammo", [{"id": "slugs", "count": SECRET}]),
        ("skills", {"small_guns": 12}),
        ("special", {"AGI": 12, "END": 11}),
        ("defense", 1),
    ):
        table.do("gm", "gm.set", kind="combatants", id="wolf", field=field, value=value)
    table.rejoin("ann")
    table.do("gm", "gm.encounter", scene="camp")
    table.do("ann", "attack", combatant="vera", target="wolf", weapon="gun")
    table.do("ann", "turn.end")
    table.do("gm", "attack", combatant="wolf", target="vera", weapon="gun")
    assert table.session.combatants["wolf"].hp == 798
    told = numbers(table, "ann")
    assert told.isdisjoint({SECRET, SECRET - 1, 800, 798, 24})
    assert {SECRET, 798, 24} <= numbers(table, "gm")
    hit, theirs = table.viewers["ann"].told("wasteland.hit")
    assert hit["damage"] == 4
    assert "suffered" not in hit
    assert theirs["suffered"] == 2, "what happens to a player's character is open"
    attack = table.viewers["ann"].told("wasteland.attack")[-1]
    assert {"tn", "crit"}.isdisjoint(attack)
    assert table.viewers["gm"].told("wasteland.attack")[-1]["tn"] == 24


def test_a_strangers_target_number_is_not_told_by_an_opposed_test() -> None:
    table = camp(3, 4, 5, 6)
    quiet(table)
    table.do("gm", "gm.set", kind="combatants", id="wolf", field="special", value={"STR": 12})
    table.do("gm", "gm.set", kind="combatants", id="wolf", field="skills", value={"athletics": 11})
    table.do("gm", "test.request", combatant="vera", attribute="STR", skill="athletics", opponent="wolf")
    (test,) = table.session.tests
    table.do("gm", "test.roll", test=test, combatant="wolf")
    assert table.view("ann")["tests"][test]["result"]["against"] == 2
    table.do("ann", "test.roll", test=test)
    assert 23 not in numbers(table, "ann")


def test_who_attacks_from_hiding_comes_into_sight_and_who_is_unseen_is_no_target() -> None:
    table = camp(19, 19)
    quiet(table)
    table.do("gm", "gm.hide", id="wolf")
    table.do("gm", "gm.encounter", scene="camp")
    table.refused("ann", "unknown_id", "attack", combatant="vera", target="wolf", weapon="gun")
    table.refused("gm", "not_now", "attack", combatant="vera", target="wolf", weapon="gun")
    assert not any("wolf" in str(option) for option in table.options("ann"))
    table.do("ann", "turn.end")
    assert table.view("ann")["encounters"][table.encounter.id]["current"] == ""
    table.do("gm", "attack", combatant="wolf", target="vera", weapon="gun")
    assert table.view("ann")["combatants"]["wolf"]["name"] == "Wolf"


def test_a_hidden_enemy_within_reach_does_not_show_itself_by_the_difficulty() -> None:
    table = camp(19, 19, 19, 19)
    quiet(table)
    table.do("gm", "gm.move", combatant="wolf", scene="camp", zone="z0", near=["vera"])
    table.do("gm", "gm.hide", id="wolf")
    table.do("gm", "gm.encounter", scene="camp")
    table.do("ann", "attack", combatant="vera", target="crow", weapon="gun")
    assert table.event("wasteland.attack").data["difficulty"] == 1
    for _ in range(4):
        table.do("gm", "turn.end", combatant=table.current)
    table.do("gm", "gm.reveal", id="wolf")
    table.do("ann", "attack", combatant="vera", target="crow", weapon="gun")
    assert table.event("wasteland.attack").data["difficulty"] == 3


def test_a_test_cannot_name_the_concealed() -> None:
    table = camp()
    table.do("gm", "gm.hide", id="wolf")
    table.refused("gm", "not_now", "test.request", combatant="vera", attribute="PER", skill="sneak", opponent="wolf")
    table.refused("gm", "not_now", "test.request", combatant="vera", attribute="PER", skill="sneak", group=["wolf"])
    table.refused("ann", "unknown_id", "luck.timing", combatant="wolf")


def test_every_entry_of_the_pack_makes_a_whole_survivor() -> None:
    """Templates load, carry what they name, and use effects that have rules."""
    found = pack.starter()
    table = camp()
    for name, template in found.templates.items():
        table.do("gm", "gm.spawn", id=f"t-{name}", template=name)
        made = table.session.combatants[f"t-{name}"]
        assert made.hp > 0
        assert [weapon.id for weapon in made.weapons] == list(template.weapons)
        for weapon in made.weapons:
            assert not weapon.ammo or any(stack.id == weapon.ammo and stack.count for stack in made.ammo), (name, weapon.id)
            assert all(effect.id in effects.EFFECTS for effect in weapon.effects)
    used = {weapon for template in found.templates.values() for weapon in template.weapons}
    assert used == set(found.weapons)
    taken = {item for template in found.templates.values() for item in template.items}
    assert taken <= set(found.items)
    worn = {piece for template in found.templates.values() for piece in template.apparel}
    assert worn <= set(found.apparel)


def test_the_pack_shows_every_effect_quality_body_and_rank() -> None:
    """Content to test with: nothing that has a rule is without an example."""
    found = pack.starter()
    effects_used = {one["id"] for weapon in found.weapons.values() for one in weapon.get("effects", ())}
    assert effects_used == set(effects.EFFECTS)
    qualities = {one["id"] for weapon in found.weapons.values() for one in weapon.get("qualities", ())}
    assert qualities == QUALITIES
    fields = [template.fields for template in found.templates.values()]
    assert {one.get("body_type", "person") for one in fields} == set(tables.LOCATIONS)
    assert {one.get("tier", "normal") for one in fields} == set(get_args(Tier))
    assert (len(found.weapons) >= 25, len(found.apparel) >= 15, len(found.items) >= 10, len(found.samples)) == (True, True, True, 3)
    assert sum(1 for one in fields if one["tier"] == "pc") == 6
    assert sum(1 for one in fields if one["tier"] != "pc") >= 15


QUALITIES = {
    "accurate",
    "aquatic",
    "ammo_hungry",
    "blast",
    "bombard",
    "close_quarters",
    "concealed",
    "debilitating",
    "delay",
    "fuel",
    "gatling",
    "inaccurate",
    "limited",
    "mine",
    "night_vision",
    "parry",
    "placed",
    "recoil",
    "recon",
    "reliable",
    "slow_load",
    "suppressed",
    "surge",
    "thrown",
    "two_handed",
    "unreliable",
    "unstable_radiation",
    "wrangle",
}
"""The 28 qualities of the figures."""


def test_every_effect_has_a_rule() -> None:
    assert set(get_args(EffectId)) == set(effects.EFFECTS)


def test_a_concealed_weapon_is_not_among_what_strangers_see() -> None:
    table = camp()
    dagger = {"id": "dagger", "name": "Dagger", "kind": "melee_weapons", "qualities": [{"id": "concealed"}]}
    club = {"id": "club", "name": "Club", "kind": "melee_weapons"}
    table.do("gm", "gm.set", kind="combatants", id="wolf", field="weapons", value=[dagger, club])
    assert [one["id"] for one in table.view("ann")["combatants"]["wolf"]["held"]] == ["club"]
    assert [one["id"] for one in table.view("gm")["combatants"]["wolf"]["held"]] == ["dagger", "club"]


def test_what_somebody_waits_for_is_told_to_nobody_but_their_own_and_the_gm() -> None:
    table = camp()
    quiet(table)
    table.do("gm", "gm.encounter", scene="camp")
    table.do("ann", "ready", combatant="vera", trigger="attacks", who="wolf", action="attack", weapon="gun")
    assert table.viewers["ann"].told("wasteland.ready")[-1]["action"] == "attack"
    assert "action" not in table.viewers["ben"].told("wasteland.ready")[-1]
    assert "ready" not in table.view("ben")["combatants"]["vera"]
    assert table.view("ann")["combatants"]["vera"]["ready"]["trigger"]["who"] == "wolf"


def test_a_mine_is_unseen_until_somebody_steps_on_it() -> None:
    table = camp(19, 18, 1, 1, 1, 1, 1, 1, 12)
    quiet(table)
    trap = {"pair": {"attribute": "AGI", "skill": "athletics"}}
    table.do("gm", "gm.spawn", id="mine", name="A mine", scene="camp", zone="z1", hidden=True, fields={"kind": "object", "trap": trap})
    table.do("gm", "gm.encounter", scene="camp")
    assert "mine" not in table.view("ann")["combatants"]
    assert not any("mine" in str(option) for option in table.options("ann"))
    table.do("ann", "move", combatant="vera", zone="z1")
    assert table.viewers["ann"].told("wasteland.tripped")[-1]["what"] == "mine"
    table.answer("roll", kind="save")
    assert table.session.combatants["vera"].hp == 6
    assert "mine" not in table.session.combatants
