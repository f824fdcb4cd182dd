"""Inches on a map of zones, and who may do what to whom there: for rules and options alike.

A zone is as wide as the switch zone_inches says; who is near (the kernel's word) stands within 3 inches.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from engine import turns, zones
from engine.rulesets.skirmish import harm
from engine.rulesets.skirmish.model import Model, Weapon
from engine.rulesets.skirmish.switches import CLUSTER, switch

if TYPE_CHECKING:
    from engine.session import Scene, Session
    from engine.step import Step

UNLUCKY = "unlucky"
"""Tag of a zone into which attacks are unlucky rolls (darkness, storm, smoke)."""


def known(scene: Scene, *, gm: bool) -> Scene:
    """The scene with the ways that a player knows; GMs know all."""
    if gm:
        return scene
    shown = {zone.id for zone in scene.zones if not zone.hidden}
    return replace(scene, edges=tuple(way for way in scene.edges if not way.hidden and way.a in shown and way.b in shown))


def inches_left(tree: Step | Session, scene: Scene, a: str, b: str, inches: int) -> int | None:
    """What is left of so many inches after walking from zone a to zone b; None when it is too far."""
    away = zones.distance(scene, a, b)
    left = None if away is None else inches - away * int(switch(tree, "zone_inches"))
    return left if left is not None and left >= 0 else None


def may_join(left: int) -> bool:
    """Whether the inches left are enough to come within 3 of somebody."""
    return left >= CLUSTER


def reaches(tree: Step | Session, by: Model, weapon: Weapon, target: Model) -> bool:
    """Whether a weapon strikes a target: within its inches, in sight, not wholly behind cover; in a brawl only what suits one (added)."""
    scene = tree.scenes.get(by.scene)
    if scene is None or target.scene != by.scene or target.id == by.id:
        return False
    if zones.wholly_covered(scene, target) or not zones.sees(scene, by.zone, target.zone):
        return False
    if weapon.range <= CLUSTER:
        return zones.is_near(scene, by.id, target.id)
    if turns.is_engaged(tree, by) and weapon.trait("cqb") is None:
        return False
    return within(tree, by, target, weapon.range)


def within(tree: Step | Session, by: Model, target: Model, inches: int) -> bool:
    """Whether so many inches reach from one model's zone to the other's."""
    away = zones.distance(tree.scenes[by.scene], by.zone, target.zone)
    return away is not None and away <= inches // int(switch(tree, "zone_inches"))


def ready(by: Model, weapon: Weapon) -> bool:
    """Whether the weapon can be used now: not spent, and not a slow one after a move."""
    return not weapon.used and not (by.moved and weapon.trait("slow") is not None)


def is_unlucky(tree: Step | Session, target: Model) -> bool:
    zone = tree.scenes[target.scene].zone(target.zone)
    return zone is not None and UNLUCKY in zone.tags


def may_support(tree: Step | Session, by: Model, helper: Model, target: Model | None = None) -> bool:
    """Whether a friend may add a die (FACTS A15): unengaged, in the control area, able to take a Fatigue; to an attack also in
    sight of the target and with a ranged weapon that is neither grenade nor heavy."""
    scene = tree.scenes.get(by.scene)
    if helper.id == by.id or helper.side != by.side or helper.out or helper.scene != by.scene or scene is None:
        return False
    if not harm.can_tire(tree, helper) or turns.is_engaged(tree, helper):
        return False
    away = zones.distance(scene, by.zone, helper.zone)
    if away is None or away > (1 if switch(tree, "control_area") == "neighbour" else 0):
        return False
    if target is None:
        return True
    armed = any(one.kind == "ranged" and not one.used for one in helper.weapons)
    return armed and target.scene == helper.scene and zones.sees(scene, helper.zone, target.zone)


def is_wide_open(tree: Step | Session, target: Model) -> bool:
    """Whether the target has no cover at all (switch wide_open)."""
    return switch(tree, "wide_open") == "no_cover" and zones.cover_of(tree.scenes[target.scene], target) is None


def base_test(by: Model, weapon: Weapon) -> str:
    """The weapon's test, with fewer dice for an unwieldy one after a move; one die always stays."""
    clumsy = weapon.trait("unwieldy") if by.moved else None
    return f"{max(int(weapon.test[:-1]) - (clumsy or 0), 1)}{weapon.test[-1]}"


def bonus_dice(tree: Step | Session, by: Model, weapon: Weapon, target: Model, supporters: int) -> int:
    """Dice added to an attack: one per supporter (Charisma at most), for a wide open target, per Harm on it, and by traits."""
    bonus = min(supporters, by.special.C) + is_wide_open(tree, target) + target.harm
    if not by.moved:
        bonus += weapon.trait("aim") or 0
    if within(tree, by, target, weapon.range // 2):
        bonus += weapon.trait("storm") or 0
    return bonus
