"""Skirmish's pack: weapon profiles, models and ready tables. Names and figures are our own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engine import gm
from engine.commands import ZoneSpec
from engine.rejected import unknown
from engine.session import Cover, Edge

if TYPE_CHECKING:
    from engine.step import Step

WEAPONS: dict[str, dict[str, Any]] = {
    "carbine": {"id": "carbine", "name": "Patched Carbine", "range": 24, "test": "3P", "traits": [["aim", 1]], "critical": "pierce"},
    "sidearm": {"id": "sidearm", "name": "Sidearm", "range": 8, "test": "3A", "traits": [["cqb", 0]]},
    "sprayer": {"id": "sprayer", "name": "Sprayer", "range": 16, "test": "3A", "traits": [["storm", 1]], "critical": "suppress", "x": 2},
    "scattergun": {"id": "scattergun", "name": "Scattergun", "range": 8, "test": "4P", "critical": "pushback", "x": 2},
    "torch": {
        "id": "torch",
        "name": "Pitch Torch",
        "kind": "heavy",
        "range": 8,
        "test": "4P",
        "traits": [["slow", 0]],
        "critical": "ignite",
        "x": 3,
    },
    "jar": {"id": "jar", "name": "Nail Jar", "kind": "grenade", "range": 8, "test": "4A", "traits": [["once", 0]], "critical": "maim"},
    "cleaver": {"id": "cleaver", "name": "Cleaver", "kind": "melee", "range": 2, "test": "3S", "critical": "maim"},
    "pole": {
        "id": "pole",
        "name": "Fence Pole",
        "kind": "melee",
        "range": 3,
        "test": "4S",
        "traits": [["unwieldy", 1]],
        "critical": "pushback",
    },
    "sting": {"id": "sting", "name": "Sting", "kind": "melee", "range": 2, "test": "3A", "critical": "poison", "x": 2},
}
TEMPLATES: dict[str, dict[str, Any]] = {
    "foreman": {
        "name": "Foreman Dace",
        "special": {"S": 5, "P": 6, "E": 5, "C": 3, "I": 5, "A": 5, "L": 2},
        "weapons": [WEAPONS["carbine"], WEAPONS["cleaver"]],
        "rerolls": 1,
    },
    "ferrier": {
        "name": "Ferrier",
        "special": {"S": 6, "P": 4, "E": 5, "C": 2, "I": 4, "A": 4, "L": 1},
        "weapons": [WEAPONS["scattergun"], WEAPONS["pole"]],
        "harm_limit": 4,
    },
    "linesman": {
        "name": "Linesman",
        "special": {"S": 4, "P": 5, "E": 4, "C": 2, "I": 5, "A": 5, "L": 1},
        "weapons": [WEAPONS["sprayer"], WEAPONS["jar"], WEAPONS["cleaver"]],
    },
    "tithe_warden": {
        "name": "Tithe Warden",
        "special": {"S": 5, "P": 5, "E": 5, "C": 3, "I": 4, "A": 5, "L": 2},
        "weapons": [WEAPONS["sidearm"], WEAPONS["cleaver"]],
    },
    "tithe_burner": {
        "name": "Tithe Burner",
        "special": {"S": 5, "P": 5, "E": 6, "C": 1, "I": 3, "A": 3, "L": 1},
        "weapons": [WEAPONS["torch"], WEAPONS["pole"]],
    },
    "ash_wasp": {
        "name": "Ash Wasp",
        "kind": "creature",
        "special": {"S": 2, "P": 5, "E": 3, "C": 0, "I": 2, "A": 7, "L": 1},
        "weapons": [WEAPONS["sting"]],
    },
}
SAMPLES = {"ferry": "Two crews of three at an abandoned ferry."}

ZONES = (
    ZoneSpec(id="pier", name="the pier", covers=(Cover(id="crates", name="wet crates", hides=("body",)),)),
    ZoneSpec(id="yard", name="the yard"),
    ZoneSpec(id="shed", name="the winch shed", tags=("unlucky",)),
    ZoneSpec(id="ramp", name="the ramp", covers=(Cover(id="hull", name="an upturned hull", hides=("*",)),)),
)
EDGES = (Edge(a="pier", b="yard"), Edge(a="yard", b="shed"), Edge(a="yard", b="ramp"), Edge(a="shed", b="ramp"))


def write(step: Step, name: str) -> None:
    """Write the ready table "ferry". Raises Rejected for an unknown name."""
    if name not in SAMPLES:
        raise unknown("sample", name, sorted(SAMPLES))
    for seat, called in (("ann", "Ann"), ("ben", "Ben")):
        if seat not in step.seats:
            gm.add_seat(step, seat, called, "player", ())
    gm.write_scene(step, "ferry", "The abandoned ferry", ZONES, EDGES, (("pier", "shed"),), (), False)
    for combatant_id, template, side, zone, seat in (
        ("dace", "foreman", "ferrymen", "pier", "ann"),
        ("ferrier", "ferrier", "ferrymen", "pier", "ann"),
        ("linesman", "linesman", "ferrymen", "yard", "ann"),
        ("warden", "tithe_warden", "tithe", "ramp", "ben"),
        ("burner", "tithe_burner", "tithe", "shed", "ben"),
        ("wasp", "ash_wasp", "tithe", "ramp", "ben"),
    ):
        gm.spawn(step, combatant_id, template, "", side, "ferry", zone, False, seat, {})
