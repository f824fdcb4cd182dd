"""Making an attack, from the choice of weapon and target to damage and the end of the fight (combat_rules_2d20, "Making an Attack").

An attack stops only where a choice remains: Aim's re-roll, Luck on the d20s, AP for damage, Luck on the damage dice, complications.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from engine import turns, zones
from engine.rejected import Rejected, unknown
from engine.rulesets import Answered
from engine.rulesets.wasteland import checks, complications, damage, derived, luck, modifiers, pools, tables, telling, testflow, turnflow
from engine.rulesets.wasteland.commands import Attack
from engine.rulesets.wasteland.model import Assault, Survivor, Throw, Trouble, Weapon
from engine.rulesets.wasteland.switches import switch
from engine.session import Ints, Scene, Session
from engine.step import Step
from engine.talk import fact

Owner = tuple[str, str]


# --- what can be attacked, and how hard it is --------------------------------------------------------------------------------


def weapon_of(s: Survivor, weapon_id: str) -> Weapon:
    """The weapon meant: named, or the only one in hand. Raises Rejected."""
    held = [one for one in s.weapons if one.drawn]
    if not weapon_id:
        if len(held) != 1:
            raise Rejected("illegal_choice", "Say which weapon.", field="weapon", known=[one.id for one in held])
        return held[0]
    for one in s.weapons:
        if one.id == weapon_id:
            if not one.drawn:
                raise Rejected("not_now", f"{one.name} is not in hand.", weapon=weapon_id)
            return one
    raise unknown("weapon", weapon_id, [one.id for one in held])


def band_to(scene: Scene, by: Survivor, target: Survivor) -> str:
    """The range band of a target; where no way leads it counts as extreme."""
    away = zones.distance(scene, by.zone, target.zone)
    return zones.BANDS[3 if away is None else min(away, 3)]


def why_not(scene: Scene, by: Survivor, weapon: Weapon, target: Survivor) -> str:
    """Why this weapon cannot be used on this target; "" when it can (step 1)."""
    if target.id == by.id or target.out or target.dead or target.scene != by.scene:
        return f"{target.name} is no target here."
    if not zones.sees(scene, by.zone, target.zone) or zones.wholly_covered(scene, target):
        return f"{by.name} cannot see {target.name}."
    if weapon.kind in tables.MELEE:
        return "" if zones.is_near(scene, by.id, target.id) else f"{target.name} is out of reach of {weapon.name}."
    if derived.has(weapon, "limited") and band_to(scene, by, target) != weapon.range:
        return f"{weapon.name} works only at {weapon.range} range."
    return ""


def reasons_for(
    tree: Step | Session, scene: Scene, by: Survivor, weapon: Weapon, target: Survivor, *, called: bool, one_handed: bool
) -> modifiers.Reasons:
    """What the difficulty of an attack is made of (step 2; FACTS A4). The total never falls below 0."""
    found: list[tuple[str, int]] = [("defense", derived.defense(target))]
    melee = weapon.kind in tables.MELEE
    band = band_to(scene, by, target)
    if not melee:
        steps = checks.range_steps(band, weapon.range)
        if steps:
            found.append(("range", steps))
        if not derived.has(weapon, "close_quarters"):
            found += modifiers.in_reach(tree, by)
    if called:
        found.append(("location", 1))
    if one_handed and derived.has(weapon, "two_handed"):
        found.append(("one_handed", 2))
    recoil = derived.has(weapon, "recoil")
    if recoil and by.beast is None and recoil > by.special.STR:
        found.append(("recoil", 1))
    if target.prone:
        found.append(("prone", -1 if band == "close" else 1))
    if target.unaware:
        found.append(("unaware", -1))
    found += modifiers.second_major(tree, by)
    found += modifiers.personal(by, derived.weapon_pair(weapon))
    return tuple(found)


def shots(s: Survivor, weapon: Weapon) -> int | None:
    """How many shots the weapon's ammunition is good for; None when it needs none."""
    if not weapon.ammo:
        return None
    left = next((one.count for one in s.ammo if one.id == weapon.ammo), 0)
    return left // max(weapon.per_shot, 1)


