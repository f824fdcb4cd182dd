"""The pilot for the GM's people: everything it suggests is accepted, its fights end, and it plays better than chance."""

from __future__ import annotations

import random
from typing import Any

import pytest

from engine import Setup
from engine.rulesets.wasteland import RULES
from tests.rules.wasteland.tables import camp, quiet
from tests.support import junk
from tests.support.table import Table


def start(sample: str = "scrapyard") -> Table:
    return Table("wasteland", Setup(ruleset="wasteland", sample=sample, encounter=sample), watched=False)


def next_of(table: Table, seats: list[str]) -> tuple[str, dict[str, Any]] | None:
    for seat in seats:
        command = RULES.suggest(table.session, seat)
        if command is not None:
            return seat, command
    return None


@pytest.mark.parametrize("sample", RULES.samples)
def test_a_fight_in_which_everybody_follows_the_pilot_ends(sample: str) -> None:
    """Each suggestion is accepted; nothing is ever suggested to a seat that has nothing to do."""
    table = start(sample)
    seats = list(table.session.seats)
    for _ in range(1500):
        if not table.session.encounters:
            break
        chosen = next_of(table, seats)
        assert chosen is not None, "a fight goes on and the pilot knows nothing to do"
        table.send(*chosen)
    assert not table.session.encounters
    assert RULES.suggest(table.session, "gm") is None
    assert RULES.suggest(table.session, "nobody") is None


def test_it_beats_players_who_do_just_anything() -> None:
    """The GM's people, outnumbered in worth, win most fights against characters played at random."""
    won = 0
    for seed in range(6):
        table, rnd = start(), random.Random(seed)
        for _ in range(3000):
            if not table.session.encounters:
                break
            command = RULES.suggest(table.session, "gm")
            current = table.encounter.current
            theirs = current and not any(current in seat.controls for seat in table.session.seats.values() if seat.role != "gm")
            if command is not None and (theirs or command["type"] == "answer"):
                table.send("gm", command)
                continue
            chosen = junk.open_answer(table, rnd) or junk.open_option(table, rnd, group="turn")
            assert chosen is not None
            table.send(*chosen)
        won += any(
            event.data.get("side") == "pickers" for entry in table.entries for event in entry.events if event.type == "encounter.ended"
        )
    assert won >= 4


def test_it_gets_up_aims_and_shoots() -> None:
    table = camp(3, 19, 12, 1, 1)
    quiet(table)
    table.do("gm", "gm.set", kind="combatants", id="wolf", field="initiative", value=30)
    table.do("gm", "gm.set", kind="combatants", id="wolf", field="prone", value=True)
    table.do("gm", "gm.set", kind="combatants", id="wolf", field="weapons", value=[
        {"id": "gun", "name": "Gun", "kind": "small_guns", "dice": 2, "ammo": "slugs"}
    ])  # fmt: skip
    table.do("gm", "gm.encounter", scene="camp")
    assert RULES.suggest(table.session, "ann") is None, "it is not her turn"
    command = RULES.suggest(table.session, "gm")
    assert command is not None
    assert command["stand"] is True
    table.send("gm", command)
    command = RULES.suggest(table.session, "gm")
    assert command is not None
    assert (command["type"], command["weapon"]) == ("attack", "gun")


def test_it_walks_up_to_somebody_when_it_has_nothing_but_a_club() -> None:
    table = camp(zones=3)
    table.do("gm", "gm.set", kind="combatants", id="wolf", field="initiative", value=30)
    table.do("gm", "gm.set", kind="combatants", id="wolf", field="weapons", value=[
        {"id": "club", "name": "Club", "kind": "melee_weapons", "dice": 2}
    ])  # fmt: skip
    table.do("gm", "gm.move", combatant="wolf", scene="camp", zone="z1")
    table.do("gm", "gm.encounter", scene="camp")
    command = RULES.suggest(table.session, "gm")
    assert command is not None
    assert (command["type"], command["zone"]) == ("move", "z0")
    assert command["near"] in (["vera"], ["otto"])
