"""Long-term recovery: sleep, injuries and ailments, food, machines under repair (combat_rules_2d20, "Long-Term Recovery"; FACTS A10).

The GM says who sleeps, how long and where; the fiction clock moves on, and each patient's tests are framed for their players to roll.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine import turns
from engine.rejected import Rejected
from engine.rulesets.wasteland import aid, body, checks, damage, derived, healing, perks, tables, testflow
from engine.rulesets.wasteland.commands import Eat, GmRest, Repair
from engine.rulesets.wasteland.model import Ailment, Frame, Helping, Pair, Survivor
from engine.rulesets.wasteland.switches import switch
from engine.session import Test
from engine.step import Step
from engine.talk import fact

ACTIVITY: Mapping[str, int] = {"restful": 1, "light": 2, "moderate": 3, "heavy": 4}
"""Difficulty of recovering from an injury by what the day was like (FACTS A10; switch `recovery`)."""
ENOUGH, WELL = 6, 8
DAY = 24 * 60
ENDURE = Pair(attribute="END", skill="survival")
CARE = Pair(attribute="INT", skill="medicine")


def sleep(step: Step, command: GmRest) -> None:
    """Some sleep: HP at 6 hours, Well Rested at 8 somewhere safe, and a test for each injury and ailment. Raises Rejected."""
    sleepers: list[Survivor] = [step.combatants[one] for one in _present(step, command.combatants)]
    for s in sleepers:
        if s.dead or s.dying or turns.encounter_of(step, s) is not None:
            raise Rejected("not_now", f"{s.name} cannot sleep now.", combatant=s.id)
        if s.slept is not None and switch(step, "sleep_once_a_day") and step.table.clock - s.slept < DAY:
            raise Rejected("limit", f"{s.name} has slept in the last 24 hours.", combatant=s.id, slept=s.slept)
    doctors = _doctors(step, command)
    began = step.table.clock
    advance(step, command.hours * 60)
    for s in sleepers:
        _slept(step, s.id, began, command)
        now: Survivor = step.combatants[s.id]
        doctor = doctors.get(s.id)
        if now.injuries:
            _recovery_test(step, now, command.activity, doctor)
        for ailment in now.ailments:
            _ailment_test(step, now, ailment, command.activity, doctor)


def _present(step: Step, combatants: tuple[str, ...]) -> list[str]:
    for one in combatants:
        step.combatant(one)
    return list(dict.fromkeys(combatants))


def _doctors(step: Step, command: GmRest) -> dict[str, Survivor]:
    """Who cares for whom: no more patients than the doctor's Medicine rating ("Medical Attention"). Raises Rejected."""
    found: dict[str, Survivor] = {}
    for care in command.care:
        doctor: Survivor = step.combatant(care.doctor)
        most = derived.rank(doctor, "medicine")
        patients = list(dict.fromkeys(care.patients))
        if len(patients) > most:
            raise Rejected("limit", f"{doctor.name} can care for {most} patients.", combatant=doctor.id, limit=most)
        if not body.able(doctor):
            raise Rejected("not_now", f"{doctor.name} cannot care for anybody.", combatant=doctor.id)
        for one in patients:
            patient = step.combatant(one)
            if patient.id == doctor.id or one not in command.combatants or one in found:
                raise Rejected("illegal_choice", f"{patient.name} is no patient of theirs here.", combatant=one)
            found[one] = doctor
    return found


def _slept(step: Step, combatant_id: str, began: int, command: GmRest) -> None:
    s: Survivor = step.combatants[combatant_id]
    fields: dict[str, Any] = {"slept": began, "unconscious": False, "wakes": 0}
    if s.well_rested and switch(step, "well_rested_ends") == "next_sleep":
        s = step.change("combatants", s.id, well_rested=False)
        fields["hp"] = min(s.hp, derived.max_hp(s))
    if command.hours >= WELL and command.safe:
        s = step.change("combatants", s.id, well_rested=True)
    if command.hours >= ENOUGH:
        fields["hp"] = derived.max_hp(s)
    step.change("combatants", s.id, **fields)
    text = f"{s.name} sleeps for {command.hours} hours{' and is well rested' if step.combatants[s.id].well_rested else ''}."
    step.about(s.id, "wasteland.slept", text, combatant=s.id, hours=command.hours, safe=command.safe)


