"""Stretch's arithmetic, from numbers to numbers. Integers throughout; every figure is from seeds/stretch_d20.txt."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.rulesets.stretch.model import ATTRIBUTES, STIMPAK, Place, Wanderer, Weapon
from engine.rulesets.stretch.switches import switch

if TYPE_CHECKING:
    from engine.session import Session
    from engine.step import Step

BANDS = ((5, 10), (10, 14), (15, 17), (20, 19))
"""The widest gap and the d20 that it needs ("The Stretch Roll"). Nothing to roll at 0 or less; wider than the last is a Wall."""

VATS: dict[str, tuple[int, int]] = {"torso": (15, 0), "arm": (20, -2), "leg": (20, -2), "head": (25, -4), "weapon": (30, -3)}
"""AP cost and adjustment of a called shot ("V.A.T.S.")."""
VATS_BONUS = 2


def skill_value(tree: Step | Session, who: Wanderer, using: str) -> int:
    """A skill's value; a raw attribute counts ten times ("The Stretch Roll"). At most 100 under skill_scale=100."""
    value = 10 * int(getattr(who.special, using)) if using in ATTRIBUTES else who.skill(using)
    return min(value, 100) if switch(tree, "skill_scale") == "100" else value


def needed(gap: int) -> int | None:
    """The least d20 that succeeds over a gap: 0 when there is nothing to roll, None for a Wall."""
    if gap <= 0:
        return 0
    for widest, face in BANDS:
        if gap <= widest:
            return face
    return None


def gap_of(tree: Step | Session, who: Wanderer, using: str, threshold: int) -> int:
    """Threshold less skill."""
    capped = min(threshold, 100) if switch(tree, "threshold_cap") == "100" else threshold
    return capped - skill_value(tree, who, using)


def stretches(tree: Step | Session, who: Wanderer, face: int, need: int) -> bool:
    """Whether a d20 succeeds over a gap that needs `need`."""
    if switch(tree, "natural_on_stretch") == "on" and face in (1, 20):
        return face == 20
    return face - burden(tree, who) >= need


# --- attacks -------------------------------------------------------------------------------------------------------------


def aim(tree: Step | Session, by: Wanderer, weapon: Weapon, place: Place | None) -> int:
    """What is added to the attack's d20: a tenth of the skill, and in V.A.T.S. +2 with the place's adjustment."""
    bonus = skill_value(tree, by, weapon.skill) // 10 - burden(tree, by)
    if place is None:
        return bonus
    adjustment = VATS[place][1]
    if adjustment and switch(tree, "vats_bonus") == "replaced":
        return bonus + adjustment
    return bonus + VATS_BONUS + adjustment


def defense(tree: Step | Session, who: Wanderer) -> int:
    """The number an attack has to reach: 10 + the Agility modifier ("Combat in one page", To hit)."""
    if switch(tree, "agility_modifier") == "over_5":
        return 10 + who.special.AGI - 5
    return 10 + who.agility_modifier


def crit_from(tree: Step | Session, luck: int) -> int:
    """The lowest d20 that is a critical: 20, at Luck 7-8 19, at 9-10 18 ("Criticals")."""
    if luck < 7:
        return 20
    if luck > 10 and switch(tree, "luck_above_10") == "as_10":
        luck = 10
    return max(19 - (luck - 7) // 2, 2)


def strikes(tree: Step | Session, by: Wanderer, face: int, bonus: int, against: int) -> tuple[bool, bool]:
    """(hit, critical) of an attack's d20."""
    in_range = face >= crit_from(tree, by.special.LCK)
    if face == 1 and switch(tree, "nat1_auto_miss") == "on":
        return False, False
    beaten = face + bonus >= against + (switch(tree, "to_hit") == "beat")
    if face == 20:
        beaten = beaten or switch(tree, "nat20_auto_hit") == "on"
    elif in_range:
        beaten = beaten or switch(tree, "crit_range_auto_hit") == "on"
    return beaten, beaten and in_range


def damage(tree: Step | Session, raw: int, dt: int, dr: int, *, critical: bool = False) -> int:
    """What a hit takes off Health: Threshold first, Resistance from what remains, at least 1, a critical doubles ("Armor", "Criticals")."""
    before = critical and switch(tree, "crit_doubles") == "before_armor"
    left = max(raw * (2 if before else 1) - dt, 0)
    if switch(tree, "dr") == "flat":
        left = max(left - dr, 0)
    else:
        hundredths = left * (100 - min(dr, 100))
        left = -(-hundredths // 100) if switch(tree, "dr_rounding") == "up" else hundredths // 100
    left = max(left, 1)
    return left * 2 if critical and not before else left


# --- hurt and healing ------------------------------------------------------------------------------------------------------


def stimpak(tree: Step | Session, medicine: int) -> int:
    """30 and a third of Medicine."""
    third = -(-medicine // 3) if switch(tree, "medicine_rounding") == "up" else medicine // 3
    return STIMPAK + third


def suffers(tree: Step | Session, who: Wanderer) -> bool:
    """Whether Stress has reached half its maximum; without any Stress nobody suffers."""
    if switch(tree, "half_stress") == "down":
        return who.stress > 0 and who.stress >= who.max_stress // 2
    return who.stress > 0 and 2 * who.stress >= who.max_stress


def burden(tree: Step | Session, who: Wanderer) -> int:
    """What suffering takes off every d20 (switch suffering)."""
    return int(switch(tree, "suffering")) if suffers(tree, who) else 0
