"""A turn in a fight: attack, move, stimpak, clear a jam, stabilize (seeds/stretch_d20.txt, "Combat in one page", "V.A.T.S.").

Turn order, ranges and what a turn holds are not in the text: one move and one action (switch actions), the kernel's zones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from engine import turns, zones
from engine.rejected import Rejected, unknown
from engine.rulesets.stretch import asking, body, sums
from engine.rulesets.stretch.model import Question, Wanderer, Weapon
from engine.rulesets.stretch.switches import switch
from engine.talk import fact

if TYPE_CHECKING:
    from engine.rulesets.stretch import commands as c
    from engine.session import Encounter, Scene, Session
    from engine.step import Step


# --- what is possible, for rules and options alike ---------------------------------------------------------------------------


def can_still(tree: Step | Session, who: Wanderer) -> bool:
    """Whether an action is left this turn."""
    return who.acted < int(switch(tree, "actions"))


def reaches(tree: Step | Session, by: Wanderer, weapon: Weapon, target: Wanderer) -> bool:
    """Whether the weapon strikes the target: within arm's reach, or in sight within its range and not wholly behind cover."""
    scene: Scene | None = tree.scenes.get(by.scene)
    if scene is None or target.scene != by.scene or target.id == by.id:
        return False
    if zones.wholly_covered(scene, target) or not zones.sees(scene, by.zone, target.zone):
        return False
    if switch(tree, "range") == "free":
        return True
    if not weapon.range:
        return zones.is_near(scene, by.id, target.id)
    away = zones.distance(scene, by.zone, target.zone)
    return away is not None and away <= weapon.range


def callable_place(tree: Step | Session, place: str, target: Wanderer) -> bool:
    """Whether a called shot may name the place: it is not behind the target's cover, and there is a weapon to shoot at."""
    if place == "weapon" and not target.weapons:
        return False
    return not zones.is_covered(tree.scenes[target.scene], target, place)


def beside(tree: Step | Session, by: Wanderer, target: Wanderer) -> bool:
    """Whether somebody is close enough to be tended: in the same zone."""
    return bool(by.scene) and (by.scene, by.zone) == (target.scene, target.zone)


def needs_stimpak(target: Wanderer) -> bool:
    return target.state != "dead" and target.health < target.max_health


# --- the commands ------------------------------------------------------------------------------------------------------------


def acting(step: Step, combatant_id: str) -> tuple[Wanderer, Encounter | None]:
    """Who acts, with an action left if it is a fight. Raises Rejected."""
    who, encounter = turns.acting(step, combatant_id)
    if encounter is not None and not can_still(step, who):
        raise Rejected("not_now", f"{who.name} has acted this turn; move or end the turn.")
    return who, encounter


def _fighting(step: Step, combatant_id: str) -> tuple[Wanderer, Encounter]:
    who, encounter = acting(step, combatant_id)
    if encounter is None:
        raise Rejected("not_now", "Nobody fights here; the GM starts an encounter first.")
    return who, encounter


def _armed(by: Wanderer, weapon_id: str) -> Weapon:
    if not weapon_id and len(by.weapons) == 1:
        return by.weapons[0]
    found = by.weapon(weapon_id)
    if found is None:
        raise unknown("weapon", weapon_id, [one.id for one in by.weapons])
    return found


def attack(step: Step, command: c.Attack) -> None:
    by, encounter = _fighting(step, command.combatant)
    weapon = _armed(by, command.weapon)
    target: Wanderer = step.combatant(command.target)
    _check_target(step, by, weapon, target)
    place = command.place
    cost = 0
    if place is not None:
        if switch(step, "vats") != "on":
            raise Rejected("forbidden", "This campaign has no V.A.T.S.")
        cost = sums.VATS[place][0]
        if by.ap < cost:
            raise Rejected("cannot_pay", f"A shot at the {place} costs {cost} AP.", cost=cost, pool="ap")
        if not callable_place(step, place, target):
            raise Rejected("no_target", f"{target.name} shows no {place} to shoot at.", target=target.id, place=place)
    by = step.change("combatants", by.id, acted=by.acted + 1, hidden=False, ap=by.ap - cost, aiming=by.aiming or place is not None)
    rolled = step.roll(1, 20, purpose="attack", actor=by.id)
    face = rolled.faces[0]
    bonus, against = sums.aim(step, by, weapon, place), sums.defense(step, target)
    hit, critical = sums.strikes(step, by, face, bonus, against)
    at = f"'s {place}" if place else ""
    came = "a critical hit" if critical else "a hit" if hit else "a miss"
    told = f"{by.name} attacks {target.name}{at} with {weapon.name}: {face}, {came}."
    data = {
        "by": by.id,
        "target": target.id,
        "weapon": weapon.id,
        "place": place or "",
        "hit": hit,
        "critical": critical,
        "fumble": face == 1,
        "rolls": [fact(rolled)],
    }
    # The total gives the skill away, which only who attacks knows.
    step.whisper(
        "stretch.attack", told, by.id, public=("stretch.attack", told, data), total=face + bonus, bonus=bonus, against=against, **data
    )
    queue: list[Question] = []
    if hit:
        queue = _land(step, by, weapon, target, place or "", critical=critical)
    if face == 1 and switch(step, "fumble") == "gm":
        queue.append(Question(kind="fumble", combatant=by.id, by=by.id, weapon=weapon.id))
    asking.go_on(step, ("encounters", encounter.id), queue)


