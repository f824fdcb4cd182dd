"""Rounds, ties, opening turns, Lucky Timing, budgets and the end of a fight, beyond what the rule cases say."""

from __future__ import annotations

from typing import Any

from engine import Setup
from tests.rules.wasteland.tables import camp
from tests.support.table import Table


def fight(table: Table, **fields: Any) -> None:
    table.do("gm", "gm.encounter", scene="camp", **fields)


def passes(table: Table) -> str:
    """Whose turn it is ends it; returns whose turn comes."""
    table.do(table.holder(), "turn.end", combatant=table.current)
    return table.current


def test_a_tie_of_three_is_asked_one_after_another_and_holds_for_every_round() -> None:
    table = camp()
    for one in ("vera", "otto", "wolf"):
        table.do("gm", "gm.set", kind="combatants", id=one, field="initiative", value=10)
    fight(table)
    table.refused("ann", "busy", "move", combatant="vera", zone="z1")
    assert table.prompt(kind="tie").to == "gm"
    table.answer("wolf", kind="tie")
    assert {choice.value for choice in table.prompt(kind="tie").choices} == {"vera", "otto"}
    table.answer("otto", kind="tie")
    assert [table.current, *(passes(table) for _ in range(7))] == ["wolf", "otto", "vera", "crow"] * 2


def test_a_tie_answers_itself_with_the_first_when_its_time_is_up() -> None:
    table = camp()
    table.do("gm", "gm.setting", key="deadline.prompt", value=60)
    table.do("gm", "gm.set", kind="combatants", id="wolf", field="initiative", value=12)
    fight(table)
    prompt = table.prompt(kind="tie")
    table.later(61)
    table.system("system.deadline", prompt=prompt.id)
    assert table.current == prompt.default == "vera"


def test_twins_from_one_template_are_not_asked_about() -> None:
    table = Table("wasteland", Setup(ruleset="wasteland", sample="scrapyard"))
    table.do("gm", "gm.encounter", scene="scrapyard")
    asked = 0
    while table.prompts(kind="tie"):
        group = {table.session.combatants[choice.value].template for choice in table.prompt(kind="tie").choices}
        assert len(group) > 1, "a question between twins alone"
        table.answer(table.prompt(kind="tie").default, kind="tie")
        asked += 1
    assert asked
    assert {"picker1", "picker2", "picker3"} < set(table.encounter.order)


def test_who_leaves_while_a_tie_is_open_is_not_in_the_order_and_who_joins_is() -> None:
    table = camp()
    table.do("gm", "gm.set", kind="combatants", id="wolf", field="initiative", value=12)
    fight(table, combatants=["vera", "wolf", "otto"])
    table.do("gm", "gm.encounter.join", encounter=table.encounter.id, combatant="crow", initiative=20)
    table.do("gm", "gm.remove", combatant="otto")
    table.answer("wolf", kind="tie")
    assert table.encounter.order == ("crow", "wolf", "vera")


def test_who_opens_the_fight_has_a_turn_before_round_one_and_nobody_else_acts_in_it() -> None:
    table = camp(luck=2)
    fight(table, first="otto")
    assert (table.encounter.round, table.current) == (0, "otto")
    table.refused("ann", "not_your_turn", "move", combatant="vera", zone="z1")
    table.refused("ann", "not_now", "luck.timing", combatant="vera")
    assert [passes(table) for _ in range(4)] == ["vera", "wolf", "otto", "crow"]
    assert table.encounter.round == 1


def test_only_a_players_character_opens_unless_the_switch_says_who_shot_first() -> None:
    for value, opened in (("initiator_pc", False), ("first_shooter", True)):
        table = camp(opening_turn=value)
        fight(table, first="crow")
        assert (table.current == "crow" and table.encounter.round == 0) is opened


def test_lucky_timing_ordered_in_advance_is_taken_and_paid_right_after_the_one_it_names() -> None:
    table = camp(luck=2)
    fight(table)
    table.do("ben", "luck.timing", combatant="otto", after="vera")
    assert table.session.combatants["otto"].luck == 2
    assert passes(table) == "otto"
    assert table.session.combatants["otto"].luck == 1
    assert [passes(table) for _ in range(2)] == ["wolf", "crow"]


