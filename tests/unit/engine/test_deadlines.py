"""Promises of deadlines: what waits has its time, what is overdue is settled exactly once, and time that did not run does not count."""

from __future__ import annotations

import pytest

import engine
from engine import Rejected, ScriptedDice
from tests.support.table import Table

MINUTE = 60_000


def waiting(minutes: int = 10, *, faces: tuple[int, ...] = ()) -> Table:
    """Reed strikes at Tollman; the GM has some minutes to say whether he parries."""
    table = Table(dice=ScriptedDice(faces) if faces else None)
    table.do("gm", "gm.setting", key="deadline.prompt", value=minutes)
    table.do("ann", "move", combatant="c1", zone="yard", near=["c3"])
    table.do("ann", "attack", target="c3")
    return table


def refused_to_the_system(table: Table, **deadline: object) -> str:
    with pytest.raises(Rejected) as caught:
        table.system("system.deadline", **deadline)
    return caught.value.code


def test_an_overdue_question_is_answered_by_its_default_exactly_once() -> None:
    table = waiting(faces=(20, 1, 3, 6))
    prompt = table.prompt()
    assert engine.due(table.session) == table.now_ms + 10 * MINUTE == prompt.deadline
    table.later(ms=10 * MINUTE - 1)
    assert engine.overdue(table.session, table.now_ms) == []
    assert refused_to_the_system(table, prompt=prompt.id) == "not_now"
    table.later(ms=1)
    (deadline,) = engine.overdue(table.session, table.now_ms)
    assert deadline.prompt == prompt.id
    table.system("system.deadline", prompt=prompt.id)
    assert table.event("duel.cross").data["parry"] is False
    assert refused_to_the_system(table, prompt=prompt.id) == "already_answered"
    assert engine.due(table.session) is None


def test_a_question_answered_in_time_has_no_deadline_any_more() -> None:
    table = waiting()
    prompt = table.prompt().id
    table.answer("yes")
    table.later(60)
    assert prompt not in [one.prompt for one in engine.overdue(table.session, table.now_ms)]
    assert refused_to_the_system(table, prompt=prompt) == "already_answered"


def test_a_turn_that_runs_out_passes_on_and_a_late_word_of_it_is_refused() -> None:
    table = Table()
    table.do("gm", "gm.setting", key="deadline.turn", value=5)
    assert (table.current, table.encounter.deadline) == ("c1", table.now_ms + 5 * MINUTE)
    old = {"encounter": table.encounter.id, "turn": table.encounter.turn}
    table.later(5)
    table.system("system.deadline", **old)
    assert table.current == "c2"
    assert refused_to_the_system(table, **old) == "already_answered"
    table.later(4)
    assert refused_to_the_system(table, encounter=table.encounter.id, turn=table.encounter.turn) == "not_now"


def test_a_turn_that_somebody_elses_question_holds_up_gets_fresh_time_after_it() -> None:
    table = waiting(minutes=1000)
    table.do("gm", "gm.setting", key="deadline.turn", value=5)
    table.later(6)
    # No deadline yet: the setting is newer than the turn, which waits for an answer.
    assert table.encounter.deadline is None
    table.answer("yes")
    while table.prompts():
        table.answer("no")
    assert table.current == "c1"
    assert engine.due(table.session) == table.now_ms + 5 * MINUTE


def test_a_turns_time_does_not_run_out_while_a_question_is_open() -> None:
    table = Table()
    table.do("gm", "gm.setting", key="deadline.turn", value=5)
    table.do("ann", "move", combatant="c1", zone="yard", near=["c3"])
    table.do("ann", "attack", target="c3")
    table.later(6)
    table.system("system.deadline", encounter=table.encounter.id, turn=table.encounter.turn)
    assert table.encounter.deadline is None
    assert table.current == "c1"
    table.answer("yes")
    while table.prompts():
        table.answer("no")
    assert table.encounter.deadline == table.now_ms + 5 * MINUTE


def test_time_stands_still_while_the_table_is_paused() -> None:
    table = waiting()
    table.later(4)
    table.do("gm", "gm.pause")
    table.later(1000)
    assert engine.due(table.session) is None
    assert engine.overdue(table.session, table.now_ms) == []
    assert refused_to_the_system(table, prompt=table.prompt().id) == "not_now"
    table.do("gm", "gm.pause", on=False)
    assert engine.due(table.session) == table.now_ms + 6 * MINUTE


def test_what_is_asked_while_paused_has_its_whole_time_afterwards() -> None:
    table = waiting(faces=(2, 20))
    table.do("gm", "gm.pause")
    table.later(100)
    table.answer("no", by="gm")
    assert table.prompt().kind == "reroll"
    table.later(100)
    table.do("gm", "gm.pause", on=False)
    assert engine.due(table.session) == table.now_ms + 10 * MINUTE


def test_downtime_moves_every_deadline_back() -> None:
    table = waiting()
    before = engine.due(table.session)
    assert before is not None
    table.system("system.extend", ms=90_000)
    assert engine.due(table.session) == before + 90_000
    for ms in (0, -1):
        with pytest.raises(Rejected, match="never forward"):
            table.system("system.extend", ms=ms)


def test_downtime_of_a_paused_table_counts_once() -> None:
    table = waiting()
    table.do("gm", "gm.pause")
    with pytest.raises(Rejected, match="stand still"):
        table.system("system.extend", ms=90_000)


def test_a_deadline_is_told_to_the_table_and_shown_with_the_question() -> None:
    table = waiting()
    prompt = table.prompt()
    assert table.view("ben")["prompts"][prompt.id]["deadline"] == prompt.deadline
    table.later(10)
    table.system("system.deadline", prompt=prompt.id)
    assert table.viewers["ben"].told("deadline.passed")[0]["seat"] == "gm"


def test_the_fiction_clock_moves_by_command_alone() -> None:
    table = Table()
    table.later(500)
    table.do("ann", "turn.end")
    assert table.session.table.clock == 0
    table.do("gm", "gm.clock", minutes=90)
    table.do("gm", "gm.clock", minutes=30)
    assert table.session.table.clock == 120
    assert table.view("ann")["table"]["table"]["clock"] == 120
