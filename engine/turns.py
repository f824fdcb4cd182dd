"""The turn ring of an encounter.

It points at combatants by id, so nobody is skipped or doubled when somebody dies, leaves, joins, delays or ties.

Whose turn is next: the first in this round's order who has not acted and can act. `acted` holds who had their turn.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from engine import dice_epochs, zones
from engine.rejected import Rejected, unknown
from engine.session import Encounter
from engine.zones import concealed

if TYPE_CHECKING:
    from engine.session import Session
    from engine.step import Step


def encounter_of(tree: Step | Session, combatant: Any) -> Encounter | None:
    """The running encounter a combatant takes part in."""
    for encounter in tree.encounters.values():
        if encounter.scene == combatant.scene and combatant.id in encounter.order:
            return encounter
    return None


def can_act(tree: Step | Session, combatant_id: str) -> bool:
    combatant = tree.combatants.get(combatant_id)
    return combatant is not None and not combatant.out


def start(step: Step, scene_id: str, combatants: Iterable[str] = ()) -> Encounter:
    """Start an encounter: initiative from the ruleset, highest first, ties in the order the combatants came to the table."""
    scene = step.scenes.get(scene_id)
    if scene is None:
        raise unknown("scene", scene_id, list(step.scenes))
    if any(encounter.scene == scene_id for encounter in step.encounters.values()):
        raise Rejected("not_now", f"An encounter is already running in {scene.name}.", scene=scene_id)
    chosen = list(combatants) or [c.id for c in step.combatants.values() if c.scene == scene_id and not c.out and c.kind != "object"]
    for combatant_id in chosen:
        if step.combatant(combatant_id).scene != scene_id:
            raise Rejected("out_of_range", f"{step.name(combatant_id)} is not in {scene.name}.", combatant=combatant_id)
    if not chosen:
        raise Rejected("no_target", f"Nobody in {scene.name} can fight.", scene=scene_id)
    rolled = [(combatant_id, step.rules.initiative(step, step.combatants[combatant_id])) for combatant_id in dict.fromkeys(chosen)]
    initiative = tuple(sorted(rolled, key=lambda one: -one[1]))
    encounter: Encounter = step.add(
        "encounters", Encounter(id=step.ident("e"), scene=scene_id, order=tuple(c for c, _ in initiative), initiative=initiative, round=1)
    )
    step.in_scene(scene_id, "encounter.started", f"A fight begins in {scene.name}.", encounter=encounter.id, scene=scene_id)
    advance(step, encounter.id)
    return step.encounters[encounter.id]


def following(tree: Step | Session, encounter: Encounter) -> str:
    """Who is next this round, or ""."""
    for combatant_id in encounter.order:
        if combatant_id not in encounter.acted and combatant_id != encounter.current and can_act(tree, combatant_id):
            return combatant_id
    return ""


def advance(step: Step, encounter_id: str) -> None:
    """Give the turn to whoever is next; begin a new round when nobody is left. With nobody able to act the encounter waits for the GM."""
    encounter = step.change("encounters", encounter_id, current="")
    upcoming = following(step, encounter)
    if not upcoming:
        order = tuple(combatant_id for combatant_id, _ in encounter.initiative if combatant_id in step.combatants)
        if not any(can_act(step, combatant_id) for combatant_id in order):
            return
        encounter = step.change("encounters", encounter_id, round=encounter.round + 1, acted=(), order=order)
        step.in_scene(encounter.scene, "round.started", f"Round {encounter.round}.", encounter=encounter_id, round=encounter.round)
        step.rules.round_started(step, encounter)
        if encounter_id not in step.encounters:
            return
        upcoming = following(step, step.encounters[encounter_id])
    give(step, encounter_id, upcoming)


def give(step: Step, encounter_id: str, combatant_id: str) -> None:
    """Begin a combatant's turn now. Whoever was cut off and has not acted comes again in order."""
    encounter = step.encounters[encounter_id]
    step.change(
        "encounters", encounter_id, current=combatant_id, begun=False, turn=encounter.turn + 1, deadline=step.deadline("deadline.turn")
    )
    combatant = step.combatants[combatant_id]
    step.about(combatant_id, "turn.started", f"{combatant.name}'s turn.", encounter=encounter_id, combatant=combatant_id)
    step.rules.turn_started(step, combatant)


