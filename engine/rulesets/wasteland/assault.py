"""An attack after it is declared: interruptions, the d20s, the location, damage dice, complications.

combat_rules_2d20, "Making An Attack".

It stops only where a choice remains: a readied action, a parry, Aim's re-roll, Luck on the d20s, AP for damage, re-rolls of damage dice,
complications.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from engine.rulesets import Answered
from engine.rulesets.wasteland import (
    body,
    charges,
    checks,
    complications,
    derived,
    ending,
    impact,
    luck,
    modifiers,
    perks,
    pools,
    ready,
    tables,
    targeting,
    telling,
)
from engine.rulesets.wasteland.model import Helping, Survivor, Throw
from engine.rulesets.wasteland.pending import Assault, Trouble
from engine.rulesets.wasteland.switches import switch
from engine.session import Ints
from engine.step import Step
from engine.talk import fact

Owner = tuple[str, str]
PARRY = 1


def begin(step: Step, owner: Owner, record: Assault) -> None:
    """The attack is declared and paid for: who is ready for it comes first."""
    by = step.combatants[record.by]
    target = step.combatants.get(record.target)
    if by.hidden:
        step.change("combatants", by.id, hidden=False)  # an attack gives away where it came from
    if target is not None and not target.shot_at and _lays(target):
        step.change("combatants", target.id, shot_at=True)
    waiting = ready.waiting(step, "attacks", by)
    if waiting:
        name = target.name if target is not None else "everything there"
        data: dict[str, Any] = {"by": by.id, "target": record.target, "weapon": record.weapon.id}
        telling.tell(step, (by.id, record.target), "wasteland.declared", f"{by.name} is about to attack {name}.", data)
        step.push(owner, record)
        ready.interrupt(step, owner, waiting, by.id)
        return
    _parry(step, owner, record)


def _lays(s: Survivor) -> bool:
    """Whether somebody carries charges: being attacked makes it harder to lay one, and matters for nothing else."""
    return any(one.id in ("placed", "mine") for weapon in s.weapons for one in weapon.qualities)


def _recheck(step: Step, record: Assault) -> Assault | None:
    """What an interruption left of an attack: None when it cannot be made any more, else with the difficulty as it is now."""
    by: Survivor = step.combatants[record.by]
    scene = step.scenes.get(by.scene)
    if scene is None or not body.able(by):
        return None
    thrown, one_handed = record.thrown, record.one_handed
    if record.zone:
        if targeting.why_not_zone(scene, by, record.weapon, record.zone):
            return None
        reasons = targeting.blast_reasons(step, scene, by, record.weapon, record.zone, one_handed=one_handed, granted=True)
    else:
        target = step.combatants.get(record.target)
        if target is None or targeting.why_not(scene, by, record.weapon, target, thrown=thrown):
            return None
        reasons = targeting.reasons_for(
            step, scene, by, record.weapon, target, called=record.called, one_handed=one_handed, thrown=thrown, granted=True
        )
    kept = tuple(one for one in record.reasons if one[0] == "second_major")
    reasons = (*reasons, *kept)
    difficulty = modifiers.total(reasons)
    return replace(record, reasons=reasons, difficulty=difficulty, automatic=record.automatic and difficulty == 0)


def _parry(step: Step, owner: Owner, record: Assault) -> None:
    """A weapon with parry turns a melee attack aside for 1 AP: +1 Defense against it (FACTS A14)."""
    target = step.combatants.get(record.target)
    if target is not None and record.weapon.kind in tables.MELEE and not record.thrown and not record.automatic:
        guards = [one for one in target.weapons if one.drawn and one.qualities and derived.has(one, "parry")]
        if guards and body.able(target) and pools.value(step, pools.pool_of(target)) >= PARRY:
            prompt = step.ask(
                owner,
                step.controller(target.id),
                kind="parry",
                type="wasteland.parry?",
                text=f"{target.name} is attacked. Parry with {guards[0].name} for 1 Action Point?",
                choices=[("no", "No"), ("yes", "Parry: 1 harder to hit")],
                default="no",
                always="yes",
                never="no",
                combatant=target.id,
            )
            step.push(owner, replace(record, stage="parry", prompts=(prompt,)))
            return
    _throw(step, owner, record)


def _throw(step: Step, owner: Owner, record: Assault) -> None:
    """Step 2: roll the d20s, and those of who assists."""
    by: Survivor = step.combatants[record.by]
    target: Survivor | None = step.combatants.get(record.target)
    skill = record.throw.skill
    pair = targeting.pair_of(record.weapon, thrown=record.thrown)
    throw = record.throw
    rolls: list[Any] = []
    helpers: list[Throw] = []
    if not record.automatic:
        rolled = step.roll(record.count, 20, purpose="attack", actor=by.id)
        rolls.append(fact(rolled))
        throw = Throw(
            by=by.id,
            tn=derived.target_number(by, pair, lucky=record.lucky),
            crit=derived.crit_face(by, pair, switch(step, "tag_crit"), attack=True),
            faces=rolled.faces,
            roll=rolled.n,
            skill=skill,
        )
        helpers += [_assist(step, one, rolls) for one in (*record.helps, *promised(step, by.id))]
    modifiers.spend_once(step, step.combatants[by.id], pair)
    place = step.scenes[by.scene].zone(record.zone)
    name = target.name if target is not None else place.name if place is not None else record.zone
    at = f" at the {record.called}" if record.called else ""
    text = f"{by.name} attacks {name}{at} with {record.weapon.name}, difficulty {record.difficulty}"
    if throw.faces:
        text += f": rolls {', '.join(map(str, throw.faces))}"
    data: dict[str, Any] = {
        "by": by.id,
        "target": record.target,
        "weapon": record.weapon.id,
        "location": record.called,
        "difficulty": record.difficulty,
        "reasons": [list(one) for one in record.reasons],
        "faces": list(throw.faces),
        "rolls": rolls,
    }
    if record.zone:
        data["zone"] = record.zone
    if helpers:
        data["helpers"] = [{"by": one.by, "faces": list(one.faces)} for one in helpers]
    # What a stranger's target number is would tell their attributes.
    public = None if telling.is_open(by) or not throw.faces else ("wasteland.attack", f"{text}.", data)
    if throw.faces:
        text += f" against {throw.tn}"
    telling.tell(step, (by.id,), "wasteland.attack", f"{text}.", {**data, "tn": throw.tn, "crit": throw.crit}, public=public)
    _noticed(step, by, record)
    aim = record.aim
    if target is not None:
        aim += _marked(step, by, target)
    record = replace(record, stage="aim", throw=throw, helpers=tuple(helpers), aim=aim)
    if aim and throw.faces and _ask_aim(step, owner, record):
        return
    _luck(step, owner, record)


def promised(step: Step, ally: str) -> list[Helping]:
    """Those who promised to assist somebody's next test, which this is: their promises are kept."""
    found = [Helping(combatant=one.id, how=one.promise.pair) for one in step.combatants.values() if body.stands_by(step, one, ally)]
    for helping in found:
        step.change("combatants", helping.combatant, promise=None)
    return found


