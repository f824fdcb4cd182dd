"""What an attack can be aimed at, how hard it is, and what it takes: pure questions that attack, options and odds ask alike.

combat_rules_2d20, "Making An Attack" steps 1 and 2, "Range", "Increasing Damage"; FACTS A4, A14.
"""

from __future__ import annotations

from engine import zones
from engine.rejected import Rejected, unknown
from engine.rulesets.wasteland import body, checks, derived, ground, modifiers, perks, tables
from engine.rulesets.wasteland.model import Effect, Pair, Survivor, Weapon
from engine.rulesets.wasteland.switches import switch
from engine.session import Scene, Session
from engine.step import Step

BURST_ROUNDS = 10
"""Rounds in a burst of a gatling weapon (FACTS A14)."""
BLAST_DIFFICULTY = 2
THROWING = Pair(attribute="AGI", skill="throwing")


def weapon_of(s: Survivor, weapon_id: str) -> Weapon:
    """The weapon meant: named, or the only one in hand. Raises Rejected."""
    held = [one for one in s.weapons if one.drawn]
    if not weapon_id:
        if len(held) != 1:
            raise Rejected("illegal_choice", "Say which weapon.", field="weapon", known=[one.id for one in held])
        return held[0]
    for one in s.weapons:
        if one.id == weapon_id:
            if not one.drawn:
                raise Rejected("not_now", f"{one.name} is not in hand.", weapon=weapon_id)
            return one
    raise unknown("weapon", weapon_id, [one.id for one in held])


def is_melee(weapon: Weapon) -> bool:
    return weapon.kind in tables.MELEE


def leaves(weapon: Weapon, *, thrown: bool) -> bool:
    """Whether the attack takes the weapon itself out of the inventory."""
    return thrown or weapon.kind in tables.THROWN


def blasts(weapon: Weapon) -> bool:
    return any(one.id in ("blast", "bombard") for one in weapon.qualities) if weapon.qualities else False


def tags_of(weapon: Weapon, *, thrown: bool = False) -> tuple[str, ...]:
    """What a weapon is, in the words perks use."""
    if weapon.kind in tables.MELEE and not thrown:
        return ("melee", "unarmed") if weapon.kind == "unarmed" else ("melee",)
    return ("ranged", "energy") if weapon.kind == "energy_weapons" else ("ranged",)


def pair_of(weapon: Weapon, *, thrown: bool) -> Pair:
    return THROWING if thrown else derived.weapon_pair(weapon)


def band_to(scene: Scene, by: Survivor, zone: str) -> str:
    """The range band of a zone; where no way leads it counts as extreme."""
    away = zones.distance(scene, by.zone, zone)
    return zones.BANDS[3 if away is None else min(away, 3)]


def why_not(scene: Scene, by: Survivor, weapon: Weapon, target: Survivor, *, thrown: bool = False) -> str:
    """Why this weapon cannot be used on this target; "" when it can (step 1)."""
    if target.id == by.id or target.out or target.dead or target.scene != by.scene:
        return f"{target.name} is no target here."
    if not zones.sees(scene, by.zone, target.zone) or zones.wholly_covered(scene, target):
        return f"{by.name} cannot see {target.name}."
    if weapon.kind in tables.MELEE and not thrown:
        return "" if zones.is_near(scene, by.id, target.id) else f"{target.name} is out of reach of {weapon.name}."
    if derived.has(weapon, "limited") and band_to(scene, by, target.zone) != weapon.range:
        return f"{weapon.name} works only at {weapon.range} range."
    return ""


def why_not_zone(scene: Scene, by: Survivor, weapon: Weapon, zone_id: str) -> str:
    """Why a blast cannot be aimed at a zone; "" when it can."""
    zone = scene.zone(zone_id)
    if zone is None or zone.hidden:
        return "There is no such zone in sight."
    if not zones.sees(scene, by.zone, zone_id):
        return f"{by.name} cannot see {zone.name}."
    if derived.has(weapon, "limited") and band_to(scene, by, zone_id) != weapon.range:
        return f"{weapon.name} works only at {weapon.range} range."
    return ""


