"""What happens by itself when a turn begins and ends: dangers, death tests, bleeding, burning, what was ordered for after it.

combat_rules_2d20, "Critical Hits and Injuries", "Dying", "Damage Effects" (Persistent), "Hazards".
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from engine import turns
from engine.rulesets.wasteland import body, charges, checks, damage, ending, ground, healing, luck, pools, ready, saves, tables
from engine.rulesets.wasteland.model import Survivor, Turn
from engine.rulesets.wasteland.pending import Passing
from engine.rulesets.wasteland.switches import switch
from engine.step import Step
from engine.talk import fact


def turn_started(step: Step, s: Survivor) -> None:
    """What ends with the own next turn ends; then the dangers of the place and, for the dying, the test against death."""
    encounter = turns.encounter_of(step, s)
    number = 0 if encounter is None else encounter.round
    if s.turn.begun and s.turn.round == number:
        return  # It was cut off, or put off, in the middle: it goes on with what it has left.
    turn = Turn(round=number, stunned=s.stunned, frozen=s.frozen, bleeds=bool(s.injuries) and body.suffers(s, "torso"))
    # The turn takes the stun with it, so that a new one in this very turn is for the next.
    step.change("combatants", s.id, turn=turn, stunned=False, frozen=False, guard=0, dash=0, mark="")
    if encounter is None:
        return
    ready.expire(step, s, encounter)
    charges.tick(step, encounter)
    ground.suffer_place(step, s.id)
    now: Survivor = step.combatants[s.id]
    if encounter.id not in step.encounters or (not body.able(now) and body.able(s) and ending.over(step, encounter.id)) or now.out:
        return
    if not body.able(now):
        if any(body.able(step.combatants[one]) for one in encounter.order if one in step.combatants):
            step.push(("encounters", encounter.id), Passing(by=s.id))
        if now.dying and s.dying:
            counted = healing.counted(step, now)
            saves.demand(step, now, saves.ENDURE, counted, then="death", range_=2)
    elif switch(step, "timing_hold"):
        luck.hold(step, encounter.id, s.id)


def passed(step: Step, encounter_id: str, record: Passing) -> None:
    """The turn of somebody who cannot act is over."""
    encounter = step.encounters.get(encounter_id)
    if encounter is not None and encounter.current == record.by:
        turns.end(step, encounter_id)


def turn_ended(step: Step, s: Survivor) -> None:
    """Bleeding and burning; what the group cannot save is lost; who ordered Lucky Timing after this turn comes next."""
    if s.shot_at or s.turn.stunned or s.turn.frozen:
        step.change("combatants", s.id, shot_at=False, turn=replace(s.turn, stunned=False, frozen=False))
    if s.turn.bleeds:
        _bleed(step, s.id)
    if s.burns:
        _burn(step, s.id)
    pools.trim(step)
    encounter = turns.encounter_of(step, s)
    if encounter is None:
        return
    if s.turn.bleeds or s.burns:
        # Whoever falls by it may be the last of a side.
        now: Survivor = step.combatants[s.id]
        if not body.able(now) and body.able(s) and ending.over(step, encounter.id):
            return
        encounter = step.encounters[encounter.id]
    early = []
    for one in encounter.order:
        other = step.combatants.get(one)
        if other is None or other.timing != s.id or one in encounter.acted or not body.able(other):
            continue
        step.change("combatants", one, timing="")
        if other.luck:
            step.change("combatants", one, luck=other.luck - 1)
            step.about(one, "wasteland.luck.timing", f"{other.name} is quick: it is their turn now.", combatant=one, luck=other.luck - 1)
            early.append(one)
    if early:
        rest = tuple(one for one in encounter.order if one not in early)
        step.change("encounters", encounter.id, order=(*early, *rest))


def _bleed(step: Step, combatant_id: str) -> None:
    """combat_rules_2d20, "Critical Hits and Injuries", Torso: 2dC6 at the end of the turn, resistance ignored (switch `bleed`)."""
    s: Survivor = step.combatants[combatant_id]
    if s.out or not body.suffers(s, "torso"):
        return
    rolls: list[Any] = []
    if switch(step, "bleed") == "2dC6":
        rolled = step.roll(2, 6, purpose="bleeding", actor=s.id)
        rolls.append(fact(rolled))
        amount = checks.damage(rolled.faces, switch(step, "effect_face_damage"))[0]
    else:
        amount = 2
    step.about(s.id, "wasteland.bleeds", f"{s.name} bleeds.", combatant=s.id)
    damage.hit(step, s.id, tables.TRUNK[s.body_type], "physical", amount, rolls=rolls, raw=True, covered=False)


def _burn(step: Step, combatant_id: str) -> None:
    """combat_rules_2d20, Persistent: the damage again at the end of the turn (switch `persistent_mode`)."""
    for burn in step.combatants[combatant_id].burns:
        s: Survivor = step.combatants[combatant_id]
        if s.out:
            return
        if burn.fresh:
            later = replace(burn, fresh=False)
        elif burn.rounds <= 1:
            later = None
        else:
            later = replace(burn, rounds=burn.rounds - 1)
        kept = tuple(later if one.id == burn.id else one for one in s.burns)
        step.change("combatants", s.id, burns=tuple(one for one in kept if one is not None))
        if burn.fresh:
            continue
        amount, rolls = burn.amount, []
        if switch(step, "persistent_mode") == "reroll" and burn.dice:
            rolled = step.roll(burn.dice, 6, purpose="burning", actor=s.id)
            rolls = [fact(rolled)]
            amount = checks.damage(rolled.faces, switch(step, "effect_face_damage"))[0]
        step.about(s.id, "wasteland.burns", f"{s.name} goes on suffering.", combatant=s.id)
        damage.hit(step, s.id, burn.at, burn.type, amount, rolls=rolls, covered=False)
