"""Whole servers inside the test's own process, real sockets between them and the clients, and the stores they stand on.

- `start_node(store=..., clock=..., **settings)`: a started Server on a free port; stopped when the test ends.
- `node`: one on a memory store. `two_nodes`: two on one memory store. `valkey` and `valkey_node`: a real process, and a Server on it.
- `connect(node, token="", text=False)`: a raw protocol client (tests/integration/raw.py). `seat(node, session, seat)`: one that has joined.
- `make_table(node, **setup)`: a fresh duel; gives the session id.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from fakeredis import FakeServer

import engine
from engine.rulesets.duel import RULES
from server.app import Server
from server.clock import Clock
from server.config import Config, load
from server.store import Store
from server.store.memory import MemoryStore
from server.store.redis import RedisStore
from tests.integration.raw import RawClient
from tests.support.redis_server import RedisProcess

engine.register(RULES)

SECRET = "one-signing-secret-for-every-node-of-a-test"
HOUR_MS = 3_600_000

StartNode = Callable[..., Awaitable[Server]]
Connect = Callable[..., Awaitable[RawClient]]
MakeTable = Callable[..., Awaitable[str]]
Join = Callable[..., Awaitable[RawClient]]


def make_config(**settings: Any) -> Config:
    """Settings for a test: any free port, no store of its own, no rates; nodes share one signing secret. Nested names use "__"."""
    plain: dict[str, object] = {
        "host": "127.0.0.1",
        "port": 0,
        "store": "memory",
        "limits.seat_rate": 0,
        "limits.session_rate": 0,
        "limits.address_rate": 0,
        "limits.address_connections": 0,
        "limits.tries_per_minute": 0,
    }
    plain.update({name.replace("__", "."): value for name, value in settings.items()})
    return load(env={"DUSTUP_SECRET": SECRET}, overrides=plain)


@pytest.fixture
async def start_node() -> AsyncIterator[StartNode]:
    """Starts servers; stops those that still run when the test ends. The store is the test's own, so it outlives a node."""
    nodes: list[Server] = []
    stores: list[Store] = []

    async def start(store: Store | None = None, clock: Clock | None = None, **settings: Any) -> Server:
        config = make_config(**settings)
        kept = store or MemoryStore()
        stores.append(kept)
        node = Server(config, store=kept, clock=clock)
        await node.start()
        nodes.append(node)
        return node

    yield start
    for node in nodes:
        await node.stop()
    for store in stores:
        await store.close()


@pytest.fixture
async def node(start_node: StartNode) -> Server:
    """One server on a memory store."""
    return await start_node()


@pytest.fixture
async def two_nodes(start_node: StartNode) -> tuple[Server, Server]:
    """Two servers on one memory store."""
    shared = FakeServer()
    return await start_node(MemoryStore(shared)), await start_node(MemoryStore(shared))


@pytest.fixture
def valkey(tmp_path: Path) -> Iterator[RedisProcess]:
    """A real Redis or Valkey process that can be killed, paused and started again. Skips where there is none."""
    try:
        process = RedisProcess(tmp_path / "valkey")
    except LookupError as problem:
        pytest.skip(str(problem))
    with process:
        yield process


@pytest.fixture
async def valkey_node(valkey: RedisProcess, start_node: StartNode) -> Server:
    """One server on a real Redis or Valkey; its store gives up after two seconds."""
    return await start_node(RedisStore(valkey.unix_url, bound_s=2.0))


@pytest.fixture
async def http() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as session:
        yield session


@pytest.fixture
async def connect(http: aiohttp.ClientSession) -> AsyncIterator[Connect]:
    """Opens raw connections; with a token they have said hello and been welcomed."""
    open_ones: list[RawClient] = []

    async def make(node: Server, token: str = "", *, text: bool = False, **more: Any) -> RawClient:
        socket = await http.ws_connect(
            node.url + "/v1/ws", protocols=("dustup.v1.json" if text else "dustup.v1.msgpack",), max_msg_size=4 * 1024 * 1024, **more
        )
        client = RawClient(socket, text=text)
        open_ones.append(client)
        if token:
            welcome = await client.hello(token)
            assert welcome["t"] == "welcome", welcome
        return client

    yield make
    for client in open_ones:
        await client.close()


@pytest.fixture
def make_table() -> MakeTable:
    """Makes a duel in the mill yard with the seats gm, ann and ben, its fight begun unless `encounter=""`."""

    async def make(node: Server, **setup: Any) -> str:
        seats = setup.pop("seats", (engine.setup.SeatSetup(id="gm", role="gm"),))
        fields = {"ruleset": "duel", "sample": "yard", "encounter": "mill", "seats": seats, **setup}
        actor = await node.registry.create(engine.Setup(**fields))
        return actor.id

    return make


@pytest.fixture
def seat(connect: Connect) -> Join:
    """A raw client that sits at a session: `await seat(node, session, "ann", **fields of join)`."""

    async def make(node: Server, session: str, seat: str, *, text: bool = False, **fields: Any) -> RawClient:
        held = (await node.registry.get(session)).session.seats.get(seat)
        person = held.person if held is not None and held.person else f"person-{seat}"
        token = await node.tokens.seat_token(session, seat, person, HOUR_MS)
        client = await connect(node, token, text=text)
        joined = await client.join(session, **fields)
        assert joined["t"] == "joined", joined
        return client

    return make
