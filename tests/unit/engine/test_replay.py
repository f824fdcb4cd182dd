"""Promises of engine.replay: a log leads to its session, old shapes are read, newer ones refused, and an audit names the first lie."""

from __future__ import annotations

import importlib
import random
from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

import engine
from engine import Entry, LogError, Setup
from engine.rulesets.duel.rules import Duel
from tests.support.junk import play_pilots
from tests.support.table import EPOCH, Table, state


def played() -> Table:
    """A whole fight with talk, an undo, a hidden roll, and all dice revealed."""
    table = Table()
    table.do("ann", "dice.salt", salt="pepper")
    table.do("ann", "chat", text="here we go")
    table.do("ann", "move", combatant="c1", zone="yard", near=["c3"])
    table.do("ann", "attack", target="c3")
    table.answer("yes")
    table.do("gm", "gm.undo")
    table.answer("no")
    table.do("gm", "roll", notation="2d20kh1", hidden=True)
    play_pilots(table, random.Random(5))
    table.do("gm", "gm.dice", do="reveal", stream="hidden")
    return table


# --- following -------------------------------------------------------------------------------------------------------------


def test_a_log_leads_to_its_session_from_its_start_and_from_every_snapshot() -> None:
    table = played()
    log = table.log()
    wanted = state(table.session)
    assert state(table.replayed()) == wanted
    for v in range(1, len(log)):
        start = engine.decode_snapshot(table.rules, engine.encode_snapshot(table.history[v]))
        assert state(start) == state(table.history[v])
        assert state(engine.replay(table.rules, log[v:], start=start)) == wanted


def test_a_log_with_a_gap_a_wrong_start_or_nothing_is_refused() -> None:
    table = played()
    log = table.log()
    for broken in ([], log[1:], [*log[:3], *log[4:]], [log[0], *log]):
        with pytest.raises(LogError):
            engine.replay(table.rules, broken)


@pytest.mark.parametrize(
    "change",
    [
        engine.Change("=", "combatants", "nobody", {"hp": 3}),
        engine.Change("-", "combatants", "nobody"),
        engine.Change("=", "combatants", "c1", {"hp": "many"}),
        engine.Change("=", "combatants", "c1", {"hp": -1}),
        engine.Change("=", "combatants", "c1", {"nonsense": 1}),
        engine.Change("+", "dragons", "d", {}),
        engine.Change("+", "v", "d", {}),
        engine.Change("+", "combatants", "d", {"nonsense": 1}),
    ],
)
def test_changes_that_do_not_fit_are_refused_with_their_version(change: engine.Change) -> None:
    table = Table()
    bad = replace(table.do("ann", "turn.end"), changes=(change,))
    with pytest.raises(LogError, match="version 2"):
        engine.evolve(table.rules, table.history[1], bad)


@pytest.mark.parametrize("data", [b"", b"\xc1", b"\x80", b"\x90", b"\x81\xa6schema\x92\x01\x01", b"\x91" * 4000])
def test_a_snapshot_that_cannot_be_read_is_refused(data: bytes) -> None:
    with pytest.raises(LogError):
        engine.decode_snapshot(Table().rules, data)


# --- shapes ----------------------------------------------------------------------------------------------------------------


class NewerDuel(Duel):
    """Duel after `hp` was renamed: its shape number is 2, and an upcaster reads shape 1."""

    schema_number = 2
    version = "2"
    upcasters = {1: lambda kind, fields: _renamed(kind, fields)}  # noqa: RUF012  # as a ruleset would declare it


def _renamed(kind: str, fields: dict[str, Any]) -> dict[str, Any]:
    if kind == "combatants" and "hp" in fields:
        return {**fields, "hp": fields["hp"] + 100}
    return fields


