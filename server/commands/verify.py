"""`dustup verify`: check a table's log and dice, from an exported file or in the store."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from server.commands._remote import LOG_S, Remote, remote, remote_of
from server.commands._settings import STORE, SettingsCommand, config_of, settings
from server.config import Config

if TYPE_CHECKING:
    from server.verify import Report

EPILOG: Final = """\b
Examples:
  dustup verify table.dustup               an exported file; needs no server
  dustup verify TABLE                      a table of this machine's server
  dustup verify --redis redis://db/0 TABLE
  dustup verify --url https://play.example TABLE
  dustup verify --json table.dustup

\b
Exit codes: 0 nothing differs (the last line says whether all could be checked),
1 something differs: the last line names the first thing that does,
2 there is nothing to check: the file is broken, or there is no such table.
"""


@click.command("verify", cls=SettingsCommand, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("what", metavar="FILE|TABLE")
@click.option("--json", "as_json", is_flag=True, help="The report as JSON.")
@remote
@settings(*STORE)
def verify(what: str, as_json: bool, **given: Any) -> int:
    """Check a table's log and dice.

    That no entry is missing or changed, that every command gives what the log says, that every die fits its commitment.
    """
    from server import ids
    from server.commands._common import know_rulesets, run_async
    from server.commands._errors import Failure

    know_rulesets()
    file = Path(what)
    there = remote_of(given)
    if there is not None:
        report = run_async(_of_server(there, what))
    elif file.exists():
        report = _of_file(file)
    elif ids.is_session_id(what) or (ids.is_id(what) and not file.suffix and "/" not in what):
        report = run_async(_of_session(config_of(given), what))
    else:
        raise Failure(f"{what[:200]}: there is no such file, and it is no table's id either.")
    if as_json:
        import msgspec

        click.echo(json.dumps(msgspec.to_builtins(report)))
    else:
        for line in report.lines:
            click.echo(line)
    return report.exit_code


def _of_file(file: Path) -> Report:
    from server.commands._progress import bar
    from server.exports import load_export
    from server.verify import verify_export

    export = load_export(file)
    with bar("Checking", len(export.entries)) as step:
        return verify_export(export, progress=step)


async def _of_server(there: Remote, session: str) -> Report:
    import msgspec

    from server.commands._errors import Failure
    from server.verify import Report

    answer = await there.ask("GET", f"/v1/sessions/{session}/verify", within=LOG_S)
    try:
        return msgspec.convert(answer, Report)
    except msgspec.ValidationError as problem:
        raise Failure(f"{there.url} answered with a report that this version cannot read: {problem}.") from None


async def _of_session(config: Config, session: str) -> Report:
    from server.commands._common import opened_store, quiet_logs
    from server.commands._progress import bar
    from server.exports import header_for
    from server.verify import verify_session

    quiet_logs()
    async with opened_store(config) as store:
        with bar("Checking", (await header_for(store, session)).v) as step:
            return await verify_session(store, session, step)
