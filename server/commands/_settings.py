"""The options every command shares that needs a server's settings: one for each field of Config, made from its own description."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from server.config import Config, ConfigError, load
from server.config_fields import SETTINGS

F = TypeVar("F", bound=Callable[..., Any])

ALIASES: Final = {"data_dir": "--data", "log.level": "--log"}
MAIN: Final = ("host", "port", "store", "data_dir", "durability", "log.level", "log.format")
STORE: Final = ("store", "data_dir", "secret_file")
"""What a command needs that opens the store and no port."""

_PREFIX: Final = "set_"
_UNITS: Final = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


class SettingsCommand(click.Command):
    """A command whose help lists a server's settings after its own options: the usual ones, then the rest."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        own: list[tuple[str, str]] = []
        usual: list[tuple[str, str]] = []
        rest: list[tuple[str, str]] = []
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is not None:
                path = (param.name or "").removeprefix(_PREFIX).replace("__", ".")
                is_setting = (param.name or "").startswith(_PREFIX) or param.name in ("redis", "config_file")
                (own if not is_setting else usual if path in (*MAIN, "redis", "config_file") else rest).append(record)
        for title, records in (("Options", own), ("Settings", usual), ("More settings", rest)):
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


def settings(*paths: str) -> Callable[[F], F]:
    """Decorator: an option for each of these settings (none: for all), `--config FILE` and `--redis URL`. Read them with `config_of`."""

    def add(function: F) -> F:
        for path, setting in reversed(list(SETTINGS.items())):
            # A secret on the command line would be in everybody's list of processes.
            if path == "secret" or (paths and path not in paths):
                continue
            names = ["--" + path.replace(".", "-").replace("_", "-")]
            if path in ALIASES:
                names.insert(0, ALIASES[path])
            default = f" [{setting.default}]" if setting.default != "(none)" else ""
            function = click.option(
                *names, _PREFIX + path.replace(".", "__"), metavar="VALUE", default=None, help=f"{setting.text}{default}"
            )(function)
        function = click.option(
            "--redis", "redis", metavar="URL", default=None, help="Keep sessions in this Redis; the same as --store URL."
        )(function)
        return click.option(
            "--config",
            "config_file",
            metavar="FILE",
            type=click.Path(path_type=Path),
            default=None,
            help="A TOML file with settings; the environment (DUSTUP_...) and these options go before it.",
        )(function)

    return add


def config_of(given: dict[str, Any], **overrides: object) -> Config:
    """The configuration from a command's keyword arguments (those of `settings` are taken out of `given`) and fixed `overrides`.

    Overrides are by path with "__" for the dot. Raises ConfigError.
    """
    file = given.pop("config_file", None)
    redis = given.pop("redis", None)
    chosen: dict[str, object] = {}
    for name in [name for name in given if name.startswith(_PREFIX)]:
        chosen[name.removeprefix(_PREFIX).replace("__", ".")] = given.pop(name)
    if redis is not None:
        if chosen.get("store") is not None:
            raise ConfigError("--redis and --store both say where sessions are kept: give one of the two")
        chosen["store"] = redis
    chosen |= {name.replace("__", "."): value for name, value in overrides.items()}
    return load(file=file, overrides=chosen)


class Duration(click.ParamType[int]):
    """A span of time such as 90s, 30m, 12h or 7d, as milliseconds."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        match = re.fullmatch(r"([0-9]{1,6})([smhd])", str(value))
        if match is None or int(match[1]) == 0:
            self.fail(f"{str(value)[:40]!r} is no span of time: write 90s, 30m, 12h or 7d.", param, ctx)
        return int(match[1]) * _UNITS[match[2]]


DURATION: Final = Duration()
