"""Positions of fights to try things in: every step of an eager fight, with tests proposed, framed and joined in between."""

from __future__ import annotations

import random
from collections.abc import Iterator

import engine
from tests.support import junk
from tests.support.table import Table


def positions(ruleset: str, seed: int, steps: int, *, watched: bool = False) -> Iterator[tuple[Table, random.Random]]:
    """The table before each step of a fight, and what chooses the steps. Nothing that a caller only tries changes how it goes on."""
    table, rnd = Table(ruleset, watched=watched), random.Random(f"{ruleset} {seed}")
    for _ in range(steps):
        if not table.session.encounters:
            return
        yield table, random.Random(rnd.random())
        if rnd.random() < 0.2 and len(table.session.tests) < 3:
            _attempt_a_test(table, rnd)
        chosen = junk.open_answer(table, rnd) or junk.open_option(table, rnd, group="turn", eager=True)
        assert chosen is not None, "an encounter runs and nobody can do anything"
        table.send(*chosen)


def _attempt_a_test(table: Table, rnd: random.Random) -> None:
    """A player proposes a test, and the GM says what proposed ones take."""
    ids = junk.Ids(table)
    who = rnd.choice(ids.by_kind["combatants"])
    junk.attempt(table, table.holder(who), {"type": "test.propose", "combatant": who})
    for command in junk.commands_of(table, gm=True):
        if str(command.__struct_config__.tag).startswith("test."):
            for _ in range(3):
                junk.attempt(table, "gm", junk.from_form(command, rnd, junk.Ids(table)))


def outcome(table: Table, seat: str, raw: dict[str, object]) -> engine.Entry | engine.Rejected:
    """What a command would come to now, an entry or a refusal; the table stays as it is. Raises AssertionError when the rules fail."""
    try:
        act = table.act_at(seat, raw)
        return engine.apply(table.rules, table.session, act, now_ms=table.now_ms, dice=table.dice, past=table._past(act.command))[1]
    except engine.Rejected as refusal:
        if refusal.code == "internal":
            raise AssertionError(f"{seat} broke the rules with {raw}: {refusal.__cause__!r}") from refusal
        return refusal
