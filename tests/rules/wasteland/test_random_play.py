"""Random fights and random nonsense: what wasteland promises at every step, whoever sends whatever.

tests/support/table.py holds on each step that the input session is untouched and that every seat's view rebuilt from frames is its view.
"""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import engine
from engine import Rejected, Session
from engine.rulesets.wasteland import derived
from engine.rulesets.wasteland.model import Survivor
from tests.rules.wasteland.tables import VARIANTS, scrapyard
from tests.support import junk
from tests.support.secrets import MARK, Secrets, planted
from tests.support.table import EPOCH, Table

SEEDS = st.integers(0, 2**32 - 1)


def answer(table: Table, rnd: random.Random) -> tuple[str, dict[str, Any]] | None:
    """A legal answer to one of the open questions; dice are named among those that may still be re-rolled."""
    chosen = junk.open_answer(table, rnd)
    if chosen is not None and "ints" in chosen[1]:
        prompt = table.session.prompts[chosen[1]["prompt"]]
        positions = dict(prompt.data).get("positions")
        if positions is not None and prompt.ints is not None:
            most = min(prompt.ints.most, len(positions))
            chosen[1]["ints"] = rnd.sample(positions, rnd.randint(1, most))
    return chosen


def check_figures(session: Session) -> None:
    """No figure leaves its bounds."""
    for pool in session.pools.values():
        assert pool.value >= 0, pool
    for s in session.combatants.values():
        assert isinstance(s, Survivor)
        assert 0 <= s.hp <= derived.max_hp(s), s
        assert 0 <= s.luck <= derived.max_luck(s), s
        assert all(stack.count >= 0 for stack in s.ammo), s.ammo
        assert all(weapon.count >= 1 for weapon in s.weapons if weapon.kind in ("throwing", "explosives")), s.weapons
        assert s.turn.minors <= 2, s.turn
        assert s.turn.majors <= 2, s.turn
        assert s.out == s.dead, s
        assert s.dead or s.unconscious or s.dying == (s.hp == 0), s
    for encounter in session.encounters.values():
        if not encounter.pending and session.combatants[encounter.current].turn.begun is False:
            # A turn has just begun, so the one before it is over and what could not be saved is gone.
            assert session.pools["group"].value <= 6


@pytest.mark.parametrize("variant", VARIANTS)
@given(seed=SEEDS)
@settings(max_examples=6, deadline=None)
def test_a_fight_played_from_options_keeps_every_figure_in_bounds_and_its_log_holds(variant: str, seed: int) -> None:
    """Every option with any listed values is accepted; a replay gives the state; the audit executes every entry alike."""
    rnd = random.Random(seed)
    table = scrapyard(variant)
    for _ in range(150):
        if not table.session.encounters:
            break
        chosen = answer(table, rnd) or junk.open_option(table, rnd, group="turn")
        assert chosen is not None, "an encounter runs and nobody can do anything"
        table.send(*chosen)
        check_figures(table.session)
    assert table.replayed() == table.session
    audit = table.audit()
    assert audit.difference is None
    assert audit.executed == len(table.entries)


def test_every_combination_an_option_lists_is_accepted() -> None:
    """Options of several moments of a fight, combination by combination."""
    rnd = random.Random(7)
    table = scrapyard()
    tried = 0
    for moment in range(24):
        chosen = answer(table, rnd)
        if chosen is None and moment % 4 == 0:
            for seat in table.session.seats:
                for option in engine.options_of(table.rules, table.session, seat):
                    if option.group != "turn":
                        continue
                    for raw in list(junk.combinations(option))[::7]:
                        act = table.act_at(seat, raw)
                        try:
                            engine.apply(table.rules, table.session, act, now_ms=table.now_ms, dice=table.dice)
                        except Rejected as refusal:
                            pytest.fail(f"{raw} was offered and refused: {refusal}")
                        tried += 1
        chosen = chosen or junk.open_option(table, rnd, group="turn")
        assert chosen is not None
        table.send(*chosen)
    assert tried > 200


@pytest.mark.parametrize("variant", VARIANTS)
@given(seed=SEEDS)
@settings(max_examples=8, deadline=None)
def test_nothing_anybody_sends_breaks_the_rules_or_tells_a_secret(variant: str, seed: int) -> None:
    """Commands made from their forms with junk in them are accepted or refused, never `internal`; no hidden thing is told."""
    rnd = random.Random(seed)
    setup = planted("wasteland")
    table = Table("wasteland", engine.Setup(**{**{f: getattr(setup, f) for f in setup.__struct_fields__}, "variant": variant}))
    secrets = Secrets(table)
    gms = [seat.id for seat in table.session.seats.values() if seat.role == "gm"]
    for _ in range(60):
        dice = rnd.random()
        if dice < 0.5:
            chosen = answer(table, rnd) if rnd.random() < 0.7 else None
            chosen = chosen or junk.open_option(table, rnd, group="turn")
            if chosen is not None:
                junk.attempt(table, *chosen)
        elif dice < 0.75:
            command = rnd.choice([one for one in junk.commands_of(table, gm=True) if one.__struct_config__.tag not in SETTING_UP])
            # A player learns where their own characters stand and what hinders them.
            tells = MARK if command.__struct_config__.tag in ("gm.move", "gm.modify") else ""
            junk.attempt(table, rnd.choice(gms), junk.from_form(command, rnd, junk.Ids(table, without=tells)))
        else:
            command = rnd.choice(table.rules.commands)
            seat = rnd.choice([*table.session.seats, "nobody"])
            junk.attempt(table, seat, junk.from_form(command, rnd, junk.Ids(table, without=MARK)))
        gms = [one.id for one in table.session.seats.values() if one.role == "gm"]
        secrets.check()
    assert table.replayed() == table.session
    assert engine.audit(table.rules, table.log(), epoch=EPOCH).difference is None


SETTING_UP = ("gm.seat.add", "gm.scene", "gm.spawn", "gm.pause", "gm.seat", "gm.seat.remove")
"""Commands in which a GM who names a secret tells it, or that end the play this test is about."""