def _check_target(step: Step, by: Wanderer, weapon: Weapon, target: Wanderer) -> None:
    if weapon.jammed:
        raise Rejected("not_now", f"{weapon.name} is jammed; clear it first.", weapon=weapon.id)
    if target.out:
        raise Rejected("no_target", f"{target.name} is out of the fight.", target=target.id)
    if target.side == by.side and target.id != by.id:
        raise Rejected("illegal_choice", f"{target.name} is on {by.name}'s side.", target=target.id)
    if not reaches(step, by, weapon, target):
        raise Rejected("out_of_range", f"{target.name} is out of reach of {weapon.name}.", target=target.id)
    if zones.in_hidden_place(step, by) or zones.concealed(step, target):
        raise Rejected("not_now", "Nobody fights from a hidden place, nor against somebody unseen.", target=target.id)


def _land(step: Step, by: Wanderer, weapon: Weapon, target: Wanderer, place: str, *, critical: bool) -> list[Question]:
    """A hit's damage, and what has to be asked because of it."""
    amount = sums.damage(step, weapon.damage, target.dt, target.dr, critical=critical)
    text = f"{target.name} loses {amount} Health."
    step.emit("stretch.hit", text, by=by.id, target=target.id, damage=amount, critical=critical, place=place)
    body.irradiate(step, target.id, weapon.rads)
    queue: list[Question] = []
    if critical and switch(step, "crit_effect") == "gm":
        queue.append(Question(kind="effect", combatant=target.id, by=by.id, weapon=weapon.id, place=place))
    if place and switch(step, "called_effect") == "gm":
        queue.append(Question(kind="called", combatant=target.id, by=by.id, weapon=weapon.id, place=place))
    return [*queue, *body.wound(step, target.id, amount, radiation=weapon.radiation)]


def move(step: Step, command: c.Move) -> None:
    who, encounter = turns.acting(step, command.combatant)
    if encounter is not None and who.moved:
        raise Rejected("not_now", f"{who.name} has moved this turn.")
    if encounter is not None and who.aiming:
        raise Rejected("not_now", f"{who.name} took aim with V.A.T.S. and cannot move this turn.")
    scene = step.scenes.get(who.scene)
    ways = [] if scene is None else zones.neighbours(scene, who.zone)
    reachable = [who.zone, *(other for other, way in ways if not way.hidden or step.is_gm)]
    if scene is None or command.zone not in reachable:
        raise Rejected("out_of_range", "Move to a neighbouring zone, or within yours.", zone=command.zone)
    zone = scene.zone(command.zone)
    if zone is not None:
        zones.check_moves(step, who, zone)
    zones.place(step, who.id, who.scene, command.zone, command.near, command.cover)
    if encounter is not None:
        step.change("combatants", who.id, moved=True)
    there = zone.name if zone is not None else command.zone
    near = [one for one in command.near if not zones.concealed(step, step.combatants[one])]
    step.about(who.id, "stretch.move", f"{who.name} moves: {there}.", combatant=who.id, zone=command.zone, near=near)


def stimpak(step: Step, command: c.Stimpak) -> None:
    by, encounter = acting(step, command.combatant)
    target: Wanderer = step.combatant(command.target or by.id)
    if not by.stimpaks:
        raise Rejected("cannot_pay", f"{by.name} has no stimpak left.", pool="stimpaks", cost=1)
    if not beside(step, by, target):
        raise Rejected("out_of_range", f"{target.name} is not beside {by.name}.", target=target.id)
    if not needs_stimpak(target):
        raise Rejected("no_target", f"A stimpak does nothing for {target.name} now.", target=target.id)
    body.change(step, by.id, stimpaks=by.stimpaks - 1, acted=by.acted + (encounter is not None))
    healed = body.mend(step, target.id, sums.stimpak(step, sums.skill_value(step, by, "medicine")))
    text = f"{by.name} uses a stimpak on {target.name}: {healed} Health."
    body.between(step, by.id, target.id, "stretch.stimpak", text, by=by.id, target=target.id, healed=healed)


def clear(step: Step, command: c.Clear) -> None:
    by, encounter = acting(step, command.combatant)
    weapon = _armed(by, command.weapon)
    if not weapon.jammed:
        raise Rejected("not_now", f"{weapon.name} is not jammed.", weapon=weapon.id)
    weapons = tuple(replace(one, jammed=False) if one.id == weapon.id else one for one in by.weapons)
    step.change("combatants", by.id, weapons=weapons, acted=by.acted + (encounter is not None))
    step.about(by.id, "stretch.cleared", f"{by.name} clears {weapon.name}.", combatant=by.id, weapon=weapon.id)


def stabilize(step: Step, command: c.Stabilize) -> None:
    by, encounter = acting(step, command.combatant)
    if switch(step, "stabilize") != "action":
        raise Rejected("forbidden", "At this table a stimpak or the GM's word keeps somebody from dying.")
    target: Wanderer = step.combatant(command.target)
    if not beside(step, by, target):
        raise Rejected("out_of_range", f"{target.name} is not beside {by.name}.", target=target.id)
    if target.state != "dying":
        raise Rejected("no_target", f"{target.name} is not dying.", target=target.id)
    body.change(step, by.id, acted=by.acted + (encounter is not None))
    body.meet(step, target.id, "stable")
