"""What clients are told under skirmish: views of models, options and odds."""

from __future__ import annotations

from typing import Any

import msgspec

from engine import odds as o
from engine import turns, zones
from engine.odds import Odds
from engine.options import Cost, Option, Param, Value
from engine.rejected import Rejected, unknown
from engine.rulesets.skirmish import attack, checks, ground, harm, pools
from engine.rulesets.skirmish.commands import Attack, RollTest
from engine.rulesets.skirmish.model import Model, Weapon
from engine.rulesets.skirmish.switches import DASH, MOVE
from engine.session import Encounter, Seat, Session
from engine.sight import sight_of, unseen

PLACE = ("id", "name", "kind", "side", "scene", "zone", "cover", "out", "reach")
PUBLIC = ("harm", "injuries", "state")
OWN = ("hidden", "harm_limit", "fatigue", "rerolls", "acted", "moved", "chosen")


def view(model: Model, grade: Any) -> dict[str, Any]:
    shown: dict[str, Any] = {name: getattr(model, name) for name in (*PLACE, *PUBLIC)}
    if grade == "full":
        shown.update({name: getattr(model, name) for name in OWN})
        shown["special"] = {letter: model.special.value(letter) for letter in "SPECIAL"}
        shown["weapons"] = [msgspec.to_builtins(one) for one in model.weapons]
    else:
        shown["weapons"] = [{"id": one.id, "name": one.name} for one in model.weapons]
    return shown


# --- options ---------------------------------------------------------------------------------------------------------------


def options(rules: Any, session: Session, seat_id: str) -> list[Option]:
    me = session.seats.get(seat_id)
    if me is None or me.role == "spectator" or session.table.paused or session.table.suspended is not None:
        return []
    lost = unseen(rules, session, sight_of(session, seat_id))
    seen: list[Model] = [one for one in session.combatants.values() if one.id not in lost]
    found: list[Option] = []
    for encounter in session.encounters.values():
        by = session.combatants.get(encounter.current)
        if by is not None and not encounter.pending and not by.out and _mine(me, by.id):
            found += _activation(session, me, encounter, by, [one for one in seen if one.scene == by.scene and one.id != by.id])
    return [*found, *_tests(session, me, seen)]


def _mine(me: Seat, combatant_id: str) -> bool:
    return me.role == "gm" or combatant_id in me.controls


def _activation(session: Session, me: Seat, encounter: Encounter, by: Model, others: list[Model]) -> list[Option]:
    found: list[Option] = []
    if not by.acted:
        if not zones.in_hidden_place(session, by):
            for weapon in by.weapons:
                found += _attacks(session, me, by, weapon, others)
        hurt = [one for one in (by, *others) if attack.may_patch(session, by, one)]
        if hurt:
            found.append(_option("skirmish.patch", "Patch up", by, "patch", (_whom(hurt),)))
        if by.fatigue:
            found.append(_option("skirmish.breathe", "Catch your breath", by, "breathe"))
    if not by.moved:
        found += _moves(session, by, others)
    if not (by.acted or by.moved or by.chosen):
        for one in others:
            waits = one.id in encounter.order and one.id not in encounter.acted and turns.can_act(session, one.id)
            if one.side == by.side and waits and _mine(me, one.id):
                found.append(
                    Option(type="skirmish.activate", text=f"Activate {one.name}", command={"type": "activate", "combatant": one.id})
                )
    found.append(_option("turn.end", "End the activation", by, "turn.end"))
    return found


def _attacks(session: Session, me: Seat, by: Model, weapon: Weapon, others: list[Model]) -> list[Option]:
    if not ground.ready(by, weapon):
        return []
    foes = [
        one
        for one in others
        if one.side != by.side and not one.out and not zones.concealed(session, one) and ground.reaches(session, by, weapon, one)
    ]
    if not foes:
        return []
    helped: dict[tuple[str, ...], list[Model]] = {}  # foes by who may support an attack on them: an option for each such group
    for foe in foes:
        able = tuple(one.id for one in others if _mine(me, one.id) and ground.may_support(session, by, one, foe))
        helped.setdefault(able, []).append(foe)
    return [_attack(session, by, weapon, group, [session.combatants[one] for one in able]) for able, group in helped.items()]


