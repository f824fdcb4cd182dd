"""Scenarios: bad ones are refused with place and reason, good ones run the same each time, what differs from the expected is told."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import engine
from engine import scenario as sc
from engine.rulesets.duel import RULES
from engine.rulesets.duel.rules import Duel
from engine.scenario_expect import ReferenceProblem, fits

SETUP: dict[str, Any] = {"ruleset": "duel", "sample": "yard", "encounter": "mill"}
CLOSE_UP = {"by": "ann", "command": {"type": "move", "zone": "yard", "near": ["c3"]}}
STRIKE = {"by": "ann", "command": {"type": "attack", "target": "c3"}}
NO_PARRY = {"by": "gm", "command": {"type": "answer", "prompt": "$prompt", "choice": "no"}}


engine.register(RULES)


def scenario(*commands: Any, **fields: Any) -> dict[str, Any]:
    return {"setup": SETUP, "commands": list(commands), **fields}


def play(raw: Any) -> list[sc.Record]:
    found = sc.parse(raw)
    return list(sc.run(sc.ruleset_of(found), found))


# --- what cannot be run ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("raw", "where", "says"),
    [
        ([], "", "a list"),
        ("duel", "", "a text"),
        (None, "", "nothing"),
        ({"setup": []}, "setup", "a list"),
        ({"setup": {}}, "ruleset", "does not name its ruleset"),
        ({"ruleset": 7}, "setup.ruleset", "Expected `str`"),
        ({"ruleset": "duel", "setup": {"ruleset": "chess"}}, "ruleset", "different values"),
        ({"ruleset": "duel", "comands": []}, "", "comands"),
        ({"ruleset": "duel", "commands": {}}, "commands", "Expected `array`"),
        ({"ruleset": "duel", "commands": [{"by": "ann"}]}, "commands[0]", "command"),
        ({"ruleset": "duel", "commands": [{"by": True, "command": {}}]}, "commands[0].by", "quotation marks"),
        ({"ruleset": "duel", "commands": [{"by": "ann", "command": "attack"}]}, "commands[0].command", "Expected `object`"),
        ({"ruleset": "duel", "commands": [{"by": "ann", "command": {}, "when": 3}]}, "commands[0]", "when"),
        ({"ruleset": "duel", "commands": [{"by": "a", "command": {}, "expect": {"event": []}}]}, "commands[0].expect", "event"),
        ({"ruleset": "duel", "dice": [0]}, "dice[0]", ">= 1"),
        ({"ruleset": "duel", "dice": [2.5]}, "dice[0]", "`int`"),
        ({"ruleset": "duel", "dice": "3d6"}, "dice", "Expected `array"),
        ({"ruleset": "duel", "now_ms": 2**60}, "now_ms", "<="),
        ({"ruleset": "duel", "seed": "x", "dice": [1]}, "dice", "several: seed, dice"),
        ({"ruleset": "duel", "seed": "x", "commands": [{"by": "a", "command": {}, "dice": []}]}, "commands[0].dice", "dice of lines"),
        ({"ruleset": "duel", "setup": {"seats": [{"id": "no spaces"}]}}, "setup.seats[0].id", "regex"),
    ],
)
def test_a_misshapen_scenario_is_refused_with_place_and_reason(raw: Any, where: str, says: str) -> None:
    with pytest.raises(sc.ScenarioError) as caught:
        sc.parse(raw)
    assert caught.value.where == where
    assert says in caught.value.text


def test_too_many_commands_are_refused_before_any_runs() -> None:
    with pytest.raises(sc.ScenarioError, match="commands: Expected `array` of length <= 10000"):
        sc.parse(scenario(*[STRIKE] * (sc.MAX_COMMANDS + 1)))


def test_deep_nesting_is_refused() -> None:
    deep: Any = 1
    for _ in range(5000):
        deep = [deep]
    with pytest.raises(sc.ScenarioError):
        play(scenario({"by": "ann", "command": {"type": "attack", "target": deep}}, dice=[]))


@pytest.mark.parametrize(
    ("raw", "where", "says"),
    [
        ({"ruleset": "chess"}, "ruleset", "duel"),
        ({"ruleset": "duel", "variant": "gory"}, "setup", "bloody"),
        ({"ruleset": "duel", "options": {"parry_bonus": 4}}, "setup", "3, 0, 5"),
        ({"ruleset": "duel", "setup": {"sample": "moon"}}, "setup", "yard"),
        ({"ruleset": "duel", "setup": {"pools": {"group": 3}}}, "setup", "group"),
        (scenario(CLOSE_UP, STRIKE, NO_PARRY), "commands[2]", "needs a `seed` or `dice`"),
        (scenario(CLOSE_UP, STRIKE, NO_PARRY, dice=[10, 2]), "commands[2]", "needs 1 faces, the script has [] left"),
        (scenario(CLOSE_UP, STRIKE, NO_PARRY, dice=[21, 2, 1, 1]), "commands[2]", "cannot show 21"),
        (scenario(CLOSE_UP, STRIKE, NO_PARRY, dice=[10, 2, 1, 1, 5]), "dice", "[5]"),
        (scenario(CLOSE_UP, {**STRIKE, "dice": [4]}), "commands[1].dice", "[4]"),
        (scenario({**STRIKE, "dice": [4], "expect": {"rejected": True}}), "commands[0].dice", "[4]"),
        (scenario(NO_PARRY, seed="x"), "commands[0].command", "none fit"),
        (scenario({"by": "gm", "command": {"type": "answer", "prompt": "$prompf"}}, seed="x"), "commands[0].command", "no reference"),
        (scenario({"by": "gm", "command": {"type": "answer", "prompt": "$again"}}, seed="x"), "commands[0].command", "before it"),
        (scenario({"by": "ann", "command": {"type": "test.roll", "test": "$test"}}, seed="x"), "commands[0].command", "no open test"),
        (scenario(expect={"facts": {"encounters.$encounter:moon.round": 1}}), "expect.facts", "mill"),
        (scenario(expect={"events": [{"type": "x"}]}), "expect", "only `facts`"),
        (scenario(expect={"facts": {"seats": {"$count": 3}}}), "expect.facts", "$size"),
    ],
)
def test_a_scenario_that_cannot_go_on_says_where_and_why(raw: Any, where: str, says: str) -> None:
    with pytest.raises(sc.ScenarioError) as caught:
        play(raw)
    assert caught.value.where == where
    assert says in caught.value.text


# --- what runs -----------------------------------------------------------------------------------------------------------


def test_one_record_for_the_creation_and_one_for_each_command() -> None:
    records = play(scenario(CLOSE_UP, STRIKE, NO_PARRY, dice=[15, 3, 2, 4]))
    assert [record.n for record in records] == [0, 1, 2, 3]
    assert [record.by for record in records] == [engine.SYSTEM, "ann", "ann", "gm"]
    assert all(before.after is after.before for before, after in pairwise(records))
    hit = next(event for record in records if record.entry for event in record.entry.events if event.type == "duel.hit")
    assert hit.data["damage"] == 4 + 1 - 2  # Reed's blade rolls a d6 and adds 1, the tollman's armor takes 2


def test_a_refused_command_is_a_record_and_the_table_goes_on() -> None:
    records = play(scenario(STRIKE, {"by": "nobody", "command": {"type": "brace"}}, {"by": "ann", "command": {"type": "dance"}}, CLOSE_UP))
    assert [record.refusal.code if record.refusal else None for record in records] == [
        None,
        "out_of_range",
        "unknown_seat",
        "unknown_command",
        None,
    ]
    assert records[3].after is records[0].after
    assert records[4].after.v == 2
    assert records[1].plain()["error"]["code"] == "out_of_range"
    assert not any(record.differs for record in records), "a scenario without expectations judges nothing"


@pytest.mark.parametrize("seed", ["7", "a long text with ünusual letters", 7])
def test_the_same_seed_gives_the_same_bytes(seed: Any) -> None:
    raw = scenario(CLOSE_UP, STRIKE, NO_PARRY, seed=seed)
    first, second = ([engine.encode_entry(record.entry) for record in play(raw) if record.entry] for _ in range(2))
    assert first == second


def test_another_seed_gives_other_dice() -> None:
    def faces(seed: str) -> list[Any]:
        return [
            roll.faces for record in play(scenario(CLOSE_UP, STRIKE, NO_PARRY, seed=seed)) if record.entry for roll in record.entry.rolls
        ]

    assert len({tuple(faces(str(n))) for n in range(12)}) > 1


def test_dice_by_line_and_for_the_whole_scenario_come_to_the_same() -> None:
    whole = play(scenario(CLOSE_UP, STRIKE, NO_PARRY, dice=[15, 3, 2, 4]))
    lines = play(scenario(CLOSE_UP, STRIKE, {**NO_PARRY, "dice": [15, 3, 2, 4]}))
    assert whole[-1].after == lines[-1].after


def test_again_names_a_question_that_is_gone() -> None:
    late = {"by": "gm", "command": {"type": "answer", "prompt": "$again", "choice": "yes"}, "expect": {"rejected": "unknown_id"}}
    records = play(scenario(CLOSE_UP, STRIKE, {**NO_PARRY, "dice": [15, 3, 2, 4]}, late))
    assert records[-1].differs == ()
    assert records[-1].refusal is not None


def test_texts_are_kept_outside_the_log_and_handed_to_whoever_shows_it() -> None:
    records = play(scenario({"by": "ann", "command": {"type": "chat", "text": "hello there"}}))
    entry = records[1].entry
    assert entry is not None
    assert b"hello there" not in engine.encode_entry(entry)
    assert records[1].texts[entry.events[0].body] == "hello there"


def test_an_undo_restores_the_table_and_keeps_the_dice() -> None:
    undo = {"by": "gm", "command": {"type": "gm.undo"}}
    records = play(scenario(CLOSE_UP, STRIKE, {**NO_PARRY, "dice": [15, 3, 2, 4]}, undo, {**NO_PARRY, "dice": []}))
    assert records[4].after.combatants == records[2].after.combatants
    assert records[5].after.combatants == records[3].after.combatants


def test_the_system_can_act_at_a_time_of_its_own() -> None:
    raw = scenario(
        CLOSE_UP,
        STRIKE,
        {"by": "@system", "now_ms": 59_999, "command": {"type": "system.deadline", "prompt": "$prompt"}, "expect": {"rejected": "not_now"}},
        {"by": "@system", "now_ms": 60_000, "command": {"type": "system.deadline", "prompt": "$again"}, "dice": [1, 20]},
    )
    raw["setup"] = {**SETUP, "settings": {"deadline.prompt": 1}}
    assert [record.differs for record in play(raw)] == [()] * 5


# --- what is expected ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "where"),
    [
        ({**STRIKE}, "commands[0]"),
        ({**STRIKE, "expect": {"rejected": "not_now"}}, "commands[0]"),
        ({**STRIKE, "expect": {"rejected": ["not_now", "busy"]}}, "commands[0]"),
        ({**CLOSE_UP, "expect": {"rejected": True}}, "commands[0]"),
        ({**CLOSE_UP, "expect": {"events": [{"type": "duel.move", "zone": "gate"}]}}, "commands[0].expect.events[0]"),
        ({**CLOSE_UP, "expect": {"events": [{"type": "duel.move"}, {"type": "duel.move"}]}}, "commands[0].expect.events[1]"),
        ({**CLOSE_UP, "expect": {"without": ["duel.move"]}}, "commands[0].expect.without"),
        ({**CLOSE_UP, "expect": {"facts": {"combatants.c1.moved": False}}}, "commands[0].expect.facts.combatants.c1.moved"),
        ({**CLOSE_UP, "expect": {"facts": {"combatants.c1.moved": 1}}}, "commands[0].expect.facts.combatants.c1.moved"),
        ({**CLOSE_UP, "expect": {"facts": {"combatants.c9.hp": 1}}}, "commands[0].expect.facts.combatants.c9.hp"),
        ({**CLOSE_UP, "expect": {"facts": {"combatants.c1.hp": "$absent"}}}, "commands[0].expect.facts.combatants.c1.hp"),
        ({**CLOSE_UP, "expect": {"facts": {"combatants": {"$size": 1}}}}, "commands[0].expect.facts.combatants"),
        ({**CLOSE_UP, "expect": {"facts": {"combatants": "four"}}}, "commands[0].expect.facts.combatants"),
    ],
)
def test_what_does_not_come_out_as_expected_is_told(line: Any, where: str) -> None:
    """Also a plain refusal, as soon as the scenario expects anything at all."""
    records = play(scenario(line, expect={"facts": {"encounters": {"$size": 1}}}))
    assert [one.where for one in records[1].differs] == [where]


def test_rules_that_fail_are_no_expected_refusal_and_name_their_error() -> None:
    class Broken(Duel):
        def apply(self, step: Any, command: Any) -> None:
            raise ZeroDivisionError("one too few")

    found = sc.parse(scenario({"by": "ann", "command": {"type": "brace"}, "expect": {"rejected": True}}))
    record = list(sc.run(Broken(), found))[1]
    assert record.plain()["error"]["cause"] == "ZeroDivisionError: one too few"
    assert "one too few" in record.differs[0].found


def test_what_comes_out_as_expected_is_silent() -> None:
    line = {
        **CLOSE_UP,
        "expect": {
            "events": [{"type": "duel.move", "near": ["c3"]}],
            "without": ["duel.hit"],
            "facts": {"combatants.c1": {"moved": True, "zone": "yard"}, "scenes.mill.zones.yard.name": "the mill yard"},
        },
    }
    records = play(scenario(line, {**STRIKE, "expect": {"facts": {"prompts": {"$has": {"kind": "parry"}}}}}))
    assert not any(record.differs for record in records)


def test_facts_at_the_end_are_judged_in_the_last_record_also_without_commands() -> None:
    records = play(scenario(expect={"facts": {"table.sitting": 5}}))
    assert [(one.where, one.expected, one.found) for one in records[-1].differs] == [("expect.facts.table.sitting", 5, 0)]


class Thing(msgspec.Struct, frozen=True):
    id: str
    size: int = 3


@pytest.mark.parametrize(
    ("expected", "found", "is_so"),
    [
        (1, 1, True),
        (1, True, False),
        (True, 1, False),
        (None, None, True),
        ("1", 1, False),
        ([1, 2], (1, 2), True),
        ([1], (1, 2), False),
        ([1], 1, False),
        ({"size": 3}, Thing("x"), True),
        ({"size": 4}, Thing("x"), False),
        ({"weight": 4}, Thing("x"), False),
        ({"a": {"b": 1}}, {"a": {"b": 1, "c": 2}}, True),
        ({"$size": 0}, (), True),
        ({"$size": 1}, {"a": 1}, True),
        ({"$size": 1}, 7, False),
        ({"$has": {"id": "x"}}, (Thing("x"),), True),
        ({"$lacks": {"id": "x"}}, (Thing("x"),), False),
        ({"$lacks": 3}, (), True),
        ({"$among": [1, 2]}, 2, True),
        ({"$among": [1, 2]}, 3, False),
        ({"$not": 3}, 4, True),
        ({"$not": 3}, 3, False),
        ({"$least": 3}, 3, True),
        ({"$least": 3}, 2, False),
        ({"$most": 3}, 4, False),
        ({"$least": 0}, True, False),
    ],
)
def test_comparing(expected: Any, found: Any, is_so: bool) -> None:
    """Maps by the keys that are listed, lists whole, true is no number, questions by their name."""
    assert fits(expected, found) is is_so


def test_a_question_that_does_not_exist_is_an_error_and_not_a_difference() -> None:
    with pytest.raises(ReferenceProblem, match=r"\$size"):
        fits({"$length": 2}, (1, 2))


def test_a_restart_before_each_command_changes_nothing() -> None:
    raw = scenario(
        CLOSE_UP, STRIKE, {**NO_PARRY, "dice": [2, 20]}, {"by": "ann", "command": {"type": "answer", "prompt": "$prompt:reroll"}}
    )
    raw["commands"][3]["command"]["choice"] = "no"
    found = sc.parse(raw)
    plainly, reloaded = (list(sc.run(RULES, found, reload=reload)) for reload in (False, True))
    assert [one.entry for one in plainly] == [one.entry for one in reloaded]
    assert plainly[-1].after == reloaded[-1].after
    assert all(one.entry is not None for one in plainly)


WORDS = ("setup", "commands", "by", "command", "type", "dice", "seed", "expect", "facts", "events", "ruleset", "target", "prompt", "$size")
JUNK = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 2**63)
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["$prompt", "$test", "c1", "ann"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6) | st.sampled_from(WORDS), inner, max_size=4),
    max_leaves=12,
)


@given(junk=JUNK)
def test_junk_is_refused_and_nothing_else_happens(junk: Any) -> None:
    """As a whole scenario, as a command, as an expectation, as a part of a set-up: a sentence or a run, never another error."""
    for raw in (
        junk,
        {"ruleset": "duel", "setup": junk},
        scenario({"by": "ann", "command": junk}, seed="x"),
        scenario({"by": "ann", "command": {"type": "attack", "target": junk}}, seed="x"),
        scenario({**CLOSE_UP, "expect": junk}, seed="x"),
        scenario({**CLOSE_UP, "expect": {"facts": {"combatants.c1": junk}, "events": [junk]}}, seed="x"),
    ):
        said = "it ran"
        try:
            play(raw)
        except sc.ScenarioError as problem:
            said = problem.text
        assert said
