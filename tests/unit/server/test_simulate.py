"""`dustup simulate`: what it prints, its exit codes, and that every bad input is answered with a sentence that says what and where."""

from __future__ import annotations

import json
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from click.testing import CliRunner, Result

import engine
from engine.rulesets.duel import RULES
from server.commands import plain_yaml
from server.commands import simulate as module
from server.commands.simulate import simulate
from server.exports import Export, ExportError, ExportHeader

GOOD = """\
ruleset: duel
seed: 3
setup: {sample: yard, encounter: mill}
commands:
  - {by: ann, command: {type: attack, target: c3}}
  - {by: ann, command: {type: move, zone: yard, near: [c3]}}
"""


@pytest.fixture(autouse=True)
def _duel_is_known() -> None:
    engine.register(RULES)


def run(*arguments: str, given: str | bytes = "") -> Result:
    return CliRunner().invoke(simulate, list(arguments), input=given, catch_exceptions=False)


def lines(result: Result) -> list[dict[str, Any]]:
    return [json.loads(line) for line in result.stdout.splitlines()]


# --- scenarios -----------------------------------------------------------------------------------------------------------


def test_one_line_for_each_entry_or_error_and_then_the_view() -> None:
    result = run("-", given=GOOD)
    assert result.exit_code == 0
    created, refused, moved, last = lines(result)
    assert created["entry"]["kind"] == "created"
    assert (refused["n"], refused["by"], refused["error"]["code"]) == (1, "ann", "out_of_range")
    assert refused["command"] == {"type": "attack", "target": "c3"}
    assert (moved["entry"]["v"], moved["entry"]["command"]["type"]) == (2, "move")
    assert last["v"] == 2
    assert last["view"]["combatants"]["c3"]["armor"] == 2


@pytest.mark.parametrize("name", ["scenario.json", "scenario.txt"])
def test_json_is_read_as_well(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text(json.dumps(plain_yaml.read(GOOD)), "utf-8")
    assert run(str(path)).stdout == run("-", given=GOOD).stdout


def test_a_viewer_reads_only_what_the_seat_may_see() -> None:
    given = GOOD + "  - {by: gm, command: {type: chat, text: only for Ben, to: [ben]}}\n"
    everything, ann, ben = run("-", given=given), run("-", "--viewer", "ann", given=given), run("-", "--viewer", "ben", given=given)
    assert (ann.exit_code, ben.exit_code) == (0, 0)
    assert "only for Ben" not in ann.stdout
    assert "only for Ben" in ben.stdout
    assert lines(ann)[-1]["viewer"] == "ann"
    assert "armor" not in lines(ann)[-1]["view"]["combatants"]["c3"]
    assert "armor" in lines(everything)[-1]["view"]["combatants"]["c3"]
    assert lines(ann)[2]["frame"]["v"] == 2


def test_a_spectator_can_be_the_viewer() -> None:
    result = run("-", "--viewer", "spectator", given=GOOD)
    assert result.exit_code == 0
    assert "armor" not in lines(result)[-1]["view"]["combatants"]["c1"]


def test_what_differs_is_printed_and_told_by_the_exit_code() -> None:
    result = run("-", given=GOOD + "expect: {facts: {combatants.c1.hp: 99}}\n")
    assert result.exit_code == 1
    assert {"where": "expect.facts.combatants.c1.hp", "expected": 99, "found": 12} in [one.get("differs") for one in lines(result)]
    assert "view" in lines(result)[-1]
    assert "dustup simulate" in result.stderr


def test_all_as_expected_exits_with_0() -> None:
    given = GOOD.replace("target: c3}}", "target: c3}, expect: {rejected: out_of_range}}") + "expect: {facts: {combatants.c1.hp: 12}}\n"
    result = run("-", given=given)
    assert (result.exit_code, result.stderr) == (0, "")


def test_the_example_in_the_help_runs() -> None:
    shown = run("--help").stdout
    example = shown.partition("A scenario:\n")[2].partition("Exit codes")[0]
    result = run("-", given=dedent(example))
    assert (result.exit_code, result.stderr) == (0, "")
    assert any("entry" in one for one in lines(result))


# --- bad input -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("", "-: A scenario is a map"),
        ("just words", "-: A scenario is a map"),
        ("[1, 2]", "-: A scenario is a map"),
        ("ruleset: [", "line 1"),
        ("ruleset: duel\n  seed: x", "line 2"),
        ("ruleset: duel\ncommands:\n\t- x", "line 3"),
        ("ruleset: duel\nruleset: duel", "the key 'ruleset' stands twice"),
        ("a: &x [1]\nb: *x", "anchors and aliases"),
        ("a: !!python/object/apply:os.getcwd []", "the tag"),
        ("1: 2", "a key must be a text"),
        ("ruleset: duel\n---\nruleset: duel", "another document"),
        ("[" * 3000, "nested"),
        ("seed: " + "9" * 5000, "digits"),
        ("ruleset: \x00", "not allowed"),
        (b"ruleset: \xff\xfe", "no UTF-8"),
        ('{"ruleset": "duel", "commands": [}', "line 1"),
        ("ruleset: chess", "ruleset: There is no ruleset 'chess'"),
        ("ruleset: duel\nsetup: {sample: moon}", "setup: There is no sample 'moon'"),
        ("ruleset: duel\ncommands: [{by: ann}]", "commands[0]"),
        ("ruleset: duel\ncommands: [{by: true, command: {}}]", "quotation marks"),
        ("ruleset: duel\ncommands: [{by: gm, command: {type: roll, notation: 2d6}}]", "commands[0]: This rolls dice"),
        ("ruleset: duel\ndice: [4]", "never rolled: [4]"),
        ("ruleset: duel\ncommands: [{by: gm, command: {type: answer, prompt: $prompt}}]", "commands[0].command: '$prompt'"),
    ],
)
def test_a_bad_scenario_is_one_sentence_on_standard_error_and_exit_code_2(given: str | bytes, says: str) -> None:
    result = run("-", given=given)
    assert result.exit_code == 2
    assert says in result.stderr
    assert result.stderr.startswith("dustup simulate: -: ")
    assert len(result.stderr) < 600
    assert "Traceback" not in result.stderr


