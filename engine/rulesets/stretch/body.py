"""What happens to a body and a mind: Health, Stress, Resolve, Rads, marks (seeds/stretch_d20.txt, "Getting hurt and recovering")."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engine.rejected import Rejected
from engine.rulesets.stretch import sums
from engine.rulesets.stretch.model import MAX_RADS, Question, Wanderer
from engine.rulesets.stretch.switches import switch
from engine.zones import concealed

if TYPE_CHECKING:
    from engine.session import Session
    from engine.step import Step


def is_out(who: Wanderer) -> bool:
    """Whether somebody takes no turns: at 0 Health, dead, or collapsed under Stress."""
    return who.health == 0 or who.collapsed or who.state == "dead"


def change(step: Step, who_id: str, **fields: Any) -> Wanderer:
    """Write fields of somebody and keep `out` in step with them."""
    who: Wanderer = step.change("combatants", who_id, **fields)
    if who.out != is_out(who):
        who = step.change("combatants", who_id, out=is_out(who))
    return who


def wound(step: Step, who_id: str, amount: int, *, radiation: bool) -> list[Question]:
    """Take Health. Returns what has to be asked: at 0 the Ghoul Protocol where it applies, else what became of them."""
    was: Wanderer = step.combatants[who_id]
    who = change(step, who_id, health=max(was.health - amount, 0))
    if was.health == 0 or who.health:
        return []
    change(step, who_id, state="down")
    step.about(who_id, "stretch.down", f"{who.name} is at 0 Health: incapacitated or dying.", combatant=who_id)
    return [Question(kind="ghoul" if offers_ghoul(step, who, radiation=radiation) else "fall", combatant=who_id)]


def offers_ghoul(tree: Step | Session, who: Wanderer, *, radiation: bool) -> bool:
    """The Ghoul Protocol needs 1000 Rads, and radiation as what took the last Health (the second only under ghoul_protocol=both)."""
    protocol = switch(tree, "ghoul_protocol")
    return protocol != "off" and who.rads >= MAX_RADS and not who.ghoul and (radiation or protocol == "rads")


def irradiate(step: Step, who_id: str, rads: int) -> None:
    """Take Rads, up to 1000."""
    who: Wanderer = step.combatants[who_id]
    if not rads:
        return
    now = min(who.rads + rads, MAX_RADS)
    change(step, who_id, rads=now)
    text = f"{who.name} takes {rads} Rads."
    step.whisper("stretch.rads", text, who_id, combatant=who_id, rads=now, taken=now - who.rads)


def weary(step: Step, who_id: str, stress: int) -> None:
    """Take Stress: at half the maximum suffering begins, at the maximum somebody collapses until rested."""
    who: Wanderer = step.combatants[who_id]
    if not stress:
        return
    who = change(step, who_id, stress=min(who.stress + stress, who.max_stress))
    collapses = who.stress >= who.max_stress and not who.collapsed
    if collapses:
        who = change(step, who_id, collapsed=True)
    suffering = sums.suffers(step, who)
    text = f"{who.name} is at Stress {who.stress} of {who.max_stress}{' and suffers' if suffering else ''}."
    step.whisper("stretch.stress", text, who_id, combatant=who_id, stress=who.stress, suffering=suffering, collapsed=who.collapsed)
    if collapses:
        step.about(who_id, "stretch.collapse", f"{who.name} collapses until rested.", combatant=who_id)


def shake(step: Step, who_id: str, amount: int) -> list[Question]:
    """Take Resolve; at 0 the player says how the character breaks."""
    was: Wanderer = step.combatants[who_id]
    if not amount:
        return []
    who = change(step, who_id, resolve=max(was.resolve - amount, 0))
    step.whisper("stretch.resolve", f"{who.name} is at Resolve {who.resolve}.", who_id, combatant=who_id, resolve=who.resolve)
    if was.resolve == 0 or who.resolve:
        return []
    return [Question(kind="break", combatant=who_id)]


def mend(step: Step, who_id: str, amount: int) -> int:
    """Give Health back, up to the maximum; above 0 nobody is down any more. Returns what it came to."""
    who: Wanderer = step.combatants[who_id]
    health = max(min(who.health + amount, who.max_health), who.health)
    change(step, who_id, health=health, state="" if health and who.state != "dead" else who.state)
    return health - who.health


def meet(step: Step, who_id: str, state: str) -> None:
    """Write and tell what became of somebody."""
    who = change(step, who_id, state=state, **({"health": 0} if state == "dead" else {}))
    step.about(who_id, "stretch.fate", f"{who.name} is {state}.", combatant=who_id, state=state)


def put_mark(step: Step, who_id: str, name: str) -> None:
    who: Wanderer = step.combatants[who_id]
    if name not in who.marks:
        if len(who.marks) >= 32:
            raise Rejected("limit", "32 marks on one combatant are enough; take some off.", limit=32)
        change(step, who_id, marks=(*who.marks, name))
    step.about(who_id, "stretch.marked", f"{who.name} is marked: {name}.", combatant=who_id, mark=name)


def turn_ghoul(step: Step, who_id: str) -> None:
    """The Ghoul Protocol was chosen: on their feet again, changed (switch ghoul_health)."""
    who: Wanderer = step.combatants[who_id]
    health = {"one": 1, "half": max(who.max_health // 2, 1), "full": max(who.max_health, 1)}[switch(step, "ghoul_health")]
    change(step, who_id, ghoul=True, health=health, state="")
    step.about(who_id, "stretch.ghoul", f"{who.name} does not die: the change takes hold.", combatant=who_id, health=health)


def between(step: Step, one: str, other: str, type: str, text: str, **data: Any) -> None:
    """Say a fact that names two: to everyone, or, when one of them is concealed, to the GMs and who controls all that are."""
    secret = [who for who in (one, other) if concealed(step, step.combatants[who])]
    knowing = [seat.id for seat in step.seats.values() if seat.role == "gm" or all(who in seat.controls for who in secret)]
    step.emit(type, text, to=knowing if secret else None, **data)
