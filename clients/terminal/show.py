"""What a view, an event, an option or a prompt looks like as lines of text. Knows no rules: it prints what it is given."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .words import clean, clean_lines, odds_line, span

View = Mapping[str, Mapping[str, Mapping[str, Any]]]
Entity = Mapping[str, Any]

_STRUCTURE = frozenset({"id", "name", "scene", "zone", "kind", "template", "cover", "reach", "hidden", "out"})


def name_of(view: View, kind: str, id: str) -> str:
    return clean(view.get(kind, {}).get(id, {}).get("name") or id)


def mine(view: View, seat: str) -> set[str]:
    """Ids of the combatants that the seat controls."""
    return set(view.get("seats", {}).get(seat, {}).get("controls") or [])


def table_lines(view: View, seat: str, role: str, ruleset: str, v: int) -> list[str]:
    table = view.get("table", {}).get("table", {})
    you = clean(view.get("seats", {}).get(seat, {}).get("name") or seat)
    title = clean(table.get("name") or "A table")
    lines = [f"{title} ({clean(ruleset)}). You are {you}, {clean(role)}. Version {v}."]
    if table.get("paused"):
        lines.append("The table is paused.")
    return lines


def scene_lines(view: View, seat: str) -> list[str]:
    """Every scene: its zones with who is there, its ways, and its turn if there is a fight; then whoever is nowhere."""
    lines: list[str] = []
    own = mine(view, seat)
    combatants = view.get("combatants", {})
    placed: set[str] = set()
    for scene_id, scene in view.get("scenes", {}).items():
        lines.append(f"Scene: {clean(scene.get('name') or scene_id)}")
        zones = [zone for zone in scene.get("zones") or [] if isinstance(zone, Mapping)]
        names = {str(zone.get("id")): clean(zone.get("name") or zone.get("id")) for zone in zones}
        for zone_id, zone_name in names.items():
            here = [id for id, each in combatants.items() if each.get("scene") == scene_id and each.get("zone") == zone_id]
            placed.update(here)
            lines.append(f"  {zone_name}:" + ("" if here else " nobody"))
            lines.extend(f"    {combatant_line(view, id, own)}" for id in here)
        if scene.get("edges"):
            lines.append("  Ways: " + ", ".join(_way(edge, names) for edge in scene["edges"]))
        lines.extend(f"  {line}" for line in turn_lines(view, seat, scene_id))
    rest = [id for id in combatants if id not in placed]
    if rest:
        lines.append("Elsewhere:")
        lines.extend(f"  {combatant_line(view, id, own)}" for id in rest)
    lines.extend(_pool_line(pool_id, pool) for pool_id, pool in view.get("pools", {}).items())
    return lines


def _way(edge: Any, names: Mapping[str, str]) -> str:
    if isinstance(edge, Mapping):
        a, b = str(edge.get("a")), str(edge.get("b"))
        return f"{names.get(a, clean(a))} to {names.get(b, clean(b))}" + (f" (cost {edge['cost']})" if edge.get("cost") else "")
    return clean(edge)


def _pool_line(pool_id: str, pool: Entity) -> str:
    cap = f"/{clean(pool['cap'])}" if pool.get("cap") is not None else ""
    return f"{clean(pool.get('name') or pool_id)}: {clean(pool.get('value', '?'))}{cap}"


def combatant_line(view: View, id: str, own: Iterable[str]) -> str:
    """One combatant with every plain field the view shows."""
    entity = view.get("combatants", {}).get(id, {})
    parts = [part for part in (field_text(key, value, entity) for key, value in entity.items()) if part]
    marks = [word for word, on in (("yours", id in own), ("out", entity.get("out")), ("hidden", entity.get("hidden"))) if on]
    if entity.get("cover"):
        marks.append(f"behind {clean(entity['cover'])}")
    text = clean(entity.get("name") or id)
    if marks:
        text += f" ({', '.join(marks)})"
    return text + (": " + ", ".join(parts) if parts else "")


def field_text(key: str, value: Any, entity: Entity) -> str:
    """One field of an entity in words, or "" for what is not shown: `max_x` goes with `x`, lists of plain values are joined."""
    if key in _STRUCTURE or (key.startswith("max_") and key[4:] in entity) or value is None or value is False or value == "":
        return ""
    label = clean(key.replace("_", " "))
    if value is True:
        return label
    if isinstance(value, int):
        most = entity.get(f"max_{key}")
        return f"{label} {value}" + (f"/{most}" if isinstance(most, int) else "")
    if isinstance(value, str):
        return f"{label} {clean(value)}"
    if isinstance(value, Mapping):
        inner = [f"{clean(k)} {clean(v)}" for k, v in value.items() if isinstance(v, int | str)]
        return f"{label} ({', '.join(inner)})" if inner else ""
    if isinstance(value, list):
        inner = [clean(each.get("name") or each.get("id") or "?") if isinstance(each, Mapping) else clean(each) for each in value]
        return f"{label} ({', '.join(inner)})" if inner else ""
    return ""


def turn_lines(view: View, seat: str, scene_id: str | None = None) -> list[str]:
    """Whose turn it is and who is next, for each encounter (of one scene)."""
    lines = []
    own = mine(view, seat)
    for encounter in view.get("encounters", {}).values():
        if scene_id is not None and encounter.get("scene") != scene_id:
            continue
        current = encounter.get("current") or ""
        yours = " (yours)" if current in own else ""
        turn = f"{name_of(view, 'combatants', current)}'s turn{yours}" if current else "nobody's turn"
        following = next_up(view, encounter)
        then = f", then {name_of(view, 'combatants', following)}" if following else ""
        lines.append(f"Round {clean(encounter.get('round', '?'))}: {turn}{then}.")
    return lines


def next_up(view: View, encounter: Entity) -> str:
    """Who comes after the current turn: the next of this round's order who has not acted, else the first of the order."""
    current = encounter.get("current")
    acted = set(encounter.get("acted") or [])
    order = [id for id in encounter.get("order") or [] if not view.get("combatants", {}).get(id, {}).get("out")]
    if current in order and "acted" not in encounter:
        place = order.index(current)
        order = [*order[place + 1 :], *order[:place]]
    waiting = [id for id in order if id not in acted and id != current]
    return str((waiting or [id for id in order if id != current] or [""])[0])


