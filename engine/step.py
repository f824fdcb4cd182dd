"""The pen: the one way to change a session, emit events, roll dice and ask questions.

A Step starts from a frozen session, records all that is done to it and becomes the next session and its log entry. It
is thrown away when the command is refused, so a refusal costs nothing and leaves nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast

import msgspec
from msgspec.structs import astuple, replace

from engine.dice import Dice, RolledFact
from engine.entry import SYSTEM, Change, Drawn, Entry, Event, plain
from engine.rejected import Rejected, StepLimit, unknown
from engine.session import RESTORED, Choice, Entity, Ints, Kept, Prompt, Seat, Session, Stream, Table
from engine.sight import sees, sight_of
from engine.zones import concealed

if TYPE_CHECKING:
    from engine.rulesets import Ruleset

MAX_EVENTS = 1000
MAX_CHANGES = 4000
MAX_ROLLS = 400
MAX_PROMPTS = 100

NOTHING: frozenset[str] = frozenset()
SIGHT_FIELDS = {
    "seats": frozenset({"role", "controls", "since"}),
    "combatants": frozenset({"hidden"}),
    "scenes": frozenset({"hidden"}),
    "pools": frozenset({"hidden"}),
    "tests": frozenset({"hidden"}),
}
"""Fields that other entities' views depend on: an entry that changes one carries whole views."""


class NeedFaces(Exception):
    """Physical dice: the step cannot go on before a player enters these faces."""

    def __init__(self, seat: str, count: int, sides: int, purpose: str, actor: str) -> None:
        super().__init__(f"{count}d{sides} for {purpose}")
        self.seat, self.count, self.sides, self.purpose, self.actor = seat, count, sides, purpose, actor


_defaults: dict[type, dict[str, Any]] = {}


def _stored(entity: Any) -> dict[str, Any]:
    """The fields of a new entity that differ from their defaults."""
    kind = type(entity)
    defaults = _defaults.get(kind)
    if defaults is None:
        defaults = _defaults[kind] = {f.name: f.default for f in msgspec.structs.fields(kind)}
    return {name: value for name in kind.__struct_fields__ if name != "id" and (value := getattr(entity, name)) != defaults[name]}


