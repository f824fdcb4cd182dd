"""The life of a test: requested or proposed, framed, joined, rolled, spent, and its complications (core_rules_2d20, "Skill Tests").

Opposed tests go in their order (the opposing side first), helpers and group tests through the gate, difficulty 0 with or without a
roll. A test that waits for an answer blocks itself alone.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from engine import testlife, turns, zones
from engine.dice import RolledFact
from engine.rejected import Rejected
from engine.rulesets import Answered
from engine.rulesets.wasteland import body, checks, complications, derived, ground, luck, modifiers, pools, spending, telling, turnflow
from engine.rulesets.wasteland.commands import FrameTest, Framing, JoinTest, LeadTest, RequestTest, RollTest
from engine.rulesets.wasteland.model import Frame, Helping, Pair, Result, Survivor, Throw
from engine.rulesets.wasteland.pending import Casting, HelpAsked, Trouble
from engine.rulesets.wasteland.switches import switch
from engine.session import Session, Test
from engine.step import Step
from engine.talk import fact

# --- framing and joining -------------------------------------------------------------------------------------------------


def frame_of(step: Step, by: str, command: Framing) -> Frame:
    """The frame a GM's command describes. Raises Rejected when it does not hold together."""
    pair = Pair(attribute=command.attribute, skill=command.skill)
    opposed = bool(command.opponent)
    for one in (command.opponent, *command.group):
        if one and zones.concealed(step, step.combatant(one)):
            raise Rejected("not_now", f"Bring {step.name(one)} into sight first; the test would give them away.", combatant=one)
    if opposed and (command.opponent == by or command.opponent in command.group):
        raise Rejected("illegal_choice", "Nobody opposes their own side's test.", combatant=command.opponent)
    if by in command.group:
        raise Rejected("illegal_choice", "The leader leads; name the others in `group`.", combatant=by)
    difficulty = command.difficulty if command.difficulty is not None else 0 if opposed else 1
    if not opposed and difficulty < 0:
        raise Rejected("illegal_choice", "A difficulty is 0 or more.", field="difficulty")
    against = Pair(attribute=command.against_attribute or command.attribute, skill=command.against_skill or command.skill)
    return Frame(
        pair=pair,
        difficulty=difficulty,
        range=command.range,
        help=command.help,
        group=tuple(dict.fromkeys(command.group)),
        opponent=command.opponent,
        against=against if opposed else None,
        dice=command.bonus_dice,
        minutes=command.minutes,
        action=command.action,
        allow_roll=command.allow_roll,
        vision=command.attribute == "PER" if command.vision is None else command.vision,
    )


def request(step: Step, command: RequestTest) -> None:
    """The GM asks for a test and frames it at once."""
    record = frame_of(step, command.combatant, command)
    test = testlife.propose(step, command.combatant, command.label, hidden=bool(command.hidden), frame=record)
    testlife.said(step, test, "test.framed", told(step, test, record))


def frame(step: Step, command: FrameTest) -> None:
    test = testlife.find(step, command.test, "proposed", "framed")
    if test.pending or (test.result is not None and test.result.opposition):
        raise Rejected("not_now", "That test has begun.", test=test.id)
    record = frame_of(step, test.by, command)
    testlife.frame(step, test, record, told(step, test, record), hidden=command.hidden)


def told(step: Step, test: Test, record: Frame) -> str:
    pair = f"{record.pair.attribute} + {record.pair.skill.replace('_', ' ')}"
    if record.opponent:
        return f"{step.name(test.by)} tests {pair}, opposed by {step.name(record.opponent)}."
    return f"{step.name(test.by)} tests {pair} at difficulty {record.difficulty}."