def why_not_weapon(by: Survivor, weapon: Weapon, *, one_handed: bool, thrown: bool) -> str:
    """Why the weapon itself cannot be used now; "" when it can."""
    if not weapon.loaded:
        return f"{weapon.name} has to be loaded first."
    if thrown and not derived.has(weapon, "thrown"):
        return f"{weapon.name} is not made for throwing."
    if derived.has(weapon, "placed") or (derived.has(weapon, "mine") and weapon.kind in tables.THROWN):
        return f"{weapon.name} is placed, not thrown."
    return body.why_no_arm(by, weapon, one_handed=one_handed)


def _own_reasons(
    tree: Step | Session, scene: Scene, by: Survivor, weapon: Weapon, zone: str, *, one_handed: bool, thrown: bool
) -> list[tuple[str, int]]:
    """What does not hang on the target: range, reach, hands, recoil, light, sight, perks, the second major action."""
    found: list[tuple[str, int]] = []
    band = band_to(scene, by, zone)
    if weapon.kind not in tables.MELEE or thrown:
        steps = checks.range_steps(band, weapon.range)
        if steps:
            found.append(("range", steps))
        if not derived.has(weapon, "close_quarters"):
            found += modifiers.in_reach(tree, by)
    if weapon.qualities:
        if one_handed and derived.has(weapon, "two_handed"):
            found.append(("one_handed", 2))
        recoil = derived.has(weapon, "recoil")
        if recoil and by.beast is None and recoil > by.special.STR and not by.prone and not by.cover:
            found.append(("recoil", 1))
    if scene.tags or any(one.tags for one in scene.zones):
        night = by.turn.aimed and derived.has(weapon, "night_vision") > 0
        found += ground.attack_reasons(scene, by, zone, weapon, band, sees_in_dark=night)
    if by.injuries and body.suffers(by, "head"):
        found.append(("dim_sight", 2))
    return found


def reasons_for(
    tree: Step | Session,
    scene: Scene,
    by: Survivor,
    weapon: Weapon,
    target: Survivor,
    *,
    called: str,
    one_handed: bool,
    thrown: bool = False,
    granted: bool = False,
) -> modifiers.Reasons:
    """What the difficulty of an attack is made of (step 2; FACTS A4). The total never falls below 0."""
    found: list[tuple[str, int]] = [("defense", derived.defense(target))]
    found += _own_reasons(tree, scene, by, weapon, target.zone, one_handed=one_handed, thrown=thrown)
    if called:
        found.append(("location", 1))
        if by.perks or by.boosts:
            kind = "torso" if called == tables.TRUNK[target.body_type] else "limb"
            aimed = "aimed" if by.turn.aimed and not granted else "hasty"
            eased = perks.bonus(by, "called", kind, aimed, *tags_of(weapon, thrown=thrown))
            if eased:
                found.append(("perk", max(eased, -1)))
    if target.prone:
        found.append(("prone", -1 if target.zone == by.zone else 1))
    if target.unaware:
        found.append(("unaware", -1))
    if not granted:
        found += modifiers.second_major(tree, by)
    found += modifiers.personal(by, pair_of(weapon, thrown=thrown))
    return tuple(found)


def blast_reasons(
    tree: Step | Session, scene: Scene, by: Survivor, weapon: Weapon, zone: str, *, one_handed: bool, granted: bool = False
) -> modifiers.Reasons:
    """The difficulty of a blast at a zone: 2, and all that does not hang on a target (FACTS A14)."""
    found: list[tuple[str, int]] = [("blast", BLAST_DIFFICULTY)]
    found += _own_reasons(tree, scene, by, weapon, zone, one_handed=one_handed, thrown=False)
    if not granted:
        found += modifiers.second_major(tree, by)
    found += modifiers.personal(by, derived.weapon_pair(weapon))
    return tuple(found)