class Step:
    """One step being written. Reads like a Session (`combatants`, `table`, ...), always showing what was written so far.

    What it shows is read-only: `change`, `add`, `put` and `remove` alone write.
    """

    def __init__(
        self, rules: Ruleset, session: Session, dice: Dice, now_ms: int, by: str, *, supplied: Sequence[tuple[int, ...]] = ()
    ) -> None:
        self.rules = rules
        self.before = session
        self.dice = dice
        self.now_ms = now_ms
        self.by = by
        self.header = session.header
        self.table: Table = session.table
        self.seats: Mapping[str, Seat] = session.seats
        self.combatants: Mapping[str, Any] = session.combatants
        self.scenes = session.scenes
        self.encounters = session.encounters
        self.pools = session.pools
        self.tests = session.tests
        self.prompts = session.prompts
        self.v = session.v + 1
        self.quiet = False
        self.past = 0
        self.kind = "command"
        self.settle: list[tuple[str, str]] = []
        """Owners whose pending stacks may be able to go on (engine.prompts.settle)."""
        self._supplied = list(supplied)
        self._copied: dict[str, dict[str, Any]] = {}
        self._resized: set[str] = set()
        self._touched: dict[tuple[str, str], None] = {}
        self._events: list[Event] = []
        self._rolls: list[RolledFact] = []
        self._idents: list[str] = []
        self._tried: list[str] = []
        self._drawn: list[Drawn] = []

    # --- reading -------------------------------------------------------------------------------------------------

    @property
    def seat(self) -> Seat | None:
        """The acting seat; None when the system acts."""
        return self.seats.get(self.by)

    @property
    def is_gm(self) -> bool:
        seat = self.seats.get(self.by)
        return self.by == SYSTEM or (seat is not None and seat.role == "gm")

    def combatant(self, combatant_id: str) -> Any:
        """The combatant that a command names. Raises Rejected("unknown_id"); one the acting seat does not see is as unknown as none.

        Not for `resume`, where the one who answers need not see all who take part: read `combatants` there.
        """
        found = self.combatants.get(combatant_id)
        if found is None or not self.visible(found):
            raise unknown("combatant", combatant_id)
        return found

    def visible(self, combatant: Any) -> bool:
        """Whether the acting seat sees the combatant."""
        tree = cast(Session, self)
        return self.is_gm or sees(self.rules, tree, combatant, sight_of(tree, self.by))

    def controls(self, combatant_id: str, seat_id: str | None = None) -> bool:
        """Whether the seat (default: the acting one) may act for the combatant. A GM may act for all."""
        seat = self.seats.get(self.by if seat_id is None else seat_id)
        return seat is not None and (seat.role == "gm" or combatant_id in seat.controls)

    def controller(self, combatant_id: str) -> str:
        """The seat that answers for a combatant: the first player who controls it, else a GM, else ""."""
        fallback = ""
        for seat in self.seats.values():
            if seat.role == "player" and combatant_id in seat.controls:
                return seat.id
            if seat.role == "gm" and not fallback:
                fallback = seat.id
        return fallback

    def name(self, combatant_id: str) -> str:
        found = self.combatants.get(combatant_id)
        return found.name if found is not None else combatant_id

    def gms(self) -> tuple[str, ...]:
        return tuple(seat.id for seat in self.seats.values() if seat.role == "gm")

    # --- writing -------------------------------------------------------------------------------------------------

    def _writable(self, kind: str) -> dict[str, Any]:
        copied = self._copied.get(kind)
        if copied is None:
            copied = self._copied[kind] = dict(getattr(self, kind))
            setattr(self, kind, MappingProxyType(copied))
        return copied

    def _touch(self, kind: str, entity_id: str) -> None:
        self._touched[kind, entity_id] = None
        if len(self._touched) > MAX_CHANGES:
            raise StepLimit("too many changes in one step")

    def change(self, kind: str, entity_id: str, /, **fields: Any) -> Any:
        """Replace fields of one entity and return it as it is now. `kind` "table" and "header" need no id."""
        if kind in ("table", "header"):
            entity = replace(getattr(self, kind), **fields)
            setattr(self, kind, entity)
            self._touched[kind, kind] = None
            return entity
        entities = self._writable(kind)
        entity = entities[entity_id] = replace(entities[entity_id], **fields)
        self._touch(kind, entity_id)
        return entity

    def add(self, kind: str, entity: Entity) -> Any:
        """Put a new entity into the tree. Raises Rejected("bad_command") when the id is taken."""
        entities = self._writable(kind)
        if entity.id in entities:
            raise Rejected("bad_command", f"The id '{entity.id}' is taken; choose another.", id=entity.id)
        self.put(kind, entity)
        return entity

    def put(self, kind: str, entity: Entity) -> None:
        """Set an entity whole, new or not (undo)."""
        entities = self._writable(kind)
        if entity.id not in entities:
            self._resized.add(kind)
        entities[entity.id] = entity
        self._touch(kind, entity.id)

    def remove(self, kind: str, entity_id: str) -> None:
        """Take an entity out of the tree; nothing happens when it is not there."""
        if entity_id in getattr(self, kind):
            del self._writable(kind)[entity_id]
            self._resized.add(kind)
            self._touch(kind, entity_id)

    def emit(
        self,
        type: str,
        text: str,
        *,
        to: Iterable[str] | None = None,
        public: tuple[str, str, dict[str, Any]] | None = None,
        body: str = "",
        **data: Any,
    ) -> None:
        """Say a fact. With `to` only these seats read it (GMs are not added for you).

        `public` is (type, text, data) for everybody else.
        """
        shown = None if public is None else Event(public[0], public[1], public[2])
        self._events.append(Event(type, text, data, None if to is None else tuple(to), shown, body))
        if len(self._events) > MAX_EVENTS:
            raise StepLimit("too many events in one step")

    def whisper(
        self, type: str, text: str, combatant_id: str, *, public: tuple[str, str, dict[str, Any]] | None = None, **data: Any
    ) -> None:
        """Say a fact to the GMs and to who controls the combatant; `public` to everybody else."""
        to = [seat.id for seat in self.seats.values() if seat.role == "gm" or combatant_id in seat.controls]
        self.emit(type, text, to=to, public=public, **data)

    def about(self, combatant_id: str, type: str, text: str, /, **data: Any) -> None:
        """Say a fact about a combatant: to everyone, or, when it is concealed, to the GMs and who controls it."""
        if concealed(self, self.combatants[combatant_id]):
            self.whisper(type, text, combatant_id, **data)
        else:
            self.emit(type, text, **data)

    def in_scene(self, scene_id: str, type: str, text: str, /, **data: Any) -> None:
        """Say a fact about a scene: to everyone, or, when it is hidden, to the GMs."""
        scene = self.scenes.get(scene_id)
        self.emit(type, text, to=self.gms() if scene is not None and scene.hidden else None, **data)

    def ident(self, prefix: str) -> str:
        """A fresh id. Derived from the session's secret, so it tells neither order nor count."""
        n = self.table.idents + 1
        self.change("table", "", idents=n)
        found = prefix + self.dice.ident(n)
        self._idents.append(found[len(prefix) :])
        return found

    # --- dice ----------------------------------------------------------------------------------------------------

    def roll(
        self, count: int, sides: int, *, purpose: str, actor: str = "", hidden: bool = False, of: int = 0, positions: tuple[int, ...] = ()
    ) -> RolledFact:
        """Roll a pool: `count` dice of `sides`, as one roll with the next number of its stream.

        `purpose` and `actor` say what for and for whom (an undo that keeps the dice matches on them); `of` (its number) and
        `positions` name the roll and the dice that are re-rolled. `hidden` rolls use the hidden stream. Raises NeedFaces at a
        table with physical dice.
        """
        name = "hidden" if hidden else "open"
        stream: Stream = self.table.hidden if hidden else self.table.open
        n = stream.n + 1
        faces, cited = self._kept(name, count, sides, purpose, actor)
        fresh = count - len(faces)
        proven = True
        if fresh and self.table.physical:
            faces += self._entered(fresh, sides, purpose, actor, hidden)
            proven = False
        elif fresh:
            faces += self.dice.faces(name, stream.index, stream.salts, n, fresh, sides)
        if hidden:
            self.change("table", "", hidden=replace(stream, n=n))
        else:
            self.change("table", "", open=replace(stream, n=n))
        fact = RolledFact(
            stream=name,
            index=stream.index,
            n=n,
            sides=sides,
            faces=faces,
            purpose=purpose,
            actor=actor,
            of=of,
            positions=positions,
            kept=cited,
            proven=proven,
        )
        self._rolls.append(fact)
        if len(self._rolls) > MAX_ROLLS:
            raise StepLimit("too many rolls in one step")
        return fact

    def _kept(self, stream: str, count: int, sides: int, purpose: str, actor: str) -> tuple[tuple[int, ...], tuple[tuple[int, int], ...]]:
        for kept in self.table.kept:
            if (kept.stream, kept.sides, kept.purpose, kept.actor) == (stream, sides, purpose, actor):
                rest: tuple[Kept, ...] = tuple(other for other in self.table.kept if other is not kept)
                self.change("table", "", kept=rest)
                faces = kept.faces[:count]
                return faces, ((kept.n, len(faces)),)
        return (), ()

    def _entered(self, count: int, sides: int, purpose: str, actor: str, hidden: bool) -> tuple[int, ...]:
        if not self._supplied:
            gms = self.gms()
            seat = "" if hidden or not actor else actor if actor in self.seats else self.controller(actor)
            raise NeedFaces(seat or (gms[0] if gms else self.by), count, sides, purpose, actor)
        faces = self._supplied.pop(0)
        if len(faces) != count or not all(1 <= face <= sides for face in faces):
            raise Rejected("illegal_choice", f"Enter {count} faces from 1 to {sides}.", count=count, sides=sides)
        return faces

    def commitment(self, stream: str, index: int) -> str:
        value = self.dice.commitment(stream, index)
        self._drawn.append(Drawn("commitment", stream, index, value))
        return value

    def reveal(self, stream: str, index: int) -> str:
        value = self.dice.reveal(stream, index)
        self._drawn.append(Drawn("reveal", stream, index, value))
        return value

    # --- questions -----------------------------------------------------------------------------------------------

    def push(self, owner: tuple[str, str], record: Any) -> None:
        """Put an unfinished action on its owner's stack; it resumes when all its prompts are answered."""
        stack = getattr(self, owner[0])[owner[1]].pending
        self.change(owner[0], owner[1], pending=(*stack, record))
        self.settle.append(owner)

    def ask(
        self,
        owner: tuple[str, str],
        to: str,
        *,
        kind: str,
        type: str,
        text: str,
        choices: Sequence[tuple[str, str]],
        default: str,
        always: str = "",
        never: str = "",
        ints: Ints | None = None,
        group: str = "",
        secret: bool = False,
        combatant: str = "",
        **data: Any,
    ) -> str:
        """Ask a seat and return the prompt's id. The answer resumes the record that is pushed next (it lists the id in `prompts`).

        `choices` are (value, sentence); `default` is taken at the deadline. `always`/`never` are what the seat's preference of
        this kind answers at once; a question with one legal answer is answered at once too, so it never opens. An answer that
        needs numbers (`ints`) is never given by a preference. Values in `data` are kept in plain form (lists, maps, scalars).
        """
        answer: str | None = None
        given: tuple[int, ...] = ()
        seat = self.seats.get(to)
        if seat is None:
            answer = default
            if ints is not None and ints.choice in ("", default):
                given = (ints.low,) * ints.least
        elif len(choices) == 1 and ints is None:
            answer = choices[0][0]
        else:
            preferred = {"always": always, "never": never}.get(seat.preference(kind), "")
            if preferred and (ints is None or ints.choice not in ("", preferred)):
                answer = preferred
        prompt = Prompt(
            id=self.ident("p"),
            to=to,
            owner=owner,
            kind=kind,
            type=type,
            text=text,
            choices=tuple(Choice(value=value, text=sentence) for value, sentence in choices),
            ints=ints,
            default=default,
            deadline=self.deadline(f"deadline.{kind}", "deadline.prompt"),
            group=group,
            secret=secret,
            combatant=combatant,
            data=tuple((name, plain(value)) for name, value in data.items()),
            answer=answer,
            given=given,
        )
        self.add("prompts", prompt)
        if len(self.prompts) > MAX_PROMPTS:
            raise StepLimit("too many open prompts")
        return prompt.id

    def deadline(self, setting: str, general: str = "") -> int | None:
        """When something that starts now is due, in ms, by a session setting in minutes (else by a more general one); None: never.

        While the table is paused time stands still: what starts then has its whole time once the table goes on.
        """
        minutes = self.table.setting(setting, self.table.setting(general))
        now = self.table.paused_ms if self.table.paused else self.now_ms
        return now + minutes * 60_000 if minutes else None

    def discard(self, other: Step) -> None:
        """`other`, a step of the same session, is thrown away for this one. The ids it drew are recorded all the same: an audit takes
        the same way and asks for them again, by the same numbers."""
        self._tried = max(self._tried, other._tried, other._idents, key=len)

    def take_over(self, other: Step) -> None:
        """Become `other`, a step of the same session, but for who acts: an answer that completes somebody else's command."""
        by = self.by
        self.__dict__.update(other.__dict__)
        self.by = by

    # --- finishing -----------------------------------------------------------------------------------------------

    def finish(self, *, action_id: str, command: Any, stamp: str) -> tuple[Session, Entry]:
        """The next session and the entry that leads to it."""
        before = self.before
        if any(kind in RESTORED for kind, _ in self._touched) and not self.past:
            self.change("table", "", last=self.v)
        changes: list[Change] = []
        sight = False
        for kind, entity_id in self._touched:
            single = kind in ("table", "header")
            old = getattr(before, kind) if single else getattr(before, kind).get(entity_id)
            new = getattr(self, kind) if single else getattr(self, kind).get(entity_id)
            if old is new:
                continue
            if old is None:
                changes.append(Change("+", kind, entity_id, _stored(new)))
                sight = sight or kind == "seats"
            elif new is None:
                changes.append(Change("-", kind, entity_id))
                sight = sight or kind == "seats"
            else:
                values = zip(new.__struct_fields__, astuple(new), astuple(old), strict=True)
                fields = {name: value for name, value, was in values if value is not was and value != was}
                if fields:
                    changes.append(Change("=", kind, entity_id, fields))
                    sight = sight or not SIGHT_FIELDS.get(kind, NOTHING).isdisjoint(fields)
        entry = Entry(
            v=self.v,
            at=self.now_ms,
            by=self.by,
            stamp=stamp,
            id=action_id,
            kind=self.kind,
            command=command,
            events=tuple(self._events),
            changes=tuple(changes),
            rolls=tuple(self._rolls),
            idents=tuple(self._idents if len(self._idents) >= len(self._tried) else self._tried),
            drawn=tuple(self._drawn),
            past=self.past,
            schema=(self.header.schema, self.header.ruleset_schema),
            version=f"{self.header.engine}/{self.header.ruleset_version}",
            sight=sight,
            quiet=self.quiet,
        )
        session = replace(
            before,
            v=self.v,
            stamp=stamp,
            table=self.table,
            header=self.header,
            **{kind: MappingProxyType(self._ordered(kind, entities)) for kind, entities in self._copied.items()},
        )
        self._copied = {}  # the session owns these mappings now; a write after this copies them again
        return session, entry

    def _ordered(self, kind: str, entities: dict[str, Any]) -> dict[str, Any]:
        """The entities in the order that following the changes gives: a replayed session iterates exactly like this one."""
        if kind not in self._resized:
            return entities
        old = getattr(self.before, kind)
        ordered = {entity_id: entities[entity_id] for entity_id in old if entity_id in entities}
        for of, entity_id in self._touched:
            if of == kind and entity_id in entities and entity_id not in old:
                ordered[entity_id] = entities[entity_id]
        return ordered
