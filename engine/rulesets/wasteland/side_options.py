"""Options of a turn beside moving, attacking, rallying and defending: things in hand, healing, helping, waiting, and what lies about."""

from __future__ import annotations

from typing import Any

from engine import turns, zones
from engine.options import Cost, Option, Param, Value
from engine.rulesets.wasteland import aid, body, derived, growth, healing, perks, pools
from engine.rulesets.wasteland.model import Item, Survivor, Weapon
from engine.rulesets.wasteland.switches import switch
from engine.session import Encounter, Scene, Seat, Session


def side_options(
    session: Session, encounter: Encounter, scene: Scene, by: Survivor, lost: frozenset[str], minor: int | None, major: int | None
) -> list[Option]:
    """`minor` and `major` are the AP of the next action of the kind, None when there is none or the pool does not pay for it."""
    found: list[Option] = []
    near = [
        one
        for other in (by.id, *zones.near(scene, by.id))
        if (one := session.combatants.get(other)) is not None
        and other not in lost
        and one.kind != "object"
        and not zones.concealed(session, one)
    ]
    if minor is not None:
        found += _hands(session, by, minor)
        if body.has_free_arm(by):
            for item in by.items:
                if item.drawn and not item.at and item.kind in ("chem", "kit"):
                    found += _chem(session, by, item, near, minor)
    if major is not None:
        if body.has_free_arm(by):
            found += _aid(session, by, near, major)
        found += _waiting(session, by, encounter, lost, major)
    return found


def _option(by: Survivor, type: str, text: str, price: int, params: tuple[Param, ...] = (), **fields: Any) -> Option:
    cost = (Cost(pools.pool_of(by), price),) if price else ()
    return Option(
        type=f"wasteland.{type}", text=text, command={"type": type, "combatant": by.id, **fields}, combatant=by.id, params=params, cost=cost
    )


def _hands(session: Session, by: Survivor, price: int) -> list[Option]:
    found: list[Option] = []
    if body.has_free_arm(by):
        things: tuple[Weapon | Item, ...] = (*by.weapons, *by.items)
        for thing in things:
            if not thing.drawn and thing.at in ("", by.zone):
                cost = 0 if perks.bonus(by, "free_draw") else price
                found.append(_option(by, "draw", f"{'Pick up' if thing.at else 'Draw'} {thing.name}", cost, item=thing.id))
    empty = [one for one in by.weapons if not one.loaded and not one.at]
    return [*found, *(_option(by, "reload", f"Load {one.name}", price, weapon=one.id) for one in empty)]


def _chem(session: Session, by: Survivor, item: Item, near: list[Survivor], price: int) -> list[Option]:
    """One option for each thing it can do, for those who need that."""
    found: list[Option] = []
    willing = [one for one in near if (one.side == by.side or not body.able(one)) and item.robots == body.is_robot(one) and not one.dead]
    for what, can in (("heal", item.heal > 0), ("treat", item.treats), ("stabilize", item.stabilizes)):
        patients = [Value(one.id, one.name) for one in willing if can and not healing.why_not(session, one, what, "")]
        if patients:
            found.append(_option(by, "chem", f"{item.name}: {what}", price, (_whom(patients),), item=item.id, what=what))
    if item.boost is not None or item.cures:
        patients = [Value(one.id, one.name) for one in willing if one.boosts == () or item.boost is None]
        if patients:
            found.append(_option(by, "chem", f"{item.name}", price, (_whom(patients),), item=item.id, what="take"))
    return found


def _whom(patients: list[Value]) -> Param:
    return Param(name="patient", text="For whom?", choices=tuple(patients))


def _aid(session: Session, by: Survivor, near: list[Survivor], price: int) -> list[Option]:
    found: list[Option] = []
    ours = [one for one in near if one.side == by.side and aid.within_reach(session, by, one)]
    for what, text in (("stabilize", "Stabilize"), ("treat", "Treat an injury of"), ("heal", "First Aid for")):
        for one in ours:
            if not healing.why_not(session, one, what, ""):
                name = "yourself" if one.id == by.id else one.name
                injury = healing.open_injury(one, "") if what == "treat" else None
                hard = healing.difficulty(session, by, one, injury)
                found.append(_option(by, "aid", f"{text} {name}, difficulty {hard}", price, patient=one.id, what=what))
    return found


