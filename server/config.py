"""Where settings come from: defaults, then a TOML file, then the environment (DUSTUP_*), then the command line; the later wins.

A value that is not allowed is refused with a sentence that names the setting, where it came from, the value (never a secret) and what
is allowed. `python -m server.config` prints docs/configuration.md.
"""

from __future__ import annotations

import difflib
import inspect
import os
import secrets
import stat
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from server.config_fields import ENV_PREFIX, MIN_SECRET, SETTINGS, Config, Hidden, LimitSettings, LogSettings, Setting, shown

__all__ = ["Config", "ConfigError", "Hidden", "LimitSettings", "LogSettings", "describe", "load", "signing_secrets"]

ENV_FILE: Final = "DUSTUP_CONFIG"
_SECRET_FILE: Final = "secret"
_TYPO: Final = 0.75  # two neighbouring letters of a four-letter name swapped


class ConfigError(Exception):
    """A setting that cannot be used. The text names it, its source, its value (never a secret) and what is allowed."""


def load(*, file: Path | None = None, env: Mapping[str, str] | None = None, overrides: Mapping[str, object] | None = None) -> Config:
    """The configuration from all sources. Raises ConfigError.

    `file`: a TOML file; else the one DUSTUP_CONFIG names, if any. `env`: os.environ unless given. `overrides`: from the command line,
    by path (`port`, `limits.seat_rate`); None means not given.
    """
    env = os.environ if env is None else env
    values: dict[str, object] = {}
    if file is None and env.get(ENV_FILE):
        file = Path(env[ENV_FILE])
    if file is not None:
        values |= _from_file(file)
    values |= _from_env(env)
    for path, raw in (overrides or {}).items():
        if raw is not None:
            values[path] = _convert(_find(path, "the command line"), raw, "the command line", is_text=isinstance(raw, str))
    nested: dict[str, dict[str, object]] = {"": {}, "log": {}, "limits": {}}
    for path, value in values.items():
        section, _, name = path.rpartition(".")
        nested[section][name] = value
    return Config(**nested[""], log=LogSettings(**nested["log"]), limits=LimitSettings(**nested["limits"]))  # type: ignore[arg-type]


