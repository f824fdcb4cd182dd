"""`dustup export`: a table with its whole log as one file."""

from __future__ import annotations

import os
import secrets
import sys
import time
from pathlib import Path
from typing import Any, Final

import click

from server.commands._errors import Failure
from server.commands._settings import STORE, SettingsCommand, config_of, settings
from server.config import Config

EPILOG: Final = """\b
Examples:
  dustup export TABLE                      to TABLE.dustup
  dustup export TABLE -o backup.dustup --force
  dustup export TABLE -o - | ssh backup 'cat > table.dustup'
  dustup export TABLE --with-seed          to move it to another server

\b
The file holds everything that is hidden at the table: it is for the host. With
--with-seed it also holds the secret behind every die to come.
"""


@click.command("export", cls=SettingsCommand, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("session", metavar="TABLE")
@click.option("-o", "--output", "output", metavar="FILE", default=None, help="Where to; - is standard output. [TABLE.dustup]")
@click.option("--force", is_flag=True, help="Replace the file if it exists.")
@click.option("--with-seed", is_flag=True, help="Put the dice secret in as well, so that another server can go on with these dice.")
@settings(*STORE)
def export(session: str, output: str | None, force: bool, with_seed: bool, **given: Any) -> None:
    """Write a table with its whole log to a file that `dustup verify` and `dustup import` read."""
    from server import ids
    from server.commands._common import run_async

    if not ids.is_id(session):
        raise Failure(f"{session[:64]!a} is no table's id; `dustup session list` shows those there are.")
    config = config_of(given)
    if output == "-":
        run_async(_to_stdout(config, session, with_seed))
        return
    target = Path(output or f"{session}.dustup")
    if target.exists() and not force:
        raise Failure(f"{target} exists already; add --force to replace it, or choose another name with -o.")
    size, entries = run_async(_to_file(config, session, with_seed, target))
    click.echo(f"Wrote {target}: {entries} entries, {size} bytes. `dustup verify {target}` checks it.")


async def _to_stdout(config: Config, session: str, with_seed: bool) -> None:
    from server.commands._common import opened_store, quiet_logs
    from server.exports import export_session

    quiet_logs()
    async with opened_store(config) as store:
        async for chunk in export_session(store, session, hidden=True, seed=with_seed, exported_ms=_now_ms()):
            sys.stdout.buffer.write(chunk)
        sys.stdout.buffer.flush()


async def _to_file(config: Config, session: str, with_seed: bool, target: Path) -> tuple[int, int]:
    """Bytes and entries written. The file appears whole or not at all."""
    from server.commands._common import opened_store, quiet_logs
    from server.commands._progress import bar
    from server.exports import export_session, header_for

    quiet_logs()
    partial = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    size = 0
    async with opened_store(config) as store:
        entries = (await header_for(store, session)).v
        try:
            # Readable by its owner alone: what is hidden at the table is in it.
            with bar("Exporting", None) as step, open(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                async for chunk in export_session(store, session, hidden=True, seed=with_seed, exported_ms=_now_ms()):
                    size += file.write(chunk)
                    step(size)
                file.flush()
                os.fsync(file.fileno())
            partial.replace(target)
        finally:
            partial.unlink(missing_ok=True)
    return size, entries


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
