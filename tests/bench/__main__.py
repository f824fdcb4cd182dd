"""`make bench`: the engine, the wire, the store, and end to end beside an echo, in one run. Prints a table and writes JSON.

    python -m tests.bench [--quick] [--sessions 1,50,250] [--seconds 5] [--store embedded] [--only engine,wire,live] [--out FILE]

Ratios within one run are what counts: the machine it runs on is noisy, its absolute figures are its own.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import platform
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console
from rich.table import Table

from protocol import messages as m
from protocol.codec import JSON, MSGPACK
from tests.bench import engine_bench, live, memory

PARTS = ("engine", "wire", "store", "live", "memory")


def wire() -> dict[str, Any]:
    """Microseconds to decode an action with all checks and to encode a frame and an ack, in both subprotocols."""
    command = {"type": "attack", "target": "c3", "bold": True, "combatant": "c1"}
    action = {"t": "do", "id": "bench.17", "session": "abcdefghijklmnop", "command": command, "at": 41}
    frames = {MSGPACK.subprotocol: msgspec.msgpack.encode(action), JSON.subprotocol: json.dumps(action, separators=(",", ":"))}
    view = {"combatants": {"c3": {"id": "c3", "name": "Tollman", "hp": 7, "max_hp": 12, "zone": "yard", "scene": "mill", "near": ["c1"]}}}
    events = [{"type": "duel.hit", "text": "Reed hits Tollman in the arm for 4.", "by": "c1", "target": "c3", "damage": 4}]
    frame = m.Frame("abcdefghijklmnop", 42, "0123456789abcdef", at=1_700_000_000_000, by="ann", events=events, views=view)
    ack = m.Ack("bench.17", "abcdefghijklmnop", 42, "os")
    return {
        codec.subprotocol: {
            "decode_action_us": engine_bench.timed(codec.decode_client, [frames[codec.subprotocol]] * 2000),
            "encode_frame_us": engine_bench.timed(codec.encode, [frame] * 2000),
            "encode_ack_us": engine_bench.timed(codec.encode, [ack] * 2000),
        }
        for codec in (MSGPACK, JSON)
    }


def store(seconds: float) -> dict[str, Any]:
    """Commits per second, grouped and one by one (tests.bench.store_commits)."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.bench.store_commits", "--seconds", str(seconds)], capture_output=True, text=True, check=True
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def show(results: dict[str, Any]) -> None:
    console = Console(width=120)
    if "engine" in results:
        table = Table(title="Engine (µs, median and 95th percentile)", title_justify="left")
        for column in (
            "ruleset",
            "apply",
            "options",
            "frames for all seats",
            "encode entry",
            "evolve",
            "hydrate 1,000 (ms)",
            "bytes per entry",
        ):
            table.add_column(column, justify="right" if column != "ruleset" else "left")
        for row in results["engine"]:
            cells = [
                f"{row[name]['p50']} / {row[name]['p95']}"
                for name in ("apply_us", "options_us", "frames_all_seats_us", "encode_entry_us", "evolve_us")
            ]
            table.add_row(row["ruleset"], *cells, str(row["hydrate_ms_per_1000_entries"]), str(row["bytes_per_entry"]))
        console.print(table)
    if "live" in results:
        table = Table(title="End to end, durable before told, beside an echo with the same fan-out", title_justify="left")
        for column in ("sessions", "actions/s", "p50 ms", "p99 ms", "server µs", "echo actions/s", "echo p99 ms", "echo µs", "ratio"):
            table.add_column(column, justify="right")
        for row in results["live"]:
            ours, echo = row["dustup"], row["echo"]
            mine = (row["sessions"], ours["actions_per_s"], ours["p50_ms"], ours["p99_ms"], ours["server_us_per_action"])
            theirs = (echo["actions_per_s"], echo["p99_ms"], echo["server_us_per_action"], row["ratio"])
            table.add_row(*map(str, (*mine, *theirs)))
        console.print(table)
    for name in ("wire", "store", "memory"):
        if name in results:
            console.print(f"[bold]{name}[/bold]")
            console.print_json(json.dumps(results[name]))


def main() -> None:
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="short rounds, 1 and 50 sessions")
    parser.add_argument("--sessions", default="", help="numbers of sessions, comma-separated (default 1,50,250)")
    parser.add_argument("--seconds", type=float, default=0, help="seconds per measurement (default 5)")
    parser.add_argument("--store", default="embedded", help="embedded, memory, or a Redis URL")
    parser.add_argument("--only", default=",".join(PARTS), help="which parts to run")
    parser.add_argument("--rulesets", default="", help="rulesets for the engine part (default: every one with a sample)")
    parser.add_argument("--out", type=Path, default=Path("build/bench.json"), help="where to write the figures")
    chosen = parser.parse_args()
    parts = [part for part in PARTS if part in chosen.only.split(",")]
    sizes = tuple(int(size) for size in (chosen.sessions or ("1,50" if chosen.quick else "1,50,250")).split(","))
    seconds = chosen.seconds or (2.0 if chosen.quick else 5.0)
    results: dict[str, Any] = {"python": platform.python_version(), "machine": platform.machine(), "at": int(time.time())}
    for part in parts:
        print(f"==> {part}", file=sys.stderr, flush=True)
        if part == "engine":
            names = chosen.rulesets.split(",") if chosen.rulesets else None
            results["engine"] = [engine_bench.run(name, sample) for name, sample in engine_bench.samples(names)]
        elif part == "wire":
            results["wire"] = wire()
        elif part == "store":
            results["store"] = store(min(seconds, 3.0))
        elif part == "live":
            results["live"] = asyncio.run(live.run(sizes, seconds, chosen.store))
        else:
            results["memory"] = memory.run(chosen.store)
    chosen.out.parent.mkdir(parents=True, exist_ok=True)
    chosen.out.write_text(json.dumps(results, indent=1))
    show(results)
    print(f"written to {chosen.out}", file=sys.stderr)


if __name__ == "__main__":
    main()
