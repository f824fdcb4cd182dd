"""Declaring an attack: weapon, target or zone, what it costs, and the ammunition it takes (combat_rules_2d20, "Making An Attack" 1, 2, 5).

From here engine.rulesets.wasteland.assault goes on: who was ready interrupts, then the dice.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from engine import zones
from engine.rejected import Rejected, unknown
from engine.rulesets.wasteland import assault, derived, luck, modifiers, perks, pools, tables, targeting, testflow, turnflow
from engine.rulesets.wasteland.commands import Attack
from engine.rulesets.wasteland.model import Helping, Survivor, Throw, Weapon
from engine.rulesets.wasteland.pending import Assault
from engine.rulesets.wasteland.switches import switch
from engine.session import Scene
from engine.step import Step


def attack(step: Step, command: Attack, *, granted: bool = False, helps: tuple[Helping, ...] = ()) -> None:
    """Choose, pay, and go on to the dice. Raises Rejected, and then nothing was spent and no die drawn.

    `granted`: not the attacker's own turn (readied or commanded), so no action of a turn is used; `helps` assist it.
    """
    by, encounter = turnflow.acting(step, command.combatant, granted=granted)
    if encounter is None:
        raise Rejected("not_now", "Nobody fights here; the GM starts a fight first.")
    weapon = targeting.weapon_of(by, command.weapon)
    thrown = command.throw
    scene = step.scenes[by.scene]
    problem = targeting.why_not_weapon(by, weapon, one_handed=command.one_handed, thrown=thrown)
    if problem:
        raise Rejected("not_now", problem, weapon=weapon.id)
    if targeting.blasts(weapon):
        target, zone = None, _zone(step, scene, by, weapon, command)
        reasons = targeting.blast_reasons(step, scene, by, weapon, zone, one_handed=command.one_handed, granted=granted)
    else:
        target = _target(step, scene, by, weapon, command, granted)
        zone = target.zone
        reasons = targeting.reasons_for(
            step, scene, by, weapon, target, called=command.location, one_handed=command.one_handed, thrown=thrown, granted=granted
        )
    _check(step, by, weapon, target, command)
    difficulty = modifiers.total(reasons)
    pools.refuse_gm_ap(switch(step, "gm_ap_scope"), command.gm_ap, command.dice)
    if command.fated and (by.luck < 1 + command.stacked_deck or not perks.bonus(by, "fated", *targeting.tags_of(weapon, thrown=thrown))):
        raise Rejected("cannot_pay", f"{by.name} cannot make a hit critical for Luck.", pool="luck", cost=1, value=by.luck)
    aim = 0 if granted else targeting.aim_dice(by, weapon)
    spent = _spent(by, weapon, command, zone)
    if not granted:
        cost = turnflow.price(by.turn, "majors")
        cheaper = None if cost is None else targeting.price(by, weapon, cost, thrown=thrown)
        by = turnflow.use(step, by, "majors", gm_ap=command.gm_ap, cost=cheaper, fields=spent, attacked=True)
    elif spent:
        by = step.change("combatants", by.id, **spent)
    automatic = difficulty == 0 and not command.roll
    pair = targeting.pair_of(weapon, thrown=thrown)
    count = 2
    if automatic:
        if command.dice or command.stacked_deck:
            raise Rejected("illegal_choice", "At difficulty 0 nothing is rolled; ask to roll, or buy nothing.", field="dice")
    else:
        if difficulty == 0:
            testflow.may_roll_at_zero(step, False)
        had = pools.value(step, pools.GM)
        count += pools.buy_dice(
            step,
            by,
            command.dice,
            modifiers.free_dice(by, pair.skill),
            gm_ap=command.gm_ap,
            sealed=False,
            cap_includes_perks=bool(switch(step, "bonus_cap_includes_perks")),
        )
        if command.gm_ap and pools.value(step, pools.GM) > had and (by.perks or by.boosts):
            aim += perks.bonus(by, "gm_dice_reroll")
        if command.stacked_deck:
            by = luck.pay(step, step.combatants[by.id], 1, "Stacked Deck")
    sneak = target is not None and target.unaware
    record = Assault(
        stage="declared",
        by=by.id,
        target="" if target is None else target.id,
        weapon=weapon,
        difficulty=difficulty,
        throw=Throw(by=by.id, tn=0, crit=1, faces=(), roll=0, skill=pair.skill),
        range=targeting.complication_range(by, weapon),
        called=command.location,
        extra=command.extra_ammo,
        bonus=2 if sneak and any(one.id == "vicious" for one in weapon.effects) else 0,
        vicious=sneak,
        ap=command.damage_ap,
        gm_ap=command.gm_ap and switch(step, "gm_ap_scope") == "any" and pools.pool_of(by) == pools.GROUP,
        count=count,
        automatic=automatic,
        reasons=reasons,
        lucky=command.stacked_deck,
        aim=aim,
        helps=helps,
        zone=zone if target is None else "",
        more=command.zones,
        pull=command.pull,
        fated=command.fated,
        granted=granted,
        thrown=thrown,
        one_handed=command.one_handed,
        aimed=by.turn.aimed and not granted,
        chain=command.chain,
    )
    assault.begin(step, ("encounters", encounter.id), record)


def _target(step: Step, scene: Scene, by: Survivor, weapon: Weapon, command: Attack, granted: bool) -> Survivor:
    if not command.target:
        raise Rejected("illegal_choice", "Say whom.", field="target")
    if command.zone or command.zones:
        raise Rejected("illegal_choice", f"{weapon.name} is aimed at somebody, not at a place.", field="zone")
    target = turnflow.named(step, command.target, granted=granted)
    problem = targeting.why_not(scene, by, weapon, target, thrown=command.throw)
    if not problem and (zones.in_hidden_place(step, by) or zones.concealed(step, target)):
        raise Rejected("not_now", "Nobody fights from a hidden place, nor against somebody unseen.", target=target.id)
    if problem:
        raise Rejected("no_target" if target.scene != by.scene or target.out else "out_of_range", problem, target=target.id)
    return target


def _zone(step: Step, scene: Scene, by: Survivor, weapon: Weapon, command: Attack) -> str:
    """The zone a blast is aimed at: named, or the target's. Raises Rejected."""
    zone = command.zone
    if command.location:
        raise Rejected("illegal_choice", "A blast hits everybody, anywhere.", field="location")
    if not zone:
        if not command.target:
            raise Rejected("illegal_choice", "Say which zone.", field="zone", known=[one.id for one in scene.zones if not one.hidden])
        target = step.combatant(command.target)
        if target.scene != by.scene:
            raise Rejected("no_target", f"{target.name} is no target here.", target=target.id)
        zone = target.zone
    if zones.in_hidden_place(step, by):
        raise Rejected("not_now", "Nobody fights from a hidden place.", combatant=by.id)
    problem = targeting.why_not_zone(scene, by, weapon, zone)
    if problem:
        raise Rejected("out_of_range", problem, zone=zone)
    if command.zones:
        beside = [other for other, edge in zones.neighbours(scene, zone) if not edge.hidden]
        if not derived.has(weapon, "bombard"):
            raise Rejected("illegal_choice", f"{weapon.name} hits one zone.", field="zones")
        if len(set(command.zones)) != len(command.zones) or any(one not in beside for one in command.zones):
            raise Rejected("out_of_range", "Further zones are different ones that lie next to the first.", known=beside)
        if command.extra_ammo + len(command.zones) > weapon.fire_rate:
            raise Rejected("limit", f"{weapon.name} takes at most {weapon.fire_rate} more shots.", field="zones", limit=weapon.fire_rate)
    return zone