def test_a_file_too_large_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(module, "MAX_BYTES", 2 * 1024 * 1024)
    path = tmp_path / "large.yaml"
    path.write_bytes(b"#" * (2 * 1024 * 1024 + 1))
    for result in (run(str(path)), run("-", given=path.read_bytes())):
        assert result.exit_code == 2
        assert "at most 2 MiB" in result.stderr
    path.write_bytes(b"#" * (2 * 1024 * 1024 - len(GOOD) - 1) + b"\n" + GOOD.encode())
    assert run(str(path)).exit_code == 0


def test_the_limit_is_16_mib() -> None:
    assert module.MAX_BYTES == 16 * 2**20


@pytest.mark.parametrize("name", ["missing.yaml", "."])
def test_a_file_that_cannot_be_opened_is_named(tmp_path: Path, name: str) -> None:
    result = run(str(tmp_path / name))
    assert result.exit_code == 2
    assert str(tmp_path / name) in result.stderr


@pytest.mark.parametrize("arguments", [(), ("-", "--replay", "x.export")])
def test_exactly_one_of_scenario_and_export_is_needed(arguments: tuple[str, ...]) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert "one of the two" in result.stderr


def test_a_viewer_without_a_seat_is_refused_with_the_seats() -> None:
    result = run("-", "--viewer", "zoe", given=GOOD)
    assert result.exit_code == 2
    assert "'zoe'" in result.stderr
    assert "ann" in result.stderr


# --- exports -------------------------------------------------------------------------------------------------------------


def exported(entries: list[engine.Entry]) -> Export:
    """The log as `server.exports.load_export` gives it."""
    first = engine.header_of(entries[0]) if entries and entries[0].v == 1 else None
    header = ExportHeader(
        format="dustup-export",
        version=1,
        session=first.session if first is not None else "s" * 16,
        ruleset="duel",
        epoch="e" * 16,
        v=len(entries),
        stamp="0" * 16,
    )
    return Export(header=header, entries=tuple(entries))


