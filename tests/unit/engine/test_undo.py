"""Promises of engine.undo: it restores the game and nothing else, and voided faces serve again at most once, for the same roll."""

from __future__ import annotations

from typing import Any

import engine
from engine import ScriptedDice
from tests.support.table import Table

RESTORED = ("scenes", "combatants", "encounters", "pools", "tests", "prompts")


def facing(faces: tuple[int, ...] = ()) -> Table:
    """Reed and Tollman face each other; strikes run through without a question."""
    table = Table(dice=ScriptedDice(faces) if faces else None)
    for seat in ("gm", "ann"):
        table.do(seat, "seat.prefs", kind="parry", value="never")
        table.do(seat, "seat.prefs", kind="reroll", value="never")
    table.do("ann", "move", combatant="c1", zone="yard", near=["c3"])
    return table


def restored(table: Table, session: engine.Session | None = None) -> dict[str, Any]:
    session = session or table.session
    return {kind: dict(getattr(session, kind)) for kind in RESTORED}


def rolled(table: Table) -> list[tuple[str, tuple[int, ...]]]:
    return [(one.purpose, one.faces) for one in table.last.rolls]


def test_an_undo_without_a_version_takes_back_the_last_step_that_changed_the_game() -> None:
    table = facing()
    before = restored(table)
    v = table.session.v
    table.do("ann", "attack", target="c3")
    table.do("ann", "chat", text="talk is not the game")
    table.do("ann", "seat.prefs", kind="other", value="never")
    table.do("gm", "gm.undo")
    assert restored(table) == before
    assert (table.last.past, table.last.kind) == (v, "undo")


def test_an_undo_goes_to_any_version() -> None:
    table = facing()
    for _ in range(3):
        table.do("gm", "turn.end")
    for v in (1, 4, 6, 2):
        table.do("gm", "gm.undo", to=v)
        assert restored(table) == restored(table, table.history[v])


def test_an_undo_is_undone_like_anything_else() -> None:
    table = facing((20, 1, 3, 6))
    table.do("ann", "attack", target="c3")
    v, hurt = table.session.v, restored(table)
    table.do("gm", "gm.undo")
    assert restored(table) != hurt
    table.do("gm", "gm.undo", to=v)
    assert restored(table) == hurt


def test_repeated_undo_goes_back_step_by_step() -> None:
    table = facing()
    states = [restored(table)]
    for _ in range(3):
        table.do("gm", "turn.end")
        states.append(restored(table))
    for state in reversed(states[:-1]):
        table.do("gm", "gm.undo")
        assert restored(table) == state


def test_an_undo_leaves_seats_chat_settings_and_dice_alone_and_takes_the_clock_back() -> None:
    table = facing()
    v = table.session.v
    table.do("gm", "gm.clock", minutes=30)
    table.do("gm", "gm.setting", key="deadline.turn", value=9)
    table.do("gm", "gm.seat.add", seat="cyd", name="Cyd")
    table.do("ann", "chat", text="hello")
    table.do("ann", "roll", notation="d20")
    table.do("ann", "turn.end")
    was = table.session
    table.do("gm", "gm.undo", to=v)
    now = table.session
    assert (now.table.clock, was.table.clock) == (0, 30)
    assert now.table.settings == was.table.settings != ()
    assert now.seats == was.seats
    assert now.table.open == was.table.open
    assert table.viewers["ben"].told("chat")[0]["body"] == "hello"


def test_kept_faces_serve_the_same_rolls_again_and_are_cited() -> None:
    table = facing((20, 1, 3, 6, 9, 9))
    table.do("ann", "attack", target="c3")
    first = table.last.rolls
    table.do("gm", "gm.undo")
    table.do("ann", "attack", target="c3")
    again = table.last.rolls
    assert [one.faces for one in again] == [one.faces for one in first]
    assert [one.kept for one in again] == [((one.n, 1),) for one in first]
    assert [one.n for one in again] == [one.n + len(first) for one in first]
    assert table.event("duel.cross").data["rolls"][0]["kept"] == [[first[0].n, 1]]


def test_new_dice_are_fresh_and_the_voided_faces_never_come_back() -> None:
    table = facing((20, 1, 3, 6, 1, 20, 2, 19))
    start = table.session.v
    table.do("ann", "attack", target="c3")
    table.do("gm", "gm.undo", dice="new")
    table.do("ann", "attack", target="c3")
    assert rolled(table) == [("strike", (1,)), ("guard", (20,))]
    table.do("gm", "gm.undo", to=start)
    table.do("ann", "attack", target="c3")
    assert rolled(table) == [("strike", (1,)), ("guard", (20,))], "kept are the second ones alone: the first were thrown away"


def test_another_actor_purpose_or_die_gets_fresh_faces() -> None:
    table = facing((17, 4, 5, 6))
    table.do("ann", "roll", notation="d20")
    table.do("gm", "gm.undo", to=table.session.v - 1)
    table.do("ben", "roll", notation="d20")
    assert table.last.rolls[0].faces == (4,)
    table.do("ann", "roll", notation="d8")
    assert table.last.rolls[0].faces == (5,)
    table.do("ann", "roll", notation="2d20")
    assert list(table.last.rolls[0].faces) == [17, 6]
    assert table.last.rolls[0].kept == ((1, 1),)


