"""What a GM may do under every ruleset, in the form of options: commands of the protocol, filled in from what the view shows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..words import clean
from .names import Names

Tool = dict[str, Any]


def _choice(name: str, names: Names, values: Iterable[tuple[Any, str]], **more: Any) -> Mapping[str, Any]:
    choices = [{"value": value, "text": text} for value, text in values]
    return {"name": name, "text": names.texts(f"gm.{more.pop('label', name)}"), "kind": "choice", "choices": choices, **more}


def _int(name: str, names: Names, low: int, high: int | None, default: int, **more: Any) -> Mapping[str, Any]:
    return {"name": name, "text": names.texts(f"gm.{name}"), "kind": "int", "min": low, "max": high, "default": default, **more}


def _text(name: str, names: Names, **more: Any) -> Mapping[str, Any]:
    return {"name": name, "text": names.texts(f"gm.{name}"), "kind": "text", **more}


def _entities(names: Names, kind: str) -> list[tuple[Any, str]]:
    return [(id, names.of(id) or clean(each.get("name") or each.get("label") or id)) for id, each in names.view.get(kind, {}).items()]


def _places(names: Names) -> list[tuple[Any, str]]:
    return [
        ({"scene": scene_id, "zone": zone["id"]}, f"{clean(scene.get('name') or scene_id)}: {clean(zone.get('name') or zone['id'])}")
        for scene_id, scene in names.view.get("scenes", {}).items()
        for zone in scene.get("zones") or []
    ]


def _hidden(names: Names, hidden: bool) -> list[tuple[Any, str]]:
    """What can be shown to players, or hidden from them: things with a mark of their own, and zones."""
    found: list[tuple[Any, str]] = [
        ({"kind": kind, "id": id}, names.of(id) or id)
        for kind in ("combatants", "scenes", "pools", "tests")
        for id, each in names.view.get(kind, {}).items()
        if bool(each.get("hidden")) is hidden
    ]
    for scene_id, scene in names.view.get("scenes", {}).items():
        found += [
            ({"kind": "zone", "id": zone["id"], "scene": scene_id}, clean(zone.get("name") or zone["id"]))
            for zone in scene.get("zones") or []
            if bool(zone.get("hidden")) is hidden
        ]
        for edge in scene.get("edges") or []:
            if bool(edge.get("hidden")) is hidden:
                text = f"{names.of(edge['a']) or clean(edge['a'])} – {names.of(edge['b']) or clean(edge['b'])}"
                found.append(({"kind": "edge", "id": edge["a"], "to": edge["b"], "scene": scene_id}, text))
    return found


def raw(names: Names) -> Tool:
    """Any command, as JSON: for what has no form here."""
    param = {"name": "raw", "text": names.texts("gm.raw"), "kind": "json", "merge": True, "default": {"type": ""}}
    return {"type": "raw", "text": names.texts("tool.raw"), "command": {}, "params": [param]}


def tools(names: Names) -> list[Tool]:
    """Every tool that makes sense at this table now, each complete but for its params."""
    texts, view = names.texts, names.view
    people, places, seats = _entities(names, "combatants"), _places(names), _entities(names, "seats")
    paused = bool(view.get("table", {}).get("table", {}).get("paused"))
    made: list[tuple[str, dict[str, Any], list[Mapping[str, Any]]]] = [
        ("gm.pause", {"on": not paused}, []),
        (
            "gm.undo",
            {},
            [
                _int("to", names, 0, None, 0, optional=True),
                _choice("dice", names, [("keep", texts("gm.keep")), ("new", texts("gm.new"))], default="keep"),
            ],
        ),
    ]
    if shown := _hidden(names, True):
        made.append(("gm.reveal", {}, [_choice("what", names, shown, merge=True)]))
    if shown := _hidden(names, False):
        made.append(("gm.hide", {}, [_choice("what", names, shown, merge=True)]))
    nowhere = [({}, texts("form.none")), *places]
    made.append(
        (
            "gm.spawn",
            {},
            [
                _text("template", names, optional=True),
                _text("name", names, optional=True),
                _text("side", names, optional=True),
                _choice("place", names, nowhere, merge=True, default={}),
                _choice("seat", names, seats, optional=True),
                _choice("hidden", names, [(False, texts("no")), (True, texts("yes"))], default=False),
                {"name": "fields", "text": texts("gm.fields"), "kind": "json", "default": {}},
            ],
        )
    )
    if people:
        who = _choice("combatant", names, people)
        made.append(("gm.move", {}, [who, _choice("place", names, places, merge=True)]))
        made.append(("gm.remove", {}, [who]))
    made.append(("gm.set", {}, [_choice("what", names, _settable(names), merge=True), _text("field", names), _json("value", names)]))
    for scene_id, scene_name in _entities(names, "scenes"):
        if not any(each.get("scene") == scene_id for each in view.get("encounters", {}).values()):
            first = _choice(
                "first", names, [(id, text) for id, text in people if view["combatants"][id].get("scene") == scene_id], optional=True
            )
            made.append(("gm.encounter", {"scene": scene_id, "": scene_name}, [first]))
    for id, fight in view.get("encounters", {}).items():
        where = names.of(str(fight.get("scene"))) or id
        made.append(("gm.encounter.end", {"encounter": id, "": where}, []))
        waiting = [(each, names.of(each) or each) for each in fight.get("order") or [] if each not in (fight.get("acted") or [])]
        made.append(("gm.turn", {"encounter": id, "": where}, [_choice("combatant", names, waiting, optional=True)]))
        absent = [(each, text) for each, text in people if each not in (fight.get("order") or [])]
        if absent:
            made.append(("gm.encounter.join", {"encounter": id, "": where}, [_choice("combatant", names, absent)]))
    for id, prompt in view.get("prompts", {}).items():
        if not prompt.get("answered"):
            asked = names.of(str(prompt.get("to"))) or ""
            said = f"{asked}: {names.prompt(prompt)}" if prompt.get("type") else asked
            how = [("default", texts("gm.take_default")), ("void", texts("gm.void"))]
            made.append(("gm.prompt", {"prompt": id, "": said}, [_choice("do", names, how, default="default")]))
    made += [
        ("gm.sitting", {}, []),
        ("gm.clock", {}, [_int("minutes", names, 1, 525_600, 10)]),
        (
            "gm.dice",
            {},
            [
                _choice("do", names, [(each, texts(f"gm.dice.{each}")) for each in ("reveal", "physical", "seeded")], label="dice_do"),
                _choice("stream", names, [(each, texts(f"dice.{each}")) for each in ("open", "hidden")], default="open"),
            ],
        ),
        ("gm.seat.add", {}, [_text("seat", names), _text("name", names), _choice("role", names, _roles(names), default="player")]),
        (
            "gm.seat",
            {},
            [_choice("seat", names, seats), _choice("role", names, _roles(names), optional=True), _json("controls", names, optional=True)],
        ),
        ("gm.seat.remove", {}, [_choice("seat", names, seats)]),
        ("gm.setting", {}, [_text("key", names), _int("value", names, 0, 1_000_000, 0)]),
    ]
    return [_tool(kind, fields, params, names) for kind, fields, params in made] + [raw(names)]


def _tool(kind: str, fields: dict[str, Any], params: list[Mapping[str, Any]], names: Names) -> Tool:
    about = fields.pop("", "")
    on = "" if "on" not in fields else ".on" if fields["on"] else ".off"
    text = names.texts(f"tool.{kind}{on}") + (f": {about}" if about else "")
    return {"type": kind, "text": text, "command": {"type": kind, **fields}, "params": params, "group": "table"}


def _json(name: str, names: Names, **more: Any) -> Mapping[str, Any]:
    return {"name": name, "text": names.texts(f"gm.{name}"), "kind": "json", **more}


def _roles(names: Names) -> list[tuple[Any, str]]:
    return [(each, names.texts(f"role.{each}")) for each in ("player", "gm", "spectator")]


def _settable(names: Names) -> list[tuple[Any, str]]:
    return [({"kind": kind, "id": id}, text) for kind in ("combatants", "pools", "scenes", "tests") for id, text in _entities(names, kind)]
