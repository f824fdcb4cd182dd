"""What a turn may do and what more costs: who may act, the actions used, their price in AP, and buying them.

combat_rules_2d20, "Actions"; FACTS B1 (second_major_penalty), B2.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from engine import turns
from engine.rejected import Rejected, unknown
from engine.rulesets.wasteland import body, perks, pools
from engine.rulesets.wasteland.model import Survivor, Turn
from engine.rulesets.wasteland.switches import switch
from engine.rulesets.wasteland.tables import SECOND_MAJOR, SECOND_MINOR
from engine.session import Encounter, Session
from engine.step import Step


def acting(step: Step, combatant_id: str, *, granted: bool = False) -> tuple[Survivor, Encounter | None]:
    """Who acts and in which fight, checked. `granted`: a readied or commanded action, which needs no turn. Raises Rejected."""
    if granted:
        s: Survivor | None = step.combatants.get(combatant_id)
        if s is None:
            raise unknown("combatant", combatant_id)
        encounter = turns.encounter_of(step, s)
    else:
        s, encounter = turns.acting(step, combatant_id)
    if not body.able(s):
        raise Rejected("not_now", f"{s.name} cannot act.", combatant=s.id)
    return s, encounter


def named(step: Step, combatant_id: str, *, granted: bool) -> Survivor:
    """The combatant that an action names: as the acting seat sees it, or (`granted`) as it was named when the action was readied."""
    found: Survivor | None = step.combatants.get(combatant_id) if granted else step.combatant(combatant_id)
    if found is None:
        raise unknown("combatant", combatant_id)
    return found


def fighting(step: Step, combatant_id: str, *, granted: bool = False) -> tuple[Survivor, Encounter]:
    """The same for what makes sense in a fight alone."""
    s, encounter = acting(step, combatant_id, granted=granted)
    if encounter is None:
        raise Rejected("not_now", "That is for fights.", combatant=s.id)
    return s, encounter


def allowed(turn: Turn, kind: str) -> tuple[int, int, int]:
    """(used, free, most) actions of a kind, "minors" or "majors": one is the turn's own (none when stunned), one more can be bought."""
    if turn.frozen:
        return getattr(turn, kind), 0, 0
    free = 0 if turn.stunned else 1
    return getattr(turn, kind), free, free + 1


def price(turn: Turn, kind: str) -> int | None:
    """AP for the next action of a kind; None when no more may be taken."""
    used, free, most = allowed(turn, kind)
    if used >= most:
        return None
    return 0 if used < free else SECOND_MINOR if kind == "minors" else SECOND_MAJOR


def second_penalty(tree: Step | Session, s: Survivor) -> int:
    """Difficulty added to a test on the next major action: 1 when it is a bought one.

    Switches `second_major_penalty`, and `bought_major_penalty` for a bought one that is the turn's first (stunned).
    """
    used, free, _ = allowed(s.turn, "majors")
    if used < free or (used == 0 and switch(tree, "bought_major_penalty") == "second"):
        return 0
    return max(int(switch(tree, "second_major_penalty")) + perks.bonus(s, "second_major"), 0)


def use(
    step: Step,
    s: Survivor,
    kind: str,
    *,
    gm_ap: bool = False,
    cost: int | None = None,
    fields: Mapping[str, Any] | None = None,
    **marks: Any,
) -> Survivor:
    """Use up an action, buying it when the turn's own is gone, at its price or at `cost`; `marks` are further fields of the turn,
    `fields` of the survivor. Raises Rejected (limit, cannot_pay).
    """
    usual = price(s.turn, kind)
    cost = usual if cost is None or usual is None else cost
    if cost is None:
        raise Rejected("limit", f"{s.name} has taken all the {kind[:-1]} actions a turn can have.", kind=kind)
    if cost:
        pools.pay(step, s, cost, f"another {kind[:-1]} action", gm_ap=gm_ap and switch(step, "gm_ap_scope") == "any")
    turn = replace(s.turn, begun=True, **{kind: getattr(s.turn, kind) + 1}, **marks)
    changed: Survivor = step.change("combatants", s.id, turn=turn, **(fields or {}))
    return changed