def end(step: Step, encounter_id: str) -> None:
    """End the running turn and go on."""
    encounter = step.encounters[encounter_id]
    if encounter.current:
        combatant = step.combatants.get(encounter.current)
        acted = encounter.acted if encounter.current in encounter.acted else (*encounter.acted, encounter.current)
        step.change("encounters", encounter_id, acted=acted)
        if combatant is not None:
            step.rules.turn_ended(step, combatant)
    if encounter_id in step.encounters:
        advance(step, encounter_id)


def delay(step: Step, encounter_id: str, after: str) -> None:
    """Move the running turn to right after another one of this round. Raises Rejected when that one is over."""
    encounter = step.encounters[encounter_id]
    current = encounter.current
    if encounter.begun:
        raise Rejected("not_now", f"{step.name(current)} has begun this turn, so it cannot be put off; end it instead.", combatant=current)
    step.combatant(after)  # one that is out of sight is as unknown as none
    if after == current or after not in encounter.order or after in encounter.acted or not can_act(step, after):
        waiting = waiting_for(step, encounter)
        raise Rejected("illegal_choice", "A turn can only be delayed until after somebody who still has a turn this round.", known=waiting)
    order = [c for c in encounter.order if c != current]
    order.insert(order.index(after) + 1, current)
    step.change("encounters", encounter_id, order=tuple(order), current="")
    text = f"{step.name(current)} waits until after {step.name(after)}."
    told: dict[str, Any] = {"encounter": encounter_id, "combatant": current, "after": after}
    if concealed(step, step.combatants[after]):
        step.whisper("turn.delayed", text, current, **told)
    else:
        step.about(current, "turn.delayed", text, **told)
    upcoming = following(step, step.encounters[encounter_id])
    give(step, encounter_id, upcoming)


def used(step: Step, combatant_id: str) -> None:
    """A combatant ("" for whose turn it is) did something: the turn that is running has begun."""
    for encounter in list(step.encounters.values()):
        was = step.before.encounters.get(encounter.id)
        same = was is not None and was.turn == encounter.turn and was.current == encounter.current
        if (
            same
            and not encounter.begun
            and encounter.current
            and combatant_id in ("", encounter.current)
            and step.controls(encounter.current)
        ):
            step.change("encounters", encounter.id, begun=True)


def join(step: Step, encounter_id: str, combatant_id: str, initiative: int | None = None) -> None:
    """Add a combatant. It acts this round if its place in the order is still to come, else from the next round on."""
    encounter = step.encounters[encounter_id]
    combatant = step.combatant(combatant_id)
    if combatant_id in encounter.order:
        raise Rejected("not_now", f"{combatant.name} is in this encounter already.", combatant=combatant_id)
    if combatant.scene != encounter.scene:
        raise Rejected("out_of_range", f"{combatant.name} is in another scene.", combatant=combatant_id)
    value = step.rules.initiative(step, combatant) if initiative is None else initiative
    ranked = [*encounter.initiative]
    ranked.insert(sum(1 for _, other in ranked if other >= value), (combatant_id, value))
    scores = dict(ranked)
    order = [*encounter.order]
    place = next((i for i, other in enumerate(order) if scores[other] < value), len(order))
    order.insert(place, combatant_id)
    passed = any(other in encounter.acted or other == encounter.current for other in order[place + 1 :])
    acted = (*encounter.acted, combatant_id) if passed else encounter.acted
    step.change("encounters", encounter_id, initiative=tuple(ranked), order=tuple(order), acted=acted)
    text = f"{combatant.name} joins the fight."
    step.about(combatant_id, "encounter.joined", text, encounter=encounter_id, combatant=combatant_id)


