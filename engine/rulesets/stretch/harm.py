"""The GM's hand on bodies and minds: hurt, ease, rest, fate, marks (seeds/stretch_d20.txt, "Getting hurt and recovering")."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.rejected import Rejected
from engine.rulesets.stretch import asking, body, sums

if TYPE_CHECKING:
    from engine.rulesets.stretch import commands as c
    from engine.rulesets.stretch.model import Question, Wanderer
    from engine.step import Step


def hurt(step: Step, command: c.Hurt) -> None:
    """Rads first, so that the blast that fills the scale may also be the one that counts."""
    who: Wanderer = step.combatant(command.combatant)
    if who.state == "dead":
        raise Rejected("no_target", f"{who.name} is dead.", combatant=who.id)
    body.irradiate(step, who.id, command.rads)
    queue: list[Question] = []
    if command.damage:
        amount = sums.damage(step, command.damage, who.dt, who.dr) if command.armor else command.damage
        text = f"{who.name} loses {amount} Health."
        step.about(who.id, "stretch.hurt", text, combatant=who.id, damage=amount, cause=command.cause)
        queue += body.wound(step, who.id, amount, radiation=command.cause == "radiation")
    body.weary(step, who.id, command.stress)
    queue += body.shake(step, who.id, command.resolve)
    asking.go_on(step, asking.owner_of(step, step.combatants[who.id]), queue)


def ease(step: Step, command: c.Ease) -> None:
    who: Wanderer = step.combatant(command.combatant)
    if who.state == "dead":
        raise Rejected("no_target", f"{who.name} is dead.", combatant=who.id)
    body.mend(step, who.id, command.health)
    who = step.combatants[who.id]
    resolve = max(min(who.resolve + command.resolve, who.max_resolve), who.resolve)
    body.change(
        step,
        who.id,
        rads=max(who.rads - command.rads, 0),
        stress=max(who.stress - command.stress, 0),
        resolve=resolve,
        broken="" if command.resolve and resolve else who.broken,
    )
    step.about(who.id, "stretch.eased", f"{who.name} is better off.", combatant=who.id)


def rest(step: Step, command: c.Rest) -> None:
    for who_id in command.combatants:
        who: Wanderer = step.combatant(who_id)
        body.change(step, who_id, stress=0, collapsed=False)
        step.about(who_id, "stretch.rested", f"{who.name} has rested.", combatant=who_id)


def fate(step: Step, command: c.Fate) -> None:
    who: Wanderer = step.combatant(command.combatant)
    if who.health and command.state != "dead":
        raise Rejected("not_now", f"{who.name} has Health left.", combatant=who.id)
    if who.state == "dead":
        raise Rejected("no_target", f"{who.name} is dead.", combatant=who.id)
    body.meet(step, who.id, command.state)
    encounter = asking.owner_of(step, step.combatants[who.id])
    if encounter[0] == "encounters":
        asking.fight_over(step, encounter[1])


def mark(step: Step, command: c.Mark) -> None:
    who: Wanderer = step.combatant(command.combatant)
    if command.off != (command.mark in who.marks):
        raise Rejected("not_now", f"{who.name} {'does not carry' if command.off else 'carries'} that mark.", mark=command.mark)
    if command.off:
        marks = tuple(one for one in who.marks if one != command.mark)
        body.change(step, who.id, marks=marks)
        step.about(who.id, "stretch.unmarked", f"{who.name} is no longer marked: {command.mark}.", combatant=who.id, mark=command.mark)
    else:
        body.put_mark(step, who.id, command.mark)