def join(step: Step, command: JoinTest) -> None:
    """Help with a test, with the GM's leave (core_rules_2d20, "Assistance"); one of a group test names another pair."""
    test = testlife.find(step, command.test, "framed")
    record: Frame = test.frame
    _unbegun(test)
    pair = Pair(attribute=command.attribute or record.pair.attribute, skill=command.skill or record.pair.skill)
    helper = step.combatant(command.combatant)
    if not step.controls(helper.id):
        raise Rejected("not_yours", f"{helper.name} is not yours to command.", combatant=helper.id)
    if not body.able(helper) or helper.id == record.opponent or (zones.concealed(step, helper) and not test.hidden):
        raise Rejected("not_now", f"{helper.name} cannot help with this.", combatant=helper.id)
    if record.help == "any" or step.is_gm or helper.id in record.group:
        _joined(step, test, helper, pair)
        return
    if record.help == "none":
        raise Rejected("forbidden", "The GM lets nobody help with this test.", test=test.id)
    if helper.id in testlife.participants(test):
        raise Rejected("not_now", f"{helper.name} takes part in that test already.", combatant=helper.id)
    owner = ("tests", test.id)
    prompt = step.ask(
        owner,
        next(iter(step.gms()), step.by),
        kind="help",
        type="wasteland.help?",
        text=f"{helper.name} wants to help with {pair.attribute} + {pair.skill.replace('_', ' ')}. Allow it?",
        choices=[("yes", "Yes"), ("no", "No")],
        default="yes",
        always="yes",
        never="no",
        combatant=helper.id,
    )
    step.push(owner, HelpAsked(prompts=(prompt,), test=test.id, helper=helper.id, pair=pair))


def _unbegun(test: Test) -> None:
    if test.pending:
        raise Rejected("busy", "That test waits for an answer first.", test=test.id)
    if test.result is not None:
        raise Rejected("not_now", "That test has begun.", test=test.id)


def _joined(step: Step, test: Test, helper: Survivor, pair: Pair) -> None:
    if helper.id in testlife.participants(test):
        raise Rejected("not_now", f"{helper.name} takes part in that test already.", combatant=helper.id)
    joined: Test = step.change("tests", test.id, helpers=(*test.helpers, Helping(combatant=helper.id, how=pair)))
    text = f"{helper.name} helps with {pair.attribute} + {pair.skill.replace('_', ' ')}."
    testlife.said(step, joined, "test.joined", text, helper=helper.id)


def help_answered(step: Step, record: HelpAsked, answers: tuple[Answered, ...]) -> None:
    test = step.tests.get(record.test)
    helper = step.combatants.get(record.helper)
    if test is None or helper is None or test.status != "framed":
        return
    if answers and answers[0].choice == "yes":
        if helper.id not in testlife.participants(test):
            _joined(step, test, helper, record.pair)
    else:
        testlife.said(step, test, "test.refused", f"The GM lets {helper.name} not help.", helper=helper.id)


def lead(step: Step, command: LeadTest) -> None:
    """core_rules_2d20, "Group Tests": the group decides who leads."""
    test = testlife.find(step, command.test, "framed")
    record: Frame = test.frame
    _unbegun(test)
    if command.combatant not in record.group:
        raise Rejected("illegal_choice", "One of the group leads.", known=list(record.group))
    leader = step.combatant(command.combatant)
    if not step.controls(test.by) and not step.controls(leader.id):
        raise Rejected("not_yours", "Who leads now, who will, or a GM changes the leader.", combatant=leader.id)
    group = tuple(test.by if one == leader.id else one for one in record.group)
    helpers = tuple(one for one in test.helpers if one.combatant != leader.id)
    changed: Test = step.change("tests", test.id, by=leader.id, frame=replace(record, group=group), helpers=helpers)
    testlife.said(step, changed, "test.led", f"{leader.name} leads the test.")


def open_test(step: Step, s: Survivor, label: str, record: Frame, helps: tuple[Helping, ...] = ()) -> Test:
    """A test that an action of somebody's own brings with it. Raises Rejected("limit")."""
    if len(step.tests) >= testlife.MAX_OPEN:
        raise Rejected("limit", f"{testlife.MAX_OPEN} tests are open; finish or withdraw some first.", limit=testlife.MAX_OPEN)
    hidden = zones.concealed(step, s)
    made = Test(id=step.ident("t"), scene=s.scene, by=s.id, label=label, hidden=hidden, frame=record, status="framed", helpers=helps)
    test: Test = step.add("tests", made)
    testlife.said(step, test, "test.proposed", f"{s.name} attempts: {label}.", label=label)
    return test