def _check(step: Step, by: Survivor, weapon: Weapon, target: Survivor | None, command: Attack) -> None:
    """What the command asks for fits the weapon and the target. Raises Rejected."""
    if target is not None and command.location:
        known = tables.LOCATION_KINDS[target.body_type]
        if command.location not in known:
            raise unknown("location", command.location, list(known))
    if command.extra_ammo:
        most = targeting.most_extra(by, weapon)
        if command.extra_ammo > most:
            raise Rejected("limit", f"{weapon.name} takes at most {most} more shots.", field="extra_ammo", limit=most)
    wanted = 1 + command.extra_ammo + 2 * len(command.zones)
    left = targeting.shots(by, weapon)
    if left is not None and left < wanted:
        raise Rejected("cannot_pay", f"{weapon.name} has {left} shots left.", pool="ammo", cost=wanted, value=left)
    if targeting.leaves(weapon, thrown=command.throw) and not weapon.count:
        raise Rejected("cannot_pay", f"No {weapon.name} is left.", pool="ammo", cost=1, value=0)
    if command.damage_ap and not targeting.takes_ap(step, by, weapon, extra=command.extra_ammo, thrown=command.throw):
        raise Rejected("illegal_choice", f"Action Points add no damage to {weapon.name}.", field="damage_ap")
    if command.damage_ap is not None and command.damage_ap > tables.MAX_DAMAGE_AP:
        raise Rejected("limit", f"At most {tables.MAX_DAMAGE_AP} Action Points add damage.", field="damage_ap", limit=tables.MAX_DAMAGE_AP)
    if command.pull:
        scene = step.scenes[by.scene]
        beside = [] if target is None else [other for other, edge in zones.neighbours(scene, target.zone) if not edge.hidden]
        if not derived.has(weapon, "wrangle") or command.pull not in beside:
            raise Rejected("illegal_choice", f"{weapon.name} drags nobody there.", field="pull", known=beside)


def _spent(by: Survivor, weapon: Weapon, command: Attack, zone: str) -> dict[str, Any]:
    """Step 5: a shot and every additional one are gone, hit or miss; a thrown weapon leaves the inventory (a blade lies where it fell)."""
    if command.throw and weapon.kind not in tables.THROWN:
        return {"weapons": tuple(replace(one, drawn=False, at=zone) if one.id == weapon.id else one for one in by.weapons)}
    if weapon.kind in tables.THROWN:
        left = replace(weapon, count=weapon.count - 1)
        kept = tuple(left if one.id == weapon.id else one for one in by.weapons)
        return {"weapons": tuple(one for one in kept if one.id != weapon.id or one.count)}
    fields: dict[str, Any] = {}
    if weapon.ammo:
        used = targeting.rounds(weapon) * (1 + command.extra_ammo + 2 * len(command.zones))
        fields["ammo"] = tuple(replace(one, count=one.count - used) if one.id == weapon.ammo else one for one in by.ammo)
    if weapon.qualities and derived.has(weapon, "slow_load"):
        fields["weapons"] = tuple(replace(one, loaded=False) if one.id == weapon.id else one for one in by.weapons)
    return fields
