"""Promises of engine.turns: in a round everybody able has exactly one turn, whatever happens to the ring meanwhile."""

from __future__ import annotations

import random

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import engine
from engine import Setup, rulesets, turns
from engine.commands import ZoneSpec
from engine.rulesets.duel import Duel
from engine.session import Encounter
from engine.setup import CombatantSetup, SceneSetup
from engine.step import Step
from tests.support.table import Table


def ring(speeds: dict[str, int], more: tuple[SceneSetup, ...] = ()) -> Table:
    """An encounter of combatants of one side, in the order of their speeds (ties: as listed)."""
    road = SceneSetup(id="road", zones=(ZoneSpec(id="bend", name="the bend"),))
    people = tuple(CombatantSetup(id=name, side=name, scene="road", zone="bend", fields={"speed": speed}) for name, speed in speeds.items())
    return Table(setup=Setup(ruleset="duel", scenes=(road, *more), combatants=people, encounter="road"))


def end(table: Table) -> None:
    table.do("gm", "turn.end", combatant=table.current)


def out(table: Table, who: str, value: bool = True) -> None:
    table.do("gm", "gm.set", kind="combatants", id=who, field="out", value=value)


def whole_round(table: Table) -> list[str]:
    """Play the rest of the round; who had turns, in order."""
    number, seen = table.encounter.round, []
    while table.encounter.round == number:
        seen.append(table.current)
        end(table)
    return seen


def test_turns_go_from_the_highest_initiative_down_and_ties_as_they_came() -> None:
    table = ring({"a": 5, "b": 9, "c": 5, "d": 7})
    assert whole_round(table) == ["b", "d", "a", "c"]
    assert whole_round(table) == ["b", "d", "a", "c"]
    assert table.encounter.turn == 9


def test_the_killed_have_no_turn_and_nobody_else_is_skipped() -> None:
    table = ring({"a": 9, "b": 8, "c": 7, "d": 6})
    end(table)
    out(table, "c")
    assert whole_round(table) == ["b", "d"]
    assert whole_round(table) == ["a", "b", "d"]


def test_who_falls_in_its_own_turn_passes_it_on() -> None:
    table = ring({"a": 9, "b": 8})
    out(table, "a")
    assert table.current == "b"
    out(table, "a", False)
    assert whole_round(table) == ["b"]
    assert table.current == "a"


def test_the_removed_are_gone_from_the_ring_even_in_their_own_turn() -> None:
    table = ring({"a": 9, "b": 8, "c": 7})
    end(table)
    table.do("gm", "gm.remove", combatant="b")
    assert (table.current, table.encounter.order) == ("c", ("a", "c"))
    assert whole_round(table) == ["c"]
    assert whole_round(table) == ["a", "c"]


@pytest.mark.parametrize(("speed", "this_round"), [(10, ["b", "c"]), (8, ["b", "c"]), (7, ["b", "c", "new"]), (1, ["b", "c", "new"])])
def test_who_joins_acts_this_round_only_if_its_place_is_still_to_come(speed: int, this_round: list[str]) -> None:
    table = ring({"a": 9, "b": 8, "c": 7})
    end(table)
    table.do("gm", "gm.spawn", id="new", scene="road", zone="bend", fields={"speed": speed})
    table.do("gm", "gm.encounter.join", encounter=table.encounter.id, combatant="new")
    # A newcomer of b's initiative stands after b, so its place is still to come.
    expected = ["b", "new", "c"] if speed == 8 else this_round
    assert whole_round(table) == expected
    table.refused("gm", "not_now", "gm.encounter.join", encounter=table.encounter.id, combatant="new")
    assert sorted(whole_round(table)) == ["a", "b", "c", "new"]


def test_a_turn_can_be_delayed_behind_one_that_is_still_to_come() -> None:
    table = ring({"a": 9, "b": 8, "c": 7})
    table.do("gm", "turn.delay", combatant="a", after="b")
    assert whole_round(table) == ["b", "a", "c"]
    assert whole_round(table) == ["a", "b", "c"], "a delay lasts for its round"
    end(table)
    for nobody in ("a", "b"):
        assert table.refused("gm", "illegal_choice", "turn.delay", combatant="b", after=nobody).data["known"] == ["c"]
    table.refused("gm", "unknown_id", "turn.delay", combatant="b", after="nobody")


