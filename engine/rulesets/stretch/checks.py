"""Stretch rolls: what a test takes, and a d20 against its gap (seeds/stretch_d20.txt, "The Stretch Roll")."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine import testlife
from engine.rejected import Rejected
from engine.rulesets.stretch import sums
from engine.rulesets.stretch.model import Frame, Wanderer
from engine.talk import fact

if TYPE_CHECKING:
    from engine.rulesets.stretch import commands as c
    from engine.session import Test
    from engine.step import Step

OWN = {"words": "says", "belief": "believes", "decision": "decides"}


def frame(step: Step, command: c.FrameTest) -> None:
    test = testlife.find(step, command.test, "proposed", "framed")
    if command.about != "task":
        _players_own(step, test.by, command.about, test)
        testlife.close(step, test.id)
        return
    record = Frame(using=command.using, threshold=command.threshold)
    _framed(step, testlife.frame(step, test, record, _takes(record), hidden=command.hidden))


def request(step: Step, command: c.RequestTest) -> None:
    who: Wanderer = step.combatant(command.combatant)
    if command.about != "task":
        _players_own(step, who.id, command.about, None)
        return
    record = Frame(using=command.using, threshold=command.threshold)
    test = testlife.propose(step, who.id, command.label, hidden=command.hidden, frame=record)
    testlife.said(step, test, "test.framed", _takes(record))
    _framed(step, test)


def _takes(record: Frame) -> str:
    return f"It takes {record.using} against {record.threshold}."


def _players_own(step: Step, who_id: str, about: str, test: Test | None) -> None:
    """You never roll for what your character says, believes, or decides."""
    who = step.combatants[who_id]
    text = f"What {who.name} {OWN[about]} is its player's alone: nobody rolls."
    if test is not None:
        testlife.said(step, test, "stretch.no_roll", text, about=about)
    else:
        step.about(who_id, "stretch.no_roll", text, combatant=who_id, about=about)


def _framed(step: Step, test: Test) -> None:
    """Tell who attempts it how wide the gap is; without one it succeeds at once."""
    who: Wanderer = step.combatants[test.by]
    gap = sums.gap_of(step, who, test.frame.using, test.frame.threshold)
    need = sums.needed(gap)
    value = sums.skill_value(step, who, test.frame.using)
    text = "A Wall: find another approach." if need is None else f"A gap of {gap}: {f'{need} or more' if need else 'no roll'}."
    step.whisper("stretch.gap", text, who.id, test=test.id, combatant=who.id, value=value, gap=gap, need=need or 0, wall=need is None)
    if need == 0:
        testlife.said(step, test, "test.passed", f"{who.name} succeeds without rolling.", passed=True)
        testlife.close(step, test.id)


def need_of(step: Step, test: Test) -> int:
    """The least d20 that succeeds. Raises Rejected for a Wall."""
    who: Wanderer = step.combatants[test.by]
    need = sums.needed(sums.gap_of(step, who, test.frame.using, test.frame.threshold))
    if need is None:
        raise Rejected("not_now", "It is a Wall: find another approach.", test=test.id)
    return need


def roll(step: Step, command: c.RollTest) -> None:
    test = testlife.find(step, command.test, "framed")
    if not step.controls(test.by):
        raise Rejected("not_yours", "Only who attempts a test rolls it.", test=test.id)
    need = need_of(step, test)
    who: Wanderer = step.combatants[test.by]
    if need == 0:  # the skill grew since it was framed
        testlife.said(step, test, "test.passed", f"{who.name} succeeds without rolling.", passed=True)
        testlife.close(step, test.id)
        return
    rolled = step.roll(1, 20, purpose="test", actor=who.id, hidden=test.hidden)
    passed = sums.stretches(step, who, rolled.faces[0], need)
    text = f"{who.name} rolls {rolled.faces[0]}: {'succeeds' if passed else 'fails'}."
    testlife.said(step, test, "test.rolled", text, passed=passed, rolls=[fact(rolled)])
    testlife.close(step, test.id)