def played() -> list[engine.Entry]:
    """A short log with dice: a duel's first strike, and its end, which reveals the seed."""
    dice = engine.SeededDice(b"m" * 32, "e" * 16)
    setup = engine.Setup(ruleset="duel", sample="yard", encounter="mill")
    session, entry = engine.create(RULES, setup, session_id="s" * 16, epoch="e" * 16, now_ms=5, dice=dice, stamp="1" * 16)
    entries = [entry]
    for by, command in (
        ("ann", {"type": "move", "zone": "yard", "near": ["c3"]}),
        ("ann", {"type": "attack", "target": "c3"}),
        ("gm", {"type": "gm.prompt", "prompt": ""}),
        ("gm", {"type": "gm.encounter.end", "encounter": next(iter(session.encounters))}),
    ):
        if command["type"] == "gm.prompt":
            command = {"type": "gm.prompt", "prompt": next(iter(session.prompts))}
        act = engine.Act(by=by, command=RULES.decode(command), id=f"x.{len(entries)}", stamp=f"{len(entries):016x}")
        session, entry = engine.apply(RULES, session, act, now_ms=6, dice=dice)
        entries.append(entry)
    return [engine.decode_entry(engine.encode_entry(one)) for one in entries]


@pytest.fixture
def exports(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Stands in for files: what each path loads as, or the error it raises."""
    found: dict[str, Any] = {}

    def load_export(path: Path) -> Any:
        what = found[str(path)]
        if isinstance(what, Exception):
            raise what
        return what

    monkeypatch.setattr("server.exports.load_export", load_export)
    return found


def test_an_export_is_run_again_and_agrees_with_itself(exports: dict[str, Any]) -> None:
    exports["table"] = exported(played())
    result = run("--replay", "table", "--viewer", "ben")
    assert (result.exit_code, result.stderr) == (0, "")
    *entries, view, audit = lines(result)
    assert [one["n"] for one in entries] == [0, 1, 2, 3, 4]
    assert view["viewer"] == "ben"
    assert audit["audit"]["verdict"] == "ok"
    assert audit["audit"]["executed"] == 5


def test_an_export_whose_dice_were_changed_differs(exports: dict[str, Any]) -> None:
    entries = played()
    rolled = next(i for i, one in enumerate(entries) if one.rolls)
    roll = entries[rolled].rolls[0]
    changed = engine.RolledFact(**{name: getattr(roll, name) for name in roll.__struct_fields__} | {"faces": (roll.faces[0] % 20 + 1,)})
    fields = {name: getattr(entries[rolled], name) for name in engine.Entry.__struct_fields__}
    entries[rolled] = engine.Entry(**fields | {"rolls": (changed, *entries[rolled].rolls[1:])})
    exports["table"] = exported(entries)
    result = run("--replay", "table")
    assert result.exit_code == 1
    assert lines(result)[-1]["audit"]["verdict"] == "differs"


@pytest.mark.parametrize(
    ("what", "says"),
    [
        (exported([]), "no entries"),
        (exported(played()[1:]), "begins with the entry"),
        (exported([played()[0], played()[2]]), "does not follow"),
        (ExportError("The export is cut off: fetch it again."), "cut off"),
        (FileNotFoundError(2, "No such file or directory"), "No such file"),
    ],
)
def test_a_bad_export_is_refused_with_the_reason(exports: dict[str, Any], what: Any, says: str) -> None:
    exports["table"] = what
    result = run("--replay", "table")
    assert result.exit_code == 2
    assert says in result.stderr


def test_a_file_that_is_no_export_is_named(tmp_path: Path) -> None:
    """Read by the real loader: no file, an empty one, and one of something else."""
    path = tmp_path / "table.export"
    for content in (None, b"", b"just words", b"\x93\x01\x02"):
        if content is not None:
            path.write_bytes(content)
        result = run("--replay", str(path))
        assert result.exit_code == 2
        assert result.stderr.startswith(f"dustup simulate: {path}: ")
        assert "Traceback" not in result.stderr


# --- YAML as JSON's types --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("no", "no"),
        ("yes", "yes"),
        ("On", "On"),
        ("true", True),
        ("True", "True"),
        ("null", None),
        ("12:30", "12:30"),
        ("2024-01-01", "2024-01-01"),
        ("1_000", "1_000"),
        ("010", "010"),
        ("0x1f", 31),
        ("-3", -3),
        ("1.5", 1.5),
        (".inf", ".inf"),
        ("'3'", "3"),
        ("<<", "<<"),
        ("$prompt", "$prompt"),
    ],
)
def test_yaml_means_what_json_can_say(text: str, value: Any) -> None:
    """`choice: no` is an answer, not false; a time or a date is a text."""
    found = plain_yaml.read(f"key: {text}")
    assert found == {"key": value}
    assert type(found["key"]) is type(value)
