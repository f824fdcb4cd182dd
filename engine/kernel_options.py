"""What a seat may do under every ruleset: end or delay a turn, and what a GM does to the table (start, pause, undo).

All but ending a turn are of the group "table": people use them, pilots leave them alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from engine import turns
from engine.options import Option, Param, Value
from engine.session import Encounter, Seat, Session
from engine.sight import sight_of, unseen

if TYPE_CHECKING:
    from engine.rulesets import Ruleset

UNLISTED: Mapping[str, str] = {
    "roll": "free dice by any notation, whenever somebody likes",
    "test.propose": "what a player wants to attempt is free text",
    "test.withdraw": "who proposed a test may take it back; a pilot that was offered it would get nowhere",
}
"""The kernel's commands of players that no option lists, and why. What anybody at the table may send (talk, seats) is no play at all."""


def options_of(rules: Ruleset, session: Session, seat: str) -> list[Option]:
    """Everything a seat may do now: the ruleset's options, then the kernel's that the ruleset does not offer itself."""
    found = rules.options(session, seat)
    offered = [option.command for option in found]
    return [*found, *(option for option in table_options(rules, session, seat) if option.command not in offered)]


def table_options(rules: Ruleset, session: Session, seat_id: str) -> list[Option]:
    """The kernel's own options for a seat; [] for a seat that is not at the table."""
    seat = session.seats.get(seat_id)
    if seat is None:
        return []
    found: list[Option] = []
    if seat.role != "spectator" and not session.table.paused and session.table.suspended is None:
        lost = unseen(rules, session, sight_of(session, seat_id))
        for encounter in session.encounters.values():
            found += _turn(session, seat, encounter, lost)
    if seat.role == "gm":
        found += _gm(session)
    return found


def _turn(session: Session, seat: Seat, encounter: Encounter, lost: tuple[str, ...]) -> list[Option]:
    by = session.combatants.get(encounter.current)
    if by is None or by.out or encounter.pending or (seat.role != "gm" and by.id not in seat.controls):
        return []
    found = [Option(type="turn.end", text="End the turn", command={"type": "turn.end", "combatant": by.id}, combatant=by.id)]
    waiting = [
        Value(one, session.combatants[one].name)
        for one in encounter.order
        if one not in encounter.acted and one != by.id and one not in lost and turns.can_act(session, one)
    ]
    if waiting and not encounter.begun:
        after = Param(name="after", text="After whom?", choices=tuple(waiting))
        found.append(_table("turn.delay", "Take this turn later", {"combatant": by.id}, (after,), combatant=by.id))
    return found


def _gm(session: Session) -> list[Option]:
    paused = session.table.paused
    entering = session.table.suspended is not None  # what may have to roll waits for dice that are being entered
    found = [_table("gm.pause", "Resume the game" if paused else "Pause the game", {"on": not paused})]
    if session.table.last > 1:
        again = Param(
            name="dice",
            text="The dice?",
            choices=(Value("keep", "the same faces again"), Value("new", "new dice")),
            default="keep",
            optional=True,
        )
        found.append(_table("gm.undo", "Undo the last step", {}, (again,)))
    fighting = {encounter.scene: encounter for encounter in session.encounters.values()}
    for scene in session.scenes.values():
        encounter = fighting.get(scene.id)
        if encounter is not None:
            found.append(_table("gm.encounter.end", f"End the fight in {scene.name}", {"encounter": encounter.id}))
            if not encounter.pending and encounter.current and not entering:
                found.append(_table("gm.turn", f"Skip the turn in {scene.name}", {"encounter": encounter.id}))
        elif not entering and any(c.scene == scene.id and not c.out and c.kind != "object" for c in session.combatants.values()):
            found.append(_table("gm.encounter", f"Start a fight in {scene.name}", {"scene": scene.id}))
    found.append(_table("gm.sitting", "Open the next sitting", {}))
    return found


def _table(type: str, text: str, fields: dict[str, Any], params: tuple[Param, ...] = (), *, combatant: str = "") -> Option:
    return Option(type=type, text=text, command={"type": type, **fields}, params=params, combatant=combatant, group="table")
