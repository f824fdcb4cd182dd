"""`dustup session`: the tables of this machine's server: list, show, create and delete them, and invite people."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from server.commands._errors import Failure
from server.commands._remote import Remote, remote, remote_of
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
settings (--data, --redis) name; with --url, on a server elsewhere.
"""

_json = click.option("--json", "as_json", is_flag=True, help="The answer as JSON.")


@click.group("session", epilog=EPILOG, context_settings=CONTEXT)
def session() -> None:
    """List, show, create and delete tables; invite people."""


@session.command("list", cls=SettingsCommand, context_settings=CONTEXT)
@_json
@remote
@settings(*STORE)
def list_(as_json: bool, **given: Any) -> None:
    """Every table there is; with --url, those that the token's person has a seat at."""
    from server.commands._common import opened_store, quiet_logs, run_async

    there = remote_of(given)
    if there is not None:
        _list_remote(there, as_json)
        return
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
    from clients.terminal.words import clean

    if not tables:
        click.echo("There are no tables. `dustup session create --help` tells how to make one.", err=True)
    for one, meta in tables:
        told = _told(meta)
        click.echo(f"{one}  {told['ruleset']:<10}  v{told['v']:<6}  {_moment(told['created'])}  {clean(told['name'])}".rstrip())


def _list_remote(there: Remote, as_json: bool) -> None:
    import dustup
    from server.commands._common import run_async

    if there.token is None:
        raise Failure("A server tells nobody its tables without a token: give one with --token or DUSTUP_TOKEN.")
    token = there.token

    async def look() -> list[dict[str, Any]]:
        async with dustup.connect(there.url, token) as client:
            return client.sessions

    found = run_async(look())
    if as_json:
        click.echo(json.dumps(found))
        return
    for one in found:
        click.echo(f"{one['session']}  {one['seat']}  {one['role']}")


def _plain_id(session_id: str) -> str:
    """`session_id`, if it may stand in a path. Raises Failure."""
    from server import ids

    if not ids.is_id(session_id):
        raise Failure(f"{session_id[:64]!a} is no table's id; `dustup session list` shows those there are.")
    return session_id


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
@remote
@settings(*STORE)
def show(session_id: str, as_json: bool, **given: Any) -> None:
    """One table: seats, scenes, whose turn it is, what is asked of whom. Here as its GM sees it; with --url as the token's seat does."""
    told = _told_of(session_id, given)
    if as_json:
        click.echo(json.dumps(told))
        return
    from clients.terminal.show import scene_lines
    from clients.terminal.words import clean

    view = told["view"]
    table = view.get("table", {}).get("table", {})
    variant = f", {clean(told['variant'])}" if told.get("variant") else ""
    paused = ", paused" if table.get("paused") else ""
    click.echo(f"{clean(table.get('name') or session_id)}: {clean(told['ruleset'])}{variant}, version {told['v']}{paused}")
    click.echo("Seats:")
    for line in _seat_lines(view):
        click.echo(f"  {line}")
    for line in scene_lines(view, ""):
        click.echo(line)
    for prompt in view.get("prompts", {}).values():
        until = f", until {_moment(prompt['deadline'])}" if prompt.get("deadline") else ""
        click.echo(f"Asked of {clean(prompt.get('to', '?'))}: {clean(prompt.get('text') or prompt.get('kind', '?'))}{until}")
    for name in ("open", "hidden"):
        stream = table.get("dice", {}).get(name, {})
        if stream.get("commitment"):
            click.echo(f"Dice, {name}, number {clean(stream.get('index', '?'))}: committed to {clean(stream['commitment'])}")


@session.command("seats", cls=SettingsCommand, context_settings=CONTEXT)
@click.argument("session_id", metavar="TABLE")
@_json
@remote
@settings(*STORE)
def seats(session_id: str, as_json: bool, **given: Any) -> None:
    """The seats of a table: who has them and what they control."""
    view = _told_of(session_id, given)["view"]
    if as_json:
        click.echo(json.dumps(view.get("seats", {})))
        return
    for line in _seat_lines(view):
        click.echo(line)


