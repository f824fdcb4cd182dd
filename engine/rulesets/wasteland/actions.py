"""Actions of a turn beside moving, attacking and healing (combat_rules_2d20, "Minor Actions", "Major Actions"); the GM's hand on
difficulties and hazards."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from engine import turns
from engine.rejected import Rejected, unknown
from engine.rulesets.wasteland import aid, attack, body, derived, ending, ground, moving, perks, telling, testflow, turnflow
from engine.rulesets.wasteland.commands import (
    Assist,
    Attack,
    CommandNpc,
    Defend,
    Douse,
    Draw,
    FirstAid,
    GmHazard,
    GmModify,
    Interact,
    Rally,
    Reload,
    Sprint,
)
from engine.rulesets.wasteland.model import Frame, Helping, Hindrance, Item, Pair, Promise, Survivor, Weapon
from engine.rulesets.wasteland.switches import switch
from engine.step import Step

RALLY_PAIRS = frozenset({("END", "survival"), ("STR", "athletics")})
"""Both are printed: the first as the action, the second for getting through terrain (FACTS B2); a GM may use any."""
COMMAND_PAIRS = {
    "person": Pair(attribute="CHA", skill="speech"),
    "animal": Pair(attribute="CHA", skill="survival"),
    "robot": Pair(attribute="INT", skill="science"),
}
DOUSE = ("AGI", "athletics")


# --- minor actions -----------------------------------------------------------------------------------------------------------


def draw(step: Step, command: Draw) -> None:
    """Draw an item carried, or pick one up within reach; put another away, or drop it where `draw_may_drop` says so. Raises Rejected."""
    s, encounter = turnflow.acting(step, command.combatant)
    if not body.has_free_arm(s):
        raise Rejected("not_now", f"{s.name} has no arm to hold it with.", combatant=s.id)
    owner: Survivor = s if not command.of else step.combatant(command.of)
    found = _carried(owner, command.item)
    if found is None:
        raise unknown(
            "item", command.item, [*(one.id for one in s.weapons if not one.drawn), *(one.id for one in s.items if not one.drawn)]
        )
    if found.drawn:
        raise Rejected("not_now", f"{found.name} is in hand already.", item=found.id)
    if found.at:
        if found.at != s.zone or owner.scene != s.scene:
            raise Rejected("out_of_range", f"{found.name} lies out of reach.", item=found.id)
    elif owner.id != s.id:
        raise Rejected("not_yours", f"{found.name} is carried by {owner.name}.", item=found.id)
    if owner.id != s.id and _carried(s, command.item) is not None:
        raise Rejected("illegal_choice", f"{s.name} has one of that name.", item=found.id)
    if command.drop and not switch(step, "draw_may_drop"):
        raise Rejected("forbidden", "Dropping is no part of drawing here.", option="draw_may_drop")
    for other in (command.away, command.drop):
        held = _carried(s, other) if other else None
        if other and (held is None or not held.drawn):
            raise Rejected("not_now", f"{s.name} holds no '{other}'.", item=other)
    if encounter is not None and not perks.bonus(s, "free_draw"):
        turnflow.use(step, s, "minors", gm_ap=command.gm_ap)
    if owner.id != s.id:
        _hand_over(step, owner.id, s.id, found)
    arm = command.arm or _free_arm(step.combatants[s.id])
    _put(step, s.id, command.item, drawn=True, at="", arm=arm)
    if command.away:
        _put(step, s.id, command.away, drawn=False, at="")
    if command.drop:
        _put(step, s.id, command.drop, drawn=False, at=s.zone)
    step.about(s.id, "wasteland.draw", f"{s.name} draws {found.name}.", combatant=s.id, item=found.id)


def _carried(s: Survivor, item_id: str) -> Weapon | Item | None:
    things: tuple[Weapon | Item, ...] = (*s.weapons, *s.items)
    return next((one for one in things if one.id == item_id), None)


def _free_arm(s: Survivor) -> str:
    """The arm for what is drawn: "" the main one, another when that is hurt."""
    main = body.MAIN_ARM.get(s.body_type, "")
    lame = body.lame_arms(s)
    if main not in lame:
        return ""
    return next((one for one in body.arms(s) if one not in lame), "")


def _put(step: Step, combatant_id: str, item_id: str, *, drawn: bool, at: str, arm: str = "") -> None:
    s: Survivor = step.combatants[combatant_id]
    weapons = tuple(replace(one, drawn=drawn, at=at, arm=arm if drawn else one.arm) if one.id == item_id else one for one in s.weapons)
    items = tuple(replace(one, drawn=drawn, at=at) if one.id == item_id else one for one in s.items)
    step.change("combatants", combatant_id, weapons=weapons, items=items)


def _hand_over(step: Step, giver_id: str, taker_id: str, thing: Weapon | Item) -> None:
    giver: Survivor = step.combatants[giver_id]
    taker: Survivor = step.combatants[taker_id]
    if isinstance(thing, Weapon):
        step.change("combatants", giver_id, weapons=tuple(one for one in giver.weapons if one.id != thing.id))
        step.change("combatants", taker_id, weapons=(*taker.weapons, thing))
    else:
        step.change("combatants", giver_id, items=tuple(one for one in giver.items if one.id != thing.id))
        step.change("combatants", taker_id, items=(*taker.items, thing))


def interact(step: Step, command: Interact) -> None:
    """Open a door, push a button: said by the player, told by the GM."""
    s, encounter = turnflow.acting(step, command.combatant)
    if encounter is not None:
        turnflow.use(step, s, "minors", gm_ap=command.gm_ap)
    step.about(s.id, "wasteland.interact", f"{s.name}: {command.text}", combatant=s.id, what=command.text)


def reload(step: Step, command: Reload) -> None:
    """Load a weapon that has to be (FACTS A14, slow_load, fuel)."""
    s, encounter = turnflow.acting(step, command.combatant)
    weapon = next((one for one in s.weapons if one.id == command.weapon), None)
    if weapon is None:
        raise unknown("weapon", command.weapon, [one.id for one in s.weapons])
    if weapon.loaded:
        raise Rejected("not_now", f"{weapon.name} is loaded.", weapon=weapon.id)
    if encounter is not None:
        turnflow.use(step, s, "minors", gm_ap=command.gm_ap)
    s = step.combatants[s.id]
    step.change("combatants", s.id, weapons=tuple(replace(one, loaded=True) if one.id == weapon.id else one for one in s.weapons))
    step.about(s.id, "wasteland.reload", f"{s.name} loads {weapon.name}.", combatant=s.id, weapon=weapon.id)


# --- major actions -----------------------------------------------------------------------------------------------------------


def rally(step: Step, command: Rally, *, granted: bool = False, helps: tuple[Helping, ...] = ()) -> None:
    """A difficulty 0 test that always rolls; every success above becomes AP."""
    s, _ = turnflow.fighting(step, command.combatant, granted=granted)
    pair = Pair(attribute=command.attribute, skill=command.skill)
    if (pair.attribute, pair.skill) not in RALLY_PAIRS and not step.is_gm:
        raise Rejected("forbidden", "Another pair is the GM's to allow: they can ask for the test themselves.", needs="gm")
    frame = Frame(pair=pair, difficulty=0, action="free" if granted else "major", then="rally", asked=not granted)
    testflow.throw_pool(step, testflow.open_test(step, s, "Rally", frame, helps), s, "lead", command)


def defend(step: Step, command: Defend, *, granted: bool = False, helps: tuple[Helping, ...] = ()) -> None:
    """A test against the own Defense; passed, Defense is higher until the start of the own next turn (FACTS B2)."""
    s, _ = turnflow.fighting(step, command.combatant, granted=granted)
    frame = Frame(
        pair=Pair(attribute="AGI", skill="athletics"),
        difficulty=derived.defense(s),
        action="free" if granted else "major",
        then="defend",
        ap=command.ap,
        asked=not granted,
    )
    testflow.throw_pool(step, testflow.open_test(step, s, "Defend", frame, helps), s, "lead", command)


def douse(step: Step, command: Douse) -> None:
    """A major action to stop persistent damage: as hard as it rolled effects; another pair is the GM's to allow."""
    s, _ = turnflow.fighting(step, command.combatant)
    burn = next((one for one in s.burns if command.burn in ("", one.id)), None)
    if burn is None:
        raise Rejected("not_now", f"Nothing goes on hurting {s.name}.", combatant=s.id)
    if (command.attribute, command.skill) != DOUSE and not step.is_gm:
        raise Rejected("forbidden", "Another pair is the GM's to choose.", needs="gm")
    pair = Pair(attribute=command.attribute, skill=command.skill)
    frame = Frame(pair=pair, difficulty=burn.effects, action="major", then="douse", what=burn.id)
    testflow.throw_pool(step, testflow.open_test(step, s, "Make it stop", frame), s, "lead", command)


