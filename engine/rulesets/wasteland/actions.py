"""Major actions that are tests of their own: Rally and Defend (combat_rules_2d20, "Major Actions"); and the GM's hand on difficulties."""

from __future__ import annotations

from engine import testlife, turns
from engine.rejected import Rejected, unknown
from engine.rulesets.wasteland import derived, testflow
from engine.rulesets.wasteland.commands import Defend, GmModify, Rally
from engine.rulesets.wasteland.model import Frame, Hindrance, Pair, Survivor
from engine.session import Encounter
from engine.step import Step

RALLY_PAIRS = frozenset({("END", "survival"), ("STR", "athletics")})
"""Both are printed: the first as the action, the second for getting through terrain (FACTS B2); a GM may use any."""


def _fighter(step: Step, combatant_id: str) -> tuple[Survivor, Encounter]:
    s, encounter = turns.acting(step, combatant_id)
    if encounter is None:
        raise Rejected("not_now", "That is for fights.", combatant=s.id)
    return s, encounter


def rally(step: Step, command: Rally) -> None:
    """A difficulty 0 test that always rolls; every success above becomes AP."""
    s, _ = _fighter(step, command.combatant)
    pair = Pair(attribute=command.attribute, skill=command.skill)
    if (pair.attribute, pair.skill) not in RALLY_PAIRS and not step.is_gm:
        raise Rejected("forbidden", "Another pair is the GM's to allow: they can ask for the test themselves.", needs="gm")
    test = testlife.propose(step, s.id, "Rally", frame=Frame(pair=pair, difficulty=0, action="major", then="rally"))
    testflow.throw_pool(step, test, s, "lead", command)


def defend(step: Step, command: Defend) -> None:
    """A test against the own Defense; passed, Defense is higher until the start of the own next turn (FACTS B2)."""
    s, _ = _fighter(step, command.combatant)
    record = Frame(
        pair=Pair(attribute="AGI", skill="athletics"), difficulty=derived.defense(s), action="major", then="defend", ap=command.ap
    )
    test = testlife.propose(step, s.id, "Defend", frame=record)
    testflow.throw_pool(step, test, s, "lead", command)


def modify(step: Step, command: GmModify) -> None:
    """The GM makes somebody's tests harder or easier, or lifts such a change."""
    s: Survivor = step.combatant(command.combatant)
    if not command.amount:
        if not any(one.id == command.id for one in s.hindrances):
            raise unknown("hindrance", command.id, [one.id for one in s.hindrances])
        step.change("combatants", s.id, hindrances=tuple(one for one in s.hindrances if one.id != command.id))
        step.about(s.id, "wasteland.modified", f"{s.name} is rid of a hindrance.", combatant=s.id)
        return
    made = Hindrance(
        id=command.id or step.ident("h"),
        amount=command.amount,
        attribute=command.attribute or "",
        skill=command.skill or "",
        once=command.once,
        text=command.text,
    )
    step.change("combatants", s.id, hindrances=(*(one for one in s.hindrances if one.id != made.id), made))
    of = " + ".join(one.replace("_", " ") for one in (made.attribute, made.skill) if one)
    kind = f" {of}" if of else ""
    what = f"next{kind} test is" if made.once else f"{kind.strip()} tests are" if of else "tests are"
    text = f"{s.name}'s {what} {abs(made.amount)} {'harder' if made.amount > 0 else 'easier'}."
    step.about(
        s.id,
        "wasteland.modified",
        text,
        combatant=s.id,
        hindrance=made.id,
        amount=made.amount,
        attribute=made.attribute,
        skill=made.skill,
        once=made.once,
    )
