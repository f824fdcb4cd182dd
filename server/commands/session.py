"""`dustup session`: the tables of this machine's server: list, show, create and delete them, and invite people."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from server.commands._errors import Failure
from server.commands._settings import DURATION, STORE, SettingsCommand, config_of, settings

if TYPE_CHECKING:
    from engine import Session, Setup

CONTEXT: Final = {"help_option_names": ["-h", "--help"]}
WEEK_MS: Final = 7 * 24 * 3_600_000

EPILOG: Final = """\b
Examples:
  dustup session create --ruleset duel --sample yard
  dustup session list
  dustup session show TABLE
  dustup session invite TABLE --seat ann --for 3d
  dustup session delete TABLE

\b
They work beside a running server as well as without one, on the store that the
settings (--data, --redis) name.
"""

_json = click.option("--json", "as_json", is_flag=True, help="The answer as JSON.")


@click.group("session", epilog=EPILOG, context_settings=CONTEXT)
def session() -> None:
    """List, show, create and delete tables; invite people."""


@session.command("list", cls=SettingsCommand, context_settings=CONTEXT)
@_json
@settings(*STORE)
def list_(as_json: bool, **given: Any) -> None:
    """Every table there is."""
    from server.commands._common import opened_store, quiet_logs, run_async

    config = config_of(given)

    async def look() -> dict[str, Mapping[str, str]]:
        quiet_logs()
        found: dict[str, Mapping[str, str]] = {}
        async with opened_store(config) as store:
            cursor = ""
            while True:
                page, cursor = await store.sessions(cursor)
                for one in page:
                    loaded = await store.load(one)
                    if loaded is not None:
                        found[one] = loaded.meta
                if not cursor:
                    return found

    tables = sorted(run_async(look()).items(), key=lambda pair: (pair[1].get("created", ""), pair[0]))
    if as_json:
        click.echo(json.dumps([{"session": one, **_told(meta)} for one, meta in tables]))
        return
    if not tables:
        click.echo("There are no tables. `dustup session create --help` tells how to make one.", err=True)
    for one, meta in tables:
        told = _told(meta)
        click.echo(f"{one}  {told['ruleset']:<10}  v{told['v']:<6}  {_moment(told['created'])}  {told['name']}".rstrip())


def _told(meta: Mapping[str, str]) -> dict[str, Any]:
    return {
        "ruleset": meta.get("ruleset", ""),
        "v": int(meta.get("v") or 0),
        "created": int(meta.get("created") or 0),
        "due": int(meta["due"]) if meta.get("due") else None,
        "name": meta.get("name", ""),
    }


@session.command("show", cls=SettingsCommand, context_settings=CONTEXT)
@click.argument("session_id", metavar="TABLE")
@_json
@settings(*STORE)
def show(session_id: str, as_json: bool, **given: Any) -> None:
    """One table as its GM sees it: seats, scenes, whose turn it is, what is asked of whom."""
    import engine

    found = _loaded(session_id, given)
    if as_json:
        view = engine.view(engine.ruleset(found.header.ruleset), found, engine.GM)
        click.echo(json.dumps({"session": session_id, "v": found.v, "view": engine_plain(view)}))
        return
    from clients.terminal.show import scene_lines
    from clients.terminal.words import clean

    view = engine_plain(engine.view(engine.ruleset(found.header.ruleset), found, engine.GM))
    variant = f", {found.header.variant}" if found.header.variant else ""
    click.echo(f"{clean(found.table.name or session_id)}: {found.header.ruleset}{variant}, version {found.v}")
    click.echo(f"Made {_moment(found.header.created_ms)}, sitting {found.table.sitting}{', paused' if found.table.paused else ''}")
    click.echo("Seats:")
    for line in _seat_lines(found):
        click.echo(f"  {line}")
    for line in scene_lines(view, ""):
        click.echo(line)
    for prompt in found.prompts.values():
        if prompt.answer is None:
            until = f", until {_moment(prompt.deadline)}" if prompt.deadline else ""
            click.echo(f"Asked of {clean(prompt.to)}: {clean(prompt.text)}{until}")
    for name, stream in (("open", found.table.open), ("hidden", found.table.hidden)):
        click.echo(f"Dice, {name}: {stream.n} rolls so far; committed to {stream.commitment}")


def engine_plain(view: Any) -> dict[str, Any]:
    """A view as plain data, as a client has it."""
    import msgspec

    plain: dict[str, Any] = msgspec.to_builtins(view)
    return plain


@session.command("seats", cls=SettingsCommand, context_settings=CONTEXT)
@click.argument("session_id", metavar="TABLE")
@_json
@settings(*STORE)
def seats(session_id: str, as_json: bool, **given: Any) -> None:
    """The seats of a table: who has them and what they control."""
    found = _loaded(session_id, given)
    if as_json:
        click.echo(
            json.dumps(
                [
                    {"seat": seat.id, "name": seat.name, "role": seat.role, "person": seat.person, "controls": list(seat.controls)}
                    for seat in found.seats.values()
                ]
            )
        )
        return
    for line in _seat_lines(found):
        click.echo(line)


def _seat_lines(found: Session) -> list[str]:
    from clients.terminal.words import clean

    lines = []
    for seat in found.seats.values():
        names = [clean(found.combatants[one].name) if one in found.combatants else one for one in seat.controls]
        who = f"held by {clean(seat.person)}" if seat.person else "free"
        lines.append(f"{seat.id:<12} {seat.role:<10} {who}" + (f", plays {', '.join(names)}" if names else ""))
    return lines


@session.command("create", cls=SettingsCommand, context_settings=CONTEXT)
@click.option("--ruleset", metavar="NAME", default=None, help="Any installed ruleset. [duel]")
@click.option("--sample", metavar="NAME", default=None, help="One of its ready tables.")
@click.option("--variant", metavar="NAME", default=None, help="One of its variants.")
@click.option("--option", "switches", metavar="NAME=VALUE", multiple=True, help="One of its switches; may be given several times.")
@click.option("--name", metavar="TEXT", default=None, help="What people call the table.")
@click.option("--encounter", metavar="SCENE", default=None, help="Begin the fight of this scene at once.")
@click.option("--physical", is_flag=True, default=None, help="Players roll their own dice and enter them.")
@click.option("--setup", "file", metavar="FILE", type=click.Path(path_type=Path), default=None, help="A whole set-up as JSON or YAML.")
@settings(*STORE)
def create(
    ruleset: str | None,
    sample: str | None,
    variant: str | None,
    switches: tuple[str, ...],
    name: str | None,
    encounter: str | None,
    physical: bool | None,
    file: Path | None,
    **given: Any,
) -> None:
    """Make a table; its id goes to standard output."""
    from server.commands._common import offline, run_async

    fields: dict[str, Any] = _setup_file(file) if file is not None else {"ruleset": "duel"}
    named = {"ruleset": ruleset, "sample": sample, "variant": variant, "name": name, "encounter": encounter, "physical": physical}
    fields |= {key: value for key, value in named.items() if value is not None}
    if switches:
        fields["options"] = {**fields.get("options", {}), **dict(map(_switch, switches))}
    setup = _setup(fields)
    config = config_of(given)
    config.data_dir.expanduser().mkdir(parents=True, exist_ok=True, mode=0o700)

    async def make() -> str:
        async with offline(config) as server:
            return (await server.registry.create(setup)).id

    click.echo(run_async(make()))


def _setup_file(file: Path) -> dict[str, Any]:
    from server.commands import plain_yaml

    try:
        fields = plain_yaml.read(file.read_text("utf-8"))
    except (plain_yaml.PlainYamlError, UnicodeDecodeError) as problem:
        raise Failure(f"{file}: {problem}") from None
    if not isinstance(fields, dict):
        raise Failure(f"{file}: a set-up is a map with at least a ruleset.")
    return fields


def _setup(fields: Mapping[str, Any]) -> Setup:
    import msgspec

    import engine

    try:
        return msgspec.convert(dict(fields), engine.Setup)
    except msgspec.ValidationError as problem:
        raise Failure(f"The set-up does not fit: {problem}.") from None


def _switch(text: str) -> tuple[str, str | int | bool]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise click.UsageError(f"{text[:64]!r} is no switch: write NAME=VALUE.")
    if value in ("true", "false"):
        return name, value == "true"
    return name, int(value) if value.lstrip("-").isdecimal() and len(value) < 16 else value


@session.command("delete", cls=SettingsCommand, context_settings=CONTEXT)
@click.argument("session_id", metavar="TABLE")
@click.option("--yes", is_flag=True, help="Do not ask.")
@settings(*STORE)
def delete(session_id: str, yes: bool, **given: Any) -> None:
    """Delete a table with its whole log, for good. `dustup export` keeps a copy."""
    from server.commands._common import offline, run_async
    from server.commands.run import delete_table

    found = _loaded(session_id, dict(given))
    if not yes:
        click.confirm(f"Delete {found.table.name or session_id} with its {found.v} entries, for good?", abort=True, err=True)
    config = config_of(given)

    async def remove() -> bool:
        async with offline(config) as server:
            await server.invites.revoke_all(session_id)
            return await delete_table(server, session_id)

    if not run_async(remove()):
        raise Failure(f"The table {session_id} is gone already.")
    click.echo(f"Deleted {session_id}.")


@session.command("invite", cls=SettingsCommand, context_settings=CONTEXT)
@click.argument("session_id", metavar="TABLE")
@click.option("--seat", metavar="SEAT", default="", help="For this seat.")
@click.option("--role", type=click.Choice(["player", "spectator", "gm"]), default=None, help="For a new seat of this role.")
@click.option("--for", "ttl_ms", type=DURATION, default=WEEK_MS, show_default="7d", help="How long it is good: 12h, 7d ...")
@settings(*STORE, "host", "port", "public_url")
def invite(session_id: str, seat: str, role: str | None, ttl_ms: int, **given: Any) -> None:
    """A link that seats whoever opens it first. It goes to standard output and is kept nowhere in the clear."""
    from server.commands._common import offline, run_async

    config = config_of(given)

    async def make() -> str:
        async with offline(config) as server:
            actor = await server.registry.get(session_id)
            if seat and seat not in actor.session.seats:
                raise Failure(f"The table {session_id} has no seat {seat[:64]!r}; it has: {', '.join(actor.session.seats)}.")
            code = await server.invites.create(session_id, seat=seat, role=role or "", ttl_ms=ttl_ms, by="host")  # type: ignore[arg-type]  # click allows the roles alone
            return f"{server.url}/#{code}"

    click.echo(run_async(make()))


def _loaded(session_id: str, given: dict[str, Any]) -> Session:
    """A table from the store. Raises Failure when there is none."""
    from server import ids
    from server.commands._common import know_rulesets, opened_store, quiet_logs, run_async
    from server.sessions.actor import load

    config = config_of(given)

    async def look() -> Session | None:
        quiet_logs()
        know_rulesets()
        async with opened_store(config) as store:
            return await load(None, store, session_id) if ids.is_id(session_id) else None

    found = run_async(look())
    if found is None:
        raise Failure(f"There is no table {session_id[:64]!a}; `dustup session list` shows those there are.")
    return found


def _moment(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M UTC") if ms else "?"