def recovery_difficulty(step: Step, s: Survivor, activity: str) -> int:
    base = ACTIVITY[activity] + (1 if switch(step, "recovery") == "additive" else 0)
    return checks.clamped(base + perks.bonus(s, "recovery"))


def _recovery_test(step: Step, s: Survivor, activity: str, doctor: Survivor | None) -> None:
    """combat_rules_2d20, "Rest": END + Survival; each injury that has not been treated widens the complication range."""
    counted = sum(1 for one in s.injuries if not one.treated or switch(step, "recovery_range") == "all")
    frame = Frame(
        pair=ENDURE,
        difficulty=recovery_difficulty(step, s, activity),
        range=checks.widened(1, counted),
        help="none",
        then="recover",
    )
    _framed(step, s, "Recover from an injury", frame, doctor)


def _ailment_test(step: Step, s: Survivor, ailment: Ailment, activity: str, doctor: Survivor | None) -> None:
    """A poison or disease: 1 easier after a day spent resting ("Medical Attention")."""
    difficulty = checks.clamped(ailment.difficulty - (activity == "restful"))
    frame = Frame(pair=ENDURE, difficulty=difficulty, help="none", then="ailment", what=ailment.id)
    _framed(step, s, f"Recover from {ailment.name}", frame, doctor)


def _framed(step: Step, s: Survivor, label: str, frame: Frame, doctor: Survivor | None) -> None:
    test: Test = testflow.open_test(step, s, label, frame)
    if doctor is not None:
        step.change("tests", test.id, helpers=(Helping(combatant=doctor.id, how=CARE),))


def eat(step: Step, command: Eat) -> None:
    """combat_rules_2d20, "Food & Drink": not in a fight; irradiated food may give a point of radiation that no gear stops."""
    s: Survivor = step.combatant(command.combatant)
    if not step.controls(s.id):
        raise Rejected("not_yours", f"{s.name} is not yours to command.", combatant=s.id)
    if turns.encounter_of(step, s) is not None:
        raise Rejected("not_now", "Nobody eats or drinks in a fight.", combatant=s.id)
    if not body.able(s):
        raise Rejected("not_now", f"{s.name} cannot eat now.", combatant=s.id)
    item = next((one for one in s.items if one.id == command.item and not one.at), None)
    if item is None:
        raise Rejected("unknown_id", f"{s.name} has no '{command.item}'.", what="item", given=command.item)
    if item.kind not in ("food", "drink"):
        raise Rejected("illegal_choice", f"{item.name} is not food.", item=item.id)
    healing.used_up(step, s.id, item.id)
    step.about(s.id, "wasteland.ate", f"{s.name} has {item.name}.", combatant=s.id, item=item.id)
    healing.heal(step, s.id, item.heal, s.id)
    healing.lasting(step, s.id, item)
    if item.irradiated:
        rolled = step.roll(1, 6, purpose="food", actor=s.id)
        glows = checks.damage(rolled.faces)[1] > 0
        step.about(s.id, "wasteland.glows", "It glows." if glows else "It is clean enough.", combatant=s.id, rolls=[fact(rolled)])
        if glows:
            damage.hit(step, s.id, tables.TRUNK[s.body_type], "radiation", 1, raw=True, covered=False)


def repair(step: Step, command: Repair) -> None:
    """An hour's work gives a machine twice the mechanic's Repair rating in HP (FACTS A10). Not in a fight."""
    s, encounter = turns.acting(step, command.combatant)
    patient: Survivor = step.combatant(command.patient)
    if encounter is not None or turns.encounter_of(step, patient) is not None:
        raise Rejected("not_now", "That takes an hour of peace.", combatant=s.id)
    if not body.able(s) or not body.is_robot(patient) or patient.dead:
        raise Rejected("illegal_choice", f"{patient.name} is not a machine that could be repaired.", combatant=patient.id)
    if not aid.within_reach(step, s, patient):
        raise Rejected("out_of_range", f"{patient.name} is out of reach.", combatant=patient.id)
    advance(step, 60)
    step.about(s.id, "wasteland.repaired", f"{s.name} works on {patient.name} for an hour.", combatant=s.id, patient=patient.id)
    healing.heal(step, patient.id, 2 * derived.rank(s, "repair"), s.id)


def advance(step: Step, minutes: int) -> None:
    """The fiction clock moves on."""
    step.change("table", "", clock=step.table.clock + minutes)
    step.emit("clock", f"{minutes} minutes pass.", minutes=minutes, clock=step.table.clock)
    healing.time_passed(step)
