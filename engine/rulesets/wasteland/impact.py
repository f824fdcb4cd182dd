"""What a hit leads to: damage, blasts, what weapons and perks add, complications, and perhaps the end of the fight.

combat_rules_2d20, "Making An Attack" step 4; FACTS A14.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from engine import zones
from engine.rulesets.wasteland import (
    body,
    checks,
    complications,
    derived,
    effects,
    ending,
    ground,
    luck,
    perks,
    pools,
    tables,
    targeting,
    telling,
)  # fmt: skip
from engine.rulesets.wasteland.model import Effect, Survivor
from engine.rulesets.wasteland.pending import Assault
from engine.rulesets.wasteland.switches import switch
from engine.step import Step
from engine.talk import fact

Owner = tuple[str, str]
WRANGLE = 2
CHAIN = 1


def strike(step: Step, owner: Owner, record: Assault, rolls: list[Any]) -> None:
    by: Survivor = step.combatants[record.by]
    target: Survivor | None = step.combatants.get(record.target)
    if record.zone:
        _explode(step, record, rolls)
    elif target is None or target.out:
        text = f"{step.name(record.target)} is not there any more."
        telling.tell(step, (record.by, record.target), "wasteland.gone", text, {"target": record.target})
    else:
        critical = any(face <= record.throw.crit for face in record.throw.faces)
        extra: list[Effect] = []
        if record.vicious or record.weapon.qualities or by.perks or by.boosts:
            extra = targeting.extra_effects(by, record.weapon, target, sneak=record.vicious, aimed=record.aimed)
        fated = record.fated and by.luck > 0
        if fated:
            by = luck.pay(step, by, 1, "A critical hit")
        stood = body.able(target)
        effects.strike(
            step, by.id, target.id, record.weapon, record.at, record.dice, critical=critical, extra=extra, rolls=rolls, fated=fated
        )
        _pull(step, record)
        if by.perks or by.boosts:
            _perks_after(step, record, stood)
    finish(step, owner, record)


def _explode(step: Step, record: Assault, rolls: list[Any]) -> None:
    """A blast hurts everybody in its zones alike, each at a location of their own; a failed one has no effects."""
    scene_id = step.combatants[record.by].scene
    total, symbols = checks.damage(record.dice, switch(step, "effect_face_damage"))
    if record.failed:
        symbols = 0
    text = f"{record.weapon.name}: {total} damage to everybody there."
    data: dict[str, Any] = {"by": record.by, "zones": [record.zone, *record.more], "damage": total, "effects": symbols, "rolls": rolls}
    telling.tell(step, (record.by,), "wasteland.blast", text, data)
    for zone in (record.zone, *record.more):
        for one in ground.in_zone(step, scene_id, zone):
            rolled = step.roll(1, 20, purpose="location", actor=one.id)
            at = tables.location_of(one.body_type, rolled.faces[0])
            blow = effects.Blow(step, record.by, one.id, record.weapon, at, total, symbols, False, further=True)
            blow.total += symbols * sum(1 for effect in record.weapon.effects if effect.id == "vicious")
            effects.land(blow, [], rolls=[fact(rolled)])


def _pull(step: Step, record: Assault) -> None:
    """Wrangle: 2 AP move who was hit into a neighbouring zone."""
    target = step.combatants.get(record.target)
    by = step.combatants[record.by]
    if not record.pull or target is None or target.out or pools.value(step, pools.pool_of(by)) < WRANGLE:
        return
    pools.pay(step, by, WRANGLE, "dragging somebody along")
    zones.place(step, target.id, target.scene, record.pull)
    zone = step.scenes[target.scene].zone(record.pull)
    text = f"{target.name} is dragged to {zone.name if zone is not None else record.pull}."
    telling.tell(step, (by.id, target.id), "wasteland.move", text, {"combatant": target.id, "zone": record.pull, "near": [], "cover": ""})


def _perks_after(step: Step, record: Assault, stood: bool) -> None:
    """What perks add to a hit: a falling enemy bursts or spurs on, a bullet goes on to the next one."""
    by: Survivor = step.combatants[record.by]
    target: Survivor = step.combatants[record.target]
    fell = stood and not body.able(target)
    tags = targeting.tags_of(record.weapon, thrown=record.thrown)
    if fell and perks.bonus(by, "rush"):
        rolled = step.roll(1, 6, purpose="rush", actor=by.id)
        if checks.damage(rolled.faces)[1]:
            pools.gain(step, by, perks.bonus(by, "rush"))
            step.about(by.id, "wasteland.perk", f"{by.name} is carried on by it: 2 AP.", combatant=by.id, perk="rush", rolls=[fact(rolled)])
    if fell and perks.bonus(by, "overload", *tags):
        for one in ground.in_zone(step, target.scene, target.zone):
            if one.id not in (target.id, by.id):
                ground.harm(step, one.id, "overload", record.weapon.dice // 2, "energy", (), by=by.id)
    most = perks.bonus(by, "chain_shot", *tags)
    if most and record.chain:
        blow = effects.Blow(step, by.id, target.id, record.weapon, record.at, *checks.damage(record.dice), False)
        for other in effects.others_close(blow)[: min(most, record.chain)]:
            if pools.value(step, pools.pool_of(by)) < CHAIN or not effects.spend_round(step, by.id, record.weapon):
                return
            pools.pay(step, step.combatants[by.id], CHAIN, "one more target")
            effects.jump(blow, other, blow.total, "chain")


def finish(step: Step, owner: Owner, record: Assault) -> None:
    """The complications of the attack, then the fight may be over."""
    count = checks.complications(record.throw.faces, record.range)
    if count:
        count = _qualities_after(step, record, count)
    of = (record.by,) * count
    for one in record.helpers:
        of += (one.by,) * checks.complications(one.faces)
    if of and complications.ask(step, owner, record.by, of, skill=record.throw.skill, weapon=record.weapon.id):
        return
    target = step.combatants.get(record.target)
    if target is None or not body.able(target) or not body.able(step.combatants[record.by]):
        ending.over(step, owner[1])


def _qualities_after(step: Step, record: Assault, count: int) -> int:
    """What complications do to some weapons; returns how many are left for the GM."""
    weapon = record.weapon
    if not weapon.qualities:
        return count
    by: Survivor = step.combatants[record.by]
    once = f"reliable:{weapon.id}"
    if derived.has(weapon, "reliable") and once not in by.used:
        step.change("combatants", by.id, used=(*by.used, once))
        step.about(by.id, "wasteland.reliable", f"{weapon.name} takes no harm this time.", combatant=by.id, weapon=weapon.id)
        count -= 1
    if count and derived.has(weapon, "fuel"):
        by = step.combatants[by.id]
        step.change("combatants", by.id, weapons=tuple(replace(one, loaded=False) if one.id == weapon.id else one for one in by.weapons))
        step.about(by.id, "wasteland.empty", f"{weapon.name} is empty.", combatant=by.id, weapon=weapon.id)
    if derived.has(weapon, "unstable_radiation"):
        for _ in range(count):
            ground.harm(step, by.id, "unstable radiation", 2, "radiation", (), whole=True, by="")
    return count
