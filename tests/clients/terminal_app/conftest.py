"""A real server in this process with a duel at the mill, and its seats' tokens."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest

import dustup
import engine
from engine import Setup
from engine.rulesets.duel import RULES
from server.app import Server
from server.config import load

engine.register(RULES)

HOUR_MS = 3_600_000


@dataclass
class Host:
    """A server with one table. `fight` says whether its encounter has begun."""

    server: Server
    session: str

    @property
    def url(self) -> str:
        return self.server.url

    async def token(self, seat: str) -> str:
        return await self.server.tokens.seat_token(self.session, seat, seat, HOUR_MS)

    async def join(self, seat: str) -> dustup.Table:
        """Somebody else's client at this table. Close `table.client` afterwards."""
        client = await dustup.connect(self.url, await self.token(seat))
        return await client.join(self.session)


async def _host(encounter: str) -> AsyncIterator[Host]:
    limits = {f"limits.{kind}_rate": 0 for kind in ("seat", "session", "address")}
    server = Server(load(env={}, overrides={"port": 0, "store": "memory", **limits}))
    await server.start()
    actor = await server.registry.create(Setup(ruleset="duel", sample="yard", encounter=encounter))
    yield Host(server, actor.id)
    await server.stop()


@pytest.fixture
async def host() -> AsyncIterator[Host]:
    """A fight at the mill: it is Reed's turn, who is Ann's."""
    async for each in _host("mill"):
        yield each


@pytest.fixture
async def quiet_host() -> AsyncIterator[Host]:
    """The mill before any fight."""
    async for each in _host(""):
        yield each
