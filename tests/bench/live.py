"""End to end: S sessions × 4 seats in closed loop over real sockets, Dustup beside an aiohttp echo with the same fan-out.

The server has one core, the load generator and the store share the other (where the machine has two). Every action is committed to a real
store before anyone is told. The duel goes on for ever (much HP): strike, end the turn, next seat.
"""

from __future__ import annotations

import asyncio
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from tests.bench.fastws import FastSocket, connect

encode = msgspec.msgpack.Encoder().encode
decode = msgspec.msgpack.Decoder().decode
SEATS = ("a", "b", "c", "d")


def setup() -> dict[str, Any]:
    """A duel that lasts: four fighters within arm's reach, with more HP than a benchmark can take away."""
    return {
        "ruleset": "duel",
        "seats": [{"id": seat} for seat in SEATS],
        "scenes": [{"id": "ring", "zones": [{"id": "z", "name": "the ring"}]}],
        "combatants": [
            {
                "id": f"f{seat}",
                "side": side,
                "scene": "ring",
                "zone": "z",
                "seat": seat,
                "fields": {"hp": 1000, "max_hp": 1000, "armor": 20, "weapon": "sling", "speed": 20 - n},
            }
            for n, (seat, side) in enumerate(zip(SEATS, ("x", "y", "x", "y"), strict=True))
        ],
        "encounter": "ring",
    }


class Driver:
    """One session: knows whose turn it is, keeps exactly one action in flight, and measures it."""

    def __init__(self, session: str) -> None:
        self.session = session
        self.sockets: list[FastSocket] = []
        self.turn = 0
        self.strike = True
        self.n = 0
        self.sent = 0.0
        self.latencies: list[float] = []
        self.over = False
        self.refused: list[str] = []

    def act(self) -> None:
        seat = self.turn % 4
        if self.strike:
            command: dict[str, Any] = {"type": "attack", "target": f"f{SEATS[(seat + 1) % 4]}"}
        else:
            command = {"type": "turn.end"}
        self.n += 1
        self.sent = time.perf_counter()
        self.sockets[seat].send(encode({"t": "do", "id": f"bench.{self.n}", "session": self.session, "command": command}))

    def acked(self, message: dict[str, Any]) -> None:
        self.latencies.append(time.perf_counter() - self.sent)
        if message["t"] == "error":
            self.refused.append(f"{message['code']}: {message['text']}")
        if self.strike:
            self.strike = False
        else:
            self.strike, self.turn = True, self.turn + 1
        if not self.over:
            self.act()


def split(count: int) -> tuple[set[int], set[int]]:
    """Cores for the server and for the rest."""
    cores = sorted(os.sched_getaffinity(0))
    return ({cores[0]}, set(cores[1:])) if len(cores) > 1 else (set(cores), set(cores))