# --- rolling -------------------------------------------------------------------------------------------------------------


def roll(step: Step, command: RollTest) -> None:
    """Steps 3 to 5 of "Rolling the Dice" for one side of a framed test. Raises Rejected, and then no die was drawn."""
    test = testlife.find(step, command.test, "framed")
    record: Frame = test.frame
    who = command.combatant or test.by
    side = "against" if record.opponent and who == record.opponent else "lead"
    if side == "lead" and who != test.by:
        raise Rejected("illegal_choice", "Who attempts the test rolls it, and in an opposed one who opposes it.", combatant=who)
    s = step.combatant(who)
    if not step.controls(who):
        raise Rejected("not_yours", f"{s.name} is not yours to command.", combatant=who)
    if test.pending:
        raise Rejected("busy", "That test waits for an answer first.", test=test.id)
    if s.out or not (body.able(s) or record.then in ("recover", "ailment")):
        raise Rejected("not_now", f"{s.name} cannot do that now.", combatant=who)
    result: Result = test.result or Result()
    at_once = switch(step, "opposed") == "simultaneous"
    if side == "against":
        if result.opposition:
            raise Rejected("not_now", "The opposing side has rolled.", test=test.id)
        throw_pool(step, test, s, side, command)
        return
    if result.throws:
        raise Rejected("not_now", "That side has rolled.", test=test.id)
    if record.opponent and not at_once and not result.opposition:
        raise Rejected("not_now", f"{step.name(record.opponent)} rolls first.", test=test.id, first=record.opponent)
    throw_pool(step, test, s, side, command)


def throw_pool(step: Step, test: Test, s: Survivor, side: Any, command: Any) -> None:
    """Buy dice, pay, and roll one side's pool, with `command`'s dice, gm_ap, stacked_deck and roll."""
    record: Frame = test.frame
    pair = record.pair if side == "lead" or record.against is None else record.against
    opposed = bool(record.opponent)
    simultaneous = opposed and switch(step, "opposed") == "simultaneous"
    difficulty: int = 0
    reasons: modifiers.Reasons = ()
    if side == "lead":
        difficulty, reasons = difficulty_of(step, test, s)
        result: Result = test.result or Result()
        if record.action != "free" and turns.encounter_of(step, s) is not None:
            s, _ = turnflow.acting(step, s.id)
            s = turnflow.use(step, s, "majors" if record.action == "major" else "minors", gm_ap=bool(command.gm_ap))
        if difficulty == 0 and record.then != "rally" and not simultaneous:
            if not getattr(command, "roll", False):
                _automatic(step, test, s, command)
                return
            may_roll_at_zero(step, record.allow_roll)
        test = step.change("tests", test.id, result=replace(result, difficulty=difficulty))
    gm_ap = bool(command.gm_ap)
    pools.refuse_gm_ap(switch(step, "gm_ap_scope"), gm_ap, command.dice)
    free = record.dice + modifiers.free_dice(s, pair.skill) if side == "lead" else modifiers.free_dice(s, pair.skill)
    extra = pools.buy_dice(
        step,
        s,
        command.dice,
        free,
        gm_ap=gm_ap,
        sealed=sealed(step, test),
        cap_includes_perks=bool(switch(step, "bonus_cap_includes_perks")),
    )
    if command.stacked_deck:
        if s.beast is not None:
            raise Rejected("cannot_pay", f"{s.name} has no Luck.", combatant=s.id, pool="luck", cost=1, value=0)
        s = luck.pay(step, step.combatants[s.id], 1, "Stacked Deck")
    thrown = [_throw(step, test, s, pair, 2 + extra, side, lucky=command.stacked_deck)]
    if side == "lead":
        thrown += _helpers(step, test)
        modifiers.spend_once(step, step.combatants[s.id], pair)
    throws = tuple(one for one, _ in thrown)
    shown = "; ".join(_shown(step, one) for one in throws)
    against = f" at difficulty {difficulty}" if side == "lead" and not simultaneous else ""
    testlife.said(
        step,
        test,
        "test.thrown",
        f"{s.name} rolls{against}: {shown}.",
        side=side,
        difficulty=difficulty,
        reasons=[list(one) for one in reasons],
        pools=[_told(step, one) for one in throws],
        rolls=[fact(one) for _, one in thrown],
    )
    cast(step, test.id, throws, side)