def test_an_order_for_lucky_timing_can_be_taken_back_and_lapses_without_luck() -> None:
    table = camp(luck=1)
    fight(table)
    table.do("ben", "luck.timing", combatant="otto", after="vera")
    table.do("ben", "luck.timing", combatant="otto", cancel=True)
    assert passes(table) == "wolf"
    table.do("ann", "luck.timing", combatant="vera", after="wolf")
    table.do("gm", "gm.set", kind="combatants", id="vera", field="luck", value=0)
    assert [passes(table) for _ in range(3)] == ["otto", "crow", "vera"]


def test_lucky_timing_is_open_until_the_running_turn_does_something() -> None:
    table = camp(luck=2)
    fight(table)
    table.do("ann", "move", combatant="vera", zone="z1")
    table.refused("ben", "not_now", "luck.timing", combatant="otto")
    passes(table)
    table.do("ben", "luck.timing", combatant="otto")
    assert table.current == "otto"
    assert [passes(table) for _ in range(2)] == ["wolf", "crow"]
    table.refused("ben", "not_now", "luck.timing", combatant="otto")


def test_action_points_above_the_cap_may_be_used_until_the_turn_ends_and_are_lost_then() -> None:
    table = camp(1, 1)
    table.do("gm", "gm.set", kind="pools", id="group", field="value", value=6)
    fight(table)
    table.do("ann", "rally", combatant="vera")
    assert table.session.pools["group"].value == 10
    table.do("ann", "aim", combatant="vera")
    table.do("ann", "move", combatant="vera", zone="z1")
    assert table.session.pools["group"].value == 9, "the second minor action was paid from the excess"
    passes(table)
    assert table.session.pools["group"].value == 6
    assert table.event("wasteland.ap.lost").data["lost"] == 3


def test_a_second_major_is_bought_and_its_test_is_harder_a_third_is_refused() -> None:
    table = camp(15, 16, 15, 16)
    table.do("gm", "gm.set", kind="pools", id="group", field="value", value=4)
    fight(table)
    table.do("ann", "attack", combatant="vera", target="wolf", weapon="gun")
    table.do("ann", "attack", combatant="vera", target="wolf", weapon="gun")
    assert table.event("wasteland.attack").data["difficulty"] == 2
    assert table.session.pools["group"].value == 2
    table.refused("ann", "limit", "attack", combatant="vera", target="wolf", weapon="gun")


def test_a_stunned_survivor_buys_every_action_of_its_next_turn() -> None:
    table = camp(15, 16)
    table.do("gm", "gm.set", kind="combatants", id="vera", field="stunned", value=True)
    fight(table)
    table.refused("ann", "cannot_pay", "move", combatant="vera", zone="z1")
    table.do("gm", "gm.set", kind="pools", id="group", field="value", value=3)
    table.do("ann", "move", combatant="vera", zone="z1")
    table.do("ann", "attack", combatant="vera", target="wolf", weapon="gun")
    # Range 1 off, and the bought major is 1 harder though it is the first.
    assert table.event("wasteland.attack").data["difficulty"] == 3
    assert table.session.pools["group"].value == 0
    for _ in range(4):
        passes(table)
    assert table.current == "vera"
    table.do("ann", "move", combatant="vera", zone="z0")


def test_the_fight_ends_when_one_side_is_left_and_its_dice_are_revealed() -> None:
    table = camp(1, 5, 3, 2, 2)
    table.do("gm", "gm.remove", combatant="crow")
    table.do("gm", "gm.set", kind="combatants", id="wolf", field="hp", value=4)
    fight(table)
    table.do("ann", "attack", combatant="vera", target="wolf", weapon="gun")
    assert not table.session.encounters
    assert table.session.combatants["wolf"].dying
    assert table.event("encounter.ended").data["side"] == "us"
    assert table.event("dice.revealed").data["last"] == 3


def test_terrain_and_obstacles_cost_action_points_on_the_way() -> None:
    table = camp()
    zones = [{"id": "z0", "name": "mud", "cost": 1}, {"id": "z1", "name": "grass"}, {"id": "z2", "name": "hill"}]
    edges = [{"a": "z0", "b": "z1", "cost": 2}, {"a": "z1", "b": "z2"}]
    table.do("gm", "gm.scene", scene="camp", name="The camp", zones=zones, edges=edges)
    fight(table)
    table.refused("ann", "cannot_pay", "sprint", combatant="vera", zone="z2")
    table.do("gm", "gm.set", kind="pools", id="group", field="value", value=3)
    table.do("ann", "sprint", combatant="vera", zone="z2")
    assert table.session.pools["group"].value == 0
    assert table.session.combatants["vera"].zone == "z2"
