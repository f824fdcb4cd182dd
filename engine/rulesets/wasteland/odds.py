"""Exact odds of an attack or a test as it would be rolled now, through the sight of the seat that asks.

Where the seat does not know the target's Damage Resistance and HP, damage is told before resistance and nothing is said of injury or
defeat. Aim is taken as its owner would use it: a failed die is rolled again, one with a complication first; Luck is not spent.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import Any

from engine import odds as o
from engine import testlife, zones
from engine.odds import Dist, Odds, OddsPart
from engine.rejected import Rejected, unknown
from engine.rulesets import Ruleset
from engine.rulesets.wasteland import body, checks, damage, derived, modifiers, pools, tables, targeting, testflow, turnflow, views
from engine.rulesets.wasteland.commands import Attack, RollTest
from engine.rulesets.wasteland.hurt import MOST_DICE, MOST_SPREAD_DICE, Place, Target, hurt, raw
from engine.rulesets.wasteland.model import Frame, Pair, Result, Survivor, Weapon
from engine.rulesets.wasteland.switches import switch
from engine.session import Scene, Session, Test
from engine.sight import Sight, sight_of, unseen

Count = tuple[int, ...]
"""(successes, complications) of a pool."""


def odds(rules: Ruleset, session: Session, seat_id: str, command: Any) -> Odds:
    """The odds of an `attack` or a `test.roll`. Raises Rejected for anything else, and for what the command itself could not name."""
    sight = sight_of(session, seat_id)
    lost = frozenset(unseen(rules, session, sight))
    if isinstance(command, Attack):
        return _attack(session, sight, lost, command)
    if isinstance(command, RollTest):
        return _test(session, sight, command)
    raise Rejected("bad_command", "This command has no odds.")


# --- d20 pools -----------------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=512)
def count(n: int, tn: int, crit: int, low: int) -> Dist[Count]:
    """(successes, complications) of `n` d20s."""
    return o.pool(n, {face: _worth(face, tn, crit, low) for face in range(1, 21)})


def _worth(face: int, tn: int, crit: int, low: int) -> Count:
    return (checks.successes((face,), tn, crit), int(face >= low))


@lru_cache(maxsize=256)
def aimed(n: int, tn: int, crit: int, low: int, again: int = 1) -> Dist[Count]:
    """The same when up to `again` failed dice are rolled again, those with a complication first; with no failed die all are kept."""

    def told(face: int) -> Count:
        scored, bad = _worth(face, tn, crit, low)
        return (scored, bad, int(not scored and not bad), int(not scored and bool(bad)))

    def after(outcome: Count) -> Dist[Count]:
        scored, bad, plain, worse = outcome
        taken = min(again, plain + worse)
        if not taken:
            return o.constant((scored, bad))
        kept = bad - min(taken, worse)
        return count(taken, tn, crit, low).map(lambda new: (scored + new[0], kept + new[1]))

    whole: Dist[Count] = o.pool(n, {face: told(face) for face in range(1, 21)})
    return whole.then(after)


def _with_help(lead: Dist[Count], helpers: list[Dist[Count]], gate: bool) -> Dist[Count]:
    """(successes, complications) with helpers, who count only behind a leader that scored."""
    found = lead
    if not helpers:
        return found
    helped = helpers[0]
    for one in helpers[1:]:
        helped = helped + one
    return o.product(lead, helped, lambda a, b: (checks.with_help(a[0], (b[0],), gate), a[1] + b[1]))


def _at_least(dist: Dist[Count], successes: int) -> Fraction:
    return dist.p(lambda one: one[0] >= successes)


def _parts(dist: Dist[Count], difficulty: int) -> tuple[Fraction, list[OddsPart]]:
    """P(success) and what it and its surplus are told as."""
    passed = _at_least(dist, difficulty)
    parts = [o.part("success", "succeeds", passed)]
    most = max(one[0] for one, _ in dist) - difficulty
    for ap in range(1, min(most, 6) + 1):
        parts += [o.part(f"ap_{ap}", f"gains {ap} Action Points or more", _at_least(dist, difficulty + ap))]
    parts.append(o.part("complication", "has a complication", dist.p(lambda one: one[1] > 0)))
    parts.append(o.part("complications_2", "has two complications or more", dist.p(lambda one: one[1] > 1)))
    return passed, parts


# --- attacks -------------------------------------------------------------------------------------------------------------------


def _attack(session: Session, sight: Sight, lost: frozenset[str], command: Attack) -> Odds:
    by = _actor(session, sight, command.combatant)
    target = session.combatants.get(command.target)
    if target is None or target.id in lost:
        raise unknown("combatant", command.target)
    weapon = targeting.weapon_of(by, command.weapon)
    scene = session.scenes.get(by.scene)
    problem = "They are in no scene." if scene is None else targeting.why_not(scene, by, weapon, target, thrown=command.throw)
    if scene is None or problem:
        raise Rejected("out_of_range", problem, target=target.id)
    if targeting.blasts(weapon):
        raise Rejected("bad_command", "A blast has no odds: it hurts everybody there.")
    known = tables.LOCATION_KINDS[target.body_type]
    if command.location and command.location not in known:
        raise unknown("location", command.location, list(known))
    reasons = targeting.reasons_for(
        session, scene, by, weapon, target, called=command.location, one_handed=command.one_handed, thrown=command.throw
    )
    difficulty = modifiers.total(reasons)
    pair = targeting.pair_of(weapon, thrown=command.throw)
    dist: Dist[Count] = o.constant((0, 0))
    if difficulty or command.roll:
        n = 2 + _bought(session, by, command.dice, modifiers.free_dice(by, pair.skill))
        tn = derived.target_number(by, pair, lucky=command.stacked_deck)
        crit = derived.crit_face(by, pair, switch(session, "tag_crit"), attack=True)
        low = checks.lowest_complication(targeting.complication_range(by, weapon))
        again = targeting.aim_dice(by, weapon)
        dist = aimed(n, tn, crit, low, again) if again else count(n, tn, crit, low)
        helpers = [
            count(1, derived.target_number(one, one.promise.pair), _crit(session, one, one.promise.pair), 20)
            for one in session.combatants.values()
            if body.stands_by(session, one, by.id)
        ]
        dist = _with_help(dist, helpers, bool(switch(session, "assist_gate")))
    passed, parts = _parts(dist, difficulty)
    left = pools.value(session, pools.pool_of(by)) - (turnflow.price(by.turn, "majors") or 0) - checks.dice_price(min(command.dice, 3))
    chances: dict[int, int] = {}
    for (scored, _), weight in dist:
        if scored >= difficulty:
            ap = min(command.damage_ap or 0, max(left, 0) + scored - difficulty)
            chances[ap] = chances.get(ap, 0) + weight
    known_target = views.grade(target, sight) == "full"
    bonus = 2 if target.unaware and any(one.id == "vicious" for one in weapon.effects) else 0
    effects = (*weapon.effects, *targeting.extra_effects(by, weapon, target, sneak=target.unaware, aimed=by.turn.aimed))
    extra = min(command.extra_ammo, weapon.fire_rate)
    if not chances:
        return Odds(type="wasteland.attack", text=f"difficulty {difficulty}", parts=tuple(parts))
    sizes = [(weight, targeting.damage_dice(by, weapon, extra, ap, bonus, thrown=command.throw)) for ap, weight in chances.items()]
    most = MOST_SPREAD_DICE if any(one.id == "spread" for one in weapon.effects) else MOST_DICE
    if max(size for _, size in sizes) > most:
        raise Rejected("limit", f"Odds are told for up to {most} such damage dice.", limit=most)
    face_damage = int(switch(session, "effect_face_damage"))
    if not known_target:
        total = o.mix((weight, raw(size, effects, False, face_damage)) for weight, size in sizes)
        return Odds(
            type="wasteland.attack",
            text=f"difficulty {difficulty}; damage of a hit before resistance",
            parts=tuple(parts),
            damage=o.damage_table(total),
        )
    wanted = target_of(session, scene, target, weapon, command.location)
    whole = o.mix((weight, hurt(size, weapon.type, effects, False, face_damage, wanted)) for weight, size in sizes)
    full = derived.max_hp(target)
    little = target.beast is not None and target.beast.little
    calms = any(one.id == "tranquilize" for one in weapon.effects)

    def falls(one: Count) -> bool:
        return one[0] >= target.hp or (one[2] > 0 and one[2] >= full) or (little and one[1] > 0 and not calms)

    defeat = whole.p(falls)
    injury = whole.p(lambda one: one[1] > 0 or falls(one))
    if not calms and not target.dying:
        parts.append(o.part("injury", "injures", passed * injury))
    parts.append(o.part("defeat", "takes the target out", passed * defeat))
    return Odds(
        type="wasteland.attack",
        text=f"difficulty {difficulty}; damage of a hit after resistance",
        parts=tuple(parts),
        damage=o.damage_table(whole.map(lambda one: one[0] + one[2])),
    )


def _actor(session: Session, sight: Sight, combatant_id: str) -> Survivor:
    if not combatant_id:
        mine = [e.current for e in session.encounters.values() if e.current and (sight.role == "gm" or e.current in sight.controls)]
        combatant_id = mine[0] if len(mine) == 1 else ""
    by: Survivor | None = session.combatants.get(combatant_id)
    if by is None or (sight.role != "gm" and by.id not in sight.controls):
        # Other people's figures are not told through odds either.
        raise Rejected("not_yours", "Odds are told for your own.", combatant=combatant_id)
    return by


def _bought(session: Session, s: Survivor, dice: int, free: int) -> int:
    capped = bool(switch(session, "bonus_cap_includes_perks"))
    free = min(free, tables.MAX_BONUS_DICE)
    most = tables.MAX_BONUS_DICE - free if capped else tables.MAX_BONUS_DICE
    return free + min(dice, most)


def target_of(session: Session, scene: Scene, target: Survivor, weapon: Weapon, called: str) -> Target:
    """What of a target decides how much of a hit gets through."""
    cover = zones.cover_of(scene, target)
    kinds = derived.kinds_of(weapon)
    places = []
    low = 1
    for top, at, _ in tables.LOCATIONS[target.body_type]:
        covered = max(damage.cover_dice(session, target, at, kind) for kind in kinds)
        radiation_cover = damage.cover_dice(session, target, at, "radiation")
        places.append(
            Place(
                weight=top - low + 1,
                dr=derived.resistance_to(target, at, kinds),
                radiation_dr=derived.resistance(target, at, "radiation"),
                cover=covered,
                radiation_cover=radiation_cover,
                called=at == called,
            )
        )
        low = top + 1
    return Target(
        places=tuple(places),
        cover=0 if cover is None else cover.value,
        immune=all(kind in target.immune for kind in kinds),
        radiation_immune="radiation" in target.immune,
        critical=damage.critical_at(target),
        after_dr=bool(switch(session, "crit_after_dr")),
        radiation_can_crit=bool(switch(session, "radiation_can_crit")),
        cover_total=switch(session, "cover_dr") == "total",
        breaking=str(switch(session, "breaking")) if switch(session, "breaking_timing") == "immediate" else "",
        carry=bool(switch(session, "breaking_carry")),
        prone=target.prone,
        spread_up=switch(session, "spread_round") == "up",
        spread_pierces=bool(switch(session, "spread_effects")),
    )


# --- tests ---------------------------------------------------------------------------------------------------------------------


def _test(session: Session, sight: Sight, command: RollTest) -> Odds:
    test: Test | None = session.tests.get(command.test)
    if test is None or not isinstance(test.frame, Frame):
        raise unknown("test", command.test)
    record: Frame = test.frame
    if test.hidden and sight.role != "gm" and not any(one in sight.controls for one in testlife.participants(test)):
        raise unknown("test", command.test)
    who = command.combatant or test.by
    s = _actor(session, sight, who)
    lead = who == test.by
    if not lead and who != record.opponent:
        raise Rejected("illegal_choice", "They do not roll this test.", combatant=who)
    pair = record.pair if lead or record.against is None else record.against
    low = checks.lowest_complication(record.range)
    n = 2 + _bought(session, s, command.dice, modifiers.free_dice(s, pair.skill) + (record.dice if lead else 0))
    dist = count(n, derived.target_number(s, pair, lucky=command.stacked_deck), _crit(session, s, pair), low)
    result: Result = test.result or Result()
    if not lead:
        parts = [o.part(f"successes_{k}", f"scores {k} or more", _at_least(dist, k)) for k in range(1, 6)]
        return Odds(type="wasteland.test", text="the opposing side's successes", parts=tuple(parts))
    if record.opponent and not result.opposition:
        raise Rejected("not_now", "The opposing side has not rolled; what it scores is the difficulty.", test=test.id)
    difficulty, _ = testflow.difficulty_of(session, test, s)
    if difficulty == 0 and not command.roll and record.then != "rally":
        return Odds(
            type="wasteland.test", text="difficulty 0, succeeds without a roll", parts=(o.part("success", "succeeds", Fraction(1)),)
        )
    pairs = dict.fromkeys(record.group, record.pair)
    pairs.update({one.combatant: one.how for one in test.helpers})
    pairs.update({one.id: one.promise.pair for one in session.combatants.values() if body.stands_by(session, one, test.by)})
    helpers = []
    for one, how in pairs.items():
        helper = session.combatants.get(one)
        if helper is not None and body.able(helper):
            helpers.append(count(1, derived.target_number(helper, how), _crit(session, helper, how), low))
    _, parts = _parts(_with_help(dist, helpers, bool(switch(session, "assist_gate"))), difficulty)
    return Odds(type="wasteland.test", text=f"difficulty {difficulty}", parts=tuple(parts))


def _crit(session: Session, s: Survivor, pair: Pair) -> int:
    return derived.crit_face(s, pair, switch(session, "tag_crit"))
