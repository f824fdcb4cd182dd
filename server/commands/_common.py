"""What several commands need: the event loop, the rulesets, and the store, whether a server runs on it or not."""

from __future__ import annotations

import asyncio
import importlib
import sys
import tomllib
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

import click

import engine
from server.commands._errors import Failure
from server.config import Config
from server.store import Store, open_store

if TYPE_CHECKING:
    from server.app import Server

T = TypeVar("T")

LIVES_ALONE = "--store memory keeps nothing: its tables live and end with their server. Give --data, --redis, or --url of a running server."


def run_async(work: Coroutine[Any, Any, T]) -> T:
    """Run `work` to its end, on uvloop where there is one."""
    try:
        import uvloop
    except ImportError:
        return asyncio.run(work)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(work)


def quiet_logs(level: str = "error") -> None:
    """Commands that speak to a person say what they have to say themselves; the server's log lines would stand in between."""
    from server import logs

    logs.configure(level=level)  # type: ignore[arg-type]  # one of the levels logs knows


def know_rulesets(only: str = "") -> None:
    """In a checkout that is not installed, and so has no entry points, make known the rulesets that an installation would have.

    `only`: no other one is needed, so none is loaded. One that cannot be loaded is named on standard error; the others are there.
    """
    known = engine.names()
    if only in known:
        return
    try:
        project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))
        points = project["project"]["entry-points"]["dustup.rulesets"]
    except (OSError, KeyError, tomllib.TOMLDecodeError):
        return
    for ruleset in [only] if only in points else [name for name in points if name not in known]:
        module, _, name = points[ruleset].partition(":")
        try:
            engine.register(getattr(importlib.import_module(module), name))
        except Exception as problem:  # whatever is wrong in one ruleset, tables of the others can be played
            click.echo(
                f"dustup: the ruleset {ruleset} cannot be loaded ({type(problem).__name__}: {problem}); going on without it.", err=True
            )


def running_socket(data_dir: Path) -> Path | None:
    """The socket of the embedded Valkey that a running server keeps in this folder; None when no server uses the folder."""
    if sys.platform == "win32":
        return None
    import fcntl

    data_dir = data_dir.expanduser().absolute()
    try:
        with (data_dir / "lock").open("r+") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return None
    except BlockingIOError:
        pass
    except OSError:
        return None
    try:
        lines = (data_dir / "valkey.conf").read_text("utf-8").splitlines()
    except OSError:
        return None
    for line in lines:
        name, _, value = line.partition(" ")
        if name == "unixsocket":
            return Path(value.strip('"').replace('\\"', '"').replace("\\\\", "\\"))
    return None


@asynccontextmanager
async def opened_store(config: Config) -> AsyncIterator[Store]:
    """The store the settings name, started; closed at the end. Raises Failure and StoreUnavailable.

    When a running server holds the embedded store, this joins it as a second node would: the log's order is decided by the store.
    """
    if config.store == "memory":
        raise Failure(LIVES_ALONE)
    socket = running_socket(config.data_dir) if config.store == "embedded" else None
    where = f"unix://{quote(str(socket))}" if socket is not None else config.store
    if where == "embedded" and not config.data_dir.expanduser().exists():
        raise Failure(f"There are no tables yet: the data folder {config.data_dir} does not exist. Choose another with --data.")
    store = open_store(where, config.data_dir)
    await store.start()
    try:
        yield store
    finally:
        await store.close()


@asynccontextmanager
async def offline(config: Config) -> AsyncIterator[Server]:
    """A server on the opened store that listens nowhere: its registry, tokens and invites. Raises as `opened_store`, and ConfigError."""
    from server.app import Server

    quiet_logs()
    know_rulesets()
    async with opened_store(config) as store:
        server = Server(config, store=store)
        try:
            yield server
        finally:
            await server.registry.close()