def assist(step: Step, command: Assist) -> None:
    """Help an ally's next test: a major action of the own turn, or the turn that is still to come in this round is given up for it."""
    s: Survivor = step.combatant(command.combatant) if command.combatant else turns.acting(step, "")[0]
    if not step.controls(s.id):
        raise Rejected("not_yours", f"{s.name} is not yours to command.", combatant=s.id)
    ally: Survivor = step.combatant(command.ally)
    if ally.id == s.id or ally.out or ally.scene != s.scene:
        raise Rejected("no_target", f"{s.name} cannot assist {ally.name}.", combatant=ally.id)
    encounter = turns.encounter_of(step, s)
    if encounter is None or not body.able(s):
        raise Rejected("not_now", "That is for those who fight and can act; outside a fight, join the test.", combatant=s.id)
    if not body.may_help(step, s, ally):
        raise Rejected("not_now", f"{s.name} is concealed; to help would give that away.", combatant=s.id)
    promise = Promise(ally=ally.id, pair=Pair(attribute=command.attribute, skill=command.skill))
    if encounter.current == s.id:
        s, _ = turnflow.acting(step, s.id)
        turnflow.use(step, s, "majors", gm_ap=command.gm_ap, fields={"promise": promise})
    else:
        if not switch(step, "assist_giveup"):
            raise Rejected("not_your_turn", f"It is not {s.name}'s turn.", combatant=s.id)
        if s.id in encounter.acted:
            raise Rejected("not_now", f"{s.name} has acted this round.", combatant=s.id)
        if encounter.pending:
            raise Rejected("busy", "An unfinished action waits for an answer first.", encounter=encounter.id)
        step.change("encounters", encounter.id, acted=(*encounter.acted, s.id))
        step.change("combatants", s.id, promise=promise)
        step.about(s.id, "wasteland.turn_given", f"{s.name} gives up the turn to help.", combatant=s.id)
    text = f"{s.name} will help {ally.name}."
    telling.tell(step, (s.id, ally.id), "wasteland.assist", text, {"combatant": s.id, "ally": ally.id})