def takes_ap(tree: Step | Session, weapon: Weapon) -> bool:
    """Whether AP add damage dice (combat_rules_2d20, "Increasing Damage"; switch `ap_damage`)."""
    return weapon.kind in tables.MELEE or (weapon.kind in tables.THROWN and switch(tree, "ap_damage") == "melee+thrown")


def damage_dice(by: Survivor, weapon: Weapon, extra: int, ap: int, bonus: int) -> int:
    """The damage dice of a hit: rating, melee bonus, ammunition, AP, and what a sneak attack adds."""
    strong = checks.melee_bonus(by.special.STR) if weapon.kind in tables.MELEE and by.beast is None else 0
    return weapon.dice + strong + extra + ap + bonus


# --- declaring and rolling -----------------------------------------------------------------------------------------------------


def attack(step: Step, command: Attack) -> None:
    """Steps 1, 2 and 5: choose, pay, roll. Raises Rejected, and then nothing was spent and no die drawn."""
    by, encounter = turns.acting(step, command.combatant)
    if encounter is None:
        raise Rejected("not_now", "Nobody fights here; the GM starts a fight first.")
    target: Survivor = step.combatant(command.target)
    weapon = weapon_of(by, command.weapon)
    scene = step.scenes[by.scene]
    problem = why_not(scene, by, weapon, target)
    if not problem and (zones.in_hidden_place(step, by) or zones.concealed(step, target)):
        raise Rejected("not_now", "Nobody fights from a hidden place, nor against somebody unseen.", target=target.id)
    if problem:
        raise Rejected("no_target" if target.scene != by.scene or target.out else "out_of_range", problem, target=target.id)
    _check(step, by, weapon, target, command)
    reasons = reasons_for(step, scene, by, weapon, target, called=bool(command.location), one_handed=command.one_handed)
    difficulty = modifiers.total(reasons)
    pools.refuse_gm_ap(switch(step, "gm_ap_scope"), command.gm_ap, command.dice)
    first = not by.turn.attacked
    spent = _spent(by, weapon, command.extra_ammo)
    by = turnflow.use(step, by, "majors", gm_ap=command.gm_ap, fields=spent, attacked=True)
    pair = derived.weapon_pair(weapon)
    automatic = difficulty == 0 and not command.roll
    if difficulty == 0 and command.roll:
        testflow.may_roll_at_zero(step, False)
    rolls: list[Any] = []
    if automatic:
        if command.dice or command.stacked_deck:
            raise Rejected("illegal_choice", "At difficulty 0 nothing is rolled; ask to roll, or buy nothing.", field="dice")
        throw = Throw(by=by.id, tn=0, crit=1, faces=(), roll=0, skill=pair.skill)
    else:
        extra = pools.buy_dice(
            step,
            by,
            command.dice,
            modifiers.free_dice(by, pair.skill),
            gm_ap=command.gm_ap,
            sealed=False,
            cap_includes_perks=bool(switch(step, "bonus_cap_includes_perks")),
        )
        if command.stacked_deck:
            by = luck.pay(step, step.combatants[by.id], 1, "Stacked Deck")
        rolled = step.roll(2 + extra, 20, purpose="attack", actor=by.id)
        rolls.append(fact(rolled))
        throw = Throw(
            by=by.id,
            tn=derived.target_number(by, pair, lucky=command.stacked_deck),
            crit=derived.crit_face(by, pair, switch(step, "tag_crit"), attack=True),
            faces=rolled.faces,
            roll=rolled.n,
            skill=pair.skill,
        )
    modifiers.spend_once(step, step.combatants[by.id], pair)
    if by.hidden:
        step.change("combatants", by.id, hidden=False)  # an attack gives away where it came from
    at = f" at the {command.location}" if command.location else ""
    text = f"{by.name} attacks {target.name}{at} with {weapon.name}, difficulty {difficulty}"
    if throw.faces:
        text += f": rolls {', '.join(map(str, throw.faces))}"
    data: dict[str, Any] = {
        "by": by.id,
        "target": target.id,
        "weapon": weapon.id,
        "location": command.location,
        "difficulty": difficulty,
        "reasons": [list(one) for one in reasons],
        "faces": list(throw.faces),
        "rolls": rolls,
    }
    # What a stranger's target number is would tell their attributes.
    public = None if telling.is_open(by) or not throw.faces else ("wasteland.attack", f"{text}.", data)
    if throw.faces:
        text += f" against {throw.tn}"
    telling.tell(step, (by.id,), "wasteland.attack", f"{text}.", {**data, "tn": throw.tn, "crit": throw.crit}, public=public)
    sneak = target.unaware
    vicious = any(one.id == "vicious" for one in weapon.effects)
    if sneak:
        step.change("combatants", target.id, unaware=False)
    record = Assault(
        stage="aim",
        by=by.id,
        target=target.id,
        weapon=weapon,
        difficulty=difficulty,
        throw=throw,
        range=checks.widened(1, 1) if derived.has(weapon, "unreliable") else 1,
        called=command.location,
        extra=command.extra_ammo,
        bonus=2 if sneak and vicious else 0,
        vicious=sneak and not vicious,
        ap=command.damage_ap,
        gm_ap=command.gm_ap and switch(step, "gm_ap_scope") == "any" and pools.pool_of(by) == pools.GROUP,
    )
    owner = ("encounters", encounter.id)
    if first and by.turn.aimed and not derived.has(weapon, "inaccurate") and _ask_aim(step, owner, record):
        return
    _luck(step, owner, record)


