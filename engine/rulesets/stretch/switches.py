"""What the rule text leaves open, one named switch each. The first value is the default; docs/rules/stretch.md tells what each means.

The numbers in the comments are those of the list of ambiguities in docs/rules/stretch.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from engine.session import Session
    from engine.step import Step

SWITCHES: dict[str, tuple[str | int | bool, ...]] = {
    "dr": ("percent", "flat"),  # 1
    "dr_rounding": ("down", "up"),  # 2
    "medicine_rounding": ("down", "up"),  # 2
    "half_stress": ("exact", "down"),  # 2
    "agility_modifier": ("given", "over_5"),  # 3
    "to_hit": ("meet", "beat"),  # 4
    "nat20_auto_hit": ("on", "off"),  # 5
    "crit_range_auto_hit": ("on", "off"),  # 5
    "nat1_auto_miss": ("on", "off"),  # 6
    "natural_on_stretch": ("off", "on"),  # 7
    "crit_doubles": ("after_minimum", "before_armor"),  # 8
    "luck_above_10": ("as_10", "widens"),  # 9
    "vats": ("on", "off"),  # 10, and the text's "where the campaign makes it available"
    "vats_pool": ("given", "agility"),  # 10
    "vats_refresh": ("encounter", "turn", "sitting"),  # 10
    "vats_bonus": ("stacks", "replaced"),  # 10
    "called_effect": ("none", "gm"),  # 11
    "zero_health": ("gm", "incapacitated", "dying"),  # 12
    "stabilize": ("stimpak", "action"),  # 12
    "stress_max": ("given", "endurance"),  # 13
    "suffering": (0, 1, 2),  # 13
    "initiative": ("per_agi", "agi_lck", "agi"),  # 14
    "actions": (1, 2),  # 14
    "range": ("weapon", "free"),  # 14
    "skill_scale": ("100", "free"),  # 15
    "threshold_cap": ("none", "100"),  # 16
    "ghoul_protocol": ("both", "rads", "off"),  # 17
    "ghoul_health": ("one", "half", "full"),  # 17
    "crit_effect": ("gm", "none"),  # 18
    "fumble": ("gm", "none"),  # 18
}

VARIANTS: dict[str, dict[str, str | int | bool]] = {
    "plain": {"vats": "off", "crit_effect": "none", "fumble": "none", "zero_health": "incapacitated"},
    "hard": {"suffering": 2, "zero_health": "dying", "stabilize": "action", "called_effect": "gm"},
}


def switch(tree: Step | Session, name: str) -> Any:
    """The value of a switch at this table."""
    for key, value in tree.header.options:
        if key == name:
            return value
    return SWITCHES[name][0]
