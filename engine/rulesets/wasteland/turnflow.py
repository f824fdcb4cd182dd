"""Rounds and turns: initiative with ties the GM breaks, the opening turn, what a turn may do and what more costs, and moving.

combat_rules_2d20, "Initiative", "Actions", "Movement in Zones"; FACTS A6, B1 (opening_turn, one_move, second_major_penalty), B2.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from engine import turns, zones
from engine.commands import GmEncounter
from engine.rejected import Rejected, unknown
from engine.rulesets import Answered
from engine.rulesets.wasteland import pools, telling
from engine.rulesets.wasteland.commands import Aim, Move, Sprint
from engine.rulesets.wasteland.model import Survivor, Ties, Turn
from engine.rulesets.wasteland.switches import switch
from engine.rulesets.wasteland.tables import SECOND_MAJOR, SECOND_MINOR
from engine.session import Encounter, Scene, Session
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
    if opening:
        step.about(first, "wasteland.opening", f"{step.name(first)} opens the fight.", encounter=encounter_id, combatant=first)
        turns.give(step, encounter_id, first)
    else:
        turns.advance(step, encounter_id)


# --- a turn ----------------------------------------------------------------------------------------------------------------


def turn_started(step: Step, s: Survivor) -> None:
    step.change("combatants", s.id, turn=Turn(stunned=s.stunned), guard=0)


def turn_ended(step: Step, s: Survivor) -> None:
    """What the group cannot save is lost; who ordered Lucky Timing after this turn comes next."""
    if s.turn.stunned:
        step.change("combatants", s.id, stunned=False)
    pools.trim(step)
    encounter = turns.encounter_of(step, s)
    if encounter is None:
        return
    early = []
    for one in encounter.order:
        other = step.combatants.get(one)
        if other is None or other.timing != s.id or one in encounter.acted or other.out:
            continue
        step.change("combatants", one, timing="")
        if other.luck:
            step.change("combatants", one, luck=other.luck - 1)
            step.about(one, "wasteland.luck.timing", f"{other.name} is quick: it is their turn now.", combatant=one, luck=other.luck - 1)
            early.append(one)
    if early:
        rest = tuple(one for one in encounter.order if one not in early)
        step.change("encounters", encounter.id, order=(*early, *rest))


def allowed(turn: Turn, kind: str) -> tuple[int, int, int]:
    """(used, free, most) actions of a kind, "minors" or "majors": one is the turn's own (none when stunned), one more can be bought."""
    free = 0 if turn.stunned else 1
    return getattr(turn, kind), free, free + 1


def price(turn: Turn, kind: str) -> int | None:
    """AP for the next action of a kind; None when no more may be taken."""
    used, free, most = allowed(turn, kind)
    if used >= most:
        return None
    return 0 if used < free else SECOND_MINOR if kind == "minors" else SECOND_MAJOR


def second_penalty(tree: Step | Session, turn: Turn) -> int:
    """Difficulty added to a test on the next major action: 1 when it is a bought one.

    Switches `second_major_penalty`, and `bought_major_penalty` for a bought one that is the turn's first (stunned).
    """
    used, free, _ = allowed(turn, "majors")
    if used < free or (used == 0 and switch(tree, "bought_major_penalty") == "second"):
        return 0
    return int(switch(tree, "second_major_penalty"))


def use(step: Step, s: Survivor, kind: str, *, gm_ap: bool = False, fields: Mapping[str, Any] | None = None, **marks: Any) -> Survivor:
    """Use up an action, buying it when the turn's own is gone; `marks` are further fields of the turn, `fields` of the survivor.

    Raises Rejected (limit, cannot_pay).
    """
    cost = price(s.turn, kind)
    if cost is None:
        raise Rejected("limit", f"{s.name} has taken all the {kind[:-1]} actions a turn can have.", kind=kind)
    if cost:
        pools.pay(step, s, cost, f"another {kind[:-1]} action", gm_ap=gm_ap and switch(step, "gm_ap_scope") == "any")
    turn = replace(s.turn, begun=True, **{kind: getattr(s.turn, kind) + 1}, **marks)
    changed: Survivor = step.change("combatants", s.id, turn=turn, **(fields or {}))
    return changed


