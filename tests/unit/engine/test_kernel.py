"""Promises of engine.kernel: who may send which command when, and what the rules answer everything else with."""

from __future__ import annotations

from typing import Any

import pytest

import engine
from engine import Rejected, ScriptedDice, Setup
from engine import commands as c
from engine.setup import SceneSetup, SeatSetup
from tests.support.table import EPOCH, SESSION_ID, START_MS, Table

EXAMPLES: dict[str, dict[str, Any]] = {
    "chat": {"text": "hello"},
    "post": {"text": "hello"},
    "roll": {"notation": "d6"},
    "dice.salt": {"salt": "pepper"},
    "seat.prefs": {"kind": "parry", "value": "never"},
    "seat.leave": {},
    "turn.end": {"combatant": "c1"},
    "turn.delay": {"combatant": "c1", "after": "c2"},
    "test.propose": {"combatant": "c1"},
    "brace": {"combatant": "c1"},
    "move": {"combatant": "c1", "zone": "gate"},
    "gm.seat.add": {"seat": "cyd", "name": "Cyd"},
    "gm.seat": {"seat": "ben", "name": "Benno"},
    "gm.seat.remove": {"seat": "ben"},
    "gm.sitting": {},
    "gm.scene": {"scene": "road", "name": "The road", "zones": [{"id": "bend", "name": "the bend"}]},
    "gm.set": {"kind": "combatants", "id": "c1", "field": "hp", "value": 3},
    "gm.undo": {"to": 1},
    "gm.hide": {"id": "c4"},
    "gm.reveal": {"id": "c3"},
    "gm.spawn": {"template": "stray"},
    "gm.remove": {"combatant": "c4"},
    "gm.move": {"combatant": "c4", "scene": "mill", "zone": "loft"},
    "gm.clock": {"minutes": 10},
    "gm.turn": {"encounter": "@"},
    "gm.encounter.end": {"encounter": "@"},
    "gm.encounter.join": {"encounter": "@", "combatant": "late"},
    "gm.encounter": {"scene": "cell"},
    "gm.scene.remove": {"scene": "attic"},
    "gm.setting": {"key": "deadline.turn", "value": 5},
    "gm.dice": {"do": "physical"},
}
"""A good command of each kind at `full_table`. `@` stands for the running encounter."""

ANYBODY = {"chat", "post", "dice.salt", "seat.prefs", "seat.leave"}
PLAYERS = {"roll", "turn.end", "turn.delay", "test.propose", "brace", "move"}
PAUSED_FOR_PLAYERS = PLAYERS


def full_table() -> Table:
    cell = SceneSetup(id="cell", name="The cell", zones=(c.ZoneSpec(id="cot", name="the cot"),))
    attic = SceneSetup(id="attic", name="The attic", zones=(c.ZoneSpec(id="beam", name="the beam"),))
    watcher = SeatSetup(id="wes", role="spectator")
    table = Table(
        setup=Setup(ruleset="duel", sample="yard", encounter="mill", scenes=(cell, attic), seats=(watcher, SeatSetup(id="gm", role="gm")))
    )
    table.do("gm", "gm.spawn", id="jailer", scene="cell", zone="cot")
    table.do("gm", "gm.spawn", id="late", scene="mill", zone="yard")
    table.do("gm", "gm.hide", id="c3")
    return table


def send(table: Table, by: str, kind: str) -> str:
    """ "ok", or the code of the refusal."""
    encounter = next(one.id for one in table.session.encounters.values() if one.scene == "mill")
    fields = {name: encounter if value == "@" else value for name, value in EXAMPLES[kind].items()}
    try:
        table.do(by, kind, **fields)
    except Rejected as refusal:
        return refusal.code
    return "ok"


