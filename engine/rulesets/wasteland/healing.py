"""What healing does: HP, injuries patched up or over, stabilising, waking, what AP add, and what wears off with time.

combat_rules_2d20, "Stabilizing The Dying", "Regaining Health", "Treating An Injury", "Rest"; FACTS A10.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from engine.rulesets.wasteland import body, derived, perks, pools, telling
from engine.rulesets.wasteland.model import Boost, Frame, Injury, Item, Pair, Survivor
from engine.rulesets.wasteland.switches import switch
from engine.session import Session
from engine.step import Step

ROBOT_DIFFICULTY = 2


def pair_for(patient: Survivor) -> Pair:
    """INT + Medicine, for machines INT + Repair."""
    return Pair(attribute="INT", skill="repair" if body.is_robot(patient) else "medicine")


def counted(tree: Step | Session, patient: Survivor) -> int:
    """The injuries that make First Aid and the test against death harder (switch `count_treated`)."""
    return sum(1 for one in patient.injuries if switch(tree, "count_treated") or not one.treated)


def difficulty(tree: Step | Session, medic: Survivor, patient: Survivor, injury: Injury | None = None) -> int:
    """As many as the patient has injuries, 1 more on oneself; machines 2 more (FACTS A10; switch `count_treated`)."""
    count = counted(tree, patient)
    if body.is_robot(patient):
        count += ROBOT_DIFFICULTY
    if injury is not None and injury.hard:
        count += 1
    return count + (medic.id == patient.id)


def open_injury(patient: Survivor, at: str) -> Injury | None:
    """The untreated injury at a location, or the first one."""
    return next((one for one in patient.injuries if not one.treated and at in ("", one.at)), None)


def why_not(tree: Step | Session, patient: Survivor, what: str, at: str) -> str:
    """Why this cannot be done for a patient; "" when it can."""
    if patient.dead or patient.kind == "object":
        return f"{patient.name} is beyond help."
    if what == "heal" and patient.dying:
        return f"{patient.name} is dying: stabilize first."
    if what == "heal" and patient.hp >= derived.max_hp(patient):
        return f"{patient.name} has lost nothing that this gives back."
    if what == "treat" and open_injury(patient, at) is None:
        return f"{patient.name} has no such injury to treat."
    if what == "stabilize":
        if not patient.dying:
            return f"{patient.name} is not dying."
        if switch(tree, "rad_blocks_stabilize") and not derived.max_hp(patient):
            return f"Radiation has left {patient.name} no hit points; it has to be healed first."
    return ""


def aided(step: Step, medic: Survivor, record: Frame) -> None:
    """First Aid worked."""
    patient = step.combatants.get(record.patient)
    if patient is None or patient.dead:
        return
    if record.what == "heal":
        if patient.dying:
            return
        skill = pair_for(patient).skill
        amount = derived.rank(medic, skill) + record.extra + perks.bonus(medic, "aid_hp")
        heal(step, patient.id, amount, medic.id)
    elif record.what == "treat":
        treat(step, patient.id, record.at)
    elif patient.dying:
        stabilize(step, patient.id)
        if record.extra:
            heal(step, patient.id, record.extra, medic.id)
    if not record.ap and not record.wake:
        return
    # What the command said beforehand about Action Points.
    if record.wake and step.combatants[patient.id].unconscious and pools.value(step, pools.pool_of(medic)):
        pools.pay(step, medic, 1, "waking somebody")
        wake(step, patient.id)
    if record.ap and buys_hp(step, record):
        ap = min(record.ap, pools.value(step, pools.pool_of(medic)))
        pools.pay(step, medic, ap, "more healing")
        heal(step, patient.id, ap * per_ap(record), medic.id)


def buys_hp(tree: Step | Session, record: Frame) -> bool:
    """Whether AP add HP to this First Aid (switch `heal_ap`)."""
    return record.what == "stabilize" or (record.what == "heal" and switch(tree, "heal_ap") == "both")


def per_ap(record: Frame) -> int:
    """HP for each AP: 1, or 2 with a chem in it."""
    return 2 if record.extra else 1


def spends(tree: Step | Session, record: Frame) -> list[tuple[str, str]]:
    """What AP can still do for the patient of a First Aid that worked."""
    patient = tree.combatants.get(record.patient)
    if patient is None or patient.dead or not record.asked:
        return []
    found = []
    if buys_hp(tree, record) and not patient.dying and patient.hp < derived.max_hp(patient):
        found.append(("heal", f"{per_ap(record)} more HP, 1 AP"))
    if record.what == "stabilize" and patient.unconscious:
        found.append(("wake", "Wake the patient, 1 AP"))
    return found


def heal(step: Step, patient_id: str, amount: int, by: str) -> None:
    """HP back, never beyond the maximum."""
    patient: Survivor = step.combatants[patient_id]
    hp = min(patient.hp + amount, derived.max_hp(patient))
    gained = hp - patient.hp
    if gained > 0:
        step.change("combatants", patient_id, hp=hp)
        data: dict[str, Any] = {"combatant": patient_id, "by": by, "amount": gained, "hp": hp}
        public = ("wasteland.healed", f"{patient.name} looks better.", {"combatant": patient_id})
        telling.tell(
            step,
            (patient_id, by),
            "wasteland.healed",
            f"{patient.name} regains {gained} HP.",
            data,
            public=None if telling.is_open(patient) else public,
        )


def stabilize(step: Step, patient_id: str) -> None:
    """combat_rules_2d20, "Stabilizing The Dying": 1 HP, no more death tests, still unconscious."""
    patient: Survivor = step.combatants[patient_id]
    hp = min(1, derived.max_hp(patient))
    step.change("combatants", patient_id, hp=hp, dying=False, unconscious=True)
    step.about(patient_id, "wasteland.stable", f"{patient.name} is stable, but unconscious.", combatant=patient_id)


def treat(step: Step, patient_id: str, at: str) -> None:
    """An injury is patched up: its penalty is gone, the injury is not."""
    patient: Survivor = step.combatants[patient_id]
    place = next((i for i, one in enumerate(patient.injuries) if one.at == at and not one.treated), None)
    if place is None:
        return
    done = replace(patient.injuries[place], treated=True)
    step.change("combatants", patient_id, injuries=tuple(done if i == place else one for i, one in enumerate(patient.injuries)))
    step.about(patient_id, "wasteland.treated", f"{patient.name}'s injury is patched up: {at}.", combatant=patient_id, at=at)


def wake(step: Step, patient_id: str) -> None:
    """Awake and able to act again."""
    patient: Survivor = step.combatants[patient_id]
    step.change("combatants", patient_id, unconscious=False, wakes=0, hp=max(patient.hp, min(1, derived.max_hp(patient))))
    step.about(patient_id, "wasteland.awake", f"{patient.name} wakes.", combatant=patient_id)


def used_up(step: Step, combatant_id: str, item_id: str) -> None:
    """One portion less."""
    s: Survivor = step.combatants[combatant_id]
    kept = tuple(replace(one, count=one.count - 1) if one.id == item_id else one for one in s.items)
    step.change("combatants", combatant_id, items=tuple(one for one in kept if one.count))


def lasting(step: Step, patient_id: str, item: Item) -> None:
    """What a chem or meal does beside healing: less radiation, a perk for a while."""
    patient: Survivor = step.combatants[patient_id]
    fields: dict[str, Any] = {}
    if item.cures and patient.radiation:
        fields["radiation"] = max(patient.radiation - item.cures, 0)
    if item.boost is not None:
        until = step.table.clock + item.minutes
        fields["boosts"] = (*(one for one in patient.boosts if one.perk.id != item.boost.id), Boost(perk=item.boost, until=until))
    if fields:
        step.change("combatants", patient_id, **fields)
        if "radiation" in fields:
            step.whisper("wasteland.cleansed", f"{patient.name} is less irradiated.", patient_id, combatant=patient_id)


def recover(step: Step, combatant_id: str) -> None:
    """One injury is over, an open one first; all of them under `recovery_yield=all`."""
    s: Survivor = step.combatants[combatant_id]
    if not s.injuries:
        return
    if switch(step, "recovery_yield") == "all":
        left: tuple[Any, ...] = ()
    else:
        gone = next((one for one in s.injuries if not one.treated), s.injuries[0])
        place = s.injuries.index(gone)
        left = s.injuries[:place] + s.injuries[place + 1 :]
    step.change("combatants", s.id, injuries=left)
    step.about(s.id, "wasteland.recovered", f"{s.name} recovers from an injury.", combatant=s.id, left=len(left))


def cured(step: Step, combatant_id: str, ailment_id: str) -> None:
    """A poison or disease is over, with what it hindered."""
    s: Survivor = step.combatants[combatant_id]
    step.change(
        "combatants",
        s.id,
        ailments=tuple(one for one in s.ailments if one.id != ailment_id),
        hindrances=tuple(one for one in s.hindrances if one.id != ailment_id),
    )
    step.about(s.id, "wasteland.cured", f"{s.name} gets over it.", combatant=s.id, ailment=ailment_id)


def time_passed(step: Step) -> None:
    """Chems wear off, and tranquilized ones wake."""
    clock = step.table.clock
    for s in list(step.combatants.values()):
        if s.wakes and s.wakes <= clock and s.unconscious and not s.dead:
            wake(step, s.id)
            s = step.combatants[s.id]
        if s.boosts and any(one.until <= clock for one in s.boosts):
            s = step.change("combatants", s.id, boosts=tuple(one for one in s.boosts if one.until > clock))
            step.change("combatants", s.id, hp=min(s.hp, derived.max_hp(s)))
            step.about(s.id, "wasteland.wears_off", f"A chem wears off for {s.name}.", combatant=s.id)
