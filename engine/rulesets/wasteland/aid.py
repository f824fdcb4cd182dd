"""Healing in a hurry: First Aid and chems, stabilising, treating and waking (combat_rules_2d20, "Healing Actions In Combat"; FACTS A10)."""

from __future__ import annotations

from engine import turns, zones
from engine.rejected import Rejected, unknown
from engine.rulesets.wasteland import body, derived, healing, telling, testflow, turnflow
from engine.rulesets.wasteland.commands import FirstAid, TakeChem
from engine.rulesets.wasteland.model import Frame, Helping, Item, Survivor
from engine.session import Session
from engine.step import Step


def within_reach(step: Step | Session, s: Survivor, other: Survivor) -> bool:
    """Oneself, or near enough to touch; outside a fight everybody in the same zone is."""
    if s.id == other.id:
        return True
    scene = step.scenes.get(s.scene)
    if scene is None or other.scene != s.scene:
        return False
    return zones.is_near(scene, s.id, other.id) or (turns.encounter_of(step, s) is None and s.zone == other.zone)


def first_aid(step: Step, command: FirstAid, *, granted: bool = False, helps: tuple[Helping, ...] = ()) -> None:
    """combat_rules_2d20, "Major Actions": First Aid. Raises Rejected."""
    s, _ = turnflow.acting(step, command.combatant, granted=granted)
    patient: Survivor = step.combatants[s.id] if not command.patient else turnflow.named(step, command.patient, granted=granted)
    if zones.concealed(step, patient) and not zones.concealed(step, s):
        raise Rejected("not_now", f"Nobody can see {patient.name}.", combatant=patient.id)
    if not within_reach(step, s, patient):
        raise Rejected("out_of_range", f"{patient.name} is out of reach.", combatant=patient.id)
    if not body.has_free_arm(s):
        raise Rejected("not_now", f"{s.name} has no arm to work with.", combatant=s.id)
    problem = healing.why_not(step, patient, command.what, command.at)
    if problem:
        raise Rejected("not_now", problem, combatant=patient.id)
    injury = healing.open_injury(patient, command.at) if command.what == "treat" else None
    extra = 0
    if command.chem:
        item = item_of(s, command.chem)
        if not item.heal or item.robots != body.is_robot(patient):
            raise Rejected("illegal_choice", f"{item.name} does not help with this.", item=item.id)
        extra = item.heal
    frame = Frame(
        pair=healing.pair_for(patient),
        difficulty=healing.difficulty(step, s, patient, injury),
        help="any",
        action="free" if granted else "major",
        then="aid",
        patient=patient.id,
        what=command.what,
        at=injury.at if injury is not None else "",
        ap=command.ap or 0,
        wake=command.wake,
        asked=command.ap is None,
        extra=extra,
        allow_roll=True,
    )
    if command.chem:
        healing.used_up(step, s.id, command.chem)
    test = testflow.open_test(step, s, f"First Aid for {patient.name}", frame, helps)
    testflow.throw_pool(step, test, step.combatants[s.id], "lead", command)


# --- chems -------------------------------------------------------------------------------------------------------------------


def item_of(s: Survivor, item_id: str) -> Item:
    """An item in hand. Raises Rejected (unknown_id, not_now)."""
    for one in s.items:
        if one.id == item_id and one.count:
            if not one.drawn or one.at:
                raise Rejected("not_now", f"{one.name} is not in hand.", item=item_id)
            return one
    raise unknown("item", item_id, [one.id for one in s.items if one.drawn])


def take_chem(step: Step, command: TakeChem) -> None:
    """combat_rules_2d20, "Minor Actions": Take Chem. Whoever cannot say no counts as willing (FACTS B2). Raises Rejected."""
    s, encounter = turnflow.acting(step, command.combatant)
    patient: Survivor = step.combatants[s.id] if not command.patient else step.combatant(command.patient)
    item = item_of(s, command.item)
    if item.kind not in ("chem", "kit"):
        raise Rejected("not_now", f"{item.name} is eaten or drunk, not taken in a hurry.", item=item.id)
    if patient.side != s.side and body.able(patient):
        raise Rejected("illegal_choice", f"{patient.name} does not want it.", combatant=patient.id)
    if not within_reach(step, s, patient):
        raise Rejected("out_of_range", f"{patient.name} is out of reach.", combatant=patient.id)
    if item.robots != body.is_robot(patient):
        raise Rejected("illegal_choice", f"{item.name} does nothing for {patient.name}.", item=item.id)
    if not body.has_free_arm(s):
        raise Rejected("not_now", f"{s.name} has no arm to work with.", combatant=s.id)
    what = command.what or _usual(item, patient)
    if what != "take":
        problem = healing.why_not(step, patient, what, command.at)
        if not problem and (
            (what == "heal" and not item.heal) or (what == "treat" and not item.treats) or (what == "stabilize" and not item.stabilizes)
        ):
            problem = f"{item.name} cannot do that."
        if problem:
            raise Rejected("not_now", problem, combatant=patient.id)
    elif patient.dead:
        raise Rejected("not_now", f"{patient.name} is beyond help.", combatant=patient.id)
    if encounter is not None:
        turnflow.use(step, s, "minors", gm_ap=command.gm_ap)
    healing.used_up(step, s.id, item.id)
    text = f"{s.name} takes {item.name}." if patient.id == s.id else f"{s.name} gives {item.name} to {patient.name}."
    data = {"combatant": s.id, "patient": patient.id, "item": item.id}
    telling.tell(step, (s.id, patient.id), "wasteland.chem", text, data)
    if what == "stabilize":
        healing.stabilize(step, patient.id)
    elif what == "treat":
        injury = healing.open_injury(patient, command.at)
        assert injury is not None
        healing.treat(step, patient.id, injury.at)
    elif what == "heal":
        healing.heal(step, patient.id, item.heal, s.id)
    healing.lasting(step, patient.id, item)


def _usual(item: Item, patient: Survivor) -> str:
    """What an item does when nothing is said."""
    if patient.dying and item.stabilizes:
        return "stabilize"
    if item.heal and not patient.dying and patient.hp < derived.max_hp(patient):
        return "heal"
    if item.treats and healing.open_injury(patient, "") is not None:
        return "treat"
    return "take"