def _shown(step: Step, throw: Throw) -> str:
    target = f" (target {throw.tn})" if telling.is_open(step.combatants[throw.by]) else ""
    return f"{step.name(throw.by)} {', '.join(map(str, throw.faces))}{target}"


def _told(step: Step, throw: Throw) -> dict[str, Any]:
    told: dict[str, Any] = {"by": throw.by, "faces": list(throw.faces)}
    if telling.is_open(step.combatants[throw.by]):
        told.update(tn=throw.tn, crit=throw.crit)
    return told


def _kept(step: Step, throws: tuple[Throw, ...]) -> tuple[Throw, ...]:
    """Pools as the result keeps them: without the target numbers of strangers."""
    return tuple(
        one if one.by in step.combatants and telling.is_open(step.combatants[one.by]) else replace(one, tn=0, crit=0) for one in throws
    )


def may_roll_at_zero(step: Step, allowed: bool) -> None:
    """core_rules_2d20, "Difficulty Zero Tests": rolling for AP is at the GM's discretion (switch `d0_roll`). Raises Rejected."""
    if not (allowed or step.is_gm or switch(step, "d0_roll") == "player" or step.table.setting("d0_roll")):
        raise Rejected("forbidden", "It succeeds without a roll; rolling for Action Points is for the GM to allow.", needs="gm")


def difficulty_of(step: Step | Session, test: Test, s: Survivor) -> tuple[int, modifiers.Reasons]:
    """The active side's difficulty and its reasons; in an opposed test the other side's successes are where it starts."""
    record: Frame = test.frame
    reasons: list[tuple[str, int]] = [("difficulty", record.difficulty)]
    result: Result | None = test.result
    if result is not None and result.opposition and switch(step, "opposed") == "sequential":
        reasons.insert(0, ("opposition", result.against))
    reasons += modifiers.personal(s, record.pair)
    if record.vision and s.injuries and body.suffers(s, "head"):
        reasons.append(("dim_sight", 2))
    reasons += ground.test_reasons(step, s, record.pair, vision=record.vision)
    if turns.encounter_of(step, s) is not None and (record.action != "free" or record.then):
        reasons += modifiers.in_reach(step, s)
    if record.action == "major" and turns.encounter_of(step, s) is not None:
        reasons += modifiers.second_major(step, s)
    found = tuple(one for one in reasons if one[1])
    return modifiers.total(found), found


def sealed(step: Step | Session, test: Test) -> bool:
    """Two player characters that oppose each other cannot use the group pool (FACTS A9)."""
    record: Frame = test.frame
    if not record.opponent:
        return False
    both = (step.combatants.get(test.by), step.combatants.get(record.opponent))
    return all(one is not None and pools.pool_of(one) == pools.GROUP for one in both)


def _throw(step: Step, test: Test, s: Survivor, pair: Pair, count: int, role: Any, *, lucky: bool = False) -> tuple[Throw, RolledFact]:
    rolled = step.roll(count, 20, purpose=f"test.{role}", actor=s.id, hidden=test.hidden)
    crit = derived.crit_face(s, pair, switch(step, "tag_crit"))
    tn = derived.target_number(s, pair, lucky=lucky)
    return Throw(by=s.id, tn=tn, crit=crit, faces=rolled.faces, roll=rolled.n, role=role, skill=pair.skill), rolled


