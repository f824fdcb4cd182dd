"""What a seat may do now, with costs and parameters, read through that seat's sight. Every combination of listed values is accepted."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Literal, get_args

from engine import testlife, turns, zones
from engine.options import Cost, Option, Param, Value
from engine.rulesets import Ruleset
from engine.rulesets.wasteland import body, derived, modifiers, moving, perks, pools, tables, targeting, testflow, turnflow
from engine.rulesets.wasteland.model import Attribute, Frame, Result, Skill, Survivor, Weapon
from engine.rulesets.wasteland.side_options import off_turn, side_options
from engine.rulesets.wasteland.switches import switch
from engine.session import Encounter, Scene, Seat, Session, Test
from engine.sight import sight_of, unseen

YES_NO = (Value(False, "no"), Value(True, "yes"))


@lru_cache(maxsize=64)
def _count(name: str, text: str, most: int, unit: str) -> Param:
    choices = tuple(Value(n, f"{n} {unit}".strip() if n else "none") for n in range(most + 1))
    return Param(name=name, text=text, choices=choices, default=0, optional=True)


@lru_cache(maxsize=16)
def _dice(most: int) -> Param:
    choices = tuple(Value(n, f"{n} for {tables.DICE_PRICE[n]} AP" if n else "none") for n in range(most + 1))
    return Param(name="dice", text="Buy d20s?", choices=choices, default=0, optional=True)


@lru_cache(maxsize=16)
def _locations(body_type: str) -> Param:
    known = tables.LOCATION_KINDS[body_type]
    choices = (Value("", "anywhere"), *(Value(at, f"the {at}, 1 harder") for at in known))
    return Param(name="location", text="Where?", choices=choices, default="", optional=True)


DECK = Param(name="stacked_deck", text="LCK instead, for 1 Luck?", choices=YES_NO, default=False, optional=True)


FRAMING = (
    Param(name="attribute", text="Attribute?", choices=tuple(Value(one, one) for one in get_args(Attribute))),
    Param(name="skill", text="Skill?", choices=tuple(Value(one, one.replace("_", " ")) for one in get_args(Skill))),
    Param(name="difficulty", text="Difficulty?", choices=tuple(Value(n, str(n)) for n in range(6)), default=1, optional=True),
    Param(name="range", text="Complications from?", choices=tuple(Value(n, str(21 - n)) for n in range(1, 6)), default=1, optional=True),
)


def options(rules: Ruleset, session: Session, seat_id: str) -> list[Option]:
    """The seat's options: turns first, then Lucky Timing, then tests."""
    seat = session.seats.get(seat_id)
    if seat is None or seat.role == "spectator" or session.table.paused or session.table.suspended is not None:
        return []
    lost = frozenset(unseen(rules, session, sight_of(session, seat_id)))
    found: list[Option] = []
    for encounter in session.encounters.values():
        if encounter.pending:
            continue
        by = session.combatants.get(encounter.current)
        if by is not None and body.able(by) and _mine(seat, by.id):
            found += turn_options(session, encounter, by, lost, secret=seat.role == "gm")
        found += _timing(session, seat, encounter)
    for test in session.tests.values():
        found += _test(session, seat, test, lost)
    found += off_turn(session, seat, lost)
    for one in seat.controls:
        s = session.combatants.get(one)
        if s is not None and s.luck and body.able(s):
            words = Param(name="text", text="What would you be lucky to find?", kind="text")
            found.append(
                _option("wasteland.luck.draw", "Suggest a lucky find", s, "luck.draw", (words,), (Cost("luck", 1),), group="table")
            )
    return found


def _mine(seat: Seat, combatant_id: str) -> bool:
    return seat.role == "gm" or combatant_id in seat.controls


def _option(
    type: str,
    text: str,
    by: Survivor,
    command: str,
    params: tuple[Param, ...] = (),
    cost: tuple[Cost, ...] = (),
    odds: bool = False,
    group: Literal["turn", "table"] = "turn",
    **fields: Any,
) -> Option:
    return Option(
        type=type,
        text=text,
        command={"type": command, "combatant": by.id, **fields},
        combatant=by.id,
        params=params,
        cost=cost,
        odds=odds,
        group=group,
    )


def _ap(by: Survivor, amount: int) -> tuple[Cost, ...]:
    return (Cost(pools.pool_of(by), amount),) if amount else ()


