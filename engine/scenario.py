"""Scenarios: a table, its dice and a list of commands as one piece of plain data, run without a server.

For rule questions, bug reports and tests. A scenario is written before any id exists, so commands and paths may name what the
engine made by references (engine.scenario_expect): "$prompt", "$test", "$encounter". The same data gives the same bytes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import msgspec

from engine.commands import SafeInt
from engine.dice import Dice, RolledFact, ScriptedDice, ScriptError, SeededDice
from engine.entry import SYSTEM, Act, Entry, plain
from engine.kernel import Past, apply, create, undo_target
from engine.rejected import Rejected
from engine.replay import decode_snapshot, encode_snapshot
from engine.rulesets import Ruleset, ruleset
from engine.scenario_expect import Difference, ReferenceProblem, References, compare_facts, find_events
from engine.session import Session
from engine.setup import Setup

MAX_COMMANDS = 10_000
MAX_DICE = 100_000
SESSION_ID = "scenario"
EPOCH = "0" * 16

Faces = Annotated[tuple[Annotated[int, msgspec.Meta(ge=1)], ...], msgspec.Meta(max_length=MAX_DICE)]


class ScenarioError(Exception):
    """A scenario that cannot be run. `where` is a path into it ("commands[2].by", "" for the whole), `text` says what is wrong."""

    def __init__(self, where: str, text: str) -> None:
        super().__init__(f"{where}: {text}" if where else text)
        self.where = where
        self.text = text


class _Form(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pass


class Expect(_Form, frozen=True, kw_only=True):
    """What a command, or the whole scenario, should come to.

    `rejected`: the code it is refused with, several codes any of which will do, or true for any refusal but a failure of the rules.
    `events`: maps that the entry's events match in this order, others may stand between; each lists the fields that matter. `without`:
    types of events that must not be there. `facts`: values by their path into the session afterwards (engine.scenario_expect).
    """

    rejected: str | tuple[str, ...] | bool = False
    events: tuple[dict[str, Any], ...] = ()
    without: tuple[str, ...] = ()
    facts: dict[str, Any] = {}


class Line(_Form, frozen=True, kw_only=True):
    """One command: by which seat ("@system" for deadlines), when (default: when the one before was), and the faces that it rolls."""

    by: str
    command: dict[str, Any]
    now_ms: SafeInt | None = None
    dice: Faces | None = None
    expect: Expect | None = None


class Scenario(_Form, frozen=True, kw_only=True):
    """A whole scenario. Dice come from one of: `seed`, `dice` (faces in roll order for all of it), or the `dice` of each line."""

    setup: Setup
    seed: str = ""
    dice: Faces | None = None
    now_ms: SafeInt = 0
    commands: Annotated[tuple[Line, ...], msgspec.Meta(max_length=MAX_COMMANDS)] = ()
    expect: Expect | None = None

    @property
    def judged(self) -> bool:
        """Whether it expects anything; then a refusal that it does not expect is a difference."""
        return self.expect is not None or any(line.expect is not None for line in self.commands)


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """What one line came to: an entry or a refusal, the session before and after, and how that differs from what was expected.

    `n` is 0 for the creation, then the number of the command from 1. `texts` are what was said so far, by the ids in the entries.
    """

    n: int
    by: str
    after: Session
    texts: Mapping[str, str] = {}
    before: Session | None = None
    command: Any = None
    entry: Entry | None = None
    refusal: Rejected | None = None
    differs: tuple[Difference, ...] = ()

    def plain(self) -> dict[str, Any]:
        """Everything of it as plain data: the whole entry, or the refusal."""
        told: dict[str, Any] = {"n": self.n, "by": self.by}
        if self.entry is not None:
            told["entry"] = plain(self.entry)
        if self.refusal is not None:
            told["command"] = self.command
            told["error"] = explain(self.refusal)
        return told


def explain(refusal: Rejected) -> dict[str, Any]:
    """A refusal as plain data; one of code `internal` names the error that the rules raised."""
    told = {"code": refusal.code, "text": refusal.text, "data": plain(refusal.data)}
    if refusal.__cause__ is not None:
        told["cause"] = f"{type(refusal.__cause__).__name__}: {refusal.__cause__}"
    return told


# --- reading -----------------------------------------------------------------------------------------------------------


def parse(raw: Any) -> Scenario:
    """A scenario from plain data (JSON or YAML, read). Raises ScenarioError that says what is wrong and where.

    `ruleset`, `variant` and `options` may stand beside `setup` instead of inside it.
    """
    if not isinstance(raw, Mapping):
        raise ScenarioError("", f"A scenario is a map with `setup` and `commands`, this is {_kind(raw)}.")
    fields = dict(raw)
    setup = fields.get("setup", {})
    if not isinstance(setup, Mapping):
        raise ScenarioError("setup", f"This is a map, not {_kind(setup)}.")
    merged = dict(setup)
    for name in ("ruleset", "variant", "options"):
        if name in fields:
            value = fields.pop(name)
            if name in merged and merged[name] != value:
                raise ScenarioError(name, f"This stands here and inside `setup`, with different values: {value!r}, {merged[name]!r}.")
            merged[name] = value
    if "ruleset" not in merged:
        raise ScenarioError("ruleset", "The scenario does not name its ruleset.")
    if isinstance(fields.get("seed"), int) and not isinstance(fields["seed"], bool):
        fields["seed"] = str(fields["seed"])
    try:
        found = msgspec.convert({**fields, "setup": merged}, Scenario)
    except (msgspec.ValidationError, RecursionError) as problem:
        raise _misshaped(problem) from None
    lines_with_dice = [n for n, line in enumerate(found.commands) if line.dice is not None]
    given = [name for name, there in (("seed", found.seed), ("dice", found.dice is not None), ("dice of lines", lines_with_dice)) if there]
    if len(given) > 1:
        where = f"commands[{lines_with_dice[0]}].dice" if lines_with_dice else "dice"
        raise ScenarioError(where, f"Dice come from one place, this scenario gives several: {', '.join(given)}.")
    return found


def _misshaped(problem: Exception) -> ScenarioError:
    if isinstance(problem, RecursionError):
        return ScenarioError("", "This is nested too deeply.")
    text, _, path = str(problem).partition(" - at `$")
    where = path.rstrip("`").lstrip(".")
    if text == "Expected `str`, got `bool`":
        text += " (in YAML, put true and false in quotation marks to write a text)"
    return ScenarioError(where, text.rstrip(".") + ".")


def _kind(value: Any) -> str:
    names = {dict: "a map", list: "a list", str: "a text", bool: "true or false", int: "a number", float: "a number", type(None): "nothing"}
    return names.get(type(value), f"a {type(value).__name__}")


def ruleset_of(scenario: Scenario) -> Ruleset:
    """The scenario's ruleset. Raises ScenarioError that lists the known ones."""
    try:
        return ruleset(scenario.setup.ruleset)
    except Rejected as refusal:
        raise ScenarioError("ruleset", refusal.text) from None


