"""Luck: re-rolls, Stacked Deck, Lucky Timing, Luck of the Draw, and getting points back (core_rules_2d20, "Luck", "Regaining Luck")."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from engine import prompts, testlife, turns
from engine.rejected import Rejected
from engine.rulesets import Answered
from engine.rulesets.wasteland import body, checks, derived, telling
from engine.rulesets.wasteland.commands import LuckDraw, LuckOffer, LuckRefresh, LuckReroll, LuckTiming, LuckTrinket
from engine.rulesets.wasteland.model import Survivor, Throw
from engine.rulesets.wasteland.pending import Hold, Wish
from engine.rulesets.wasteland.switches import switch
from engine.session import Ints, Test
from engine.step import Step
from engine.talk import fact

Owner = tuple[str, str]


def pay(step: Step, s: Survivor, points: int, what: str) -> Survivor:
    """Take Luck points. Raises Rejected("cannot_pay")."""
    if s.luck < points:
        raise Rejected(
            "cannot_pay", f"{what} takes {points} Luck and {s.name} has {s.luck}.", combatant=s.id, cost=points, value=s.luck, pool="luck"
        )
    changed: Survivor = step.change("combatants", s.id, luck=s.luck - points)
    return changed


# --- Miss Fortune ----------------------------------------------------------------------------------------------------------


def silent(step: Step, combatant_id: str, kind: str) -> bool:
    """Whether the seat that would be asked has said never to be."""
    seat = step.seats.get(step.controller(combatant_id))
    return seat is None or seat.preference(kind) == "never"


def open_positions(step: Step, throw: Throw) -> tuple[int, ...]:
    """Dice of a pool that a re-roll may still better: not critical already, and not re-rolled before (switch `reroll_once`)."""
    once = switch(step, "reroll_once")
    return tuple(i for i, face in enumerate(throw.faces) if face > throw.crit and not (once and i in throw.rerolled))


def ask_d20(step: Step, owner: Owner, throw: Throw) -> str:
    """Ask who rolled a pool whether to spend Luck on it; "" when there is nothing to ask."""
    s = step.combatants.get(throw.by)
    if s is None or not s.luck or silent(step, throw.by, "luck"):
        return ""
    positions = open_positions(step, throw)
    most = min(s.luck, len(positions))
    if not most:
        return ""
    return step.ask(
        owner,
        step.controller(throw.by),
        kind="luck",
        type="wasteland.luck?",
        text=f"{s.name} rolled {', '.join(map(str, throw.faces))} against {throw.tn}. Re-roll dice for 1 Luck each? {s.luck} Luck left.",
        choices=[("no", "Keep them"), ("yes", "Re-roll these positions (from 0)")],
        default="no",
        never="no",
        ints=Ints(least=1, most=most, low=0, high=len(throw.faces) - 1, choice="yes"),
        combatant=throw.by,
        faces=list(throw.faces),
        positions=list(positions),
        tn=throw.tn,
    )


def check_positions(given: tuple[int, ...], size: int, rerolled: tuple[int, ...], once: bool) -> None:
    """Raises Rejected("illegal_choice") unless these dice exist, are named once and were not re-rolled before."""
    if len(set(given)) != len(given) or not given or not all(0 <= one < size for one in given):
        raise Rejected("illegal_choice", f"Name dice by their positions, 0 to {size - 1}, each once.", given=list(given))
    again = sorted(set(given) & set(rerolled))
    if once and again:
        raise Rejected("illegal_choice", "A die is re-rolled only once; its second result stands.", positions=again)


def reroll_d20(step: Step, throw: Throw, positions: tuple[int, ...], *, hidden: bool, points: int, purpose: str) -> Throw:
    """Re-roll some dice of a pool for so many Luck points (0: Aim pays). The new faces stand. Raises Rejected."""
    check_positions(positions, len(throw.faces), throw.rerolled, switch(step, "reroll_once"))
    s = step.combatants[throw.by]
    if points:
        s = pay(step, s, points, "The re-roll")
    again = step.roll(len(positions), 20, purpose=purpose, actor=throw.by, hidden=hidden, of=throw.roll, positions=positions)
    faces = list(throw.faces)
    for position, face in zip(positions, again.faces, strict=True):
        faces[position] = face
    data: dict[str, Any] = {"combatant": s.id, "positions": list(positions), "faces": faces, "luck": points, "rolls": [fact(again)]}
    text = f"{s.name} re-rolls {', '.join(str(throw.faces[one]) for one in positions)}: {', '.join(map(str, again.faces))}."
    if hidden:
        step.whisper("wasteland.reroll", text, s.id, **data)
    else:
        step.about(s.id, "wasteland.reroll", text, **data)
    return replace(throw, faces=tuple(faces), rerolled=tuple(sorted({*throw.rerolled, *positions})))


def ask_damage(step: Step, owner: Owner, s: Survivor, faces: tuple[int, ...], rerolled: tuple[int, ...]) -> str:
    """Ask who rolled damage whether to spend Luck on it, up to three dice a point; "" when there is nothing to ask."""
    if not s.luck or silent(step, s.id, "damage_luck"):
        return ""
    left = [i for i in range(len(faces)) if not (switch(step, "reroll_once") and i in rerolled)]
    if not left:
        return ""
    return step.ask(
        owner,
        step.controller(s.id),
        kind="damage_luck",
        type="wasteland.damage_luck?",
        text=f"{s.name} rolled {', '.join(map(str, faces))} for damage. Re-roll up to three dice for each Luck? {s.luck} Luck left.",
        choices=[("no", "Keep them"), ("yes", "Re-roll these positions (from 0)")],
        default="no",
        never="no",
        ints=Ints(least=1, most=min(3 * s.luck, len(left)), low=0, high=len(faces) - 1, choice="yes"),
        combatant=s.id,
        faces=list(faces),
        positions=left,
    )


def reroll_damage(
    step: Step,
    s: Survivor,
    faces: tuple[int, ...],
    roll: int,
    rerolled: tuple[int, ...],
    positions: tuple[int, ...],
    *,
    free: bool = False,
) -> Any:
    """(faces, rerolled) after re-rolling combat dice, 1 LP for each three, or `free`. Raises Rejected."""
    check_positions(positions, len(faces), rerolled, switch(step, "reroll_once"))
    points = 0 if free else checks.luck_price(len(positions))
    if points:
        pay(step, s, points, "The re-roll")
    again = step.roll(len(positions), 6, purpose="damage.again", actor=s.id, of=roll, positions=positions)
    new = list(faces)
    for position, face in zip(positions, again.faces, strict=True):
        new[position] = face
    step.about(
        s.id,
        "wasteland.reroll",
        f"{s.name} re-rolls {len(positions)} damage dice: {', '.join(map(str, again.faces))}.",
        combatant=s.id,
        positions=list(positions),
        faces=new,
        luck=points,
        rolls=[fact(again)],
    )
    return tuple(new), tuple(sorted({*rerolled, *positions}))


def reroll_command(step: Step, command: LuckReroll) -> None:
    """Miss Fortune by name: answer the open question with yes."""
    s = _own(step, command.combatant)
    for prompt in step.prompts.values():
        if prompt.kind in ("luck", "damage_luck") and prompt.combatant == s.id and prompt.answer is None:
            prompts.answer(step, prompt, "yes", command.positions)
            return
    if not s.luck:
        raise Rejected("cannot_pay", f"{s.name} has no Luck left.", combatant=s.id, pool="luck", cost=1, value=0)
    raise Rejected("not_now", f"No roll of {s.name} waits to be re-rolled.", combatant=s.id)


def _own(step: Step, combatant_id: str) -> Survivor:
    s: Survivor = step.combatant(combatant_id)
    if not step.controls(combatant_id):
        raise Rejected("not_yours", f"{s.name} is not yours to command.", combatant=combatant_id)
    return s


# --- Lucky Timing ------------------------------------------------------------------------------------------------------------


def timing(step: Step, command: LuckTiming) -> None:
    """core_rules_2d20, "Lucky Timing". It never blocks: it is open until whoever's turn it is does something, or ordered in advance."""
    s = _own(step, command.combatant)
    encounter = turns.encounter_of(step, s)
    if encounter is None or not body.able(s):
        raise Rejected("not_now", "Lucky Timing is for those who fight.", combatant=s.id)
    if command.cancel:
        if not s.timing:
            raise Rejected("not_now", f"{s.name} has ordered nothing.", combatant=s.id)
        step.change("combatants", s.id, timing="")
        step.emit("wasteland.luck.order", f"{s.name} waits for the usual turn after all.", to=_inner(step, s), combatant=s.id, after="")
        return
    if not s.luck:
        raise Rejected("cannot_pay", f"{s.name} has no Luck left.", combatant=s.id, pool="luck", cost=1, value=0)
    if command.after:
        step.combatant(command.after)
        if command.after == s.id or command.after not in encounter.order:
            raise Rejected("illegal_choice", "Name somebody else who fights here.", combatant=command.after)
        step.change("combatants", s.id, timing=command.after)
        text = f"{s.name} means to act right after {step.name(command.after)}."
        step.emit("wasteland.luck.order", text, to=_inner(step, s), combatant=s.id, after=command.after)
        return
    if s.id in encounter.acted or encounter.current == s.id:
        raise Rejected("not_now", f"{s.name} has taken a turn this round.", combatant=s.id)
    if encounter.pending:
        raise Rejected("busy", "An unfinished action waits for an answer first.", encounter=encounter.id)
    running = step.combatants.get(encounter.current)
    if running is not None and running.turn.begun:
        raise Rejected("not_now", "A turn has begun; wait for its end.", encounter=encounter.id)
    pay(step, s, 1, "Lucky Timing")
    step.about(s.id, "wasteland.luck.timing", f"{s.name} is quick: it is their turn now.", combatant=s.id, luck=s.luck - 1)
    turns.give(step, encounter.id, s.id)