def _check(step: Step, by: Survivor, weapon: Weapon, target: Survivor, command: Attack) -> None:
    """What the command asks for fits the weapon and the target. Raises Rejected."""
    known = tables.LOCATION_KINDS[target.body_type]
    if command.location and command.location not in known:
        raise unknown("location", command.location, list(known))
    if command.extra_ammo:
        most = weapon.fire_rate if weapon.kind in tables.AMMO_BOOSTED and weapon.ammo else 0
        if command.extra_ammo > most:
            raise Rejected("limit", f"{weapon.name} takes at most {most} more shots.", field="extra_ammo", limit=most)
    left = shots(by, weapon)
    if left is not None and left < 1 + command.extra_ammo:
        raise Rejected("cannot_pay", f"{weapon.name} has {left} shots left.", pool="ammo", cost=1 + command.extra_ammo, value=left)
    if weapon.kind in tables.THROWN and not weapon.count:
        raise Rejected("cannot_pay", f"No {weapon.name} is left.", pool="ammo", cost=1, value=0)
    if command.damage_ap and not takes_ap(step, weapon):
        raise Rejected("illegal_choice", f"Action Points add no damage to {weapon.name}.", field="damage_ap")
    if command.damage_ap is not None and command.damage_ap > tables.MAX_DAMAGE_AP:
        raise Rejected("limit", f"At most {tables.MAX_DAMAGE_AP} Action Points add damage.", field="damage_ap", limit=tables.MAX_DAMAGE_AP)


def _spent(by: Survivor, weapon: Weapon, extra: int) -> dict[str, Any]:
    """Step 5: a shot and every additional one are gone, hit or miss; a thrown weapon leaves the inventory."""
    if weapon.kind in tables.THROWN:
        left = replace(weapon, count=weapon.count - 1)
        kept = tuple(left if one.id == weapon.id else one for one in by.weapons)
        return {"weapons": tuple(one for one in kept if one.id != weapon.id or one.count)}
    if not weapon.ammo:
        return {}
    used = weapon.per_shot * (1 + extra)
    return {"ammo": tuple(replace(one, count=one.count - used) if one.id == weapon.ammo else one for one in by.ammo)}


