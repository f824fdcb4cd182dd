"""`dustup export`: a table with its whole log as one file."""

from __future__ import annotations

import os
import secrets
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, Final

import click

from server.commands._errors import Failure
from server.commands._remote import Remote, remote, remote_of
from server.commands._settings import STORE, SettingsCommand, config_of, settings
from server.config import Config

NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL

EPILOG: Final = """\b
Examples:
  dustup export TABLE                      to TABLE.dustup
  dustup export TABLE -o backup.dustup --force
  dustup export TABLE -o - | ssh backup 'cat > table.dustup'
  dustup export TABLE --with-seed          to move it to another server
  dustup export TABLE --url https://play.example

\b
The file holds everything that is hidden at the table: it is for the host. With
--with-seed it also holds the secret behind every die to come.
"""


@click.command("export", cls=SettingsCommand, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("session", metavar="TABLE")
@click.option("-o", "--output", "output", metavar="FILE", default=None, help="Where to; - is standard output. [TABLE.dustup]")
@click.option("--force", is_flag=True, help="Replace the file if it exists.")
@click.option("--with-seed", is_flag=True, help="Put the dice secret in as well, so that another server can go on with these dice.")
@remote
@settings(*STORE)
def export(session: str, output: str | None, force: bool, with_seed: bool, **given: Any) -> None:
    """Write a table with its whole log to a file that `dustup verify` and `dustup import` read."""
    from server import ids
    from server.commands._common import run_async

    if not ids.is_id(session):
        raise Failure(f"{session[:64]!a} is no table's id; `dustup session list` shows those there are.")
    there = remote_of(given)
    if there is not None and with_seed:
        raise Failure("A server never gives its dice secret away over HTTP; use --with-seed on its own machine.")
    config = config_of(given)
    if output == "-":
        run_async(_to_stdout(config, session, with_seed, there))
        return
    target = Path(output or f"{session}.dustup")
    if not target.absolute().parent.is_dir():
        raise Failure(f"There is no folder {target.absolute().parent} to write {target.name} into.")
    if target.exists() and not force:
        raise Failure(f"{target} exists already; add --force to replace it, or choose another name with -o.")
    size = run_async(_to_file(config, session, with_seed, target, there))
    click.echo(f"Wrote {target}, {size} bytes. `dustup verify {target}` checks it.")


async def _to_stdout(config: Config, session: str, with_seed: bool, there: Remote | None) -> None:
    await _write(config, session, with_seed, sys.stdout.buffer, lambda size: None, there)
    sys.stdout.buffer.flush()


async def _to_file(config: Config, session: str, with_seed: bool, target: Path, there: Remote | None) -> int:
    """The bytes written. The file appears whole or not at all."""
    from server.commands._progress import bar

    partial = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        # Readable by its owner alone: what is hidden at the table is in it.
        with bar("Exporting", None) as step, os.fdopen(os.open(partial, NEW, 0o600), "wb") as file:
            size = await _write(config, session, with_seed, file, step, there)
            file.flush()
            os.fsync(file.fileno())
        if there is not None:
            from server.exports import load_export

            load_export(partial)  # a download may have broken off on the way
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
    return size


async def _write(config: Config, session: str, with_seed: bool, file: IO[bytes], step: Callable[[int], None], there: Remote | None) -> int:
    if there is not None:
        return await there.download(f"/v1/sessions/{session}/export", file, step)
    from server.commands._common import opened_store, quiet_logs
    from server.exports import export_session

    quiet_logs()
    size = 0
    async with opened_store(config) as store:
        async for chunk in export_session(store, session, hidden=True, seed=with_seed, exported_ms=time.time_ns() // 1_000_000):
            size += file.write(chunk)
            step(size)
    return size
