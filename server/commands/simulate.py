"""`dustup simulate`: run a scenario, or run an export again, without a server and without a store.

Standard output gets JSON lines: one per entry or refusal, one per difference from what the scenario expects, and the final view.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

import engine
from engine import scenario as sc
from server.commands import plain_yaml
from server.commands._common import know_rulesets

if TYPE_CHECKING:
    from server.exports import Export

MAX_BYTES = 16 * 1024 * 1024
OK, DIFFERS, BAD_INPUT = 0, 1, 2

EPILOG = """\b
Examples:
  dustup simulate duel.yaml
  dustup simulate duel.yaml --viewer ann
  generate-scenario | dustup simulate -
  dustup simulate --replay table.export

\b
A scenario:
  ruleset: duel
  seed: anything
  setup: {sample: yard, encounter: mill}
  commands:
    - {by: ann, command: {type: move, zone: yard, near: [c3]}}
    - {by: ann, command: {type: attack, target: c3}}
    - by: gm
      command: {type: answer, prompt: $prompt, choice: no}
      expect: {events: [{type: duel.cross}]}

\b
Exit codes: 0 all as expected, 1 something differs from what the scenario
expects (or the export from what its commands give), 2 bad input: standard
error says what is wrong and where.
"""


class BadInput(Exception):
    """Something that cannot be run; the text says what and where."""


def read_export(path: Path) -> Export:
    """Read an export file. Raises BadInput for a file that is none."""
    from server.exports import load_export  # loads the stores as well, which a scenario does not need

    try:
        return load_export(path)
    except OSError as problem:
        raise BadInput(f"{path}: {problem.strerror or problem}.") from None
    except ValueError as problem:
        raise BadInput(f"{path}: {problem}") from None


def read_text(source: str) -> str:
    """A file's text, or standard input's for "-". Raises BadInput when there is none, too much of it, or it is no UTF-8."""
    try:
        if source == "-":
            data = sys.stdin.buffer.read(MAX_BYTES + 1)
        else:
            with Path(source).open("rb") as file:
                data = file.read(MAX_BYTES + 1)
    except OSError as problem:
        raise BadInput(f"{source}: {problem.strerror or problem}.") from None
    if len(data) > MAX_BYTES:
        raise BadInput(f"{source}: a scenario is at most {MAX_BYTES // 1024 // 1024} MiB; split this one.")
    try:
        return data.decode()
    except UnicodeDecodeError as problem:
        raise BadInput(f"{source}: this is no UTF-8 text; byte {problem.start} does not fit.") from None


def read_scenario(source: str) -> sc.Scenario:
    """A scenario from a JSON or YAML file, or standard input for "-". Raises BadInput."""
    text = read_text(source)
    raw: Any = None
    if text.lstrip()[:1] == "{" and not source.endswith((".yaml", ".yml")):
        try:
            raw = msgspec.json.decode(text)
        except (msgspec.DecodeError, RecursionError):
            raw = None  # YAML's maps may begin so too, and its reader names the line that does not fit
    try:
        if raw is None:
            raw = plain_yaml.read(text)
        return sc.parse(raw)
    except plain_yaml.PlainYamlError as problem:
        raise BadInput(f"{source}: {problem}") from None
    except sc.ScenarioError as problem:
        raise BadInput(f"{source}: {problem}") from None


def write(line: Mapping[str, Any]) -> None:
    """One JSON line on standard output."""
    click.echo(msgspec.json.encode(line))


def told(rules: engine.Ruleset, record: sc.Record, viewer: str) -> dict[str, Any]:
    """A record as plain data: all of it, or with a viewer the frame that this seat would be sent."""
    if not viewer or record.entry is None:
        return record.plain()
    entry = record.entry
    renderer = engine.Renderer(rules, record.before, record.after, entry, record.texts.get)
    _, parts = renderer.frame(engine.sight_of(record.after, viewer))
    return {"n": record.n, "by": record.by, "frame": {"v": entry.v, "at": entry.at, **parts}}


def final_view(rules: engine.Ruleset, session: engine.Session, viewer: str) -> dict[str, Any]:
    """The session at the end as `viewer` sees it; "" sees everything, as a GM does."""
    sight = engine.sight_of(session, viewer) if viewer else engine.GM
    return {"v": session.v, "viewer": viewer or "gm", "view": engine.view(rules, session, sight)}


def check_viewer(session: engine.Session, viewer: str) -> None:
    """Raises BadInput when nobody of this name sits at the table; "spectator" always watches."""
    if viewer and viewer != "spectator" and viewer not in session.seats:
        raise BadInput(f"--viewer: there is no seat '{viewer}'; there are: {', '.join(session.seats)}, and spectator.")


def simulate_scenario(source: str, viewer: str) -> int:
    """Run and print a scenario; the exit code. Raises BadInput."""
    scenario = read_scenario(source)
    differs = 0
    try:
        rules = sc.ruleset_of(scenario)
        last: sc.Record | None = None
        for record in sc.run(rules, scenario):
            if last is None:
                check_viewer(record.after, viewer)
            last = record
            write(told(rules, record, viewer))
            for difference in record.differs:
                write({"differs": difference})
            differs += len(record.differs)
    except sc.ScenarioError as problem:
        raise BadInput(f"{source}: {problem}") from None
    if last is not None:
        write(final_view(rules, last.after, viewer))
    if differs:
        click.echo(f"dustup simulate: {differs} of the things it expects came out otherwise.", err=True)
    return DIFFERS if differs else OK


def simulate_export(path: Path, viewer: str) -> int:
    """Run an export's commands again and print what it holds; the exit code. Raises BadInput."""
    export = read_export(path)
    if not export.entries:
        raise BadInput(f"{path}: the export holds no entries.")
    try:
        rules = engine.ruleset(engine.header_of(export.entries[0]).ruleset)
        last: sc.Record | None = None
        for record in _followed(rules, export):
            last = record
            write(told(rules, record, viewer))
    except engine.Rejected as refusal:
        raise BadInput(f"{path}: {refusal.text}") from None
    except engine.LogError as problem:
        raise BadInput(f"{path}: {problem}") from None
    assert last is not None  # there is at least one entry
    check_viewer(last.after, viewer)
    write(final_view(rules, last.after, viewer))
    audit = engine.audit(rules, export.entries, epoch=export.epoch, reveals=export.reveals)
    write({"audit": audit})
    if audit.verdict == "differs":
        click.echo("dustup simulate: run again, the export's commands or dice come out otherwise.", err=True)
        return DIFFERS
    return OK


