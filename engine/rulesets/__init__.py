"""What a ruleset is, and the registry that finds them: entry points of the group "dustup.rulesets".

A ruleset is one object with the methods of `Ruleset`. `BaseRuleset` answers what most of them answer alike; a new one
subclasses it, declares its types and commands, and writes `new`, `apply`, `options`, `resume` and `view_combatant`.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import msgspec

from engine import commands as kernel_commands
from engine import turns
from engine.odds import Odds
from engine.options import Option
from engine.rejected import Rejected
from engine.session import Combatant, Encounter, Schema, Session
from engine.setup import Setup

if TYPE_CHECKING:
    from engine.sight import Sight
    from engine.step import Step


ID_FORM = re.compile(r"`str` matching regex '\^\[A-Za-z0-9_\.:-\]\{[01],64\}\$(?:\(\?!\\\\?n\))?'")
"""How msgspec calls an id that is none: nothing a person should have to read."""


class Ruleset(Protocol):
    """Code for one rule system. Pure: no clock, no I/O, no randomness but through the step it is handed."""

    name: ClassVar[str]
    version: ClassVar[str]
    title: ClassVar[str]
    summary: ClassVar[str]
    schema: Schema
    schema_number: ClassVar[int]
    commands: tuple[type[kernel_commands.Command], ...]
    variants: ClassVar[Mapping[str, Mapping[str, str | int | bool]]]
    switches: ClassVar[Mapping[str, tuple[str | int | bool, ...]]]
    """Every switch with the values it may take; the first is the default."""
    samples: ClassVar[Mapping[str, str]]
    """The ready tables of its pack: name and a line about it; the first is the one a demo takes."""
    unlisted: ClassVar[Mapping[str, str]]
    """What a player may do though no option lists it, each with the reason: a whole command by its name ("rolloff"), or further values
    of one field ("move.near"). Everything else that is accepted is an instance of a listed option; the conformance tests hold that."""

    def new(self, step: Step, setup: Setup) -> None:
        """Write the ruleset's part of a new session: combatants, pools, scenes. The kernel has made header, table and seats."""
        ...

    def apply(self, step: Step, command: Any) -> None:
        """Check everything, then write through `step`. Raises Rejected."""
        ...

    def resume(self, step: Step, owner: tuple[str, str], record: Any, answers: tuple[Answered, ...]) -> None:
        """Go on with an unfinished action whose prompts are all answered. Targets may be gone: check again."""
        ...

    def options(self, session: Session, seat: str) -> list[Option]:
        """What the seat may do now, read through its sight. Every combination of listed parameter values is accepted."""
        ...

    def odds(self, session: Session, seat: str, command: Any) -> Odds:
        """Exact odds of a command, read through the seat's sight. Raises Rejected when the command has none."""
        ...

    def grade_combatant(self, session: Session, combatant: Any, sight: Sight) -> Hashable | None:
        """How much of a combatant this sight sees: None nothing, else a value that `view_combatant` understands.

        Depends on the combatant and the sight alone (and on what never changes, as the header's options): a frame re-tells only
        what an entry touched. Whoever is hidden or in a hidden place is left out before this is asked.
        """
        ...

    def view_combatant(self, session: Session, combatant: Any, grade: Hashable) -> dict[str, Any]:
        """The fields that are shown at this grade, by listing them. Depends on the combatant, the grade and the header alone."""
        ...

    def view_test(self, session: Session, test: Any, grade: Hashable) -> dict[str, Any]:
        """What a test's frame and result show at this grade: "gm", ("part", unseen ids) for who takes part, ("public", unseen ids)."""
        ...

    def spawn(self, step: Step, combatant_id: str, template: str, fields: Mapping[str, Any]) -> Combatant:
        """A combatant from a template of the pack (or "" for a plain one) with some fields set. Raises Rejected."""
        ...

    def turn_started(self, step: Step, combatant: Any) -> None: ...

    def turn_ended(self, step: Step, combatant: Any) -> None: ...

    def round_started(self, step: Step, encounter: Encounter) -> None:
        """A round begins, the second or a later one (the first begins with `start_encounter`); nobody's turn runs.

        The place to change the order: who is next is read from `order` and `acted` after it. It may also end the encounter.
        """
        ...

    def initiative(self, step: Step, combatant: Any) -> int:
        """Where a combatant stands in the turn order, highest first. Everybody who sees the combatant sees this number."""
        ...

    def start_encounter(self, step: Step, command: kernel_commands.GmEncounter) -> None:
        """A GM starts an encounter: usually engine.turns.start, with an opening turn where the rules have one."""
        ...

    def sitting_opened(self, step: Step) -> None: ...

    def time_passed(self, step: Step, minutes: int) -> None:
        """The fiction clock moved on."""
        ...

    def decode(self, raw: bytes | Mapping[str, Any], *, system: bool = False) -> Any:
        """A typed command from msgpack bytes or plain values. Raises Rejected("bad_command" | "unknown_command")."""
        ...


class Answered(msgspec.Struct, frozen=True):
    """One answered prompt as a resumed action reads it."""

    prompt: str
    to: str
    kind: str
    choice: str
    ints: tuple[int, ...] = ()
    combatant: str = ""


