"""Random fights under skirmish end, whatever the switches, and hold what every fight holds; everything on offer is accepted."""

from __future__ import annotations

import random

import pytest

import engine
from engine import Setup
from engine.rulesets.skirmish import RULES
from tests.support import junk
from tests.support.table import EPOCH, Table

engine.register(RULES)

SWITCH_SETS = [{name: value} for name, values in RULES.switches.items() for value in values[1:]]


def start(**fields: object) -> Setup:
    return Setup(ruleset="skirmish", sample="ferry", encounter="ferry", **fields)  # type: ignore[arg-type]


def dice(seed: int) -> engine.Dice:
    return engine.SeededDice(seed.to_bytes(32, "big"), EPOCH)


def accepted(table: Table, seat: str, command: dict[str, object]) -> None:
    """Raises Rejected if it is not. Pools are too wide to try every way they fall, so one way stands for all."""
    act = table.act_at(seat, command)
    engine.apply(table.rules, table.session, act, now_ms=table.now_ms, dice=table.dice)


@pytest.mark.parametrize("seed", range(6))
def test_a_random_fight_ends_and_its_log_checks_out(seed: int) -> None:
    """Every seat's view is rebuilt from its frames at each step (tests.support.table), and the audit re-executes every command."""
    table = Table("skirmish", start(), dice=dice(seed))
    junk.play_pilots(table, random.Random(seed))
    assert engine.audit(table.rules, table.log(), epoch=EPOCH).verdict == "ok"
    standing = {one.side for one in table.session.combatants.values() if not one.out}
    assert len(standing) < 2


@pytest.mark.parametrize("options", SWITCH_SETS, ids=lambda one: "-".join(map(str, next(iter(one.items())))))
def test_fights_end_under_every_switch(options: dict[str, str | int | bool]) -> None:
    table = Table("skirmish", start(options=options), dice=dice(11), watched=False)
    junk.play_pilots(table, random.Random(11))
    assert len({one.side for one in table.session.combatants.values() if not one.out}) < 2


@pytest.mark.parametrize("variant", RULES.variants)
def test_fights_end_under_every_variant(variant: str) -> None:
    table = Table("skirmish", start(variant=variant), dice=dice(5), watched=False)
    junk.play_pilots(table, random.Random(5))
    assert not table.session.encounters


def test_every_combination_on_offer_is_accepted_and_its_odds_can_be_told() -> None:
    """At every step of a fight, for every seat."""
    table = Table("skirmish", start(), dice=dice(3), watched=False)
    rnd = random.Random(3)
    offered: set[str] = set()
    for _ in range(60):
        if not table.session.encounters:
            break
        for seat in table.session.seats:
            for option in RULES.options(table.session, seat):
                offered.add(option.type)
                for command in junk.combinations(option):
                    accepted(table, seat, command)
                    if option.odds:
                        assert RULES.odds(table.session, seat, RULES.decode(command)).parts
        chosen = junk.open_answer(table, rnd) or junk.open_option(table, rnd, group="turn")
        assert chosen is not None
        table.send(*chosen)
    assert offered >= {"skirmish.attack", "skirmish.move", "skirmish.activate", "skirmish.breathe", "turn.end"}


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_thousands_of_random_fights_end() -> None:
    for seed in range(5000):
        table = Table("skirmish", start(), dice=dice(seed), watched=False)
        junk.play_pilots(table, random.Random(seed))
