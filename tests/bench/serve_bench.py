"""A Dustup server for the benchmarks: no limits, N duels made, and their seats' tokens printed.

python -m tests.bench.serve_bench STORE FOLDER SESSIONS
"""

from __future__ import annotations

import asyncio
import json
import sys

import msgspec

from engine import Setup
from server.app import Server
from server.config import load
from tests.bench.live import SEATS, setup


async def main(store: str, folder: str, sessions: int) -> None:
    rates = {f"limits.{name}": 0 for name in ("seat_rate", "session_rate", "address_rate", "address_connections", "tries_per_minute")}
    server = Server(load(env={}, overrides={"port": 0, "store": store, "data_dir": folder, "log.level": "error", **rates}))

    async def ready(server: Server) -> None:
        print(server.url.rsplit(":", 1)[1], flush=True)
        made = {}
        for _ in range(sessions):
            actor = await server.registry.create(msgspec.convert(setup(), Setup))
            made[actor.id] = {seat: await server.tokens.seat_token(actor.id, seat, seat, 3_600_000) for seat in SEATS}
        print(json.dumps(made), flush=True)

    await server.run(ready)


if __name__ == "__main__":
    arguments = (sys.argv[1], sys.argv[2], int(sys.argv[3]))
    try:
        import uvloop
    except ImportError:
        asyncio.run(main(*arguments))
    else:
        uvloop.run(main(*arguments))