def _attack(session: Session, by: Model, weapon: Weapon, foes: list[Model], helpers: list[Model]) -> Option:
    params = [_whom(foes)]
    counted = helpers[: by.special.C]
    if counted:
        choices = [Value([], "nobody"), *(Value([one.id], one.name) for one in helpers)]
        if len(counted) > 1:
            choices.append(Value([one.id for one in counted], ", ".join(one.name for one in counted)))
        params.append(Param(name="supporters", text="With whose support?", choices=tuple(choices), default=[], optional=True))
    text = f"Attack with {weapon.name} ({ground.base_test(by, weapon)})"
    return _option("skirmish.attack", text, by, "attack", tuple(params), odds=True, weapon=weapon.id)


def _moves(session: Session, by: Model, others: list[Model]) -> list[Option]:
    scene = ground.known(session.scenes[by.scene], gm=False)
    found: list[Option] = []
    for dash in (False, True) if harm.can_tire(session, by) else (False,):
        for zone in scene.zones:
            left = ground.inches_left(session, scene, by.zone, zone.id, DASH if dash else MOVE)
            if left is None or zone.hidden:
                continue
            params: tuple[Param, ...] = ()
            there = [Value([one.id], one.name) for one in others if one.zone == zone.id]
            if there and ground.may_join(left):
                choices = (Value([], "nobody"), *there)
                params += (Param(name="near", text="Up to whom?", choices=choices, default=[], optional=True),)
            if zone.covers:
                covers = (Value("", "none"), *(Value(one.id, one.name) for one in zone.covers))
                params += (Param(name="cover", text="Behind what?", choices=covers, default="", optional=True),)
            if zone.id != by.zone or (params and not dash):
                option = _option(
                    "skirmish.move", f"{'Dash' if dash else 'Move'} to {zone.name}", by, "move", params, zone=zone.id, dash=dash
                )
                found.append(msgspec.structs.replace(option, cost=(Cost("fatigue", 1),)) if dash else option)
    return found


def _tests(session: Session, me: Seat, seen: list[Model]) -> list[Option]:
    """Rolls of framed tests, support for others', and for GMs what proposed ones take."""
    found: list[Option] = []
    for test in session.tests.values():
        by = session.combatants.get(test.by)
        if by is None or by not in seen:
            continue
        if _mine(me, by.id) and test.status == "framed":
            command = {"type": "test.roll", "test": test.id}
            found.append(Option(type="test.roll", text=f"Roll: {test.label or 'a test'}", command=command, combatant=by.id, odds=True))
        if me.role == "gm" and test.status == "proposed":
            pool = tuple(Value(f"{count}{letter}", f"{count}{letter}") for letter in "SPECIAL" for count in (1, 2, 3, 4))
            params = (Param(name="pool", text="Which pool?", choices=pool), Param(name="need", text="How many?", kind="int", min=1, max=5))
            command = {"type": "test.frame", "test": test.id}
            found.append(Option(type="test.frame", text=f"Frame: {test.label or 'a test'}", command=command, params=params))
        if test.status in ("proposed", "framed") and (not test.hidden or me.role == "gm" or _mine(me, by.id)):
            taking = {by.id, *(one.combatant for one in test.helpers)}
            able = [one for one in seen if one.id not in taking and _mine(me, one.id) and ground.may_support(session, by, one)]
            if able:
                who = Param(name="combatant", text="Who?", choices=tuple(Value(one.id, one.name) for one in able))
                command = {"type": "test.join", "test": test.id}
                found.append(Option(type="test.join", text=f"Support: {test.label or 'a test'}", command=command, params=(who,)))
    return found


