"""After a test's result: Obtain Information, Reduce Time, then its complications, then it is done (core_rules_2d20, "Action Points")."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from engine import testlife
from engine.rejected import Rejected
from engine.rulesets import Answered
from engine.rulesets.wasteland import checks, complications, healing, perks, pools
from engine.rulesets.wasteland.commands import AnswerTest, AskTest, SpendTest
from engine.rulesets.wasteland.model import Frame, Question, Result, Survivor
from engine.rulesets.wasteland.pending import Spending
from engine.rulesets.wasteland.switches import switch
from engine.session import Test
from engine.step import Step

INFORMATION = 1
TIME = 2
HEAL = 1
INJURY = 2
PRICES: Mapping[str, int] = {"information": INFORMATION, "time": TIME, "heal": HEAL, "wake": 1, "injury": INJURY}


def after(step: Step, test_id: str) -> None:
    """The result stands: offer what Action Points can buy now, else go on to the complications."""
    test = step.tests[test_id]
    s = step.combatants.get(test.by)
    legal = uses(step, test, s) if s is not None else []
    if not legal or s is None:
        troubles(step, test_id)
        return
    seat = step.seats.get(step.controller(s.id))
    if seat is None or seat.preference("spend") == "never":
        troubles(step, test_id)
        return
    owner = ("tests", test_id)
    prompt = step.ask(
        owner,
        seat.id,
        kind="spend",
        type="wasteland.spend?",
        text=f"{s.name} passed. Spend Action Points on it? The pool has {pools.value(step, pools.pool_of(s))}.",
        choices=[("done", "Keep them"), *legal],
        default="done",
        never="done",
        combatant=s.id,
    )
    step.push(owner, Spending(prompts=(prompt,), test=test_id))


def uses(step: Step, test: Test, s: Survivor) -> list[tuple[str, str]]:
    """What a passed test of a player's character can still be spent on, as far as the pool goes.

    Under `gm_ap_scope=any` the GM gets what it lacks, so everything can be.
    """
    record: Frame = test.frame
    result: Result = test.result
    if not result.passed:
        return []
    if record.then in ("aid", "recover"):
        return _cares(step, s, record)
    if record.then or pools.pool_of(s) != pools.GROUP:
        return []
    generated = switch(step, "gm_ap_scope") == "any"
    usable = TIME if generated else pools.value(step, pools.GROUP)
    found = []
    if usable >= INFORMATION:
        found.append(("information", "Ask the GM a question, 1 AP"))
    if usable >= TIME and record.minutes > 1 and result.minutes == record.minutes:
        found.append(("time", f"{record.minutes // 2} minutes instead of {record.minutes}, 2 AP"))
    return found


def _cares(step: Step, s: Survivor, record: Frame) -> list[tuple[str, str]]:
    """What AP still do for a patient: HP, waking, one more injury that is over."""
    generated = switch(step, "gm_ap_scope") == "any" and pools.pool_of(s) == pools.GROUP
    left = INJURY if generated else pools.value(step, pools.pool_of(s))
    if record.then == "aid":
        return healing.spends(step, record) if left >= HEAL else []
    if s.injuries and left >= INJURY and switch(step, "recovery_yield") != "all":
        return [("injury", "One more injury is over, 2 AP")]
    return []


def spent(step: Step, record: Spending, answers: tuple[Answered, ...]) -> None:
    """The prompt was answered."""
    if record.test in step.tests:
        _spend(step, record.test, answers[0].choice if answers else "done", "")


def spend_command(step: Step, command: SpendTest) -> None:
    """The same by name, with the question put at once."""
    test = testlife.find(step, command.test, "rolled")
    if not step.controls(test.by):
        raise Rejected("not_yours", "Who attempted the test spends on it.", test=test.id)
    if command.what == "done" and not test.pending:
        finish(step, test.id)  # a question about it was voided, so nothing else would end it
        return
    if not test.pending or not isinstance(test.pending[-1], Spending):
        raise Rejected("not_now", "Nothing can be spent on that test now.", test=test.id)
    if command.question and command.what != "information":
        raise Rejected("illegal_choice", "A question goes with information.", field="question")
    for prompt_id in test.pending[-1].prompts:
        step.remove("prompts", prompt_id)
    step.change("tests", test.id, pending=test.pending[:-1])
    _spend(step, test.id, command.what, command.question)


def _spend(step: Step, test_id: str, what: str, question: str) -> None:
    test = step.tests[test_id]
    s = step.combatants.get(test.by)
    if what == "done" or s is None:
        troubles(step, test_id)
        return
    generated = switch(step, "gm_ap_scope") == "any"
    legal = [value for value, _ in uses(step, test, s)]
    if what not in legal:
        # Either it was never on offer or the pool was spent meanwhile.
        code = "cannot_pay" if pools.value(step, pools.pool_of(s)) < PRICES[what] else "not_now"
        raise Rejected(code, "That cannot be bought for this test now.", test=test_id, known=legal)
    result: Result = test.result
    if what == "time":
        pools.pay(step, s, TIME, "saving time", gm_ap=generated)
        test = step.change("tests", test_id, result=replace(result, minutes=result.minutes // 2))
        text = f"It takes {test.result.minutes} minutes instead of {result.minutes}."
        testlife.said(step, test, "wasteland.time", text, minutes=test.result.minutes)
    elif what in ("heal", "wake", "injury"):
        record: Frame = test.frame
        pools.pay(step, s, PRICES[what], "better care", gm_ap=generated)
        if what == "heal":
            healing.heal(step, record.patient, healing.per_ap(record), s.id)
        elif what == "wake":
            healing.wake(step, record.patient)
        else:
            healing.recover(step, s.id)
    else:
        pools.pay(step, s, INFORMATION, "a question", gm_ap=generated)
        test = step.change("tests", test_id, result=replace(result, questions=(*result.questions, Question(text=question))))
        testlife.said(step, test, "wasteland.question", f"{s.name} asks: {question or '...'}", question=question)
    after(step, test_id)


def ask_command(step: Step, command: AskTest) -> None:
    """Put the oldest question without words into words."""
    test = testlife.find(step, command.test, "rolled")
    if not step.controls(test.by):
        raise Rejected("not_yours", "Who attempted the test asks.", test=test.id)
    result = test.result
    questions = () if result is None else result.questions
    place = next((i for i, one in enumerate(questions) if not one.text and not one.answer), None)
    if place is None:
        raise Rejected("not_now", "No question was bought; each costs 1 Action Point.", test=test.id)
    asked = tuple(replace(one, text=command.question) if i == place else one for i, one in enumerate(questions))
    test = step.change("tests", test.id, result=replace(result, questions=asked))
    testlife.said(step, test, "wasteland.question", f"{step.name(test.by)} asks: {command.question}", question=command.question)


def answer_command(step: Step, command: AnswerTest) -> None:
    """The GM answers truthfully, if not completely."""
    test = testlife.find(step, command.test, "rolled")
    result = test.result
    questions = () if result is None else result.questions
    place = next((i for i, one in enumerate(questions) if not one.answer), None)
    if place is None:
        raise Rejected("not_now", "No question waits for an answer.", test=test.id)
    told = tuple(replace(one, answer=command.answer) if i == place else one for i, one in enumerate(questions))
    test = step.change("tests", test.id, result=replace(result, questions=told))
    testlife.said(
        step, test, "wasteland.answer", f"The GM answers: {command.answer}", question=questions[place].text, answer=command.answer
    )
    if not test.pending:
        finish(step, test.id)


def troubles(step: Step, test_id: str) -> None:
    """Complications, one prompt each, after the result and everything bought with it."""
    test = step.tests[test_id]
    record: Frame = test.frame
    result: Result = test.result
    of = [one.by for one in (*result.throws, *result.opposition) for _ in range(checks.complications(one.faces, record.range))]
    who = step.combatants.get(test.by)
    if of and who is not None and of[0] == who.id and perks.bonus(who, "forgiven", record.pair.skill):
        of = of[1:]
    if not complications.ask(step, ("tests", test_id), test.by, tuple(of), skill=record.pair.skill, test=test_id):
        finish(step, test_id)


def finish(step: Step, test_id: str) -> None:
    """The test is over, but for questions that wait for their answers. Outside a fight the excess AP go with it."""
    test = step.tests[test_id]
    if test.result is not None and any(not one.answer for one in test.result.questions):
        return
    if not any(encounter.current for encounter in step.encounters.values()):
        pools.trim(step)
    testlife.close(step, test_id)
