"""What a viewer may know. Views list what is shown and never delete what is hidden; a frame is what one entry shows to one sight.

A sight is hashable, and most entities look the same to many sights: what a sight sees of an entity is its *grade*, and equal grades share
one view. Two sights that see the same of an entry share one frame, so the server encodes it once.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from engine.entry import Entry, Event
from engine.session import KINDS, Prompt, Scene, Seat, Session, Table, Test
from engine.testlife import participants

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


def _combatant_grade(rules: Ruleset, session: Session, combatant: Any, sight: Sight) -> Hashable | None:
    if sight.role == "gm" or combatant.id in sight.controls:
        return rules.grade_combatant(session, combatant, sight)
    scene = session.scenes.get(combatant.scene)
    if scene is not None:
        zone = scene.zone(combatant.zone)
        if scene.hidden or (zone is not None and zone.hidden):
            return None
    return None if combatant.hidden else rules.grade_combatant(session, combatant, sight)


def grade(rules: Ruleset, session: Session, kind: str, entity: Any, sight: Sight, lost: Callable[[], tuple[str, ...]]) -> Hashable | None:
    """How much of an entity a sight sees; None is nothing. `lost` gives the combatants it does not see, worked out at most once."""
    gm = sight.role == "gm"
    if kind == "combatants":
        return _combatant_grade(rules, session, entity, sight)
    if kind == "table":
        return "gm" if gm else "public"
    if kind == "seats":
        return "gm" if gm else "own" if entity.id == sight.seat else "public"
    if kind == "prompts":
        # The asked seat and the GMs see the question; a secret one is the asked seat's alone until its group is complete.
        if entity.to == sight.seat or (gm and not entity.secret):
            return "asked"
        return ("public", entity.combatant in lost())
    if gm:
        return "gm"
    if kind == "pools":
        return None if entity.hidden else "public"
    if kind == "tests":
        mine = any(one in sight.controls for one in participants(entity))
        return "part" if mine else None if entity.hidden or entity.by in lost() else ("public", lost())
    if kind == "scenes" and entity.hidden:
        return None
    if kind == "encounters":
        scene = session.scenes.get(entity.scene)
        if scene is not None and scene.hidden:
            return None
    return ("seen", lost())


def view_entity(rules: Ruleset, session: Session, kind: str, entity: Any, seen: Hashable) -> dict[str, Any]:
    """The fields of an entity at a grade, in plain form."""
    if kind == "combatants":
        return rules.view_combatant(session, entity, seen)
    return VIEWS[kind](session, entity, seen)


def _seat(session: Session, seat: Seat, seen: Hashable) -> dict[str, Any]:
    shown: dict[str, Any] = {"id": seat.id, "name": seat.name, "role": seat.role}
    if seen == "public":
        shown["controls"] = [one for one in seat.controls if one in session.combatants and not session.combatants[one].hidden]
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
            # Not whether it has rolled: that would tell of secret rolls.
            "hidden": {"index": table.hidden.index, "commitment": table.hidden.commitment, "salts": dict(table.hidden.salts)},
        },
    }
    if seen == "gm":
        shown["last"] = table.last
    if table.suspended is not None:
        shown["entering"] = table.suspended.prompt
    return shown


def _scene(session: Session, scene: Scene, seen: Hashable) -> dict[str, Any]:
    if seen == "gm":
        shown: dict[str, Any] = _plain(scene)
        return shown
    lost = seen[1] if isinstance(seen, tuple) else ()
    zones = [zone for zone in scene.zones if not zone.hidden]
    ids = {zone.id for zone in zones}
    return {
        "id": scene.id,
        "name": scene.name,
        "zones": [_plain(zone) for zone in zones],
        "edges": [_plain(edge) for edge in scene.edges if not edge.hidden and edge.a in ids and edge.b in ids],
        "blind": [list(two) for two in scene.blind if two[0] in ids and two[1] in ids],
        "near": [list(two) for two in scene.near if two[0] not in lost and two[1] not in lost],
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
    if not lost:
        shown["turn"] = encounter.turn
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
    lost = seen[1] if isinstance(seen, tuple) else ()
    shown: dict[str, Any] = {
        "id": test.id,
        "scene": test.scene,
        "by": test.by,
        "label": test.label,
        "status": test.status,
        "helpers": [one.combatant for one in test.helpers if one.combatant not in lost],
        "frame": _plain(test.frame),
        "result": _plain(test.result),
    }
    if seen in ("gm", "part"):
        shown["hidden"] = test.hidden
        shown["how"] = {one.combatant: _plain(one.how) for one in test.helpers}
    return shown


def _prompt(session: Session, prompt: Prompt, seen: Hashable) -> dict[str, Any]:
    shown: dict[str, Any] = {"id": prompt.id, "to": prompt.to, "answered": prompt.answer is not None}
    if prompt.deadline is not None:
        shown["deadline"] = prompt.deadline
    if seen != "asked":
        if prompt.combatant and not prompt.secret and not (isinstance(seen, tuple) and seen[1]):
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
    memo: list[tuple[str, ...]] = []

    def lost() -> tuple[str, ...]:
        if not memo:
            memo.append(unseen(rules, session, sight))
        return memo[0]

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


class Renderer:
    """Frames of one entry for many sights: each distinct one is built once.

    `frame(sight)` gives (key, parts): equal keys are equal parts, and parts is {} when there is nothing this sight may see.
    """

    def __init__(self, rules: Ruleset, before: Session | None, after: Session, entry: Entry, bodies: Bodies) -> None:
        self.rules, self.before, self.after, self.entry, self.bodies = rules, before, after, entry, bodies
        self._views: dict[tuple[str, str, bool, Hashable], dict[str, Any]] = {}
        self._frames: dict[Hashable, dict[str, Any]] = {}
        self._touched = [(change.kind, change.id) for change in entry.changes if change.kind != "header" and not _silent(change)]

    def frame(self, sight: Sight) -> tuple[Hashable, dict[str, Any]]:
        entry = self.entry
        heard = tuple(may_read(event, sight, entry.v) for event in entry.events)
        if self.before is None or entry.sight:
            # What the sight depends on changed: a whole view, and nothing to share but among equal sights.
            key: Hashable = ("view", sight)
            if key not in self._frames:
                parts = self._said(sight)
                parts["view"] = view(self.rules, self.after, sight)
                self._frames[key] = parts
            return key, self._frames[key]
        shown, key_parts = self._shown(sight)
        key = (heard, tuple(key_parts))
        if key not in self._frames:
            parts = self._said(sight)
            parts.update(self._changed(shown))
            self._frames[key] = parts
        return key, self._frames[key]

    def _said(self, sight: Sight) -> dict[str, Any]:
        told = [one for event in self.entry.events if (one := tell(event, sight, self.entry.v, self.bodies)) is not None]
        return {"events": told} if told else {}

    def _shown(self, sight: Sight) -> tuple[list[tuple[str, str, Hashable, Hashable]], list[Hashable]]:
        before, after = self.before, self.after
        assert before is not None
        lost_before: list[tuple[str, ...]] = []
        lost_after: list[tuple[str, ...]] = []

        def was_lost() -> tuple[str, ...]:
            if not lost_before:
                lost_before.append(unseen(self.rules, before, sight))
            return lost_before[0]

        def is_lost() -> tuple[str, ...]:
            if not lost_after:
                lost_after.append(unseen(self.rules, after, sight))
            return lost_after[0]

        touched = self._touched
        if any(kind == "combatants" for kind, _ in touched) and sight.role != "gm" and was_lost() != is_lost():
            # Somebody stepped out of or into sight (a hidden place): whatever names them looks different now.
            seen_kinds = ("scenes", "encounters", "tests", "prompts", "combatants")
            extra = [
                (kind, one)
                for kind in seen_kinds
                for one in {**getattr(before, kind), **getattr(after, kind)}
                if (kind, one) not in touched
            ]
            touched = [*touched, *extra]
        shown: list[tuple[str, str, Hashable, Hashable]] = []
        keys: list[Hashable] = []
        for kind, entity_id in touched:
            old = before.table if kind == "table" else getattr(before, kind).get(entity_id)
            new = after.table if kind == "table" else getattr(after, kind).get(entity_id)
            was = None if old is None else grade(self.rules, before, kind, old, sight, was_lost)
            now = None if new is None else grade(self.rules, after, kind, new, sight, is_lost)
            if was is not None or now is not None:
                shown.append((kind, entity_id, was, now))
                keys.append((kind, entity_id, was, now))
        return shown, keys

    def _changed(self, shown: list[tuple[str, str, Hashable, Hashable]]) -> dict[str, Any]:
        views: dict[str, dict[str, Any]] = {}
        gone: dict[str, list[str]] = {}
        for kind, entity_id, was, now in shown:
            if now is None:
                gone.setdefault(kind, []).append(entity_id)
                continue
            current = self._view(kind, entity_id, now, False)
            # A change of something hidden looks like nothing at all: no frame may tell that it happened.
            if was is None or self._view(kind, entity_id, was, True) != current:
                views.setdefault(kind, {})[entity_id] = current
        parts: dict[str, Any] = {}
        if views:
            parts["views"] = views
        if gone:
            parts["gone"] = gone
        return parts

    def _view(self, kind: str, entity_id: str, seen: Hashable, old: bool) -> dict[str, Any]:
        key = (kind, entity_id, old, seen)
        found = self._views.get(key)
        if found is None:
            session = self.before if old else self.after
            assert session is not None
            entity = session.table if kind == "table" else getattr(session, kind)[entity_id]
            found = self._views[key] = view_entity(self.rules, session, kind, entity, seen)
        return found


SILENT = frozenset({"idents", "last", "kept"})
_QUIET_STREAM = frozenset({"index", "commitment", "first", "salts"})


def _silent(change: Any) -> bool:
    """A change of the table that no view shows: counters, and streams that only rolled on."""
    return change.op == "=" and change.kind == "table" and SILENT.issuperset(change.fields)