def _whom(targets: list[Model]) -> Param:
    return Param(name="target", text="Whom?", choices=tuple(Value(one.id, one.name) for one in targets))


def _option(type: str, text: str, by: Model, command: str, params: tuple[Param, ...] = (), *, odds: bool = False, **fields: Any) -> Option:
    whole = {"type": command, "combatant": by.id, **fields}
    return Option(type=type, text=text, command=whole, combatant=by.id, params=params, odds=odds)


# --- odds ------------------------------------------------------------------------------------------------------------------


def attack_odds(rules: Any, session: Session, seat_id: str, command: Attack) -> Odds:
    """An attack's chances before re-rolls and before what its critical effect adds. `damage` is the number of hits, 0 included; what
    they come to is told where the seat knows the target's Endurance."""
    sight = sight_of(session, seat_id)
    lost = unseen(rules, session, sight)
    by: Model | None = session.combatants.get(command.combatant or next((e.current for e in session.encounters.values()), ""))
    target: Model | None = session.combatants.get(command.target)
    if by is None or by.id in lost:
        raise unknown("combatant", command.combatant)
    if target is None or target.id in lost:
        raise unknown("combatant", command.target)
    if rules.grade_combatant(session, by, sight) != "full":
        raise Rejected("not_yours", f"How well {by.name} fights is its crew's business.", combatant=by.id)
    weapon = by.weapons[0] if not command.weapon and len(by.weapons) == 1 else by.weapon(command.weapon)
    if weapon is None:
        raise unknown("weapon", command.weapon, [one.id for one in by.weapons])
    if by.scene not in session.scenes or target.scene != by.scene:
        raise Rejected("out_of_range", f"{target.name} is elsewhere.", target=target.id)
    helpers = len(dict.fromkeys(one for one in command.supporters if one in session.combatants and one not in lost))
    bonus = ground.bonus_dice(session, by, weapon, target, helpers)
    pool = pools.build(session, by, ground.base_test(by, weapon), bonus=bonus, unlucky=ground.is_unlucky(session, target))
    dist = pools.distribution(session, pool)
    parts = [
        o.part("hit", "hits", dist.p(lambda one: one[0] > 0)),
        o.part("critical", "a luck die succeeds", dist.p(lambda one: one[1] > 0)),
    ]
    known = rules.grade_combatant(session, target, sight) == "full"
    if known:
        for outcome, text in (("harm", "a Harm"), ("injury", "an Injury and a Harm"), ("incapacitated", "Incapacitated")):
            parts.append(
                o.part(outcome, text, dist.p(lambda one, wanted=outcome: harm.of_damage(one[0], target.special.E) == wanted))  # type: ignore[misc]
            )
    return Odds(
        type="skirmish.attack",
        text="hits, before re-rolls and critical effects",
        parts=tuple(parts),
        damage=o.damage_table(dist.map(lambda one: one[0])),
    )


def test_odds(rules: Any, session: Session, seat_id: str, command: RollTest) -> Odds:
    """A framed test's chance before re-rolls. Raises Rejected for a test that the seat does not attempt."""
    sight = sight_of(session, seat_id)
    test = session.tests.get(command.test)
    by: Model | None = None if test is None else session.combatants.get(test.by)
    if test is None or by is None or rules.grade_combatant(session, by, sight) != "full":
        raise unknown("test", command.test)
    if test.status != "framed":
        raise Rejected("not_now", f"That test is {test.status}.", test=test.id, status=test.status)
    able = [one for one in test.helpers if ground.may_support(session, by, session.combatants[one.combatant])]
    dist = pools.distribution(session, checks.pool_of(session, by, test.frame, len(able)))
    parts = (
        o.part("passed", "passes", dist.p(lambda one: one[0] >= test.frame.need)),
        o.part("critical", "a luck die succeeds", dist.p(lambda one: one[1] > 0)),
    )
    return Odds(type="test.roll", text="before re-rolls", parts=parts)