@pytest.mark.parametrize("kind", EXAMPLES)
def test_each_command_is_for_whom_it_says(kind: str) -> None:
    """The GM may send all of them; a player the players'; a spectator only what anybody may."""
    expected_player = "ok" if kind in ANYBODY | PLAYERS else "forbidden"
    expected_watcher = "ok" if kind in ANYBODY else "forbidden"
    last_gm = {"seat.leave": "not_now"}
    assert send(full_table(), "gm", kind) == last_gm.get(kind, "ok")
    assert send(full_table(), "ann", kind) == expected_player
    assert send(full_table(), "wes", kind) == expected_watcher
    assert send(full_table(), "nobody", kind) == "unknown_seat"


@pytest.mark.parametrize("kind", EXAMPLES)
def test_a_paused_table_stops_play_and_nothing_else(kind: str) -> None:
    table = full_table()
    table.do("gm", "gm.pause")
    by = "gm" if kind.startswith("gm.") else "ann"
    assert send(table, by, kind) == ("paused" if kind in PAUSED_FOR_PLAYERS else "ok")


@pytest.mark.parametrize("kind", EXAMPLES)
def test_while_dice_are_entered_play_waits_and_nothing_else(kind: str) -> None:
    table = full_table()
    table.do("gm", "gm.dice", do="physical")
    table.do("ann", "roll", notation="2d6")
    by = "gm" if kind.startswith("gm.") else "ann"
    expected = "busy" if kind in PLAYERS or kind == "gm.dice" else "ok"
    # The table has physical dice already, so asking for them again is refused as such, before anything else.
    assert send(table, by, kind) == ("not_now" if kind == "gm.dice" else expected)


def test_every_kernel_command_has_an_example_here_or_its_own_tests() -> None:
    own_tests = {"answer", "gm.prompt", "gm.pause", "test.withdraw"}
    assert {one.__struct_config__.tag for one in c.PLAYER_COMMANDS} == {
        kind for kind in EXAMPLES if kind not in ("brace", "move")
    } | own_tests


def test_the_commands_of_the_system_cannot_be_sent_by_a_seat() -> None:
    table = Table()
    with pytest.raises(Rejected) as caught:
        table.rules.decode({"type": "system.extend", "ms": 5})
    assert caught.value.code == "unknown_command"
    smuggled = engine.Act(by="gm", command=c.Extend(ms=5), stamp="0" * 16)
    with pytest.raises(Rejected) as caught:
        engine.apply(table.rules, table.session, smuggled, now_ms=table.now_ms, dice=table.dice)
    assert caught.value.code == "forbidden"


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        ({"type": "no.such.command"}, "unknown_command"),
        ({}, "bad_command"),
        ({"type": 5}, "bad_command"),
        ({"type": "brace", "nonsense": 1}, "bad_command"),
        ({"type": "attack"}, "bad_command"),
        ({"type": "attack", "target": "not an id!"}, "bad_command"),
        ({"type": "attack", "target": "x" * 65}, "bad_command"),
        ({"type": "attack", "target": 3}, "bad_command"),
        ({"type": "gm.clock", "minutes": 0}, "bad_command"),
        ({"type": "gm.clock", "minutes": -5}, "bad_command"),
        ({"type": "gm.clock", "minutes": 2**53}, "bad_command"),
        ({"type": "gm.undo", "to": -1}, "bad_command"),
        ({"type": "gm.setting", "key": "deadline.turn", "value": -1}, "bad_command"),
        ({"type": "gm.setting", "key": "Bad Key", "value": 1}, "bad_command"),
        ({"type": "roll", "notation": ""}, "bad_command"),
        ({"type": "answer", "prompt": "p", "ints": [2**53]}, "bad_command"),
        ({"type": "answer", "prompt": "p", "ints": [True]}, "bad_command"),
        ({"type": "answer", "prompt": "p", "ints": [1.5]}, "bad_command"),
        (b"\xc1", "bad_command"),
        (b"\x81\xa4type", "bad_command"),
        (b"\x91" * 5000, "bad_command"),
    ],
)
def test_a_command_out_of_form_is_refused_with_a_sentence(raw: Any, code: str) -> None:
    with pytest.raises(Rejected) as caught:
        Table().rules.decode(raw)
    assert caught.value.code == code
    assert caught.value.text


