"""Tests that something forces on somebody: against death, a trap, a tranquilizer. They hold the fight up until they are decided.

The pair, difficulty and complication range are given; who must pass may put dice and Luck into it (switch `dying_resources` for the
dying). What passing or failing does is in engine.rulesets.wasteland.outcomes.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec.structs import replace

from engine import testlife, turns
from engine.rulesets import Answered
from engine.rulesets.wasteland import body, checks, complications, derived, luck, modifiers, pools, telling
from engine.rulesets.wasteland.model import Pair, Survivor, Throw
from engine.rulesets.wasteland.pending import Save
from engine.rulesets.wasteland.switches import switch
from engine.rulesets.wasteland.tables import DICE_PRICE, MAX_BONUS_DICE
from engine.session import Ints, Test
from engine.step import Step
from engine.talk import fact

Owner = tuple[str, str]
Then = Literal["death", "trap", "tranquilize"]
ENDURE = Pair(attribute="END", skill="survival")
WORDS = {"death": "stay alive", "trap": "get clear in time", "tranquilize": "stay awake"}


def owner_of(step: Step, s: Survivor) -> Owner:
    """What the questions hang on: the fight, or outside one a test that is never rolled."""
    encounter = turns.encounter_of(step, s)
    if encounter is not None:
        return ("encounters", encounter.id)
    test = step.add("tests", Test(id=step.ident("t"), scene=s.scene, by=s.id, label="a forced test", status="rolled", hidden=s.hidden))
    return ("tests", test.id)


def demand(step: Step, s: Survivor, pair: Pair, difficulty: int, *, then: Then, range_: int = 1, source: str = "") -> None:
    """Somebody must pass a test now."""
    dim = 2 if pair.attribute == "PER" and body.suffers(s, "head") else 0
    difficulty = checks.clamped(difficulty + dim + sum(amount for _, amount in modifiers.personal(s, pair)))
    record = Save(stage="offer", by=s.id, pair=pair, difficulty=difficulty, range=range_, then=then, source=source)
    owner = owner_of(step, s)
    if difficulty == 0:
        _decide(step, owner, record, Throw(by=s.id, tn=0, crit=1, faces=(), roll=0))
        return
    prompt = _offer(step, owner, s, record)
    if prompt:
        step.push(owner, replace(record, prompts=(prompt,)))
    else:
        _roll(step, owner, record, 0, lucky=False)


def _offer(step: Step, owner: Owner, s: Survivor, record: Save) -> str:
    """Ask a player what to put into it; "" when there is nothing to ask. What a GM plays just rolls, unless it has Luck."""
    if record.then == "death" and not switch(step, "dying_resources"):
        return ""
    seat = step.seats.get(step.controller(s.id))
    if seat is None or seat.preference("save") == "never" or (seat.role == "gm" and not s.luck):
        return ""
    choices = [("roll", "Roll two dice")]
    most = 0
    if pools.pool_of(s) == pools.GROUP or pools.value(step, pools.pool_of(s)):
        free = modifiers.free_dice(s, record.pair.skill)
        most = MAX_BONUS_DICE - min(free, MAX_BONUS_DICE)
        if pools.pool_of(s) != pools.GROUP:
            most = pools.affordable_dice(step, s, free, True)
    if most:
        choices.append(("buy", "Buy this many more dice; the GM gets what the pool lacks"))
    if s.luck and s.beast is None:
        choices.append(("deck", "LCK in place of the attribute, for 1 Luck"))
    if len(choices) == 1:
        return ""
    return step.ask(
        owner,
        seat.id,
        kind="save",
        type="wasteland.save?",
        text=f"{s.name} must {WORDS[record.then]}: {record.pair.attribute} + {record.pair.skill}, difficulty {record.difficulty}.",
        choices=choices,
        default="roll",
        always="roll",
        never="roll",
        ints=Ints(least=1, most=1, low=1, high=most, choice="buy") if most else None,
        combatant=s.id,
        difficulty=record.difficulty,
    )


def resume(step: Step, owner: Owner, record: Save, answers: tuple[Answered, ...]) -> None:
    given = answers[0] if answers else None
    s = step.combatants.get(record.by)
    if s is None or s.out:
        close(step, owner)
        return
    if record.stage == "offer":
        choice = given.choice if given is not None else "roll"
        dice = given.ints[0] if given is not None and choice == "buy" and given.ints else 0
        _roll(step, owner, record, dice, lucky=choice == "deck" and s.luck > 0)
        return
    assert record.throw is not None
    if given is not None and given.choice == "yes":
        throw = luck.reroll_d20(step, record.throw, given.ints, hidden=False, points=len(given.ints), purpose="save.again")
        _luck(step, owner, replace(record, throw=throw))
    else:
        _decide(step, owner, record, record.throw)


def _roll(step: Step, owner: Owner, record: Save, dice: int, *, lucky: bool) -> None:
    s: Survivor = step.combatants[record.by]
    free = modifiers.free_dice(s, record.pair.skill)
    if dice:
        pools.pay(step, s, DICE_PRICE[dice], f"{dice} more d20s", gm_ap=True)
    if lucky:
        s = luck.pay(step, step.combatants[s.id], 1, "Stacked Deck")
    rolled = step.roll(2 + dice + min(free, MAX_BONUS_DICE - dice), 20, purpose=f"save.{record.then}", actor=s.id)
    throw = Throw(
        by=s.id,
        tn=derived.target_number(s, record.pair, lucky=lucky),
        crit=derived.crit_face(s, record.pair, switch(step, "tag_crit")),
        faces=rolled.faces,
        roll=rolled.n,
        skill=record.pair.skill,
    )
    text = f"{s.name} must {WORDS[record.then]}, difficulty {record.difficulty}: rolls {', '.join(map(str, rolled.faces))}."
    data: dict[str, Any] = {
        "combatant": s.id, "then": record.then, "difficulty": record.difficulty, "faces": list(rolled.faces), "rolls": [fact(rolled)]
    }  # fmt: skip
    telling.tell(step, (s.id,), "wasteland.save", text, data)
    _luck(step, owner, replace(record, throw=throw))


def _luck(step: Step, owner: Owner, record: Save) -> None:
    assert record.throw is not None
    allowed = record.then != "death" or bool(switch(step, "dying_resources"))
    prompt = luck.ask_d20(step, owner, record.throw) if allowed else ""
    if prompt:
        step.push(owner, replace(record, stage="luck", prompts=(prompt,)))
    else:
        _decide(step, owner, record, record.throw)


def _decide(step: Step, owner: Owner, record: Save, throw: Throw) -> None:
    from engine.rulesets.wasteland import outcomes  # here, because outcomes hurt, and what hurts may force a test

    s: Survivor = step.combatants[record.by]
    scored = checks.successes(throw.faces, throw.tn, throw.crit)
    passed = scored >= record.difficulty
    ap = checks.surplus(scored, record.difficulty) if passed and throw.faces else 0
    pools.gain(step, s, ap)
    bad = checks.complications(throw.faces, record.range)
    text = f"{s.name} {'manages to' if passed else 'does not'} {WORDS[record.then]}: {scored} of {record.difficulty}."
    data: dict[str, Any] = {
        "combatant": s.id, "then": record.then, "passed": passed, "successes": scored, "difficulty": record.difficulty, "ap": ap,
        "complications": bad,
    }  # fmt: skip
    telling.tell(step, (s.id,), "wasteland.saved", text, data)
    outcomes.saved(step, owner, record, passed)
    encounter_or_test = getattr(step, owner[0]).get(owner[1])
    if encounter_or_test is not None and bad:
        complications.ask(step, owner, record.by, (record.by,) * bad, skill=record.pair.skill)
    else:
        close(step, owner)


def close(step: Step, owner: Owner) -> None:
    """Outside a fight nothing but the questions kept the test that they hung on."""
    if owner[0] == "tests" and owner[1] in step.tests and not step.tests[owner[1]].pending:
        testlife.close(step, owner[1])
