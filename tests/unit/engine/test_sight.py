"""Promises of engine.sight and engine.frames: hidden means hidden, in views, events, frames, refusals and what derives from them.

tests/conformance holds views against frames under random play; here is each grade of each kind by itself.
"""

from __future__ import annotations

from typing import Any

import pytest

import engine
from engine import Setup
from engine.commands import Command, ZoneSpec
from engine.setup import SceneSetup, SeatSetup
from tests.support.junk import form_of
from tests.support.secrets import MARK, planted, walk
from tests.support.table import WATCHER, Table


def texts(value: Any) -> str:
    found: list[str] = []
    walk(value, lambda one: found.append(str(one)))
    return "\n".join(found)


def test_who_controls_a_duelist_and_the_gm_see_its_own_business_and_nobody_else() -> None:
    table = Table()
    own = {"armor", "grit", "acted", "moved", "hidden"}
    for seat in ("gm", "ann"):
        assert own <= set(table.view(seat)["combatants"]["c1"])
    for seat in ("ben", WATCHER):
        assert not own & set(table.view(seat)["combatants"]["c1"])
        assert table.view(seat)["combatants"]["c1"]["hp"] == 12


def test_control_that_changes_hands_shows_and_hides_at_once() -> None:
    table = Table()
    table.do("gm", "gm.seat", seat="ben", controls=["c1"])
    assert "armor" in table.viewers["ben"].view["combatants"]["c1"]
    assert "armor" not in table.viewers["ben"].view["combatants"]["c2"]
    table.do("gm", "gm.seat", seat="ben", role="spectator")
    table.do("gm", "gm.seat", seat="ben", role="gm")
    assert "armor" in table.viewers["ben"].view["combatants"]["c3"]


def test_a_hidden_combatant_is_in_no_list_of_others() -> None:
    table = Table()
    table.do("gm", "gm.move", combatant="c1", scene="mill", zone="yard", near=["c3"])
    table.do("gm", "test.propose", combatant="c1", label="lift the wheel")
    table.do("gm", "test.join", test=next(iter(table.session.tests)), combatant="c3")
    table.do("gm", "gm.turn", encounter=table.encounter.id, combatant="c3")
    for seat in ("ann", "ben", WATCHER):
        assert "c3" in texts(table.view(seat))
    table.do("gm", "gm.hide", id="c3")
    for seat in ("ann", "ben", WATCHER):
        view = table.view(seat)
        assert "c3" not in texts(view)
        (encounter,) = view["encounters"].values()
        assert (encounter["current"], "turn" in encounter) == ("", False)
    assert "c3" in texts(table.view("gm"))


def test_somebody_in_a_hidden_place_is_as_unseen_as_one_that_hides() -> None:
    table = Table()
    table.do("gm", "gm.seat", seat="ben", controls=["c2", "c3"])
    table.do("gm", "gm.hide", kind="zone", scene="mill", id="yard")
    assert "c3" not in texts(table.viewers["ann"].view)
    assert "c3" in table.viewers["ben"].view["combatants"], "it is ben's own"
    table.do("gm", "gm.reveal", kind="zone", scene="mill", id="yard")
    assert "c3" in table.viewers["ann"].view["combatants"]


def test_a_hidden_scene_its_fight_and_its_people_are_the_gms_alone() -> None:
    table = Table(setup=planted("duel"))
    sent = {seat: len(viewer.sent) for seat, viewer in table.viewers.items()}
    table.do("gm", "gm.encounter", scene=f"{MARK}-backstage")
    table.do("gm", "turn.end", combatant=f"{MARK}-actor")
    for seat in ("ann", "ben", WATCHER):
        assert table.viewers[seat].sent[sent[seat] :] == [b"\x80", b"\x80"], "two empty frames"
    assert table.viewers["gm"].told("encounter.started")


def test_a_change_of_something_unseen_makes_an_empty_frame() -> None:
    table = Table(setup=planted("duel"))
    for field, value in (("armor", 5), ("grit", 2)):
        table.do("gm", "gm.set", kind="combatants", id="guard", field=field, value=value)
        assert table.viewers["ann"].sent[-1] == b"\x80"
    table.do("gm", "gm.move", combatant=f"{MARK}-ghost", scene="den", zone="den-door", near=["guard"])
    assert table.viewers["ann"].sent[-1] == b"\x80"
    table.do("gm", "gm.remove", combatant=f"{MARK}-ghost")
    table.do("gm", "roll", notation="3d6", hidden=True, label="secret")
    table.do("gm", "chat", text="psst", to=["gm"])
    assert table.viewers["ann"].sent[-3:] == [b"\x80"] * 3


