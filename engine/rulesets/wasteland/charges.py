"""Dangerous objects: traps, mines and charges that tick (combat_rules_2d20, "Dangerous Objects"; FACTS A7, A14 mine, placed, delay).

Each is a combatant of kind `object` with a Trap. Who enters its zone sets it off and tests to get clear; a fuse goes off by itself.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from engine import gm, turns
from engine.rejected import Rejected
from engine.rulesets.wasteland import body, checks, derived, ending, ground, saves, targeting, testflow, turnflow
from engine.rulesets.wasteland.commands import Place
from engine.rulesets.wasteland.model import Frame, Pair, Survivor, Trap, Weapon
from engine.rulesets.wasteland.switches import switch
from engine.session import Encounter
from engine.step import Step
from engine.talk import fact

DODGE = Pair(attribute="AGI", skill="athletics")
ARM = Pair(attribute="PER", skill="explosives")


def put(step: Step, name: str, side: str, scene: str, zone: str, trap: Trap) -> str:
    """A dangerous object in a zone; returns its id."""
    made = step.ident("c")
    step.add("combatants", Survivor(id=made, name=name, kind="object", side=side, scene=scene, zone=zone, hp=1, max_hp=1, trap=trap))
    step.emit("wasteland.charge", f"{name} lies there.", combatant=made, zone=zone)
    return made


def lay(step: Step, by: Survivor, weapon: Weapon, zone: str, dice: int, *, blunt: bool) -> None:
    """A charge with a delay: it goes off at the start of the Xth round after; thrown badly it has no effects."""
    encounter = turns.encounter_of(step, by)
    fuse = (encounter.round if encounter is not None else 0) + derived.has(weapon, "delay")
    effects = () if blunt else weapon.effects
    alone = not targeting.blasts(weapon)
    trap = Trap(dice=dice, type=weapon.type, effects=effects, fuse=max(fuse, 1), by=by.id, alone=alone)
    put(step, weapon.name, by.side, by.scene, zone, trap)


def place(step: Step, command: Place) -> None:
    """Lay a mine or charge where you are: PER + explosives, D1, D2 if you were attacked since your last turn (FACTS A14)."""
    s, encounter = turnflow.acting(step, command.combatant)
    weapon = targeting.weapon_of(s, command.weapon)
    if not (derived.has(weapon, "placed") or derived.has(weapon, "mine")):
        raise Rejected("illegal_choice", f"{weapon.name} is not something to lay.", weapon=weapon.id)
    difficulty = 2 if s.shot_at and encounter is not None else 1
    frame = Frame(pair=ARM, difficulty=difficulty, action="major", then="place", what=weapon.id)
    test = testflow.open_test(step, s, f"Lay {weapon.name}", frame)
    testflow.throw_pool(step, test, s, "lead", command)


def placed(step: Step, s: Survivor, frame: Frame) -> None:
    """It lies there, armed."""
    weapon = next((one for one in s.weapons if one.id == frame.what), None)
    if weapon is None or not weapon.count:
        return
    left = replace(weapon, count=weapon.count - 1)
    step.change(
        "combatants", s.id, weapons=tuple(left if one.id == weapon.id else one for one in s.weapons if one.id != weapon.id or left.count)
    )
    trap = Trap(
        pair=DODGE,
        dice=weapon.dice,
        type=weapon.type,
        effects=weapon.effects,
        alone=not targeting.blasts(weapon),
        by=s.id,
    )
    put(step, weapon.name, s.side, s.scene, s.zone, trap)


def tripped(step: Step, s: Survivor) -> list[Survivor]:
    """The armed objects that somebody sets off by entering a zone."""
    return [
        one
        for one in step.combatants.values()
        if one.trap is not None and one.trap.armed and not one.trap.fuse and (one.scene, one.zone) == (s.scene, s.zone) and not one.out
    ]


def trip(step: Step, combatant_id: str) -> None:
    """Somebody entered: each object there goes off unless a test gets them clear (combat_rules_2d20, "Dangerous Objects")."""
    s: Survivor = step.combatants[combatant_id]
    for thing in tripped(step, s):
        trap = thing.trap
        assert trap is not None
        step.change("combatants", thing.id, trap=replace(trap, armed=False), hidden=False)
        step.about(s.id, "wasteland.tripped", f"{s.name} sets off {thing.name}.", combatant=s.id, what=thing.id)
        if trap.pair is None:
            explode(step, thing.id, s.id)
        else:
            saves.demand(step, s, trap.pair, trap.difficulty, then="trap", source=thing.id)


def explode(step: Step, thing_id: str, tripper: str = "") -> None:
    """One roll of damage for everybody in the zone, or for who set it off alone; the object is gone."""
    thing = step.combatants.get(thing_id)
    if thing is None or thing.trap is None:
        return
    trap = thing.trap
    rolled = step.roll(trap.dice, 6, purpose="charge", actor=thing_id) if trap.dice else None
    faces = () if rolled is None else rolled.faces
    total, symbols = checks.damage(faces, switch(step, "effect_face_damage"))
    data: dict[str, Any] = {"what": thing_id, "zone": thing.zone, "damage": total, "effects": symbols}
    if rolled is not None:
        data["rolls"] = [fact(rolled)]
    step.about(thing_id, "wasteland.exploded", f"{thing.name} goes off: {total} damage.", **data)
    weapon = Weapon(id=thing_id, name=thing.name, kind="natural", dice=trap.dice, type=trap.type, effects=trap.effects)
    caught = [one.id for one in ground.in_zone(step, thing.scene, thing.zone)]
    if trap.alone and tripper:
        caught = [tripper]
    elif trap.alone:
        caught = caught[:1]
    for one in caught:
        ground.exposed(step, one, weapon, total, symbols, whole=False, by=trap.by if trap.by in step.combatants else "")
    if thing_id in step.combatants:
        gm.take_out(step, step.combatants[thing_id])
    for one in caught:
        if one in step.combatants and not body.able(step.combatants[one]):
            ending.over_for(step, one)


def escaped(step: Step, thing_id: str) -> None:
    """Nobody was caught: it is spent."""
    thing = step.combatants.get(thing_id)
    if thing is not None:
        step.about(thing_id, "wasteland.exploded", f"{thing.name} goes off and hurts nobody.", what=thing_id, zone=thing.zone, damage=0)
        gm.take_out(step, thing)


def tick(step: Step, encounter: Encounter) -> None:
    """A round is on: charges whose round has come go off."""
    for one in list(step.combatants.values()):
        if one.kind == "object" and one.trap is not None and one.scene == encounter.scene and 0 < one.trap.fuse <= encounter.round:
            explode(step, one.id)
