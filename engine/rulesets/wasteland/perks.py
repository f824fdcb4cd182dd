"""Perks and traits as data: what each changes at which step of the rules (FACTS A14, "Perks that touch the engine core").

A step asks `bonus(s, step, *circumstances)` and adds what it gets; no step knows a perk by name. The names are ours; the page
docs/rules/wasteland.md says which published perk each one stands for. What a perk has in plain figures (d20s, difficulty, initiative)
is in its record; chems lend perks too (Survivor.boosts).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from engine.rulesets.wasteland.model import Perk, Survivor


class Mod(NamedTuple):
    """`amount` at a step, when all the circumstances hold. `per_rank`: for each rank of the perk."""

    step: str
    amount: int = 1
    when: tuple[str, ...] = ()
    per_rank: bool = False


PERKS: Mapping[str, tuple[Mod, ...]] = {
    # the turn
    "second_wind": (Mod("second_major", -1),),
    "snap_shooter": (Mod("second_major_price", -1, ("ranged",)), Mod("no_aim")),
    "moving_target": (Mod("sprint_defense"),),
    "quick_draw": (Mod("free_draw"),),
    # the attack roll
    "steady_aim": (Mod("aim_dice"),),
    "sniper": (Mod("called", -1, ("aimed", "ranged")),),
    "center_mass": (Mod("called", -1, ("torso", "ranged")),),
    "awareness": (Mod("aimed_piercing", 1, ("close",)),),
    "daring": (Mod("gm_dice_reroll"),),
    # damage
    "heavy_handed": (Mod("damage_dice", 1, ("melee",)), Mod("complication_range", 1, ("melee",))),
    "finesse": (Mod("damage_reroll", 100, ("fresh",)),),
    "concentrated_fire": (Mod("damage_reroll", 3, ("more_ammo",)),),
    "fateful_shot": (Mod("fated", 1, ("ranged",)),),
    "fateful_blow": (Mod("fated", 1, ("melee",)),),
    "messy": (Mod("messy"),),
    "overload": (Mod("overload", 1, ("energy",)),),
    "chain_shot": (Mod("chain_shot", 1, ("ranged",), per_rank=True),),
    "rush": (Mod("rush", 2),),
    "gunner": (Mod("damage_dice", 1, ("ranged",), per_rank=True),),
    "brawler": (Mod("damage_dice", 1, ("unarmed",), per_rank=True),),
    # the body
    "thick_skin": (Mod("dr_physical", 1, per_rank=True),),
    "deflector": (Mod("dr_energy", 1, per_rank=True),),
    "leaden": (Mod("dr_radiation", 1, per_rank=True),),
    "hardy": (Mod("hp", 2, per_rank=True),),
    # people of the GM
    "aggressive": (Mod("aggressive"),),
    # tests and care
    "smooth_talker": (Mod("forgiven", 1, ("speech",)),),
    "healer": (Mod("aid_hp", 1, per_rank=True),),
    "sound_sleeper": (Mod("recovery", -1),),
}


def held(s: Survivor) -> tuple[Perk, ...]:
    """The perks somebody has, those lent by chems included."""
    return s.perks if not s.boosts else (*s.perks, *(one.perk for one in s.boosts))


def bonus(s: Survivor, step: str, *circumstances: str) -> int:
    """What perks add at a step in these circumstances."""
    if not s.perks and not s.boosts:
        return 0
    total = 0
    for perk in held(s):
        for mod in PERKS.get(perk.id, ()):
            if mod.step == step and all(one in circumstances for one in mod.when):
                total += mod.amount * (max(perk.rank, 1) if mod.per_rank else 1)
    return total
