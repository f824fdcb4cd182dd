"""Everything that a ruleset says has a stable message id, by which clients translate it, and an English sentence for the rest."""

from __future__ import annotations

import re

import engine
from engine import Event
from tests.support.positions import positions

MESSAGE_ID = re.compile(r"[a-z]+(_[a-z]+)*(\.[a-z]+(_[a-z]+)*)*\??")
"""Words, and no number or id of anything at the table."""
SPOKEN = ("chat", "post")
"""What people said is their own text, kept outside the log."""


def check(ruleset: str, kind: str, message_id: str, text: str) -> None:
    assert MESSAGE_ID.fullmatch(message_id), f"{kind} {message_id!r} is no stable id"
    others = set(engine.names()) - {ruleset}
    assert message_id.split(".")[0] not in others, f"{kind} {message_id!r} is another ruleset's"
    assert message_id in SPOKEN or text.strip(), f"{kind} {message_id!r} has no sentence"


def test_every_event_option_and_question_has_an_id_and_a_sentence(ruleset: str) -> None:
    seen: set[str] = set()
    for table, _ in positions(ruleset, 0, 60):
        for event in table.events:
            shown = event.public
            for one in (event, shown) if isinstance(shown, Event) else (event,):
                check(ruleset, "event", one.type, one.text)
                seen.add(one.type)
        for prompt in table.prompts():
            check(ruleset, "question", prompt.type, prompt.text)
            assert prompt.choices or prompt.ints, f"{prompt.type} can be answered with nothing"
            assert all(choice.text.strip() for choice in prompt.choices), prompt
            values = [choice.value for choice in prompt.choices]
            assert not values or prompt.default in values, f"{prompt.type} defaults to no answer"
        for seat in table.session.seats:
            for option in engine.options_of(table.rules, table.session, seat):
                check(ruleset, "option", option.type, option.text)
                assert option.command.get("type") in [one.__struct_config__.tag for one in table.rules.commands], option
                for param in option.params:
                    assert param.text.strip(), option
                    assert param.kind != "choice" or param.choices, f"{option.type} asks for {param.name} and lists nothing"
                    assert all(choice.text.strip() for choice in param.choices), option
                assert all(cost.pool and cost.amount > 0 for cost in option.cost), option
    assert any(one.startswith(f"{ruleset}.") for one in seen), "the ruleset never said anything of its own"


def test_a_ruleset_says_what_it_is_and_what_its_switches_may_be(ruleset: str) -> None:
    rules = engine.ruleset(ruleset)
    assert re.fullmatch(r"[a-z][a-z0-9_]*", rules.name)
    assert rules.version
    assert rules.title.strip()
    assert rules.summary.strip()
    assert rules.samples, "without a ready table there is no demo"
    assert all(line.strip() for line in rules.samples.values())
    for name, values in rules.switches.items():
        assert len(values) > 1, f"the switch {name} switches nothing"
    for chosen in rules.variants.values():
        assert all(value in rules.switches[name] for name, value in chosen.items())
