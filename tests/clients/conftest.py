"""A fake server for each test that wants one."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.clients.fake_server import FakeServer, running


@pytest.fixture
async def server() -> AsyncIterator[FakeServer]:
    async with running() as fake:
        yield fake
