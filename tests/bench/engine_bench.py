"""The engine alone: microseconds per apply, options, frames, encoding and loading, on a real fight."""

from __future__ import annotations

import random
import statistics
import time
from typing import Any

import engine
from engine import Act, Renderer, SeededDice, Session, Setup
from protocol.codec import MSGPACK
from protocol.messages import Frame
from tests.support import junk
from tests.support.table import EPOCH, MASTER, Table


def fight(ruleset: str, sample: str, seed: int, most: int = 600) -> tuple[Any, list[tuple[Session, Any, int]], list[bytes]]:
    """A fight by random legal options: (rules, [(session, act, now)], entries encoded)."""
    setup = Setup(ruleset=ruleset, sample=sample)
    table = Table(ruleset, setup, watched=False)
    chance = random.Random(seed)
    steps: list[tuple[Session, Any, int]] = []

    def send(by: str, raw: dict[str, Any]) -> bool:
        before, now = table.session, table.now_ms
        if not junk.attempt(table, by, raw):
            return False
        act = Act(by=by, command=table.rules.decode(raw), id=table.last.id, stamp=table.last.stamp)
        steps.append((before, act, now))
        return True

    send("gm", {"type": "gm.encounter", "scene": next(iter(table.session.scenes))})
    for _ in range(most):
        chosen = junk.open_answer(table, chance) or junk.open_option(table, chance, group="turn")
        if chosen is None or not table.session.encounters:
            break
        send(*chosen)
    return table.rules, steps, [engine.encode_entry(entry) for entry in table.entries]


def samples(names: list[str] | None) -> list[tuple[str, str]]:
    """(ruleset, its first ready table) for the rulesets named, or for all that have one."""
    found = []
    for name in names or engine.names():
        ready = engine.ruleset(name).samples
        if ready:
            found.append((name, next(iter(ready))))
    return found


def timed(work: Any, items: list[Any]) -> dict[str, float]:
    """Median and 95th percentile in µs, over single calls, of the better of three rounds."""
    best: list[float] = []
    for _ in range(3):
        times = []
        for item in items:
            started = time.perf_counter_ns()
            work(item)
            times.append((time.perf_counter_ns() - started) / 1000)
        if not best or statistics.median(times) < statistics.median(best):
            best = times
    best.sort()
    return {"p50": round(best[len(best) // 2], 2), "p95": round(best[int(len(best) * 0.95)], 2), "calls": len(best)}


def run(ruleset: str = "duel", sample: str = "yard") -> dict[str, Any]:
    rules, steps, entries = fight(ruleset, sample, 1)
    dice = SeededDice(MASTER, EPOCH)
    applied = [(before, *engine.apply(rules, before, act, now_ms=now, dice=dice)) for before, act, now in steps]

    def frames(one: Any) -> None:
        before, after, entry = one
        renderer = Renderer(rules, before, after, entry, lambda _: None)
        seen = set()
        for seat in after.seats:
            key, parts = renderer.frame(engine.sight_of(after, seat))
            if key not in seen:
                seen.add(key)
                frame = Frame("s", entry.v, entry.stamp, at=entry.at, by=entry.by, events=parts.get("events"), views=parts.get("views"))
                MSGPACK.encode(frame)

    decoded = [engine.decode_entry(data) for data in entries]
    last = applied[-1][1]
    snapshot = engine.encode_snapshot(last)
    started = time.perf_counter()
    replayed = engine.replay(rules, [engine.decode_entry(data) for data in entries], epoch=EPOCH)
    hydrate = (time.perf_counter() - started) * 1000
    assert replayed == last
    return {
        "ruleset": ruleset,
        "apply_us": timed(lambda one: engine.apply(rules, one[0], one[1], now_ms=one[2], dice=dice), steps),
        "options_us": timed(lambda one: rules.options(one[1], next(iter(one[1].seats))), applied),
        "frames_all_seats_us": timed(frames, applied),
        "encode_entry_us": timed(lambda one: engine.encode_entry(one[2]), applied),
        "decode_entry_us": timed(engine.decode_entry, entries),
        "evolve_us": timed(
            lambda pair: engine.evolve(rules, pair[0], pair[1]), list(zip([one[0] for one in applied], decoded[1:], strict=True))
        ),
        "hydrate_ms_per_1000_entries": round(hydrate / len(entries) * 1000, 2),
        "bytes_per_entry": round(sum(map(len, entries)) / len(entries)),
        "snapshot_bytes": len(snapshot),
    }
