"""What hits do to a model: Harm, Injuries, Fatigue, falling, confusion, critical effects (figures of FACTS A15)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engine import turns, zones
from engine.rulesets.skirmish import pools
from engine.rulesets.skirmish.model import Model, Weapon
from engine.rulesets.skirmish.switches import switch
from engine.talk import fact
from engine.zones import concealed

if TYPE_CHECKING:
    from engine.session import Session
    from engine.step import Step

HEAL = 2
"""Harm that Patch Up removes."""


def can_tire(tree: Step | Session, model: Model) -> bool:
    """Whether a model is able to take one more Fatigue."""
    return model.fatigue < int(switch(tree, "fatigue_limit"))


def tire(step: Step, model_id: str, amount: int = 1) -> int:
    """Give Fatigue, as far as the model is able to take it. Returns how much."""
    model: Model = step.combatants[model_id]
    taken = max(min(amount, int(switch(step, "fatigue_limit")) - model.fatigue), 0)
    if taken:
        step.change("combatants", model_id, fatigue=model.fatigue + taken)
        step.whisper("skirmish.fatigue", f"{model.name} takes {taken} Fatigue.", model_id, combatant=model_id, fatigue=taken)
    return taken


def add(step: Step, model_id: str, harm: int, injuries: int = 0) -> None:
    """Give Harm and Injuries: Harm beyond the model's limit becomes Injuries."""
    model: Model = step.combatants[model_id]
    kept = max(min(harm, model.harm_limit - model.harm), 0)
    injuries += harm - kept
    if not kept and not injuries:
        return
    step.change("combatants", model_id, harm=model.harm + kept, injuries=model.injuries + injuries)
    text = f"{model.name} takes {kept} Harm and {injuries} Injuries."
    step.about(model_id, "skirmish.harm", text, combatant=model_id, harm=kept, injuries=injuries)


def of_damage(damage: int, endurance: int) -> str:
    """What so many hits come to: "harm" below Endurance, "injury" (and a Harm) from it, "incapacitated" from twice it; "" for none."""
    end = max(endurance, 1)
    if damage <= 0:
        return ""
    if damage >= 2 * end:
        return "incapacitated"
    return "injury" if damage >= end else "harm"


def land(step: Step, by: Model, target: Model, weapon: Weapon, hits: int, *, critical: bool) -> None:
    """Everything that a hit does to its target, and what its friends make of it."""
    effect = weapon.critical if critical else ""
    endurance, damage, more = target.special.E, hits, 0
    if effect:
        text = f"Critical: {effect}{f' {weapon.x}' if weapon.x != 1 else ''}."
        step.emit("skirmish.critical", text, by=by.id, target=target.id, effect=effect, x=weapon.x)
    if effect == "pierce":
        endurance = max(endurance - 1, 1)
    elif effect == "maim":
        more = 1
    elif effect == "ignite":
        damage += _over(step, by, target, weapon, "A")
    elif effect in ("poison", "tranquilize"):
        more = _over(step, by, target, weapon, "E")
    elif effect == "suppress":
        tire(step, target.id, _over(step, by, target, weapon, "I"))
    elif effect == "pushback":
        _push(step, target, _over(step, by, target, weapon, "S"))
    comes_to = of_damage(damage, endurance)
    step.emit("skirmish.hit", f"{by.name} hits {target.name}: {comes_to}.", by=by.id, target=target.id, damage=damage, outcome=comes_to)
    add(step, target.id, more + (comes_to in ("harm", "injury")), int(comes_to == "injury"))
    if effect == "meltdown":
        _meltdown(step, target.id)
    limit = int(switch(step, "injury_limit"))
    if comes_to == "incapacitated" or step.combatants[target.id].injuries >= limit:
        fall(step, target.id)


def _over(step: Step, by: Model, target: Model, weapon: Weapon, letter: str) -> int:
    """Roll the effect's X dice; returns how many are over the target's attribute."""
    if not weapon.x:
        return 0
    rolled = step.roll(weapon.x, pools.SIDES, purpose="critical", actor=by.id)
    over = sum(face > target.special.value(letter) for face in rolled.faces)
    text = f"{over} of {weapon.x} dice are over {target.name}'s {letter}."
    step.emit("skirmish.effect", text, target=target.id, attribute=letter, over=over, rolls=[fact(rolled)])
    return over


