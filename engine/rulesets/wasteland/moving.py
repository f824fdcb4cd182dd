"""Aiming and moving: the movement actions, what a way costs, and what waits at its end.

combat_rules_2d20, "Minor Actions", "Movement in Zones", "Difficult Terrain And Obstacles"; FACTS A6, B1 (one_move).
"""

from __future__ import annotations

from typing import Any

from engine import turns, zones
from engine.rejected import Rejected, unknown
from engine.rulesets.wasteland import body, charges, derived, ending, ground, perks, pools, ready, telling, turnflow
from engine.rulesets.wasteland.commands import Aim, Move, Sprint
from engine.rulesets.wasteland.model import Survivor
from engine.rulesets.wasteland.pending import Landing
from engine.rulesets.wasteland.switches import switch
from engine.session import Encounter, Scene
from engine.step import Step


def aim(step: Step, command: Aim) -> None:
    """combat_rules_2d20, "Minor Actions": Aim."""
    s, encounter = turnflow.acting(step, command.combatant)
    if encounter is None:
        raise Rejected("not_now", "Aiming is for fights.")
    if s.turn.aimed or s.turn.attacked:
        raise Rejected("not_now", "Aiming helps the first attack of a turn, once.", combatant=s.id)
    if perks.bonus(s, "no_aim"):
        raise Rejected("not_now", f"{s.name} never aims.", combatant=s.id)
    pools.refuse_gm_ap(switch(step, "gm_ap_scope"), command.gm_ap, 0)
    marked: dict[str, Any] = {}
    if command.target:
        target = step.combatant(command.target)
        if not any(one.drawn and derived.has(one, "recon") for one in s.weapons):
            raise Rejected("illegal_choice", "Only a recon weapon marks a target.", field="target")
        marked["mark"] = target.id
    turnflow.use(step, s, "minors", gm_ap=command.gm_ap, fields=marked, aimed=True)
    at = f" at {step.name(command.target)}" if command.target else ""
    telling.tell(step, (s.id, command.target), "wasteland.aim", f"{s.name} takes aim{at}.", {"combatant": s.id, "target": command.target})


# --- moving ----------------------------------------------------------------------------------------------------------------


def move(step: Step, command: Move) -> None:
    """combat_rules_2d20, "Minor Actions": Move, or stand up. Free of turns outside a fight."""
    s, encounter = turnflow.acting(step, command.combatant)
    pools.refuse_gm_ap(switch(step, "gm_ap_scope"), command.gm_ap, 0)
    if command.stand:
        if not s.prone:
            raise Rejected("not_now", f"{s.name} stands already.", combatant=s.id)
        if command.zone or command.near or command.cover:
            raise Rejected("illegal_choice", "Standing up is all of the move.")
        if encounter is not None:
            _moving(step, s)
            turnflow.use(step, s, move_kind(s), gm_ap=command.gm_ap, moved=True)
        step.change("combatants", s.id, prone=False)
        step.about(s.id, "wasteland.stand", f"{s.name} stands up.", combatant=s.id)
        return
    if not command.zone and not command.near and not command.cover:
        raise Rejected("illegal_choice", "Say where to: a zone, somebody to move up to, or a cover.")
    _go(step, s, encounter, command.zone or s.zone, command, 1, move_kind(s))


def move_kind(s: Survivor) -> str:
    """Which kind of action a Move is: with an injured leg a major one ("Critical Hits and Injuries")."""
    return "majors" if s.injuries and body.suffers(s, "leg") else "minors"


def sprint(step: Step, command: Sprint, *, granted: bool = False) -> None:
    """combat_rules_2d20, "Major Actions": Sprint, up to two zones; not with an injured leg."""
    s, encounter = turnflow.acting(step, command.combatant, granted=granted)
    pools.refuse_gm_ap(switch(step, "gm_ap_scope"), command.gm_ap, 0)
    if body.suffers(s, "leg"):
        raise Rejected("not_now", f"{s.name} cannot run with that leg.", combatant=s.id)
    _go(step, s, encounter, command.zone, command, 2, "majors", granted=granted)


def _moving(step: Step, s: Survivor) -> None:
    if s.turn.moved and switch(step, "one_move"):
        raise Rejected("limit", f"{s.name} has moved this turn; one movement action is all.", combatant=s.id)


