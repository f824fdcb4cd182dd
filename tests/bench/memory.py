"""How much a session, a connection and an entry cost: the server's memory with and without them."""

from __future__ import annotations

import asyncio
import tempfile
from typing import Any

import msgspec

from tests.bench.live import SEATS, Driver, Process, seat_socket, split

SESSIONS = 200


def run(store: str) -> dict[str, Any]:
    """Bytes of server memory per live session and per seated connection, averaged over many."""
    return asyncio.run(_run(store))


async def _run(store: str) -> dict[str, Any]:
    cores, _ = split(2)
    sizes: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="dustup-bench-") as folder:
        few = Process(["-m", "tests.bench.serve_bench", store, folder, "1"], cores)
        try:
            few.line(), few.line()
            sizes["empty_server"] = few.rss()
        finally:
            few.stop()
    with tempfile.TemporaryDirectory(prefix="dustup-bench-") as folder:
        many = Process(["-m", "tests.bench.serve_bench", store, folder, str(SESSIONS)], cores)
        try:
            port = int(many.line())
            ready = msgspec.json.decode(many.line())
            loaded = many.rss()
            sockets = []
            for session, tokens in ready.items():
                driver = Driver(session)
                sockets += [await seat_socket(port, session, tokens[seat], driver) for seat in SEATS]
            connected = many.rss()
            for socket in sockets:
                socket.close()
        finally:
            many.stop()
    sizes["per_live_session"] = (loaded - sizes["empty_server"]) // SESSIONS
    sizes["per_connection"] = (connected - loaded) // (SESSIONS * len(SEATS))
    return sizes
