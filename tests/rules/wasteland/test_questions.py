"""Tests, Luck and attacks that wait for somebody: who may answer, and what a late, second or useless answer does."""

from __future__ import annotations

from typing import Any

import engine
from tests.rules.wasteland.tables import camp, quiet
from tests.support.table import Table

PICK: dict[str, Any] = {"attribute": "PER", "skill": "lockpick"}


def request(table: Table, combatant: str = "vera", **fields: Any) -> str:
    """The GM asks for a lockpick test; returns its id."""
    table.do("gm", "test.request", combatant=combatant, **{**PICK, **fields})
    return list(table.session.tests)[-1]


def pool(table: Table, name: str = "group") -> int:
    return int(table.session.pools[name].value)


def fill(table: Table, value: int) -> None:
    table.do("gm", "gm.set", kind="pools", id="group", field="value", value=value)


def test_a_bought_question_is_asked_in_words_and_answered_and_then_the_test_is_over() -> None:
    table = camp(3, 4)
    test = request(table)
    table.do("ann", "test.roll", test=test)
    assert table.prompt(kind="spend").to == "ann"
    table.refused("ben", "not_yours", "test.spend", test=test, what="information")
    table.do("ann", "test.spend", test=test, what="information")
    assert pool(table) == 0
    table.refused("ann", "not_now", "test.spend", test=test, what="information")
    table.refused("gm", "not_now", "test.spend", test=test, what="time")
    table.do("ann", "test.ask", test=test, question="Who locked it?")
    table.refused("ann", "not_now", "test.ask", test=test, question="And why?")
    table.refused("ann", "forbidden", "test.answer", test=test, answer="Me.")
    table.do("gm", "test.answer", test=test, answer="Somebody in a hurry.")
    assert table.viewers["ben"].told("wasteland.answer")[-1]["answer"] == "Somebody in a hurry."
    assert test not in table.session.tests


def test_time_is_halved_once_and_only_where_there_is_time() -> None:
    table = camp(3, 4, 3, 4)
    fill(table, 4)
    test = request(table, minutes=25)
    table.do("ann", "test.roll", test=test)
    table.answer("time", kind="spend")
    assert table.event("wasteland.time").data["minutes"] == 12
    assert "time" not in {choice.value for choice in table.prompt(kind="spend").choices}
    table.answer("done", kind="spend")
    test = request(table)
    table.do("ann", "test.roll", test=test)
    assert {choice.value for choice in table.prompt(kind="spend").choices} == {"done", "information"}


def test_a_window_without_a_legal_choice_never_opens() -> None:
    """A failed test, no Luck, no Action Points: nobody is asked anything."""
    table = camp(19, 19)
    test = request(table)
    table.do("ann", "test.roll", test=test)
    assert not table.session.prompts
    assert not table.session.tests


def test_preferences_answer_before_anybody_is_asked() -> None:
    table = camp(20, 3, luck=5)
    quiet(table)
    table.do("gm", "seat.prefs", kind="complication", value="always")
    test = request(table, difficulty=0, allow_roll=True)
    table.do("ann", "test.roll", test=test, roll=True)
    assert not table.session.prompts
    assert pool(table) == 1
    assert pool(table, "gm") == 3, "two players, and one complication that was banked"


def test_luck_is_asked_of_each_who_rolled_and_each_pays_their_own() -> None:
    table = camp(19, 18, 17, 4, 5, luck=2)
    test = request(table, difficulty=2)
    table.do("ben", "test.join", test=test, combatant="otto")
    assert table.prompt(kind="help").to == "gm"
    table.answer("yes", kind="help")
    table.do("ann", "test.roll", test=test)
    assert {prompt.to for prompt in table.prompts(kind="luck")} == {"ann", "ben"}
    table.refused("ben", "not_yours", "answer", prompt=table.prompt(to="ann", kind="luck").id, choice="yes", ints=[0])
    table.answer("yes", to="ann", kind="luck", ints=[0])
    table.refused("ann", "not_now", "luck.reroll", combatant="vera", positions=[1])
    table.answer("yes", to="ben", kind="luck", ints=[0])
    assert [table.session.combatants[one].luck for one in ("vera", "otto")] == [1, 1]
    asked = table.prompt(kind="luck")
    assert asked.to == "ann", "Otto's one die has been re-rolled, Vera still has one"
    table.refused("ann", "illegal_choice", "answer", prompt=asked.id, choice="yes", ints=[0])
    table.answer("no", to="ann", kind="luck")
    assert table.event("test.result").data["passed"] is True
    table.refused("ann", "unknown_id", "answer", prompt=asked.id, choice="yes", ints=[1])


def test_the_gm_may_refuse_help_and_close_a_test_to_helpers() -> None:
    table = camp(3, 19)
    test = request(table)
    table.do("ben", "test.join", test=test, combatant="otto", attribute="AGI", skill="sneak")
    table.answer("no", kind="help")
    assert table.session.tests[test].helpers == ()
    closed = request(table, help="none")
    table.refused("ben", "forbidden", "test.join", test=closed, combatant="otto")
    table.do("ann", "test.roll", test=test)
    assert table.event("test.result").data["successes"] == 1