@pytest.mark.parametrize("value", [2**53, -(2**53), 2**70, 1.5, float("nan"), [[[[[[[[[[1]]]]]]]]]], {"a": {1: 2}}, b"bytes"])
def test_no_value_gets_into_the_log_that_cannot_be_written_to_it(value: Any) -> None:
    table = Table()
    table.refused("gm", "bad_command", "gm.set", kind="combatants", id="c1", field="hp", value=value)
    table.refused("gm", "bad_command", "gm.spawn", fields={"hp": value})


UNKNOWN: list[tuple[str, str, str, dict[str, Any]]] = [
    ("ann", "unknown_id", "attack", {"target": "nobody"}),
    ("ann", "unknown_id", "attack", {"target": "c3", "combatant": "nobody"}),
    ("ann", "not_yours", "attack", {"target": "c3", "combatant": "c2"}),
    ("ben", "not_your_turn", "brace", {}),
    ("ben", "not_your_turn", "brace", {"combatant": "c2"}),
    ("ben", "not_your_turn", "turn.end", {"combatant": "c2"}),
    ("ben", "not_your_turn", "turn.delay", {"after": "c4", "combatant": "c2"}),
    ("ann", "out_of_range", "move", {"zone": "nowhere"}),
    ("ann", "out_of_range", "move", {"zone": "loft", "near": ["c3"]}),
    ("ann", "unknown_id", "move", {"zone": "yard", "near": ["nobody"]}),
    ("ann", "unknown_id", "move", {"zone": "yard", "cover": "sacks"}),
    ("ann", "unknown_id", "answer", {"prompt": "nothing"}),
    ("gm", "unknown_id", "gm.prompt", {"prompt": "nothing"}),
    ("ann", "unknown_id", "test.propose", {"combatant": "nobody"}),
    ("ann", "not_yours", "test.propose", {"combatant": "c2"}),
    ("ann", "unknown_id", "test.withdraw", {"test": "nothing"}),
    ("ann", "unknown_seat", "chat", {"text": "psst", "to": ["nobody"]}),
    ("ann", "not_yours", "post", {"text": "I am Wick", "combatant": "c2"}),
    ("ann", "unknown_id", "post", {"text": "I am nobody", "combatant": "nobody"}),
    ("ann", "bad_command", "roll", {"notation": "two dice"}),
    ("ann", "forbidden", "roll", {"notation": "d6", "hidden": True}),
    ("gm", "unknown_seat", "gm.seat", {"seat": "nobody"}),
    ("gm", "unknown_id", "gm.seat", {"seat": "ann", "controls": ["nobody"]}),
    ("gm", "not_now", "gm.seat", {"seat": "gm", "role": "player"}),
    ("gm", "not_now", "gm.seat.remove", {"seat": "gm"}),
    ("gm", "unknown_id", "gm.seat.remove", {"seat": "nobody"}),
    ("gm", "bad_command", "gm.seat.add", {"seat": "ann", "name": "Ann again"}),
    ("gm", "not_now", "seat.leave", {}),
    ("gm", "unknown_id", "gm.scene.remove", {"scene": "nowhere"}),
    ("gm", "not_now", "gm.scene.remove", {"scene": "mill"}),
    ("gm", "not_now", "gm.scene", {"scene": "mill", "name": "Mill", "zones": [{"id": "yard", "name": "the yard"}]}),
    ("gm", "bad_command", "gm.scene", {"scene": "s", "name": "S", "zones": [{"id": "a", "name": "a"}, {"id": "a", "name": "b"}]}),
    ("gm", "bad_command", "gm.scene", {"scene": "s", "name": "S", "zones": [{"id": "a", "name": "a"}], "edges": [{"a": "a", "b": "b"}]}),
    ("gm", "bad_command", "gm.scene", {"scene": "s", "name": "S", "zones": [{"id": "a", "name": "a"}], "edges": [{"a": "a", "b": "a"}]}),
    ("gm", "bad_command", "gm.scene", {"scene": "s", "name": "S", "zones": [{"id": "a", "name": "a"}], "blind": [["a", "b"]]}),
    ("gm", "unknown_id", "gm.set", {"kind": "combatants", "id": "nobody", "field": "hp", "value": 1}),
    ("gm", "unknown_id", "gm.set", {"kind": "combatants", "id": "c1", "field": "nothing", "value": 1}),
    ("gm", "unknown_id", "gm.set", {"kind": "combatants", "id": "c1", "field": "scene", "value": "elsewhere"}),
    ("gm", "bad_command", "gm.set", {"kind": "combatants", "id": "c1", "field": "hp", "value": "many"}),
    ("gm", "bad_command", "gm.set", {"kind": "combatants", "id": "c1", "field": "hp", "value": -1}),
    ("gm", "bad_command", "gm.set", {"kind": "combatants", "id": "c1", "field": "hp", "value": 10**9}),
    ("gm", "illegal_choice", "gm.undo", {"to": 99}),
    ("gm", "not_now", "gm.pause", {"on": False}),
    ("gm", "unknown_id", "gm.hide", {"id": "nobody"}),
    ("gm", "not_now", "gm.reveal", {"id": "c1"}),
    ("gm", "unknown_id", "gm.hide", {"kind": "zone", "scene": "nowhere", "id": "yard"}),
    ("gm", "unknown_id", "gm.hide", {"kind": "zone", "scene": "mill", "id": "nowhere"}),
    ("gm", "unknown_id", "gm.hide", {"kind": "edge", "scene": "mill", "id": "gate", "to": "loft"}),
    ("gm", "not_now", "gm.reveal", {"kind": "edge", "scene": "mill", "id": "gate", "to": "yard"}),
    ("gm", "unknown_id", "gm.spawn", {"template": "dragon"}),
    ("gm", "bad_command", "gm.spawn", {"id": "c1"}),
    ("gm", "bad_command", "gm.spawn", {"fields": {"wings": 2}}),
    ("gm", "bad_command", "gm.spawn", {"fields": {"zone": "yard"}}),
    ("gm", "unknown_id", "gm.spawn", {"scene": "nowhere", "zone": "yard"}),
    ("gm", "unknown_id", "gm.spawn", {"scene": "mill", "zone": "nowhere"}),
    ("gm", "unknown_id", "gm.spawn", {"seat": "nobody"}),
    ("gm", "unknown_id", "gm.remove", {"combatant": "nobody"}),
    ("gm", "unknown_id", "gm.move", {"combatant": "nobody", "scene": "mill", "zone": "yard"}),
    ("gm", "unknown_id", "gm.move", {"combatant": "c1", "scene": "mill", "zone": "nowhere"}),
    ("gm", "out_of_range", "gm.move", {"combatant": "c1", "scene": "mill", "zone": "gate", "near": ["c1"]}),
    ("gm", "unknown_id", "gm.encounter", {"scene": "nowhere"}),
    ("gm", "not_now", "gm.encounter", {"scene": "mill"}),
    ("gm", "unknown_id", "gm.encounter.end", {"encounter": "none"}),
    ("gm", "unknown_id", "gm.encounter.join", {"encounter": "none", "combatant": "c1"}),
    ("gm", "unknown_id", "gm.turn", {"encounter": "none"}),
    ("gm", "not_now", "gm.dice", {"do": "seeded"}),
    ("gm", "not_now", "gm.dice", {"do": "reveal"}),
]


