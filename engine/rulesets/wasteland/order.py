"""How a fight begins: initiative with ties the GM breaks, and the opening turn (combat_rules_2d20, "Initiative"; FACTS B1 opening_turn)."""

from __future__ import annotations

from msgspec.structs import replace

from engine import turns
from engine.commands import GmEncounter
from engine.rejected import Rejected, unknown
from engine.rulesets import Answered
from engine.rulesets.wasteland import perks, pools
from engine.rulesets.wasteland.model import Survivor, Turn
from engine.rulesets.wasteland.pending import Ties
from engine.rulesets.wasteland.switches import switch
from engine.session import Encounter
from engine.step import Step

Groups = tuple[tuple[int, tuple[str, ...]], ...]


# --- initiative ----------------------------------------------------------------------------------------------------------


def start(step: Step, command: GmEncounter) -> None:
    """Start a fight. `first` opened it: a player's character takes a turn, round 0, before round 1 (switch `opening_turn`)."""
    scene = step.scenes.get(command.scene)
    if scene is None:
        raise unknown("scene", command.scene, list(step.scenes))
    if any(encounter.scene == scene.id for encounter in step.encounters.values()):
        raise Rejected("not_now", f"A fight is already going on in {scene.name}.", scene=scene.id)
    chosen = list(dict.fromkeys(command.combatants)) or [
        one.id for one in step.combatants.values() if one.scene == scene.id and not one.out and one.kind != "object"
    ]
    for combatant_id in chosen:
        if step.combatant(combatant_id).scene != scene.id:
            raise Rejected("out_of_range", f"{step.name(combatant_id)} is not in {scene.name}.", combatant=combatant_id)
    if not chosen:
        raise Rejected("no_target", f"Nobody in {scene.name} can fight.", scene=scene.id)
    first = command.first
    if first and first not in chosen:
        raise Rejected("no_target", "Who opens the fight must take part in it.", combatant=first)
    if first and (step.combatants[first].out or (switch(step, "opening_turn") == "initiator_pc" and step.combatants[first].tier != "pc")):
        first = ""  # only a player's character that began it has the extra turn
    scores: dict[int, list[str]] = {}
    for combatant_id in chosen:
        scores.setdefault(step.rules.initiative(step, step.combatants[combatant_id]), []).append(combatant_id)
    rest: Groups = tuple((score, tuple(scores[score])) for score in sorted(scores, reverse=True))
    # Everybody stands in the order from the start, so that nobody acts as if there were no fight while the GM breaks ties.
    everybody = tuple((one, score) for score, group in rest for one in group)
    order = tuple(one for one, _ in everybody)
    encounter = step.add("encounters", Encounter(id=step.ident("e"), scene=scene.id, round=1, order=order, initiative=everybody))
    step.in_scene(scene.id, "encounter.started", f"A fight begins in {scene.name}.", encounter=encounter.id, scene=scene.id)
    _rank(step, encounter.id, (), rest, first)


def _rank(step: Step, encounter_id: str, ranked: tuple[tuple[str, int], ...], rest: Groups, first: str) -> None:
    """Rank group by group; a group whose members differ is put to the GM, who says who goes first of it."""
    while rest:
        score, group = rest[0]
        group = tuple(one for one in group if one in step.combatants)
        # Several from one template are as good as one: which of them goes first changes nothing the GM cares about.
        if len({step.combatants[one].template or one for one in group}) > 1:
            prompt = step.ask(
                ("encounters", encounter_id),
                next(iter(step.gms()), step.by),
                kind="tie",
                type="wasteland.tie?",
                text=f"Several have initiative {score}. Who goes first?",
                choices=[(one, step.name(one)) for one in group],
                default=group[0],
                never=group[0],
                initiative=score,
            )
            step.push(("encounters", encounter_id), Ties(prompts=(prompt,), ranked=ranked, rest=((score, group), *rest[1:]), first=first))
            return
        ranked = (*ranked, *((one, score) for one in group))
        rest = rest[1:]
    _begin(step, encounter_id, ranked, first)


def tie_broken(step: Step, encounter_id: str, record: Ties, answers: tuple[Answered, ...]) -> None:
    """The GM said who goes first; the choice holds for every round, because every round's order is taken from `initiative`."""
    score, group = record.rest[0]
    chosen = answers[0].choice if answers else group[0]
    left = tuple(one for one in group if one != chosen)
    if chosen in step.combatants:
        step.about(chosen, "wasteland.tie", f"{step.name(chosen)} goes first at {score}.", encounter=encounter_id, combatant=chosen)
        record = replace(record, ranked=(*record.ranked, (chosen, score)))
    _rank(step, encounter_id, record.ranked, ((score, left), *record.rest[1:]), record.first)


def _begin(step: Step, encounter_id: str, ranked: tuple[tuple[str, int], ...], first: str) -> None:
    encounter = step.encounters[encounter_id]
    scores = dict(ranked)
    # Who left meanwhile is out of the order, who joined has a place there already.
    joined = tuple(one for one in encounter.initiative if one[0] not in scores)
    ranked = tuple(sorted((*(one for one in ranked if one[0] in encounter.order), *joined), key=lambda one: -one[1]))
    order = tuple(one for one, _ in ranked)
    opening = first in order
    # In the opening turn everybody else counts as having acted: nobody can act or be interrupted before round 1.
    acted = tuple(one for one in order if one != first) if opening else ()
    step.change("encounters", encounter_id, order=order, initiative=ranked, acted=acted, round=0 if opening else 1)
    for one in order:
        s: Survivor = step.combatants[one]
        if s.used or s.shot_at or s.turn.begun or s.ready is not None or s.promise is not None:
            step.change("combatants", one, used=(), shot_at=False, turn=Turn(), ready=None, promise=None)
        pools.gain(step, s, perks.bonus(s, "aggressive"))
    if opening:
        step.about(first, "wasteland.opening", f"{step.name(first)} opens the fight.", encounter=encounter_id, combatant=first)
        turns.give(step, encounter_id, first)
    else:
        turns.advance(step, encounter_id)
