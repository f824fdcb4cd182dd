"""A table for tests: drives a session of any ruleset while a viewer per seat rebuilds its view from frames alone.

`Table.do` applies a command as the server would and holds, on every step, what every step promises: the session it started from is
untouched, every viewer's rebuilt view is the view a fresh join would get, frames are the same whether the entry is fresh or read back
from the log, and every open roll is told with its faces. A refusal is held to change nothing and to draw no dice.

To test a new ruleset, add what a small table of it is set up from to `STARTS` and take the argument `ruleset` in the test
(`@pytest.mark.parametrize("ruleset", RULESETS)`); `pytest --ruleset NAME` then runs one ruleset's tests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import msgspec
import pytest

import engine
from engine import Act, Entry, Event, Option, Past, Rejected, Session, Setup
from engine.entry import SYSTEM
from engine.rulesets.duel import RULES as DUEL
from engine.rulesets.skirmish import RULES as SKIRMISH
from engine.rulesets.stretch import RULES as STRETCH
from engine.rulesets.wasteland import RULES as WASTELAND
from engine.session import Prompt
from engine.zones import concealed

for _rules in (DUEL, SKIRMISH, STRETCH, WASTELAND):
    engine.register(_rules)

SESSION_ID = "abcdefghijklmnop"
EPOCH = "0123456789abcdef"
MASTER = b"a master secret for tests only!!"
START_MS = 1_000_000

STARTS: dict[str, Callable[[], Setup]] = {
    "duel": lambda: Setup(ruleset="duel", sample="yard", encounter="mill"),
    "skirmish": lambda: Setup(ruleset="skirmish", sample="ferry", encounter="ferry"),
    "stretch": lambda: Setup(ruleset="stretch", sample="culvert", encounter="culvert"),
    "wasteland": lambda: Setup(ruleset="wasteland", sample="scrapyard", encounter="scrapyard"),
}
"""For each ruleset under test, what a small table with a running encounter is set up from."""

RULESETS = tuple(sorted(STARTS))


def start_of(ruleset: str) -> Setup:
    """What a small table of any ruleset is set up from: of one that is not in `STARTS`, its first ready table and the fight there."""
    if ruleset in STARTS:
        return STARTS[ruleset]()
    rules = engine.ruleset(ruleset)
    setup = Setup(ruleset=ruleset, sample=next(iter(rules.samples)))
    session, _ = engine.create(rules, setup, session_id=SESSION_ID, epoch=EPOCH, now_ms=START_MS, dice=engine.SeededDice(MASTER, EPOCH))
    scene = next(one.scene for one in session.combatants.values() if one.scene)
    return msgspec.structs.replace(setup, encounter=scene)


WATCHER = "@spectator"
"""The viewer that has no seat."""

_encode = msgspec.msgpack.Encoder(order="deterministic").encode


class Viewer:
    """What one client knows: the view it rebuilt from frames, the events it read, and every byte it was ever sent."""

    def __init__(self, view: dict[str, Any]) -> None:
        self.view = _copy(view)
        self.events: list[dict[str, Any]] = []
        self.sent: list[bytes] = [_encode(view)]

    def take(self, parts: dict[str, Any]) -> None:
        """Apply a frame as SPEC tells clients to."""
        self.sent.append(_encode(parts))
        parts = _copy(parts)
        self.events += parts.get("events", [])
        if "view" in parts:
            self.view = parts["view"]
        for kind, entities in parts.get("views", {}).items():
            self.view.setdefault(kind, {}).update(entities)
        for kind, gone in parts.get("gone", {}).items():
            for entity_id in gone:
                self.view.get(kind, {}).pop(entity_id, None)
            if not self.view.get(kind, True):
                del self.view[kind]

    def told(self, event_type: str) -> list[dict[str, Any]]:
        return [event for event in self.events if event["type"] == event_type]


class Table:
    """One session under test. `dice` defaults to seeded ones; `setup` overrides the ruleset's start."""

    def __init__(self, ruleset: str = "duel", setup: Setup | None = None, *, dice: engine.Dice | None = None, watched: bool = True) -> None:
        self.rules = engine.ruleset(ruleset)
        self.dice: engine.Dice = dice if dice is not None else engine.SeededDice(MASTER, EPOCH)
        self.now_ms = START_MS
        self.bodies: dict[str, str] = {}
        self.watched = watched
        self.session, first = engine.create(
            self.rules,
            setup or start_of(ruleset),
            session_id=SESSION_ID,
            epoch=EPOCH,
            now_ms=self.now_ms,
            dice=self.dice,
            stamp=f"{1:016x}",
        )
        self.entries: list[Entry] = [first]
        self.history: dict[int, Session] = {1: self.session}
        self.viewers: dict[str, Viewer] = {}
        self._enter()

    # --- acting ----------------------------------------------------------------------------------------------------------

    def do(self, by: str, type: str, **fields: Any) -> Entry:
        """Send a command as a seat and hold the promises of every step. Raises Rejected, once it is sure that nothing changed."""
        return self.send(by, {"type": type, **fields})

    def system(self, type: str, **fields: Any) -> Entry:
        """Act as the server does when nobody acts: deadlines, downtime, seats taken, upgrades."""
        return self.send(SYSTEM, {"type": type, **fields})

    def send(self, by: str, raw: Mapping[str, Any]) -> Entry:
        before, drawn = self.session, engine.encode_snapshot(self.session)
        try:
            command = self.rules.decode(self._referred(raw), system=by == SYSTEM)
            act = Act(by=by, command=command, id=f"test.{before.v}", stamp=f"{before.v + 1:016x}")
            after, entry = engine.apply(self.rules, before, act, now_ms=self.now_ms, dice=self.dice, past=self._past(command))
        except Rejected as refusal:
            assert engine.encode_snapshot(before) == drawn, "a refusal changed the session"
            if by in self.viewers:
                self.viewers[by].sent.append(_encode([refusal.code, refusal.text, refusal.data]))
            raise
        assert engine.encode_snapshot(before) == drawn, "a step changed the session it started from"
        assert after.v == before.v + 1 == entry.v
        self.session = after
        self.entries.append(entry)
        self.history[after.v] = after
        if self.watched:
            self._show(before, entry)
        return entry

    def refused(self, by: str, code: str, type: str, **fields: Any) -> Rejected:
        """Send a command that must be refused with this code; returns the refusal."""
        with pytest.raises(Rejected) as caught:
            self.do(by, type, **fields)
        refusal = caught.value
        assert refusal.code == code, f"refused as {refusal}, caused by {refusal.__cause__!r}"
        assert refusal.text, "a refusal says in a sentence what to do instead"
        return refusal

    def answer(self, choice: str = "", *, to: str = "", kind: str = "", by: str = "", ints: Iterable[int] = ()) -> Entry:
        """Answer the one open prompt (to a seat, of a kind), as the asked seat or another one."""
        prompt = self.prompt(to=to, kind=kind)
        return self.do(by or prompt.to, "answer", prompt=prompt.id, choice=choice, ints=list(ints))

    def later(self, minutes: int = 0, *, ms: int = 0) -> None:
        """Let time pass."""
        self.now_ms += minutes * 60_000 + ms

    def act_at(self, seat: str, command: Mapping[str, Any]) -> Act:
        """The Act that `send` would make now, for tests of the bare engine."""
        return Act(by=seat, command=self.rules.decode(dict(command), system=seat == SYSTEM), id="test", stamp="f" * 16)

    def _referred(self, raw: Mapping[str, Any]) -> dict[str, Any]:
        """Chat and post texts as the server hands them over: kept here, named there by id and hash."""
        fields = dict(raw)
        if fields.get("type") in ("chat", "post") and isinstance(fields.get("text"), str):
            text_id = f"text{len(self.bodies)}"
            self.bodies[text_id] = fields["text"]
            fields["text"] = {"id": text_id, "sha256": "0" * 64}
        return fields

    def _past(self, command: Any) -> Past | None:
        target = engine.undo_target(self.session, command)
        if target is None or target not in self.history:
            return None
        return Past(self.history[target], tuple(roll for entry in self.entries[target:] for roll in entry.rolls))

    # --- looking ---------------------------------------------------------------------------------------------------------

    def prompts(self, *, to: str = "", kind: str = "") -> list[Prompt]:
        """The open prompts, of a seat, of a kind."""
        return [one for one in self.session.prompts.values() if one.answer is None and to in ("", one.to) and kind in ("", one.kind)]

    def prompt(self, *, to: str = "", kind: str = "") -> Prompt:
        found = self.prompts(to=to, kind=kind)
        assert len(found) == 1, f"one open prompt expected, there are {[(one.to, one.kind) for one in found]}"
        return found[0]

    def view(self, seat: str) -> dict[str, Any]:
        """The view a fresh join of the seat would get."""
        return engine.view(self.rules, self.session, engine.sight_of(self.session, seat))

    def options(self, seat: str) -> list[Option]:
        """All the seat's options, as they go over the wire to it."""
        found = engine.options_of(self.rules, self.session, seat)
        if seat in self.viewers:
            self.viewers[seat].sent.append(_encode(found))
        return found

    @property
    def last(self) -> Entry:
        return self.entries[-1]

    @property
    def events(self) -> tuple[Event, ...]:
        """The newest entry's events."""
        return self.last.events

    def event(self, event_type: str) -> Event:
        """The newest entry's one event of this type."""
        found = [event for event in self.events if event.type == event_type]
        assert len(found) == 1, f"one {event_type} expected among {[event.type for event in self.events]}"
        return found[0]

    @property
    def encounter(self) -> Any:
        """The one running encounter."""
        (found,) = self.session.encounters.values()
        return found

    @property
    def current(self) -> str:
        return str(self.encounter.current)

    def holder(self, combatant_id: str = "") -> str:
        """The seat that acts for a combatant, by default for the one whose turn it is."""
        wanted = combatant_id or self.current
        for seat in self.session.seats.values():
            if seat.role == "player" and wanted in seat.controls:
                return seat.id
        return next(seat.id for seat in self.session.seats.values() if seat.role == "gm")

    def log(self) -> list[Entry]:
        """The entries as they are read back from the log's bytes."""
        return [engine.decode_entry(engine.encode_entry(entry)) for entry in self.entries]

    def audit(self, entries: list[Entry] | None = None) -> engine.Audit:
        return engine.audit(self.rules, self.log() if entries is None else entries, epoch=EPOCH)

    def replayed(self) -> Session:
        return engine.replay(self.rules, self.log(), epoch=EPOCH)

    # --- viewers -----------------------------------------------------------------------------------------------------------

    def rejoin(self, seat: str) -> None:
        """The seat's client loses its state and joins afresh: one whole view, as after a resume from too far back."""
        old = self.viewers[seat]
        self.viewers[seat] = Viewer(self.view(seat))
        self.viewers[seat].sent = old.sent + self.viewers[seat].sent

    def _enter(self) -> None:
        for seat in (*self.session.seats, WATCHER):
            if seat not in self.viewers:
                self.viewers[seat] = Viewer(self.view(seat))

    def _show(self, before: Session, entry: Entry) -> None:
        fresh = engine.Renderer(self.rules, before, self.session, entry, self.bodies.get)
        logged = engine.Renderer(self.rules, before, self.session, engine.decode_entry(engine.encode_entry(entry)), self.bodies.get)
        by_key: dict[Any, bytes] = {}
        read: dict[str, list[dict[str, Any]]] = {}
        for seat in list(self.viewers):
            if seat != WATCHER and seat not in self.session.seats:
                del self.viewers[seat]
                continue
            sight = engine.sight_of(self.session, seat)
            key, parts = fresh.frame(sight)
            assert by_key.setdefault(key, _encode(parts)) == _encode(parts), "one key stands for two different frames"
            assert _encode(logged.frame(sight)[1]) == _encode(parts), "an entry read back from the log shows something else"
            self.viewers[seat].take(parts)
            read[seat] = list(rolls_in(_copy(parts).get("events", [])))
        self._rolls_are_told(before, entry, read)
        self._enter()
        for seat, viewer in self.viewers.items():
            assert _encode(viewer.view) == _encode(_copy(self.view(seat))), f"the frames of v {entry.v} do not lead {seat} to its view"

    def _rolls_are_told(self, before: Session, entry: Entry, read: Mapping[str, list[dict[str, Any]]]) -> None:
        """Every open roll is named with its faces to whoever watches, so that a stranger can check it; one of somebody hidden, to GMs."""
        for roll in entry.rolls:
            if roll.stream != "open":
                continue
            wanted = {"stream": roll.stream, "index": roll.index, "n": roll.n, "sides": roll.sides, "faces": list(roll.faces)}
            actors = [tree.combatants.get(roll.actor) for tree in (before, self.session)]
            secret = any(one is not None and concealed(self.session, one) for one in actors)
            gms = [seat.id for seat in self.session.seats.values() if seat.role == "gm" and seat.id in read]
            for reader in gms if secret else (*gms, WATCHER):
                told = [one for one in read[reader] if wanted.items() <= one.items()]
                assert told, f"{reader} reads nothing of {wanted}, {roll.purpose} of {roll.actor}: {[event.type for event in entry.events]}"


def rolls_in(value: Any) -> Iterator[dict[str, Any]]:
    """Every roll that is told anywhere inside events."""
    if isinstance(value, dict):
        if {"stream", "n", "sides", "faces"} <= value.keys():
            yield value
        for item in value.values():
            yield from rolls_in(item)
    elif isinstance(value, list):
        for item in value:
            yield from rolls_in(item)


def state(session: Session) -> bytes:
    """All of a session, every default included and every mapping in its order: equal bytes are equal sessions.

    A snapshot is not that strict: it leaves out what is the default, and equal texts may be written out or left out.
    """
    return msgspec.msgpack.encode(_whole(session))


def _whole(value: Any) -> Any:
    if isinstance(value, msgspec.Struct):
        return [type(value).__name__, [[name, _whole(getattr(value, name))] for name in value.__struct_fields__]]
    if isinstance(value, Mapping):
        return [[key, _whole(item)] for key, item in value.items()]
    if isinstance(value, (list, tuple)):
        return [_whole(item) for item in value]
    return value


def _copy(value: Any) -> Any:
    """A value as it comes out at the other end of the wire."""
    return msgspec.msgpack.decode(_encode(value))
