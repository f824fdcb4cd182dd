"""Who is ready for what: readied actions that something sets off, in initiative order, and those whose time is over.

combat_rules_2d20, "Major Actions", Ready; FACTS B1 (`ready_window`), B2. engine.rulesets.wasteland.firing performs them.
"""

from __future__ import annotations

from engine import turns, zones
from engine.rulesets.wasteland import body
from engine.rulesets.wasteland.model import Survivor
from engine.rulesets.wasteland.pending import Interrupt
from engine.rulesets.wasteland.switches import switch
from engine.session import Encounter
from engine.step import Step

Owner = tuple[str, str]


def expire(step: Step, s: Survivor, encounter: Encounter) -> None:
    """A new turn of its owner begins: what did not come in time is lost (switch `ready_window`)."""
    if s.ready is None:
        return
    if switch(step, "ready_window") == "next_round" and encounter.round <= s.ready.round + 1:
        return
    step.change("combatants", s.id, ready=None)
    step.about(s.id, "wasteland.ready.lost", f"{s.name} waited in vain.", combatant=s.id)


def waiting(step: Step, kind: str, by: Survivor) -> tuple[str, ...]:
    """Whose readied action this sets off, in initiative order."""
    found = [one for one in step.combatants.values() if one.ready is not None and _sets_off(step, one, kind, by)]
    if not found:
        return ()
    encounter = turns.encounter_of(step, by)
    order = {} if encounter is None else {one: n for n, (one, _) in enumerate(encounter.initiative)}
    return tuple(one.id for one in sorted((s for s in found if s.id in order), key=lambda s: order[s.id]))


def _sets_off(step: Step, s: Survivor, kind: str, by: Survivor) -> bool:
    assert s.ready is not None
    trigger = s.ready.trigger
    if trigger.kind != kind or s.id == by.id or s.scene != by.scene or not body.able(s) or zones.concealed(step, by):
        return False
    if trigger.who != by.id if trigger.who else by.side == s.side:
        return False
    return kind == "attacks" or (trigger.zone or s.zone) == by.zone


def interrupt(step: Step, owner: Owner, queue: tuple[str, ...], by: str) -> None:
    """These come before what is on top of the owner's stack now."""
    step.push(owner, Interrupt(queue=queue, by=by))
