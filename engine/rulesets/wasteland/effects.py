"""Damage effects: what the effect faces of a hit's combat dice do (combat_rules_2d20, "Damage Effects"; FACTS A13).

Every effect is a row of EFFECTS: `before` changes what the hit does, `after` follows it. Further effects are further rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from msgspec.structs import replace

from engine import turns, zones
from engine.rulesets.wasteland import body, checks, damage, derived, tables
from engine.rulesets.wasteland.model import Burn, Effect, Survivor, Weapon
from engine.rulesets.wasteland.switches import switch
from engine.session import Scene
from engine.step import Step
from engine.talk import fact


class Blow:
    """One successful attack while its damage is worked out.

    `further`: an additional target of it, so it jumps no further and the dice's additions are in `total`. `open`: no cover helps;
    `whole`: it comes over the whole body.
    """

    __slots__ = (
        "at", "by", "critical", "effects", "further", "hard", "ignore", "kinds", "open", "step", "target", "total", "tranquil", "type",
        "weapon", "whole",
    )  # fmt: skip

    def __init__(
        self, step: Step, by: str, target: str, weapon: Weapon, at: str, total: int, effects: int, critical: bool, further: bool = False
    ) -> None:
        self.step, self.by, self.target, self.weapon, self.at = step, by, target, weapon, at
        self.total, self.effects, self.critical, self.further = total, effects, critical, further
        self.type: str = weapon.type
        self.kinds = derived.kinds_of(weapon)
        self.ignore = 0
        self.tranquil = 0
        self.open = self.whole = False
        self.hard = derived.has(weapon, "debilitating") > 0


class Rule(NamedTuple):
    """What a damage effect does when at least one effect was rolled."""

    before: Callable[[Blow, Effect], None] | None = None
    after: Callable[[Blow, Effect], None] | None = None


def _vicious(blow: Blow, effect: Effect) -> None:
    blow.total += blow.effects


def _piercing(blow: Blow, effect: Effect) -> None:
    blow.ignore += effect.x * blow.effects


def _tranquilize(blow: Blow, effect: Effect) -> None:
    blow.tranquil = max(blow.tranquil, effect.x)


def _breaking_now(blow: Blow, effect: Effect) -> None:
    if switch(blow.step, "breaking_timing") == "immediate":
        breaking(blow)


def _breaking_later(blow: Blow, effect: Effect) -> None:
    if switch(blow.step, "breaking_timing") == "after":
        breaking(blow)


def breaking(blow: Blow) -> None:
    """Cover loses a die for each effect, for good; without cover the location's DR of the weapon's types.

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
    for kind in blow.kinds:
        target = step.combatants[blow.target]
        less = min(amount, derived.resistance(target, blow.at, kind))
        if less:
            step.change("combatants", target.id, broken=derived.lost(target.broken, blow.at, kind, less))
            step.whisper(
                "wasteland.breaking", f"{target.name}'s protection there is {less} less.", target.id, target=target.id, location=blow.at
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
    if not blow.step.combatants[blow.target].out:
        damage.hit(blow.step, blow.target, blow.at, "radiation", blow.effects, by=blow.by)


def _spread(blow: Blow, effect: Effect) -> None:
    """Each effect is one more hit on the target, for half, anywhere; with `spread_effects` piercing works on it too."""
    half = blow.total // 2 if switch(blow.step, "spread_round") == "down" else -(-blow.total // 2)
    ignore = blow.ignore if switch(blow.step, "spread_effects") else 0
    for _ in range(blow.effects):
        target: Survivor = blow.step.combatants[blow.target]
        if target.out:
            return
        rolled = blow.step.roll(1, 20, purpose="location", actor=blow.by or target.id)
        at = tables.location_of(target.body_type, rolled.faces[0])
        damage.hit(
            blow.step, target.id, at, blow.type, half, by=blow.by, rolls=[fact(rolled)], critical=blow.critical, kinds=blow.kinds,
            ignore=ignore, hard=blow.hard, tranquil=blow.tranquil,
        )  # fmt: skip


def _stun(blow: Blow, effect: Effect) -> None:
    target = blow.step.combatants[blow.target]
    if not target.out:
        blow.step.change("combatants", blow.target, stunned=True)
        blow.step.about(blow.target, "wasteland.stunned", f"{target.name} is stunned.", target=blow.target)


def _freeze(blow: Blow, effect: Effect) -> None:
    """No actions in the next turn when there are as many effects as half of END, of Body for creatures."""
    target: Survivor = blow.step.combatants[blow.target]
    tough = target.beast.body if target.beast is not None else target.special.END
    if not target.out and 2 * blow.effects >= tough:
        blow.step.change("combatants", blow.target, frozen=True)
        blow.step.about(blow.target, "wasteland.frozen", f"{target.name} is frozen stiff.", target=blow.target)


def _persistent(blow: Blow, effect: Effect) -> None:
    """The weapon's damage again at the end of the next turns (switches `persistent_rounds`, `persistent_mode`)."""
    step = blow.step
    target: Survivor = step.combatants[blow.target]
    anew = switch(step, "persistent_mode") == "reroll" and blow.weapon.dice
    if target.out or not (blow.total or anew):
        return
    rounds = blow.effects + (switch(step, "persistent_rounds") == "1+effects")
    kind = effect.type or blow.weapon.type
    encounter = turns.encounter_of(step, target)
    burn = Burn(
        id=step.ident("b"),
        type=kind,
        at=blow.at,
        amount=blow.total,
        rounds=rounds,
        effects=blow.effects,
        dice=blow.weapon.dice,
        by=blow.by,
        fresh=encounter is not None and encounter.current == target.id,
    )
    step.change("combatants", target.id, burns=(*target.burns, burn))
    text = f"{target.name} goes on suffering ({kind}), for {rounds} rounds."
    step.about(target.id, "wasteland.burning", text, target=target.id, damage_type=kind, rounds=rounds)


def others_close(blow: Blow) -> list[Survivor]:
    """Enemies of the attacker in the target's zone, those who still stand first."""
    step = blow.step
    target: Survivor = step.combatants[blow.target]
    attacker = step.combatants.get(blow.by)
    side = attacker.side if attacker is not None else ""
    found = [
        one
        for one in step.combatants.values()
        if one.id not in (blow.by, target.id)
        and (one.scene, one.zone) == (target.scene, target.zone)
        and one.side != side
        and one.kind != "object"
        and not one.out
        and not zones.concealed(step, one)
    ]
    return sorted(found, key=lambda one: not body.able(one))


def jump(blow: Blow, target: Survivor, total: int, kind: str) -> None:
    """The blow goes on to one more target, with a location of its own."""
    rolled = blow.step.roll(1, 20, purpose="location", actor=blow.by or target.id)
    at = tables.location_of(target.body_type, rolled.faces[0])
    text = f"It hits {target.name} too, in the {at}."
    blow.step.about(target.id, f"wasteland.{kind}", text, by=blow.by, target=target.id, at=at, rolls=[fact(rolled)])
    land(Blow(blow.step, blow.by, target.id, blow.weapon, at, total, blow.effects, blow.critical, further=True), [])


def _arc(blow: Blow, effect: Effect) -> None:
    """One more target in Close for each effect, for half rounded up; no ammunition."""
    if not blow.further:
        for other in others_close(blow)[: blow.effects]:
            jump(blow, other, -(-blow.total // 2), "arc")


def _burst(blow: Blow, effect: Effect) -> None:
    """One more target in Close for each effect; each takes one more unit of ammunition."""
    if blow.further:
        return
    for other in others_close(blow)[: blow.effects]:
        if not spend_round(blow.step, blow.by, blow.weapon):
            return
        jump(blow, other, blow.total, "burst")


def spend_round(step: Step, by: str, weapon: Weapon) -> bool:
    """Take one more unit of a weapon's ammunition; False when there is none."""
    attacker = step.combatants.get(by)
    if attacker is None or not weapon.ammo:
        return attacker is not None
    stack = next((one for one in attacker.ammo if one.id == weapon.ammo), None)
    used = weapon.per_shot * max(derived.has(weapon, "ammo_hungry"), 1)
    if stack is None or stack.count < used:
        return False
    left = replace(stack, count=stack.count - used)
    step.change("combatants", by, ammo=tuple(left if one.id == weapon.ammo else one for one in attacker.ammo))
    return True


EFFECTS: Mapping[str, Rule] = {
    "vicious": Rule(before=_vicious),
    "piercing": Rule(before=_piercing),
    "tranquilize": Rule(before=_tranquilize),
    "breaking": Rule(before=_breaking_now, after=_breaking_later),
    "spread": Rule(after=_spread),
    "stun": Rule(after=_stun),
    "freeze": Rule(after=_freeze),
    "persistent": Rule(after=_persistent),
    # Radiation comes after every other damage of the attack to the same target (combat_rules_2d20, "Radiation Damage").
    "radioactive": Rule(after=_radioactive),
    "arc": Rule(after=_arc),
    "burst": Rule(after=_burst),
}
"""Rows in the order in which they apply."""
ORDER = {effect: place for place, effect in enumerate(EFFECTS)}
JUMPS = frozenset({"arc", "burst", "radioactive"})
"""What an immune target does not stop."""


def land(blow: Blow, extra: list[Effect], *, rolls: list[Any] | None = None, fated: bool = False) -> int:
    """What a hit does to its target with all its effects. `extra` are effects beside the weapon's. Returns what was suffered."""
    active: list[Effect] = []
    if blow.effects and (blow.weapon.effects or extra):
        active = sorted((*blow.weapon.effects, *extra), key=lambda one: ORDER[one.id])
        for one in active:
            before = EFFECTS[one.id].before
            # The damage of a further target is worked out already, additions included.
            if before is not None and not (blow.further and not blow.open and one.id == "vicious"):
                before(blow, one)
    step = blow.step
    injuries = len(step.combatants[blow.target].injuries)
    suffered = damage.hit(
        step, blow.target, blow.at, blow.type, blow.total, by=blow.by, ignore=blow.ignore, effects=blow.effects, rolls=rolls,
        critical=blow.critical, kinds=blow.kinds, tranquil=blow.tranquil, fated=fated, hard=blow.hard,
        covered=not blow.open, whole_body=blow.whole,
    )  # fmt: skip
    damage.messy(step, blow.by, blow.target, injuries)
    # Who is immune to a damage suffers nothing of what it does (FACTS A13); it goes on to others.
    immune = bool(active) and all(kind in step.combatants[blow.target].immune for kind in blow.kinds)
    for one in active:
        after = EFFECTS[one.id].after
        if after is not None and not (immune and one.id not in JUMPS):
            after(blow, one)
    return suffered


def strike(
    step: Step,
    by: str,
    target: str,
    weapon: Weapon,
    at: str,
    faces: tuple[int, ...],
    *,
    critical: bool = False,
    extra: list[Effect] | None = None,
    rolls: list[Any] | None = None,
    fated: bool = False,
) -> None:
    """What the damage dice of a hit do. `critical`: the attack roll had a critical success."""
    total, effects = checks.damage(faces, switch(step, "effect_face_damage"))
    land(Blow(step, by, target, weapon, at, total, effects, critical), extra or [], rolls=rolls, fated=fated)