def test_nobody_is_told_of_the_unseen_by_a_delay() -> None:
    table = Table()
    table.do("gm", "gm.hide", id="c4")
    refusal = table.refused("ann", "illegal_choice", "turn.delay", combatant="c1", after="c1")
    assert refusal.data["known"] == ["c2", "c3"]
    table.refused("ann", "unknown_id", "turn.delay", combatant="c1", after="c4")


def test_a_fight_in_which_nobody_can_act_waits_and_goes_on_when_somebody_can() -> None:
    table = ring({"a": 9, "b": 8})
    out(table, "b")
    out(table, "a")
    assert table.current == ""
    out(table, "b", False)
    assert table.current == "b"


def test_the_gm_skips_a_turn_and_gives_one_out_of_order_and_who_was_cut_off_comes_again() -> None:
    table = ring({"a": 9, "b": 8, "c": 7})
    table.do("gm", "gm.turn", encounter=table.encounter.id)
    assert table.current == "b"
    table.do("gm", "gm.turn", encounter=table.encounter.id, combatant="c")
    assert table.current == "c"
    assert whole_round(table) == ["c", "b"]
    table.refused("gm", "illegal_choice", "gm.turn", encounter=table.encounter.id, combatant="nobody")


def test_two_scenes_have_their_own_turns_at_once() -> None:
    den = SceneSetup(id="den", zones=(ZoneSpec(id="pit", name="the pit"),))
    table = ring({"a": 9, "b": 8}, more=(den,))
    for name, speed in (("x", 5), ("y", 4)):
        table.do("gm", "gm.spawn", id=name, side=name, scene="den", zone="pit", fields={"speed": speed})
    table.do("gm", "gm.encounter", scene="den")
    first, second = table.session.encounters
    table.do("gm", "turn.end", combatant="x")
    table.do("gm", "turn.end", combatant="a")
    table.do("gm", "turn.end", combatant="y")
    assert [(table.session.encounters[one].current, table.session.encounters[one].round) for one in (first, second)] == [("b", 1), ("x", 2)]
    table.refused("gm", "not_your_turn", "turn.end")
    table.do("gm", "gm.encounter.end", encounter=first)
    assert list(table.session.encounters) == [second]


def test_who_moves_to_another_scene_leaves_the_fight() -> None:
    den = SceneSetup(id="den", zones=(ZoneSpec(id="pit", name="the pit"),))
    table = ring({"a": 9, "b": 8, "c": 7}, more=(den,))
    table.do("gm", "gm.move", combatant="a", scene="den", zone="pit")
    assert (table.current, table.encounter.order) == ("b", ("b", "c"))


def test_a_fight_of_nobody_or_of_people_elsewhere_does_not_start() -> None:
    den = SceneSetup(id="den", zones=(ZoneSpec(id="pit", name="the pit"),))
    table = ring({"a": 9}, more=(den,))
    table.refused("gm", "no_target", "gm.encounter", scene="den")
    table.refused("gm", "out_of_range", "gm.encounter", scene="den", combatants=["a"])
    table.refused("gm", "unknown_id", "gm.encounter", scene="den", combatants=["nobody"])


MOVES = st.lists(
    st.tuples(st.sampled_from(["end", "end", "end", "kill", "heal", "remove", "add", "delay"]), st.integers(0, 10_000)), max_size=40
)


