"""Undo: restore what it restores at an earlier version, and keep the voided faces for the same rolls.

Seats, chat, settings and dice stay as they are; an undo is an entry like any other, so it can be undone in turn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.rejected import Rejected
from engine.session import RESTORED, Kept
from engine.talk import reroute

if TYPE_CHECKING:
    from engine.commands import GmUndo
    from engine.kernel import Past
    from engine.session import Session
    from engine.step import Step


def undo(step: Step, command: GmUndo, past: Past | None) -> None:
    """Restore what an undo restores; voided faces are kept for the same rolls unless new dice are asked for. Raises Rejected."""
    target = command.to or step.table.last - 1
    if not command.to and target < 1:
        raise Rejected("not_now", "There is nothing to undo; to go to another version, name it.", v=step.before.v)
    if not 1 <= target < step.before.v:
        raise Rejected("illegal_choice", f"Undo goes to a version from 1 to {step.before.v - 1}.", given=command.to, v=step.before.v)
    if past is None or past.session.v != target:
        raise Rejected("internal", "The server did not bring the version to restore.")
    then = past.session
    for kind in KIND_ORDER:
        now_entities, then_entities = getattr(step, kind), getattr(then, kind)
        for entity_id in list(now_entities):
            if entity_id not in then_entities:
                step.remove(kind, entity_id)
        for entity_id, entity in then_entities.items():
            if now_entities.get(entity_id) != entity:  # equal ones may be two objects, when the past was read from the log
                step.put(kind, entity)
    for prompt in list(step.prompts.values()):
        if prompt.answer is None:
            step.change("prompts", prompt.id, deadline=step.deadline(f"deadline.{prompt.kind}", "deadline.prompt"))
    reroute(step)
    for encounter in list(step.encounters.values()):
        if encounter.current:
            step.change("encounters", encounter.id, deadline=step.deadline("deadline.turn"))
    for seat in step.seats.values():
        controls = tuple(one for one in seat.controls if one in step.combatants)
        # Who comes back into play comes back to its seat; whom a GM gave to another seat stays there.
        had = then.seats[seat.id].controls if seat.id in then.seats else ()
        back = tuple(one for one in had if one in step.combatants and one not in step.before.combatants)
        if (*controls, *back) != seat.controls:
            step.change("seats", seat.id, controls=(*controls, *back))
    dropped = step.table.dropped if command.dice == "keep" else _dropped(step, then)
    kept = _voided(past, dropped) if command.dice == "keep" else ()
    suspended = then.table.suspended if step.table.physical else None
    if suspended is None:
        for prompt in list(step.prompts.values()):
            if prompt.owner[0] == "table":
                step.remove("prompts", prompt.id)
    step.change("table", "", clock=then.table.clock, last=then.table.last, kept=kept, dropped=dropped, suspended=suspended)
    step.past = target
    step.kind = "undo"
    step.emit("undone", f"The GM takes the table back to version {target}.", to_v=target, dice=command.dice)


KIND_ORDER = tuple(kind for kind in ("scenes", "combatants", "encounters", "pools", "tests", "prompts") if kind in RESTORED)


def _dropped(step: Step, then: Session) -> tuple[tuple[str, int, int], ...]:
    """The spans of rolls thrown away for good, with those since `then`."""
    spans = list(step.table.dropped)
    for stream, was, now in (("open", then.table.open.n, step.table.open.n), ("hidden", then.table.hidden.n, step.table.hidden.n)):
        if now > was:
            spans = [one for one in spans if not (one[0] == stream and one[1] > was)]
            spans.append((stream, was + 1, now))
    return tuple(spans[-100:])


def _voided(past: Past, dropped: tuple[tuple[str, int, int], ...]) -> tuple[Kept, ...]:
    """The faces that serve again: those that served already when the restored version was new, and those of every roll since.

    Starting from that version, not from today, leaves out rolls that the undo itself brings back into force.
    """
    kept = {(one.stream, one.n): one for one in past.session.table.kept}
    for roll in past.rolls:
        for n, _ in roll.kept:
            kept.pop((roll.stream, n), None)
        if roll.proven and not any(stream == roll.stream and first <= roll.n <= last for stream, first, last in dropped):
            kept[roll.stream, roll.n] = Kept(
                stream=roll.stream, n=roll.n, actor=roll.actor, purpose=roll.purpose, sides=roll.sides, faces=roll.faces
            )
    return tuple(kept.values())[-400:]
