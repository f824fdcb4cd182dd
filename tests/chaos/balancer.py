"""One address in front of all nodes, for clients that know only one: a load balancer that asks nobody whether they live."""

from __future__ import annotations

import itertools
from urllib.parse import urlsplit

from tests.chaos.proxy import Address, Proxy


class Balancer:
    """Sends each connection to the next node in turn; a dead one refuses, and the client tries again."""

    def __init__(self, urls: list[str]) -> None:
        self._next = itertools.cycle(urls)
        self._proxy = Proxy(self._target)

    @property
    def url(self) -> str:
        return f"http://{self._proxy.address[0]}:{self._proxy.address[1]}"

    async def __aenter__(self) -> Balancer:
        await self._proxy.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._proxy.stop()

    def _target(self) -> Address:
        parts = urlsplit(next(self._next))
        return str(parts.hostname), int(parts.port or 0)
