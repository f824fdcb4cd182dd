"""`dustup serve`: a server until it is told to stop."""

from __future__ import annotations

import errno
import sys
from typing import Any, Final

import click

from server.commands._errors import Failure
from server.commands._settings import SettingsCommand, config_of, settings
from server.config import Config

EPILOG: Final = """\b
Examples:
  dustup serve                                     tables in your data folder
  dustup serve --data ./tables --port 9000
  dustup serve --redis redis://db.example:6379/0   tables in a Redis
  dustup serve --store memory                      tables that end with it
  dustup serve --config dustup.toml --log debug

\b
The secret that signs tokens comes from DUSTUP_SECRET or --secret-file, or is
made in the data folder. It stops in good order on Ctrl-C and SIGTERM: what was
begun is finished, and clients are told when to come back.
"""


@click.command("serve", cls=SettingsCommand, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@settings()
def serve(**given: Any) -> int:
    """Run a server.

    Tables are kept by an embedded database in your data folder, unless --redis or --store says otherwise.
    """
    from server import logs
    from server.commands._common import know_rulesets, run_async

    config = config_of(given)
    logs.configure(level=config.log.level, format=config.log.format)
    know_rulesets()
    run_async(_serve(config))
    return 0


async def _serve(config: Config) -> None:
    from server.app import Server

    async def ready(server: Server) -> None:
        # A store that only answers questions is of no use: say so now, not to the first player.
        await server.store.ping()
        click.echo(f"Dustup listens on {server.url}. Tables: {where_kept(config)}. Ctrl-C stops it.")
        sys.stdout.flush()

    try:
        await server_for(config).run(ready)
    except OSError as problem:
        raise cannot_listen(config, problem) from None


def server_for(config: Config) -> Any:
    """The server of a configuration. Raises Failure for a store and durability that do not go together."""
    from server.app import Server

    try:
        return Server(config)
    except ValueError as problem:
        raise Failure(f"{problem}.") from None


def where_kept(config: Config) -> str:
    """Where tables are kept, in words and without a password."""
    if config.store == "memory":
        return "in memory, gone when it stops"
    if config.store == "embedded":
        return f"in {config.data_dir}"
    from server.store.clients import without_password

    return f"in {without_password(config.store)}"


def cannot_listen(config: Config, problem: OSError) -> Failure:
    """Why no port was opened, and what to try."""
    where = f"port {config.port} on {config.host}"
    if problem.errno == errno.EADDRINUSE:
        after = config.port + 1 if config.port < 65_535 else 8750
        return Failure(
            f"{where} is taken by another program, perhaps another Dustup. Stop that one, or use --port {after} (0: any free one)."
        )
    if problem.errno == errno.EACCES:
        return Failure(f"{where} is not for ordinary users: ports below 1024 need rights. Use --port 8750 and a proxy in front.")
    if problem.errno == errno.EADDRNOTAVAIL or "getaddrinfo" in str(problem) or problem.errno in (-2, -3, -5, 8):
        return Failure(
            f"{config.host} is no address of this machine. Use --host 127.0.0.1 for this machine only, or 0.0.0.0 for all networks."
        )
    return Failure(f"{where} cannot be opened: {problem.strerror or problem}.")
