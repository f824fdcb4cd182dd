"""Where combatants are: zones as a graph, distance and range bands, reach, sight and cover.

Works on a Session or on a Step alike; only `place` and `leave` write.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from engine.rejected import Rejected, unknown
from engine.session import Cover, Edge, Scene, Session, Zone

if TYPE_CHECKING:
    from engine.step import Step

BANDS = ("close", "medium", "long", "extreme")
"""Range bands by zones between: the same zone, 1, 2, 3 or more (FACTS A4)."""


@lru_cache(maxsize=256)
def _distances(edges: tuple[Edge, ...], start: str) -> dict[str, int]:
    ways: dict[str, list[str]] = {}
    for edge in edges:
        ways.setdefault(edge.a, []).append(edge.b)
        ways.setdefault(edge.b, []).append(edge.a)
    found = {start: 0}
    ring = [start]
    while ring:
        ring = [other for zone in ring for other in ways.get(zone, ()) if other not in found and not found.update({other: found[zone] + 1})]
    return found


def distance(scene: Scene, a: str, b: str) -> int | None:
    """Zones crossed on the shortest way from a to b; 0 for the same zone, None when there is no way."""
    return 0 if a == b else _distances(scene.edges, a).get(b)


def band(zones: int | None) -> str | None:
    """The range band of a distance; None when there is no way at all."""
    return None if zones is None else BANDS[min(zones, 3)]


def neighbours(scene: Scene, zone: str) -> list[tuple[str, Edge]]:
    """The zones one step away and the ways to them, in the scene's order."""
    return [(edge.b if edge.a == zone else edge.a, edge) for edge in scene.edges if zone in (edge.a, edge.b)]


def ways_for(step: Step, scene: Scene, zone: str) -> list[str]:
    """The neighbouring zones that the acting seat knows a way to; a GM knows all."""
    ways = neighbours(scene, zone)
    if step.is_gm:
        return [other for other, _ in ways]
    known = {one.id for one in scene.zones if not one.hidden}
    return [other for other, way in ways if other in known and not way.hidden]


def sees(scene: Scene, a: str, b: str) -> bool:
    """Whether somebody in zone a sees into zone b."""
    return a == b or ((a, b) not in scene.blind and (b, a) not in scene.blind)


def pair(a: str, b: str) -> tuple[str, str]:
    return (a, b) if a < b else (b, a)


def is_near(scene: Scene, a: str, b: str) -> bool:
    """Whether two combatants are within arm's reach: a symmetrical pair made by a move's `near`, broken by moving."""
    return pair(a, b) in scene.near


def near(scene: Scene, combatant: str) -> list[str]:
    """Everybody within arm's reach of the combatant."""
    return [b if a == combatant else a for a, b in scene.near if combatant in (a, b)]


def cover_of(scene: Scene, combatant: Any) -> Cover | None:
    """The cover a combatant stands behind, if any."""
    zone = scene.zone(combatant.zone)
    if zone is not None and combatant.cover:
        for cover in zone.covers:
            if cover.id == combatant.cover:
                return cover
    return None


def is_covered(scene: Scene, combatant: Any, location: str) -> bool:
    """Whether the combatant's cover hides this hit location."""
    cover = cover_of(scene, combatant)
    return cover is not None and ("*" in cover.hides or location in cover.hides)


def wholly_covered(scene: Scene, combatant: Any) -> bool:
    """Whether nothing of the combatant can be seen over its cover: it cannot be chosen as a target."""
    cover = cover_of(scene, combatant)
    return cover is not None and "*" in cover.hides


def in_hidden_place(tree: Step | Session, combatant: Any) -> bool:
    """Whether a combatant stands in a zone or a scene that only GMs know."""
    scene = tree.scenes.get(combatant.scene)
    if scene is None:
        return False
    zone = scene.zone(combatant.zone)
    return scene.hidden or (zone is not None and zone.hidden)


def concealed(tree: Step | Session, combatant: Any) -> bool:
    """Whether players must not learn of a combatant: it is hidden, or it stands in a hidden place."""
    return combatant.hidden or in_hidden_place(tree, combatant)


def leave(step: Step, combatant_id: str) -> None:
    """Break every reach pair of a combatant."""
    scene = step.scenes.get(step.combatants[combatant_id].scene)
    if scene is not None and any(combatant_id in two for two in scene.near):
        step.change("scenes", scene.id, near=tuple(two for two in scene.near if combatant_id not in two))


def check_moves(step: Step, combatant: Any, zone: Zone) -> None:
    """Refuse a move within a combatant's own zone that can change nothing: nobody whom the acting seat sees is there, and no cover."""
    others = (one for one in step.combatants.values() if one.id != combatant.id and (one.scene, one.zone) == (combatant.scene, zone.id))
    if zone.id == combatant.zone and not zone.covers and not any(step.visible(one) for one in others):
        raise Rejected("illegal_choice", f"{combatant.name} is in {zone.name} already, and nothing else is.", zone=zone.id)


def place(step: Step, combatant_id: str, scene_id: str, zone_id: str, near: Iterable[str] = (), cover: str = "") -> None:
    """Put a combatant into a zone, near others there, behind a cover of it. Raises Rejected for unknown places or people."""
    scene = step.scenes.get(scene_id)
    if scene is None:
        raise unknown("scene", scene_id)
    zone = scene.zone(zone_id)
    if zone is None or (zone.hidden and not step.is_gm):
        raise unknown("zone", zone_id, [z.id for z in scene.zones if not z.hidden])
    if cover and cover not in [c.id for c in zone.covers]:
        raise unknown("cover", cover, [c.id for c in zone.covers])
    others = []
    for other_id in near:
        other = step.combatant(other_id)
        if other_id == combatant_id or (other.scene, other.zone) != (scene_id, zone_id):
            raise Rejected("out_of_range", f"{other.name} is not in that zone, so nobody can move next to it.", combatant=other_id)
        others.append(other_id)
    leave(step, combatant_id)
    step.change("combatants", combatant_id, scene=scene_id, zone=zone_id, cover=cover)
    if others:
        scene = step.scenes[scene_id]
        step.change("scenes", scene_id, near=tuple(sorted({*scene.near, *(pair(combatant_id, other) for other in others)})))
