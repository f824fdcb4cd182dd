"""`dustup demo`: a whole fight between pilots over a real socket, told as it happens, and every die of it checked."""

from __future__ import annotations

import random
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final, Literal

import click

from server.commands._screen import JsonLines, Transcript

SPEEDS: Final = {"instant": 0.0, "brisk": 0.15, "reading": 1.0}

EPILOG: Final = """\b
Examples:
  dustup demo                       a duel at reading pace on a terminal
  dustup demo --speed instant       as fast as it goes
  dustup demo --seed 7              the same fight every time
  dustup demo --ruleset wasteland   another ruleset
  dustup demo --json > fight.jsonl  one JSON line per entry

\b
Exit codes: 0 the fight was played and every die is as it should be,
1 something differs (the last line says what), 2 it could not be played.
"""


@click.command("demo", epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--ruleset", metavar="NAME", default="", help="Any installed ruleset. [the smallest]")
@click.option("--sample", metavar="NAME", default="", help="One of the ruleset's ready tables. [the first]")
@click.option("--variant", metavar="NAME", default="", help="A variant of the ruleset.")
@click.option("--seed", metavar="N", type=click.IntRange(0, 2**53 - 1), default=None, help="Play the same fight as every time with this N.")
@click.option("--speed", type=click.Choice(list(SPEEDS)), default=None, help="How fast the pilots act. [brisk on a terminal, else instant]")
@click.option("--think", metavar="SECONDS", type=click.FloatRange(0, 60), default=None, help="How long a pilot thinks; instead of --speed.")
@click.option("--store", type=click.Choice(["memory", "embedded"]), default="memory", show_default=True, help="Where the table is kept.")
@click.option("--json", "as_json", is_flag=True, help="JSON lines instead of a transcript.")
def demo(
    ruleset: str,
    sample: str,
    variant: str,
    seed: int | None,
    speed: str | None,
    think: float | None,
    store: Literal["memory", "embedded"],
    as_json: bool,
) -> int:
    """Watch pilots play a whole fight, and check every die of it.

    Starts a server of its own on a free port and leaves nothing behind. The pilots play over the socket like any other client.
    """
    from server.commands._common import run_async

    if speed is not None and think is not None:
        raise click.UsageError("--speed and --think say the same thing: give one of the two.")
    terminal = sys.stdout.isatty() and not as_json
    pause = think if think is not None else SPEEDS[speed or ("brisk" if terminal else "instant")]
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="dustup-demo-")))
        return run_async(_demo(ruleset, sample, variant, seed, pause, store, folder, as_json, terminal))


async def _demo(
    ruleset: str,
    sample: str,
    variant: str,
    seed: int | None,
    think: float,
    store: str,
    folder: Path,
    as_json: bool,
    colour: bool,
) -> int:
    from server.app import Server
    from server.commands import _table
    from server.commands._common import know_rulesets, quiet_logs
    from server.config import load

    quiet_logs()
    ruleset = ruleset or _table.DEFAULT_RULESET
    know_rulesets(ruleset)
    rules, sample = _table.pick(ruleset, sample)
    no_limits = {f"limits.{name}": 0 for name in ("seat_rate", "session_rate", "address_rate", "address_connections")}
    # Nobody's own settings: a demo that needs them would not be one.
    overrides: dict[str, Any] = {"host": "127.0.0.1", "port": 0, "store": store, "data_dir": str(folder), "ring": 4096, **no_limits}
    server = Server(load(env={}, overrides=overrides))
    await server.start()
    try:
        screen = JsonLines(sys.stdout) if as_json else Transcript(sys.stdout, colour=colour)
        if isinstance(screen, Transcript):
            screen.line(f"{rules.title or rules.name}: {_table.samples(rules)[sample]}", "bold")
            screen.line(f"A server listens on {server.url}; a pilot takes every seat over its socket.", "dim")
        session_id = await _table.make_table(server, _table.with_watcher(rules.name, sample, variant, "Demo"), seed)
        pilots_seed = seed if seed is not None else random.SystemRandom().getrandbits(32)
        fight = await _table.play_fight(server, session_id, seed=pilots_seed, think=think, tell=screen.frame)
        verdict = await _table.verify_fight(server, fight)
        if isinstance(screen, JsonLines):
            screen.object({"verified": verdict.ok, "text": verdict.line, **verdict.counts})
        else:
            screen.line()
            screen.verdict(verdict.ok, verdict.line)
        return 0 if verdict.ok else 1
    finally:
        await server.stop()
