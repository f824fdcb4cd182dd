"""`dustup run`: for a first look. Plays a short fight and checks its dice, then serves a fresh table and tells how to join it."""

from __future__ import annotations

import asyncio
import socket
import sys
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any, Final

import click
import msgspec

from server.commands._errors import Failure
from server.commands._screen import Transcript
from server.commands._settings import SettingsCommand, config_of, settings
from server.commands.serve import cannot_listen, server_for, where_kept
from server.config import Config

if TYPE_CHECKING:
    from server.app import Server

OPENING_SEED: Final = 3
"""The opening fight is always this one (`dustup demo --seed 3`), because it is a short one."""
INVITE_MS: Final = 7 * 24 * 3_600_000
MOST_PORTS: Final = 50

EPILOG: Final = """\b
Examples:
  dustup run                      a fight to watch, then a table of every ruleset to join
  dustup run --ruleset stretch    the same, of one ruleset
  dustup run --fill               pilots on every seat but one
  dustup run --skip-fight         the table at once
  dustup run --port 9000 --data ./tables
"""


@click.command("run", cls=SettingsCommand, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--ruleset", metavar="NAME", default="", help="A table of this ruleset only. [a table of each that is installed]")
@click.option("--sample", metavar="NAME", default="", help="One of the ruleset's ready tables. [the first]")
@click.option("--variant", metavar="NAME", default="", help="A variant of the ruleset.")
@click.option("--fill", is_flag=True, help="Seat pilots on every player's seat but one.")
@click.option("--think", metavar="SECONDS", type=click.FloatRange(0, 60), default=1.0, show_default=True, help="How long a pilot thinks.")
@click.option("--skip-fight", is_flag=True, help="Do not play the opening fight.")
@settings("host", "port", "store", "data_dir", "public_url", "log.level", "secret_file")
def run(ruleset: str, sample: str, variant: str, fill: bool, think: float, skip_fight: bool, **given: Any) -> int:
    """Play a short fight, then serve tables to join: for a first look.

    There is a table of every installed ruleset, or of the one named. A pilot plays the GM's side of each; players' seats wait for
    people. If the port is taken, the next free one is used.
    """
    from server import logs
    from server.commands._common import know_rulesets, run_async

    has_level = given.get("set_log__level") is not None
    config = config_of(given)
    logs.configure(level=config.log.level if has_level else "error", format=config.log.format)
    know_rulesets()
    if _alone(config):
        config = msgspec.structs.replace(
            config, limits=msgspec.structs.replace(config.limits, seat_rate=0, session_rate=0, address_rate=0, address_connections=0)
        )
    free = next_free_port(config.host, config.port)
    if free != config.port:
        click.echo(f"Port {config.port} is taken by another program; using {free} instead.")
        config = msgspec.structs.replace(config, port=free)
    try:
        run_async(_run(config, ruleset, sample, variant, fill, think, skip_fight))
    except OSError as problem:
        raise cannot_listen(config, problem) from None
    return 0


def _alone(config: Config) -> bool:
    """Nobody but this machine can come: then nobody needs to be held back, and the opening fight's pilots are faster than people."""
    return config.host in ("127.0.0.1", "::1", "localhost") and not config.public_url


def next_free_port(host: str, port: int) -> int:
    """`port`, or the next one after it that is free on `host`; 0 stays. Raises Failure when there is none near."""
    for candidate in range(port, min(port + MOST_PORTS, 65_536)):
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as trial:
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                trial.bind((host, candidate))
                trial.listen(1)  # without it, a port that another program listens on may still be bound
            except OSError as problem:
                import errno

                if problem.errno != errno.EADDRINUSE:
                    return port  # the server itself will say better what is wrong with it
                continue
            return candidate
    raise Failure(f"No port from {port} to {port + MOST_PORTS - 1} is free on {host}. Choose another with --port.")


async def _run(config: Config, ruleset: str, sample: str, variant: str, fill: bool, think: float, skip_fight: bool) -> None:
    from server.commands import _table

    rules, sample = _table.pick(ruleset, sample)
    screen = Transcript(sys.stdout, colour=sys.stdout.isatty(), compact=True)
    screen.line(f"Starting; tables are kept {where_kept(config)}.", "dim")

    async def ready(server: Server) -> None:
        await server.store.ping()
        screen.line(f"Listening on {server.url}.", "dim")
        if not skip_fight:
            screen.line()
            screen.line("First a short fight, played by pilots over the socket:", "bold")
            await opening_fight(server, rules.name, sample, variant, screen)
        async with AsyncExitStack() as stack:
            pilots = await open_table(server, stack, rules.name, sample, variant, fill, think, screen)
            for other in [] if ruleset else _table.others(rules.name):
                pilots += await open_table(server, stack, other, "", "", fill, think, screen)
            screen.line()
            screen.line("Open a link in a browser, or in a terminal with: dustup play 'LINK'. Each is good for one person.")
            screen.line("A pilot plays the GM's side. Ctrl-C stops the server; the tables are kept.", "dim")
            # Until the server is told to stop, which cancels this; a pilot whose table was deleted ends alone.
            await asyncio.gather(*pilots, return_exceptions=True)
            await asyncio.get_running_loop().create_future()

    await server_for(config).run(ready)


async def opening_fight(server: Server, ruleset: str, sample: str, variant: str, screen: Transcript) -> None:
    """Play and check the opening fight, then throw its table away. Raises Failure when something differs."""
    from server.commands import _table

    session_id = await _table.make_table(server, _table.with_watcher(ruleset, sample, variant, "Opening fight"), OPENING_SEED)
    try:
        fight = await _table.play_fight(server, session_id, seed=OPENING_SEED, think=0, tell=screen.frame)
        verdict = await _table.verify_fight(server, fight)
    finally:
        await delete_table(server, session_id)
    screen.line()
    screen.verdict(verdict.ok, verdict.line)
    if not verdict.ok:
        raise Failure("The opening fight did not pass its check, so no table is opened. Please report this with the lines above.")


async def delete_table(server: Server, session_id: str) -> bool:
    """Delete a table from the store and from this server's memory. False when there was none."""
    from server.sessions.actor import SessionGone

    live = [actor for actor in server.registry.live if actor.id == session_id]
    for actor in live:
        await actor.settled()
    gone = await server.store.delete(session_id)
    for actor in live:
        try:
            await actor.look()
        except SessionGone:
            pass  # which is what it was to find out
    return gone


async def open_table(
    server: Server, stack: AsyncExitStack, ruleset: str, sample: str, variant: str, fill: bool, think: float, screen: Transcript
) -> list[asyncio.Task[Any]]:
    """A fresh table with its fight begun, pilots where nobody is expected, and a link printed for each seat that waits for a person."""
    import engine
    from dustup import Pilot
    from server.commands import _table

    rules, sample = _table.pick(ruleset, sample)
    title = f"{rules.title}: {_table.samples(rules)[sample].rstrip('.')}"
    session_id = await _table.make_table(server, engine.Setup(ruleset=ruleset, sample=sample, variant=variant, name=title))
    seats = (await server.registry.get(session_id)).session.seats.values()
    players = [seat for seat in seats if seat.role == "player"]
    waiting = players[:1] if fill else players
    driven = [seat for seat in seats if seat.role == "gm" or (seat.role == "player" and seat not in waiting)]
    pilots: list[asyncio.Task[Any]] = []
    for number, seat in enumerate(driven):
        table = await _table.sit(stack, server, session_id, seat.id)
        if seat.role == "gm":
            await _table.start_encounter(table)
        pilot = Pilot(table, seed=number, think=think, prefer=_table.eager_but_own(table))
        pilots.append(asyncio.get_running_loop().create_task(pilot.run(until=lambda _: False), name=f"pilot-{seat.id}"))
    for task in pilots:
        stack.callback(task.cancel)
    screen.line()
    screen.line(f"A table to join: {title} (session {session_id})", "bold")
    for seat in waiting:
        code = await server.invites.create(session_id, seat=seat.id, ttl_ms=INVITE_MS, by="host")
        link = f"{server.url}/#{code}"
        names = ", ".join(_name(server, session_id, combatant) for combatant in seat.controls)
        screen.line(f"  {seat.name}{f' ({names})' if names else ''}: {link}")
    return pilots


def _name(server: Server, session_id: str, combatant: str) -> str:
    for actor in server.registry.live:
        if actor.id == session_id and combatant in actor.session.combatants:
            return str(actor.session.combatants[combatant].name)
    return combatant