def frame_lines(frame: Mapping[str, Any], view: View) -> list[str]:
    """A frame's events as lines; talk shows who said it."""
    lines: list[str] = []
    for event in frame.get("events") or []:
        lines.extend(event_lines(event, view))
    return lines


def event_lines(event: Mapping[str, Any], view: View) -> list[str]:
    text = clean(event.get("text") or "")
    if "body" not in event and not event.get("erased"):
        return [text] if text else [f"({clean(event.get('type', 'something happened'))})"]
    speaker = event.get("name") or view.get("seats", {}).get(event.get("by") or "", {}).get("name") or event.get("by") or ""
    head = ("(private) " if event.get("private") else "") + (f"{clean(speaker)}: " if speaker else "") + (f"{text} " if text else "")
    if event.get("body") is None:
        return [head + "(erased)"]
    first, *more = clean_lines(event["body"])
    return [head + first, *(f"    {line}" for line in more)]


def option_line(number: int, option: Mapping[str, Any], view: View, odds: Mapping[str, Any] | None) -> str:
    """`3. Attack with the spear, for Ann; costs 1 ap; hit 65%`."""
    text = f"{number}. {clean(option.get('text') or option.get('type'))}"
    combatant = option.get("combatant")
    if combatant and name_of(view, "combatants", combatant) not in text:
        text += f", for {name_of(view, 'combatants', combatant)}"
    cost = ", ".join(f"{clean(each.get('amount'))} {clean(each.get('pool'))}" for each in option.get("cost") or [])
    if cost:
        text += f"; costs {cost}"
    if odds:
        text += f"; {odds_line(dict(odds))}"
    elif option.get("odds"):
        text += f"; `odds {number}` tells the chances"
    return text


def prompt_lines(prompt: Mapping[str, Any], now: int) -> list[str]:
    """A question with when it will be answered without you. Its choices are numbered by the caller."""
    lines = [f"Question: {clean(prompt.get('text') or prompt.get('type'))}"]
    deadline, default = prompt.get("deadline"), prompt.get("default")
    said = next((clean(each.get("text")) for each in prompt.get("choices") or [] if each.get("value") == default), "")
    if isinstance(deadline, int):
        lines.append(f"  Without an answer {span(deadline - now)}" + (f": {said}." if said else " it is settled for you."))
    elif said:
        lines.append(f"  The default is: {said}.")
    return lines