def test_a_new_holder_of_a_seat_reads_no_private_lines_of_the_former_one() -> None:
    table = Table()
    table.do("gm", "chat", text="for ann alone", to=["ann"])
    private = table.last
    assert table.viewers["ann"].told("chat")[0]["body"] == "for ann alone"
    assert not table.viewers["ben"].told("chat")
    table.system("system.hold", seat="ann", person="somebody new")
    sight = engine.sight_of(table.session, "ann")
    renderer = engine.Renderer(table.rules, table.history[private.v - 1], table.history[private.v], private, table.bodies.get)
    assert renderer.frame(sight)[1] == {}
    table.do("gm", "chat", text="for the new one", to=["ann"])
    assert table.viewers["ann"].told("chat")[-1]["body"] == "for the new one"


def test_an_erased_text_leaves_a_mark_and_its_body_is_gone() -> None:
    table = Table()
    table.do("ann", "chat", text="something regrettable")
    entry = table.last
    table.bodies.clear()
    renderer = engine.Renderer(table.rules, table.history[entry.v - 1], table.session, entry, table.bodies.get)
    (told,) = renderer.frame(engine.SPECTATOR)[1]["events"]
    assert (told["body"], told["erased"]) == (None, True)
    assert table.audit().verdict == "ok"


def test_a_public_form_is_what_others_read() -> None:
    table = Table()
    step = engine.step.Step(table.rules, table.session, table.dice, table.now_ms, "gm")
    step.whisper("x.full", "the whole truth", "c1", public=("x.part", "something happened", {}), secret=5)
    session, entry = step.finish(action_id="", command={"type": "test"}, stamp="0" * 16)
    renderer = engine.Renderer(table.rules, table.session, session, entry, table.bodies.get)

    def read(seat: str) -> Any:
        return renderer.frame(engine.sight_of(session, seat))[1]["events"]

    assert read("gm") == read("ann") == [{"type": "x.full", "text": "the whole truth", "secret": 5}]
    assert read("ben") == [{"type": "x.part", "text": "something happened"}]


def test_sights_that_see_the_same_share_one_frame() -> None:
    seats = tuple(SeatSetup(id=f"w{i}", role="spectator") for i in range(50))
    table = Table(setup=Setup(ruleset="duel", sample="yard", encounter="mill", seats=(SeatSetup(id="gm", role="gm"), *seats)))
    before = table.session
    entry = table.do("ann", "move", combatant="c1", zone="yard", near=["c3"])
    renderer = engine.Renderer(table.rules, before, table.session, entry, table.bodies.get)
    frames = [renderer.frame(engine.sight_of(table.session, seat)) for seat in table.session.seats]
    assert len({id(parts) for _, parts in frames}) == len({key for key, _ in frames}) == 3, "the GM, c1's own seat, all others"


def test_nobody_speaks_under_a_name_that_others_must_not_learn() -> None:
    table = Table(setup=planted("duel"))
    table.do("gm", "post", text="A voice from the dark.", combatant=f"{MARK}-ghost")
    told = table.viewers["ann"].told("post")[0]
    assert "name" not in told
    assert MARK not in texts(told)
    table.do("gm", "post", text="Who goes there?", combatant="guard")
    assert table.viewers["ann"].told("post")[1]["name"] == "The guard"


def test_a_hidden_combatant_that_is_revealed_in_a_hidden_place_is_not_announced() -> None:
    table = Table(setup=planted("duel"))
    table.do("gm", "gm.move", combatant=f"{MARK}-ghost", scene="den", zone=f"{MARK}-cellar")
    table.do("gm", "gm.reveal", id=f"{MARK}-ghost")
    table.do("gm", "gm.reveal", kind="tests", id=helping(table, by="guard", helper=f"{MARK}-ghost", hidden=True))
    table.do("gm", "gm.spawn", id=f"{MARK}-new", scene="den", zone=f"{MARK}-cellar")
    assert all(MARK.encode() not in sent for sent in table.viewers["ann"].sent)
    table.do("gm", "gm.reveal", kind="zone", scene="den", id=f"{MARK}-cellar")
    assert f"{MARK}-ghost" in table.viewers["ann"].view["combatants"]


def helping(table: Table, *, by: str, helper: str, hidden: bool = False) -> str:
    """A test with a helper; its id."""
    table.do("gm", "test.propose", combatant=by, label="watch")
    test = next(iter(table.session.tests))
    if hidden:
        table.do("gm", "gm.hide", kind="tests", id=test)
    table.do("gm", "test.join", test=test, combatant=helper)
    return test