class BaseRuleset:
    """What most rulesets answer alike. Subclasses set the class attributes and override the rest."""

    name: ClassVar[str] = ""
    version: ClassVar[str] = "1"
    title: ClassVar[str] = ""
    summary: ClassVar[str] = ""
    schema_number: ClassVar[int] = 1
    combatant_type: ClassVar[type[Combatant]] = Combatant
    pending: ClassVar[Any] = None
    """Union of the ruleset's pending records (tagged Structs with a `prompts` field), or None."""
    records: ClassVar[Mapping[tuple[str, str], Any]] = {}
    own_commands: ClassVar[tuple[type[kernel_commands.Command], ...]] = ()
    variants: ClassVar[Mapping[str, Mapping[str, str | int | bool]]] = {}
    switches: ClassVar[Mapping[str, tuple[str | int | bool, ...]]] = {}
    samples: ClassVar[Mapping[str, str]] = {}
    unlisted: ClassVar[Mapping[str, str]] = {}

    def __init__(self) -> None:
        records: dict[tuple[str, str], Any] = dict(self.records)
        if self.pending is not None:
            stack = tuple[self.pending, ...]  # type: ignore[name-defined]  # built at run time from the subclass's union
            records.setdefault(("encounters", "pending"), stack)
            records.setdefault(("tests", "pending"), stack)
        self.schema = Schema({"combatants": self.combatant_type}, records)
        self.commands = (*kernel_commands.PLAYER_COMMANDS, *self.own_commands)
        self._known = sorted(str(command.__struct_config__.tag) for command in self.commands)
        union: Any = self.commands[0]
        for command in self.commands[1:]:
            union = union | command
        self._union = union
        self._decoder = msgspec.msgpack.Decoder(union)
        for command in kernel_commands.SYSTEM_COMMANDS:
            union = union | command
        self._system_union = union

    def decode(self, raw: bytes | Mapping[str, Any], *, system: bool = False) -> Any:
        try:
            if isinstance(raw, Mapping):
                return msgspec.convert(dict(raw), self._system_union if system else self._union)
            if system:
                return msgspec.msgpack.decode(raw, type=self._system_union)
            return self._decoder.decode(raw)
        except (msgspec.ValidationError, msgspec.DecodeError, RecursionError, UnicodeDecodeError) as problem:
            raise self._refusal(raw, problem) from None

    def _refusal(self, raw: bytes | Mapping[str, Any], problem: Exception) -> Rejected:
        kind: Any = None
        try:
            fields = raw if isinstance(raw, Mapping) else msgspec.msgpack.decode(raw)
            kind = fields.get("type") if isinstance(fields, Mapping) else None
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError, ValueError):
            kind = None
        if isinstance(kind, str) and kind not in self._known:
            return Rejected(
                "unknown_command", f"The ruleset '{self.name}' has no command '{kind[:64]}'.", given=kind[:64], known=self._known
            )
        if isinstance(problem, RecursionError):
            return Rejected("bad_command", "The command is nested too deeply.")
        form = ID_FORM.sub("an id (1 to 64 letters, digits or _.:-)", str(problem))
        return Rejected("bad_command", f"The command does not fit its form: {form}.", given=kind if isinstance(kind, str) else "")

    def resume(self, step: Step, owner: tuple[str, str], record: Any, answers: tuple[Answered, ...]) -> None:
        raise NotImplementedError(f"{self.name} asked something and cannot go on")

    def odds(self, session: Session, seat: str, command: Any) -> Odds:
        raise Rejected("bad_command", "This command has no odds.")

    def grade_combatant(self, session: Session, combatant: Any, sight: Sight) -> Hashable | None:
        return "full" if sight.role == "gm" or combatant.id in sight.controls else "public"

    def view_test(self, session: Session, test: Any, grade: Hashable) -> dict[str, Any]:
        return {"frame": msgspec.to_builtins(test.frame), "result": msgspec.to_builtins(test.result)}

    def spawn(self, step: Step, combatant_id: str, template: str, fields: Mapping[str, Any]) -> Combatant:
        if template:
            raise Rejected(
                "unknown_id", f"The ruleset '{self.name}' has no template '{template[:64]}'.", what="template", given=template[:64]
            )
        try:
            return self.schema.build("combatants", {"name": combatant_id, **fields, "id": combatant_id})  # type: ignore[no-any-return]
        except (msgspec.ValidationError, KeyError, TypeError) as problem:
            raise Rejected("bad_command", f"These fields do not make a combatant: {problem}.") from None

    def turn_started(self, step: Step, combatant: Any) -> None:
        """Nothing by default."""

    def turn_ended(self, step: Step, combatant: Any) -> None:
        """Nothing by default."""

    def round_started(self, step: Step, encounter: Encounter) -> None:
        """Nothing by default."""

    def initiative(self, step: Step, combatant: Any) -> int:
        return 0

    def start_encounter(self, step: Step, command: kernel_commands.GmEncounter) -> None:
        turns.start(step, command.scene, command.combatants)

    def sitting_opened(self, step: Step) -> None:
        """Nothing by default."""

    def time_passed(self, step: Step, minutes: int) -> None:
        """Nothing by default."""

    def option(self, session: Session | Step, name: str) -> Any:
        """The value of one of the ruleset's switches in this session."""
        for key, value in session.header.options:
            if key == name:
                return value
        return self.switches[name][0]


_found: dict[str, Ruleset] = {}


def register(rules: Ruleset) -> None:
    """Make a ruleset known by hand (tests, embedding); installed packages use the entry point group instead."""
    _found[rules.name] = rules


def ruleset(name: str) -> Ruleset:
    """The ruleset of this name. Raises Rejected("unknown_id") that lists the known ones."""
    if name not in _found:
        for point in entry_points(group="dustup.rulesets"):
            if point.name == name:
                _found[name] = point.load()
                break
        else:
            raise Rejected(
                "unknown_id",
                f"There is no ruleset '{name[:64]}'. Known: {', '.join(names())}.",
                what="ruleset",
                given=name[:64],
                known=names(),
            )
    return _found[name]


def names() -> list[str]:
    """The names of every ruleset that is installed or registered, sorted."""
    return sorted({point.name for point in entry_points(group="dustup.rulesets")} | set(_found))