def test_an_old_log_and_an_old_snapshot_are_read_in_todays_shape() -> None:
    table = played()
    newer = NewerDuel()
    old_hp = {one.id: one.hp for one in table.session.combatants.values()}
    wanted = {one: hp + 100 for one, hp in old_hp.items() if any("hp" in c.fields for e in table.entries for c in e.changes if c.id == one)}
    for session in (engine.replay(newer, table.log()), engine.decode_snapshot(newer, engine.encode_snapshot(table.session))):
        assert {one: session.combatants[one].hp for one in wanted} == wanted


def test_the_kernels_upcasters_read_old_shapes_too(monkeypatch: pytest.MonkeyPatch) -> None:
    table = Table(setup=Setup(ruleset="duel", name="old name"))
    log = table.log()
    replay_module = importlib.import_module("engine.replay")  # the package has a function of this name
    monkeypatch.setattr(replay_module, "SCHEMA", 2)
    upcaster = {1: lambda kind, fields: {**fields, "name": "NEW"} if kind == "table" and "name" in fields else fields}
    monkeypatch.setattr(replay_module, "UPCASTERS", upcaster)
    assert engine.replay(table.rules, log).table.name == "NEW"


def test_a_newer_log_is_refused_by_an_older_server_whatever_the_entry_holds() -> None:
    table = Table()
    newer = replace(table.do("ann", "chat", text="hello"), schema=(1, 2), changes=())
    with pytest.raises(LogError, match="newer version"):
        engine.evolve(table.rules, table.history[1], newer)
    header = replace(table.session.header, ruleset_schema=2)
    with pytest.raises(LogError, match="newer version"):
        engine.decode_snapshot(table.rules, engine.encode_snapshot(replace(table.session, header=header)))


def test_a_newer_server_takes_a_log_over_with_an_entry_and_older_ones_refuse_to_write() -> None:
    table = Table()
    older, newer = table.rules, NewerDuel()
    assert engine.needs_upgrade(newer, table.session)
    table.rules = newer
    entry = table.system("system.upgrade")
    assert (entry.kind, entry.version.split("/")[1], entry.schema) == ("upgraded", "2", (1, 2))
    assert not engine.needs_upgrade(newer, table.session)
    with pytest.raises(engine.Rejected) as caught:
        engine.needs_upgrade(older, table.session)
    assert caught.value.code == "read_only"
    with pytest.raises(LogError, match="newer version"):
        engine.replay(older, table.log())


# --- the audit -------------------------------------------------------------------------------------------------------------


def test_a_log_that_was_not_touched_is_ok() -> None:
    table = played()
    found = table.audit()
    assert (found.verdict, found.difference, found.skipped) == ("ok", None, ())
    assert found.executed == found.entries == len(table.entries)
    assert found.dice is not None
    assert found.dice.checked > 10


def test_dice_that_are_not_revealed_leave_the_audit_unchecked_and_the_hosts_seeds_check_them() -> None:
    table = Table()
    table.do("ann", "roll", notation="d20")
    assert table.audit().verdict == "unchecked"
    seeds = [engine.Reveal("open", 1, "", table.dice.reveal("open", 1)), engine.Reveal("hidden", 1, "", table.dice.reveal("hidden", 1))]
    assert engine.audit(table.rules, table.log(), epoch=EPOCH, reveals=seeds).verdict == "ok"
    wrong = [engine.Reveal("open", 1, "", table.dice.reveal("hidden", 1))]
    found = engine.audit(table.rules, table.log(), epoch=EPOCH, reveals=wrong)
    assert found.difference is not None
    assert found.difference.what.startswith("commitment")


def test_spans_of_another_version_are_named_and_not_executed() -> None:
    table = played()
    log = [replace(entry, version="0.0.1/1") if entry.v in (3, 4, 9) else entry for entry in table.log()]
    found = engine.audit(table.rules, log, epoch=EPOCH)
    assert (found.verdict, found.skipped, found.executed) == ("unchecked", ((3, 4), (9, 9)), len(log) - 3)


def _with(log: list[Entry], v: int, **fields: Any) -> list[Entry]:
    return [replace(entry, **fields) if entry.v == v else entry for entry in log]