def hold(step: Step, encounter_id: str, current: str) -> None:
    """`timing_hold`: before the turn that begins now, those who could act before it are asked. A preference of `never` asks nobody."""
    encounter = step.encounters[encounter_id]
    asked: list[str] = []
    of: list[str] = []
    for one in encounter.order:
        s = step.combatants.get(one)
        if s is None or one == current or one in encounter.acted or not s.luck or not body.able(s) or silent(step, one, "timing"):
            continue
        asked.append(
            step.ask(
                ("encounters", encounter_id),
                step.controller(one),
                kind="timing",
                type="wasteland.timing?",
                text=f"It would be {step.name(current)}'s turn. Does {s.name} act first, for 1 Luck?",
                choices=[("no", "No"), ("yes", "Act now, for 1 Luck")],
                default="no",
                never="no",
                combatant=one,
            )
        )
        of.append(one)
    if asked:
        step.push(("encounters", encounter_id), Hold(prompts=tuple(asked), of=tuple(of)))


def held(step: Step, encounter_id: str, record: Hold, answers: tuple[Answered, ...]) -> None:
    """The first in the order who wants to act does; nobody else may in the same gap."""
    encounter = step.encounters.get(encounter_id)
    wanted = {one.combatant for one in answers if one.choice == "yes"}
    for one in record.of:
        s = step.combatants.get(one)
        if encounter is not None and one in wanted and s is not None and s.luck and body.able(s) and one not in encounter.acted:
            pay(step, s, 1, "Lucky Timing")
            step.about(one, "wasteland.luck.timing", f"{s.name} is quick: it is their turn now.", combatant=one, luck=s.luck - 1)
            turns.give(step, encounter_id, one)
            return