def test_the_group_chooses_who_leads_and_the_former_leader_helps() -> None:
    table = camp(3, 4, 5)
    test = request(table, group=["otto"], difficulty=3)
    table.refused("ann", "illegal_choice", "test.lead", test=test, combatant="wolf")
    table.do("ben", "test.lead", test=test, combatant="otto")
    table.refused("ann", "illegal_choice", "test.roll", test=test, combatant="vera")
    table.do("ben", "test.roll", test=test)
    shown = table.event("test.thrown").data["pools"]
    assert [(one["by"], one["faces"]) for one in shown] == [("otto", [3, 4]), ("vera", [5])]


def test_player_characters_who_oppose_each_other_cannot_use_the_group_pool() -> None:
    table = camp(3, 3, 3, 3)
    fill(table, 6)
    test = request(table, opponent="otto")
    table.refused("ann", "not_now", "test.roll", test=test)
    table.refused("ben", "cannot_pay", "test.roll", test=test, combatant="otto", dice=1)
    table.do("ben", "test.roll", test=test, combatant="otto", dice=1, gm_ap=True)
    assert (pool(table), pool(table, "gm")) == (6, 3)


def test_simultaneous_sides_roll_in_any_order_and_a_tie_may_be_rolled_again() -> None:
    table = camp(3, 19, 4, 19, 3, 3, 4, 19, opposed="simultaneous", opposed_tie="reroll")
    test = request(table, opponent="wolf")
    table.do("ann", "test.roll", test=test)
    table.refused("ann", "not_now", "test.roll", test=test)
    table.do("gm", "test.roll", test=test, combatant="wolf")
    assert table.event("test.tied").data["successes"] == 1
    table.do("gm", "test.roll", test=test, combatant="wolf")
    table.do("ann", "test.roll", test=test)
    assert table.event("test.result").data["passed"] is False
    assert table.event("test.result").data["against_ap"] == 1


def test_a_target_that_leaves_while_the_shooter_ponders_is_not_hit() -> None:
    table = camp(3, 19, luck=1)
    table.do("gm", "gm.encounter", scene="camp")
    table.do("ann", "attack", combatant="vera", target="wolf", weapon="gun")
    table.do("gm", "gm.remove", combatant="wolf")
    table.answer("no", kind="luck")
    assert table.event("wasteland.miss").data["successes"] == 1
    assert table.current == "vera"
    assert table.session.combatants["vera"].ammo[0].count == 8, "the shot was fired"


def test_a_shooter_that_leaves_ends_the_attack() -> None:
    table = camp(3, 19, luck=1)
    table.do("gm", "gm.encounter", scene="camp")
    table.do("ann", "attack", combatant="vera", target="wolf", weapon="gun")
    prompt = table.prompt(kind="luck")
    table.do("gm", "gm.remove", combatant="vera")
    if prompt.id in table.session.prompts:
        table.do("gm", "answer", prompt=prompt.id, choice="no")
    assert not table.encounter.pending
    assert table.current == "wolf"


def test_damage_points_are_asked_for_after_a_melee_hit_as_far_as_the_pool_goes() -> None:
    table = camp(3, 4, 3, 1, 1, 2)
    table.do("gm", "gm.encounter", scene="camp")
    table.do("ann", "move", combatant="vera", zone="z0", near=["wolf"])
    table.do("ann", "attack", combatant="vera", target="wolf", weapon="club")
    assert [choice.value for choice in table.prompt(kind="damage_ap").choices] == ["0", "1"], "the surplus of this attack is all there is"
    table.answer("1", kind="damage_ap")
    assert table.session.combatants["wolf"].hp == 12 - 4
    assert pool(table) == 0


def test_a_luckless_wish_a_vetoed_one_a_dear_one_and_one_declined() -> None:
    table = camp(luck=3)
    table.do("ann", "luck.draw", combatant="vera", text="There is a key under the mat.")
    table.answer("veto", kind="draw")
    assert table.session.combatants["vera"].luck == 3
    table.do("ann", "luck.draw", combatant="vera", text="There is a key under the mat.")
    table.answer("yes", kind="draw", ints=[2])
    table.answer("no", kind="draw_price")
    assert table.session.combatants["vera"].luck == 3
    table.do("gm", "luck.offer", combatant="vera", text="The guard is asleep.", price=3)
    table.answer("yes", kind="draw_price")
    assert table.session.combatants["vera"].luck == 0
    assert not table.session.tests
    table.refused("ann", "cannot_pay", "luck.draw", combatant="vera", text="More luck.")


def test_a_wish_costs_one_where_the_switch_says_so() -> None:
    table = camp(luck=3, draw_cost=1)
    table.do("ann", "luck.draw", combatant="vera", text="A key.")
    assert table.prompt(kind="draw").ints is None
    table.answer("yes", kind="draw")
    assert table.session.combatants["vera"].luck == 2
    table.refused("gm", "illegal_choice", "luck.offer", combatant="vera", text="A door.", price=2)


