"""Following a log without running rules, snapshots, upcasting old shapes, and the audit that re-executes.

Loading applies each entry's changes, so a log loads under any newer code. The audit runs the commands again with the recorded
dice and compares what comes out, byte for byte, for the entries that this very version wrote.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec.structs import replace

from engine.dice import DiceReport, RecordedDice, Reveal, RolledFact, verify_rolls
from engine.dice import Difference as DiceDifference
from engine.entry import Act, Entry, decode_entry, encode_entry
from engine.session import ENGINE_VERSION, KINDS, SCHEMA, Header, Session, Table, freeze
from engine.setup import Setup

if TYPE_CHECKING:
    from engine.kernel import Past
    from engine.rulesets import Ruleset

Upcaster = Callable[[str, dict[str, Any]], dict[str, Any]]
"""Turns the plain fields of one entity of `kind` from one shape number to the next."""

UPCASTERS: dict[int, Upcaster] = {}
"""The kernel's, by the shape number they start from. A ruleset has its own in `upcasters`."""


class LogError(Exception):
    """A log that does not follow: a gap, an unknown entity, a field that does not fit. Names the version."""


def upcast(rules: Ruleset, kind: str, fields: Mapping[str, Any], schema: tuple[int, int]) -> Mapping[str, Any]:
    """Plain fields in today's shape. Raises LogError when they are from a newer one."""
    kernel, own = schema
    _readable(rules, schema)
    if (kernel, own) == (SCHEMA, rules.schema_number):
        return fields
    shaped = dict(fields)
    for number in range(kernel, SCHEMA):
        if number in UPCASTERS:
            shaped = UPCASTERS[number](kind, shaped)
    own_casters: Mapping[int, Upcaster] = getattr(rules, "upcasters", {})
    for number in range(own, rules.schema_number):
        if number in own_casters:
            shaped = own_casters[number](kind, shaped)
    return shaped


def _readable(rules: Ruleset, schema: tuple[int, int]) -> None:
    kernel, own = schema
    if kernel > SCHEMA or own > rules.schema_number:
        raise LogError(
            f"written by a newer version (shape {kernel}.{own}, this is {SCHEMA}.{rules.schema_number}); upgrade this server to read it"
        )


def empty(epoch: str = "") -> Session:
    """A session before its first entry."""
    return Session(header=Header(id="header", session="", ruleset="", ruleset_version=""), table=Table(id="table"), epoch=epoch)


def header_of(first: Entry) -> Header:
    """The header that a log's first entry carries. Raises LogError."""
    if first.v != 1 or not isinstance(first.command, Mapping):
        raise LogError("a log begins with the entry that created its session, v 1")
    try:
        return msgspec.convert(first.command["header"], Header)
    except (KeyError, msgspec.ValidationError) as problem:
        raise LogError(f"the first entry has no readable header: {problem}") from None


def evolve(rules: Ruleset, session: Session | None, entry: Entry, *, epoch: str = "") -> Session:
    """The session after one entry, by its changes alone. `session` None starts from the first entry. Raises LogError."""
    if session is None:
        session = replace(empty(epoch), header=header_of(entry))
    _readable(rules, entry.schema)
    if entry.v != session.v + 1:
        raise LogError(f"version {entry.v} does not follow version {session.v}")
    copied: dict[str, dict[str, Any]] = {}
    table, header = session.table, session.header
    schema = rules.schema
    try:
        for change in entry.changes:
            fields = upcast(rules, change.kind, change.fields, entry.schema)
            if change.kind == "table":
                table = schema.patch("table", table, fields)
                continue
            if change.kind == "header":
                header = schema.patch("header", header, fields)
                continue
            entities = copied.get(change.kind)
            if entities is None:
                entities = copied[change.kind] = dict(getattr(session, change.kind))
            if change.op == "+":
                entities[change.id] = schema.build(change.kind, {**fields, "id": change.id})
            elif change.op == "-":
                del entities[change.id]
            else:
                entities[change.id] = schema.patch(change.kind, entities[change.id], fields)
    except (KeyError, TypeError, AttributeError, msgspec.ValidationError) as problem:
        raise LogError(f"the changes of version {entry.v} do not fit: {problem}") from problem
    return replace(
        session, v=entry.v, stamp=entry.stamp, table=table, header=header, **{kind: freeze(entities) for kind, entities in copied.items()}
    )


def replay(rules: Ruleset, entries: Iterable[Entry], *, start: Session | None = None, epoch: str = "") -> Session:
    """The session after all entries. Raises LogError, also when there are none."""
    session = start
    for entry in entries:
        session = evolve(rules, session, entry, epoch=epoch)
    if session is None:
        raise LogError("the log is empty")
    return session