def test_a_helper_out_of_sight_helps_unseen_even_those_who_take_part() -> None:
    table = Table(setup=planted("duel"))
    test = helping(table, by="c1", helper=f"{MARK}-ghost")
    assert table.view("ann")["tests"][test]["helpers"] == []
    assert table.view("gm")["tests"][test]["helpers"] == [f"{MARK}-ghost"]
    table.do("gm", "gm.remove", combatant=f"{MARK}-ghost")
    assert table.session.tests[test].helpers == ()
    assert all(MARK.encode() not in sent for sent in table.viewers["ann"].sent)


def test_who_helps_somebody_unseen_does_not_learn_whom() -> None:
    table = Table(setup=planted("duel"))
    test = helping(table, by=f"{MARK}-ghost", helper="c1")
    assert "tests" not in table.view("ann")
    table.refused("ann", "unknown_id", "test.join", test=test, combatant="c1")
    assert all(MARK.encode() not in sent for sent in table.viewers["ann"].sent)


def _naming_fields() -> list[tuple[type[Command], str]]:
    rules = engine.ruleset("duel")
    return [
        (command, field.encode_name)
        for command in rules.commands
        if command.needs != "gm" and command.__struct_config__.tag not in ("answer", "chat", "dice.salt")
        for field in form_of(command).fields
        if field.encode_name in ("combatant", "target", "zone", "near", "after", "test", "cover")
    ]


@pytest.mark.parametrize(("command", "field"), _naming_fields(), ids=lambda one: one if isinstance(one, str) else one.__struct_config__.tag)
@pytest.mark.parametrize("hidden", [f"{MARK}-ghost", f"{MARK}-lurker", f"{MARK}-actor", f"{MARK}-cellar"])
def test_guessing_the_name_of_something_hidden_is_answered_as_a_name_of_nothing(command: type[Command], field: str, hidden: str) -> None:
    """Letter for letter, but for the name itself: whoever guesses right learns nothing."""
    good: dict[str, Any] = {"combatant": "c1", "target": "c3", "zone": "yard", "near": ["c3"], "after": "c2", "test": "t", "cover": "cart"}

    good |= {"text": "x", "notation": "d6", "kind": "parry", "value": "ask"}
    fields = {one.encode_name: one.required for one in form_of(command).fields}
    raw: dict[str, Any] = {name: good[name] for name, required in fields.items() if required or name == "combatant"}

    def answer(guess: str) -> str:
        table = Table(setup=planted("duel"))
        value: Any = [guess] if field == "near" else guess
        with pytest.raises(engine.Rejected) as caught:
            table.do("ann", str(command.__struct_config__.tag), **{**raw, field: value})
        refusal = caught.value
        return f"{refusal.code} {refusal.text} {refusal.data}".replace(guess, "?")

    assert answer(hidden) == answer("zznothing-at-all")


def test_odds_and_options_know_only_what_their_seat_knows() -> None:
    table = Table()
    table.do("gm", "gm.set", kind="combatants", id="c3", field="armor", value=7)
    table.do("ann", "move", combatant="c1", zone="yard", near=["c3"])
    strike = table.rules.decode({"type": "attack", "combatant": "c1", "target": "c3"})
    mine, gms = (table.rules.odds(table.session, seat, strike) for seat in ("ann", "gm"))
    table.do("gm", "gm.set", kind="combatants", id="c3", field="armor", value=0)
    assert table.rules.odds(table.session, "ann", strike) == mine, "the armor it does not know changes nothing"
    assert table.rules.odds(table.session, "gm", strike) != gms
    table.do("gm", "gm.hide", id="c3")
    assert "c3" not in texts([option.command for option in table.options("ann")] + [str(option) for option in table.options("ann")])
    with pytest.raises(engine.Rejected) as caught:
        table.rules.odds(table.session, "ann", strike)
    assert caught.value.code == "unknown_id"


def test_a_scene_made_anew_or_removed_shows_to_all() -> None:
    table = Table(
        setup=Setup(ruleset="duel", scenes=(SceneSetup(id="s", zones=(ZoneSpec(id="z", name="z"),)),), seats=(SeatSetup(id="ann"),))
    )
    table.do("gm", "gm.scene", scene="s", name="New", zones=[{"id": "z", "name": "z"}, {"id": "y", "name": "y"}])
    assert [zone["id"] for zone in table.viewers["ann"].view["scenes"]["s"]["zones"]] == ["z", "y"]
    table.do("gm", "gm.scene.remove", scene="s")
    assert "scenes" not in table.viewers["ann"].view