def _inner(step: Step, s: Survivor) -> list[str]:
    return [seat.id for seat in step.seats.values() if seat.role == "gm" or s.id in seat.controls]


# --- Luck of the Draw --------------------------------------------------------------------------------------------------------


def draw(step: Step, command: LuckDraw) -> None:
    """core_rules_2d20, "Luck of the Draw": the player suggests, the GM allows it, names a price, or vetoes."""
    s = _own(step, command.combatant)
    if not s.luck:
        raise Rejected("cannot_pay", f"{s.name} has no Luck left.", combatant=s.id, pool="luck", cost=1, value=0)
    owner = _table(step, s, command.text)
    priced = switch(step, "draw_cost") == "gm"
    prompt = step.ask(
        owner,
        next(iter(step.gms()), step.by),
        kind="draw",
        type="wasteland.draw?",
        text=f"{s.name} would be lucky: {command.text} Allow it?",
        choices=[("veto", "Not this time"), ("yes", "Allow it for this many Luck points" if priced else "Allow it for 1 Luck point")],
        default="veto",
        never="veto",
        ints=Ints(least=0, most=1, low=1, high=s.luck, choice="yes") if priced else None,
        combatant=s.id,
    )
    step.push(owner, Wish(prompts=(prompt,), by=s.id, text=command.text))