def _assist(step: Step, helping: Helping, rolls: list[Any]) -> Throw:
    helper: Survivor = step.combatants[helping.combatant]
    pair = helping.how
    rolled = step.roll(1, 20, purpose="assist", actor=helper.id)
    rolls.append(fact(rolled))
    return Throw(
        by=helper.id,
        tn=derived.target_number(helper, pair),
        crit=derived.crit_face(helper, pair, switch(step, "tag_crit")),
        faces=rolled.faces,
        roll=rolled.n,
        role="help",
        skill=pair.skill,
    )


def _marked(step: Step, by: Survivor, target: Survivor) -> int:
    """An ally's aim with a recon weapon marked the target: one die may be rolled again (FACTS A14)."""
    for one in step.combatants.values():
        if one.mark == target.id and one.id != by.id and one.side == by.side:
            step.change("combatants", one.id, mark="")
            return 1
    return 0


def _noticed(step: Step, by: Survivor, record: Assault) -> None:
    """An attack wakes everybody who was not aware; a suppressed one only its target and who hears it with PER + Survival, D2."""
    target = step.combatants.get(record.target)
    if target is not None and target.unaware:
        step.change("combatants", target.id, unaware=False)
    quiet = record.weapon.qualities and derived.has(record.weapon, "suppressed")
    for one in list(step.combatants.values()):
        if not one.unaware or one.scene != by.scene or one.side == by.side or one.id == record.target:
            continue
        if quiet:
            pair = checks.NOTICE
            rolled = step.roll(2, 20, purpose="notice", actor=one.id, hidden=True)
            tn, crit = derived.target_number(one, pair), derived.crit_face(one, pair, switch(step, "tag_crit"))
            if checks.successes(rolled.faces, tn, crit) < checks.NOTICE_DIFFICULTY:
                continue
        step.change("combatants", one.id, unaware=False)