def command_npc(step: Step, command: CommandNpc) -> None:
    """An NPC under command takes one major action now, assisted by who commands it ("Command an NPC"). Raises Rejected."""
    s, _ = turnflow.fighting(step, command.combatant)
    npc: Survivor = step.combatant(command.npc)
    if npc.leader != s.id or npc.side != s.side:
        raise Rejected("not_yours", f"{npc.name} is not under {s.name}'s command.", combatant=npc.id)
    if npc.scene != s.scene or turns.encounter_of(step, npc) is None or not body.able(npc):
        raise Rejected("not_now", f"{npc.name} cannot act.", combatant=npc.id)
    turnflow.use(step, s, "majors", gm_ap=command.gm_ap)
    text = f"{s.name} commands {npc.name}: {command.action}."
    telling.tell(step, (s.id, npc.id), "wasteland.command", text, {"combatant": s.id, "npc": npc.id, "action": command.action})
    kind = "robot" if body.is_robot(npc) else "animal" if npc.beast is not None else "person"
    helps = (Helping(combatant=s.id, how=COMMAND_PAIRS[kind]),)
    match command.action:
        case "attack":
            shot = Attack(
                combatant=npc.id,
                target=command.target,
                weapon=command.weapon,
                location=command.location,
                extra_ammo=command.extra_ammo,
                damage_ap=0,
            )
            attack.attack(step, shot, granted=True, helps=helps)
        case "defend":
            defend(step, Defend(combatant=npc.id), granted=True, helps=helps)
        case "rally":
            rally(step, Rally(combatant=npc.id), granted=True, helps=helps)
        case "sprint":
            moving.sprint(step, Sprint(combatant=npc.id, zone=command.zone), granted=True)
        case "aid":
            aid.first_aid(step, FirstAid(combatant=npc.id, patient=command.target, what=command.what), granted=True, helps=helps)