def _rolling(log: list[Entry]) -> Entry:
    return next(entry for entry in log if entry.rolls)


def changed_face(log: list[Entry]) -> tuple[list[Entry], int, str]:
    entry = _rolling(log)
    roll = entry.rolls[0]
    better = replace(roll, faces=(roll.faces[0] % 20 + 1,))
    return _with(log, entry.v, rolls=(better, *entry.rolls[1:])), entry.v, "events"


def changed_change(log: list[Entry]) -> tuple[list[Entry], int, str]:
    entry = next(entry for entry in log if any("hp" in one.fields for one in entry.changes) and entry.v > 1)
    changes = tuple(replace(one, fields={**one.fields, "hp": 12}) if "hp" in one.fields else one for one in entry.changes)
    return _with(log, entry.v, changes=changes), entry.v, "changes"


def dropped_entry(log: list[Entry]) -> tuple[list[Entry], int, str]:
    return [*log[:4], *log[5:]], 6, "version"


def swapped_commands(log: list[Entry]) -> tuple[list[Entry], int, str]:
    a, b = log[3], log[4]
    return _with(_with(log, 4, command=b.command), 5, command=a.command), 4, "command"


def another_seat(log: list[Entry]) -> tuple[list[Entry], int, str]:
    return _with(log, 4, by="ben"), 4, "command"


def wrong_commitment(log: list[Entry]) -> tuple[list[Entry], int, str]:
    events = tuple(replace(one, data={**one.data, "commitment": "0" * 64}) if one.type == "dice.opened" else one for one in log[0].events)
    return _with(log, 1, events=events), 1, "events"


def changed_words(log: list[Entry]) -> tuple[list[Entry], int, str]:
    entry = _rolling(log)
    events = (replace(entry.events[0], text="Nothing happened."), *entry.events[1:])
    return _with(log, entry.v, events=events), entry.v, "events[0]"


def added_roll(log: list[Entry]) -> tuple[list[Entry], int, str]:
    entry = _rolling(log)
    extra = replace(entry.rolls[-1], n=entry.rolls[-1].n + 1)
    return _with(log, entry.v, rolls=(*entry.rolls, extra)), entry.v, "rolls"


@pytest.mark.parametrize(
    "doctor",
    [changed_face, changed_change, dropped_entry, swapped_commands, another_seat, wrong_commitment, changed_words, added_roll],
)
def test_a_doctored_log_differs_at_its_first_lie(doctor: Callable[[list[Entry]], tuple[list[Entry], int, str]]) -> None:
    table = played()
    log, v, what = doctor(table.log())
    found = engine.audit(table.rules, log, epoch=EPOCH)
    assert found.verdict == "differs"
    assert found.difference is not None
    assert (found.difference.v, found.difference.what[: len(what)]) == (v, what)
    assert found.difference.expected != found.difference.found


def test_a_log_made_consistently_with_other_dice_than_committed_is_found_by_the_dice() -> None:
    """Everything follows from everything, but the seeds that were revealed are not those of the faces."""

    class Loaded(engine.SeededDice):
        def faces(self, stream: str, index: int, salts: Any, n: int, count: int, sides: int) -> tuple[int, ...]:
            return (sides,) * count

    table = Table(dice=Loaded(b"m" * 32, EPOCH))
    table.do("ann", "roll", notation="d20")
    table.do("gm", "gm.dice", do="reveal")
    found = table.audit()
    assert found.verdict == "differs"
    assert found.difference is not None
    assert (found.difference.v, found.difference.what, found.difference.found) == (2, "faces of the open dice, roll 1", "[20]")
    assert found.dice is not None


def test_a_roll_that_was_thrown_away_is_missed() -> None:
    """A host that rolls until it likes the faces leaves a number out."""
    table = Table()
    skipped = replace(table.session.table.open, n=1)
    table.session = replace(table.session, table=replace(table.session.table, open=skipped))
    table.watched = False
    table.do("ann", "roll", notation="d20")
    found = table.audit()
    assert found.verdict == "differs"