# --- the running turn ----------------------------------------------------------------------------------------------------------


def turn_options(session: Session, encounter: Encounter, by: Survivor, lost: frozenset[str], *, secret: bool) -> list[Option]:
    scene = session.scenes[by.scene]
    purse = pools.value(session, pools.pool_of(by))
    minor, major = turnflow.price(by.turn, "minors"), turnflow.price(by.turn, "majors")
    found: list[Option] = []
    if major is not None and major > purse:
        cheap = [one for one in by.weapons if one.drawn and targeting.price(by, one, major) <= purse] if by.perks or by.boosts else []
        if cheap and not zones.in_hidden_place(session, by):
            found += _attacks(session, scene, by, lost, major, purse)
    if major is not None and major <= purse:
        if not zones.in_hidden_place(session, by):
            found += _attacks(session, scene, by, lost, major, purse)
        deck = (DECK,) if by.luck and by.beast is None else ()
        dice = pools.affordable_dice(session, by, modifiers.free_dice(by, "survival"), _capped(session), less=major)
        found.append(_option("wasteland.rally", "Rally: roll for AP", by, "rally", (_dice(dice), *deck), _ap(by, major)))
        dice = pools.affordable_dice(session, by, modifiers.free_dice(by, "athletics"), _capped(session), less=major)
        found.append(_option("wasteland.defend", "Defend", by, "defend", (_dice(dice), *deck), _ap(by, major)))
    may_move = not (by.turn.moved and switch(session, "one_move"))
    if minor is not None and minor <= purse and not by.turn.aimed and not by.turn.attacked and not perks.bonus(by, "no_aim"):
        found.append(_option("wasteland.aim", "Aim", by, "aim", (), _ap(by, minor)))
    moving_price = minor if moving.move_kind(by) == "minors" else major
    if moving_price is not None and moving_price <= purse:
        if may_move and by.prone:
            found.append(_option("wasteland.stand", "Stand up", by, "move", (), _ap(by, moving_price), stand=True))
        elif may_move:
            found += _moves(session, scene, by, lost, moving_price, purse, 1, secret)
    if may_move and not by.prone and major is not None and major <= purse and not body.suffers(by, "leg"):
        found += _moves(session, scene, by, lost, major, purse, 2, secret)
    affordable = [price if price is not None and price <= purse else None for price in (minor, major)]
    found += side_options(session, encounter, scene, by, lost, *affordable)
    found.append(_option("turn.end", "End the turn", by, "turn.end"))
    return found


def _capped(session: Session) -> bool:
    return bool(switch(session, "bonus_cap_includes_perks"))


def _attacks(session: Session, scene: Scene, by: Survivor, lost: frozenset[str], price: int, purse: int) -> list[Option]:
    """One option for each weapon and kind of body in front of it; targets hit without a roll apart, since nothing is bought for them.

    Who lies there dying is offered apart, so that only people choose to strike the fallen.
    """
    foes = [
        one
        for one in session.combatants.values()
        if one.scene == by.scene
        and one.side != by.side
        and not one.out
        and one.kind != "object"
        and one.id not in lost
        and not zones.concealed(session, one)
    ]
    found: list[Option] = []
    for weapon in by.weapons:
        left = targeting.shots(by, weapon)
        cost = targeting.price(by, weapon, price)
        if not weapon.drawn or left == 0 or cost > purse or (weapon.kind in tables.THROWN and not weapon.count):
            continue
        if targeting.why_not_weapon(by, weapon, one_handed=False, thrown=False):
            continue
        if targeting.blasts(weapon):
            found += _blasts(session, scene, by, weapon, foes, cost)
            continue
        groups: dict[tuple[str, bool, bool], list[Value]] = {}
        for target in foes:
            if targeting.why_not(scene, by, weapon, target):
                continue
            reasons = targeting.reasons_for(session, scene, by, weapon, target, called="", one_handed=False)
            difficulty = modifiers.total(reasons)
            value = Value(target.id, f"{target.name}, difficulty {difficulty}")
            groups.setdefault((target.body_type, difficulty == 0, body.able(target)), []).append(value)
        for (body_type, sure, standing), targets in groups.items():
            params = [Param(name="target", text="Whom?", choices=tuple(targets))]
            params += _attack_params(session, by, weapon, left, body_type, sure, cost)
            text = f"Attack with {weapon.name}" if standing else f"Strike the fallen with {weapon.name}"
            group: Literal["turn", "table"] = "turn" if standing else "table"
            found.append(_option("wasteland.attack", text, by, "attack", tuple(params), _ap(by, cost), True, group, weapon=weapon.id))
    return found


