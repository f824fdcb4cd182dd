"""Who is told what: nobody learns from an event of somebody who is concealed, nor figures of people whose sheet is not open to them."""

from __future__ import annotations

from typing import Any

from engine import turns, zones
from engine.rulesets.wasteland import body
from engine.rulesets.wasteland.model import Survivor
from engine.session import Session
from engine.step import Step


def tell(
    step: Step,
    about: tuple[str, ...],
    type: str,
    text: str,
    data: dict[str, Any],
    *,
    public: tuple[str, str, dict[str, Any]] | None = None,
) -> None:
    """Say a fact that names these combatants: to everyone (`public` to who may not read the whole, where given).

    When one of them is concealed, it is said to the GMs and to who controls all the concealed ones, and to nobody else.
    """
    hidden = []
    for one in about:
        combatant = step.combatants.get(one)
        if combatant is not None and zones.concealed(step, combatant):
            hidden.append(one)
    if hidden:
        to = [seat.id for seat in step.seats.values() if seat.role == "gm" or set(hidden).issubset(seat.controls)]
        step.emit(type, text, to=to, **data)
    elif public is not None:
        to = [seat.id for seat in step.seats.values() if seat.role == "gm" or any(one in seat.controls for one in about)]
        step.emit(type, text, to=to, public=public, **data)
    else:
        step.emit(type, text, **data)


def is_open(s: Survivor) -> bool:
    """Whether everybody at the table may know a survivor's figures: a player's character."""
    return s.tier == "pc"


def engaged(tree: Step | Session, s: Survivor) -> bool:
    """Whether an enemy stands within reach. One that nobody may know of does not show itself by this."""
    scene = tree.scenes.get(s.scene)
    if scene is None:
        return False
    for other_id in zones.near(scene, s.id):
        other = tree.combatants.get(other_id)
        if other is not None and body.able(other) and other.side != s.side and not zones.concealed(tree, other):
            return True
    return False


def fighting(tree: Step | Session, s: Survivor) -> bool:
    """Whether a survivor takes part in a running fight."""
    return turns.encounter_of(tree, s) is not None
