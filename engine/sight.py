"""What a viewer may know. Views list what is shown and never delete what is hidden.

A sight is hashable, and most entities look the same to many sights: what a sight sees of an entity is its *grade*, and equal grades share
one view. engine.frames builds on this what one entry shows to each sight.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from engine.entry import Event
from engine.session import KINDS, Prompt, Scene, Seat, Session, Table, Test
from engine.testlife import participants
from engine.zones import concealed

if TYPE_CHECKING:
    from engine.rulesets import Ruleset

Bodies = Callable[[str], str | None]
"""Looks up the text of a chat or post event by id; None when it was erased."""


class Sight(msgspec.Struct, frozen=True):
    """Who looks: role, seat, what the seat controls, and since which version its present holder has it."""

    role: str
    seat: str = ""
    controls: tuple[str, ...] = ()
    since: int = 0


GM = Sight("gm", "@gm")
SPECTATOR = Sight("spectator", "@spectator")


def sight_of(session: Session, seat_id: str) -> Sight:
    """The sight of a seat; that of a spectator when the seat is gone."""
    seat = session.seats.get(seat_id)
    return SPECTATOR if seat is None else Sight(seat.role, seat.id, seat.controls, seat.since)


def _plain(value: Any) -> Any:
    return msgspec.to_builtins(value)


def unseen(rules: Ruleset, session: Session, sight: Sight) -> tuple[str, ...]:
    """Ids of the combatants this sight does not see, sorted: other entities must not name them."""
    if sight.role == "gm":
        return ()
    return tuple(sorted(one.id for one in session.combatants.values() if _combatant_grade(rules, session, one, sight) is None))


class Lost:
    """The combatants that a sight does not see, worked out when first asked for."""

    __slots__ = ("_found", "_of")

    def __init__(self, rules: Ruleset, session: Session, sight: Sight) -> None:
        self._of = (rules, session, sight)
        self._found: tuple[str, ...] | None = None

    def __call__(self) -> tuple[str, ...]:
        if self._found is None:
            self._found = unseen(*self._of)
        return self._found


def _combatant_grade(rules: Ruleset, session: Session, combatant: Any, sight: Sight) -> Hashable | None:
    if sight.role != "gm" and combatant.id not in sight.controls and concealed(session, combatant):
        return None
    return rules.grade_combatant(session, combatant, sight)


def sees(rules: Ruleset, session: Session, combatant: Any, sight: Sight) -> bool:
    """Whether a sight sees anything of a combatant."""
    return _combatant_grade(rules, session, combatant, sight) is not None


def grade(rules: Ruleset, session: Session, kind: str, entity: Any, sight: Sight, lost: Callable[[], tuple[str, ...]]) -> Hashable | None:
    """How much of an entity a sight sees; None is nothing. `lost` gives the combatants it does not see, worked out at most once."""
    gm = sight.role == "gm"
    if kind == "combatants":
        return _combatant_grade(rules, session, entity, sight)
    if kind == "prompts":
        # The asked seat and the GMs see the question; a secret one is the asked seat's alone until its group is complete.
        if entity.to == sight.seat or (gm and not entity.secret):
            return "asked"
        return ("public", bool(entity.combatant) and entity.combatant in lost())
    if gm:
        return "gm"
    if kind == "seats":
        return "own" if entity.id == sight.seat else ("public", lost())
    if kind == "pools":
        return None if entity.hidden else "public"
    if kind == "tests":
        if entity.by in lost():
            return None
        if any(one in sight.controls for one in participants(entity)):
            return ("part", lost())
        return None if entity.hidden else ("public", lost())
    if kind == "scenes":
        return None if entity.hidden else ("public", lost())
    if kind == "encounters":
        return None if _in_hidden_scene(session, entity) else ("public", lost())
    return "public"


def _in_hidden_scene(session: Session, entity: Any) -> bool:
    scene = session.scenes.get(entity.scene)
    return scene is not None and scene.hidden


def _named(session: Session, seen: Hashable, ids: Iterable[str]) -> list[str]:
    """Those of the ids that a grade with a list of unseen combatants may name: present and seen."""
    lost = seen[1] if isinstance(seen, tuple) else ()
    return [one for one in ids if one in session.combatants and one not in lost]


def view_entity(rules: Ruleset, session: Session, kind: str, entity: Any, seen: Hashable) -> dict[str, Any]:
    """The fields of an entity at a grade, in plain form."""
    if kind == "combatants":
        return rules.view_combatant(session, entity, seen)
    shown = VIEWS[kind](session, entity, seen)
    if kind == "tests":
        shown.update(rules.view_test(session, entity, seen))
    return shown


def _seat(session: Session, seat: Seat, seen: Hashable) -> dict[str, Any]:
    shown: dict[str, Any] = {"id": seat.id, "name": seat.name, "role": seat.role}
    if isinstance(seen, tuple):
        shown["controls"] = _named(session, seen, seat.controls)
        return shown
    shown["controls"] = list(seat.controls)
    if seat.person:
        shown["person"] = seat.person
    if seat.prefs:
        shown["prefs"] = dict(seat.prefs)
    return shown


def _table(session: Session, table: Table, seen: Hashable) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "id": "table",
        "name": table.name,
        "paused": table.paused,
        "sitting": table.sitting,
        "clock": table.clock,
        "physical": table.physical,
        "settings": dict(table.settings),
        "ruleset": session.header.ruleset,
        "variant": session.header.variant,
        "options": dict(session.header.options),
        "dice": {
            "scheme": session.header.scheme,
            "open": {
                "index": table.open.index,
                "commitment": table.open.commitment,
                "first": table.open.first,
                "salts": dict(table.open.salts),
                "closed": table.open.closed,
            },
            # Neither whether it has rolled nor which salt came in time: both would tell of secret rolls.
            "hidden": {"index": table.hidden.index, "commitment": table.hidden.commitment},
        },
    }
    if seen == "gm":
        shown["dice"]["hidden"]["salts"] = dict(table.hidden.salts)
    if table.suspended is not None:
        shown["entering"] = table.suspended.prompt
    return shown


def _scene(session: Session, scene: Scene, seen: Hashable) -> dict[str, Any]:
    if seen == "gm":
        shown: dict[str, Any] = _plain(scene)
        return shown
    zones = [zone for zone in scene.zones if not zone.hidden]
    ids = {zone.id for zone in zones}
    return {
        "id": scene.id,
        "name": scene.name,
        "zones": [_plain(zone) for zone in zones],
        "edges": [_plain(edge) for edge in scene.edges if not edge.hidden and edge.a in ids and edge.b in ids],
        "blind": [list(two) for two in scene.blind if two[0] in ids and two[1] in ids],
        "near": [list(two) for two in scene.near if len(_named(session, seen, two)) == 2],
        "tags": list(scene.tags),
    }


def _encounter(session: Session, encounter: Any, seen: Hashable) -> dict[str, Any]:
    lost = seen[1] if isinstance(seen, tuple) else ()
    shown: dict[str, Any] = {
        "id": encounter.id,
        "scene": encounter.scene,
        "round": encounter.round,
        "order": [one for one in encounter.order if one not in lost],
        "initiative": {one: value for one, value in encounter.initiative if one not in lost},
        "acted": [one for one in encounter.acted if one not in lost],
        "current": "" if encounter.current in lost else encounter.current,
        "waiting": bool(encounter.pending),
    }
    if not any(one in lost for one in encounter.order):
        shown["turn"] = encounter.turn  # counts everybody's turns, so it would tell of unseen ones
    if encounter.deadline is not None:
        shown["deadline"] = encounter.deadline
    return shown


def _pool(session: Session, pool: Any, seen: Hashable) -> dict[str, Any]:
    shown: dict[str, Any] = {"id": pool.id, "name": pool.name, "owner": pool.owner, "value": pool.value}
    if pool.cap is not None:
        shown["cap"] = pool.cap
    if seen == "gm":
        shown["hidden"] = pool.hidden
    return shown


def _test(session: Session, test: Test, seen: Hashable) -> dict[str, Any]:
    everything = seen == "gm"
    helpers = [one.combatant for one in test.helpers]
    if not everything:
        helpers = _named(session, seen, helpers)
    shown: dict[str, Any] = {
        "id": test.id,
        "scene": test.scene if everything or not _in_hidden_scene(session, test) else "",
        "by": test.by,
        "label": test.label,
        "status": test.status,
        "helpers": helpers,
    }
    if everything or (isinstance(seen, tuple) and seen[0] == "part"):
        shown["hidden"] = test.hidden
        shown["how"] = {one.combatant: _plain(one.how) for one in test.helpers if one.combatant in helpers}
    return shown


def _prompt(session: Session, prompt: Prompt, seen: Hashable) -> dict[str, Any]:
    shown: dict[str, Any] = {"id": prompt.id, "to": prompt.to, "answered": prompt.answer is not None}
    if prompt.deadline is not None:
        shown["deadline"] = prompt.deadline
    if seen != "asked":
        lost = isinstance(seen, tuple) and seen[1]
        if prompt.combatant in session.combatants and not prompt.secret and not lost:
            shown["combatant"] = prompt.combatant
        return shown
    shown.update(
        kind=prompt.kind, type=prompt.type, text=prompt.text, default=prompt.default, choices=[_plain(one) for one in prompt.choices]
    )
    if prompt.combatant:
        shown["combatant"] = prompt.combatant
    if prompt.ints is not None:
        shown["ints"] = _plain(prompt.ints)
    if prompt.group:
        shown["group"] = prompt.group
    if prompt.data:
        shown["data"] = _plain(dict(prompt.data))
    if prompt.answer is not None:
        shown["answer"] = prompt.answer
    return shown


VIEWS: dict[str, Callable[[Session, Any, Hashable], dict[str, Any]]] = {
    "seats": _seat,
    "table": _table,
    "scenes": _scene,
    "encounters": _encounter,
    "pools": _pool,
    "tests": _test,
    "prompts": _prompt,
}


def view(rules: Ruleset, session: Session, sight: Sight) -> dict[str, dict[str, Any]]:
    """The session as a sight sees it: {kind: {id: fields}}. Kinds without anything to show are left out."""
    lost = Lost(rules, session, sight)
    seen = grade(rules, session, "table", session.table, sight, lost)
    shown: dict[str, dict[str, Any]] = {"table": {"table": view_entity(rules, session, "table", session.table, seen)}}
    for kind in KINDS:
        entities: Mapping[str, Any] = getattr(session, kind)
        part = {}
        for entity_id, entity in entities.items():
            seen = grade(rules, session, kind, entity, sight, lost)
            if seen is not None:
                part[entity_id] = view_entity(rules, session, kind, entity, seen)
        if part:
            shown[kind] = part
    return shown


def may_read(event: Event, sight: Sight, v: int) -> bool:
    """Whether a sight reads an event's full form: it was told to its seat, and to the seat's present holder."""
    return event.to is None or (sight.seat in event.to and v >= sight.since)


def tell(event: Event, sight: Sight, v: int, bodies: Bodies) -> dict[str, Any] | None:
    """An event in plain form as a sight reads it; None when there is nothing for it."""
    if not may_read(event, sight, v):
        if event.public is None:
            return None
        event = event.public
    told = {"type": event.type, "text": event.text, **event.data}
    if event.body:
        body = bodies(event.body)
        told["body"] = body
        told["body_id"] = event.body
        if body is None:
            told["erased"] = True
    return told
