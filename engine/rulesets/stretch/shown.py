"""What clients are told under stretch: views of wanderers, options and odds."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import msgspec

from engine import odds as o
from engine import zones
from engine.odds import Odds
from engine.options import Cost, Option, Param, Value
from engine.rejected import Rejected, unknown
from engine.rulesets.stretch import fight, sums
from engine.rulesets.stretch.commands import Attack, RollTest
from engine.rulesets.stretch.model import ATTRIBUTES, Wanderer, Weapon
from engine.rulesets.stretch.switches import switch
from engine.session import Seat, Session
from engine.sight import sight_of, unseen

PLACE = ("id", "name", "kind", "side", "scene", "zone", "cover", "out", "reach")
PUBLIC = ("health", "max_health", "state", "collapsed", "broken", "ghoul", "aiming")
OWN = (
    "hidden",
    "dt",
    "dr",
    "agility_modifier",
    "stress",
    "max_stress",
    "resolve",
    "max_resolve",
    "rads",
    "ap",
    "max_ap",
    "stimpaks",
    "acted",
    "moved",
)


def view(session: Session, who: Wanderer, grade: Any) -> dict[str, Any]:
    """`defense` is what an attack has to reach; everybody sees that and what somebody carries, nobody else how well they use it."""
    shown: dict[str, Any] = {name: getattr(who, name) for name in (*PLACE, *PUBLIC)}
    shown["marks"] = list(who.marks)
    shown["defense"] = sums.defense(session, who)
    if grade == "full":
        shown.update({name: getattr(who, name) for name in OWN})
        shown["special"] = {name: getattr(who.special, name) for name in ATTRIBUTES}
        shown["skills"] = dict(who.skills)
        shown["suffering"] = sums.suffers(session, who)
        shown["weapons"] = [msgspec.to_builtins(one) for one in who.weapons]
    else:
        shown["weapons"] = [{"id": one.id, "name": one.name} for one in who.weapons]
    return shown


# --- options ---------------------------------------------------------------------------------------------------------------


def options(rules: Any, session: Session, seat_id: str) -> list[Option]:
    me = session.seats.get(seat_id)
    if me is None or me.role == "spectator" or session.table.paused or session.table.suspended is not None:
        return []
    lost = unseen(rules, session, sight_of(session, seat_id))
    seen: list[Wanderer] = [one for one in session.combatants.values() if one.id not in lost]
    found: list[Option] = []
    for encounter in session.encounters.values():
        by = session.combatants.get(encounter.current)
        if by is not None and not encounter.pending and not by.out and _mine(me, by.id):
            found += _turn(session, me, by, [one for one in seen if one.scene == by.scene and one.id != by.id])
    fighting = {one for encounter in session.encounters.values() for one in encounter.order}
    for one in seen:
        if one.id not in fighting and not one.out and _mine(me, one.id):
            found += _tending(session, one, [other for other in seen if other.id != one.id])
    return [*found, *_tests(session, me)]


def _mine(me: Seat, combatant_id: str) -> bool:
    return me.role == "gm" or combatant_id in me.controls


def _turn(session: Session, me: Seat, by: Wanderer, others: list[Wanderer]) -> list[Option]:
    found: list[Option] = []
    if fight.can_still(session, by):
        if not zones.in_hidden_place(session, by):
            for weapon in by.weapons:
                found += _attacks(session, by, weapon, others)
        found += _tending(session, by, others)
        found += [_option("stretch.clear", f"Clear {one.name}", by, "clear", weapon=one.id) for one in by.weapons if one.jammed]
    if not by.moved and not by.aiming:
        found += _moves(session, me, by, others)
    found.append(_option("turn.end", "End the turn", by, "turn.end"))
    return found


def _attacks(session: Session, by: Wanderer, weapon: Weapon, others: list[Wanderer]) -> list[Option]:
    if weapon.jammed:
        return []
    foes = [
        one
        for one in others
        if one.side != by.side and not one.out and not zones.concealed(session, one) and fight.reaches(session, by, weapon, one)
    ]
    if not foes:
        return []
    found = [_option("stretch.attack", f"Attack with {weapon.name}", by, "attack", (_whom(foes),), odds=True, weapon=weapon.id)]
    if switch(session, "vats") != "on":
        return found
    for place, (cost, _) in sums.VATS.items():
        targets = [one for one in foes if fight.callable_place(session, place, one)]
        if targets and by.ap >= cost:
            text = f"V.A.T.S. with {weapon.name}: {place}"
            shot = _option("stretch.vats", text, by, "attack", (_whom(targets),), odds=True, weapon=weapon.id, place=place)
            found.append(msgspec.structs.replace(shot, cost=(Cost("ap", cost),)))
    return found


def _whom(targets: list[Wanderer]) -> Param:
    return Param(name="target", text="Whom?", choices=tuple(Value(one.id, one.name) for one in targets))


def _tending(session: Session, by: Wanderer, others: list[Wanderer]) -> list[Option]:
    here = [one for one in (by, *others) if fight.beside(session, by, one)]
    found: list[Option] = []
    hurt = [one for one in here if fight.needs_stimpak(one)]
    if by.stimpaks and hurt:
        option = _option("stretch.stimpak", "Use a stimpak", by, "stimpak", (_whom(hurt),))
        found.append(msgspec.structs.replace(option, cost=(Cost("stimpaks", 1),)))
    dying = [one for one in here if one.state == "dying"]
    if dying and switch(session, "stabilize") == "action":
        found.append(_option("stretch.stabilize", "Stabilize", by, "stabilize", (_whom(dying),)))
    return found


def _moves(session: Session, me: Seat, by: Wanderer, others: list[Wanderer]) -> list[Option]:
    scene = session.scenes[by.scene]
    found: list[Option] = []
    for zone_id in [by.zone, *(other for other, way in zones.neighbours(scene, by.zone) if not way.hidden)]:
        zone = scene.zone(zone_id)
        if zone is None or zone.hidden:
            continue
        there = [Value([one.id], one.name) for one in others if one.zone == zone_id]
        params: tuple[Param, ...] = ()
        if there:
            params += (Param(name="near", text="Up to whom?", choices=(Value([], "nobody"), *there), default=[], optional=True),)
        if zone.covers:
            covers = (Value("", "none"), *(Value(one.id, one.name) for one in zone.covers))
            params += (Param(name="cover", text="Behind what?", choices=covers, default="", optional=True),)
        if zone_id != by.zone or params:
            found.append(_option("stretch.move", f"Move to {zone.name}", by, "move", params, zone=zone_id))
    return found


def _tests(session: Session, me: Seat) -> list[Option]:
    """Rolls of framed tests that are not Walls; for GMs also what proposed tests take."""
    found: list[Option] = []
    for test in session.tests.values():
        who = session.combatants.get(test.by)
        if who is None or not _mine(me, who.id):
            continue
        if test.status == "framed" and sums.needed(sums.gap_of(session, who, test.frame.using, test.frame.threshold)) is not None:
            command = {"type": "test.roll", "test": test.id}
            found.append(Option(type="test.roll", text=f"Roll: {test.label or 'a test'}", command=command, combatant=who.id, odds=True))
        elif test.status == "proposed" and me.role == "gm":
            using = (*(Value(name, name) for name, _ in who.skills), *(Value(name, f"{name}, raw") for name in ATTRIBUTES))
            params = (
                Param(name="using", text="Which skill?", choices=using),
                Param(name="threshold", text="How hard?", kind="int", min=0, max=120, default=50),
            )
            command = {"type": "test.frame", "test": test.id}
            found.append(Option(type="test.frame", text=f"Frame: {test.label or 'a test'}", command=command, params=params))
    return found


def _option(
    type: str, text: str, by: Wanderer, command: str, params: tuple[Param, ...] = (), *, odds: bool = False, **fields: Any
) -> Option:
    whole = {"type": command, "combatant": by.id, **fields}
    return Option(type=type, text=text, command=whole, combatant=by.id, params=params, odds=odds)


# --- odds ------------------------------------------------------------------------------------------------------------------


def attack_odds(rules: Any, session: Session, seat_id: str, command: Attack) -> Odds:
    """An attack's chances, and the damage of a hit; armor counts only where the seat knows it."""
    sight = sight_of(session, seat_id)
    lost = unseen(rules, session, sight)
    by: Wanderer | None = session.combatants.get(command.combatant or next((e.current for e in session.encounters.values()), ""))
    target: Wanderer | None = session.combatants.get(command.target)
    if by is None or by.id in lost:
        raise unknown("combatant", command.combatant)
    if target is None or target.id in lost:
        raise unknown("combatant", command.target)
    if rules.grade_combatant(session, by, sight) != "full":
        raise Rejected("not_yours", f"How well {by.name} fights is its player's business.", combatant=by.id)
    weapon = by.weapons[0] if not command.weapon and len(by.weapons) == 1 else by.weapon(command.weapon)
    if weapon is None:
        raise unknown("weapon", command.weapon, [one.id for one in by.weapons])
    bonus, against = sums.aim(session, by, weapon, command.place), sums.defense(session, target)
    faces = {face: sums.strikes(session, by, face, bonus, against) for face in range(1, 21)}
    hits = sum(hit for hit, _ in faces.values())
    criticals = sum(critical for _, critical in faces.values())
    known = rules.grade_combatant(session, target, sight) == "full"
    dt, dr = (target.dt, target.dr) if known else (0, 0)
    hurts: dict[int, int] = {}
    for hit, critical in faces.values():
        if hit:
            amount = sums.damage(session, weapon.damage, dt, dr, critical=critical)
            hurts[amount] = hurts.get(amount, 0) + 1
    return Odds(
        type="stretch.attack",
        text="damage of a hit" if known else "damage of a hit, before armor",
        parts=(
            o.part("hit", "hits", Fraction(hits, 20)),
            o.part("critical", "hits critically", Fraction(criticals, 20)),
            o.part("fumble", "brings a complication", Fraction(1, 20)),
        ),
        damage=o.damage_table(o.Dist(hurts)) if hurts else (),
    )


def test_odds(rules: Any, session: Session, seat_id: str, command: RollTest) -> Odds:
    """A framed test's chance. Raises Rejected for a test that the seat does not attempt, and for a Wall."""
    sight = sight_of(session, seat_id)
    test = session.tests.get(command.test)
    who: Wanderer | None = None if test is None else session.combatants.get(test.by)
    if test is None or who is None or rules.grade_combatant(session, who, sight) != "full":
        raise unknown("test", command.test)
    if test.status != "framed":
        raise Rejected("not_now", f"That test is {test.status}.", test=test.id, status=test.status)
    need = sums.needed(sums.gap_of(session, who, test.frame.using, test.frame.threshold))
    if need is None:
        raise Rejected("not_now", "It is a Wall: find another approach.", test=test.id)
    passes = sum(need == 0 or sums.stretches(session, who, face, need) for face in range(1, 21))
    return Odds(type="test.roll", text="", parts=(o.part("passed", "succeeds", Fraction(passes, 20)),))