def _helpers(step: Step, test: Test) -> list[tuple[Throw, RolledFact]]:
    """1d20 of each of the group and each helper who can still help, in order of joining; nobody buys dice for it."""
    record: Frame = test.frame
    pairs = dict.fromkeys(record.group, record.pair)
    pairs.update({one.combatant: one.how for one in test.helpers})
    pairs.update(_promised(step, test))
    found = []
    for one, pair in pairs.items():
        helper = step.combatants.get(one)
        if helper is not None and body.able(helper):
            found.append(_throw(step, test, helper, pair, 1, "help"))
    return found


def _promised(step: Step, test: Test) -> dict[str, Pair]:
    """Those who promised to assist the next test of who attempts it (Assist); the promise is kept now."""
    found: dict[str, Pair] = {}
    for one in list(step.combatants.values()):
        if body.stands_by(step, one, test.by):
            found[one.id] = one.promise.pair
            step.change("combatants", one.id, promise=None)
    return found


def _automatic(step: Step, test: Test, s: Survivor, command: Any) -> None:
    """Difficulty 0 without a roll: success, no AP, no risk, no die."""
    if command.dice or command.stacked_deck:
        raise Rejected("illegal_choice", "At difficulty 0 nothing is rolled; ask to roll, or buy nothing.", test=test.id)
    pools.refuse_gm_ap(switch(step, "gm_ap_scope"), command.gm_ap, 0)
    record: Frame = test.frame
    opposition = () if test.result is None else test.result.opposition
    changed: Test = step.change(
        "tests", test.id, status="rolled", result=Result(passed=True, minutes=record.minutes, opposition=opposition)
    )
    modifiers.spend_once(step, step.combatants[s.id], record.pair)
    testlife.said(
        step, changed, "test.result", f"{s.name} succeeds without a roll.", passed=True, successes=0, difficulty=0, ap=0, complications=0
    )
    _decided(step, test.id, True)


def _decided(step: Step, test_id: str, passed: bool) -> None:
    """What the test was for happens, then what AP can buy."""
    from engine.rulesets.wasteland import outcomes  # here, because what tests decide may ask for further tests

    test = step.tests[test_id]
    s = step.combatants.get(test.by)
    if s is not None and test.frame.then:
        outcomes.tested(step, test, s, passed)
    if test_id in step.tests:
        spending.after(step, test_id)


def cast(step: Step, test_id: str, throws: tuple[Throw, ...], side: Any) -> None:
    """The pools lie on the table: ask who has Luck whether to re-roll, else go on to the result."""
    owner = ("tests", test_id)
    frame: Frame = step.tests[test_id].frame
    # A readied Defend or Rally comes between a declaration and its dice, so its own dice wait for nobody.
    at_once = frame.then in ("defend", "rally") and not frame.asked
    asked = () if at_once else tuple(prompt for one in throws if (prompt := luck.ask_d20(step, owner, one)))
    if asked:
        step.push(owner, Casting(prompts=asked, test=test_id, throws=throws, side=side))
    else:
        conclude(step, step.tests[test_id], throws, side)


def recast(step: Step, record: Casting, answers: tuple[Answered, ...]) -> None:
    """Luck was offered: re-roll what was asked for, and offer again as long as something was."""
    test = step.tests.get(record.test)
    if test is None:
        return
    wanted = {one.combatant: one.ints for one in answers if one.choice == "yes" and one.combatant in step.combatants}
    if not wanted:
        conclude(step, test, record.throws, record.side)
        return
    throws = tuple(
        luck.reroll_d20(step, one, wanted[one.by], hidden=test.hidden, points=len(wanted[one.by]), purpose="test.again")
        if one.by in wanted
        else one
        for one in record.throws
    )
    cast(step, test.id, throws, record.side)


# --- results -------------------------------------------------------------------------------------------------------------


