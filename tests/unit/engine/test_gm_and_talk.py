"""Promises of engine.gm, engine.talk and engine.testlife: what commands do when they are accepted. (What they refuse: test_kernel.py.)"""

from __future__ import annotations

import msgspec
import pytest

import engine
from engine import Act, Rejected, ScriptedDice, Setup
from engine import commands as c
from engine.setup import CombatantSetup, SceneSetup, SeatSetup
from tests.support.secrets import walk
from tests.support.table import Table


def test_chat_and_posts_keep_their_text_outside_the_log() -> None:
    table = Table()
    table.do("ann", "chat", text="a very private sentence", to=["ben"])
    table.do("ann", "post", text="Reed spits.", combatant="c1")
    raw = b"".join(engine.encode_entry(entry) for entry in table.entries)
    assert b"sentence" not in raw
    assert b"spits" not in raw
    told = table.viewers["ben"].told("post")[0]
    assert (told["body"], told["name"], told["combatant"]) == ("Reed spits.", "Reed", "c1")


def test_a_private_line_reaches_its_seats_and_its_sender_alone() -> None:
    table = Table()
    table.do("ann", "chat", text="psst", to=["ben"])
    assert {seat: len(viewer.told("chat")) for seat, viewer in table.viewers.items()} == {"gm": 0, "ann": 1, "ben": 1, "@spectator": 0}


def test_a_text_that_was_not_put_outside_the_log_never_gets_in() -> None:
    table = Table()
    act = Act(by="ann", command=c.Chat(text="hello"), stamp="0" * 16)
    with pytest.raises(Rejected) as caught:
        engine.apply(table.rules, table.session, act, now_ms=table.now_ms, dice=table.dice)
    assert caught.value.code == "internal"


def test_a_free_roll_tells_its_dice_and_its_total() -> None:
    with ScriptedDice([3, 17, 5]) as dice:
        table = Table(dice=dice)
        table.do("ann", "roll", notation="2d20kh1+d6+1", label="luck")
        event = table.event("rolled")
    assert (event.data["total"], event.data["label"]) == (17 + 5 + 1, "luck")
    assert [one["faces"] for one in event.data["rolls"]] == [[3, 17], [5]]


def test_a_hidden_roll_is_told_to_gms_alone() -> None:
    table = Table()
    table.do("gm", "roll", notation="d20", hidden=True)
    assert table.viewers["gm"].told("rolled")
    assert not table.viewers["ann"].told("rolled")


def test_seats_come_and_change_and_go() -> None:
    table = Table()
    table.do("gm", "gm.seat.add", seat="cyd", name="Cyd", controls=["c4", "c4"])
    assert table.session.seats["cyd"].controls == ("c4",)
    table.do("gm", "gm.seat", seat="cyd", name="Cydney")
    assert table.session.seats["cyd"].controls == ("c4",), "what is left out stays"
    table.do("gm", "gm.seat", seat="cyd", controls=[])
    assert not table.session.seats["cyd"].controls
    table.do("gm", "gm.seat", seat="cyd", role="gm")
    table.do("gm", "seat.leave")
    table.refused("cyd", "not_now", "seat.leave")
    table.refused("gm", "unknown_seat", "chat", text="still here?")