def offer(step: Step, command: LuckOffer) -> None:
    """The GM prompts a player with an opportunity."""
    s = step.combatant(command.combatant)
    if switch(step, "draw_cost") != "gm" and command.price != 1:
        raise Rejected("illegal_choice", "Luck of the Draw costs 1 Luck point here.", field="price")
    if s.luck < command.price:
        raise Rejected("cannot_pay", f"{s.name} has {s.luck} Luck.", combatant=s.id, pool="luck", cost=command.price, value=s.luck)
    _ask_price(step, _table(step, s, command.text), s, command.text, command.price)


def _table(step: Step, s: Survivor, text: str) -> Owner:
    """Something for the questions to hang on: a test that is never rolled."""
    if len(step.tests) >= testlife.MAX_OPEN:
        raise Rejected("limit", f"{testlife.MAX_OPEN} tests are open; finish or withdraw some first.", limit=testlife.MAX_OPEN)
    test = step.add("tests", Test(id=step.ident("t"), scene=s.scene, by=s.id, label="Luck of the Draw", status="rolled", hidden=s.hidden))
    testlife.said(step, test, "wasteland.luck.draw", f"{s.name} would be lucky: {text}", wish=text)
    return ("tests", test.id)


def _ask_price(step: Step, owner: Owner, s: Survivor, text: str, price: int) -> None:
    prompt = step.ask(
        owner,
        step.controller(s.id),
        kind="draw_price",
        type="wasteland.draw_price?",
        text=f"{text} Pay {price} Luck for it? {s.luck} Luck left.",
        choices=[("no", "No"), ("yes", f"Pay {price} Luck")],
        default="no",
        always="yes",
        never="no",
        combatant=s.id,
        price=price,
    )
    step.push(owner, Wish(prompts=(prompt,), by=s.id, text=text, price=price))


def wish_answered(step: Step, owner: Owner, record: Wish, answers: tuple[Answered, ...]) -> None:
    s = step.combatants.get(record.by)
    test = step.tests[owner[1]]
    given = answers[0] if answers else None
    if s is None or given is None or given.choice != "yes":
        who = "The GM says no" if not record.price else f"{step.name(record.by)} lets it pass"
        testlife.said(step, test, "wasteland.luck.refused", f"{who}.")
        testlife.close(step, test.id)
        return
    price = record.price or (given.ints[0] if given.ints else 1)
    if not record.price and price > 1:
        _ask_price(step, owner, s, record.text, price)
        return
    if s.luck < price:
        # It was spent on something else meanwhile.
        testlife.said(step, test, "wasteland.luck.refused", f"{s.name} has not got {price} Luck any more.")
    else:
        pay(step, s, price, "Luck of the Draw")
        testlife.said(step, test, "wasteland.luck.granted", f"{s.name} is lucky, for {price} Luck: {record.text}", price=price)
    testlife.close(step, test.id)


# --- getting it back ---------------------------------------------------------------------------------------------------------


def refresh(step: Step, combatants: tuple[str, ...] = ()) -> None:
    """All points back, whatever was spent; never more than the attribute gives."""
    for combatant_id in combatants or tuple(step.combatants):
        s = step.combatant(combatant_id)
        full = derived.max_luck(s)
        if s.luck != full:
            step.change("combatants", s.id, luck=full)


def refresh_command(step: Step, command: LuckRefresh) -> None:
    refresh(step, command.combatants)
    if command.reason == "quest":
        for s in list(step.combatants.values()):
            if s.trinket:
                step.change("combatants", s.id, trinket=False)
    data = {"reason": command.reason, "combatants": list(command.combatants)}
    telling.tell(step, command.combatants, "wasteland.luck.refreshed", "Luck is back.", data)


def trinket(step: Step, command: LuckTrinket) -> None:
    """summary_2d20_zh, section 3: meditate on the personal item, +1, once per quest (switch `trinket_luck`)."""
    s = _own(step, command.combatant)
    if not switch(step, "trinket_luck"):
        raise Rejected("forbidden", "Personal items give no Luck at this table.", option="trinket_luck")
    if s.trinket:
        raise Rejected("limit", f"{s.name}'s item gave its point in this quest already.", combatant=s.id)
    if turns.encounter_of(step, s) is not None:
        raise Rejected("not_now", "There is no rest in a fight.", combatant=s.id)
    if s.luck >= derived.max_luck(s):
        raise Rejected("limit", f"{s.name} has all the Luck there is.", combatant=s.id)
    step.change("combatants", s.id, luck=s.luck + 1, trinket=True)
    step.about(s.id, "wasteland.luck.trinket", f"{s.name} rests with an old keepsake: 1 Luck.", combatant=s.id, luck=s.luck + 1)
