"""The machines of a run: server nodes and Redis servers as processes of their own, with a network between them that can be broken."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shlex
import signal
import sys
from pathlib import Path

import redis.asyncio
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from tests.chaos.proxy import Address, Proxy
from tests.support.redis_server import RedisProcess, any_server

ROOT = Path(__file__).parents[2]
SECRET = "one-secret-that-every-node-of-a-run-signs-with"
START_LIMIT_S = 90.0
SETTINGS = {"limits-seat-rate": "0", "limits-session-rate": "0", "limits-address-rate": "0", "limits-address-connections": "0"}
SETTINGS |= {"limits-tries-per-minute": "0", "deadline-sweep-seconds": "2", "snapshot-every": "25", "ring": "64", "log": "info"}


class Node:
    """One `dustup serve`. Its address stays the same through every restart; its store is reached through a proxy of its own."""

    def __init__(self, name: str, folder: Path, proxy: Proxy, durability: str, *, jumping: bool = False) -> None:
        self.name, self.proxy = name, proxy
        self.url = ""
        self.jumping = jumping
        """Whether its clock can be made to jump (tests/chaos/node.py)."""
        self._folder, self._durability = folder, durability
        self._port = "0"
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        """Start it and wait until it listens. Raises RuntimeError with the end of its log."""
        module = "tests.chaos.node" if self.jumping else "server.cli"
        options = {**SETTINGS, "port": self._port, "host": "127.0.0.1", "redis": self.proxy.url, "durability": self._durability}
        words = [word for name, value in options.items() for word in (f"--{name}", value)]
        environment = {name: value for name, value in os.environ.items() if not name.startswith("DUSTUP_") or name == "DUSTUP_TESTED_BY"}
        environment |= {"DUSTUP_SECRET": SECRET, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "clients/python")])}
        self._folder.mkdir(parents=True, exist_ok=True)
        with (self._folder / f"{self.name}.log").open("ab") as log:
            process = self._process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", module, "serve", *words, stdout=asyncio.subprocess.PIPE, stderr=log, cwd=self._folder, env=environment
            )
        assert process.stdout is not None
        try:
            async with asyncio.timeout(START_LIMIT_S):
                line = (await process.stdout.readline()).decode()
        except TimeoutError:
            line = ""
        found = re.search(r"listens on (http://[^ ]+:(\d+))\.", line)
        if found is None:
            await self.kill9()
            raise RuntimeError(f"{self.name} did not start; its log ends with: {self.tail()}")
        self.url, self._port = found[1], found[2]

    @property
    def up(self) -> bool:
        return self._process is not None and self._process.returncode is None

    async def kill9(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()

    async def drain(self, within_s: float) -> int:
        """SIGTERM; its exit code. Raises TimeoutError when it does not end in time."""
        process, self._process = self._process, None
        assert process is not None
        process.terminate()
        try:
            async with asyncio.timeout(within_s):
                return await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()
            raise

    def signal(self, number: int) -> None:
        assert self._process is not None
        self._process.send_signal(number)

    def tail(self) -> str:
        path = self._folder / f"{self.name}.log"
        return path.read_text(errors="replace")[-2000:] if path.exists() else ""


class World:
    """Nodes, a primary, its replica, and the proxies between them. `async with World(...)` starts everything and ends everything."""

    def __init__(self, folder: Path, *, nodes: int, durability: str) -> None:
        self.folder, self.durability = folder, durability
        self._program = _without_file_size_signal(folder)
        self.primary = self._redis()
        self.replica = self._redis()
        self.replication = Proxy(lambda: ("127.0.0.1", self.primary.port))
        self.old_primary: RedisProcess | None = None
        """During a split: the one that some nodes still talk to."""
        self.promoted = False
        """Whether the primary was a replica in this life of its process."""
        self._left_behind: set[str] = set()
        self._count = nodes
        self.nodes: list[Node] = []
        self._all_redis: list[RedisProcess] = [self.primary, self.replica]

    def _redis(self) -> RedisProcess:
        number = len(getattr(self, "_all_redis", [])) or (1 if hasattr(self, "primary") else 0)
        settings = {"appendfsync": "always" if self.durability == "always" else "no", "repl-timeout": "5", "repl-ping-replica-period": "1"}
        return RedisProcess(self.folder / f"redis{number}", program=self._program, settings={**settings, "repl-backlog-size": "16mb"})

    async def __aenter__(self) -> World:
        try:
            await self.replication.start()
            for server in (self.primary, self.replica):
                await asyncio.to_thread(server.start)
            await self.replicate()
            for number in range(self._count):
                name = f"node{number}"
                proxy = await Proxy(lambda name=name: self._store_of(name)).start()  # type: ignore[misc]
                self.nodes.append(Node(name, self.folder, proxy, self.durability, jumping=number == self._count - 1))
            await asyncio.gather(*(node.start() for node in self.nodes))
        except BaseException:
            await self.__aexit__()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.gather(*(node.kill9() for node in self.nodes))
        for server in self._all_redis:
            server.kill9()
            server.stop()
        for proxy in (self.replication, *(node.proxy for node in self.nodes)):
            await proxy.stop()

    def _store_of(self, node: str) -> Address:
        server = self.old_primary if self.old_primary is not None and node in self._left_behind else self.primary
        return "127.0.0.1", server.port

    @property
    def urls(self) -> list[str]:
        return [node.url for node in self.nodes]

    def ask(self, server: RedisProcess | None = None) -> redis.asyncio.Redis:
        """A connection of our own to the primary, past every proxy. To be closed."""
        return redis.asyncio.Redis.from_url((server or self.primary).unix_url, retry=Retry(NoBackoff(), 0), socket_timeout=10)

    # --- replication ------------------------------------------------------------------------------------------------------

    async def replicate(self) -> None:
        """Make the replica follow the primary, through the network that can be cut, and wait until it does."""
        host, port = self.replication.address
        self.replica.command("REPLICAOF", host, str(port))
        await self.until_replicated()

    async def until_replicated(self, within_s: float = 20.0) -> None:
        async with self.ask(self.replica) as replica:
            await self.until(replica, "master_link_status", "up", within_s)

    async def until(self, asked: redis.asyncio.Redis, field: str, value: str, within_s: float = 20.0) -> None:
        """Wait until a Redis says this about itself. Raises TimeoutError."""
        async with asyncio.timeout(within_s):
            while (await asked.info()).get(field) != value:  # noqa: ASYNC110 - it tells nobody by itself
                await asyncio.sleep(0.03)

    async def promote(self, *, left_behind: set[str] | None = None) -> None:
        """Make the replica the primary. The old one is killed, unless nodes are `left_behind` with it: then it lives on for them."""
        old = self.primary
        if left_behind:
            self.old_primary, self._left_behind = old, left_behind
        else:
            await asyncio.to_thread(old.kill9)
        self.replica.command("REPLICAOF", "NO", "ONE")
        self.primary, self.promoted = self.replica, True
        for node in self.nodes:
            if node.name not in self._left_behind:
                node.proxy.drop()

    async def unite(self) -> None:
        """End a split: everybody talks to the new primary, the old one dies."""
        old, self.old_primary, self._left_behind = self.old_primary, None, set()
        for node in self.nodes:
            node.proxy.drop()
        if old is not None:
            await asyncio.to_thread(old.kill9)

    async def new_replica(self) -> None:
        """Give the primary a fresh, empty replica."""
        self.replica = self._redis()
        self._all_redis.append(self.replica)
        await asyncio.to_thread(self.replica.start)
        self.replication.heal()
        await self.replicate()

    async def restart_primary(self) -> None:
        """kill -9 the primary and start it again with its files."""
        await asyncio.to_thread(self.primary.restart)
        self.promoted = False

    async def kill_everything(self) -> None:
        await asyncio.gather(*(node.kill9() for node in self.nodes))
        self.primary.kill9()
        self.replica.kill9()

    async def start_everything(self) -> None:
        for server in (self.primary, self.replica):
            await asyncio.to_thread(server.start)
        self.promoted = False
        await self.replicate()
        await asyncio.gather(*(node.start() for node in self.nodes))


def _without_file_size_signal(folder: Path) -> Path:
    """A Redis program that gets an error, as on a full disk, when it may not write: not the signal that comes with such a limit."""
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "redis.sh"
    program.write_text(f"#!/bin/sh\ntrap '' XFSZ\nexec {shlex.quote(str(any_server()))} \"$@\"\n")
    program.chmod(0o755)
    return program


def freeze(node: Node) -> None:
    node.signal(signal.SIGSTOP)


def thaw(node: Node) -> None:
    node.signal(signal.SIGCONT)