def _followed(rules: engine.Ruleset, export: Export) -> Iterator[sc.Record]:
    session: engine.Session | None = None
    for n, entry in enumerate(export.entries):
        before = session
        session = engine.evolve(rules, before, entry, epoch=export.epoch)
        yield sc.Record(n=n, by=entry.by, before=before, after=session, texts=export.texts, command=entry.command, entry=entry)


@click.command("simulate", epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("scenario", metavar="[FILE|-]", required=False, default="")
@click.option("--viewer", metavar="SEAT", default="", help="Show everything as this seat sees it (or `spectator`), not as a GM does.")
@click.option(
    "--replay", metavar="EXPORT", type=click.Path(path_type=Path), default=None, help="Run an exported table again instead of a scenario."
)
def simulate(scenario: str, viewer: str, replay: Path | None) -> None:
    """Run the scenario in FILE (JSON or YAML; - is standard input) without a server.

    Prints one JSON line per entry or refused command, then the table as it stands at the end.
    """
    know_rulesets()
    try:
        if bool(scenario) == (replay is not None):
            raise BadInput("Name a scenario file (or -), or an export with --replay; one of the two.")
        code = simulate_export(replay, viewer) if replay is not None else simulate_scenario(scenario, viewer)
    except BadInput as problem:
        click.echo(f"dustup simulate: {problem}", err=True)
        code = BAD_INPUT
    sys.exit(code)