def test_a_voided_roll_serves_at_most_once() -> None:
    table = facing((17, 4))
    table.do("ann", "roll", notation="d20")
    table.do("gm", "gm.undo", to=table.session.v - 1)
    table.do("ann", "roll", notation="d20")
    table.do("ann", "roll", notation="d20")
    assert (table.last.rolls[0].faces, table.last.rolls[0].kept) == ((4,), ())


def test_a_roll_that_an_undo_of_an_undo_brings_back_into_force_does_not_serve_again() -> None:
    table = facing((20, 1, 3, 6, 2, 15))
    table.do("ann", "attack", target="c3")
    v = table.session.v
    table.do("gm", "gm.undo")
    table.do("gm", "gm.undo", to=v)
    assert table.session.table.kept == ()
    table.do("gm", "gm.set", kind="combatants", id="c1", field="acted", value=False)
    table.do("ann", "attack", target="c3")
    assert [one.faces for one in table.last.rolls] == [(2,), (15,)]


def test_faces_kept_twice_cite_the_roll_that_kept_them_last() -> None:
    table = facing((17,))
    v = table.session.v
    for n in (1, 2, 3):
        table.do("ann", "roll", notation="d20")
        fact = table.last.rolls[0]
        assert (fact.n, fact.faces) == (n, (17,))
        assert fact.kept == (((n - 1, 1),) if n > 1 else ())
        table.do("gm", "gm.undo", to=v)


def test_the_audit_finds_undone_and_kept_rolls_in_order() -> None:
    table = facing()
    table.do("ann", "attack", target="c3")
    table.do("gm", "gm.undo")
    table.do("ann", "attack", target="c3")
    table.do("gm", "gm.undo", dice="new")
    table.do("ann", "attack", target="c3")
    table.do("gm", "gm.dice", do="reveal")
    found = table.audit()
    assert (found.verdict, found.difference) == ("ok", None)


def test_an_undo_gives_questions_and_turns_fresh_time() -> None:
    table = Table()
    table.do("gm", "gm.setting", key="deadline.prompt", value=10)
    table.do("gm", "gm.setting", key="deadline.turn", value=20)
    table.do("ann", "move", combatant="c1", zone="yard", near=["c3"])
    table.do("ann", "attack", target="c3")
    v = table.session.v
    table.answer("yes")
    table.later(500)
    table.do("gm", "gm.undo", to=v)
    assert table.prompt(kind="parry").deadline == table.now_ms + 600_000
    assert table.encounter.deadline == table.now_ms + 1_200_000


def test_a_combatant_that_comes_back_is_controlled_as_before() -> None:
    table = facing()
    v = table.session.v
    table.do("gm", "gm.remove", combatant="c2")
    assert not table.session.seats["ben"].controls
    table.do("gm", "gm.undo", to=v)
    assert table.session.seats["ben"].controls == ("c2",)
    table.do("gm", "gm.spawn", id="pet", seat="ben")
    table.do("gm", "gm.undo")
    assert table.session.seats["ben"].controls == ("c2",)


def test_an_undo_in_the_middle_of_entering_dice_forgets_them() -> None:
    table = facing()
    v = table.session.v
    table.do("gm", "gm.dice", do="physical")
    table.do("ann", "roll", notation="2d6")
    waiting = table.session.v
    assert len(table.prompts(kind="dice")) == 1
    table.do("gm", "gm.undo", to=v)
    assert (table.prompts(), table.session.table.suspended) == ([], None)
    table.do("gm", "gm.undo", to=waiting)
    table.answer(kind="dice", ints=(3, 4))
    assert table.event("rolled").data["total"] == 7


def test_no_half_forgotten_dice_come_back_to_a_table_whose_server_rolls_again() -> None:
    table = facing()
    table.do("gm", "gm.dice", do="physical")
    table.do("ann", "roll", notation="2d6")
    waiting = table.session.v
    table.answer(kind="dice", ints=(3, 4))
    table.do("gm", "gm.dice", do="seeded")
    table.do("gm", "gm.undo", to=waiting)
    assert (table.prompts(), table.session.table.suspended) == ([], None)


def test_an_undo_gives_nobody_back_whom_the_gm_gave_to_another_seat() -> None:
    """Seats stay as they are; else a seat would see again the secrets of a combatant that was taken from it."""
    table = facing()
    v = table.session.v
    table.do("gm", "gm.seat", seat="ben", controls=[])
    table.do("gm", "gm.seat", seat="ann", controls=["c1", "c2"])
    table.do("gm", "gm.set", kind="combatants", id="c2", field="hp", value=3)
    table.do("gm", "gm.undo", to=v)
    assert table.session.seats["ben"].controls == ()
    assert table.session.seats["ann"].controls == ("c1", "c2")


def test_with_nothing_to_undo_the_gm_is_told_so() -> None:
    table = facing()
    table.do("gm", "gm.undo", to=1)
    refusal = table.refused("gm", "not_now", "gm.undo")
    assert (refusal.code, refusal.text) == ("not_now", "There is nothing to undo; to go to another version, name it.")
