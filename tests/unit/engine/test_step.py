"""Promises of engine.step: it is the only pen, its record is exact, and a bug that runs wild is cut off."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

import engine
from engine import Rejected, ScriptedDice
from engine import step as step_module
from engine.rejected import StepLimit
from engine.session import Combatant, Ints
from engine.step import Step
from tests.support.table import Table

OWNER = ("encounters", "e")


def pen(table: Table, by: str = "ann", **more: Any) -> Step:
    return Step(table.rules, table.session, table.dice, table.now_ms, by, **more)


def finished(step: Step) -> tuple[engine.Session, engine.Entry]:
    return step.finish(action_id="a.1", command={"type": "test"}, stamp="0" * 16)


def test_a_session_cannot_be_written_to() -> None:
    session: Any = Table().session
    with pytest.raises(AttributeError):
        session.v = 5
    with pytest.raises(TypeError):
        session.combatants["c1"] = None
    with pytest.raises(AttributeError):
        session.combatants["c1"].hp = 0


def test_what_a_step_shows_cannot_be_written_to_past_its_record() -> None:
    step = pen(Table())
    step.change("combatants", "c1", hp=3)
    shown: Any = step.combatants
    with pytest.raises(TypeError):
        shown["c1"] = None
    assert step.combatants["c1"].hp == 3


def test_a_step_shows_what_was_written_and_leaves_its_session_alone() -> None:
    table = Table()
    step = pen(table)
    step.change("combatants", "c1", hp=3)
    assert (step.combatants["c1"].hp, table.session.combatants["c1"].hp) == (3, 12)


def test_many_changes_of_one_entity_are_one_change_with_the_last_values() -> None:
    step = pen(Table())
    for hp in (9, 5, 4):
        step.change("combatants", "c1", hp=hp)
    step.change("combatants", "c1", grit=0)
    _, entry = finished(step)
    assert [(one.op, one.kind, one.id, one.fields) for one in entry.changes if one.kind == "combatants"] == [
        ("=", "combatants", "c1", {"hp": 4, "grit": 0})
    ]


def test_a_change_back_to_the_old_value_is_no_change() -> None:
    step = pen(Table())
    step.change("combatants", "c1", hp=1)
    step.change("combatants", "c1", hp=12)
    assert not [one for one in finished(step)[1].changes if one.kind == "combatants"]


def test_what_was_added_and_removed_leaves_no_trace() -> None:
    step = pen(Table())
    step.add("combatants", Combatant(id="new", name="New"))
    step.remove("combatants", "new")
    session, entry = finished(step)
    assert "new" not in session.combatants
    assert not [one for one in entry.changes if one.id == "new"]


def test_a_replayed_session_iterates_in_the_same_order_whatever_was_removed_and_put_back() -> None:
    table = Table()
    step = pen(table)
    first = step.combatants["c1"]
    step.remove("combatants", "c1")
    step.add("combatants", replace(first, id="new"))
    step.put("combatants", first)
    session, entry = finished(step)
    followed = engine.evolve(table.rules, table.session, engine.decode_entry(engine.encode_entry(entry)))
    assert list(followed.combatants) == list(session.combatants)
    assert engine.encode_snapshot(followed) == engine.encode_snapshot(session)


def test_a_taken_id_is_refused_and_removing_nothing_is_nothing() -> None:
    step = pen(Table())
    with pytest.raises(Rejected, match="is taken"):
        step.add("combatants", Combatant(id="c1", name="Again"))
    step.remove("combatants", "nobody")
    assert not finished(step)[1].changes


def test_a_field_may_be_called_like_a_parameter_of_the_pen() -> None:
    step = pen(Table())
    assert step.change("combatants", "c1", kind="statue").kind == "statue"


def test_a_write_after_the_end_cannot_reach_the_finished_session() -> None:
    step = pen(Table())
    step.change("combatants", "c1", hp=3)
    session, _ = finished(step)
    step.change("combatants", "c1", hp=1)
    assert session.combatants["c1"].hp == 3


@pytest.mark.parametrize(
    ("cap", "flood"),
    [
        ("MAX_EVENTS", lambda step: step.emit("x", "x")),
        ("MAX_CHANGES", lambda step: step.add("combatants", Combatant(id=step.ident("c"), name="x"))),
        ("MAX_ROLLS", lambda step: step.roll(1, 6, purpose="x")),
        (
            "MAX_PROMPTS",
            lambda step: step.ask(OWNER, "ann", kind="k", type="t", text="?", choices=[("a", "a"), ("b", "b")], default="a"),
        ),
    ],
)
def test_a_step_that_grows_out_of_bounds_is_cut_off(cap: str, flood: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    step = pen(Table())
    monkeypatch.setattr(step_module, cap, 5)
    for _ in range(2):
        flood(step)

    def go_on() -> None:
        for _ in range(5):
            flood(step)

    with pytest.raises(StepLimit):
        go_on()


def test_a_ruleset_that_runs_wild_or_breaks_is_refused_as_internal_with_its_cause(monkeypatch: pytest.MonkeyPatch) -> None:
    table = Table()

    def wild(step: Step, command: Any) -> None:
        while True:
            step.emit("x", "x")

    monkeypatch.setitem(table.rules.handlers, type(table.act_at("ann", {"type": "brace"}).command), wild)  # type: ignore[attr-defined]
    assert isinstance(table.refused("ann", "internal", "brace").__cause__, StepLimit)

    def broken(step: Step, command: Any) -> None:
        step.change("combatants", "c1", hp=1)
        raise ZeroDivisionError

    monkeypatch.setitem(table.rules.handlers, type(table.act_at("ann", {"type": "brace"}).command), broken)  # type: ignore[attr-defined]
    assert isinstance(table.refused("ann", "internal", "brace").__cause__, ZeroDivisionError)
    table.do("ann", "turn.end")
    assert table.current == "c2", "the session is as playable as before"


def test_every_roll_takes_the_next_number_of_its_stream() -> None:
    with ScriptedDice([3, 4, 5, 6]) as dice:
        step = pen(Table(dice=dice))
        facts = [step.roll(2, 6, purpose="a"), step.roll(1, 6, purpose="b", hidden=True), step.roll(1, 6, purpose="c", of=1)]
    assert [(one.stream, one.n) for one in facts] == [("open", 1), ("hidden", 1), ("open", 2)]
    assert [one.faces for one in facts] == [(3, 4), (5,), (6,)]


def test_ids_are_never_drawn_twice() -> None:
    table = Table()
    first = table.do("gm", "test.propose", combatant="c1")
    second = table.do("gm", "test.propose", combatant="c1")
    assert len({*first.idents, *second.idents}) == len(first.idents) + len(second.idents) == 2


def ask(step: Step, **more: Any) -> Any:
    fields: dict[str, Any] = {
        "kind": "k",
        "type": "t",
        "text": "?",
        "choices": [("yes", "Yes"), ("no", "No")],
        "default": "no",
        "always": "yes",
        "never": "no",
    }
    prompt_id = step.ask(OWNER, more.pop("to", "ann"), **{**fields, **more})
    return step.prompts[prompt_id]


def test_a_preference_answers_at_once_and_asking_waits() -> None:
    table = Table()
    assert ask(pen(table)).answer is None
    table.do("ann", "seat.prefs", kind="k", value="always")
    assert ask(pen(table)).answer == "yes"
    table.do("ann", "seat.prefs", kind="k", value="never")
    assert ask(pen(table)).answer == "no"
    assert ask(pen(table), kind="other").answer is None
    table.do("ann", "seat.prefs", kind="k", value="ask")
    assert ask(pen(table)).answer is None


def test_a_preference_never_gives_an_answer_that_needs_numbers() -> None:
    table = Table()
    table.do("ann", "seat.prefs", kind="k", value="always")
    assert ask(pen(table), ints=Ints(least=1, most=2, low=0, high=4, choice="yes")).answer is None
    assert ask(pen(table), ints=Ints(least=1, most=2, low=0, high=4, choice="no")).answer == "yes"


def test_a_question_with_one_answer_or_with_nobody_to_ask_never_opens() -> None:
    table = Table()
    assert ask(pen(table), choices=[("only", "Only")]).answer == "only"
    nobody = ask(pen(table), to="nobody", ints=Ints(least=2, most=3, low=4, high=9))
    assert (nobody.answer, nobody.given) == ("no", (4, 4))


def test_what_goes_with_a_question_is_the_same_after_it_was_read_back() -> None:
    table = Table()
    step = pen(table)
    asked = ask(step, faces=(1, 2), about={"a": (1,)})
    session, entry = finished(step)
    followed = engine.evolve(table.rules, table.session, engine.decode_entry(engine.encode_entry(entry)))
    assert followed.prompts[asked.id] == session.prompts[asked.id] == asked


def test_the_most_exact_deadline_setting_counts_and_zero_is_none() -> None:
    table = Table()
    assert ask(pen(table)).deadline is None
    table.do("gm", "gm.setting", key="deadline.prompt", value=10)
    assert ask(pen(table)).deadline == table.now_ms + 600_000
    table.do("gm", "gm.setting", key="deadline.k", value=3)
    assert ask(pen(table)).deadline == table.now_ms + 180_000
    table.do("gm", "gm.setting", key="deadline.k", value=0)
    assert ask(pen(table)).deadline is None


def test_a_seat_names_only_combatants_it_sees() -> None:
    table = Table()
    table.do("gm", "gm.hide", id="c4")
    for unseen in ("c4", "nobody"):
        with pytest.raises(Rejected) as caught:
            pen(table, "ann").combatant(unseen)
        assert (caught.value.code, caught.value.data) == ("unknown_id", {"what": "combatant", "given": unseen})
    assert pen(table, "gm").combatant("c4").id == "c4"
    table.do("gm", "gm.seat", seat="ann", controls=["c1", "c4"])
    assert pen(table, "ann").combatant("c4").id == "c4"
