"""An activation: attack, move, patch up, catch breath. The rolls are seeds/special_d10.txt, the rest is added with FACTS A15's figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from engine import turns, zones
from engine.rejected import Rejected, unknown
from engine.rulesets.skirmish import ground, harm, pools
from engine.rulesets.skirmish.model import Model, Throw, Throwing, Weapon
from engine.rulesets.skirmish.switches import DASH, MOVE

if TYPE_CHECKING:
    from engine.rulesets.skirmish import commands as c
    from engine.session import Encounter, Session
    from engine.step import Step

Owner = tuple[str, str]


def acting(step: Step, combatant_id: str) -> tuple[Model, Encounter]:
    """Who is activated, with its action left. Raises Rejected."""
    by, encounter = turns.acting(step, combatant_id)
    if encounter is None:
        raise Rejected("not_now", "Nobody fights here; the GM starts an encounter first.")
    if by.acted:
        raise Rejected("not_now", f"{by.name} has acted; move or end the activation.")
    return by, encounter


def attack(step: Step, command: c.Attack) -> None:
    by, encounter = acting(step, command.combatant)
    weapon = _armed(by, command.weapon)
    target: Model = step.combatant(command.target)
    _check_target(step, by, weapon, target)
    helpers = _supporters(step, by, target, command.supporters)
    unlucky = ground.is_unlucky(step, target)
    counted = () if unlucky else helpers[: by.special.C]
    base, bonus = ground.base_test(by, weapon), ground.bonus_dice(step, by, weapon, target, len(counted))
    pool = pools.build(step, by, base, bonus=bonus, unlucky=unlucky)
    added = 0 if unlucky else bonus
    spent = tuple(replace(one, used=True) if one.id == weapon.id and one.trait("once") is not None else one for one in by.weapons)
    moved = by.moved or weapon.trait("slow") is not None
    by = step.change("combatants", by.id, acted=True, hidden=False, moved=moved, weapons=spent)
    for helper in counted:
        harm.tire(step, helper.id)
    text = f"{by.name} attacks {target.name} with {weapon.name}: {base}{f' and {added} more' if added else ''}."
    step.emit(
        "skirmish.attack",
        text,
        by=by.id,
        target=target.id,
        weapon=weapon.id,
        test=base,
        bonus=added,
        unlucky=unlucky,
        supporters=[one.id for one in counted if not zones.concealed(step, one)],
    )
    thrown = pools.throw(step, by, pool, "attack", rights=by.rerolls)
    go_on(step, ("encounters", encounter.id), Throwing(prompts=(), throw=thrown, target=target.id, weapon=weapon.id))


def go_on(step: Step, owner: Owner, record: Throwing) -> None:
    """Ask for re-rolls while there may be some; then count, and do what the attack does."""
    prompt = pools.ask_reroll(step, owner, record.throw)
    if prompt is not None:
        step.push(owner, replace(record, prompts=(prompt,)))
        return
    by: Model | None = step.combatants.get(record.throw.by)
    target: Model | None = step.combatants.get(record.target)
    if by is None or target is None or target.out:
        return
    weapon = by.weapon(record.weapon)
    if weapon is not None:
        _count(step, by, target, weapon, record.throw)
    harm.fight_over(step, owner[1])


def _count(step: Step, by: Model, target: Model, weapon: Weapon, thrown: Throw) -> None:
    result = pools.result(step, thrown)
    critical = result.critical and bool(weapon.critical)
    text = f"{by.name} has {result.hits} hits."
    step.emit("skirmish.rolled", text, by=by.id, target=target.id, passed=result.hits > 0, critical=critical, **result.told)
    if result.hits:
        harm.land(step, by, target, weapon, result.hits, critical=critical)


def _armed(by: Model, weapon_id: str) -> Weapon:
    if not weapon_id and len(by.weapons) == 1:
        return by.weapons[0]
    found = by.weapon(weapon_id)
    if found is None:
        raise unknown("weapon", weapon_id, [one.id for one in by.weapons])
    return found


def _check_target(step: Step, by: Model, weapon: Weapon, target: Model) -> None:
    if not ground.ready(by, weapon):
        why = "is used up" if weapon.used else "is too slow to use after a move"
        raise Rejected("not_now", f"{weapon.name} {why}.", weapon=weapon.id)
    if target.out:
        raise Rejected("no_target", f"{target.name} is out of the fight.", target=target.id)
    if target.side == by.side and target.id != by.id:
        raise Rejected("illegal_choice", f"{target.name} is of the same crew.", target=target.id)
    if not ground.reaches(step, by, weapon, target):
        raise Rejected("out_of_range", f"{target.name} is out of reach of {weapon.name}.", target=target.id)
    if zones.in_hidden_place(step, by) or zones.concealed(step, target):
        raise Rejected("not_now", "Nobody fights from a hidden place, nor against somebody unseen.", target=target.id)


def _supporters(step: Step, by: Model, target: Model, ids: tuple[str, ...]) -> list[Model]:
    found: list[Model] = []
    for one in dict.fromkeys(ids):
        helper: Model = step.combatant(one)
        if not step.controls(one):
            raise Rejected("not_yours", f"{helper.name} is not yours to command.", combatant=one)
        if not ground.may_support(step, by, helper, target):
            raise Rejected("illegal_choice", f"{helper.name} cannot support this attack.", combatant=one)
        found.append(helper)
    return found


def move(step: Step, command: c.Move) -> None:
    model, encounter = turns.acting(step, command.combatant)
    if encounter is not None and model.moved:
        raise Rejected("not_now", f"{model.name} has moved.")
    if command.dash and not harm.can_tire(step, model):
        raise Rejected("cannot_pay", f"{model.name} is too tired to dash.", pool="fatigue")
    scene = step.scenes.get(model.scene)
    zone = None if scene is None else scene.zone(command.zone)
    if scene is None or zone is None or (zone.hidden and not step.is_gm):
        raise unknown("zone", command.zone)
    walk = ground.known(scene, gm=step.is_gm)
    left = ground.inches_left(step, walk, model.zone, command.zone, DASH if command.dash else MOVE)
    if left is None:
        raise Rejected("out_of_range", f"{zone.name} is too far for {model.name}.", zone=zone.id)
    if command.dash and zone.id == model.zone:
        raise Rejected("illegal_choice", f"{model.name} is in {zone.name} already: a dash leads elsewhere.", zone=zone.id)
    zones.check_moves(step, model, zone)
    if command.near and not ground.may_join(left):
        raise Rejected("out_of_range", f"Nothing is left of the move to close in with anybody in {zone.name}.", zone=zone.id)
    zones.place(step, model.id, model.scene, command.zone, command.near, command.cover)
    if command.dash:
        harm.tire(step, model.id)
    if encounter is not None:
        step.change("combatants", model.id, moved=True)
    text = f"{model.name} {'dashes' if command.dash else 'moves'}: {zone.name}."
    near = [one for one in command.near if not zones.concealed(step, step.combatants[one])]
    step.about(model.id, "skirmish.move", text, combatant=model.id, zone=zone.id, near=near, dash=command.dash)


def patch(step: Step, command: c.Patch) -> None:
    by, _ = acting(step, command.combatant)
    target: Model = step.combatant(command.target or by.id)
    if not may_patch(step, by, target):
        raise Rejected("no_target", f"{by.name} cannot patch up {target.name}: a friend in reach with Harm.", target=target.id)
    step.change("combatants", by.id, acted=True)
    healed = min(harm.HEAL, target.harm)
    step.change("combatants", target.id, harm=target.harm - healed)
    text = f"{by.name} patches up {target.name}: {healed} Harm."
    harm.between(step, by.id, target.id, "skirmish.patched", text, by=by.id, target=target.id, healed=healed)


def may_patch(tree: Step | Session, by: Model, target: Model) -> bool:
    """Whether Patch Up does anything: a model of the crew with Harm, itself or one it stands with."""
    scene = tree.scenes.get(by.scene)
    beside = target.id == by.id or (scene is not None and zones.is_near(scene, by.id, target.id))
    return beside and target.side == by.side and target.harm > 0 and not target.out


def breathe(step: Step, command: c.Breathe) -> None:
    by, _ = acting(step, command.combatant)
    if not by.fatigue:
        raise Rejected("not_now", f"{by.name} is not tired.")
    step.change("combatants", by.id, acted=True, fatigue=by.fatigue - 1)
    step.about(by.id, "skirmish.breathes", f"{by.name} catches their breath.", combatant=by.id)