@pytest.mark.parametrize(("by", "code", "kind", "fields"), UNKNOWN)
def test_bad_input_is_refused_with_the_right_code_and_changes_nothing(by: str, code: str, kind: str, fields: dict[str, Any]) -> None:
    Table().refused(by, code, kind, **fields)


def test_a_refusal_by_the_rules_uses_a_code_of_the_shared_list() -> None:
    from protocol.errors import CODES

    assert {code for _, code, _, _ in UNKNOWN} <= set(CODES)


def test_a_refused_command_draws_no_dice() -> None:
    """What is rolled next is the same as if nothing had been refused."""
    quiet, noisy = Table(), Table()
    for _ in range(3):
        noisy.refused("ann", "out_of_range", "attack", target="c3")
        noisy.refused("ann", "bad_command", "roll", notation="d6+")
    assert quiet.do("ann", "roll", notation="4d6").rolls == noisy.do("ann", "roll", notation="4d6").rolls


def test_apply_is_a_pure_function_of_its_inputs() -> None:
    table = Table()
    act = table.act_at("ann", {"type": "roll", "notation": "5d10"})
    outcomes = [engine.apply(table.rules, table.session, act, now_ms=5, dice=engine.SeededDice(b"m" * 32, EPOCH)) for _ in range(2)]
    assert engine.encode_entry(outcomes[0][1]) == engine.encode_entry(outcomes[1][1])
    assert engine.encode_snapshot(outcomes[0][0]) == engine.encode_snapshot(outcomes[1][0])