class Process:
    """A child process pinned to a core, with its CPU time and memory."""

    def __init__(self, arguments: list[str], cores: set[int], env: dict[str, str] | None = None) -> None:
        self.child = subprocess.Popen(
            [sys.executable, *arguments],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **(env or {})},
            preexec_fn=lambda: os.sched_setaffinity(0, cores),
        )

    def line(self) -> str:
        assert self.child.stdout is not None
        return self.child.stdout.readline().strip()

    def cpu(self) -> float:
        fields = Path(f"/proc/{self.child.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def rss(self) -> int:
        for line in Path(f"/proc/{self.child.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS"):
                return int(line.split()[1]) * 1024
        return 0

    def stop(self) -> None:
        self.child.terminate()
        try:
            self.child.wait(15)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()


async def measure(drivers: list[Driver], process: Process, seconds: float) -> dict[str, Any]:
    """Run for a while after a short warm-up; actions per second, latency and the server's CPU per action."""
    for driver in drivers:
        driver.act()
    await asyncio.sleep(min(1.0, seconds / 3))
    for driver in drivers:
        driver.latencies.clear()
    started, cpu = time.perf_counter(), process.cpu()
    await asyncio.sleep(seconds)
    took, used = time.perf_counter() - started, process.cpu() - cpu
    for driver in drivers:
        driver.over = True
    times = sorted(latency for driver in drivers for latency in driver.latencies)
    refused = [one for driver in drivers for one in driver.refused]
    result: dict[str, Any] = {
        "sessions": len(drivers),
        "actions_per_s": round(len(times) / took),
        "p50_ms": round(times[len(times) // 2] * 1000, 2),
        "p99_ms": round(times[int(len(times) * 0.99)] * 1000, 2),
        "server_us_per_action": round(used / len(times) * 1e6, 1),
        "server_cpu": round(used / took, 2),
    }
    if refused:
        result["refused"] = len(refused)
        result["refusal"] = refused[0]
    await asyncio.sleep(0.3)
    for driver in drivers:
        for socket in driver.sockets:
            socket.close()
    return result


async def dustup(sessions: int, seconds: float, store: str, server_cores: set[int]) -> tuple[dict[str, Any], int]:
    """Dustup on `store`; also the mean bytes of a frame."""
    with tempfile.TemporaryDirectory(prefix="dustup-bench-") as folder:
        process = Process(["-m", "tests.bench.serve_bench", store, folder, str(sessions)], server_cores)
        try:
            port = int(process.line())
            ready = msgspec.json.decode(process.line())
            memory = {"rss_loaded": process.rss()}
            drivers = []
            for session, tokens in ready.items():
                driver = Driver(session)
                for seat in SEATS:
                    driver.sockets.append(await seat_socket(port, session, tokens[seat], driver))
                drivers.append(driver)
            memory["rss_connected"] = process.rss()
            result = await measure(drivers, process, seconds)
            memory["rss_after"] = process.rss()
            frames = sum(socket.received for driver in drivers for socket in driver.sockets)
            size = sum(socket.bytes_in for driver in drivers for socket in driver.sockets)
            return {**result, **memory}, size // max(frames, 1)
        finally:
            process.stop()


async def seat_socket(port: int, session: str, token: str, driver: Driver) -> FastSocket:
    """A seated connection that has said how it answers every prompt."""
    arrived: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    on: Callable[[FastSocket, bytes], None] = lambda _, payload: arrived.put_nowait(decode(payload))  # noqa: E731
    socket = await connect("127.0.0.1", port, "/v1/ws", lambda s, p: on(s, p))

    async def until(*kinds: str) -> dict[str, Any]:
        while True:
            message = await arrived.get()
            if message["t"] in kinds:
                return message

    socket.send(encode({"t": "hello", "token": token, "min": 1, "max": 1}))
    await until("welcome")
    socket.send(encode({"t": "join", "session": session}))
    await until("joined")
    for n, kind in enumerate(("parry", "reroll"), 1):
        socket.send(
            encode({"t": "do", "id": f"prefs.{n}", "session": session, "command": {"type": "seat.prefs", "kind": kind, "value": "never"}})
        )
        await until("ack")

    def playing(_: FastSocket, payload: bytes) -> None:
        # Only answers are decoded: frames are what the server is measured by, not what the generator reads.
        if payload[1:5] != b"\xa1t\xa5f":
            message = decode(payload)
            if message["t"] in ("ack", "error"):
                driver.acked(message)

    on = playing
    return socket


async def echo(sessions: int, seconds: float, frame_bytes: int, cores: set[int]) -> dict[str, Any]:
    """The yardstick: the same bytes to the same recipients."""
    import socket as sockets

    with sockets.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = Process(["-m", "tests.bench.echo", str(port), str(frame_bytes)], cores)
    try:
        process.line()
        drivers = []
        for number in range(sessions):
            driver = Driver(f"s{number}")

            def on(_: FastSocket, payload: bytes, driver: Driver = driver) -> None:
                if payload[1:5] != b"\xa1t\xa5f":
                    driver.acked(decode(payload))

            for _ in SEATS:
                driver.sockets.append(await connect("127.0.0.1", port, f"/group/{number}", on))
            drivers.append(driver)
        return await measure(drivers, process, seconds)
    finally:
        process.stop()


async def run(sizes: tuple[int, ...], seconds: float, store: str) -> list[dict[str, Any]]:
    """For each number of sessions: Dustup, then the echo with frames of the same size, one after the other."""
    server_cores, others = split(2)
    os.sched_setaffinity(0, others)
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    rows = []
    for sessions in sizes:
        ours, size = await dustup(sessions, seconds, store, server_cores)
        theirs = await echo(sessions, seconds, size, server_cores)
        rows.append(
            {
                "sessions": sessions,
                "frame_bytes": size,
                "dustup": ours,
                "echo": theirs,
                "ratio": round(ours["actions_per_s"] / theirs["actions_per_s"], 2),
            }
        )
    return rows
