"""Random play of several seats holds every promise of the engine at every step.

tests/support/table.py checks on each step: the input session is untouched by a step and by a refusal, and every seat's view rebuilt
from its frames is its view. Here the steps are random: options, answers, deadlines, undo, rejoining, and commands made from their
forms with junk in them.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, ClassVar

from hypothesis import Phase, note, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

import engine
from engine import commands as c
from engine.entry import SYSTEM
from tests.support import junk
from tests.support.secrets import MARK, Secrets, planted
from tests.support.table import EPOCH, Table, state

SEEDS = st.integers(0, 2**32 - 1)


class Play(RuleBasedStateMachine):
    """One table, random seats, random commands. `ruleset` is set by the test."""

    ruleset = "duel"

    def __init__(self) -> None:
        super().__init__()
        self.table = Table(self.ruleset, planted(self.ruleset))
        self.secrets = Secrets(self.table)

    def attempt(self, by: str, raw: dict[str, Any]) -> None:
        note(f"{by}: {raw}")
        junk.attempt(self.table, by, raw)

    @rule(seeds=st.lists(SEEDS, min_size=4, max_size=12))
    def steps(self, seeds: list[int]) -> None:
        """Random steps: mostly play, and everything else that anybody could send."""
        doers, weights = zip(*self.STEPS, strict=True)
        for seed in seeds:
            rnd = random.Random(f"{seed} at {self.table.session.v}")  # one seed twice is not the same step twice
            rnd.choices(doers, weights)[0](self, rnd)
            self.secrets.check()

    def play(self, rnd: random.Random) -> None:
        """What is asked is answered; else whatever is offered, with any listed values, is accepted."""
        chosen = junk.open_answer(self.table, rnd) if rnd.random() < 0.8 else None
        if chosen is not None:
            self.attempt(*chosen)
        elif (offered := junk.open_option(self.table, rnd, group="turn")) is not None:
            note(f"{offered}")
            self.table.send(*offered)

    def take_a_table_option(self, rnd: random.Random) -> None:
        offered = junk.open_option(self.table, rnd, group="table")
        if offered is not None:
            note(f"{offered}")
            self.table.send(*offered)

    def gm_does_anything(self, rnd: random.Random) -> None:
        command = rnd.choice(junk.commands_of(self.table, gm=True))
        # A GM who names something new after a secret tells it.
        creates = command in (c.GmSeatAdd, c.GmScene, c.GmSpawn)
        self.attempt(self.a_gm(rnd), junk.from_form(command, rnd, junk.Ids(self.table, without=MARK if creates else "")))

    def gm_plays(self, rnd: random.Random) -> None:
        command = rnd.choice(junk.commands_of(self.table, gm=False))
        self.attempt(self.a_gm(rnd), junk.from_form(command, rnd, junk.Ids(self.table)))

    def somebody_tries_anything(self, rnd: random.Random) -> None:
        """What a seat itself says comes back to it, so players here name no secrets; test_engine_secrets.py lets them guess."""
        command = rnd.choice(self.table.rules.commands)
        seat = rnd.choice([*self.table.session.seats, "nobody"])
        self.attempt(seat, junk.from_form(command, rnd, junk.Ids(self.table, without=MARK)))

    def system_acts(self, rnd: random.Random) -> None:
        session = self.table.session
        raw: dict[str, Any] = rnd.choice(
            [
                {"type": "system.extend", "ms": rnd.choice((-1, 0, 1, 60_000))},
                {"type": "system.hold", "seat": rnd.choice([*session.seats, "nobody"]), "person": "somebody"},
                {"type": "system.dice", "reason": "a test"},
                {"type": "system.upgrade"},
                {"type": "system.deadline", "prompt": rnd.choice([*session.prompts, "p"])},
            ]
        )
        self.attempt(SYSTEM, raw)

    def undo(self, rnd: random.Random) -> None:
        v = self.table.session.v
        to = rnd.choice((0, rnd.randint(max(v - 4, 1), v), rnd.randint(1, v)))
        self.attempt(self.a_gm(rnd), {"type": "gm.undo", "to": to, "dice": rnd.choice(("keep", "new"))})

    def go_on(self, rnd: random.Random) -> None:
        """A paused table is resumed, an unfinished fight started."""
        if self.table.session.table.paused:
            self.attempt(self.a_gm(rnd), {"type": "gm.pause", "on": False})
        elif not self.table.session.encounters and self.table.session.scenes:
            self.attempt(self.a_gm(rnd), {"type": "gm.encounter", "scene": rnd.choice(list(self.table.session.scenes))})

    def a_gm(self, rnd: random.Random) -> str:
        return rnd.choice([seat.id for seat in self.table.session.seats.values() if seat.role == "gm"])

    STEPS: ClassVar[list[tuple[Callable[[Any, random.Random], None], int]]] = [
        (play, 45),
        (gm_does_anything, 20),
        (gm_plays, 8),
        (somebody_tries_anything, 10),
        (take_a_table_option, 4),
        (system_acts, 4),
        (undo, 4),
        (go_on, 8),
    ]

    @rule(minutes=st.integers(1, 2000))
    def time_passes(self, minutes: int) -> None:
        """Everything that falls due is taken, and nothing is due after it."""
        self.table.later(minutes)
        due = engine.due(self.table.session)
        assert (due is not None and due <= self.table.now_ms) == bool(engine.overdue(self.table.session, self.table.now_ms))
        for deadline in engine.overdue(self.table.session, self.table.now_ms):
            if deadline in engine.overdue(self.table.session, self.table.now_ms):
                self.table.system("system.deadline", prompt=deadline.prompt, encounter=deadline.encounter, turn=deadline.turn)

    @rule(seed=SEEDS)
    def somebody_rejoins(self, seed: int) -> None:
        self.table.rejoin(random.Random(seed).choice(list(self.table.viewers)))

    @invariant()
    def nobody_learned_a_secret(self) -> None:
        self.secrets.check()

    def teardown(self) -> None:
        """The log leads to this very session, from its start and from any snapshot, and says so of itself."""
        table = self.table
        wanted = state(table.session)
        log = table.log()
        assert state(engine.replay(table.rules, log, epoch=EPOCH)) == wanted
        v = 1 + len(log) // 2
        middle = engine.decode_snapshot(table.rules, engine.encode_snapshot(table.history[min(v, len(log))]))
        assert state(engine.replay(table.rules, log[middle.v :], start=middle)) == wanted
        found = engine.audit(table.rules, log, epoch=EPOCH)
        assert found.verdict in ("ok", "unchecked"), found.difference


def test_random_play_of_several_seats_holds_every_promise(ruleset: str) -> None:
    machine = type("PlayOf", (Play,), {"ruleset": ruleset})
    # Not shrunk: a failure prints every step anyway, and shrinking would take longer than a test may.
    bounds = settings(max_examples=25, stateful_step_count=20, phases=(Phase.explicit, Phase.reuse, Phase.generate))
    run_state_machine_as_test(machine, settings=bounds)
