"""Secrets planted in every hidden field of a table, and the watch that none of them reaches a seat that may not know it.

A secret stops being one for everybody when the game brings it into the open (a hidden fighter strikes, the GM reveals a zone), and for
one seat when that seat comes to hold it (it becomes GM, it is given the combatant). What a seat was sent before that moment must be clean.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

import engine
from engine import Setup
from engine.commands import ZoneSpec
from engine.session import Edge
from engine.setup import CombatantSetup, SceneSetup
from engine.zones import concealed, in_hidden_place
from tests.support.table import Table, start_of

MARK = "zzsecret"
"""Every planted text holds it, so one search finds any of them."""

HIDDEN_FIELDS: dict[str, dict[str, int]] = {
    "duel": {"armor": 977, "grit": 983},
    "skirmish": {"fatigue": 977, "rerolls": 983},
    "stretch": {"dt": 977, "stimpaks": 983},
    "wasteland": {"max_hp": 977, "hp": 911},
}
"""For each ruleset, combatants' fields that only GMs and controllers see, each with a value found nowhere else."""


def hidden_fields(ruleset: str) -> dict[str, int]:
    """The fields to plant numbers in: of a ruleset that names none above, up to two that its views show to GMs and not to strangers."""
    if ruleset in HIDDEN_FIELDS:
        return HIDDEN_FIELDS[ruleset]
    table = Table(ruleset, watched=False)
    rules, one = table.rules, next(iter(table.session.combatants.values()))
    shown = [rules.grade_combatant(table.session, one, sight) for sight in (engine.GM, engine.SPECTATOR)]
    full, public = (rules.view_combatant(table.session, one, grade) if grade is not None else {} for grade in shown)
    private = [name for name in full if name not in public and name in rules.schema.fields["combatants"]]
    numbers = [name for name in private if type(full[name]) is int]
    return dict(zip(numbers, (977, 983), strict=False))


def planted(ruleset: str) -> Setup:
    """The ruleset's start with a scene of its own beside it, full of things to hide."""
    start = start_of(ruleset)
    fields: dict[str, Any] = dict(hidden_fields(ruleset))
    scene = SceneSetup(
        id="den",
        name="The den",
        zones=(
            ZoneSpec(id="den-door", name="the door"),
            ZoneSpec(id="den-room", name="the room"),
            ZoneSpec(id=f"{MARK}-cellar", name=f"{MARK} the cellar", hidden=True),
        ),
        edges=(
            Edge(a="den-door", b="den-room"),
            Edge(a="den-room", b=f"{MARK}-cellar"),
            Edge(a="den-door", b=f"{MARK}-cellar", hidden=True),
        ),
        blind=(("den-door", f"{MARK}-cellar"),),
        tags=(),
    )
    backstage = SceneSetup(
        id=f"{MARK}-backstage", name=f"{MARK} backstage", zones=(ZoneSpec(id=f"{MARK}-wings", name=f"{MARK} wings"),), hidden=True
    )
    combatants = (
        CombatantSetup(id=f"{MARK}-ghost", name=f"{MARK} Ghost", side="ghosts", scene="den", zone="den-room", hidden=True),
        CombatantSetup(id=f"{MARK}-lurker", name=f"{MARK} Lurker", side="ghosts", scene="den", zone=f"{MARK}-cellar"),
        CombatantSetup(id=f"{MARK}-actor", name=f"{MARK} Actor", side="ghosts", scene=f"{MARK}-backstage", zone=f"{MARK}-wings"),
        CombatantSetup(id="guard", name="The guard", side="guards", scene="den", zone="den-door", fields=fields),
        CombatantSetup(id="visitor", name="The visitor", side="visitors", scene="den", zone="den-room"),
    )
    return msgspec.structs.replace(start, scenes=(*start.scenes, scene, backstage), combatants=(*start.combatants, *combatants))


class Secrets:
    """Watches a table made from `planted`."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.numbers = hidden_fields(table.rules.name)
        self.texts = {f"{MARK}-{name}" for name in ("cellar", "ghost", "lurker", "actor", "backstage", "wings")}
        self.texts |= {f"{MARK} {name}" for name in ("the cellar", "Ghost", "Lurker", "Actor", "backstage", "wings")}
        self._out: set[str] = set()
        self._knows: set[str] = set()
        self._read: dict[str, int] = {}

    def check(self) -> None:
        """Look through all that each seat was sent since the last look. Raises AssertionError with what leaked to whom."""
        self._retire()
        for seat, viewer in self.table.viewers.items():
            fresh = viewer.sent[self._read.get(seat, 0) :]
            self._read[seat] = len(viewer.sent)
            if seat in self._knows:
                continue
            for sent in fresh:
                walk(msgspec.msgpack.decode(sent), lambda value, seat=seat, sent=sent: self._look(seat, value, sent))  # type: ignore[misc]

    def _look(self, seat: str, value: Any, sent: bytes) -> None:
        if isinstance(value, str) and MARK in value:
            leaked = [text for text in self.texts - self._out if text in value]
            assert not leaked, f"{seat} was sent {leaked}: {msgspec.msgpack.decode(sent)}"
        elif isinstance(value, int) and "guard" not in self._out:
            assert value not in self.numbers.values(), f"{seat} was sent the hidden number {value}: {msgspec.msgpack.decode(sent)}"

    def _retire(self) -> None:
        session = self.table.session
        for name in ("ghost", "lurker", "actor"):
            combatant = session.combatants.get(f"{MARK}-{name}")
            if combatant is not None and not concealed(session, combatant):
                self._out |= {f"{MARK}-{name}", f"{MARK} {name.capitalize()}"}
        for scene in session.scenes.values():
            for zone in scene.zones:
                if MARK in zone.id and not zone.hidden and not scene.hidden:
                    self._out |= {zone.id, zone.name}
            if MARK in scene.id and not scene.hidden:
                self._out |= {scene.id, scene.name}
        for seat in session.seats.values():
            own = [session.combatants[one] for one in seat.controls if one in session.combatants]
            # Whoever stands in a hidden place knows where it stands.
            if seat.role == "gm" or any(MARK in one.id or one.id == "guard" or in_hidden_place(session, one) for one in own):
                self._knows.add(seat.id)


def walk(value: Any, look: Callable[[Any], None]) -> None:
    """Call `look` with every text and number inside a decoded message, keys included."""
    if isinstance(value, dict):
        for key, item in value.items():
            look(key)
            walk(item, look)
    elif isinstance(value, list):
        for item in value:
            walk(item, look)
    elif not isinstance(value, bool):
        look(value)