def test_the_keepsake_gives_one_point_in_a_quest_where_the_switch_says_so() -> None:
    table = camp(luck=1)
    table.refused("ann", "forbidden", "luck.trinket", combatant="vera")
    table = camp(luck=1, trinket_luck=True)
    table.do("ann", "luck.trinket", combatant="vera")
    table.refused("ann", "limit", "luck.trinket", combatant="vera")
    table.do("gm", "luck.refresh", reason="quest", combatants=["otto"])
    table.do("ann", "luck.trinket", combatant="vera")
    assert table.session.combatants["vera"].luck == 3


def test_a_hindrance_for_the_next_test_is_gone_after_it_and_touches_no_other_skill() -> None:
    table = camp(19, 19, 19, 19, 19, 19)
    table.do("gm", "gm.modify", combatant="vera", amount=2, skill="lockpick", text="a broken pick")
    for fields, difficulty in (({"skill": "speech"}, 1), ({}, 3), ({}, 1)):
        table.do("ann", "test.roll", test=request(table, **fields))
        assert table.event("test.thrown").data["difficulty"] == difficulty


def test_an_undone_attack_shows_the_same_dice_again() -> None:
    table = camp(3, 19, 5, 1, 1)
    table.do("gm", "gm.encounter", scene="camp")
    before = table.session.combatants
    table.do("ann", "attack", combatant="vera", target="wolf", weapon="gun")
    first = table.event("wasteland.attack").data["faces"]
    table.do("gm", "gm.undo")
    assert table.session.combatants == before
    table.do("ann", "attack", combatant="vera", target="wolf", weapon="gun")
    assert table.event("wasteland.attack").data["faces"] == first
    assert table.session.combatants["wolf"].hp == 10


def test_players_may_roll_their_own_dice() -> None:
    table = camp()
    table.do("gm", "gm.encounter", scene="camp")
    table.do("gm", "gm.dice", do="physical")
    table.do("ann", "attack", combatant="vera", target="wolf", weapon="gun")
    for faces in ([3, 19], [5], [1, 1]):
        table.answer(kind="dice", ints=faces)
    assert table.session.combatants["wolf"].hp == 10
    assert [roll.proven for roll in table.last.rolls] == [False, False, False]


def test_a_voided_question_leaves_a_test_that_can_be_ended() -> None:
    table = camp(3, 4)
    test = request(table)
    table.do("ann", "test.roll", test=test)
    table.do("gm", "gm.prompt", prompt=table.prompt(kind="spend").id, do="void")
    table.do("ann", "test.spend", test=test, what="done")
    assert not table.session.tests


def test_fifty_wishes_are_enough() -> None:
    table = camp(luck=3)
    for _ in range(50):
        table.do("ann", "luck.draw", combatant="vera", text="A wish.")
    table.refused("ann", "limit", "luck.draw", combatant="vera", text="A wish.")


def test_tests_wait_beside_each_other() -> None:
    """A test that waits for an answer blocks itself alone."""
    table = camp(3, 4, 3, 4)
    one, two = request(table), request(table, "otto")
    table.do("ann", "test.roll", test=one)
    table.do("ben", "test.roll", test=two)
    assert {prompt.to for prompt in table.prompts(kind="spend")} == {"ann", "ben"}
    table.refused("ann", "not_now", "test.roll", test=one)
    assert isinstance(table.session, engine.Session)


def test_a_hidden_test_is_rolled_with_hidden_dice_and_told_to_nobody_else() -> None:
    table = camp(3, 20)
    table.do("gm", "test.request", combatant="wolf", **PICK, hidden=True, label="listens at the door")
    (test,) = table.session.tests
    assert test not in table.view("ann").get("tests", {})
    table.refused("ann", "unknown_id", "test.join", test=test, combatant="vera")
    heard = len(table.viewers["ann"].events)
    table.do("gm", "test.roll", test=test)
    assert [roll.stream for roll in table.last.rolls] == ["hidden"]
    table.answer("describe", kind="complication")
    told = [event["type"] for event in table.viewers["ann"].events[heard:]]
    assert not [one for one in told if one.startswith("test.")]


def test_where_points_may_be_generated_for_any_use_the_gm_gets_what_the_pool_lacks() -> None:
    """summary_2d20_zh, section 2: without AP the GM may gain some so that you have them."""
    table = camp(3, 4, 3, 1, 1, 2, gm_ap_scope="any")
    table.do("gm", "gm.encounter", scene="camp")
    table.do("ann", "move", combatant="vera", zone="z0", near=["wolf"])
    table.do("ann", "aim", combatant="vera", gm_ap=True)
    assert (pool(table), pool(table, "gm")) == (0, 3)
    quiet(table, "aim")
    table.do("ann", "attack", combatant="vera", target="wolf", weapon="club", damage_ap=1, gm_ap=True)
    assert table.session.combatants["wolf"].hp == 12 - 4
    assert (pool(table), pool(table, "gm")) == (0, 3), "the attack's own surplus paid for it"


def test_generated_points_buy_information_too_where_the_switch_says_so() -> None:
    table = camp(3, 19, gm_ap_scope="any")
    table.do("ann", "test.roll", test=request(table))
    table.answer("information", kind="spend")
    assert (pool(table), pool(table, "gm")) == (0, 3)