# --- the stages ----------------------------------------------------------------------------------------------------------------


def _ask_aim(step: Step, owner: Owner, record: Assault) -> bool:
    positions = luck.open_positions(step, record.throw)
    if not positions or luck.silent(step, record.by, "aim"):
        return False
    prompt = step.ask(
        owner,
        step.controller(record.by),
        kind="aim",
        type="wasteland.aim?",
        text=f"{step.name(record.by)} took aim and rolled {', '.join(map(str, record.throw.faces))}. Re-roll one die?",
        choices=[("no", "Keep them"), ("yes", "Re-roll this position (from 0)")],
        default="no",
        never="no",
        ints=Ints(least=1, most=1, low=0, high=len(record.throw.faces) - 1, choice="yes"),
        combatant=record.by,
        faces=list(record.throw.faces),
        positions=list(positions),
        tn=record.throw.tn,
    )
    step.push(owner, replace(record, prompts=(prompt,)))
    return True


def resume(step: Step, owner: Owner, record: Assault, answers: tuple[Answered, ...]) -> None:
    """Go on where the attack stopped, with what was answered."""
    by = step.combatants.get(record.by)
    if by is None:
        over(step, owner)
        return
    given = answers[0] if answers else None
    yes = given is not None and given.choice == "yes"
    positions = given.ints if given is not None else ()
    if record.stage == "aim":
        if yes:
            throw = luck.reroll_d20(step, record.throw, positions, hidden=False, points=0, purpose="attack.again")
            record = replace(record, throw=throw)
        _luck(step, owner, record)
    elif record.stage == "luck":
        if yes:
            throw = luck.reroll_d20(step, record.throw, positions, hidden=False, points=len(positions), purpose="attack.again")
            _luck(step, owner, replace(record, throw=throw))
        else:
            _result(step, owner, record)
    elif record.stage == "ap":
        _damage(step, owner, replace(record, ap=int(given.choice) if given is not None and given.choice.isdigit() else 0))
    elif yes:
        faces, rerolled = luck.reroll_damage(step, by, record.dice, record.roll, record.rerolled, positions)
        _damage_luck(step, owner, replace(record, dice=faces, rerolled=rerolled), [])
    else:
        _strike(step, owner, record, [])


def _luck(step: Step, owner: Owner, record: Assault) -> None:
    prompt = luck.ask_d20(step, owner, record.throw) if record.throw.faces else ""
    if prompt:
        step.push(owner, replace(record, stage="luck", prompts=(prompt,)))
    else:
        _result(step, owner, record)


def _result(step: Step, owner: Owner, record: Assault) -> None:
    """The d20s are final: hit or miss, AP, and the location (step 3)."""
    by, target = step.combatants[record.by], step.combatants.get(record.target)
    scored = checks.successes(record.throw.faces, record.throw.tn, record.throw.crit)
    hits = scored >= record.difficulty
    # A hit without a roll makes no AP: no faces, no successes.
    ap = checks.surplus(scored, record.difficulty) if hits else 0
    pools.gain(step, by, ap)
    name = step.name(record.target)
    data: dict[str, Any] = {"by": by.id, "target": record.target, "successes": scored, "difficulty": record.difficulty, "ap": ap}
    if not hits or target is None or target.out:
        text = f"{by.name} misses {name}: {scored} of {record.difficulty}."
        telling.tell(step, (by.id, record.target), "wasteland.miss", text, data)
        _finish(step, owner, record)
        return
    at = record.called
    rolls: list[Any] = []
    if not at:
        rolled = step.roll(1, 20, purpose="location", actor=by.id)
        rolls = [fact(rolled)]
        at = tables.location_of(target.body_type, rolled.faces[0])
    text = f"{by.name} hits {name} in the {at}: {scored} of {record.difficulty}{f', {ap} AP' if ap else ''}."
    telling.tell(step, (by.id, target.id), "wasteland.struck", text, {**data, "at": at, "rolls": rolls})
    record = replace(record, at=at)
    if record.ap is None and takes_ap(step, record.weapon) and not luck.silent(step, by.id, "damage_ap"):
        most = min(tables.MAX_DAMAGE_AP, pools.value(step, pools.pool_of(by)))
        if most:
            prompt = step.ask(
                owner,
                step.controller(by.id),
                kind="damage_ap",
                type="wasteland.damage_ap?",
                text=f"{by.name} hits. Spend Action Points for one more damage die each?",
                choices=[("0", "None"), *((str(n), f"{n} AP for {n} more") for n in range(1, most + 1))],
                default="0",
                never="0",
                combatant=by.id,
            )
            step.push(owner, replace(record, stage="ap", prompts=(prompt,)))
            return
    _damage(step, owner, record)


