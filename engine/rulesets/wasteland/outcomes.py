"""What a decided test does beyond its own result: one row for each `then` of a Frame or of a Save."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from engine.rulesets.wasteland import charges, damage, ending, healing, pools
from engine.rulesets.wasteland.model import Frame, Survivor
from engine.rulesets.wasteland.pending import Save
from engine.session import Test
from engine.step import Step

BETTER_GUARD = 2


def tested(step: Step, test: Test, s: Survivor, passed: bool) -> None:
    """A test that an action asked for has its result."""
    row = TESTED.get(test.frame.then)
    if row is not None:
        row(step, step.combatants[s.id], test.frame, passed)


def saved(step: Step, owner: tuple[str, str], record: Save, passed: bool) -> None:
    """A forced test has its result; the fight may be over by it."""
    SAVED[record.then](step, record, passed)
    if owner[0] == "encounters":
        ending.over(step, owner[1])


# --- tests -------------------------------------------------------------------------------------------------------------------


def _defend(step: Step, s: Survivor, record: Frame, passed: bool) -> None:
    """combat_rules_2d20, "Major Actions": Defend."""
    if not passed:
        return
    guard = 1
    if record.ap and pools.value(step, pools.pool_of(s)) >= record.ap:
        pools.pay(step, s, record.ap, "a better guard")
        guard = BETTER_GUARD
    step.change("combatants", s.id, guard=guard)
    text = f"{s.name} is harder to hit until their next turn: Defense +{guard}."
    step.about(s.id, "wasteland.defend", text, combatant=s.id, guard=guard)


def _aid(step: Step, s: Survivor, record: Frame, passed: bool) -> None:
    if passed:
        healing.aided(step, s, record)


def _recover(step: Step, s: Survivor, record: Frame, passed: bool) -> None:
    if passed:
        healing.recover(step, s.id)


def _ailment(step: Step, s: Survivor, record: Frame, passed: bool) -> None:
    if passed:
        healing.cured(step, s.id, record.what)


def _douse(step: Step, s: Survivor, record: Frame, passed: bool) -> None:
    if passed:
        step.change("combatants", s.id, burns=tuple(one for one in s.burns if one.id != record.what))
        step.about(s.id, "wasteland.doused", f"{s.name} puts an end to it.", combatant=s.id)


def _place(step: Step, s: Survivor, record: Frame, passed: bool) -> None:
    if passed:
        charges.placed(step, s, record)


TESTED: Mapping[str, Callable[[Step, Survivor, Frame, bool], None]] = {
    "defend": _defend,
    "aid": _aid,
    "recover": _recover,
    "ailment": _ailment,
    "douse": _douse,
    "place": _place,
}


# --- forced tests ------------------------------------------------------------------------------------------------------------


def _death(step: Step, record: Save, passed: bool) -> None:
    """combat_rules_2d20, "Dying": passed, alive and still dying; failed, dead."""
    if not passed:
        damage.die(step, record.by, "nobody came in time")


def _trap(step: Step, record: Save, passed: bool) -> None:
    if passed:
        charges.escaped(step, record.source)
    else:
        charges.explode(step, record.source, record.by)


def _tranquilize(step: Step, record: Save, passed: bool) -> None:
    if not passed:
        damage.fall_asleep(step, record.by)


SAVED: Mapping[str, Callable[[Step, Save, bool], None]] = {"death": _death, "trap": _trap, "tranquilize": _tranquilize}
