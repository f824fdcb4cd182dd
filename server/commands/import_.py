"""`dustup import`: an exported table becomes a table of this machine's server."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import click

from server.commands._remote import LOG_S, Remote, remote, remote_of
from server.commands._settings import STORE, SettingsCommand, config_of, settings
from server.config import Config

EPILOG: Final = """\b
Examples:
  dustup import table.dustup
  dustup import --redis redis://db/0 table.dustup
  dustup import --as abcdefghijklmnop table.dustup
  dustup import --url https://play.example table.dustup

\b
The whole log is checked first; a file that does not hold together is refused and
nothing is changed. The copy has new dice, and nobody holds its seats:
`dustup session invite` asks people in again.
"""


@click.command("import", cls=SettingsCommand, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@click.option("--as", "as_id", metavar="TABLE", default=None, help="The id to give it. [a fresh one]")
@remote
@settings(*STORE)
def import_(file: Path, as_id: str | None, **given: Any) -> None:
    """Make a table of an exported file, under a fresh id."""
    from server.commands._common import run_async

    there = remote_of(given)
    if there is not None:
        told = run_async(_send(there, file, as_id))
        click.echo(told["session"])
        click.echo(f"Imported as table {told['session']}. To lead it: {told.get('link', '')}", err=True)
        return
    config = config_of(given)
    session, entries = run_async(_import(config, file, as_id))
    click.echo(session)
    click.echo(f"Imported {entries} entries as table {session}. `dustup session invite {session} --seat SEAT` asks people in.", err=True)


async def _send(there: Remote, file: Path, as_id: str | None) -> dict[str, Any]:
    from server.exports import load_export

    load_export(file)  # a file that is broken here need not travel
    with file.open("rb") as data:
        return await there.ask("POST", "/v1/sessions/import" + (f"?session={as_id}" if as_id else ""), data=data, within=LOG_S)


async def _import(config: Config, file: Path, as_id: str | None) -> tuple[str, int]:
    from server.commands._common import offline
    from server.commands._progress import bar
    from server.exports import load_export
    from server.imports import import_session

    export = load_export(file)
    config.data_dir.expanduser().mkdir(parents=True, exist_ok=True, mode=0o700)
    async with offline(config) as server:
        with bar("Importing", None):
            actor = await import_session(server.registry, export, session_id=as_id)
    return actor.id, len(export.entries)