def _scored(throws: tuple[Throw, ...]) -> int:
    return sum(checks.successes(one.faces, one.tn, one.crit) for one in throws if one.role != "help")


def conclude(step: Step, test: Test, throws: tuple[Throw, ...], side: Any) -> None:
    """A side's dice are final."""
    record: Frame = test.frame
    result: Result = test.result or Result()
    simultaneous = bool(record.opponent) and switch(step, "opposed") == "simultaneous"
    if side == "against":
        scored = _scored(throws)
        result = replace(result, opposition=_kept(step, throws), against=scored)
        test = step.change("tests", test.id, result=result)
        text = f"{step.name(record.opponent)} scores {scored}."
        testlife.said(step, test, "test.opposed", text, opponent=record.opponent, successes=scored)
        if simultaneous and result.throws:
            _compare(step, test, result)
        return
    if simultaneous:
        result = replace(result, throws=_kept(step, throws), successes=_total(step, throws))
        test = step.change("tests", test.id, result=result)
        if result.opposition:
            _compare(step, test, result)
        return
    total = _total(step, throws)
    passed = total >= result.difficulty
    ap = checks.surplus(total, result.difficulty) if passed else 0
    judged(step, test, replace(result, throws=_kept(step, throws), successes=total, passed=passed, ap=ap), result.difficulty - total)


def _total(step: Step, throws: tuple[Throw, ...]) -> int:
    helpers = (checks.successes(one.faces, one.tn, one.crit) for one in throws if one.role == "help")
    return checks.with_help(_scored(throws), helpers, bool(switch(step, "assist_gate")))


def _compare(step: Step, test: Test, result: Result) -> None:
    """Both sides have rolled at once: more successes win (summary_2d20_zh, 1.2); switch `opposed_tie` says what a tie does."""
    mine, theirs = result.successes, result.against + result.difficulty
    tie = switch(step, "opposed_tie")
    if mine == theirs and tie == "reroll":
        testlife.said(step, test, "test.tied", f"{mine} against {theirs}: both roll again.", successes=mine)
        step.change("tests", test.id, result=Result(difficulty=result.difficulty))
        return
    passed = mine > theirs or (mine == theirs and tie == "active")
    drawn = mine == theirs and tie == "none"
    judged(
        step,
        test,
        replace(result, successes=mine, difficulty=max(theirs, 0), passed=passed, ap=max(mine - theirs, 0) if passed else 0),
        0 if drawn else theirs - mine,
        drawn=drawn,
    )


def judged(step: Step, test: Test, result: Result, short: int, *, drawn: bool = False) -> None:
    """The result is known: AP for who won, then spending, then complications. `short` is by how much a lost test fell short."""
    record: Frame = test.frame
    bad = sum(checks.complications(one.faces, record.range) for one in (*result.throws, *result.opposition))
    result = replace(result, complications=bad, minutes=record.minutes)
    test = step.change("tests", test.id, status="rolled", result=result)
    s = step.combatants.get(test.by)
    other = step.combatants.get(record.opponent) if record.opponent else None
    gained = short if other is not None and not result.passed and short > 0 else 0
    if s is not None:
        pools.gain(step, s, result.ap)
    if other is not None:
        pools.gain(step, other, gained)
    verdict = "draws" if drawn else "passes" if result.passed else "fails"
    text = f"{step.name(test.by)} {verdict}: {result.successes} against {result.difficulty}."
    if result.ap:
        text += f" {result.ap} AP."
    testlife.said(
        step,
        test,
        "test.result",
        text,
        passed=result.passed,
        drawn=drawn,
        successes=result.successes,
        difficulty=result.difficulty,
        ap=result.ap,
        against_ap=gained,
        complications=bad,
    )
    _decided(step, test.id, result.passed)


def trouble_over(step: Step, record: Trouble, answers: tuple[Answered, ...]) -> None:
    """The complications of a test are settled: it is done."""
    complications.settled(step, record, answers)
    if record.test in step.tests:
        spending.finish(step, record.test)
