"""Damage: combat dice, what effects do with them, Damage Resistance and cover at the location, HP, injuries, defeat.

combat_rules_2d20, "Making an Attack" steps 3 and 4, "Damage Effects", "Radiation Damage", "Damage and Injury"; FACTS A1, A2, A13.
Every effect is a row of EFFECTS: `before` changes what the hit does, `after` follows it. Further effects are further rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from msgspec.structs import replace

from engine import zones
from engine.rulesets.wasteland import checks, derived, tables, telling
from engine.rulesets.wasteland.model import Effect, Injury, Survivor, Weapon
from engine.rulesets.wasteland.switches import switch
from engine.session import Scene, Session
from engine.step import Step
from engine.talk import fact

CRITICAL = 5
CRITICAL_BIG = 7
MAX_COVER = 20


class Blow:
    """One successful attack while its damage is worked out."""

    __slots__ = ("at", "by", "critical", "effects", "ignore", "step", "target", "total", "type", "weapon")

    def __init__(self, step: Step, by: str, target: str, weapon: Weapon, at: str, total: int, effects: int, critical: bool) -> None:
        self.step, self.by, self.target, self.weapon, self.at = step, by, target, weapon, at
        self.total, self.effects, self.critical = total, effects, critical
        self.type: str = weapon.type
        self.ignore = 0


# --- effects ---------------------------------------------------------------------------------------------------------------


class Rule(NamedTuple):
    """What a damage effect does when at least one effect was rolled."""

    before: Callable[[Blow, Effect], None] | None = None
    after: Callable[[Blow, Effect], None] | None = None


def _vicious(blow: Blow, effect: Effect) -> None:
    blow.total += blow.effects


def _piercing(blow: Blow, effect: Effect) -> None:
    blow.ignore += effect.x * blow.effects


def _breaking_now(blow: Blow, effect: Effect) -> None:
    if switch(blow.step, "breaking_timing") == "immediate":
        breaking(blow)


def _breaking_later(blow: Blow, effect: Effect) -> None:
    if switch(blow.step, "breaking_timing") == "after":
        breaking(blow)


def breaking(blow: Blow) -> None:
    """Cover loses a die for each effect, for good; without cover the location's DR of the weapon's type.

    Switches `breaking` and `breaking_carry`.
    """
    step = blow.step
    amount = blow.effects if switch(step, "breaking") == "per_effect" else 1
    target: Survivor = step.combatants[blow.target]
    scene = step.scenes.get(target.scene)
    cover = None if scene is None else zones.cover_of(scene, target)
    if scene is not None and cover is not None and cover.value:
        broken = min(amount, cover.value)
        _break_cover(step, scene, target, broken)
        text = f"{cover.name} is shot to pieces: {broken} less."
        step.about(target.id, "wasteland.breaking", text, target=target.id, cover=cover.id, amount=broken)
        if not switch(step, "breaking_carry"):
            return
        amount -= broken
    amount = min(amount, derived.resistance(target, blow.at, blow.type))
    if amount:
        step.change("combatants", target.id, broken=derived.lost(target.broken, blow.at, blow.type, amount))
        step.whisper(
            "wasteland.breaking", f"{target.name}'s protection there is {amount} less.", target.id, target=target.id, location=blow.at
        )


def _break_cover(step: Step, scene: Scene, target: Survivor, amount: int) -> None:
    step.change(
        "scenes",
        scene.id,
        zones=tuple(
            replace(zone, covers=tuple(replace(one, value=one.value - amount) if one.id == target.cover else one for one in zone.covers))
            if zone.id == target.zone
            else zone
            for zone in scene.zones
        ),
    )


def _radioactive(blow: Blow, effect: Effect) -> None:
    hit(blow.step, blow.target, blow.at, "radiation", blow.effects, by=blow.by)


def _spread(blow: Blow, effect: Effect) -> None:
    for _ in range(blow.effects):
        target: Survivor = blow.step.combatants[blow.target]
        rolled = blow.step.roll(1, 20, purpose="location", actor=blow.by)
        at = tables.location_of(target.body_type, rolled.faces[0])
        hit(blow.step, target.id, at, blow.type, blow.total // 2, by=blow.by, rolls=[fact(rolled)], critical=blow.critical)


def _stun(blow: Blow, effect: Effect) -> None:
    target = blow.step.combatants[blow.target]
    if not target.out:
        blow.step.change("combatants", blow.target, stunned=True)
        blow.step.about(blow.target, "wasteland.stunned", f"{target.name} is stunned.", target=blow.target)


EFFECTS: Mapping[str, Rule] = {
    "vicious": Rule(before=_vicious),
    "piercing": Rule(before=_piercing),
    "breaking": Rule(before=_breaking_now, after=_breaking_later),
    "spread": Rule(after=_spread),
    "stun": Rule(after=_stun),
    # Radiation comes after every other damage of the attack, so it is the last row (combat_rules_2d20, "Radiation Damage").
    "radioactive": Rule(after=_radioactive),
}
"""Rows in the order in which they apply. `arc`, `burst`, `freeze`, `persistent` and `tranquilize` have none yet."""
ORDER = {effect: place for place, effect in enumerate(EFFECTS)}
VICIOUS = Effect(id="vicious")


def strike(
    step: Step, by: str, target: str, weapon: Weapon, at: str, faces: tuple[int, ...], *, critical: bool, vicious: bool, rolls: list[Any]
) -> None:
    """What the damage dice of a hit do. `critical`: the attack roll had a critical success."""
    total, effects = checks.damage(faces, switch(step, "effect_face_damage"))
    blow = Blow(step, by, target, weapon, at, total, effects, critical)
    active: list[Effect] = []
    if effects:
        active = [one for one in weapon.effects if one.id in EFFECTS]
        if vicious:
            active.append(VICIOUS)
        active.sort(key=lambda one: ORDER[one.id])
        for one in active:
            before = EFFECTS[one.id].before
            if before is not None:
                before(blow, one)
    hit(step, target, at, blow.type, blow.total, by=by, ignore=blow.ignore, effects=effects, rolls=rolls, critical=critical)
    for one in active:
        after = EFFECTS[one.id].after
        if after is not None:
            after(blow, one)


# --- one hit ---------------------------------------------------------------------------------------------------------------


def hit(
    step: Step,
    target_id: str,
    at: str,
    kind: str,
    amount: int,
    *,
    by: str = "",
    ignore: int = 0,
    effects: int = 0,
    rolls: list[Any] | None = None,
    critical: bool = False,
) -> int:
    """Damage of one type to one location: reduced by DR and cover, then suffered. Returns what was suffered.

    Players see dice, total and how the target looks; DR, what got through and HP of others stay with the GM and who controls the target.
    """
    target: Survivor = step.combatants[target_id]
    told = list(rolls or [])
    immune = kind in target.immune
    resisted = derived.resistance(target, at, kind)
    cover = 0
    if not immune and amount:
        dice = cover_dice(step, target, at, kind)
        if dice:
            rolled = step.roll(dice, 6, purpose="cover", actor=target_id)
            total, symbols = checks.damage(rolled.faces, switch(step, "effect_face_damage"))
            cover = total if switch(step, "cover_dr") == "total" else symbols
            told.append(fact(rolled))
    suffered = 0 if immune else max(amount - max(resisted + cover - ignore, 0), 0)
    before_dr = 0 if immune else amount
    wound(step, target, at, kind, suffered, before_dr, critical)
    now: Survivor = step.combatants[target_id]
    looks = derived.condition(now)
    place = at.replace("_", " ")
    if kind == "radiation":
        place += " with radiation"
    data: dict[str, Any] = {
        "by": by,
        "target": target_id,
        "at": at,
        "damage_type": kind,
        "damage": amount,
        "effects": effects,
        "cover": cover,
        "rolls": told,
        "looks": looks,
    }
    full = {**data, "dr": resisted, "ignored": ignore, "suffered": suffered, "hp": now.hp, "max_hp": derived.max_hp(now)}
    text = f"{target.name} is hit in the {place}: {amount} damage, {suffered} got through; {now.hp} HP left."
    public = ("wasteland.hit", f"{target.name} is hit in the {place} for {amount}; {looks}.", data)
    telling.tell(step, (target_id,), "wasteland.hit", text, full, public=None if telling.is_open(target) else public)
    _after_wound(step, target, now)
    return suffered


def cover_dice(tree: Step | Session, target: Survivor, at: str, kind: str) -> int:
    """dC6 that cover adds to DR: against physical and energy, when it hides the location (switch `cover_scope`)."""
    scene = tree.scenes.get(target.scene)
    if scene is None or not target.cover:
        return 0
    if switch(tree, "cover_scope") == "limited" and (kind not in ("physical", "energy") or not zones.is_covered(scene, target, at)):
        return 0
    cover = zones.cover_of(scene, target)
    return 0 if cover is None else min(max(cover.value, 0), MAX_COVER)


def critical_at(s: Survivor) -> int:
    """Damage in one hit from which it is a critical hit."""
    return CRITICAL_BIG if s.beast is not None and s.beast.big else CRITICAL


def wound(step: Step, s: Survivor, at: str, kind: str, suffered: int, before_dr: int, critical: bool) -> None:
    """Take suffered damage off HP (radiation off the maximum), with the injuries that come of it."""
    if not suffered:
        return
    fields: dict[str, Any] = {}
    if kind == "radiation":
        irradiated = replace(s, radiation=s.radiation + suffered)
        fields["radiation"] = irradiated.radiation
        hp = min(s.hp, derived.max_hp(irradiated))
    else:
        hp = max(s.hp - suffered, 0)
    fields["hp"] = hp
    counted = suffered if switch(step, "crit_after_dr") else before_dr
    is_critical = counted >= critical_at(s) and (kind != "radiation" or bool(switch(step, "radiation_can_crit")))
    falls = hp == 0 and not s.dying
    if falls and switch(step, "zero_hp_extra") == "crit_success":
        count = 1 + critical
    else:
        count = is_critical + falls
    count += s.dying  # any damage while dying is one more injury
    if count:
        place = at if kind != "radiation" or at in tables.LOCATION_KINDS[s.body_type] else tables.TRUNK[s.body_type]
        injury = Injury(at=place, kind=tables.injury_kind(s.body_type, place))  # type: ignore[arg-type]
        fields["injuries"] = (*s.injuries, *(injury for _ in range(count)))
        if injury.kind == "leg":
            fields["prone"] = True
        if s.beast is not None and s.beast.little:
            fields.update(hp=0, dead=True)
            falls = True
    if falls:
        fields.update(prone=True, out=True, dying=not fields.get("dead", False), cover="")
    step.change("combatants", s.id, **fields)


def _after_wound(step: Step, before: Survivor, now: Survivor) -> None:
    if now.injuries is before.injuries and now.out == before.out:
        return
    for injury in now.injuries[len(before.injuries) :]:
        step.about(now.id, "wasteland.injury", f"{now.name} is injured: {injury.at}.", target=now.id, at=injury.at, kind=injury.kind)
    if now.out and not before.out:
        step.about(now.id, "wasteland.down", f"{now.name} is {'dead' if now.dead else 'down'}.", target=now.id, dead=now.dead)
