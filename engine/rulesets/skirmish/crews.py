"""Who goes when: roll-offs, and crews that activate one model each in turn (seeds/special_d10.txt, "Roll Offs"; the order is added)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from engine import turns
from engine.rejected import Rejected
from engine.rulesets.skirmish import harm
from engine.rulesets.skirmish.model import Model
from engine.rulesets.skirmish.pools import SIDES
from engine.rulesets.skirmish.switches import switch
from engine.talk import fact
from engine.zones import concealed

if TYPE_CHECKING:
    from engine.rulesets.skirmish import commands as c
    from engine.session import Encounter
    from engine.step import Step


def roll_off(step: Step, first: str, second: str, *, hidden: bool = False) -> tuple[str, list[Any], list[list[int]]]:
    """Roll a d10 for each of two models' players until one is lower. Returns the winner, the rolls and the faces of each try."""
    rolls: list[Any] = []
    faces: list[list[int]] = []
    while True:
        tried = [step.roll(1, SIDES, purpose="rolloff", actor=one, hidden=hidden) for one in (first, second)]
        rolls += [fact(one) for one in tried]
        faces.append([one.faces[0] for one in tried])
        mine, theirs = faces[-1]
        if mine != theirs:
            return (first if mine < theirs else second), rolls, faces


def declared(step: Step, command: c.RollOff) -> None:
    """A roll-off that somebody asks for."""
    first, second = step.combatant(command.combatant), step.combatant(command.against)
    if not step.controls(first.id):
        raise Rejected("not_yours", f"{first.name} is not yours to command.", combatant=first.id)
    if first.id == second.id:
        raise Rejected("illegal_choice", "A roll-off is between two.", combatant=first.id)
    secret = concealed(step, first) or concealed(step, second)  # open dice are for rolls that everybody reads of
    winner, rolls, faces = roll_off(step, first.id, second.id, hidden=secret)
    text = f"Roll-off of {first.name} and {second.name}: {step.name(winner)} wins."
    told: dict[str, Any] = {"combatant": first.id, "against": second.id, "winner": winner, "faces": faces, "rolls": rolls}
    harm.between(step, first.id, second.id, "skirmish.rolloff", text, **told)


# --- the order of a round ----------------------------------------------------------------------------------------------------


def crews_of(step: Step, models: Iterable[str]) -> dict[str, list[str]]:
    """The models by crew, both in the order they came to the table."""
    found: dict[str, list[str]] = {}
    for one in models:
        found.setdefault(step.combatants[one].side, []).append(one)
    return found


def alternate(crews: Mapping[str, list[str]]) -> list[str]:
    """One model of each crew in turn; a crew that runs out is passed over."""
    longest = max((len(models) for models in crews.values()), default=0)
    return [models[i] for i in range(longest) for models in crews.values() if i < len(models)]


def order(step: Step, scene_id: str, models: list[str], begins: str | None = None) -> list[str]:
    """Roll off which crew begins, and write everybody's rank. `begins` names the crew instead.

    Of more than two crews the winner of one roll-off meets the next. While players enter dice for something else nobody rolls, and the
    crew that came first begins.
    """
    crews = crews_of(step, models)
    able = [side for side, members in crews.items() if any(turns.can_act(step, one) for one in members)]
    if begins in crews:
        crews = {begins: crews[begins], **{side: members for side, members in crews.items() if side != begins}}
    elif len(able) > 1 and step.table.suspended is None:
        first = able[0]
        for other in able[1:]:
            first = _crews_roll_off(step, scene_id, crews, first, other)
        crews = {first: crews[first], **{side: members for side, members in crews.items() if side != first}}
    ordered = alternate(crews)
    for place, one in enumerate(ordered):
        step.change("combatants", one, rank=len(ordered) - place)
    return ordered


def _crews_roll_off(step: Step, scene_id: str, crews: Mapping[str, list[str]], one: str, other: str) -> str:
    leaders = {crews[side][0]: side for side in (one, other)}
    secret = any(all(concealed(step, step.combatants[m]) for m in crews[crew]) for crew in (one, other))
    winner, rolls, faces = roll_off(step, *leaders, hidden=secret)
    side = leaders[winner]
    text = f"{side or 'One crew'} begins."
    told: dict[str, Any] = {"crews": [one, other], "winner": side, "faces": faces, "rolls": rolls}
    if secret:
        step.emit("skirmish.begins", text, to=step.gms(), **told)
    else:
        step.in_scene(scene_id, "skirmish.begins", text, **told)
    return side


def next_round(step: Step, encounter: Encounter) -> None:
    """Roll off for the round that begins (switch rolloffs), unless dice are being entered for something else."""
    able = {step.combatants[one].side for one in encounter.order if turns.can_act(step, one)}
    if len(able) < 2 or switch(step, "rolloffs") != "round" or step.table.suspended is not None:
        return
    came = [one for one in step.combatants if one in encounter.order]
    ordered = order(step, encounter.scene, came)
    ranks = tuple((one, step.combatants[one].rank) for one in ordered)
    step.change("encounters", encounter.id, initiative=ranks, order=tuple(ordered))


def activate(step: Step, command: c.Activate) -> None:
    """Swap places in this round's order with the model whose activation has just begun."""
    chosen: Model = step.combatant(command.combatant)
    encounter = turns.encounter_of(step, chosen)
    if encounter is None or not encounter.current:
        raise Rejected("not_now", "Nobody fights here; the GM starts an encounter first.")
    if not step.controls(chosen.id):
        raise Rejected("not_yours", f"{chosen.name} is not yours to command.", combatant=chosen.id)
    current: Model = step.combatants[encounter.current]
    if current.side != chosen.side or not step.controls(current.id):
        # Whose activation it is may be a secret, so the refusal does not name them.
        raise Rejected("not_your_turn", f"It is not the turn of {chosen.name}'s crew.", combatant=chosen.id)
    turns.acting(step, current.id)
    if chosen.id == current.id or chosen.id in encounter.acted or chosen.out:
        raise Rejected(
            "illegal_choice", f"{chosen.name} cannot activate now: another of the crew that has not, and can.", combatant=chosen.id
        )
    if current.acted or current.moved or current.chosen:
        raise Rejected("not_now", f"{current.name}'s activation has begun.", combatant=current.id)
    swap = {chosen.id: current.id, current.id: chosen.id}
    step.change("encounters", encounter.id, order=tuple(swap.get(one, one) for one in encounter.order), current="")
    turns.give(step, encounter.id, chosen.id)
    step.change("combatants", chosen.id, chosen=True)
