"""Frames: what one entry shows to one sight. Two sights that see the same of an entry share one frame, so the server encodes it once."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, Any

import msgspec

from engine.entry import Change, Entry
from engine.session import Session, Stream
from engine.sight import Bodies, Lost, Sight, grade, may_read, tell, view, view_entity

if TYPE_CHECKING:
    from engine.rulesets import Ruleset


class Renderer:
    """Frames of one entry for many sights: each distinct one is built once.

    `frame(sight)` gives (key, parts): equal keys are equal parts, and parts is {} when there is nothing this sight may see.
    """

    def __init__(self, rules: Ruleset, before: Session | None, after: Session, entry: Entry, bodies: Bodies) -> None:
        self.rules, self.before, self.after, self.entry, self.bodies = rules, before, after, entry, bodies
        self._views: dict[tuple[str, str, bool, Hashable], dict[str, Any]] = {}
        self._frames: dict[Hashable, dict[str, Any]] = {}
        self._told_to_all = all(event.to is None for event in entry.events)
        self._touched: list[tuple[str, str, Any, Any]] = []
        self._wide = False
        if before is None or entry.sight:
            return
        for change in entry.changes:
            kind, entity_id = change.kind, change.id
            if kind == "header" or _silent(change, before):
                continue
            self._wide = self._wide or _unsettles(change)
            if kind == "table":
                self._touched.append((kind, entity_id, before.table, after.table))
            else:
                self._touched.append((kind, entity_id, getattr(before, kind).get(entity_id), getattr(after, kind).get(entity_id)))
        self._touched.sort(key=lambda touched: touched[0] != "combatants")

    def frame(self, sight: Sight) -> tuple[Hashable, dict[str, Any]]:
        entry = self.entry
        if self.before is None or entry.sight:
            # What the sight depends on changed: a whole view, and nothing to share but among equal sights.
            key: Hashable = ("view", sight)
            if key not in self._frames:
                parts = self._said(sight)
                parts["view"] = view(self.rules, self.after, sight)
                self._frames[key] = parts
            return key, self._frames[key]
        heard = None if self._told_to_all else tuple(may_read(event, sight, entry.v) for event in entry.events)
        shown = tuple(self._shown(sight, self.before))
        key = (heard, shown)
        if key not in self._frames:
            parts = self._said(sight)
            parts.update(self._changed(shown))
            self._frames[key] = parts
        return key, self._frames[key]

    def _said(self, sight: Sight) -> dict[str, Any]:
        told = [one for event in self.entry.events if (one := tell(event, sight, self.entry.v, self.bodies)) is not None]
        return {"events": told} if told else {}

    def _shown(self, sight: Sight, before: Session) -> list[tuple[str, str, Hashable, Hashable]]:
        """What the entry touched as (kind, id, grade before, grade after), without what the sight never sees."""
        rules, after = self.rules, self.after
        was_lost, is_lost = Lost(rules, before, sight), Lost(rules, after, sight)
        shown: list[tuple[str, str, Hashable, Hashable]] = []
        in_or_out = self._wide
        for kind, entity_id, old, new in self._touched:
            if kind != "combatants" and not in_or_out:
                was_lost = is_lost  # nobody came or went (combatants are first), so the same ones are out of sight
            was = None if old is None else grade(rules, before, kind, old, sight, was_lost)
            now = None if new is None else grade(rules, after, kind, new, sight, is_lost)
            if was is not None or now is not None:
                shown.append((kind, entity_id, was, now))
                in_or_out = in_or_out or (kind == "combatants" and (was is None or now is None))
        if in_or_out and sight.role != "gm":
            # Somebody came into or went out of sight: whatever names them may look different now.
            done = {(kind, entity_id) for kind, entity_id, _, _ in self._touched}
            for kind in _NAMING:
                olds, news = getattr(before, kind), getattr(after, kind)
                for entity_id in olds:
                    if (kind, entity_id) not in done and entity_id in news:
                        was = grade(rules, before, kind, olds[entity_id], sight, was_lost)
                        now = grade(rules, after, kind, news[entity_id], sight, is_lost)
                        if was is not None or now is not None:
                            shown.append((kind, entity_id, was, now))
        return shown

    def _changed(self, shown: Iterable[tuple[str, str, Hashable, Hashable]]) -> dict[str, Any]:
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


_NAMING = ("seats", "combatants", "scenes", "encounters", "tests", "prompts")
"""The kinds whose views name combatants."""

SILENT = frozenset({"idents", "last", "kept", "dropped"})
"""Fields of the table that no view shows, and whose change therefore makes no frame."""


def _silent(change: Change, before: Session) -> bool:
    """A change of the table that no view shows: counters, and dice that only rolled on."""
    if change.kind != "table" or change.op != "=":
        return False
    for name, value in change.fields.items():
        if name in SILENT:
            continue
        if name not in ("open", "hidden"):
            return False
        stream: Stream = getattr(before.table, name)
        # An entry fresh from a step holds the stream itself, one read from the log its plain form.
        now = value if isinstance(value, Stream) else msgspec.convert(value, Stream)
        if (stream.index, stream.salts) != (now.index, now.salts) or (name == "open" and stream.closed != now.closed):
            return False
    return True


def _unsettles(change: Change) -> bool:
    """Whether a change may bring somebody into sight, or out of it, without touching them."""
    if change.kind == "combatants":
        return change.op != "="
    return change.kind == "scenes" and (change.op != "=" or "zones" in change.fields)