def drop(step: Step, combatant_id: str) -> None:
    """Take a combatant out of every ring (it leaves play or the scene). Its running turn passes on once nothing is unfinished."""
    for encounter in list(step.encounters.values()):
        if combatant_id in encounter.order:
            step.change(
                "encounters",
                encounter.id,
                order=tuple(c for c in encounter.order if c != combatant_id),
                initiative=tuple(one for one in encounter.initiative if one[0] != combatant_id),
                acted=tuple(c for c in encounter.acted if c != combatant_id),
                current="" if encounter.current == combatant_id else encounter.current,
            )


def finish(step: Step, encounter_id: str, text: str, **data: Any) -> None:
    """End an encounter: its questions are void, reach pairs stay, and the open dice are revealed and renewed."""
    encounter = step.encounters[encounter_id]
    for prompt in list(step.prompts.values()):
        if prompt.owner == ("encounters", encounter_id):
            step.remove("prompts", prompt.id)
    step.remove("encounters", encounter_id)
    step.in_scene(encounter.scene, "encounter.ended", text, encounter=encounter_id, scene=encounter.scene, rounds=encounter.round, **data)
    dice_epochs.rotate(step, "open")


def settle(step: Step) -> bool:
    """After a command: pass on turns whose holder can no longer act or is gone, unless an unfinished action still has to end.

    Returns whether a turn passed on: what the ruleset does then may need settling in its turn.
    """
    passed = False
    for encounter in list(step.encounters.values()):
        if encounter.pending or encounter.id not in step.encounters:
            continue
        if encounter.current:
            if not can_act(step, encounter.current):
                end(step, encounter.id)
                passed = True
            elif encounter.deadline is None and (fresh := step.deadline("deadline.turn")) is not None:
                step.change("encounters", encounter.id, deadline=fresh)
        elif any(can_act(step, combatant_id) for combatant_id in encounter.order):
            advance(step, encounter.id)
            passed = True
    return passed


def waiting_for(tree: Step, encounter: Encounter) -> list[str]:
    """Those the acting seat sees who still have a turn this round after the running one, in order."""
    return [
        one
        for one in encounter.order
        if one not in encounter.acted and one != encounter.current and can_act(tree, one) and tree.visible(tree.combatants[one])
    ]


def acting(step: Step, combatant_id: str) -> tuple[Any, Encounter | None]:
    """Who acts and in which encounter, checked: it is the seat's own, and it is its turn. `combatant_id` "" means whose turn it is.

    Raises Rejected (unknown_id, not_yours, not_your_turn, busy).
    """
    if not combatant_id:
        mine = [e.current for e in step.encounters.values() if e.current and step.controls(e.current)]
        if len(mine) != 1:
            raise Rejected("not_your_turn", "It is not your turn; name the combatant you mean.")
        combatant_id = mine[0]
    combatant = step.combatant(combatant_id)
    if not step.controls(combatant_id):
        raise Rejected("not_yours", f"{combatant.name} is not yours to command.", combatant=combatant_id)
    encounter = encounter_of(step, combatant)
    if encounter is not None:
        if encounter.pending:
            raise Rejected("busy", "An unfinished action waits for an answer first.", encounter=encounter.id)
        if encounter.current != combatant_id:
            raise Rejected("not_your_turn", f"It is not {combatant.name}'s turn.", combatant=combatant_id)
    if combatant.out:
        raise Rejected("not_now", f"{combatant.name} is out of the fight.", combatant=combatant_id)
    return combatant, encounter


def is_engaged(tree: Step | Session, combatant: Any) -> bool:
    """Whether a foe (another side) is within arm's reach of the combatant."""
    scene = tree.scenes.get(combatant.scene)
    if scene is None:
        return False
    return any(
        (other := tree.combatants.get(other_id)) is not None and not other.out and other.side != combatant.side
        for other_id in zones.near(scene, combatant.id)
    )