def _blasts(session: Session, scene: Scene, by: Survivor, weapon: Weapon, foes: list[Survivor], cost: int) -> list[Option]:
    """Zones with a foe in them that still stands."""
    places = []
    for zone in scene.zones:
        if not any(one.zone == zone.id and body.able(one) for one in foes) or targeting.why_not_zone(scene, by, weapon, zone.id):
            continue
        difficulty = modifiers.total(targeting.blast_reasons(session, scene, by, weapon, zone.id, one_handed=False))
        if difficulty:
            places.append(Value(zone.id, f"{zone.name}, difficulty {difficulty}"))
    if not places:
        return []
    params = [Param(name="zone", text="Where?", choices=tuple(places))]
    free = modifiers.free_dice(by, derived.weapon_pair(weapon).skill)
    params.append(_dice(pools.affordable_dice(session, by, free, _capped(session), less=cost)))
    return [_option("wasteland.blast", f"Attack a place with {weapon.name}", by, "attack", tuple(params), _ap(by, cost), weapon=weapon.id)]


def _attack_params(session: Session, by: Survivor, weapon: Weapon, left: int | None, body_type: str, sure: bool, price: int) -> list[Param]:
    params: list[Param] = []
    if not sure:
        free = modifiers.free_dice(by, derived.weapon_pair(weapon).skill)
        params += [_locations(body_type), _dice(pools.affordable_dice(session, by, free, _capped(session), less=price))]
        if by.luck and by.beast is None:
            params.append(DECK)
    if targeting.takes_ap(session, by, weapon):
        params.append(_count("damage_ap", "AP for damage, if it hits?", tables.MAX_DAMAGE_AP, "AP at most"))
    elif left is not None and targeting.most_extra(by, weapon):
        most = min(targeting.most_extra(by, weapon), left - 1)
        if most > 0:
            params.append(_count("extra_ammo", "More shots, for damage dice?", most, "more"))
    return params


def _moves(
    session: Session, scene: Scene, by: Survivor, lost: frozenset[str], price: int, purse: int, most: int, secret: bool
) -> list[Option]:
    found: list[Option] = []
    reachable = moving.ways(scene, by.zone, most, secret)
    near = moving.ways(scene, by.zone, 1, secret) if most == 2 else {}
    for zone_id, cost in reachable.items():
        zone = scene.zone(zone_id)
        if zone is None or (zone.hidden and not secret) or price + cost > purse or (most == 2 and zone_id in near):
            continue
        there = [
            one
            for one in session.combatants.values()
            if one.zone == zone_id and one.scene == by.scene and one.id != by.id and one.id not in lost and one.kind != "object"
        ]
        if zone_id == by.zone and not there and not zone.covers:
            continue
        params: list[Param] = []
        if there:
            beside = (Value([], "nobody"), *(Value([one.id], one.name) for one in there))
            params.append(Param(name="near", text="Up to whom?", choices=beside, default=[], optional=True))
        if zone.covers:
            covers = (Value("", "in the open"), *(Value(one.id, f"behind {one.name}") for one in zone.covers))
            params.append(Param(name="cover", text="Behind what?", choices=covers, default="", optional=True))
        text = f"Move within {zone.name}" if zone_id == by.zone else f"{'Move' if most == 1 else 'Sprint'} to {zone.name}"
        kind = "move" if most == 1 else "sprint"
        found.append(_option(f"wasteland.{kind}", text, by, kind, tuple(params), _ap(by, price + cost), zone=zone_id))
    return found


def _timing(session: Session, seat: Seat, encounter: Encounter) -> list[Option]:
    """Lucky Timing while whoever's turn it is has done nothing yet. A GM is not offered it for every creature at the table."""
    running = session.combatants.get(encounter.current)
    if running is None or running.turn.begun:
        return []
    found = []
    for one in encounter.order:
        if one in encounter.acted or one == encounter.current or one not in seat.controls:
            continue
        s = session.combatants.get(one)
        if s is not None and s.luck and body.able(s):
            found.append(_option("wasteland.luck.timing", "Act now, out of order", s, "luck.timing", (), (Cost("luck", 1),)))
    return found


