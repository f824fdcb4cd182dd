"""What the kernel offers to whom; tests/conformance holds that whatever is offered is accepted, for every ruleset."""

from __future__ import annotations

from tests.support.table import Table


def offered(table: Table, seat: str, group: str = "") -> list[str]:
    return [option.type for option in table.options(seat) if group in ("", option.group)]


def test_pilots_are_not_offered_what_people_do_to_the_table() -> None:
    table = Table()
    assert {"gm.pause", "gm.encounter.end", "gm.turn", "gm.sitting", "turn.delay"} <= set(offered(table, "gm", "table"))
    assert not [one for one in offered(table, "gm", "turn") if one.startswith("gm.") or one == "turn.delay"]
    assert offered(table, "ann", "table") == ["turn.delay"]


def test_who_is_not_on_turn_or_only_watches_is_offered_nothing() -> None:
    table = Table()
    assert offered(table, "ben") == []
    assert offered(table, "nobody") == []
    table.do("gm", "gm.seat", seat="ann", role="spectator")
    assert offered(table, "ann") == []


def test_ending_a_turn_is_offered_once() -> None:
    assert offered(Table(), "ann").count("turn.end") == 1


def test_a_paused_table_offers_to_go_on_and_nothing_to_players() -> None:
    table = Table()
    table.do("gm", "gm.pause")
    assert offered(table, "ann") == []
    (pause,) = [option for option in table.options("gm") if option.type == "gm.pause"]
    assert pause.command["on"] is False
    assert not offered(table, "gm", "turn")


def test_while_a_question_is_open_no_turn_is_offered() -> None:
    table = Table()
    table.do("ann", "move", combatant="c1", zone="yard", near=["c3"])
    table.do("ann", "attack", target="c3")
    assert offered(table, "ann") == []
    assert not offered(table, "gm", "turn")


def test_undo_is_offered_when_there_is_something_to_undo() -> None:
    table = Table()
    assert "gm.undo" not in offered(table, "gm")
    table.do("ann", "turn.end")
    assert "gm.undo" in offered(table, "gm")


def test_a_fight_is_offered_where_none_runs() -> None:
    table = Table()
    assert "gm.encounter" not in offered(table, "gm")
    table.do("gm", "gm.encounter.end", encounter=table.encounter.id)
    assert "gm.encounter" in offered(table, "gm")


def test_nobody_is_offered_a_target_that_must_stay_unseen() -> None:
    """The GM sees a hidden foe next to the guard, but striking at it would tell everybody of it."""
    table = Table()
    table.do("gm", "gm.move", combatant="c3", scene="mill", zone="yard", near=["c1"])
    table.do("gm", "gm.hide", id="c3")
    assert "duel.attack" not in offered(table, "gm")
    table.refused("gm", "not_now", "attack", combatant="c1", target="c3")


def test_while_dice_are_being_entered_a_gm_is_offered_nothing_that_may_have_to_roll() -> None:
    """Starting a fight or passing a turn would be refused as busy."""
    table = Table()
    table.do("gm", "gm.scene", scene="lane", name="The lane", zones=[{"id": "bend", "name": "the bend"}])
    table.do("gm", "gm.move", combatant="c4", scene="lane", zone="bend")
    table.do("gm", "gm.dice", do="physical")
    assert {"gm.encounter", "gm.turn"} <= set(offered(table, "gm"))
    table.do("ann", "roll", notation="d6")
    assert table.prompt(kind="dice").to == "ann"
    assert not {"gm.encounter", "gm.turn"} & set(offered(table, "gm"))
    assert "gm.encounter.end" in offered(table, "gm")
    table.answer(kind="dice", ints=(4,))
    assert {"gm.encounter", "gm.turn"} <= set(offered(table, "gm"))
