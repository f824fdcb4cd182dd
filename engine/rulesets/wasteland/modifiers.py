"""What makes a test harder or easier: one list of (reason, amount), for the roll, the event, the odds and the options alike."""

from __future__ import annotations

from engine.rulesets.wasteland import checks, perks, telling, turnflow
from engine.rulesets.wasteland.model import Hindrance, Pair, Survivor
from engine.rulesets.wasteland.switches import switch
from engine.session import Session
from engine.step import Step

Reasons = tuple[tuple[str, int], ...]


def total(reasons: Reasons) -> int:
    """The difficulty that these reasons add up to, never below 0."""
    return checks.clamped(sum(amount for _, amount in reasons))


def touches(one: Hindrance, pair: Pair) -> bool:
    """Whether a hindrance concerns a test of this pair."""
    return one.skill in ("", pair.skill) and one.attribute in ("", pair.attribute)


def personal(s: Survivor, pair: Pair) -> Reasons:
    """What perks and hindrances change on a test of a pair."""
    if not s.perks and not s.hindrances and not s.boosts:
        return ()
    eased = [(one.id, one.difficulty) for one in perks.held(s) if one.difficulty and one.skill in ("", pair.skill)]
    return (*eased, *((one.text or "hindrance", one.amount) for one in s.hindrances if touches(one, pair)))


def in_reach(tree: Step | Session, s: Survivor) -> Reasons:
    """+2 to any test that is not a melee attack within an enemy's reach ("Distance and Ranges"; switch `reach_penalty`)."""
    amount = int(switch(tree, "reach_penalty"))
    return (("reach", amount),) if amount and telling.engaged(tree, s) else ()


def second_major(tree: Step | Session, s: Survivor) -> Reasons:
    amount = turnflow.second_penalty(tree, s)
    return (("second_major", amount),) if amount else ()


def free_dice(s: Survivor, skill: str) -> int:
    """d20s that perks give to a test of a skill."""
    return sum(perk.dice for perk in perks.held(s) if perk.skill in ("", skill)) if s.perks or s.boosts else 0


def spend_once(step: Step, s: Survivor, pair: Pair) -> None:
    """Hindrances that go with one test are gone after it."""
    if s.hindrances and any(one.once and touches(one, pair) for one in s.hindrances):
        kept: tuple[Hindrance, ...] = tuple(one for one in s.hindrances if not (one.once and touches(one, pair)))
        step.change("combatants", s.id, hindrances=kept)
