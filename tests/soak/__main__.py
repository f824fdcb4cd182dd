"""`make soak`: the same promises as the tests, held over large counts. Stops and goes on: finished batches are kept in build/soak.json.

    python -m tests.soak [--only fights,machine,store] [--fresh] [--fights 5000] [--minutes 55]

fights   whole fights by random legal options, each step checked (views from frames, refusals, options), then replayed and audited
machine  the hypothesis machines of tests/conformance with 2,000 examples each
store    the store's kill and fault tests, over and over
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

STATE = Path("build/soak.json")
BATCH = 50
MACHINES = "tests/conformance/test_random_play.py"
FAULTS = "tests/store/test_faults.py"
FAULT_ROUNDS = 10


class State:
    """What is done already, by batch name, with its figures."""

    def __init__(self, fresh: bool) -> None:
        self.done: dict[str, dict[str, Any]] = {}
        if not fresh and STATE.exists():
            self.done = json.loads(STATE.read_text())

    def finish(self, name: str, figures: dict[str, Any]) -> None:
        self.done[name] = figures
        STATE.parent.mkdir(parents=True, exist_ok=True)
        fresh = STATE.with_suffix(".new")
        fresh.write_text(json.dumps(self.done, indent=1))
        fresh.replace(STATE)


def fights(ruleset: str, first: int, count: int) -> dict[str, Any]:
    """Fights number `first` to `first + count - 1` of a ruleset; raises AssertionError with the seed of one that breaks a promise."""
    from tests.support import junk
    from tests.support.table import Table

    steps = finished = 0
    for number in range(first, first + count):
        rnd = random.Random(f"{ruleset} {number}")
        table = Table(ruleset, watched=number % 10 == 0)  # rebuilding every view is ten times the work, so every tenth fight does
        try:
            steps += junk.play_pilots(table, rnd)
            finished += not table.session.encounters
            assert table.replayed() == table.session, "the log replays to another session"
            report = table.audit()
            assert report.verdict != "differs", report
        except BaseException as problem:
            raise AssertionError(f"fight {number} of {ruleset}: {problem}") from problem
    return {"fights": count, "steps": steps, "ended": finished}


def run_pytest(*arguments: str, profile: str) -> dict[str, Any]:
    """Run pytest; raises AssertionError with the end of its output when it fails."""
    environment = {**os.environ, "HYPOTHESIS_PROFILE": profile}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "timeout=3000", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode:
        raise AssertionError(done.stdout[-4000:] + done.stderr[-1000:])
    return {"result": done.stdout.strip().splitlines()[-1]}


def batches(only: list[str], fight_count: int) -> Iterator[tuple[str, Callable[[], dict[str, Any]]]]:
    """Every batch by name, in order."""
    from tests.support.table import RULESETS

    if "fights" in only:
        for ruleset in RULESETS:
            for first in range(0, fight_count, BATCH):
                yield f"fights {ruleset} {first}", partial(fights, ruleset, first, min(BATCH, fight_count - first))
    if "machine" in only:
        found = subprocess.run(
            [sys.executable, "-m", "pytest", "--collect-only", "-q", MACHINES], capture_output=True, text=True, check=True
        )
        for node in found.stdout.splitlines():
            if "::" in node:
                yield f"machine {node}", partial(run_pytest, node, profile="soak")
    if "store" in only:
        for number in range(FAULT_ROUNDS):
            yield f"store {number}", partial(run_pytest, FAULTS, profile="ci")


def main() -> int:
    parser = argparse.ArgumentParser(prog="make soak", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="fights,machine,store", help="stages, comma-separated")
    parser.add_argument("--fresh", action="store_true", help="forget what an earlier run finished")
    parser.add_argument("--fights", type=int, default=5000, help="fights per ruleset")
    parser.add_argument("--minutes", type=float, default=55, help="stop after this long; run again to go on")
    chosen = parser.parse_args()
    state = State(chosen.fresh)
    work = list(batches(chosen.only.split(","), chosen.fights))
    until = time.monotonic() + chosen.minutes * 60
    failed: list[str] = []
    columns = (TextColumn("{task.description}", justify="left"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns) as progress:
        task = progress.add_task("soak", total=len(work), completed=sum(name in state.done for name, _ in work))
        for name, run in work:
            if name in state.done:
                continue
            if time.monotonic() > until:
                progress.console.print("Time is up; run `make soak` again to go on.")
                break
            progress.update(task, description=name)
            try:
                state.finish(name, run())
            except AssertionError as problem:
                failed.append(name)
                progress.console.print(f"[red]FAILED[/red] {name}\n{problem}", markup=True)
            progress.advance(task)
    summary(state, work)
    return 1 if failed else 0


def summary(state: State, work: list[tuple[str, Any]]) -> None:
    """What was counted in all, by stage and ruleset."""
    totals: dict[str, dict[str, int]] = {}
    for name, figures in state.done.items():
        stage = " ".join(name.split()[:2]) if name.startswith("fights") else name.split()[0]
        total = totals.setdefault(stage, {"batches": 0})
        total["batches"] += 1
        for key, value in figures.items():
            if isinstance(value, int):
                total[key] = total.get(key, 0) + value
    for stage, total in sorted(totals.items()):
        print(f"{stage}: " + ", ".join(f"{value:,} {key}" for key, value in total.items()))
    print(f"{sum(name in state.done for name, _ in work)} of {len(work)} batches done; figures in {STATE}")


if __name__ == "__main__":
    sys.exit(main())
