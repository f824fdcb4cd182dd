"""The built TypeScript client, and a server to play at.

- `node`: a Node with the client built (tests/clients_js/node.py); skips where there is none.
- `start_server(clock=...)`: a started Server on a memory store, stopped when the test ends.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

import engine
from engine.rulesets.duel import RULES
from server.app import Server
from server.clock import Clock
from server.config import load
from tests.clients_js import node as nodes

engine.register(RULES)

StartServer = Callable[..., Awaitable[Server]]


@pytest.fixture(scope="session")
def node(tmp_path_factory: pytest.TempPathFactory) -> nodes.Node:
    found = nodes.find()
    if isinstance(found, str):
        pytest.skip(found)
    shared: Path = tmp_path_factory.getbasetemp()
    if shared.name.startswith("popen-"):
        shared = shared.parent
    with nodes.alone(shared / "clients-js.lock"):
        built = shared / "clients-js.built"
        if not built.exists():
            nodes.install(found)
            nodes.build(found)
            built.touch()
    return found


@pytest.fixture
async def start_server() -> AsyncIterator[StartServer]:
    servers: list[Server] = []

    async def start(clock: Clock | None = None) -> Server:
        rates = dict.fromkeys(("limits.seat_rate", "limits.session_rate", "limits.address_rate"), 0)
        server = Server(load(env={}, overrides={"port": 0, "store": "memory", **rates}), clock=clock)
        await server.start()
        servers.append(server)
        return server

    yield start
    for server in servers:
        await server.stop()
