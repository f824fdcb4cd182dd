"""What the surroundings do: light and weather as difficulty, hazards as damage (combat_rules_2d20, "Environment Conditions", "Hazards").

Zones and scenes say so by tags: `dark1` to `dark3`, `fog`, `rain1`, `rain2`, `underwater`, and `hazard.<name>` for a row of HAZARDS.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from engine.rejected import unknown
from engine.rulesets.wasteland import checks, effects, tables
from engine.rulesets.wasteland.model import Effect, Pair, Survivor, Weapon
from engine.rulesets.wasteland.switches import switch
from engine.session import Scene, Session
from engine.step import Step
from engine.talk import fact


class Hazard(NamedTuple):
    """Damage dice, their type and effects; `whole` comes over the whole body."""

    dice: int
    type: str
    effects: tuple[Effect, ...] = ()
    whole: bool = False


STUN, PERSISTENT = Effect(id="stun"), Effect(id="persistent")
HAZARDS: Mapping[str, Hazard] = {
    "debris": Hazard(3, "physical"),
    "fall": Hazard(3, "physical", (STUN,)),
    "flame": Hazard(2, "energy"),
    "blaze": Hazard(3, "energy", (PERSISTENT,)),
    "discharge": Hazard(3, "energy", (STUN,)),
    "spill": Hazard(2, "poison"),
    "immersed": Hazard(3, "poison", (PERSISTENT,)),
    "bad_water": Hazard(2, "radiation", (PERSISTENT,), True),
    "bad_air": Hazard(2, "radiation", (Effect(id="piercing", x=1),), True),
    "waste": Hazard(5, "radiation", (), True),
    "radstorm": Hazard(2, "radiation", (), True),
}
"""FACTS A7. `fall` is for each zone fallen."""
PREFIX = "hazard."


def tags_at(scene: Scene, zone_id: str) -> tuple[str, ...]:
    """What a zone is like: its own tags and those of the whole scene."""
    zone = scene.zone(zone_id)
    return scene.tags if zone is None else (*scene.tags, *zone.tags)


def _most(tags: tuple[str, ...], name: str) -> int:
    """The highest number behind a tag's name: 2 for `rain2`; a bare name counts 1."""
    found = 0
    for tag in tags:
        if tag == name:
            found = max(found, 1)
        elif tag.startswith(name) and tag[len(name) :].isdigit():
            found = max(found, int(tag[len(name) :]))
    return min(found, 3)


def attack_reasons(scene: Scene, by: Survivor, target_zone: str, weapon: Weapon, band: str, *, sees_in_dark: bool) -> list[tuple[str, int]]:
    """Difficulty that light and weather add to an attack (FACTS A4)."""
    tags = tags_at(scene, target_zone)
    if by.zone != target_zone:
        tags = (*tags, *tags_at(scene, by.zone))
    if not tags:
        return []
    found = []
    dark = 0 if sees_in_dark else _most(tags, "dark")
    if dark:
        found.append(("darkness", dark))
    if band != "close" and _most(tags, "fog"):
        found.append(("fog", 1))
    rain = min(_most(tags, "rain"), 2)
    if rain and weapon.kind == "energy_weapons":
        found.append(("rain", rain))
    if _most(tags, "underwater") and not any(one.id == "aquatic" for one in weapon.qualities):
        found.append(("underwater", 2))
    return found


def test_reasons(tree: Step | Session, s: Survivor, pair: Pair, *, vision: bool) -> list[tuple[str, int]]:
    """The same for a test: darkness where it relies on sight, rain on Survival."""
    scene = tree.scenes.get(s.scene)
    if scene is None:
        return []
    tags = tags_at(scene, s.zone)
    if not tags:
        return []
    found = []
    dark = _most(tags, "dark")
    if dark and vision:
        found.append(("darkness", dark))
    rain = min(_most(tags, "rain"), 2)
    if rain and pair.skill == "survival":
        found.append(("rain", rain))
    return found


def hazards_at(step: Step, s: Survivor) -> list[str]:
    """The hazards of the zone somebody is in."""
    scene = step.scenes.get(s.scene)
    if scene is None:
        return []
    return [tag[len(PREFIX) :] for tag in tags_at(scene, s.zone) if tag.startswith(PREFIX) and tag[len(PREFIX) :] in HAZARDS]


def suffer_place(step: Step, combatant_id: str) -> None:
    """Everything that is dangerous about where somebody is, once."""
    for name in hazards_at(step, step.combatants[combatant_id]):
        if not step.combatants[combatant_id].out:
            suffer(step, combatant_id, name)


def hazard(name: str) -> Hazard:
    """A row of HAZARDS. Raises Rejected("unknown_id")."""
    found = HAZARDS.get(name)
    if found is None:
        raise unknown("hazard", name, sorted(HAZARDS))
    return found


def suffer(step: Step, combatant_id: str, name: str, times: int = 1) -> None:
    """A hazard hurts somebody; a fall so many zones deep."""
    row = hazard(name)
    harm(step, combatant_id, name, row.dice * times, row.type, row.effects, whole=row.whole)


def harm(
    step: Step, combatant_id: str, name: str, dice: int, kind: str, damage_effects: tuple[Effect, ...], *, whole: bool = False, by: str = ""
) -> None:
    """Damage dice that no attack rolled."""
    s: Survivor = step.combatants[combatant_id]
    if not dice:
        return
    rolled = step.roll(dice, 6, purpose="hazard", actor=s.id)
    weapon = Weapon(id=name, name=name, kind="natural", dice=dice, type=kind, effects=damage_effects)  # type: ignore[arg-type]
    total, symbols = checks.damage(rolled.faces, switch(step, "effect_face_damage"))
    step.about(s.id, "wasteland.hazard", f"{s.name} suffers: {name.replace('_', ' ')}.", combatant=s.id, what=name, rolls=[fact(rolled)])
    exposed(step, combatant_id, weapon, total, symbols, whole=whole, by=by)


def exposed(step: Step, combatant_id: str, weapon: Weapon, total: int, symbols: int, *, whole: bool, by: str = "") -> None:
    """Damage dice that lie on the table hurt somebody, at a location of its own or (`whole`) all over."""
    s: Survivor = step.combatants[combatant_id]
    rolls: list[Any] = []
    if whole:
        at = tables.TRUNK[s.body_type]
    else:
        place = step.roll(1, 20, purpose="location", actor=s.id)
        rolls.append(fact(place))
        at = tables.location_of(s.body_type, place.faces[0])
    blow = effects.Blow(step, by, combatant_id, weapon, at, total, symbols, False, further=True)
    blow.whole, blow.open = whole, True
    effects.land(blow, [], rolls=rolls)


def in_zone(step: Step, scene_id: str, zone_id: str) -> list[Survivor]:
    """Everybody in a zone who can be hurt."""
    return [
        one for one in step.combatants.values() if (one.scene, one.zone) == (scene_id, zone_id) and not one.out and one.kind != "object"
    ]
