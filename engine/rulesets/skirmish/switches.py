"""What the rule text leaves open, one named switch each, and how inches become zones. The first value is the default."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from engine.session import Session
    from engine.step import Step

SWITCHES: dict[str, tuple[str | int | bool, ...]] = {
    "luck_pool": ("base", "total"),
    "reroll_before_bonus": ("on", "off"),
    "reroll_once": ("on", "off"),
    "bonus_chain": ("off", "once"),
    "zone_inches": (8, 4, 6),
    "control_area": ("zone", "neighbour"),
    "wide_open": ("no_cover", "off"),
    "rolloffs": ("round", "fight"),
    "fatigue_limit": (3, 2, 5),
    "injury_limit": (3, 2, 5),
}

VARIANTS: dict[str, dict[str, str | int | bool]] = {
    "fine_map": {"zone_inches": 4, "control_area": "neighbour"},
    "wild_luck": {"luck_pool": "total", "bonus_chain": "once"},
}

CLUSTER = 3
"""Inches within which models stand together: what the kernel calls near."""
MOVE = 8
DASH = 12
"""Inches of a move, and of one that costs a Fatigue (FACTS A15)."""


def switch(tree: Step | Session, name: str) -> Any:
    """The value of a switch at this table."""
    for key, value in tree.header.options:
        if key == name:
            return value
    return SWITCHES[name][0]