def _told_of(session_id: str, given: dict[str, Any]) -> dict[str, Any]:
    """{session, v, ruleset, variant, view} of a table, from the server or the store that `given` names. Raises Failure."""
    there = remote_of(given)
    if there is not None:
        from server.commands._common import run_async

        return run_async(there.ask("GET", f"/v1/sessions/{_plain_id(session_id)}"))
    import msgspec

    import engine

    found = _loaded(session_id, given)
    view = msgspec.to_builtins(engine.view(engine.ruleset(found.header.ruleset), found, engine.GM))
    for seat_id, seat in found.seats.items():
        # Nobody at the table learns who sits where; the host may.
        view["seats"][seat_id]["person"] = seat.person
    return {"session": session_id, "v": found.v, "ruleset": found.header.ruleset, "variant": found.header.variant, "view": view}


def _seat_lines(view: Mapping[str, Any]) -> list[str]:
    from clients.terminal.show import name_of
    from clients.terminal.words import clean

    lines = []
    for seat_id, seat in view.get("seats", {}).items():
        names = [name_of(view, "combatants", one) for one in seat.get("controls") or []]
        who = f"held by {clean(seat['person'])}" if seat.get("person") else "free" if "person" in seat else "-"
        lines.append(f"{clean(seat_id):<12} {clean(seat.get('role', '?')):<10} {who}" + (f", plays {', '.join(names)}" if names else ""))
    return lines


@session.command("create", cls=SettingsCommand, context_settings=CONTEXT)
@click.option("--ruleset", metavar="NAME", default=None, help="Any installed ruleset. [the smallest]")
@click.option("--sample", metavar="NAME", default=None, help="One of its ready tables.")
@click.option("--variant", metavar="NAME", default=None, help="One of its variants.")
@click.option("--option", "switches", metavar="NAME=VALUE", multiple=True, help="One of its switches; may be given several times.")
@click.option("--name", metavar="TEXT", default=None, help="What people call the table.")
@click.option("--encounter", metavar="SCENE", default=None, help="Begin the fight of this scene at once.")
@click.option("--physical", is_flag=True, default=None, help="Players roll their own dice and enter them.")
@click.option("--setup", "file", metavar="FILE", type=click.Path(path_type=Path), default=None, help="A whole set-up as JSON or YAML.")
@remote
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
    from server.commands._table import DEFAULT_RULESET

    fields: dict[str, Any] = _setup_file(file) if file is not None else {"ruleset": DEFAULT_RULESET}
    named = {"ruleset": ruleset, "sample": sample, "variant": variant, "name": name, "encounter": encounter, "physical": physical}
    fields |= {key: value for key, value in named.items() if value is not None}
    if switches:
        fields["options"] = {**fields.get("options", {}), **dict(map(_switch, switches))}
    setup = _setup(fields)
    there = remote_of(given)
    if there is not None:
        made = run_async(there.ask("POST", "/v1/sessions", json=fields))
        click.echo(made["session"])
        click.echo(f"To lead it: {made.get('link', '')}", err=True)
        for seat_id, seat in made.get("seats", {}).items():
            click.echo(f"For the seat {seat_id}: {seat.get('link', 'dustup session invite makes a link')}", err=True)
        return
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
@remote
@settings(*STORE)
def delete(session_id: str, yes: bool, **given: Any) -> None:
    """Delete a table with its whole log, for good. `dustup export` keeps a copy."""
    from server.commands._common import offline, run_async
    from server.commands.run import delete_table

    told = _told_of(session_id, dict(given))
    if not yes:
        name = told["view"].get("table", {}).get("table", {}).get("name") or session_id
        click.confirm(f"Delete {name} with its {told['v']} entries, for good?", abort=True, err=True)
    there = remote_of(given)
    if there is not None:
        run_async(there.ask("DELETE", f"/v1/sessions/{_plain_id(session_id)}", json={"confirm": session_id}))
        click.echo(f"Deleted {session_id}.")
        return
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
@remote
@settings(*STORE, "host", "port", "public_url")
def invite(session_id: str, seat: str, role: str | None, ttl_ms: int, **given: Any) -> None:
    """A link that seats whoever opens it first. It goes to standard output and is kept nowhere in the clear."""
    from server.commands._common import offline, run_async

    there = remote_of(given)
    if there is not None:
        body = {"seat": seat or None, "role": role, "ttl_minutes": max(ttl_ms // 60_000, 1)}
        click.echo(run_async(there.ask("POST", f"/v1/sessions/{_plain_id(session_id)}/invites", json=body))["link"])
        return
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
        raise Failure(f"There is no table {session_id[:64]!a} here; `dustup session list` shows those there are.")
    return found


def _moment(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M UTC") if ms else "?"