def _from_file(file: Path) -> dict[str, object]:
    try:
        tree = tomllib.loads(file.read_text("utf-8"))
    except OSError as error:
        raise ConfigError(f"the configuration file {file} cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"the configuration file {file} is not TOML: {error}") from None
    flat: dict[str, object] = {}
    for name, value in tree.items():
        if isinstance(value, dict):
            flat |= {f"{name}.{inner}": leaf for inner, leaf in value.items()}
        else:
            flat[name] = value
    return {path: _convert(_find(path, str(file)), raw, str(file), is_text=False) for path, raw in flat.items()}


def _from_env(env: Mapping[str, str]) -> dict[str, object]:
    by_env = {setting.env: setting for setting in SETTINGS.values()}
    values: dict[str, object] = {}
    for name in sorted(env):
        if not name.startswith(ENV_PREFIX) or name == ENV_FILE:
            continue
        setting = by_env.get(name)
        if setting is None:
            # Names that are close to none of ours belong to someone else (clients, Kubernetes' service variables).
            if near := difflib.get_close_matches(name.removeprefix(ENV_PREFIX), [one.removeprefix(ENV_PREFIX) for one in by_env], 1, _TYPO):
                raise ConfigError(f"there is no setting {name}; did you mean {ENV_PREFIX}{near[0]}?")
        elif setting.path == "secret":
            values["secret"] = Hidden(env[name])
        # Kubernetes sets this for a service called "dustup"; nobody else writes a port like that.
        elif not (setting.path == "port" and env[name].startswith("tcp://")):
            values[setting.path] = _convert(setting, env[name], name, is_text=True)
    return values


def _find(path: str, source: str) -> Setting:
    setting = SETTINGS.get(path)
    if setting is None:
        near = difflib.get_close_matches(path, SETTINGS, 1)
        hint = f"did you mean {near[0]}?" if near else "see docs/configuration.md"
        raise ConfigError(f"there is no setting {shown(path)} (from {source}); {hint}")
    return setting


def _convert(setting: Setting, raw: object, source: str, *, is_text: bool) -> object:
    if setting.path == "secret":
        raise ConfigError(f"secret cannot come from {source}, where others may read it; use {setting.env} or secret_file")
    if is_text and isinstance(raw, str) and setting.is_list:
        raw = [part.strip() for part in raw.split(",") if part.strip()]
    try:
        value = msgspec.convert(raw, setting.type, strict=not is_text, dec_hook=_to_path)
        if setting.check is not None:
            setting.check(value)
    except (msgspec.ValidationError, ValueError, TypeError):
        raise ConfigError(f"{setting.path} = {shown(raw)} (from {source}) is not allowed; use {setting.allowed}") from None
    return value


def _to_path(kind: type, raw: Any) -> Path:
    if kind is Path and isinstance(raw, str) and raw and "\0" not in raw:
        return Path(raw).expanduser()
    raise ValueError


def signing_secrets(config: Config) -> tuple[bytes, ...]:
    """The keys that sign tokens, the signing one first.

    From `secret`, else `secret_file`, else a file in data_dir that is made on first use, readable by its owner alone. A server whose
    store is `memory` writes nothing to disk: its key, like its sessions, lasts as long as the process. Raises ConfigError.
    """
    if config.secret:
        return _split_secrets(config.secret.reveal(), ENV_PREFIX + "SECRET")
    if config.secret_file is not None:
        return _split_secrets(_read_secret(config.secret_file), f"secret_file {config.secret_file}")
    if config.store == "memory":
        return (secrets.token_bytes(48),)
    path = config.data_dir / _SECRET_FILE
    if not path.exists():
        _make_secret(path)
    if os.name == "posix" and stat.S_IMODE(path.stat().st_mode) & 0o077:
        raise ConfigError(f"{path} signs tokens but others may read it; run: chmod 600 {path}")
    return _split_secrets(_read_secret(path), str(path))


def _make_secret(path: Path) -> None:
    fresh = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
            file.write(secrets.token_urlsafe(48) + "\n")
            file.flush()
            os.fsync(file.fileno())
        try:
            # A link either appears whole or not at all: of two servers starting at once, both then read the same secret.
            os.link(fresh, path)
        except FileExistsError:
            return
        finally:
            fresh.unlink()
    except OSError as error:
        what = f"{path.parent} is not a folder" if path.parent.exists() and not path.parent.is_dir() else str(error.strerror)
        raise ConfigError(f"the signing secret {path} cannot be made: {what}; set data_dir or secret_file") from None


def _read_secret(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except OSError as error:
        raise ConfigError(f"the signing secret {path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"the signing secret {path} is not text; put base64 or hex in it") from None


def _split_secrets(text: str, source: str) -> tuple[bytes, ...]:
    keys = tuple(part.encode("utf-8", "surrogateescape") for part in text.split())
    if not keys:
        raise ConfigError(f"there is no signing secret in {source}; use at least {MIN_SECRET} random bytes")
    for number, key in enumerate(keys, 1):
        if len(key) < MIN_SECRET:
            raise ConfigError(f"signing secret number {number} in {source} has {len(key)} bytes; at least {MIN_SECRET} are needed")
    return keys


_INTRODUCTION: Final = """\
# Configuration

<!-- Made by `python -m server.config`; a test keeps it current. Change the texts in server/config_fields.py. -->

Values come from these places; a later one wins:

1. the defaults below;
2. a TOML file, named by `--config` or `DUSTUP_CONFIG`;
3. the environment;
4. the command line.

A setting that does not exist or a value that is not allowed stops the server before it opens a port, with a sentence that says where the
value came from and what is allowed. Lists are written with commas in the environment and as arrays in TOML.

```toml
host = "0.0.0.0"
store = "redis://db.example:6379"
public_url = "https://play.example"
secret_file = "/run/secrets/dustup"

[limits]
seat_rate = 10
```
"""
_ENDING: Final = """
## The signing secret

Whoever has it can make any token. It is taken from `DUSTUP_SECRET`, else from `secret_file`, else from a file `secret` in `data_dir` that
is made on the first start and must be readable by its owner alone (mode 600). With `store = "memory"` it is made afresh each time and
never written.

To change it without throwing anyone out, put a new one in front of the old one, separated by a blank or a new line, and restart: the first
signs, both are accepted. Remove the old one when the last token made with it has expired. To throw everyone out, replace it.
"""
_COLUMNS: Final = "| setting | environment | default | allowed | meaning |\n|---|---|---|---|---|\n"


def describe() -> str:
    """docs/configuration.md: every setting with its variable, default, what is allowed, and its meaning."""
    parts = [_INTRODUCTION]
    section = ""
    parts.append(_table_head("Server", Config.__doc__))
    for setting in SETTINGS.values():
        name = setting.path.rpartition(".")[0]
        if name != section:
            section = name
            parts.append(_table_head(f"`[{section}]`", {"log": LogSettings, "limits": LimitSettings}[section].__doc__))
        cells = (f"`{setting.path}`", f"`{setting.env}`", setting.default, setting.allowed, setting.text)
        parts.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n")
    parts.append(_ENDING)
    return "".join(parts)


def _table_head(title: str, text: str | None) -> str:
    return f"\n## {title}\n\n{inspect.cleandoc(text or '')}\n\n{_COLUMNS}"


if __name__ == "__main__":
    print(describe(), end="")
