"""Options and what is accepted are the same: whatever is listed is accepted, whatever a player may do is listed. Odds are exact."""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction
from itertools import islice

import pytest

import engine
from engine import Rejected
from tests.support import junk, listing
from tests.support.positions import outcome, positions
from tests.support.table import Table


@pytest.mark.parametrize("seed", range(2))
def test_every_combination_of_what_is_offered_is_accepted(ruleset: str, seed: int) -> None:
    """Tried from every other position of a fight; `apply` is pure, so nothing is spent by trying."""
    tried = 0
    for table, _ in islice(positions(ruleset, seed, 40), seed, None, 2):
        for seat in table.session.seats:
            for option in table.options(seat):
                for raw in junk.combinations(option):
                    came = outcome(table, seat, raw)
                    assert not isinstance(came, Rejected), f"{seat} was offered {raw} and is refused: {came}"
                    tried += 1
    assert tried > 100


@pytest.mark.parametrize("seed", range(3))
def test_what_is_accepted_is_an_instance_of_what_is_listed(ruleset: str, seed: int) -> None:
    """Commands of players are made from their forms, not from options. What is accepted agrees with a listed option in every field
    (tests/support/listing.py); what a ruleset accepts beyond its options it declares, with its reason, in `unlisted`."""
    found: Counter[str] = Counter()
    for table, rnd in positions(ruleset, seed, 40):
        ids = junk.Ids(table)
        for seat in table.session.seats.values():
            if seat.role != "player":
                continue
            options = engine.options_of(table.rules, table.session, seat.id)
            for form in listing.turn_commands(table.rules):
                for _ in range(12):
                    raw = junk.from_form(form, rnd, ids)
                    if isinstance(outcome(table, seat.id, raw), Rejected):
                        continue
                    found[raw["type"]] += 1
                    assert listing.is_listed(table.rules, table.session, options, raw), f"{seat.id} may {raw}, which no option lists"
    assert found["turn.end"] > 0
    assert len(found) > 1, "nothing but ending turns was ever accepted, so this proves nothing"


def test_an_accepted_answer_is_one_that_its_question_lists(ruleset: str) -> None:
    """Answers are made from all choices and numbers there are, not from the question's own."""
    asked = answered = 0
    for seed in range(8):
        for table, rnd in positions(ruleset, seed, 40):
            for prompt in table.prompts():
                asked += 1
                for raw in listing.any_answers(prompt, rnd):
                    if not isinstance(outcome(table, prompt.to, raw), Rejected):
                        answered += 1
                        assert listing.is_answer_listed(prompt, raw), f"{raw} is no answer to {prompt}"
        if asked > 20:
            break
    assert answered > 0 or asked == 0


def test_what_a_ruleset_accepts_unlisted_is_there_and_has_a_reason(ruleset: str) -> None:
    rules = engine.ruleset(ruleset)
    forms = {str(one.__struct_config__.tag): one for one in rules.commands}
    for name, reason in rules.unlisted.items():
        tag = name if name in forms else name.rpartition(".")[0]
        assert tag in forms, f"{name} names no command"
        assert name == tag or name.rpartition(".")[2] in [field.encode_name for field in junk.form_of(forms[tag]).fields]
        assert len(reason.split()) > 2


def test_odds_are_exact_and_told_for_every_option_that_promises_them(ruleset: str) -> None:
    """Each probability is a reduced fraction from 0 to 1, and the table of amounts adds up to exactly 1."""
    told = 0
    for table, _ in islice(positions(ruleset, 1, 60), 0, None, 2):
        for seat in table.session.seats:
            for option in engine.options_of(table.rules, table.session, seat):
                if not option.odds:
                    continue
                for raw in islice(junk.combinations(option), 0, None, 5):
                    odds = table.rules.odds(table.session, seat, table.rules.decode(raw))
                    told += 1
                    assert odds.parts, f"nothing is told of {raw}"
                    assert len({part.name for part in odds.parts}) == len(odds.parts)
                    for p in [part.p for part in odds.parts] + [amount.p for amount in odds.damage]:
                        assert 0 <= Fraction(p) <= 1
                        assert p == "{0.numerator}/{0.denominator}".format(Fraction(p))
                    values = [amount.value for amount in odds.damage]
                    assert values == sorted(set(values))
                    assert not values or sum(Fraction(amount.p) for amount in odds.damage) == 1
    assert told > 0 or not any(option.odds for table, _ in positions(ruleset, 1, 60) for option in table.options("gm"))


@pytest.mark.parametrize("seed", range(4))
def test_a_fight_of_pilots_ends_and_its_log_leads_to_it(ruleset: str, seed: int) -> None:
    """Played from prompts and options alone; the log replays to the same session, and its audit executes every entry again."""
    table = Table(ruleset, watched=False)
    junk.play_pilots(table, random.Random(seed))
    assert not table.session.encounters
    assert table.replayed() == table.session
    for stream in ("open", "hidden"):
        junk.attempt(table, "gm", {"type": "gm.dice", "do": "reveal", "stream": stream})
    audit = table.audit()
    assert (audit.verdict, audit.difference, audit.executed) == ("ok", None, len(table.entries))
