"""A pilot for whoever a seat plays: what a sensible player would do next, from options and odds alone. Pure: it only suggests.

It gets up, picks up what it fights with, mends itself and those who die beside it, shoots or strikes where that hurts most, closes in when
nothing is in reach, and takes cover with what is left of the turn.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from engine import zones
from engine.options import Option, Param
from engine.rejected import Rejected
from engine.rulesets import Ruleset
from engine.rulesets.wasteland import body, derived, pools, targeting
from engine.rulesets.wasteland.model import Survivor
from engine.session import Prompt, Scene, Session
from engine.sight import sight_of, unseen

WORTH_TRYING = Fraction(1, 8)
"""Below this chance an attack is not made while there is something better to do."""
MOST_LOOKED_AT = 16
"""Attacks whose odds are worked out for one decision."""


def suggest(rules: Ruleset, session: Session, seat_id: str) -> dict[str, Any] | None:
    """A command the seat could send now: the answer to its oldest question, else its next action; None when it has nothing to do."""
    seat = session.seats.get(seat_id)
    if seat is None:
        return None
    for prompt in session.prompts.values():
        if prompt.to == seat_id and prompt.answer is None:
            return answer(session, prompt)
    options = [one for one in rules.options(session, seat_id) if one.group == "turn"]
    for encounter in session.encounters.values():
        by = session.combatants.get(encounter.current)
        mine = [one for one in options if one.combatant == encounter.current]
        if by is not None and mine and not encounter.pending:
            return _act(rules, session, seat_id, by, mine)
    return None


# --- questions -----------------------------------------------------------------------------------------------------------------


def answer(session: Session, prompt: Prompt) -> dict[str, Any]:
    """A sensible answer to a question; its default where there is no more sense in anything else."""
    choices = [one.value for one in prompt.choices]
    choice, ints = prompt.default, ()
    data = dict(prompt.data)
    if prompt.kind in ("aim", "luck") and "tn" in data:
        faces, positions = data["faces"], data["positions"]
        failed = sorted((one for one in positions if faces[one] > data["tn"]), key=lambda one: -faces[one])
        wanted = 1 if prompt.kind == "luck" else prompt.ints.most if prompt.ints is not None else 0
        if failed and (prompt.kind == "aim" or len(failed) == len(faces)):
            choice, ints = "yes", tuple(failed[:wanted])
    elif prompt.kind == "damage_free":
        blank = tuple(one for one in data["positions"] if data["faces"][one] in (3, 4))
        if blank and prompt.ints is not None:
            choice, ints = "yes", blank[: prompt.ints.most]
    elif prompt.kind == "damage_ap":
        choice = choices[min(len(choices) - 1, 1)]
    elif prompt.kind in ("parry", "help") and "yes" in choices:
        choice = "yes"
    elif prompt.kind == "complication":
        choice = "bank" if "bank" in choices else prompt.default
    found: dict[str, Any] = {"type": "answer", "prompt": prompt.id}
    if choice:
        found["choice"] = choice
    if prompt.ints is not None and prompt.ints.choice in ("", choice):
        found["ints"] = list(ints) or [prompt.ints.low] * prompt.ints.least
    return found


# --- actions -------------------------------------------------------------------------------------------------------------------


def _act(rules: Ruleset, session: Session, seat_id: str, by: Survivor, options: list[Option]) -> dict[str, Any]:
    kinds: dict[str, list[Option]] = {}
    for one in options:
        kinds.setdefault(one.type, []).append(one)
    scene = session.scenes[by.scene]
    gone = frozenset(unseen(rules, session, sight_of(session, seat_id)))
    foes = [
        one
        for one in session.combatants.values()
        if one.side != by.side and one.scene == by.scene and body.able(one) and one.kind != "object" and one.id not in gone
    ]
    free = [one for one in options if not one.cost]
    for type_ in ("wasteland.stand", "wasteland.reload"):
        for option in kinds.get(type_, ()):
            if option in free:
                return _filled(option)
    urgent = _mend(session, by, kinds, free)
    if urgent is not None:
        return urgent
    best = _best_attack(rules, session, seat_id, kinds)
    if best is not None:
        aim = kinds.get("wasteland.aim", [])
        if aim and aim[0] in free and "target" in best:
            return _filled(aim[0])
        return best
    closer = _closer(scene, by, foes, kinds)
    if closer is not None:
        return closer
    if not any(one.drawn for one in by.weapons) and "wasteland.draw" in kinds:
        return _filled(kinds["wasteland.draw"][0])
    cover = _cover(by, foes, kinds, free)
    if cover is not None:
        return cover
    rally = [one for one in kinds.get("wasteland.rally", ()) if one in free]
    if rally and pools.value(session, pools.pool_of(by)) < 2:
        return _filled(rally[0])
    defend = [one for one in kinds.get("wasteland.defend", ()) if one in free]
    if defend:
        return _filled(defend[0])
    return {"type": "turn.end", "combatant": by.id}


def _mend(session: Session, by: Survivor, kinds: dict[str, list[Option]], free: list[Option]) -> dict[str, Any] | None:
    """Stop burning, stabilize who dies beside one, take a chem when badly hurt."""
    if by.burns and max(one.amount * one.rounds for one in by.burns) >= by.hp:
        for option in kinds.get("wasteland.douse", ()):
            if option in free:
                return _filled(option)
    for option in kinds.get("wasteland.aid", ()):
        if option in free and option.command.get("what") == "stabilize":
            return _filled(option)
    for option in kinds.get("wasteland.chem", ()):
        if option not in free:
            continue
        what = option.command.get("what")
        patients = [one.value for one in option.params[0].choices] if option.params else []
        if what == "stabilize" and patients:
            return {**option.command, "patient": patients[0]}
        if what == "heal" and by.id in patients and 2 * by.hp <= derived.max_hp(by):
            return {**option.command, "patient": by.id}
    return None


def _best_attack(rules: Ruleset, session: Session, seat_id: str, kinds: dict[str, list[Option]]) -> dict[str, Any] | None:
    """The attack that promises the most damage, or a blast that catches more foes than friends."""
    best: tuple[Fraction, dict[str, Any]] | None = None
    looked = 0
    for option in kinds.get("wasteland.attack", ()):
        targets = next((one for one in option.params if one.name == "target"), None)
        if targets is None:
            continue
        for value in targets.choices:
            looked += 1
            if looked > MOST_LOOKED_AT:
                break
            command = {**option.command, "target": value.value}
            worth = _worth(rules, session, seat_id, command)
            if worth is not None and (best is None or worth > best[0]):
                best = (worth, command)
    for option in kinds.get("wasteland.blast", ()):
        by: Survivor = session.combatants[option.combatant]
        weapon = targeting.weapon_of(by, option.command["weapon"])
        for value in option.params[0].choices:
            there = [one for one in session.combatants.values() if one.scene == by.scene and one.zone == value.value and body.able(one)]
            gain = sum(1 if one.side != by.side else -2 for one in there)
            worth = Fraction(gain * weapon.dice, 2)
            if gain > 0 and (best is None or worth > best[0]):
                best = (worth, {**option.command, "zone": value.value})
    return None if best is None else best[1]


def _worth(rules: Ruleset, session: Session, seat_id: str, command: dict[str, Any]) -> Fraction | None:
    """Chance times mean damage; None below what is worth trying."""
    try:
        odds = rules.odds(session, seat_id, rules.decode(command))
    except Rejected:
        return None
    chance = next((Fraction(part.p) for part in odds.parts if part.name == "success"), Fraction(0))
    if chance < WORTH_TRYING:
        return None
    mean = sum((value.value * Fraction(value.p) for value in odds.damage or ()), Fraction(0))
    down = next((Fraction(part.p) for part in odds.parts if part.name == "defeat"), Fraction(0))
    return chance * mean + 3 * down


def _closer(scene: Scene, by: Survivor, foes: list[Survivor], kinds: dict[str, list[Option]]) -> dict[str, Any] | None:
    """A move that brings a foe into reach, or nearer."""
    if not foes:
        return None
    far = 99

    def away(zone: str) -> int:
        found = [zones.distance(scene, zone, one.zone) for one in foes]
        return min((one for one in found if one is not None), default=far)

    here = away(by.zone)
    fists = any(one.drawn and targeting.is_melee(one) for one in by.weapons)
    beside = any(zones.is_near(scene, by.id, one.id) for one in foes)
    best: tuple[int, dict[str, Any]] | None = None
    for option in (*kinds.get("wasteland.move", ()), *kinds.get("wasteland.sprint", ())):
        if option.cost:
            continue
        zone = option.command["zone"]
        there = [one.id for one in foes if one.zone == zone]
        near = [one.value for one in _choices(option, "near") if one.value and one.value[0] in there]
        distance = away(zone)
        if fists and near and not beside:
            command = {**option.command, "near": near[0]}
            score = -1
        elif distance < here:
            command, score = dict(option.command), distance
        else:
            continue
        if best is None or score < best[0]:
            best = (score, command)
    return None if best is None else best[1]


def _choices(option: Option, name: str) -> tuple[Any, ...]:
    found: Param | None = next((one for one in option.params if one.name == name), None)
    return () if found is None else found.choices


def _cover(by: Survivor, foes: list[Survivor], kinds: dict[str, list[Option]], free: list[Option]) -> dict[str, Any] | None:
    """Behind something in the own zone, with a move that costs nothing, when there is somebody to hide from."""
    if by.cover or not foes:
        return None
    for option in kinds.get("wasteland.move", ()):
        covers = [one.value for one in _choices(option, "cover") if one.value]
        if option in free and covers and option.command["zone"] == by.zone:
            return {**option.command, "cover": covers[0]}
    return None


def _filled(option: Option) -> dict[str, Any]:
    """The option with its parameters as they are by default, else the first value listed."""
    command = dict(option.command)
    for param in option.params:
        if not param.optional:
            command[param.name] = param.choices[0].value if param.choices else param.default
    return command
