"""Stretch's pack: weapons, templates and ready tables. Names and figures are our own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engine import gm
from engine.commands import ZoneSpec
from engine.rejected import unknown
from engine.session import Cover, Edge

if TYPE_CHECKING:
    from engine.step import Step

WEAPONS: dict[str, dict[str, Any]] = {
    "knuckles": {"id": "knuckles", "name": "Knuckles", "skill": "brawl", "damage": 5},
    "hatchet": {"id": "hatchet", "name": "Roofer's Hatchet", "skill": "melee", "damage": 11},
    "popgun": {"id": "popgun", "name": "Popgun", "skill": "guns", "damage": 10, "range": 1},
    "longarm": {"id": "longarm", "name": "Ditch Longarm", "skill": "guns", "damage": 16, "range": 3},
    "lamp": {"id": "lamp", "name": "Core Lamp", "skill": "energy", "damage": 8, "range": 2, "radiation": True, "rads": 60},
    "teeth": {"id": "teeth", "name": "Teeth", "skill": "brawl", "damage": 9},
}
TEMPLATES: dict[str, dict[str, Any]] = {
    "tamsin": {
        "name": "Tamsin Rook",
        "special": {"PER": 7, "AGI": 6, "LCK": 7},
        "skills": [["guns", 62], ["brawl", 30], ["medicine", 25], ["sneak", 48]],
        "agility_modifier": 1,
        "health": 42,
        "max_health": 42,
        "dt": 2,
        "dr": 10,
        "ap": 70,
        "max_ap": 70,
        "stimpaks": 1,
        "weapons": [WEAPONS["longarm"], WEAPONS["knuckles"]],
    },
    "brother_ox": {
        "name": "Brother Ox",
        "special": {"STR": 8, "END": 7, "PER": 4, "AGI": 4},
        "skills": [["melee", 58], ["medicine", 47], ["survival", 40]],
        "health": 55,
        "max_health": 55,
        "dt": 4,
        "dr": 20,
        "max_stress": 14,
        "stimpaks": 2,
        "weapons": [WEAPONS["hatchet"], WEAPONS["popgun"]],
    },
    "scrapjack": {
        "name": "Scrapjack",
        "skills": [["guns", 40], ["melee", 35]],
        "health": 28,
        "max_health": 28,
        "dt": 1,
        "weapons": [WEAPONS["popgun"], WEAPONS["hatchet"]],
    },
    "glowkeeper": {
        "name": "Glowkeeper",
        "special": {"PER": 6, "AGI": 3},
        "skills": [["energy", 45], ["brawl", 20]],
        "agility_modifier": -1,
        "health": 34,
        "max_health": 34,
        "dt": 3,
        "dr": 15,
        "weapons": [WEAPONS["lamp"], WEAPONS["knuckles"]],
    },
    "culvert_dog": {
        "name": "Culvert Dog",
        "kind": "creature",
        "special": {"PER": 7, "AGI": 8},
        "skills": [["brawl", 42]],
        "agility_modifier": 2,
        "health": 18,
        "max_health": 18,
        "weapons": [WEAPONS["teeth"]],
    },
}
SAMPLES = {"culvert": "Two travellers, a flooded culvert, and those who live in it."}

ZONES = (
    ZoneSpec(id="road", name="the road", covers=(Cover(id="van", name="a burnt-out van", hides=("leg", "torso")),)),
    ZoneSpec(id="mouth", name="the culvert's mouth"),
    ZoneSpec(id="sump", name="the sump", covers=(Cover(id="grate", name="a rusted grate", hides=("*",)),)),
)
EDGES = (Edge(a="road", b="mouth"), Edge(a="mouth", b="sump"))


def write(step: Step, name: str) -> None:
    """Write the ready table "culvert". Raises Rejected for an unknown name."""
    if name not in SAMPLES:
        raise unknown("sample", name, sorted(SAMPLES))
    for seat, called in (("ann", "Ann"), ("ben", "Ben")):
        if seat not in step.seats:
            gm.add_seat(step, seat, called, "player", ())
    gm.write_scene(step, "culvert", "The flooded culvert", ZONES, EDGES, (("road", "sump"),), (), False)
    for combatant_id, template, side, zone, seat in (
        ("tamsin", "tamsin", "travellers", "road", "ann"),
        ("ox", "brother_ox", "travellers", "road", "ben"),
        ("jack", "scrapjack", "culvert", "mouth", ""),
        ("keeper", "glowkeeper", "culvert", "sump", ""),
        ("dog", "culvert_dog", "culvert", "mouth", ""),
    ):
        gm.spawn(step, combatant_id, template, "", side, "culvert", zone, False, seat, {})