# --- running -----------------------------------------------------------------------------------------------------------


def run(rules: Ruleset, scenario: Scenario, *, reload: bool = False) -> Iterator[Record]:
    """Run a scenario: one record for the creation, one per command, each as soon as it is done; what `expect` at the end says is
    judged in the last one. With `reload` every session is written out and read back before the next command, as after a restart.

    Raises ScenarioError when it cannot go on: a set-up that is refused, an unknown reference, dice missing, impossible or left over.
    """
    yield from _Runner(rules, scenario, reload).records()


class _Runner:
    def __init__(self, rules: Ruleset, scenario: Scenario, reload: bool) -> None:
        self.rules = rules
        self.reload = reload
        self.scenario = scenario
        self.now_ms = scenario.now_ms
        self.references = References()
        self.bodies: dict[str, str] = {}
        self.seeded: Dice | None = None
        if scenario.seed:
            self.seeded = SeededDice(hashlib.sha256(b"dustup scenario " + scenario.seed.encode("utf-8", "surrogatepass")).digest(), EPOCH)
        self.script = ScriptedDice(scenario.dice or ())
        self.history: list[Session] = []
        self.rolls: list[tuple[RolledFact, ...]] = []

    def records(self) -> Iterator[Record]:
        scenario = self.scenario
        last = self.creation()
        if not scenario.commands:
            last = self.ended(last)
        yield last
        for n, line in enumerate(scenario.commands, 1):
            session = decode_snapshot(self.rules, encode_snapshot(last.after)) if self.reload else last.after
            last = self.line(n, line, session)
            if n == len(scenario.commands):
                last = self.ended(last)
            yield last

    def creation(self) -> Record:
        dice: Dice = self.seeded or self.script
        try:
            session, entry = create(
                self.rules, self.scenario.setup, session_id=SESSION_ID, epoch=EPOCH, now_ms=self.now_ms, dice=dice, stamp=_stamp(0)
            )
        except Rejected as refusal:
            raise ScenarioError("setup", f"{refusal.text} ({refusal.code})") from None
        except ScriptError as problem:
            raise ScenarioError("setup", self.about_dice(problem)) from None
        except Exception as problem:
            raise ScenarioError("setup", f"The rules failed on this set-up: {type(problem).__name__}: {problem}") from problem
        self.history.append(session)
        self.rolls.append(entry.rolls)
        return Record(n=0, by=SYSTEM, after=session, entry=entry)

    def line(self, n: int, line: Line, session: Session) -> Record:
        where = f"commands[{n - 1}]"
        if line.now_ms is not None:
            self.now_ms = line.now_ms
        try:
            command = self.references.resolve(session, line.by, line.command)
        except ReferenceProblem as problem:
            raise ScenarioError(f"{where}.command", str(problem)) from None
        except RecursionError:
            raise ScenarioError(f"{where}.command", "This is nested too deeply.") from None
        command = self.without_texts(n, command)
        script = self.script if line.dice is None else ScriptedDice(line.dice)
        after, entry, refusal = session, None, None
        try:
            after, entry = self.apply(n, line, command, session, self.seeded or script)
        except Rejected as problem:
            if isinstance(problem.__cause__, ScriptError):
                raise ScenarioError(where, self.about_dice(problem.__cause__)) from None
            refusal = problem
        if line.dice is not None and script.left:
            why = f"was refused ({refusal.code}: {refusal.text}) and" if refusal is not None else "ran and"
            raise ScenarioError(f"{where}.dice", f"This command {why} did not roll all of its dice; left over: {list(script.left)}.")
        if entry is not None:
            self.history.append(after)
            self.rolls.append(entry.rolls)
        differs = self.judge(line, where, after, entry, refusal)
        return Record(
            n=n,
            by=line.by,
            before=session,
            after=after,
            texts=self.bodies,
            command=command,
            entry=entry,
            refusal=refusal,
            differs=differs,
        )

    def apply(self, n: int, line: Line, raw: dict[str, Any], session: Session, dice: Dice) -> tuple[Session, Entry]:
        command = self.rules.decode(raw, system=line.by == SYSTEM)
        past: Past | None = None
        target = undo_target(session, command)
        if target is not None and 1 <= target < session.v:
            past = Past(self.history[target - 1], tuple(roll for rolls in self.rolls[target:] for roll in rolls))
        act = Act(by=line.by, command=command, id=f"scenario.{n}", stamp=_stamp(n))
        return apply(self.rules, session, act, now_ms=self.now_ms, dice=dice, past=past)

    def without_texts(self, n: int, command: dict[str, Any]) -> dict[str, Any]:
        """The command as the engine gets it from the server, which keeps what people say outside the log."""
        text = command.get("text")
        if command.get("type") not in ("chat", "post") or not isinstance(text, str):
            return command
        self.bodies[f"x{n}"] = text
        return {**command, "text": {"id": f"x{n}", "sha256": hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()}}

    def judge(self, line: Line, where: str, after: Session, entry: Entry | None, refusal: Rejected | None) -> tuple[Difference, ...]:
        if not self.scenario.judged:
            return ()
        expect = line.expect or Expect()
        wanted = (expect.rejected,) if isinstance(expect.rejected, str) else expect.rejected
        if refusal is not None:
            if (wanted is True and refusal.code != "internal") or (isinstance(wanted, tuple) and refusal.code in wanted):
                return self.facts(expect, where, after)
            expected = f"a refusal with the code {' or '.join(wanted)}" if isinstance(wanted, tuple) else "the command is accepted"
            told = explain(refusal)
            found = f"refused, {refusal.code}: {refusal.text}" + (f" [{told['cause']}]" if "cause" in told else "")
            return (Difference(where=where, expected=expected, found=found),)
        if wanted:
            codes = f" with the code {' or '.join(wanted)}" if isinstance(wanted, tuple) else ""
            return (Difference(where=where, expected=f"the command is refused{codes}", found="it was accepted"),)
        events = entry.events if entry is not None else ()
        try:
            unlike = find_events(expect.events, expect.without, events, f"{where}.expect")
        except ReferenceProblem as problem:
            raise ScenarioError(f"{where}.expect.events", str(problem)) from None
        return (*unlike, *self.facts(expect, where, after))

    def facts(self, expect: Expect, where: str, session: Session) -> tuple[Difference, ...]:
        path = f"{where}.expect.facts" if where else "expect.facts"
        try:
            return compare_facts(expect.facts, session, self.references, path)
        except ReferenceProblem as problem:
            raise ScenarioError(path, str(problem)) from None

    def ended(self, last: Record) -> Record:
        if self.script.left:
            raise ScenarioError("dice", f"These faces were never rolled: {list(self.script.left)}.")
        expect = self.scenario.expect
        if expect is None:
            return last
        if expect.rejected or expect.events or expect.without:
            raise ScenarioError("expect", "At the end only `facts` can be expected; the rest belongs to a command.")
        return msgspec.structs.replace(last, differs=(*last.differs, *self.facts(expect, "", last.after)))

    def about_dice(self, problem: ScriptError) -> str:
        given = self.scenario.dice is not None or any(line.dice is not None for line in self.scenario.commands)
        return f"The dice do not fit: {problem}." if given else f"This rolls dice, so the scenario needs a `seed` or `dice`: {problem}."


def _stamp(n: int) -> str:
    return f"{n + 1:016x}"
