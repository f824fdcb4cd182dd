"""Readying a major action and performing it when its situation comes, between the declaration of what sets it off and its dice.

combat_rules_2d20, "Major Actions", Ready; FACTS B2. A structured trigger fires by itself; one in prose is claimed by its owner and
confirmed by the GM. Several at once go in initiative order; what was interrupted looks at its target again.
"""

from __future__ import annotations

from typing import Literal

from msgspec.structs import replace

from engine import turns, zones
from engine.rejected import Rejected
from engine.rulesets import Answered
from engine.rulesets.wasteland import actions, aid, attack, body, moving, turnflow
from engine.rulesets.wasteland.commands import Attack, ClaimReady, Defend, FirstAid, Rally, Ready, Sprint
from engine.rulesets.wasteland.model import Readied, Survivor, Trigger
from engine.rulesets.wasteland.pending import Claim, Interrupt
from engine.step import Step

Owner = tuple[str, str]


def ready(step: Step, command: Ready) -> None:
    """Use the major action for one that comes later. Raises Rejected."""
    s, encounter = turnflow.fighting(step, command.combatant)
    if command.who:
        step.combatant(command.who)
    if command.target:
        step.combatant(command.target)
    scene = step.scenes[s.scene]
    for zone in (command.zone, command.go):
        if zone and (found := scene.zone(zone)) is not None and found.hidden and not step.is_gm:
            raise Rejected("unknown_id", f"There is no zone '{zone}' here.", what="zone", given=zone)
        if zone and scene.zone(zone) is None:
            raise Rejected("unknown_id", f"There is no zone '{zone}' here.", what="zone", given=zone)
    if command.trigger == "prose" and not command.text:
        raise Rejected("illegal_choice", "Say what you wait for.", field="text")
    if command.action == "sprint" and not command.go:
        raise Rejected("illegal_choice", "Say where you would run.", field="go")
    if command.action == "attack" and not any(one.drawn and (not command.weapon or one.id == command.weapon) for one in s.weapons):
        raise Rejected("not_now", "That weapon is not in hand.", weapon=command.weapon)
    readied = Readied(
        trigger=Trigger(kind=command.trigger, who=command.who, zone=command.zone, text=command.text),
        action=command.action,
        target=command.target,
        weapon=command.weapon,
        location=command.location,
        zone=command.go,
        extra_ammo=command.extra_ammo,
        round=encounter.round,
    )
    turnflow.use(step, s, "majors", fields={"ready": readied})
    # What for is its owner's secret: the foe need not walk into it.
    public = ("wasteland.ready", f"{s.name} waits for something.", {"combatant": s.id})
    if zones.concealed(step, s):
        step.whisper("wasteland.ready", f"{s.name} is ready.", s.id, combatant=s.id, action=command.action)
    else:
        step.whisper("wasteland.ready", f"{s.name} is ready: {command.action}.", s.id, public=public, combatant=s.id, action=command.action)


def resume(step: Step, owner: Owner, record: Interrupt) -> None:
    first, rest = record.queue[0], record.queue[1:]
    if rest:
        step.push(owner, replace(record, queue=rest))
    fire(step, first, record.by)


def fire(step: Step, combatant_id: str, by: str) -> None:
    """Perform a readied action now; when it cannot be done any more it is lost."""
    s = step.combatants.get(combatant_id)
    if s is None or s.ready is None or not body.able(s):
        return
    readied = s.ready
    step.change("combatants", s.id, ready=None)
    step.about(s.id, "wasteland.ready.fired", f"{s.name} has waited for this: {readied.action}.", combatant=s.id, action=readied.action)
    try:
        match readied.action:
            case "attack":
                target = readied.target or by
                shot = Attack(
                    combatant=s.id,
                    target=target,
                    weapon=readied.weapon,
                    location=readied.location,
                    extra_ammo=readied.extra_ammo,
                )
                attack.attack(step, shot, granted=True)
            case "defend":
                actions.defend(step, Defend(combatant=s.id), granted=True)
            case "rally":
                actions.rally(step, Rally(combatant=s.id), granted=True)
            case "aid":
                patient = step.combatants.get(readied.target)
                what: Literal["heal", "stabilize"] = "stabilize" if patient is not None and patient.dying else "heal"
                aid.first_aid(step, FirstAid(combatant=s.id, patient=readied.target, what=what), granted=True)
            case "sprint":
                moving.sprint(step, Sprint(combatant=s.id, zone=readied.zone), granted=True)
    except Rejected as refusal:
        step.about(s.id, "wasteland.ready.lost", f"{s.name} cannot do it now: {refusal.text}", combatant=s.id, code=refusal.code)


def claim(step: Step, command: ClaimReady) -> None:
    """What a readied action waits for in prose happens, says its owner; the GM confirms."""
    s: Survivor = step.combatant(command.combatant)
    if not step.controls(s.id):
        raise Rejected("not_yours", f"{s.name} is not yours to command.", combatant=s.id)
    encounter = turns.encounter_of(step, s)
    if encounter is None or s.ready is None or s.ready.trigger.kind != "prose" or not body.able(s):
        raise Rejected("not_now", f"{s.name} waits for nothing that could be claimed.", combatant=s.id)
    if encounter.pending:
        raise Rejected("busy", "An unfinished action waits for an answer first.", encounter=encounter.id)
    if command.target:
        step.combatant(command.target)
    owner = ("encounters", encounter.id)
    prompt = step.ask(
        owner,
        next(iter(step.gms()), step.by),
        kind="ready",
        type="wasteland.ready?",
        text=f"{s.name} waited for this: {s.ready.trigger.text} Does it happen?",
        choices=[("yes", "Yes"), ("no", "Not yet")],
        default="no",
        always="yes",
        never="no",
        combatant=s.id,
    )
    step.push(owner, Claim(prompts=(prompt,), by=s.id, target=command.target))


def claimed(step: Step, record: Claim, answers: tuple[Answered, ...]) -> None:
    s = step.combatants.get(record.by)
    if s is None or s.ready is None:
        return
    if answers and answers[0].choice == "yes":
        fire(step, s.id, record.target or s.ready.target)
        return
    step.about(s.id, "wasteland.ready.refused", f"The GM says that it is not what {s.name} waits for.", combatant=s.id)
