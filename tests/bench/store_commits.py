"""Commits per second on a real server, grouped and one by one. Prints JSON; asserts nothing.

    python -m tests.bench.store_commits [--program redis-server] [--seconds 2] [--url unix:///path]

`grouped` is the store as it is: each session has one commit in flight, the next round trip takes all that wait. `single` sends
one commit per round trip. `two_in_flight` splits the sessions over two connections. `memory_bytes` is what the server's memory
grows by per idle session (one entry, one snapshot of 2 KB) and per further entry of 300 bytes.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from server.store.base import Commit
from server.store.pipeline import GroupCommit
from server.store.redis import RedisStore
from tests.support.redis_server import RedisProcess, any_server

ENTRY = bytes(range(256)) + b"e" * 44
SNAPSHOT = b"s" * 2048
SNAPSHOT_EVERY = 50


async def opened(url: str, prefix: str, batch_limit: int | None = None) -> RedisStore:
    store = RedisStore(url, prefix=prefix)
    await store.start()
    if batch_limit is not None:
        pipeline: GroupCommit = store.pipeline
        pipeline._batch_limit = batch_limit
    return store


async def play(stores: list[RedisStore], sessions: int, seconds: float) -> dict[str, Any]:
    """Every session commits as fast as its answers come."""
    latencies: list[float] = []
    for i in range(sessions):
        first = Commit(f"s{i}", 0, "", 1, f"{1:016x}", ENTRY, snapshot=SNAPSHOT)
        await stores[i % len(stores)].create(first, seed=b"seed")
    end = time.perf_counter() + seconds

    async def session(i: int) -> None:
        store, v = stores[i % len(stores)], 1
        while (start := time.perf_counter()) < end:
            snapshot = SNAPSHOT if v % SNAPSHOT_EVERY == 0 else None
            commit = Commit(f"s{i}", v, f"{v:016x}", v + 1, f"{v + 1:016x}", ENTRY, "ann/c1", v, snapshot)
            answer = await store.commit(commit)
            if answer.status != "ok":
                raise RuntimeError(f"{answer} for {commit.session} {commit.v}")
            latencies.append(time.perf_counter() - start)
            v += 1

    before = sum(store.pipeline.round_trips for store in stores)
    start, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*(session(i) for i in range(sessions)))
    took, cpu = time.perf_counter() - start, time.process_time() - cpu
    trips = sum(store.pipeline.round_trips for store in stores) - before
    cuts = statistics.quantiles(latencies, n=100)
    return {
        "commits_per_s": round(len(latencies) / took),
        "commits_per_round_trip": round(len(latencies) / trips, 1),
        "client_cpu_us_per_commit": round(1e6 * cpu / len(latencies), 1),
        "p50_ms": round(1000 * cuts[49], 2),
        "p99_ms": round(1000 * cuts[98], 2),
    }


async def memory(store: RedisStore, sessions: int = 500, entries: int = 100) -> dict[str, float]:
    async def used() -> int:
        return int((await store._redis.info("memory"))["used_memory"])

    before = await used()
    for i in range(sessions):
        await store.create(Commit(f"m{i}", 0, "", 1, f"{1:016x}", ENTRY, snapshot=SNAPSHOT), seed=b"s" * 64)
    created = await used()
    for v in range(1, entries + 1):
        steps = (Commit(f"m{i}", v, f"{v:016x}", v + 1, f"{v + 1:016x}", ENTRY, "ann/c1", v) for i in range(sessions))
        await asyncio.gather(*(store.commit(step) for step in steps))
    return {
        "per_idle_session": round((created - before) / sessions),
        "per_entry": round((await used() - created) / sessions / entries),
    }


async def measure(url: str, seconds: float) -> dict[str, Any]:
    result: dict[str, Any] = {"entry_bytes": len(ENTRY), "snapshot_bytes": len(SNAPSHOT), "snapshot_every": SNAPSHOT_EVERY}
    for name, connections, limit in (("grouped", 1, None), ("two_in_flight", 2, None), ("single", 1, 1)):
        result[name] = {}
        for sessions in (1, 50, 250):
            stores = [await opened(url, f"{name}{sessions}", limit) for _ in range(connections)]
            result[name][f"{sessions}_sessions"] = await play(stores, sessions, seconds)
            for store in stores:
                await store.close()
    store = await opened(url, "memory")
    result["memory_bytes"] = await memory(store)
    await store.close()
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure commits per second, grouped and one by one.")
    parser.add_argument("--program", type=Path, default=None, help="server program (default: Valkey from its wheel)")
    parser.add_argument("--url", default=None, help="measure a running server instead of starting one (its data is not removed)")
    parser.add_argument("--seconds", type=float, default=2.0, help="how long each case runs")
    options = parser.parse_args()
    if options.url:
        print(json.dumps(asyncio.run(measure(options.url, options.seconds)), indent=2))
        return
    program = options.program or any_server()
    settings = {"stream-node-max-bytes": "1024"}
    with tempfile.TemporaryDirectory() as folder, RedisProcess(Path(folder), program=program, settings=settings) as server:
        result = {"server": program.name, **asyncio.run(measure(server.unix_url, options.seconds))}
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