def _push(step: Step, target: Model, inches: int) -> None:
    """Pushed an inch or more, a model no longer touches anybody; within a zone inches are not counted further."""
    if inches:
        zones.leave(step, target.id)
        step.emit("skirmish.pushed", f"{target.name} is pushed back {inches} inches.", target=target.id, inches=inches)


def _meltdown(step: Step, target_id: str) -> None:
    """A 2E test: fewer hits than Harm is an Injury."""
    target: Model = step.combatants[target_id]
    if quick(step, target, "2E", "meltdown") < target.harm:
        add(step, target_id, 0, 1)


def quick(step: Step, model: Model, pool: str, purpose: str) -> int:
    """A test that is rolled at once, lucky as all are. Returns its successes."""
    thrown = pools.throw(step, model, pools.build(step, model, pool), purpose)
    result = pools.result(step, thrown)
    text = f"{model.name}, {purpose} test {pool}: {result.hits}."
    step.about(model.id, "skirmish.test", text, combatant=model.id, test=purpose, pool=pool, **result.told)
    return result.hits


def fall(step: Step, model_id: str) -> None:
    """A model is Incapacitated; its friends within 3 inches test whether they keep their heads."""
    model: Model = step.combatants[model_id]
    step.change("combatants", model_id, out=True, state="incapacitated")
    step.about(model_id, "skirmish.incapacitated", f"{model.name} is Incapacitated.", combatant=model_id)
    scene = step.scenes.get(model.scene)
    near = [] if scene is None else zones.near(scene, model_id)
    friends = [one for one in step.combatants if one in near]
    for friend_id in friends:
        friend: Model = step.combatants[friend_id]
        if friend.side == model.side and not friend.out and quick(step, friend, "2I", "confusion") == 0:
            confuse(step, friend_id)


def confuse(step: Step, model_id: str) -> None:
    """Confused: take a Fatigue if able, else flee."""
    model: Model = step.combatants[model_id]
    tired = tire(step, model_id) > 0
    text = f"{model.name} is confused{'' if tired else ' and flees'}."
    step.about(model_id, "skirmish.confused", text, combatant=model_id, flees=not tired)
    if not tired:
        flee(step, model_id)


def flee(step: Step, model_id: str) -> None:
    """To the neighbouring zone with the fewest foes (the first of equals); with no way to run to, out of the fight."""
    model: Model = step.combatants[model_id]
    scene = step.scenes[model.scene]
    foes = {zone.id: 0 for zone in scene.zones if not zone.hidden}
    for other in step.combatants.values():
        if other.scene == scene.id and other.zone in foes and other.side != model.side and not other.out:
            foes[other.zone] += 1
    ways = [zone for zone, way in zones.neighbours(scene, model.zone) if not way.hidden and zone in foes]
    if ways:
        zones.place(step, model_id, scene.id, min(ways, key=lambda zone: foes[zone]))
    else:
        step.change("combatants", model_id, out=True, state="fled")
    step.about(model_id, "skirmish.fled", f"{model.name} flees.", combatant=model_id, zone=step.combatants[model_id].zone, gone=not ways)


def fight_over(step: Step, encounter_id: str) -> None:
    """End a fight in which somebody is out and at most one crew can go on."""
    encounter = step.encounters.get(encounter_id)
    if encounter is None:
        return
    able = [one for one in encounter.order if turns.can_act(step, one)]
    if len(able) == len(encounter.order):
        return
    sides = sorted({step.combatants[one].side for one in able})
    if len(sides) < 2:
        stands = sides[0] if sides else ""
        text = f"The fight is over: {stands or 'one crew'} stands." if sides else "The fight is over: nobody stands."
        turns.finish(step, encounter_id, text, side=stands)


def between(step: Step, one: str, other: str, type: str, text: str, **data: Any) -> None:
    """Say a fact that names two: to everyone, or, when one of them is concealed, to the GMs and who controls all that are."""
    secret = [who for who in (one, other) if concealed(step, step.combatants[who])]
    knowing = [seat.id for seat in step.seats.values() if seat.role == "gm" or all(who in seat.controls for who in secret)]
    step.emit(type, text, to=knowing if secret else None, **data)