def _go(
    step: Step,
    s: Survivor,
    encounter: Encounter | None,
    zone_id: str,
    command: Move | Sprint,
    most: int,
    kind: str,
    *,
    granted: bool = False,
) -> None:
    scene = step.scenes.get(s.scene)
    if scene is None:
        raise Rejected("not_now", f"{s.name} is in no scene.", combatant=s.id)
    zone = scene.zone(zone_id)
    if zone is None or (zone.hidden and not step.is_gm):
        raise unknown("zone", zone_id, [one.id for one in scene.zones if not one.hidden])
    if s.prone:
        raise Rejected("not_now", f"{s.name} is prone and has to stand up first.", combatant=s.id)
    cost = ways(scene, s.zone, most, step.is_gm).get(zone_id)
    if cost is None:
        raise Rejected("out_of_range", f"{zone.name} is farther than {most} zone{'s' if most > 1 else ''} away.", zone=zone_id)
    start = s.zone
    if encounter is not None:
        if not granted:
            _moving(step, s)
            s = turnflow.use(step, s, kind, gm_ap=command.gm_ap, moved=True)
        pools.pay(step, s, cost, "the way", gm_ap=command.gm_ap and switch(step, "gm_ap_scope") == "any")
    zones.place(step, s.id, s.scene, zone_id, command.near, command.cover)
    beside = ", ".join(step.name(one) for one in command.near)
    text = f"{s.name} {'moves' if most == 1 else 'sprints'} to {zone.name}{f', up to {beside}' if beside else ''}."
    data: dict[str, Any] = {"combatant": s.id, "zone": zone_id, "near": list(command.near), "cover": command.cover}
    telling.tell(step, (s.id, *command.near), "wasteland.move", text, data)
    if most > 1 and perks.bonus(s, "sprint_defense"):
        step.change("combatants", s.id, dash=perks.bonus(s, "sprint_defense"))
    _landed(step, s.id, entered=zone_id != start)


def _landed(step: Step, combatant_id: str, *, entered: bool) -> None:
    """Somebody has moved: who was ready for the entering, then what lies there, then who was ready for the end of the move."""
    if entered and _interrupted(step, combatant_id, "enters", Landing(by=combatant_id)):
        return
    land(step, Landing(by=combatant_id, stage="enter" if entered else "end"))


def _interrupted(step: Step, combatant_id: str, kind: str, record: Landing | None) -> bool:
    s: Survivor = step.combatants[combatant_id]
    encounter = turns.encounter_of(step, s)
    queue = ready.waiting(step, kind, s) if encounter is not None else ()
    if not queue or encounter is None:
        return False
    owner = ("encounters", encounter.id)
    if record is not None:
        step.push(owner, record)
    ready.interrupt(step, owner, queue, combatant_id)
    return True


def land(step: Step, record: Landing) -> None:
    """The move goes on, for somebody who is still there."""
    s = step.combatants.get(record.by)
    if s is None or s.out:
        return
    if record.stage == "enter":
        ground.suffer_place(step, s.id)
        s = step.combatants[s.id]
        if not body.able(s):
            ending.over_for(step, s.id)
        if not s.out and charges.tripped(step, s):
            encounter = turns.encounter_of(step, s)
            if encounter is not None:
                # The end of the move comes after the tests that this may ask for.
                step.push(("encounters", encounter.id), Landing(by=s.id, stage="end"))
                charges.trip(step, s.id)
                return
            charges.trip(step, s.id)
    if body.able(step.combatants[s.id]):
        _interrupted(step, s.id, "ends_move", None)


def ways(scene: Scene, start_zone: str, most: int, secret: bool) -> dict[str, int]:
    """Every zone within `most` zones and the AP of its cheapest way: leaving a zone and crossing an edge may cost (FACTS A6)."""
    best = {start_zone: 0}
    ring = best
    for _ in range(most):
        after: dict[str, int] = {}
        for at, paid in ring.items():
            zone = scene.zone(at)
            leaving = zone.cost if zone is not None else 0
            for other, edge in zones.neighbours(scene, at):
                if edge.hidden and not secret:
                    continue
                cost = paid + leaving + edge.cost
                if cost < min(best.get(other, cost + 1), after.get(other, cost + 1)):
                    after[other] = cost
        best = {**best, **after}
        ring = after
    return best
