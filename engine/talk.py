"""What anyone at the table may do at any time: talk, post, roll freely, set preferences, leave."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from engine import commands as c
from engine import notation
from engine.dice import RolledFact
from engine.rejected import Rejected, unknown
from engine.step import Step
from engine.zones import concealed


def fact(roll: RolledFact) -> dict[str, Any]:
    """A roll as an event tells it: stream, number, sides, faces, and what was re-rolled or kept."""
    told: dict[str, Any] = {"stream": roll.stream, "index": roll.index, "n": roll.n, "sides": roll.sides, "faces": list(roll.faces)}
    if roll.of:
        told["of"] = roll.of
        told["positions"] = list(roll.positions)
    if roll.kept:
        told["kept"] = [list(one) for one in roll.kept]
    if not roll.proven:
        told["proven"] = False
    return told


def _audience(step: Step, to: tuple[str, ...]) -> tuple[str, ...] | None:
    if not to:
        return None
    for seat_id in to:
        if seat_id not in step.seats:
            raise Rejected("unknown_seat", f"There is no seat '{seat_id}' at this table.", given=seat_id, known=list(step.seats))
    return tuple(dict.fromkeys((step.by, *to)))


def _ref(text: Any) -> c.TextRef:
    if not isinstance(text, c.TextRef):
        raise Rejected("internal", "A text reached the rules; the server keeps texts outside the log.")
    return text


def chat(step: Step, command: c.Chat) -> None:
    ref = _ref(command.text)
    to = _audience(step, command.to)
    step.emit("chat", "", to=to, body=ref.id, by=step.by, sha256=ref.sha256, private=to is not None)


def post(step: Step, command: c.Post) -> None:
    ref = _ref(command.text)
    to = _audience(step, command.to)
    data: dict[str, Any] = {"by": step.by, "sha256": ref.sha256, "private": to is not None}
    if command.combatant:
        combatant = step.combatant(command.combatant)
        if not step.controls(combatant.id):
            raise Rejected("not_yours", f"{combatant.name} is not yours to speak for.", combatant=combatant.id)
        if not concealed(step, combatant):  # who is out of sight speaks with no name
            data["combatant"] = combatant.id
            data["name"] = combatant.name
    step.emit("post", "", to=to, body=ref.id, **data)


def roll(step: Step, command: c.Roll) -> None:
    if command.hidden and not step.is_gm:
        raise Rejected("forbidden", "Only a GM rolls in secret.", needs="gm")
    try:
        expression = notation.parse(command.notation)
    except notation.NotationError as problem:
        raise Rejected("bad_command", str(problem), position=problem.position) from None
    rolls: list[RolledFact] = []

    def draw(count: int, sides: int) -> tuple[int, ...]:
        rolled = step.roll(count, sides, purpose="free", actor=step.by, hidden=command.hidden)
        rolls.append(rolled)
        return rolled.faces

    def again(positions: tuple[int, ...], sides: int) -> tuple[int, ...]:
        rolled = step.roll(
            len(positions), sides, purpose="free.again", actor=step.by, hidden=command.hidden, of=rolls[-1].n, positions=positions
        )
        rolls.append(rolled)
        return rolled.faces

    result = notation.evaluate(expression, draw, again)
    name = step.seats[step.by].name if step.by in step.seats else step.by
    text = f"{name} rolls {command.notation}: {result.total}."
    data: dict[str, Any] = {
        "by": step.by,
        "notation": command.notation,
        "label": command.label,
        "total": result.total,
        "effects": result.effects,
        "groups": msgspec.to_builtins(result.groups),
        "rolls": [fact(one) for one in rolls],
    }
    step.emit("rolled", text, to=step.gms() if command.hidden else None, **data)


def prefs(step: Step, command: c.Prefs) -> None:
    seat = step.seats[step.by]
    kept = {**dict(seat.prefs), command.kind: command.value}
    if command.value == "ask":
        del kept[command.kind]
    if len(kept) > 64:
        raise Rejected("limit", "64 preferences are enough.", limit=64)
    step.change("seats", seat.id, prefs=tuple(sorted(kept.items())))


def leave(step: Step, command: c.Leave) -> None:
    seat = step.seats[step.by]
    if seat.role == "gm" and len(step.gms()) == 1:
        raise Rejected("not_now", "The last GM cannot leave; give the role to another seat first.")
    remove_seat(step, seat.id)


def remove_seat(step: Step, seat_id: str) -> None:
    """A seat is gone; open questions to it go to a GM."""
    if seat_id not in step.seats:
        raise unknown("seat", seat_id, list(step.seats))
    name = step.seats[seat_id].name
    step.remove("seats", seat_id)
    reroute(step)
    step.emit("seat.left", f"{name} left the table.", seat=seat_id)


def reroute(step: Step) -> None:
    """Give open questions to seats that are no more to a GM."""
    gms = step.gms()
    for prompt in list(step.prompts.values()):
        if prompt.to not in step.seats and prompt.answer is None and gms:
            step.change("prompts", prompt.id, to=gms[0])


HANDLERS: dict[type, Callable[[Step, Any], None]] = {c.Chat: chat, c.Post: post, c.Roll: roll, c.Prefs: prefs, c.Leave: leave}
