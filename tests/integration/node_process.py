"""A server in a process of its own, to be killed: `python node_process.py STORE_URL PORT`. Prints its address when it listens."""

from __future__ import annotations

import asyncio
import os
import sys

import engine
from engine.rulesets.duel import RULES
from server.app import Server
from server.config import load

engine.register(RULES)


async def main(store: str, port: str) -> None:
    settings = {"port": int(port), "store": store, "limits.seat_rate": 0, "limits.session_rate": 0, "limits.address_rate": 0}
    server = Server(load(env={"DUSTUP_SECRET": os.environ["DUSTUP_SECRET"]}, overrides=settings))

    async def ready(server: Server) -> None:
        print(server.url, flush=True)

    await server.run(ready)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