# --- ammunition and damage dice ----------------------------------------------------------------------------------------------


def rounds(weapon: Weapon) -> int:
    """Units of ammunition in one shot or burst."""
    each = weapon.per_shot
    if weapon.qualities:
        each *= max(derived.has(weapon, "ammo_hungry"), 1)
        if derived.has(weapon, "gatling"):
            each *= BURST_ROUNDS
    return max(each, 1)


def shots(s: Survivor, weapon: Weapon) -> int | None:
    """How many shots the weapon's ammunition is good for; None when it needs none."""
    if not weapon.ammo:
        return None
    left = next((one.count for one in s.ammo if one.id == weapon.ammo), 0)
    return left // rounds(weapon)


def most_extra(by: Survivor, weapon: Weapon) -> int:
    """How many more shots (bursts) may add damage: the fire rate; none for an accurate weapon that was aimed."""
    if weapon.kind not in tables.AMMO_BOOSTED or not weapon.ammo:
        return 0
    return weapon.fire_rate


def takes_ap(tree: Step | Session, by: Survivor, weapon: Weapon, *, extra: int = 0, thrown: bool = False) -> bool:
    """Whether AP add damage dice (combat_rules_2d20, "Increasing Damage"; switch `ap_damage`); accurate weapons after Aim."""
    if thrown or weapon.kind in tables.THROWN:
        return bool(switch(tree, "ap_damage") == "melee+thrown")
    if weapon.kind in tables.MELEE:
        return True
    return bool(by.turn.aimed and not extra and derived.has(weapon, "accurate"))


def damage_dice(by: Survivor, weapon: Weapon, extra: int, ap: int, bonus: int, *, thrown: bool = False) -> int:
    """The damage dice of a hit: rating, melee bonus, ammunition, AP, and what a sneak attack and perks add."""
    strong = checks.melee_bonus(by.special.STR) if weapon.kind in tables.MELEE and by.beast is None else 0
    if extra and derived.has(weapon, "gatling"):
        extra *= 2
    more = perks.bonus(by, "damage_dice", *tags_of(weapon, thrown=thrown)) if by.perks or by.boosts else 0
    return weapon.dice + strong + extra + ap + bonus + more


def extra_effects(by: Survivor, weapon: Weapon, target: Survivor, *, sneak: bool, aimed: bool) -> list[Effect]:
    """Effects beside the weapon's own: Vicious of a sneak attack and of surge against machines, Piercing of a perk."""
    found: list[Effect] = []
    if sneak and not any(one.id == "vicious" for one in weapon.effects):
        found.append(Effect(id="vicious"))
    if weapon.qualities and derived.has(weapon, "surge") and body.is_robot(target):
        found.append(Effect(id="vicious"))
    if aimed and (by.perks or by.boosts):
        piercing = perks.bonus(by, "aimed_piercing", "close" if by.zone == target.zone else "far")
        if piercing:
            found.append(Effect(id="piercing", x=piercing))
    return found


def price(by: Survivor, weapon: Weapon, usual: int, *, thrown: bool = False) -> int:
    """AP of a bought attack: perks may make it cheaper."""
    if usual and (by.perks or by.boosts):
        return max(usual + perks.bonus(by, "second_major_price", *tags_of(weapon, thrown=thrown)), 0)
    return usual


def complication_range(by: Survivor, weapon: Weapon) -> int:
    more = 1 if weapon.qualities and derived.has(weapon, "unreliable") else 0
    if by.perks or by.boosts:
        more += perks.bonus(by, "complication_range", *tags_of(weapon))
    return checks.widened(1, more)


def aim_dice(by: Survivor, weapon: Weapon) -> int:
    """How many d20s Aim re-rolls on this turn's first attack."""
    if not by.turn.aimed or by.turn.attacked or (weapon.qualities and derived.has(weapon, "inaccurate")):
        return 0
    return 1 + (perks.bonus(by, "aim_dice") if by.perks or by.boosts else 0)