@pytest.mark.parametrize(
    ("setup", "code"),
    [
        ({"variant": "gentle"}, "unknown_id"),
        ({"options": {"wings": 1}}, "unknown_id"),
        ({"options": {"parry_bonus": 4}}, "illegal_choice"),
        ({"options": {"parry_bonus": True}}, "illegal_choice"),
        ({"sample": "castle"}, "unknown_id"),
        ({"encounter": "nowhere"}, "unknown_id"),
        ({"pools": {"momentum": 3}}, "unknown_id"),
        ({"seats": [{"id": "ann"}, {"id": "ann"}]}, "bad_command"),
        ({"seats": [{"id": "ann", "controls": ["nobody"]}]}, "unknown_id"),
        ({"combatants": [{"id": "x", "template": "dragon"}]}, "unknown_id"),
        ({"combatants": [{"id": "x", "seat": "nobody"}]}, "unknown_id"),
        ({"combatants": [{"id": "x", "fields": {"hp": -1}}]}, "bad_command"),
    ],
)
def test_a_set_up_that_does_not_hold_together_is_refused(setup: dict[str, Any], code: str) -> None:
    import msgspec

    rules = engine.ruleset("duel")
    with pytest.raises(Rejected) as caught:
        engine.create(
            rules,
            msgspec.convert({"ruleset": "duel", **setup}, Setup),
            session_id=SESSION_ID,
            epoch=EPOCH,
            now_ms=START_MS,
            dice=ScriptedDice(),
        )
    assert caught.value.code == code


def test_a_table_always_has_a_gm() -> None:
    table = Table(setup=Setup(ruleset="duel", seats=(SeatSetup(id="solo"),)))
    assert [seat.role for seat in table.session.seats.values()] == ["player", "gm"]


def test_a_variant_sets_its_switches_and_the_set_up_overrides_them() -> None:
    def bonus(**more: Any) -> Any:
        table = Table(setup=Setup(ruleset="duel", **more))
        return table.rules.option(table.session, "parry_bonus")  # type: ignore[attr-defined]

    assert (bonus(), bonus(variant="bloody"), bonus(variant="bloody", options={"parry_bonus": 5})) == (3, 0, 5)


def test_an_up_to_date_session_is_not_upgraded() -> None:
    table = Table()
    assert not engine.needs_upgrade(table.rules, table.session)
    with pytest.raises(Rejected) as caught:
        table.system("system.upgrade")
    assert caught.value.code == "not_now"
