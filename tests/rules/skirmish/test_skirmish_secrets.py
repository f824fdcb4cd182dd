"""Random play of several seats under skirmish, junk commands and undo included, leaks nothing and leads every seat to its view."""

from __future__ import annotations

from hypothesis import Phase, settings
from hypothesis.stateful import run_state_machine_as_test

import engine
from engine import Setup
from engine.rulesets.skirmish import RULES
from tests.property.test_engine_machine import Play
from tests.support import secrets, table

engine.register(RULES)
table.STARTS.setdefault("skirmish", lambda: Setup(ruleset="skirmish", sample="ferry", encounter="ferry"))
secrets.HIDDEN_FIELDS.setdefault("skirmish", {"fatigue": 977, "rerolls": 983})


class SkirmishPlay(Play):
    ruleset = "skirmish"


def test_random_play_of_several_seats_holds_every_promise() -> None:
    run_state_machine_as_test(
        SkirmishPlay, settings=settings(max_examples=15, stateful_step_count=40, phases=(Phase.explicit, Phase.reuse, Phase.generate))
    )