def _waiting(session: Session, by: Survivor, encounter: Encounter, lost: frozenset[str], price: int) -> list[Option]:
    found: list[Option] = []
    armed = [one for one in by.weapons if one.drawn and one.loaded and not one.at]
    if armed and not any(one.id == "placed" for one in armed[0].qualities) and by.ready is None:
        when = (Value("enters", "an enemy comes here"), Value("attacks", "an enemy attacks"), Value("ends_move", "an enemy stops here"))
        param = Param(name="trigger", text="When?", choices=when)
        text = f"Ready {armed[0].name}"
        if not price:  # what is bought could not be kept for later
            found.append(_option(by, "ready", text, price, (param,), action="attack", weapon=armed[0].id))
    found += [_option(by, "douse", f"Stop the {one.type}, difficulty {one.effects}", price, burn=one.id) for one in by.burns]
    laid = [one for one in armed if derived.has(one, "placed") or derived.has(one, "mine")]
    found += [_option(by, "place", f"Lay {one.name}", price, weapon=one.id) for one in laid]
    allies = [
        Value(one, session.combatants[one].name)
        for one in encounter.order
        if one != by.id
        and one not in lost
        and one in session.combatants
        and session.combatants[one].side == by.side
        and body.able(session.combatants[one])
        and session.combatants[one].scene == by.scene
        and body.may_help(session, by, session.combatants[one])
    ]
    if allies and by.promise is None:
        param = Param(name="ally", text="Whom?", choices=tuple(allies))
        found.append(_option(by, "assist", "Help an ally's next test", price, (param,), attribute="AGI", skill="athletics"))
    for one in encounter.order:
        npc = session.combatants.get(one)
        if npc is not None and npc.leader == by.id and npc.side == by.side and npc.scene == by.scene and body.able(npc) and one not in lost:
            found.append(_option(by, "command", f"Command {npc.name}: defend", price, npc=npc.id, action="defend"))
    return found


# --- whoever's turn it is ------------------------------------------------------------------------------------------------------


def off_turn(session: Session, seat: Seat, lost: frozenset[str]) -> list[Option]:
    """What a seat's own may do at any moment, for people to choose and pilots to leave alone: claim what they waited for, give up a turn
    to help, eat, rise a level."""
    found: list[Option] = []
    for one in seat.controls:
        s = session.combatants.get(one)
        if s is None or s.out:
            continue
        encounter = turns.encounter_of(session, s)
        if encounter is None:
            if body.able(s):
                meals = [item for item in s.items if item.kind in ("food", "drink") and not item.at]
                found += [_people(s, "eat", f"Have {item.name}", item=item.id) for item in meals]
            if s.beast is None and s.xp >= growth.needed(s.level):
                found += _levels(s)
        elif body.able(s) and not encounter.pending:
            if s.ready is not None and s.ready.trigger.kind == "prose":
                found.append(_people(s, "ready.claim", f"It happens: {s.ready.trigger.text}"))
            if one not in encounter.acted and one != encounter.current and s.promise is None and switch(session, "assist_giveup"):
                found += _give_up(session, encounter, s, lost)
    return found


def _people(s: Survivor, command: str, text: str, params: tuple[Param, ...] = (), **fields: Any) -> Option:
    return Option(
        type=f"wasteland.{command}",
        text=text,
        command={"type": command, "combatant": s.id, **fields},
        combatant=s.id,
        params=params,
        group="table",
    )


def _levels(s: Survivor) -> list[Option]:
    ranks = [Value(name, name.replace("_", " ")) for name in s.skills.__struct_fields__ if derived.rank(s, name) < growth.MOST_RANK]
    if not ranks:
        return []
    perk = Param(
        name="perk",
        text="Which perk?",
        choices=(Value("", "none"), *(Value(one, one.replace("_", " ")) for one in perks.PERKS)),
        default="",
        optional=True,
    )
    return [_people(s, "level.up", f"Rise to level {s.level + 1}", (Param(name="skill", text="Which skill?", choices=tuple(ranks)), perk))]


def _give_up(session: Session, encounter: Encounter, s: Survivor, lost: frozenset[str]) -> list[Option]:
    ally = session.combatants.get(encounter.current)
    if ally is None or ally.id in lost or ally.side != s.side or ally.out or ally.scene != s.scene or not body.may_help(session, s, ally):
        return []
    text = f"Give up the turn to help {ally.name}"
    return [_people(s, "assist", text, ally=ally.id, attribute="AGI", skill="athletics")]