def _damage(step: Step, owner: Owner, record: Assault) -> None:
    """Step 4: roll the combat dice."""
    by = step.combatants[record.by]
    ap = record.ap or 0
    if not record.gm_ap:
        ap = min(ap, pools.value(step, pools.pool_of(by)))
    pools.pay(step, by, ap, "more damage", gm_ap=record.gm_ap)
    count = damage_dice(by, record.weapon, record.extra, ap, record.bonus)
    if not count:
        _strike(step, owner, record, [])
        return
    rolled = step.roll(count, 6, purpose="damage", actor=by.id)
    _damage_luck(step, owner, replace(record, ap=ap, dice=rolled.faces, roll=rolled.n), [fact(rolled)])


def _damage_luck(step: Step, owner: Owner, record: Assault, rolls: list[Any]) -> None:
    prompt = luck.ask_damage(step, owner, step.combatants[record.by], record.dice, record.rerolled)
    if not prompt:
        _strike(step, owner, record, rolls)
        return
    if rolls:
        text = f"Damage dice: {', '.join(map(str, record.dice))}."
        step.about(record.by, "wasteland.damage", text, by=record.by, faces=list(record.dice), rolls=rolls)
    step.push(owner, replace(record, stage="damage", prompts=(prompt,)))


def _strike(step: Step, owner: Owner, record: Assault, rolls: list[Any]) -> None:
    target = step.combatants.get(record.target)
    if target is None or target.out:
        text = f"{step.name(record.target)} is not there any more."
        telling.tell(step, (record.by, record.target), "wasteland.gone", text, {"target": record.target})
    else:
        critical = any(face <= record.throw.crit for face in record.throw.faces)
        damage.strike(
            step, record.by, target.id, record.weapon, record.at, record.dice, critical=critical, vicious=record.vicious, rolls=rolls
        )
    _finish(step, owner, record)


def _finish(step: Step, owner: Owner, record: Assault) -> None:
    """The complications of the attack, then the fight may be over."""
    of = (record.by,) * checks.complications(record.throw.faces, record.range)
    if of and complications.ask(step, owner, record.by, of, skill=record.throw.skill, weapon=record.weapon.id):
        return
    target = step.combatants.get(record.target)
    if target is None or target.out:
        over(step, owner)


def trouble_over(step: Step, owner: Owner, record: Trouble, answers: tuple[Answered, ...]) -> None:
    complications.settled(step, record, answers)
    over(step, owner)


def over(step: Step, owner: Owner) -> None:
    """End the fight when only one side can still act."""
    encounter = step.encounters.get(owner[1])
    if encounter is None:
        return
    sides = sorted({step.combatants[one].side for one in encounter.order if turns.can_act(step, one)})
    if len(sides) > 1:
        return
    winner = sides[0] if sides else ""
    turns.finish(step, encounter.id, f"The fight is over: {winner or 'nobody'} stands.", side=winner)
    pools.trim(step)