# --- snapshots -------------------------------------------------------------------------------------------------------------


def encode_snapshot(session: Session) -> bytes:
    """A whole session as bytes; small, because defaults are left out."""
    header = session.header
    return msgspec.msgpack.encode(
        {
            "schema": [header.schema, header.ruleset_schema],
            "epoch": session.epoch,
            "v": session.v,
            "stamp": session.stamp,
            "header": header,
            "table": session.table,
            **{kind: dict(getattr(session, kind)) for kind in KINDS},
        }
    )


def decode_snapshot(rules: Ruleset, data: bytes) -> Session:
    """The session of a snapshot, in today's shape. Raises LogError."""
    try:
        raw = msgspec.msgpack.decode(data)
        shape = (raw["schema"][0], raw["schema"][1])

        def build(kind: str, fields: Mapping[str, Any]) -> Any:
            return rules.schema.build(kind, upcast(rules, kind, fields, shape))

        return Session(
            epoch=raw["epoch"],
            v=raw["v"],
            stamp=raw["stamp"],
            header=build("header", raw["header"]),
            table=build("table", raw["table"]),
            **{kind: freeze({entity_id: build(kind, fields) for entity_id, fields in raw[kind].items()}) for kind in KINDS},
        )
    except (KeyError, IndexError, TypeError, AttributeError, msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as problem:
        raise LogError(f"the snapshot cannot be read: {problem}") from problem


# --- the audit -------------------------------------------------------------------------------------------------------------


class Difference(msgspec.Struct, frozen=True):
    """The first thing that does not hold: where, what was expected, what was found."""

    v: int
    what: str
    expected: str
    found: str


class Audit(msgspec.Struct, frozen=True, kw_only=True):
    """What an audit found.

    `verdict`: ok (all that can be checked holds, and all could be), differs (`difference` is the first), or unchecked (some dice cannot be
    checked before their seed is revealed, or spans were written by another version: `skipped`). `dice` is the report on the rolls.
    """

    verdict: Literal["ok", "differs", "unchecked"]
    entries: int
    executed: int
    skipped: tuple[tuple[int, int], ...] = ()
    difference: Difference | None = None
    dice: DiceReport | None = None


def reveals_of(entries: Iterable[Entry]) -> list[Reveal]:
    """Every dice epoch of a log with its commitment, and its seed and salts where they were revealed."""
    found: dict[tuple[str, int], Reveal] = {}
    for entry in entries:
        for event in entry.events:
            data = event.data
            if event.type == "dice.opened":
                key = (data["stream"], data["index"])
                found[key] = Reveal(stream=key[0], index=key[1], commitment=data["commitment"], seed="", salts=())
            elif event.type == "dice.revealed":
                key = (data["stream"], data["index"])
                salts = tuple((one[0], one[1]) for one in data["salts"])
                opened = found.get(key)
                commitment = opened.commitment if opened is not None else data["commitment"]
                found[key] = Reveal(stream=key[0], index=key[1], commitment=commitment, seed=data["seed"], salts=salts)
    return list(found.values())


def audit(
    rules: Ruleset,
    entries: Sequence[Entry],
    *,
    epoch: str = "",
    reveals: Sequence[Reveal] = (),
    progress: Callable[[int], None] | None = None,
) -> Audit:
    """Check a whole log: versions without a gap, changes that follow, dice against their commitments, and commands re-executed.

    `reveals` adds seeds that the log does not hold (the host's own). Dropped dice epochs (a fork, an import) stay unrevealed.
    """
    from engine.kernel import Past, apply, create, undo_target  # the kernel imports what this module follows

    session: Session | None = None
    history: dict[int, Session] = {}
    wanted = {entry.past for entry in entries if entry.past}
    executed = 0
    skipped: list[int] = []

    def differs(v: int, what: str, expected: object, found: object) -> Audit:
        return Audit(
            verdict="differs",
            entries=len(entries),
            executed=executed,
            difference=Difference(v, what, str(expected)[:300], str(found)[:300]),
            dice=None,
        )

    for position, entry in enumerate(entries):
        if progress is not None:
            progress(position)
        if entry.v != position + 1:
            return differs(entry.v, "version", position + 1, entry.v)
        try:
            followed = evolve(rules, session, entry, epoch=epoch)
        except LogError as problem:
            return differs(entry.v, "changes", "changes that follow", problem)
        if entry.version != f"{ENGINE_VERSION}/{rules.version}" or entry.kind in ("imported", "upgraded"):
            skipped.append(entry.v)
        else:
            dice = RecordedDice(
                entry.rolls,
                entry.idents,
                {(d.stream, d.index): d.value for d in entry.drawn if d.what == "commitment"},
                {(d.stream, d.index): d.value for d in entry.drawn if d.what == "reveal"},
            )
            try:
                if session is None:
                    setup = msgspec.convert(entry.command["setup"], Setup)
                    _, again = create(
                        rules, setup, session_id=header_of(entry).session, epoch=epoch, now_ms=entry.at, dice=dice, stamp=entry.stamp
                    )
                else:
                    command = rules.decode(entry.command, system=True)
                    past: Past | None = None
                    target = undo_target(session, command)
                    if target is not None and target in history:
                        past = Past(history[target], _rolls(entries, target, entry.v))
                    act = Act(by=entry.by, command=command, id=entry.id, stamp=entry.stamp)
                    _, again = apply(rules, session, act, now_ms=entry.at, dice=dice, past=past)
            except Exception as problem:
                cause = problem.__cause__ or problem
                return differs(entry.v, "command", "a command that is accepted", f"{type(cause).__name__}: {cause}")
            executed += 1
            found = _first_difference(decode_entry(encode_entry(again)), entry)
            if found is not None:
                # A changed die changes everything that follows from it; name the die as well.
                die = _dice_of(entries, reveals).difference
                if die is not None and any((roll.stream, roll.n) == (die.stream, die.n) for roll in entry.rolls):
                    return differs(entry.v, f"{found[0]}, because of {_die(die)}", die.expected, die.found)
                return differs(entry.v, found[0], found[2], found[1])
        session = followed
        if entry.v in wanted:
            history[entry.v] = followed
    report = _dice_of(entries, reveals)
    if report.difference is not None:
        found_dice = report.difference
        at = next((entry.v for entry in entries for roll in entry.rolls if (roll.stream, roll.n) == (found_dice.stream, found_dice.n)), 0)
        return replace(differs(at, _die(found_dice), found_dice.expected, found_dice.found), dice=report)
    verdict: Literal["ok", "differs", "unchecked"] = "ok"
    if report.verdict != "ok" or skipped:
        verdict = "unchecked"
    return Audit(verdict=verdict, entries=len(entries), executed=executed, skipped=_spans(skipped), dice=report)


def _dice_of(entries: Sequence[Entry], reveals: Iterable[Reveal]) -> DiceReport:
    """Every roll of a log against the seeds it reveals and those that are held."""
    known = {(one.stream, one.index): one for one in reveals_of(entries)}
    for one in reveals:
        held = known.get((one.stream, one.index))
        if held is not None and not held.seed:
            known[one.stream, one.index] = replace(one, commitment=held.commitment)
    return verify_rolls([roll for entry in entries for roll in entry.rolls], list(known.values()), whole=True)


def _die(found: DiceDifference) -> str:
    return f"{found.what} of the {found.stream} dice" + (f", roll {found.n}" if found.n else "")


def _rolls(entries: Sequence[Entry], after: int, before: int) -> tuple[RolledFact, ...]:
    return tuple(roll for entry in entries[after : before - 1] for roll in entry.rolls)


def _first_difference(found: Any, logged: Any, path: str = "") -> tuple[str, Any, Any] | None:
    """Where two values of the same shape first differ, as (place, this, that), as deep inside as both have a part there."""
    if found == logged:
        return None
    parts: Iterable[tuple[str, Any, Any]] = ()
    if isinstance(found, msgspec.Struct) and type(found) is type(logged):
        parts = ((f"{path}.{name}".lstrip("."), getattr(found, name), getattr(logged, name)) for name in found.__struct_fields__)
    elif isinstance(found, (tuple, list)) and type(found) is type(logged):
        parts = ((f"{path}[{place}]", ours, theirs) for place, (ours, theirs) in enumerate(zip(found, logged, strict=False)))
    elif isinstance(found, dict) and isinstance(logged, dict) and found.keys() == logged.keys():
        parts = ((f"{path}.{key}", found[key], logged[key]) for key in found)
    for place, ours, theirs in parts:
        if (difference := _first_difference(ours, theirs, place)) is not None:
            return difference
    return path, found, logged


def _spans(versions: Sequence[int]) -> tuple[tuple[int, int], ...]:
    spans: list[tuple[int, int]] = []
    for v in versions:
        if spans and spans[-1][1] == v - 1:
            spans[-1] = (spans[-1][0], v)
        else:
            spans.append((v, v))
    return tuple(spans)
