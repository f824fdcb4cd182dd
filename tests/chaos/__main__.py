"""Break real servers and real Redis processes under load, for minutes, and check that no promise broke.

Every round is a fresh world with a seed of its own; the durability modes take turns. It ends after --minutes, or after --rounds. Figures go
to build/chaos/report.json. A round that failed keeps its folder (what clients saw, every server's log) and prints the line that repeats it.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import shutil
import sys
import time
from pathlib import Path

from tests.chaos.faults import FAULTS
from tests.chaos.plans import long_plan, short_plan
from tests.chaos.report import figures, repeat_line, table, write
from tests.chaos.run import MODES, Plan, Result, run

OUT = Path(__file__).parents[2] / "build" / "chaos"


def rounds(chosen: argparse.Namespace) -> int:
    results: list[Result] = []
    until = time.monotonic() + chosen.minutes * 60
    seed = chosen.seed if chosen.seed is not None else random.randrange(10**6)
    number = 0
    while (number < chosen.rounds) if chosen.rounds else (number == 0 or time.monotonic() < until):
        mode = chosen.mode or MODES[(seed + number) % len(MODES)]
        plan = (short_plan if chosen.short else long_plan)(seed + number, mode, chosen.faults)
        number += 1
        result = one_round(plan, short=chosen.short)
        results.append(result)
        write(OUT / "report.json", figures(results))
    print(table(figures(results)))
    return 1 if any(result.failures for result in results) else 0


def one_round(plan: Plan, *, short: bool) -> Result:
    folder = OUT / f"{plan.seed}-{plan.mode}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    print(f"--- seed {plan.seed}, {plan.mode}", flush=True)
    result = asyncio.run(run(plan, folder, lambda line: print(line, flush=True)))
    if result.failures:
        print(f"FAILED: {len(result.failures)} broken promises; all there is to see is in {folder.relative_to(OUT.parents[1])}")
        for failure in result.failures[:20]:
            print(f"  {failure}")
        print(f"Again: {repeat_line(plan, short=short)}", flush=True)
    else:
        shutil.rmtree(folder)
    return result


def main() -> int:
    parser = argparse.ArgumentParser(prog="make chaos", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=12, help="begin no new round after so long (%(default)s)")
    parser.add_argument("--rounds", type=int, default=0, help="run so many rounds instead")
    parser.add_argument("--seed", type=int, help="seed of the first round; the next ones count on")
    parser.add_argument("--mode", choices=MODES, help="one durability mode only")
    parser.add_argument("--short", action="store_true", help="rounds as short as the one in `make test`")
    parser.add_argument("--faults", default="", help=f"only these, in this order, comma-separated: {', '.join(FAULTS)}")
    return rounds(parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
