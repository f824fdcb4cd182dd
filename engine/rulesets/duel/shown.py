"""What clients are told of a duel: views of duelists, options and odds."""

from __future__ import annotations

from typing import Any

from engine import odds as o
from engine import zones
from engine.odds import Odds
from engine.options import Option, Param, Value
from engine.rejected import unknown
from engine.rulesets.duel.model import PLACES, WEAPONS, Attack, Duelist
from engine.session import Seat, Session, Zone
from engine.sight import sight_of, unseen

PLACE = ("id", "name", "kind", "side", "scene", "zone", "cover", "out", "reach")
PUBLIC = (*PLACE, "hp", "max_hp", "skill", "guard", "speed", "weapon", "parried", "braced", "exposed")
OWN = ("hidden", "armor", "grit", "acted", "moved")
BOLDLY = Param(name="bold", text="Boldly?", choices=(Value(False, "no"), Value(True, "2 worse to hit, hurts 2 more")), default=False)


def view(duelist: Duelist, grade: Any) -> dict[str, Any]:
    return {name: getattr(duelist, name) for name in (PUBLIC + OWN if grade == "full" else PUBLIC)}


def options(rules: Any, session: Session, seat: str) -> list[Option]:
    me = session.seats.get(seat)
    if me is None or me.role == "spectator" or session.table.paused or session.table.suspended is not None:
        return []
    lost = unseen(rules, session, sight_of(session, seat))
    seen = [one for one in session.combatants.values() if one.id not in lost]
    found: list[Option] = []
    for encounter in session.encounters.values():
        by = session.combatants.get(encounter.current)
        if by is not None and not encounter.pending and not by.out and _mine(me, by.id):
            found += _turn(session, by, [one for one in seen if one.scene == by.scene and one.id != by.id])
    return [*found, *_tests(session, me, seen)]


def _turn(session: Session, by: Duelist, others: list[Duelist]) -> list[Option]:
    scene = session.scenes[by.scene]
    found: list[Option] = []
    if not by.acted:
        in_sight = [one for one in others if not one.out and not zones.concealed(session, one)]
        foes = tuple(Value(one.id, one.name) for one in in_sight if one.side != by.side and in_reach(scene, by, one))
        if foes and not zones.in_hidden_place(session, by):
            target = Param(name="target", text="Whom?", choices=foes)
            found.append(_option("duel.attack", f"Strike with the {by.weapon}", by, "attack", (target, BOLDLY), odds=True))
            found.append(_option("duel.feint", "Feint", by, "feint", (target,)))
        found.append(_option("duel.brace", "Brace", by, "brace"))
    if not by.moved:
        for zone_id in [by.zone, *[other for other, way in zones.neighbours(scene, by.zone) if not way.hidden]]:
            zone = scene.zone(zone_id)
            if zone is None or zone.hidden:
                continue
            params = _places(zone, [one for one in others if one.zone == zone_id])
            if params or zone_id != by.zone:
                found.append(_option("duel.move", f"Move to {zone.name}", by, "move", params, zone=zone_id))
    found.append(_option("turn.end", "End the turn", by, "turn.end"))
    return found


def _places(zone: Zone, there: list[Duelist]) -> tuple[Param, ...]:
    """Where in a zone: up to somebody, behind a cover."""
    found: tuple[Param, ...] = ()
    if there:
        people = (Value([], "nobody"), *(Value([one.id], one.name) for one in there))
        found += (Param(name="near", text="Up to whom?", choices=people, default=[], optional=True),)
    if zone.covers:
        covers = (Value("", "none"), *(Value(one.id, one.name) for one in zone.covers))
        found += (Param(name="cover", text="Behind what?", choices=covers, default="", optional=True),)
    return found


def _tests(session: Session, me: Seat, seen: list[Duelist]) -> list[Option]:
    """Rolls of framed tests, and help with others'."""
    found: list[Option] = []
    for test in session.tests.values():
        by = session.combatants.get(test.by)
        if by is None or by not in seen:
            continue
        what = test.label or "a test"
        taking = (by.id, *(one.combatant for one in test.helpers))
        command = {"test": test.id}
        if test.status == "framed" and _mine(me, by.id):
            found.append(Option(type="test.roll", text=f"Roll: {what}", command={"type": "test.roll", **command}, combatant=by.id))
        able = tuple(Value(one.id, one.name) for one in seen if one.id not in taking and _mine(me, one.id))
        if able and (not test.hidden or any(_mine(me, one) for one in taking)):
            who = Param(name="combatant", text="Who?", choices=able)
            found.append(Option(type="test.join", text=f"Help: {what}", command={"type": "test.join", **command}, params=(who,)))
    return found


def _mine(me: Seat, combatant_id: str) -> bool:
    return me.role == "gm" or combatant_id in me.controls


def _option(
    type: str, text: str, by: Duelist, command: str, params: tuple[Param, ...] = (), *, odds: bool = False, **fields: Any
) -> Option:
    whole = {"type": command, "combatant": by.id, **fields}
    return Option(type=type, text=text, command=whole, combatant=by.id, params=params, odds=odds)


def odds(rules: Any, session: Session, seat: str, command: Attack) -> Odds:
    """A strike's chance to hit and its damage; armor counts only where the seat knows it."""
    sight = sight_of(session, seat)
    lost = unseen(rules, session, sight)
    by = session.combatants.get(command.combatant or next((e.current for e in session.encounters.values()), ""))
    target = session.combatants.get(command.target)
    if by is None or by.id in lost:
        raise unknown("combatant", command.combatant)
    if target is None or target.id in lost:
        raise unknown("combatant", command.target)
    hits = [
        (o.die(20) + o.die(20).map(lambda face: -face)).p_at_least(guard_of(target) + bonus - aim_of(by, command.bold))
        for bonus in (0, int(rules.option(session, "parry_bonus")))
    ]
    known = rules.grade_combatant(session, target, sight) == "full"
    armor = target.armor if known else 0
    weapon = WEAPONS[by.weapon]
    head = o.die(6).map(lambda face: 2 if PLACES[face - 1] == "head" else 0)
    raw = o.die(weapon.sides) + head + o.constant(weapon.bonus + 2 * command.bold)
    return Odds(
        type="duel.attack",
        text="" if known else "before armor",
        parts=(o.part("hit", "hits", hits[0]), o.part("hit_parried", "hits through a parry", hits[1])),
        damage=o.damage_table(raw.map(lambda hurt: max(hurt - armor, 0))),
    )


def in_reach(scene: Any, by: Duelist, target: Duelist) -> bool:
    """Whether the weapon strikes the target: within arm's reach, or in sight within its zones and not wholly covered."""
    if target.scene != by.scene:
        return False
    reach = WEAPONS[by.weapon].zones
    if not reach:
        return zones.is_near(scene, by.id, target.id)
    away = zones.distance(scene, by.zone, target.zone)
    return away is not None and away <= reach and zones.sees(scene, by.zone, target.zone) and not zones.wholly_covered(scene, target)


def guard_of(target: Duelist) -> int:
    return 0 if target.exposed else target.guard + 2 * target.braced


def aim_of(by: Duelist, bold: bool) -> int:
    return by.skill - 2 * bold
