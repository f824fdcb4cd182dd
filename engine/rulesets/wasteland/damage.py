"""One hit: Damage Resistance and cover at the location, HP, injuries, what an injury does at once, and defeat.

combat_rules_2d20, "Making an Attack" step 4, "Radiation Damage", "Damage and Injury", "Dying", "Cover"; FACTS A1, A2, A11.
What a weapon's effects make of its damage dice is in engine.rulesets.wasteland.effects.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from engine import turns, zones
from engine.rulesets.wasteland import body, checks, derived, perks, saves, tables, telling
from engine.rulesets.wasteland.model import Injury, Survivor
from engine.rulesets.wasteland.pending import Passing
from engine.rulesets.wasteland.switches import switch
from engine.session import Session
from engine.step import Step
from engine.talk import fact

CRITICAL = 5
CRITICAL_BIG = 7
MAX_COVER = 20


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
    kinds: tuple[str, ...] = (),
    covered: bool = True,
    raw: bool = False,
    tranquil: int = 0,
    fated: bool = False,
    hard: bool = False,
    whole_body: bool = False,
) -> int:
    """Damage of one type (or several, `kinds`) to one location: reduced by DR and cover, then suffered. Returns what was suffered.

    `raw` ignores all resistance, `covered` False the cover alone; `whole_body` meets the lowest resistance of all locations. `tranquil`
    is the rating of a tranquilizer, `fated` makes it a critical hit, `hard` its injuries harder to treat; `critical` tells that the
    attack roll had a critical success. Players see dice, total and how the target looks; DR, what got through and HP of others stay
    with the GM and who controls the target.
    """
    target: Survivor = step.combatants[target_id]
    told = list(rolls or [])
    types = kinds or (kind,)
    immune = all(one in target.immune for one in types)
    resisted = 0
    if not raw:
        resisted = derived.bodily_resistance(target, kind) if whole_body else derived.resistance_to(target, at, types)
    cover = 0
    if covered and not immune and amount and target.cover:
        cover = _cover(step, target, at, types, told)
    suffered = 0 if immune else max(amount - max(resisted + cover - ignore, 0), 0)
    before_dr = 0 if immune else amount
    if suffered:
        told += _reopen(step, target, at, by)
        target = step.combatants[target_id]
    wound(step, target, at, kind, suffered, before_dr, critical, tranquil=tranquil, fated=fated, hard=hard)
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


# --- what stands between ---------------------------------------------------------------------------------------------------


def _cover(step: Step, target: Survivor, at: str, kinds: tuple[str, ...], told: list[Any]) -> int:
    """Roll what cover adds to DR; somebody prone rolls dice that show nothing once more (FACTS A5)."""
    dice = max(cover_dice(step, target, at, kind) for kind in kinds)
    if not dice:
        return 0
    rolled = step.roll(dice, 6, purpose="cover", actor=target.id)
    told.append(fact(rolled))
    faces = list(rolled.faces)
    total_counts = switch(step, "cover_dr") == "total"
    if target.prone:
        blank = tuple(i for i, face in enumerate(faces) if not checks.damage((face,))[0 if total_counts else 1])
        if blank:
            again = step.roll(len(blank), 6, purpose="cover.again", actor=target.id, of=rolled.n, positions=blank)
            told.append(fact(again))
            for position, face in zip(blank, again.faces, strict=True):
                faces[position] = face
    total, symbols = checks.damage(faces, switch(step, "effect_face_damage"))
    return total if total_counts else symbols


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


# --- wounds ----------------------------------------------------------------------------------------------------------------


def _reopen(step: Step, s: Survivor, at: str, by: str) -> list[Any]:
    """Damage to a location with a treated injury may open it again (combat_rules_2d20, "Treating An Injury"; switch `reopen_on`)."""
    if not s.injuries or (not by and switch(step, "reopen_on") == "enemy_hit"):
        return []
    place = next((i for i, one in enumerate(s.injuries) if one.at == at and one.treated), None)
    if place is None:
        return []
    rolled = step.roll(1, 6, purpose="reopen", actor=s.id)
    if checks.damage(rolled.faces)[1]:
        opened = replace(s.injuries[place], treated=False)
        step.change("combatants", s.id, injuries=tuple(opened if i == place else one for i, one in enumerate(s.injuries)))
        _consequences(step, s.id, (opened,))
        step.about(s.id, "wasteland.reopened", f"{s.name}'s wound opens again: {at}.", target=s.id, at=at)
    return [fact(rolled)]


def wound(
    step: Step,
    s: Survivor,
    at: str,
    kind: str,
    suffered: int,
    before_dr: int,
    critical: bool,
    *,
    tranquil: int = 0,
    fated: bool = False,
    hard: bool = False,
) -> None:
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
    is_critical = (counted >= critical_at(s) or fated) and (kind != "radiation" or bool(switch(step, "radiation_can_crit")))
    # Also somebody who was stable without a hit point, and is hurt again.
    falls = hp == 0 and not s.dying and not s.out
    if falls and switch(step, "zero_hp_extra") == "crit_success":
        count = 1 + critical
    else:
        count = is_critical + falls
    count += s.dying  # any damage while dying is one more injury
    if count and tranquil:
        _tranquilize(step, s, fields, falls and is_critical, tranquil)
        return
    made: tuple[Injury, ...] = ()
    if count:
        place = at if kind != "radiation" or at in tables.LOCATION_KINDS[s.body_type] else tables.TRUNK[s.body_type]
        one = Injury(at=place, kind=tables.injury_kind(s.body_type, place), hard=hard)  # type: ignore[arg-type]
        made = (one,) * count
        fields["injuries"] = (*s.injuries, *made)
        if s.beast is not None and s.beast.little:
            fields.update(hp=0, dead=True)
            falls = True
    if falls:
        dies = fields.get("dead", False) or (s.tier != "pc" and bool(switch(step, "npcs_die")))
        fields.update(prone=True, dying=not dies, dead=dies, out=dies, unconscious=False, cover="", ready=None, promise=None, guard=0)
    step.change("combatants", s.id, **fields)
    if made:
        _consequences(step, s.id, made)
    if falls:
        _loses_turn(step, s.id)


def _loses_turn(step: Step, combatant_id: str) -> None:
    """Who falls in the own turn has no more of it; once what goes on is done, the turn passes."""
    s: Survivor = step.combatants[combatant_id]
    encounter = turns.encounter_of(step, s)
    if encounter is None or encounter.current != s.id or s.out:
        return
    if any(body.able(step.combatants[one]) for one in encounter.order if one in step.combatants):
        step.push(("encounters", encounter.id), Passing(by=s.id))


def _consequences(step: Step, combatant_id: str, injuries: tuple[Injury, ...]) -> None:
    """What an injury does at once: a leg gives way, a hand lets go, the head swims until after the next turn."""
    for injury in injuries:
        s: Survivor = step.combatants[combatant_id]
        if injury.kind == "leg" and not s.prone:
            step.change("combatants", s.id, prone=True)
        elif injury.kind == "head" and not s.stunned:
            step.change("combatants", s.id, stunned=True)
        elif injury.kind == "arm":
            weapons = body.dropped(s, injury.at)
            if weapons != s.weapons:
                step.change("combatants", s.id, weapons=weapons)


def _tranquilize(step: Step, s: Survivor, fields: dict[str, Any], outright: bool, rating: int) -> None:
    """No injury; instead a test against falling asleep for an hour, failed outright at 0 HP with an injury (FACTS A13)."""
    step.change("combatants", s.id, **fields)
    if outright or fields.get("hp") == 0:
        fall_asleep(step, s.id)
    elif not s.unconscious:
        saves.demand(step, s, saves.ENDURE, rating, then="tranquilize")


def fall_asleep(step: Step, combatant_id: str) -> None:
    """Unconscious for an hour of the fiction clock."""
    s: Survivor = step.combatants[combatant_id]
    step.change("combatants", s.id, unconscious=True, prone=True, wakes=step.table.clock + 60, ready=None, promise=None)
    step.about(s.id, "wasteland.asleep", f"{s.name} falls asleep.", combatant=s.id)
    _loses_turn(step, s.id)


def _after_wound(step: Step, before: Survivor, now: Survivor) -> None:
    for injury in now.injuries[len(before.injuries) :]:
        step.about(now.id, "wasteland.injury", f"{now.name} is injured: {injury.at}.", target=now.id, at=injury.at, kind=injury.kind)
    if (now.dying and not before.dying) or (now.out and not before.out):
        step.about(now.id, "wasteland.down", f"{now.name} is {'dead' if now.dead else 'down'}.", target=now.id, dead=now.dead)


def messy(step: Step, by: str, target_id: str, count: int) -> None:
    """A perk: a critical hit rolls a combat die, and an effect is one more injury anywhere."""
    attacker = step.combatants.get(by)
    target: Survivor = step.combatants[target_id]
    if attacker is None or len(target.injuries) <= count or target.out or not perks.bonus(attacker, "messy"):
        return
    rolled = step.roll(1, 6, purpose="messy", actor=by)
    if checks.damage(rolled.faces)[1]:
        place = step.roll(1, 20, purpose="location", actor=by)
        at = tables.location_of(target.body_type, place.faces[0])
        injury = Injury(at=at, kind=tables.injury_kind(target.body_type, at))  # type: ignore[arg-type]
        step.change("combatants", target_id, injuries=(*target.injuries, injury))
        _consequences(step, target_id, (injury,))
        text = f"{target.name} is injured: {at}."
        step.about(target_id, "wasteland.injury", text, target=target_id, at=at, kind=injury.kind, rolls=[fact(rolled), fact(place)])


def die(step: Step, combatant_id: str, why: str) -> None:
    """Somebody is dead."""
    step.change("combatants", combatant_id, dead=True, out=True, dying=False, burns=(), ready=None, promise=None)
    step.about(combatant_id, "wasteland.down", f"{step.name(combatant_id)} dies: {why}.", target=combatant_id, dead=True)
