"""`dustup token`: make, show and revoke tokens. Standard output gets the token that was asked for and never another secret."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import click

from server.commands._errors import Failure
from server.commands._settings import DURATION, STORE, SettingsCommand, config_of, settings
from server.config import Config, signing_secrets

if TYPE_CHECKING:
    from server.gateway.auth import Claims, Tokens

MONTH_MS: Final = 30 * 24 * 3_600_000
CONTEXT: Final = {"help_option_names": ["-h", "--help"]}

EPILOG: Final = """\b
Examples:
  dustup token admin --for 1d                    may create and import tables
  dustup token person ann                        for all tables ann has a seat at
  dustup token seat TABLE SEAT                   for one seat
  dustup token show - < token.txt                what a token says
  dustup token revoke - < token.txt              end one token
  dustup token revoke --seat TABLE SEAT          end every token of a seat

\b
Use the settings (--data, --secret-file, --redis) of the server that is to accept
them. A token is as good as a password: hand it out as one.
"""

_lifetime = click.option("--for", "ttl_ms", type=DURATION, default=MONTH_MS, show_default="30d", help="How long it is good: 12h, 7d ...")


@click.group("token", epilog=EPILOG, context_settings=CONTEXT)
def token() -> None:
    """Make, show and revoke tokens."""


@token.command("seat", cls=SettingsCommand, context_settings=CONTEXT)
@click.argument("session", metavar="TABLE")
@click.argument("seat", metavar="SEAT")
@click.option("--person", metavar="NAME", default=None, help="Whom it is for. [whoever has the seat, else the seat's own name]")
@_lifetime
@settings(*STORE)
def seat_(session: str, seat: str, person: str | None, ttl_ms: int, **given: Any) -> None:
    """A token that speaks for one seat of one table."""
    from server.commands._common import offline, run_async

    config = config_of(given)

    async def make() -> str:
        async with offline(config) as server:
            actor = await server.registry.get(session)
            held = actor.session.seats.get(seat)
            if held is None:
                raise Failure(f"The table {session} has no seat {seat[:64]!r}; it has: {', '.join(actor.session.seats)}.")
            if person and held.person not in ("", person):
                raise Failure(
                    f"{held.person} holds the seat {seat}, so a token for {person[:64]!r} would not open it. Leave --person out to make "
                    "one for its holder, or give the seat away: dustup session invite."
                )
            return await server.tokens.seat_token(session, seat, person or held.person or seat, ttl_ms, held.since)

    _print(_checked(lambda: run_async(make())))


@token.command("person", cls=SettingsCommand, context_settings=CONTEXT)
@click.argument("person", metavar="NAME")
@_lifetime
@settings(*STORE)
def person_(person: str, ttl_ms: int, **given: Any) -> None:
    """A token that speaks for a person, at every table they have a seat at."""
    config = config_of(given)
    _print(_checked(lambda: _tokens(config).person_token(person, ttl_ms)))


@token.command("admin", cls=SettingsCommand, context_settings=CONTEXT)
@click.option("--person", metavar="NAME", default="host", show_default=True, help="Whom it is for.")
@_lifetime
@settings(*STORE)
def admin(person: str, ttl_ms: int, **given: Any) -> None:
    """A token that may create, export and import tables on a server."""
    config = config_of(given)
    _print(_checked(lambda: _tokens(config).admin_token(person, ttl_ms)))


@token.command("show", cls=SettingsCommand, context_settings=CONTEXT)
@click.argument("text", metavar="TOKEN|-")
@settings(*STORE)
def show(text: str, **given: Any) -> None:
    """What a token says: whom it is for, what it opens, until when. The token itself is not shown again."""
    claims = _tokens(config_of(given)).read(_given(text))
    what = {
        "seat": f"the seat {claims.seat} of table {claims.session}",
        "person": "every seat they hold",
        "admin": "this server, as its host",
    }
    click.echo(f"for:     {claims.person}\nopens:   {what[claims.scope]}\nuntil:   {_moment(claims.expires_ms)}\nid:      {claims.jti}")


@token.command("revoke", cls=SettingsCommand, context_settings=CONTEXT)
@click.argument("text", metavar="[TOKEN|-]", required=False)
@click.option("--seat", "seat", nargs=2, metavar="TABLE SEAT", default=None, help="Every token of this seat made until now.")
@settings(*STORE)
def revoke(text: str | None, seat: tuple[str, str] | None, **given: Any) -> None:
    """End a token, or every token of a seat. Connections that rest on it are closed within seconds."""
    from server.commands._common import offline, run_async

    if (text is None) == (seat is None):
        raise click.UsageError("Give a token (or -), or --seat TABLE SEAT; one of the two.")
    config = config_of(given)
    claims: Claims | None = None if text is None else _tokens(config).read(_given(text))

    async def end() -> None:
        async with offline(config) as server:
            if claims is not None:
                await server.tokens.revoke(claims.jti, claims.expires_ms)
            elif seat is not None:
                actor = await server.registry.get(seat[0])
                if seat[1] not in actor.session.seats:
                    raise Failure(f"The table {seat[0]} has no seat {seat[1][:64]!r}; it has: {', '.join(actor.session.seats)}.")
                await server.tokens.revoke_seat(*seat)

    run_async(end())
    click.echo("Revoked.")


def _tokens(config: Config) -> Tokens:
    """The tokens of a configuration, for what needs the secret alone and asks no store."""
    from server.clock import SystemClock
    from server.commands._common import LIVES_ALONE
    from server.gateway.auth import Tokens
    from server.store.memory import MemoryStore

    if config.store == "memory" and not config.secret and config.secret_file is None:
        raise Failure(LIVES_ALONE)
    return Tokens(signing_secrets(config), SystemClock(), MemoryStore())


def _checked(make: Any) -> str:
    try:
        return str(make())
    except ValueError as problem:  # a name or a time that no token can have
        raise Failure(f"{problem}.") from None


def _given(text: str) -> str:
    return (sys.stdin.read(4096) if text == "-" else text).strip()


def _print(made: str) -> None:
    click.echo(made)


def _moment(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