def aim(step: Step, command: Aim) -> None:
    """combat_rules_2d20, "Minor Actions": Aim."""
    s, encounter = turns.acting(step, command.combatant)
    if encounter is None:
        raise Rejected("not_now", "Aiming is for fights.")
    if s.turn.aimed or s.turn.attacked:
        raise Rejected("not_now", "Aiming helps the first attack of a turn, once.", combatant=s.id)
    pools.refuse_gm_ap(switch(step, "gm_ap_scope"), command.gm_ap, 0)
    use(step, s, "minors", gm_ap=command.gm_ap, aimed=True)
    step.about(s.id, "wasteland.aim", f"{s.name} takes aim.", combatant=s.id)


# --- moving ----------------------------------------------------------------------------------------------------------------


def move(step: Step, command: Move) -> None:
    """combat_rules_2d20, "Minor Actions": Move, or stand up. Free of turns outside a fight."""
    s, encounter = turns.acting(step, command.combatant)
    pools.refuse_gm_ap(switch(step, "gm_ap_scope"), command.gm_ap, 0)
    if command.stand:
        if not s.prone:
            raise Rejected("not_now", f"{s.name} stands already.", combatant=s.id)
        if command.zone or command.near or command.cover:
            raise Rejected("illegal_choice", "Standing up is all of the move.")
        if encounter is not None:
            _moving(step, s)
            use(step, s, "minors", gm_ap=command.gm_ap, moved=True)
        step.change("combatants", s.id, prone=False)
        step.about(s.id, "wasteland.stand", f"{s.name} stands up.", combatant=s.id)
        return
    if not command.zone and not command.near and not command.cover:
        raise Rejected("illegal_choice", "Say where to: a zone, somebody to move up to, or a cover.")
    _go(step, s, encounter, command.zone or s.zone, command, 1, "minors")


def sprint(step: Step, command: Sprint) -> None:
    """combat_rules_2d20, "Major Actions": Sprint, up to two zones."""
    s, encounter = turns.acting(step, command.combatant)
    pools.refuse_gm_ap(switch(step, "gm_ap_scope"), command.gm_ap, 0)
    _go(step, s, encounter, command.zone, command, 2, "majors")


def _moving(step: Step, s: Survivor) -> None:
    if s.turn.moved and switch(step, "one_move"):
        raise Rejected("limit", f"{s.name} has moved this turn; one movement action is all.", combatant=s.id)


def _go(step: Step, s: Survivor, encounter: Encounter | None, zone_id: str, command: Move | Sprint, most: int, kind: str) -> None:
    scene = step.scenes.get(s.scene)
    if scene is None:
        raise Rejected("not_now", f"{s.name} is in no scene.", combatant=s.id)
    zone = scene.zone(zone_id)
    if zone is None or (zone.hidden and not step.is_gm):
        raise unknown("zone", zone_id, [one.id for one in scene.zones if not one.hidden])
    if s.prone:
        raise Rejected("not_now", f"{s.name} is prone and has to stand up first.", combatant=s.id)
    cost = ways(scene, s.zone, most, step.is_gm).get(zone_id)
    if cost is None:
        raise Rejected("out_of_range", f"{zone.name} is farther than {most} zone{'s' if most > 1 else ''} away.", zone=zone_id)
    if encounter is not None:
        _moving(step, s)
        s = use(step, s, kind, gm_ap=command.gm_ap, moved=True)
        pools.pay(step, s, cost, "the way", gm_ap=command.gm_ap and switch(step, "gm_ap_scope") == "any")
    zones.place(step, s.id, s.scene, zone_id, command.near, command.cover)
    beside = ", ".join(step.name(one) for one in command.near)
    text = f"{s.name} {'moves' if kind == 'minors' else 'sprints'} to {zone.name}{f', up to {beside}' if beside else ''}."
    data: dict[str, Any] = {"combatant": s.id, "zone": zone_id, "near": list(command.near), "cover": command.cover}
    telling.tell(step, (s.id, *command.near), "wasteland.move", text, data)


def ways(scene: Scene, start_zone: str, most: int, secret: bool) -> dict[str, int]:
    """Every zone within `most` zones and the AP of its cheapest way: leaving a zone and crossing an edge may cost (FACTS A6)."""
    best = {start_zone: 0}
    ring = best
    for _ in range(most):
        after: dict[str, int] = {}
        for at, paid in ring.items():
            zone = scene.zone(at)
            leaving = zone.cost if zone is not None else 0
            for other, edge in zones.neighbours(scene, at):
                if edge.hidden and not secret:
                    continue
                cost = paid + leaving + edge.cost
                if cost < min(best.get(other, cost + 1), after.get(other, cost + 1)):
                    after[other] = cost
        best = {**best, **after}
        ring = after
    return best
