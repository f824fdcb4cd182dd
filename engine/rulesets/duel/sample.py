"""Duel's ready table: a mill yard, two sides, four fighters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engine import gm
from engine.commands import ZoneSpec
from engine.rejected import unknown
from engine.session import Cover, Edge

if TYPE_CHECKING:
    from engine.step import Step

TEMPLATES: dict[str, dict[str, Any]] = {
    "reed": {"name": "Reed", "weapon": "blade", "skill": 5, "guard": 4, "speed": 13},
    "slate": {"name": "Slate", "weapon": "maul", "skill": 4, "guard": 3, "armor": 1, "hp": 14, "max_hp": 14, "speed": 8},
    "wick": {"name": "Wick", "weapon": "sling", "skill": 5, "guard": 3, "hp": 10, "max_hp": 10, "grit": 2, "speed": 12},
    "tollman": {"name": "Tollman", "weapon": "maul", "skill": 4, "guard": 3, "armor": 2, "speed": 9},
    "stray": {"name": "Stray", "weapon": "blade", "skill": 3, "guard": 2, "hp": 8, "max_hp": 8, "grit": 0, "speed": 11},
}

ZONES = (
    ZoneSpec(id="gate", name="the gate"),
    ZoneSpec(id="yard", name="the mill yard", covers=(Cover(id="cart", name="an upturned cart", hides=("leg", "body"), value=2),)),
    ZoneSpec(id="loft", name="the loft", covers=(Cover(id="sacks", name="a wall of sacks", hides=("*",)),)),
)
EDGES = (Edge(a="gate", b="yard"), Edge(a="yard", b="loft"))


def write(step: Step, name: str) -> None:
    """Write the ready table "yard". Raises Rejected for an unknown name."""
    if name != "yard":
        raise unknown("sample", name, ["yard"])
    for seat, called in (("ann", "Ann"), ("ben", "Ben")):
        if seat not in step.seats:
            gm.add_seat(step, seat, called, "player", ())
    gm.write_scene(step, "mill", "The old mill", ZONES, EDGES, (("gate", "loft"),), (), False)
    for combatant_id, template, side, zone, seat in (
        ("c1", "reed", "millers", "yard", "ann"),
        ("c2", "wick", "millers", "loft", "ben"),
        ("c3", "tollman", "tollmen", "yard", ""),
        ("c4", "stray", "tollmen", "gate", ""),
    ):
        gm.spawn(step, combatant_id, template, "", side, "mill", zone, False, seat, {})