def test_a_table_has_a_bounded_number_of_seats_scenes_and_combatants(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MAX_SEATS", "MAX_SCENES", "MAX_COMBATANTS"):
        monkeypatch.setattr(engine.gm, name, 1)
    scene = SceneSetup(id="s", zones=(c.ZoneSpec(id="z", name="z"),))
    table = Table(setup=Setup(ruleset="duel", scenes=(scene,), combatants=(CombatantSetup(id="x"),)))
    table.refused("gm", "limit", "gm.seat.add", seat="cyd", name="Cyd")
    table.refused("gm", "limit", "gm.scene", scene="t", name="T", zones=[{"id": "z", "name": "z"}])
    table.refused("gm", "limit", "gm.spawn", template="stray")


def test_a_person_takes_a_seat() -> None:
    table = Table()
    table.system("system.hold", seat="ann", person="p-17", name="Anna")
    seat = table.session.seats["ann"]
    assert (seat.person, seat.name, seat.since) == ("p-17", "Anna", table.session.v)
    assert "person" not in table.view("ben")["seats"]["ann"]
    with pytest.raises(Rejected) as caught:
        table.system("system.hold", seat="nobody", person="p")
    assert caught.value.code == "unknown_id"


def test_a_spawned_combatant_is_placed_named_and_handed_over() -> None:
    table = Table()
    where = {"side": "millers", "scene": "mill", "zone": "loft", "seat": "ben"}
    table.do("gm", "gm.spawn", id="pup", template="stray", name="Pup", fields={"hp": 4}, **where)
    pup = table.session.combatants["pup"]
    assert (pup.name, pup.side, pup.zone, pup.hp, pup.skill, pup.template) == ("Pup", "millers", "loft", 4, 3, "stray")
    assert table.session.seats["ben"].controls == ("c2", "pup")
    table.do("gm", "gm.spawn", template="stray")
    assert len([one for one in table.session.combatants if one.startswith("c") and len(one) == 14]) == 1, "an id of its own"


def test_a_removed_combatant_leaves_nothing_behind() -> None:
    table = Table()
    table.do("gm", "gm.move", combatant="c1", scene="mill", zone="yard", near=["c3"])
    table.do("ann", "test.propose", combatant="c1")
    table.do("gm", "test.propose", combatant="c2")
    test = next(one.id for one in table.session.tests.values() if one.by == "c2")
    table.do("ann", "test.join", test=test, combatant="c1")
    table.do("gm", "gm.remove", combatant="c1")
    left: list[object] = []
    walk(msgspec.msgpack.decode(engine.encode_snapshot(table.session)), left.append)
    assert "c1" not in left
    assert list(table.session.tests) == [test]
    assert table.current == "c2"


def test_a_setting_a_sitting_and_a_name_are_what_they_were_set_to() -> None:
    table = Table(setup=Setup(ruleset="duel", name="Friday", settings={"deadline.turn": 30}))
    table.do("gm", "gm.setting", key="deadline.prompt", value=5)
    table.do("gm", "gm.sitting")
    shown = table.view("@spectator")["table"]["table"]
    assert (shown["name"], shown["sitting"]) == ("Friday", 1)
    assert shown["settings"] == {"deadline.turn": "30", "deadline.prompt": "5"}


# --- tests -----------------------------------------------------------------------------------------------------------------


def proposed(faces: tuple[int, ...] = ()) -> tuple[Table, str]:
    table = Table(dice=ScriptedDice(faces))
    table.do("ann", "test.propose", combatant="c1", label="climb the wheel")
    return table, next(iter(table.session.tests))


def test_a_test_is_proposed_framed_helped_and_rolled() -> None:
    table, test = proposed((9,))
    table.refused("ann", "not_now", "test.roll", test=test)
    table.refused("ann", "forbidden", "test.frame", test=test, difficulty=5)
    table.do("gm", "test.frame", test=test, bonus=1, difficulty=12)
    table.do("ben", "test.join", test=test, combatant="c2")
    table.refused("ben", "not_now", "test.join", test=test, combatant="c2")
    table.refused("ben", "not_yours", "test.roll", test=test)
    table.refused("ben", "not_yours", "test.withdraw", test=test)
    assert table.view("@spectator")["tests"][test]["helpers"] == ["c2"]
    table.do("ann", "test.roll", test=test)
    assert (table.event("test.rolled").data["total"], table.event("test.rolled").data["passed"]) == (9 + 1 + 2, True)
    assert not table.session.tests


def test_a_test_can_be_taken_back_before_it_is_rolled() -> None:
    table, test = proposed()
    table.do("ann", "test.withdraw", test=test)
    assert not table.session.tests
    table.refused("ann", "unknown_id", "test.withdraw", test=test)


def test_a_hidden_test_is_known_to_gms_and_to_those_who_take_part() -> None:
    table, test = proposed((15,))
    table.do("gm", "test.frame", test=test, difficulty=12, hidden=True)
    assert test in table.view("ann")["tests"]
    assert "tests" not in table.view("ben")
    table.refused("ben", "unknown_id", "test.join", test=test, combatant="c2")
    table.do("ann", "test.roll", test=test)
    assert table.last.rolls[0].stream == "hidden"
    assert (len(table.viewers["ann"].told("test.rolled")), len(table.viewers["ben"].told("test.rolled"))) == (1, 0)


def test_a_table_has_a_bounded_number_of_open_tests() -> None:
    table = Table()
    for _ in range(50):
        table.do("ann", "test.propose", combatant="c1")
    table.refused("ann", "limit", "test.propose", combatant="c1")


def test_a_seat_in_the_set_up_keeps_its_own_and_the_samples_combatants() -> None:
    seats = (SeatSetup(id="ann", controls=("x",)),)
    table = Table(setup=Setup(ruleset="duel", sample="yard", seats=seats, combatants=(CombatantSetup(id="x"),)))
    assert table.session.seats["ann"].controls == ("c1", "x")
