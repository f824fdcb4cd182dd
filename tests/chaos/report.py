"""What runs came to: a table for people, the same as JSON for programs, and for a failed run the line that repeats it."""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from tests.chaos.run import Plan, Result


def repeat_line(plan: Plan, *, short: bool) -> str:
    """The command that runs the same plan again. Time is not repeated: the same faults hit other moments."""
    return f'make chaos ARGS="--seed {plan.seed} --mode {plan.mode}{" --short" if short else ""} --rounds 1"'


def figures(results: Sequence[Result]) -> dict[str, Any]:
    """Actions, faults by kind, lost, doubled and recovery times, by durability mode."""
    told: dict[str, Any] = {}
    by_mode: dict[str, list[Result]] = defaultdict(list)
    for result in results:
        by_mode[result.plan.mode].append(result)
    for mode, those in sorted(by_mode.items()):
        faults = [fault for result in those for fault in result.faults]
        wrong = Counter(one.kind for result in those for one in result.verdict.wrong)
        kinds: dict[str, Any] = {}
        for name in sorted({fault.fault for fault in faults}):
            kind = [fault for fault in faults if fault.fault == name and fault.recovered_s is not None]
            kinds[name] = {
                "count": sum(fault.fault == name for fault in faults),
                "recovered_s": _spread([fault.recovered_s for fault in kind]),
                "all_tables_s": _spread([fault.all_s for fault in kind]),
                "silence_s": _spread([fault.silence_s for fault in kind]),
            }
        excused: Counter[str] = Counter()
        labels: Counter[str] = Counter()
        for result in those:
            excused.update(result.verdict.excused)
            labels.update(result.verdict.durability)
        told[mode] = {
            "runs": len(those),
            "failed_runs": sum(bool(result.failures) for result in those),
            **{name: sum(getattr(result.verdict, name) for result in those) for name in COUNTS},
            "lost": wrong["lost"],
            "doubled": wrong["doubled"],
            "other_wrong": sum(wrong.values()) - wrong["lost"] - wrong["doubled"],
            "acks": dict(labels),
            "lost_with_a_primary_and_not_promised": dict(excused),
            "faults": kinds,
        }
    return told


COUNTS = ("sent", "acked", "again", "refused", "unsure", "entries", "rolls", "epochs", "exposed")


def _spread(values: Sequence[float | None]) -> dict[str, float]:
    known = [value for value in values if value is not None]
    return {"median": round(statistics.median(known), 2), "worst": round(max(known), 2)} if known else {}


def table(told: dict[str, Any]) -> str:
    """The figures as text."""
    lines: list[str] = []
    for mode, one in told.items():
        lines += [
            f"{mode}: {one['runs']} runs, {one['failed_runs']} failed",
            f"  actions   {one['sent']:,} sent, {one['acked']:,} acknowledged, {one['again']:,} of them again, {one['refused']:,} refused, "
            f"{one['unsure']:,} given up",
            f"  logs      {one['entries']:,} entries, {one['rolls']:,} rolls ({one['exposed']} with old dice on a log that had "
            f"lost entries, before that was noticed), {one['epochs']:,} epochs",
            f"  LOST      {one['lost']}   DOUBLED {one['doubled']}   other broken promises {one['other_wrong']}",
            f"  acks      {_counts(one['acks'])}",
            f"  lost with a primary, never promised: {_counts(one['lost_with_a_primary_and_not_promised']) or 'none'}",
            f"  {'fault (s, median / worst)':24} {'count':>5}  {'first ack after':>16}  {'every table after':>17}  {'longest silence':>16}",
        ]
        for name, fault in one["faults"].items():
            cells = [
                f"{part['median']:.2f} / {part['worst']:.2f}" if part else "-"
                for part in (fault["recovered_s"], fault["all_tables_s"], fault["silence_s"])
            ]
            lines.append(f"  {name:24} {fault['count']:>5}  {cells[0]:>16}  {cells[1]:>17}  {cells[2]:>16}")
    return "\n".join(lines)


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in counts.items())


def write(path: Path, told: dict[str, Any]) -> None:
    """Keep the figures as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(msgspec.json.format(msgspec.json.encode(told), indent=2))
