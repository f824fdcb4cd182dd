"""When a fight is over: only one side has anybody left who can act."""

from __future__ import annotations

from engine import turns
from engine.rulesets.wasteland import body, pools
from engine.step import Step


def over(step: Step, encounter_id: str) -> bool:
    """End the fight when only one side can still act. Returns whether it is over (or was before)."""
    encounter = step.encounters.get(encounter_id)
    if encounter is None:
        return True
    sides = sorted({one.side for name in encounter.order if (one := step.combatants.get(name)) is not None and body.able(one)})
    if len(sides) > 1:
        return False
    winner = sides[0] if sides else ""
    turns.finish(step, encounter_id, f"The fight is over: {winner or 'nobody'} stands.", side=winner)
    pools.trim(step)
    return True


def over_for(step: Step, combatant_id: str) -> None:
    """The same for the fight that somebody takes part in."""
    s = step.combatants.get(combatant_id)
    encounter = turns.encounter_of(step, s) if s is not None else None
    if encounter is not None:
        over(step, encounter.id)