# --- the stages ----------------------------------------------------------------------------------------------------------------


def _ask_aim(step: Step, owner: Owner, record: Assault) -> bool:
    positions = luck.open_positions(step, record.throw)
    if not positions or luck.silent(step, record.by, "aim"):
        return False
    most = min(record.aim, len(positions))
    prompt = step.ask(
        owner,
        step.controller(record.by),
        kind="aim",
        type="wasteland.aim?",
        text=f"{step.name(record.by)} took aim and rolled {', '.join(map(str, record.throw.faces))}. Re-roll {most}?",
        choices=[("no", "Keep them"), ("yes", "Re-roll these positions (from 0)")],
        default="no",
        never="no",
        ints=Ints(least=1, most=most, low=0, high=len(record.throw.faces) - 1, choice="yes"),
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
        ending.over(step, owner[1])
        return
    given = answers[0] if answers else None
    yes = given is not None and given.choice == "yes"
    positions = given.ints if given is not None else ()
    record = replace(record, prompts=())
    if record.stage == "declared":
        left = _recheck(step, record)
        if left is None:
            _gone(step, record)
            ending.over(step, owner[1])
        else:
            _parry(step, owner, left)
    elif record.stage == "parry":
        target = step.combatants.get(record.target)
        if yes and target is not None and pools.value(step, pools.pool_of(target)) >= PARRY:
            pools.pay(step, target, PARRY, "a parry")
            record = replace(record, difficulty=record.difficulty + 1, reasons=(*record.reasons, ("parry", 1)))
        _throw(step, owner, record)
    elif record.stage == "aim":
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
    elif record.stage == "free":
        if yes:
            faces, rerolled = luck.reroll_damage(step, by, record.dice, record.roll, record.rerolled, positions, free=True)
            record = replace(record, dice=faces, rerolled=rerolled)
            if perks.bonus(by, "damage_reroll", "fresh"):
                by = step.combatants[by.id]
                step.change("combatants", by.id, used=(*by.used, "damage_reroll"))
        _damage_luck(step, owner, record, [])
    elif yes:
        faces, rerolled = luck.reroll_damage(step, by, record.dice, record.roll, record.rerolled, positions)
        _damage_luck(step, owner, replace(record, dice=faces, rerolled=rerolled), [])
    else:
        impact.strike(step, owner, record, [])


def _gone(step: Step, record: Assault) -> None:
    text = f"{step.name(record.by)}'s attack comes to nothing."
    telling.tell(step, (record.by, record.target), "wasteland.gone", text, {"by": record.by, "target": record.target})


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
    if record.helpers:
        helped = (checks.successes(one.faces, one.tn, one.crit) for one in record.helpers)
        scored = checks.with_help(scored, helped, bool(switch(step, "assist_gate")))
    hits = scored >= record.difficulty
    # A hit without a roll makes no AP: no faces, no successes.
    ap = checks.surplus(scored, record.difficulty) if hits else 0
    pools.gain(step, by, ap)
    data: dict[str, Any] = {"by": by.id, "target": record.target, "successes": scored, "difficulty": record.difficulty, "ap": ap}
    if record.zone:
        data["zone"] = record.zone
        text = (
            f"{by.name}'s {record.weapon.name} {'goes off where it should' if hits else 'goes off badly'}: {scored} of {record.difficulty}."
        )
        telling.tell(step, (by.id,), "wasteland.struck" if hits else "wasteland.miss", text, data)
        _ap(step, owner, replace(record, failed=not hits))
        return
    name = step.name(record.target)
    if not hits or target is None or target.out:
        text = f"{by.name} misses {name}: {scored} of {record.difficulty}."
        telling.tell(step, (by.id, record.target), "wasteland.miss", text, data)
        impact.finish(step, owner, record)
        return
    at = record.called
    rolls: list[Any] = []
    if not at:
        rolled = step.roll(1, 20, purpose="location", actor=by.id)
        rolls = [fact(rolled)]
        at = tables.location_of(target.body_type, rolled.faces[0])
    text = f"{by.name} hits {name} in the {at}: {scored} of {record.difficulty}{f', {ap} AP' if ap else ''}."
    telling.tell(step, (by.id, target.id), "wasteland.struck", text, {**data, "at": at, "rolls": rolls})
    _ap(step, owner, replace(record, at=at))


def _ap(step: Step, owner: Owner, record: Assault) -> None:
    by = step.combatants[record.by]
    if (
        record.ap is None
        and not record.failed
        and targeting.takes_ap(step, by, record.weapon, extra=record.extra, thrown=record.thrown)
        and not (record.granted and not record.aimed and record.weapon.kind not in (*tables.MELEE, *tables.THROWN))
        and not luck.silent(step, by.id, "damage_ap")
    ):
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
    """Step 4: roll the combat dice; a blast that failed rolls half of them (rounded down)."""
    by = step.combatants[record.by]
    ap = record.ap or 0
    if record.failed:
        ap = 0
    if not record.gm_ap:
        ap = min(ap, pools.value(step, pools.pool_of(by)))
    pools.pay(step, by, ap, "more damage", gm_ap=record.gm_ap)
    count = targeting.damage_dice(by, record.weapon, record.extra, ap, record.bonus, thrown=record.thrown)
    if record.failed:
        count //= 2
    if derived.has(record.weapon, "delay"):
        charges.lay(step, by, record.weapon, record.zone or step.combatants[record.target].zone, count, blunt=record.failed)
        impact.finish(step, owner, record)
        return
    if not count:
        impact.strike(step, owner, record, [])
        return
    rolled = step.roll(count, 6, purpose="damage", actor=by.id)
    record = replace(record, ap=ap, dice=rolled.faces, roll=rolled.n)
    if (by.perks or by.boosts) and _ask_free(step, owner, record, fact(rolled)):
        return
    _damage_luck(step, owner, record, [fact(rolled)])


def _ask_free(step: Step, owner: Owner, record: Assault, rolled: Any) -> bool:
    """A perk re-rolls damage dice without Luck."""
    by = step.combatants[record.by]
    fresh = "used" if "damage_reroll" in by.used else "fresh"
    most = min(perks.bonus(by, "damage_reroll", fresh, "more_ammo" if record.extra else "one_shot"), len(record.dice))
    if most <= 0 or luck.silent(step, by.id, "damage_free"):
        return False
    text = f"Damage dice: {', '.join(map(str, record.dice))}."
    step.about(by.id, "wasteland.damage", text, by=by.id, faces=list(record.dice), rolls=[rolled])
    prompt = step.ask(
        owner,
        step.controller(by.id),
        kind="damage_free",
        type="wasteland.damage_free?",
        text=f"{by.name} rolled {', '.join(map(str, record.dice))} for damage. Re-roll up to {most} of them?",
        choices=[("no", "Keep them"), ("yes", "Re-roll these positions (from 0)")],
        default="no",
        never="no",
        ints=Ints(least=1, most=most, low=0, high=len(record.dice) - 1, choice="yes"),
        combatant=by.id,
        faces=list(record.dice),
        positions=list(range(len(record.dice))),
    )
    step.push(owner, replace(record, stage="free", prompts=(prompt,)))
    return True


def _damage_luck(step: Step, owner: Owner, record: Assault, rolls: list[Any]) -> None:
    prompt = luck.ask_damage(step, owner, step.combatants[record.by], record.dice, record.rerolled)
    if not prompt:
        impact.strike(step, owner, record, rolls)
        return
    if rolls:
        text = f"Damage dice: {', '.join(map(str, record.dice))}."
        step.about(record.by, "wasteland.damage", text, by=record.by, faces=list(record.dice), rolls=rolls)
    step.push(owner, replace(record, stage="damage", prompts=(prompt,)))


def trouble_over(step: Step, owner: Owner, record: Trouble, answers: tuple[Answered, ...]) -> None:
    complications.settled(step, record, answers)
    ending.over(step, owner[1])