# --- tests -----------------------------------------------------------------------------------------------------------------


def _test(session: Session, seat: Seat, test: Test, lost: frozenset[str]) -> list[Option]:
    by = session.combatants.get(test.by)
    if by is None or test.pending:
        return []
    if test.status == "proposed" and seat.role == "gm":
        text = f"Set what {by.name} tests: {test.label or 'a test'}"
        return [_without_combatant(_option("wasteland.frame", text, by, "test.frame", FRAMING, test=test.id))]
    if not isinstance(test.frame, Frame):
        return []
    if test.hidden and seat.role != "gm" and not any(one in seat.controls for one in testlife.participants(test)):
        return []
    record = test.frame
    result: Result = test.result or Result()
    found: list[Option] = []
    if test.status == "rolled":
        if seat.role == "gm" and any(not one.answer for one in result.questions):
            words = Param(name="answer", text="What do you answer?", kind="text")
            found.append(_option("wasteland.answer", "Answer the question", by, "test.answer", (words,), test=test.id))
        if any(not one.text and not one.answer for one in result.questions) and _mine(seat, by.id):
            words = Param(name="question", text="What do you ask?", kind="text")
            found.append(_option("wasteland.ask", "Put the question you bought", by, "test.ask", (words,), test=test.id))
        return [_without_combatant(one) for one in found]
    other = session.combatants.get(record.opponent) if record.opponent else None
    at_once = switch(session, "opposed") == "simultaneous"
    if other is not None and body.able(other) and not result.opposition and _mine(seat, other.id):
        found.append(_roll(session, test, other, f"Oppose: {test.label or 'the test'}", lead=False))
    may = body.able(by) or record.then in ("recover", "ailment")
    if may and not by.out and _mine(seat, by.id) and not result.throws and (not record.opponent or at_once or result.opposition):
        found += _lead_options(session, test, by)
    if record.help != "none" and test.result is None:
        for one in seat.controls:
            helper = session.combatants.get(one)
            if helper is None or not body.able(helper) or one in testlife.participants(test) or one in (record.opponent, *record.group):
                continue
            if zones.concealed(session, helper) and not test.hidden:
                continue
            if helper.scene == by.scene and by.id not in lost:
                found.append(_option("wasteland.help", f"Help {by.name}: {test.label}", helper, "test.join", test=test.id))
    return found


def _without_combatant(option: Option) -> Option:
    command = {name: value for name, value in option.command.items() if name != "combatant"}
    return Option(type=option.type, text=option.text, command=command, combatant=option.combatant, params=option.params)


def _lead_options(session: Session, test: Test, by: Survivor) -> list[Option]:
    record: Frame = test.frame
    if record.action != "free" and (encounter := turns.encounter_of(session, by)) is not None:
        kind = "majors" if record.action == "major" else "minors"
        price = turnflow.price(by.turn, kind)
        if encounter.pending or encounter.current != by.id or price is None or price > pools.value(session, pools.pool_of(by)):
            return []
    return [_roll(session, test, by, f"Roll: {test.label or 'the test'}", lead=True)]


def _roll(session: Session, test: Test, s: Survivor, text: str, *, lead: bool) -> Option:
    record: Frame = test.frame
    params: tuple[Param, ...] = ()
    cost = 0
    sure = False
    skill = record.pair.skill if lead or record.against is None else record.against.skill
    if lead:
        difficulty, _ = testflow.difficulty_of(session, test, s)
        sure = difficulty == 0 and not (record.opponent and switch(session, "opposed") == "simultaneous")
        if record.action != "free" and turns.encounter_of(session, s) is not None:
            cost = turnflow.price(s.turn, "majors" if record.action == "major" else "minors") or 0
    if not sure:
        free = modifiers.free_dice(s, skill) + (record.dice if lead else 0)
        sealed = testflow.sealed(session, test) and pools.pool_of(s) == pools.GROUP
        most = 0 if sealed else pools.affordable_dice(session, s, free, _capped(session), less=cost)
        params = (_dice(most), DECK) if s.luck and s.beast is None else (_dice(most),)
    return _option("wasteland.roll", text, s, "test.roll", params, _ap(s, cost), True, test=test.id)