# --- the GM's ----------------------------------------------------------------------------------------------------------------


def hazard(step: Step, command: GmHazard) -> None:
    """The GM lets something dangerous hurt people: a hazard by name, or dice, type and effects of its own."""
    if command.name:
        ground.hazard(command.name)
    elif not command.dice:
        raise Rejected("illegal_choice", "Name a hazard, or say how many dice.", field="dice", known=sorted(ground.HAZARDS))
    caught = list(dict.fromkeys(command.combatants))
    if command.zone:
        caught += [one.id for one in ground.in_zone(step, command.scene, command.zone) if one.id not in caught]
    for one in caught:
        s: Survivor = step.combatant(one)
        if s.dead:
            continue
        if command.name:
            ground.suffer(step, one, command.name, command.times)
        else:
            what = command.text or "a hazard"
            ground.harm(step, one, what, command.dice * command.times, command.damage, command.effects, whole=command.whole_body)
        if body.able(s) and not body.able(step.combatants[one]):
            ending.over_for(step, one)


def modify(step: Step, command: GmModify) -> None:
    """The GM makes somebody's tests harder or easier, or lifts such a change."""
    s: Survivor = step.combatant(command.combatant)
    if not command.amount:
        if not any(one.id == command.id for one in s.hindrances):
            raise unknown("hindrance", command.id, [one.id for one in s.hindrances])
        step.change("combatants", s.id, hindrances=tuple(one for one in s.hindrances if one.id != command.id))
        step.about(s.id, "wasteland.modified", f"{s.name} is rid of a hindrance.", combatant=s.id)
        return
    places = [zone.id for scene in step.scenes.values() for zone in scene.zones]
    if command.id in step.combatants or command.id in step.scenes or command.id in places:
        # Players see what hinders them; the id must not tell them of somebody or some place they do not know.
        raise Rejected("bad_command", f"'{command.id}' is somebody or some place already; give the hindrance an id of its own.")
    made = Hindrance(
        id=command.id or step.ident("h"),
        amount=command.amount,
        attribute=command.attribute or "",
        skill=command.skill or "",
        once=command.once,
        text=command.text,
    )
    step.change("combatants", s.id, hindrances=(*(one for one in s.hindrances if one.id != made.id), made))
    of = " + ".join(one.replace("_", " ") for one in (made.attribute, made.skill) if one)
    kind = f" {of}" if of else ""
    what = f"next{kind} test is" if made.once else f"{kind.strip()} tests are" if of else "tests are"
    text = f"{s.name}'s {what} {abs(made.amount)} {'harder' if made.amount > 0 else 'easier'}."
    data: dict[str, Any] = {
        "amount": made.amount,
        "attribute": made.attribute,
        "skill": made.skill,
        "once": made.once,
    }
    step.about(s.id, "wasteland.modified", text, combatant=s.id, **data)
