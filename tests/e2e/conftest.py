"""A server and a browser for tests that look at what a person would see."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

import engine
from engine.rulesets.duel import RULES
from server.app import Server
from server.config import load
from tests.e2e import browser

engine.register(RULES)


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    server = Server(load(env={}, overrides={"port": 0, "store": "memory", "limits.seat_rate": 0, "limits.session_rate": 0}))
    await server.start()
    yield server
    await server.stop()


@pytest.fixture
async def http(server: Server) -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(server.url) as session:
        yield session


@pytest.fixture
async def page(tmp_path: Path) -> AsyncIterator[browser.Page]:
    if browser.find() is None:
        pytest.skip("there is no Chromium here to look at the page with")
    async with browser.opened(tmp_path / "profile") as page:
        yield page
