"""What follows from a survivor's attributes: HP, initiative, Defense, Luck, target numbers, Damage Resistance (FACTS A11, E)."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from engine.rulesets.wasteland import checks, perks
from engine.rulesets.wasteland.model import Pair, Resist, Survivor, Weapon
from engine.rulesets.wasteland.tables import LOCATION_KINDS, WEAPON_PAIRS

_BODILY = frozenset({"STR", "END", "AGI", "body"})
_MELEE_SKILLS = frozenset({"melee_weapons", "unarmed", "melee"})
_GUN_SKILLS = frozenset({"small_guns", "big_guns", "energy_weapons", "explosives", "throwing", "guns"})

CREATURE_HP: Mapping[str, int] = {"mighty": 2, "legendary": 3}
LUCK_HP: Mapping[str, int] = {"pc": 1, "notable": 1, "major": 2}
NPC_INITIATIVE: Mapping[str, int] = {"notable": 2, "major": 4}
"""What the tiers multiply or add (FACTS A11)."""


def base_hp(s: Survivor) -> int:
    """Maximum HP before radiation and rest."""
    if s.max_hp is not None:
        return s.max_hp
    beast = s.beast
    if beast is not None:
        hp = beast.body + (-(-s.level // 2) if beast.little else 2 * s.level if beast.big else s.level)
        return hp * CREATURE_HP.get(s.tier, 1) + s.hp_bonus
    luck = LUCK_HP.get(s.tier, 0) * s.special.LCK
    level = s.level - 1 if s.tier == "pc" else s.level
    return s.special.END + luck + level + s.hp_bonus + perks.bonus(s, "hp")


def max_hp(s: Survivor) -> int:
    """Maximum HP as it is now: radiation lowers it, being Well Rested raises it by 2."""
    return max(base_hp(s) - s.radiation + (2 if s.well_rested else 0), 0)


def initiative(s: Survivor) -> int:
    if s.initiative is not None:
        return s.initiative
    bonus = sum(perk.initiative for perk in perks.held(s))
    if s.beast is not None:
        return s.beast.body + s.beast.mind + bonus
    return s.special.PER + s.special.AGI + bonus + NPC_INITIATIVE.get(s.tier, 0)


def defense(s: Survivor) -> int:
    """Defense as it is now, with what Defend and a dash added."""
    if s.defense is not None:
        return s.defense + s.guard + s.dash
    if s.beast is not None:
        return max(1 + (1 if s.beast.little else 0) - (1 if s.beast.big else 0), 1) + s.guard + s.dash
    return (2 if s.special.AGI >= 9 else 1) + s.guard + s.dash


def max_luck(s: Survivor) -> int:
    """Luck points when full."""
    if s.beast is not None:
        return 0
    luck = s.special.LCK
    return luck if s.tier in ("pc", "major") else -(-luck // 2) if s.tier == "notable" else 0


def carry(s: Survivor) -> int:
    """What it carries, in pounds."""
    return (150 if s.tier == "pc" else 50) + 10 * s.special.STR


def beast_pair(pair: Pair) -> tuple[str, str]:
    """The body or mind + melee, guns or other that a creature tests with where a person would use this pair."""
    attribute = "body" if pair.attribute in _BODILY else "mind"
    skill = "melee" if pair.skill in _MELEE_SKILLS else "guns" if pair.skill in _GUN_SKILLS else "other"
    return attribute, skill


def rank(s: Survivor, skill: str) -> int:
    if s.beast is not None:
        return int(getattr(s.beast, skill, 0))
    return int(getattr(s.skills, skill, 0))


def target_number(s: Survivor, pair: Pair, *, lucky: bool = False) -> int:
    """Attribute + skill; `lucky` puts LCK in the attribute's place (core_rules_2d20, "Stacked Deck")."""
    if s.beast is not None:
        attribute, skill = beast_pair(pair)
        return int(getattr(s.beast, attribute)) + rank(s, skill)
    attribute = "LCK" if lucky else pair.attribute
    return int(getattr(s.special, attribute, 0)) + rank(s, pair.skill)


def crit_face(s: Survivor, pair: Pair, tag_crit: str, *, attack: bool = False) -> int:
    """The face up to which a d20 counts twice. A creature's attacks count as tagged."""
    if s.beast is not None:
        return checks.crit_face(rank(s, beast_pair(pair)[1]), attack, tag_crit)
    return checks.crit_face(rank(s, pair.skill), pair.skill in s.tags, tag_crit)


def weapon_pair(weapon: Weapon) -> Pair:
    """Which attribute + skill a weapon is used with (combat_rules_2d20, "Making an Attack", step 2)."""
    usual = WEAPON_PAIRS[weapon.kind]
    if weapon.attribute is None and weapon.skill is None:
        return usual
    return Pair(attribute=weapon.attribute or usual.attribute, skill=weapon.skill or usual.skill)


def has(weapon: Weapon, quality: str) -> int:
    """The rating of a weapon's quality, 0 when it has not got it (a rating of 0 counts as 1)."""
    for one in weapon.qualities:
        if one.id == quality:
            return max(one.x, 1)
    return 0


def resistance(s: Survivor, at: str, kind: str) -> int:
    """Damage Resistance at a location against a type of damage: natural, the better of clothing and outer piece, less what is broken."""
    total = 0
    for one in s.dr:
        if one.at in ("", "*", at):
            total += getattr(one, kind)
    if s.apparel and kind != "poison":
        best = 0
        for piece in s.apparel:
            if piece.worn and at in piece.covers:
                best = max(best, getattr(piece, kind))
        total += best
    if s.perks or s.boosts:
        total += perks.bonus(s, f"dr_{kind}")
    if s.broken:
        total -= sum(getattr(one, kind) for one in s.broken if one.at == at)
    return max(total, 0)


def resistance_to(s: Survivor, at: str, kinds: tuple[str, ...]) -> int:
    """Damage Resistance against a hit of several types: the lowest counts."""
    return min(resistance(s, at, kind) for kind in kinds)


def bodily_resistance(s: Survivor, kind: str) -> int:
    """Against what comes over the whole body: the lowest of its locations (combat_rules_2d20, "Radiation Damage")."""
    return min(resistance(s, at, kind) for at in LOCATION_KINDS[s.body_type])


def kinds_of(weapon: Weapon) -> tuple[str, ...]:
    """The types of a weapon's damage."""
    return (weapon.type, *weapon.also) if weapon.also else (weapon.type,)


def lost(broken: tuple[Resist, ...], at: str, kind: str, amount: int) -> tuple[Resist, ...]:
    """`broken` with more DR of a type lost at a location."""
    return (*broken, replace(Resist(at=at), **{kind: amount}))


def condition(s: Survivor) -> str:
    """How somebody looks to those who may not see their HP."""
    if s.dead:
        return "dead"
    if s.dying or s.unconscious or s.hp == 0:
        return "down"
    full = max_hp(s)
    return "unhurt" if s.hp >= full else "hurt" if 2 * s.hp > full else "badly hurt"
