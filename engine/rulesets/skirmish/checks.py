"""S.P.E.C.I.A.L. tests outside attacks: called for or proposed, supported, thrown, re-rolled, counted (seeds/special_d10.txt)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from engine import testlife
from engine.rejected import Rejected
from engine.rulesets.skirmish import ground, harm, pools
from engine.rulesets.skirmish.model import Frame, Model, Throwing

if TYPE_CHECKING:
    from engine.rulesets.skirmish import commands as c
    from engine.session import Session
    from engine.step import Step

Owner = tuple[str, str]


def frame(step: Step, command: c.FrameTest) -> None:
    test = testlife.find(step, command.test, "proposed", "framed", "rolled")
    if test.pending:
        raise Rejected("busy", "Its dice lie on the table; a re-roll is waited for.", test=test.id)
    record = _record(step, command)
    testlife.frame(step, test, record, _takes(record), hidden=command.hidden)


def request(step: Step, command: c.RequestTest) -> None:
    record = _record(step, command)
    test = testlife.propose(step, command.combatant, command.label, hidden=command.hidden, frame=record)
    testlife.said(step, test, "test.framed", _takes(record))


def _record(step: Step, command: c.FrameTest | c.RequestTest) -> Frame:
    target: Model | None = step.combatant(command.target) if command.target else None
    return Frame(
        pool=command.pool,
        need=command.need,
        unlucky=command.unlucky,
        lucky=command.lucky,
        rerolls=command.rerolls,
        bonus=command.bonus,
        harm=0 if target is None else target.harm,
        critical=command.critical,
    )


def _takes(record: Frame) -> str:
    return f"It takes {record.pool}{', an unlucky roll' if record.unlucky else ''}, {record.need} to pass."


def join(step: Step, command: c.JoinTest) -> None:
    test = testlife.find(step, command.test, "proposed", "framed")
    by: Model = step.combatants[test.by]
    helper: Model = step.combatant(command.combatant)
    if step.controls(helper.id) and not ground.may_support(step, by, helper):
        raise Rejected("illegal_choice", f"{helper.name} cannot support this test.", combatant=helper.id)
    testlife.join(step, test, helper.id, None, f"{helper.name} supports it.")


def pool_of(tree: Step | Session, by: Model, record: Frame, supporters: int) -> pools.Pool:
    """The pool as it will be thrown."""
    bonus = min(supporters, by.special.C) + record.bonus + record.harm
    return pools.build(tree, by, record.pool, bonus=bonus, lucky=record.lucky, unlucky=record.unlucky)


def roll(step: Step, command: c.RollTest) -> None:
    test = testlife.find(step, command.test, "framed", "rolled")
    if test.pending:
        raise Rejected("busy", "Its dice lie on the table; a re-roll is waited for.", test=test.id)
    if not step.controls(test.by):
        raise Rejected("not_yours", "Only who attempts a test rolls it.", test=test.id)
    by: Model = step.combatants[test.by]
    record: Frame = test.frame
    able = [one.combatant for one in test.helpers if ground.may_support(step, by, step.combatants[one.combatant])]
    counted = [] if record.unlucky else able[: by.special.C]
    for helper in counted:
        harm.tire(step, helper)
    pool = pool_of(step, by, record, len(counted))
    rights = by.rerolls + record.rerolls
    step.change("tests", test.id, status="rolled")
    thrown = pools.throw(step, by, pool, "test", rights=rights, hidden=test.hidden)
    go_on(step, ("tests", test.id), Throwing(prompts=(), throw=thrown))


def go_on(step: Step, owner: Owner, record: Throwing) -> None:
    """Ask for re-rolls while there may be some; then count."""
    prompt = pools.ask_reroll(step, owner, record.throw)
    if prompt is not None:
        step.push(owner, replace(record, prompts=(prompt,)))
        return
    test = step.tests[owner[1]]
    framed: Frame = test.frame
    result = pools.result(step, record.throw)
    passed = result.hits >= framed.need
    effect = framed.critical if result.critical else ""
    text = f"{step.name(test.by)} has {result.hits} of {framed.need}: {'passed' if passed else 'failed'}{f', {effect}' if effect else ''}."
    testlife.said(step, test, "test.rolled", text, passed=passed, critical=result.critical, effect=effect, **result.told)
    testlife.close(step, test.id)