@settings(max_examples=60)
@given(speeds=st.lists(st.integers(1, 5), min_size=1, max_size=6), moves=MOVES)
def test_whatever_happens_in_a_round_nobody_able_is_skipped_or_doubled(speeds: list[int], moves: list[tuple[str, int]]) -> None:
    """Against a model that knows nothing of the ring: who was able from the round's start to its end, and who had turns in it."""
    table = ring({f"n{i}": speed for i, speed in enumerate(speeds)})
    table.watched = False
    had: list[str] = [table.current]
    always_able = set(table.encounter.order)
    number, turn, added = 1, table.encounter.turn, 0
    for move, seed in moves:
        rnd = random.Random(seed)
        encounter = table.encounter
        people = list(encounter.order)
        waiting = [
            one for one in people if one not in encounter.acted and one != encounter.current and not table.session.combatants[one].out
        ]
        if move == "end" and encounter.current:
            end(table)
        elif move == "kill" and people:
            out(table, rnd.choice(people))
        elif move == "heal" and people:
            out(table, rnd.choice(people), False)
        elif move == "remove" and people:
            table.do("gm", "gm.remove", combatant=rnd.choice(people))
        elif move == "add":
            added += 1
            table.do("gm", "gm.spawn", id=f"x{added}", scene="road", zone="bend", fields={"speed": rnd.randint(1, 6)})
            table.do("gm", "gm.encounter.join", encounter=encounter.id, combatant=f"x{added}")
        elif move == "delay" and encounter.current and waiting:
            table.do("gm", "turn.delay", combatant=encounter.current, after=rnd.choice(waiting))
            had.remove(encounter.current)  # it gave this turn up for a later one
        now = table.encounter
        able = {one for one in now.order if not table.session.combatants[one].out}
        if now.round != number:
            assert now.round == number + 1
            assert always_able <= set(had), f"skipped in round {number}: {always_able - set(had)}"
            number, had, always_able = now.round, [], set(able)
        else:
            always_able &= able
        if now.turn != turn:
            turn = now.turn
            had.append(now.current)
            assert now.current in able
        assert len(had) == len(set(had)), f"doubled in round {number}: {had}"
        assert bool(now.current) == bool(able), "somebody is on turn exactly when somebody can act"


def test_a_ruleset_may_change_the_order_of_a_round_as_it_begins_or_end_the_fight(monkeypatch: pytest.MonkeyPatch) -> None:
    """`round_started` is called once for every round after the first, before anybody's turn in it."""

    class Turncoat(Duel):
        name = "turncoat"

        def round_started(self, step: Step, encounter: Encounter) -> None:
            assert not encounter.current
            assert not encounter.acted
            if encounter.round == 4:
                turns.finish(step, encounter.id, "Enough.")
            else:
                step.change("encounters", encounter.id, order=encounter.order[::-1])

    monkeypatch.setitem(rulesets._found, "turncoat", Turncoat())
    base = ring({"a": 3, "b": 2, "c": 1})
    setup = msgspec.convert(base.entries[0].command["setup"], Setup)
    table = Table("turncoat", msgspec.structs.replace(setup, ruleset="turncoat"))
    assert whole_round(table) == ["a", "b", "c"]
    assert [one.type for one in table.events if one.type in ("round.started", "turn.started")] == ["round.started", "turn.started"]
    assert whole_round(table) == ["c", "b", "a"]
    for _ in range(3):
        end(table)
    assert not table.session.encounters
    assert table.audit().verdict == "ok"


def test_a_turn_that_has_begun_cannot_be_put_off_and_so_taken_twice():
    table = Table()
    by, seat = table.current, table.holder()
    assert "turn.delay" in {option.type for option in engine.options_of(table.rules, table.session, seat)}
    table.do(seat, "brace", combatant=by)
    assert "turn.delay" not in {option.type for option in engine.options_of(table.rules, table.session, seat)}
    waiting = next(one for one in table.encounter.order if one != by)
    table.refused(seat, "not_now", "turn.delay", combatant=by, after=waiting)
    table.do(seat, "turn.end", combatant=by)
    fresh = engine.options_of(table.rules, table.session, table.holder())
    assert "turn.delay" in {option.type for option in fresh}, "the next turn is fresh"


def test_what_others_do_does_not_begin_a_turn():
    table = Table()
    by, seat = table.current, table.holder()
    table.do("gm", "chat", text="Well?")
    table.do("gm", "test.propose", combatant=next(one for one in table.session.combatants if one != by))
    waiting = next(one for one in table.encounter.order if one != by)
    table.do(seat, "turn.delay", combatant=by, after=waiting)
    assert table.current == waiting
