"""The GM's hand: seats, scenes, setting, hiding and revealing, encounters, the clock."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from engine import commands as c
from engine import dice_epochs, prompts, turns, zones
from engine.rejected import Rejected, unknown
from engine.session import Edge, Pool, Scene, Seat, Zone
from engine.talk import remove_seat
from engine.zones import concealed

if TYPE_CHECKING:
    from engine.step import Step

MAX_COMBATANTS = 500
MAX_SCENES = 50
MAX_SEATS = 300
MAX_NAME = 120


# --- what set-ups and commands share ---------------------------------------------------------------------------------------


def pool_value(pool: Pool, value: int) -> int:
    if value < 0 or (pool.cap is not None and value > pool.cap):
        raise Rejected(
            "illegal_choice", f"The pool {pool.name} holds 0 to {pool.cap if pool.cap is not None else 'any number'}.", pool=pool.id
        )
    return value


def checked_controls(step: Step, combatants: tuple[str, ...]) -> tuple[str, ...]:
    for combatant_id in combatants:
        if combatant_id not in step.combatants:
            raise unknown("combatant", combatant_id, list(step.combatants))
    return tuple(dict.fromkeys(combatants))


def add_seat(step: Step, seat_id: str, name: str, role: Any, controls: tuple[str, ...]) -> None:
    if len(step.seats) >= MAX_SEATS:
        raise Rejected("limit", f"A table has at most {MAX_SEATS} seats.", limit=MAX_SEATS)
    if seat_id.startswith("@"):
        raise Rejected("bad_command", "A seat id starts with a letter or digit.", given=seat_id)
    step.add("seats", Seat(id=seat_id, name=name, role=role, controls=checked_controls(step, controls), since=step.v))
    step.emit("seat.added", f"{name} has a seat ({role}).", seat=seat_id, role=role)


def write_scene(step: Step, scene_id: str, name: str, specs: Any, edges: Any, blind: Any, tags: Any, hidden: bool) -> None:
    """Make a scene or replace its zones and ways.

    Raises Rejected when ids repeat, ways lead nowhere or somebody stands in a zone that would go.
    """
    ids = [zone.id for zone in specs]
    if len(set(ids)) != len(ids):
        raise Rejected("bad_command", "Two zones of a scene share an id.", known=ids)
    for edge in edges:
        if edge.a not in ids or edge.b not in ids or edge.a == edge.b:
            raise Rejected("bad_command", f"A way leads from '{edge.a}' to '{edge.b}'; both must be zones of the scene.", known=ids)
        if edge.cost < 0:
            raise Rejected("bad_command", "A way costs 0 or more.", given=edge.cost)
    for a, b in blind:
        if a not in ids or b not in ids:
            raise Rejected("bad_command", f"The zones '{a}' and '{b}' are not both in the scene.", known=ids)
    zones_made = tuple(Zone(id=z.id, name=z.name, covers=z.covers, cost=z.cost, tags=z.tags, hidden=z.hidden) for z in specs)
    ways = tuple(Edge(a=e.a, b=e.b, cost=e.cost, hidden=e.hidden) for e in edges)
    old = step.scenes.get(scene_id)
    if old is None:
        if len(step.scenes) >= MAX_SCENES:
            raise Rejected("limit", f"A table has at most {MAX_SCENES} scenes.", limit=MAX_SCENES)
        step.add("scenes", Scene(id=scene_id, name=name, zones=zones_made, edges=ways, blind=tuple(blind), tags=tuple(tags), hidden=hidden))
    else:
        stranded = [one.id for one in step.combatants.values() if one.scene == scene_id and one.zone not in ids]
        if stranded:
            raise Rejected("not_now", "Somebody stands in a zone that would go; move them first.", combatants=stranded)
        step.change("scenes", scene_id, name=name, zones=zones_made, edges=ways, blind=tuple(blind), tags=tuple(tags), hidden=hidden)
    step.emit("scene.set", f"The scene: {name}.", to=step.gms() if hidden else None, scene=scene_id)


def spawn(
    step: Step,
    combatant_id: str,
    template: str,
    name: str,
    side: str,
    scene: str,
    zone: str,
    hidden: bool,
    seat: str,
    fields: dict[str, Any],
) -> None:
    if len(step.combatants) >= MAX_COMBATANTS:
        raise Rejected("limit", f"A table has at most {MAX_COMBATANTS} combatants.", limit=MAX_COMBATANTS)
    made_id = combatant_id or step.ident("c")
    c.check_open(fields)
    if not SPAWN_FIXED.isdisjoint(fields):
        raise Rejected(
            "bad_command", f"These fields have their own place in the command: {', '.join(sorted(SPAWN_FIXED))}.", known=sorted(SPAWN_FIXED)
        )
    combatant = step.rules.spawn(step, made_id, template, fields)
    check_name(combatant.name)
    given: dict[str, Any] = {"id": made_id, "hidden": hidden}
    if name:
        given["name"] = name
    if side:
        given["side"] = side
    combatant = step.add("combatants", replace(combatant, **given))
    if scene:
        zones.place(step, made_id, scene, zone)
    if seat:
        if seat not in step.seats:
            raise unknown("seat", seat, list(step.seats))
        step.change("seats", seat, controls=(*step.seats[seat].controls, made_id))
    step.about(made_id, "combatant.spawned", f"{combatant.name} enters play.", combatant=made_id)


def check_name(name: str) -> None:
    """Names stand in every sentence. Raises Rejected when one is empty or long."""
    if not 1 <= len(name) <= MAX_NAME:
        raise Rejected("bad_command", f"A name has 1 to {MAX_NAME} characters.", limit=MAX_NAME)


# --- commands ----------------------------------------------------------------------------------------------------------


def _seat_add(step: Step, command: c.GmSeatAdd) -> None:
    add_seat(step, command.seat, command.name, command.role, command.controls)


def _seat(step: Step, command: c.GmSeat) -> None:
    seat = step.seats.get(command.seat)
    if seat is None:
        raise Rejected("unknown_seat", f"There is no seat '{command.seat}' at this table.", given=command.seat, known=list(step.seats))
    fields: dict[str, Any] = {}
    if command.name is not None:
        fields["name"] = command.name
    if command.role is not None:
        if seat.role == "gm" and command.role != "gm" and len(step.gms()) == 1:
            raise Rejected("not_now", "A table keeps at least one GM.", seat=seat.id)
        fields["role"] = command.role
    if command.controls is not None:
        fields["controls"] = checked_controls(step, command.controls)
    step.change("seats", seat.id, **fields)
    step.emit("seat.changed", f"{step.seats[seat.id].name}'s seat was changed.", seat=seat.id)


def _seat_remove(step: Step, command: c.GmSeatRemove) -> None:
    seat = step.seats.get(command.seat)
    if seat is not None and seat.role == "gm" and len(step.gms()) == 1:
        raise Rejected("not_now", "A table keeps at least one GM.", seat=seat.id)
    remove_seat(step, command.seat)


def _hold(step: Step, command: c.Hold) -> None:
    if command.seat not in step.seats:
        raise unknown("seat", command.seat, list(step.seats))
    fields: dict[str, Any] = {"person": command.person, "since": step.v}
    if command.name:
        fields["name"] = command.name
    step.change("seats", command.seat, **fields)
    step.emit("seat.held", f"{step.seats[command.seat].name} takes a seat.", seat=command.seat)


def _sitting(step: Step, command: c.GmSitting) -> None:
    step.change("table", "", sitting=step.table.sitting + 1)
    step.emit("sitting.opened", f"Sitting {step.table.sitting} begins.", sitting=step.table.sitting)
    step.rules.sitting_opened(step)


def _scene(step: Step, command: c.GmScene) -> None:
    write_scene(step, command.scene, command.name, command.zones, command.edges, command.blind, command.tags, command.hidden)


def _scene_remove(step: Step, command: c.GmSceneRemove) -> None:
    if command.scene not in step.scenes:
        raise unknown("scene", command.scene, list(step.scenes))
    inside = [one.id for one in step.combatants.values() if one.scene == command.scene]
    if inside:
        raise Rejected("not_now", "Somebody is still in that scene; move or remove them first.", combatants=inside)
    if any(encounter.scene == command.scene for encounter in step.encounters.values()):
        raise Rejected("not_now", "An encounter is still running in that scene; end it first.", scene=command.scene)
    step.remove("scenes", command.scene)


SPAWN_FIXED = frozenset({"id", "scene", "zone", "hidden"})
"""What a spawn says beside its fields."""

FIXED = frozenset({"id", "scene", "zone", "near", "pending", "zones", "edges", "blind", "by", "status", "helpers", "frame", "result"})
"""Fields that other commands keep consistent, so `gm.set` leaves them alone."""


def _set(step: Step, command: c.GmSet) -> None:
    entity = getattr(step, command.kind).get(command.id)
    if entity is None:
        raise unknown(command.kind.rstrip("s"), command.id, list(getattr(step, command.kind)))
    c.check_open(command.value)
    fields = step.rules.schema.fields[command.kind]
    if command.field not in fields or command.field in FIXED:
        raise unknown("field", command.field, sorted(set(fields) - FIXED))
    try:
        value = step.rules.schema.convert(command.kind, command.field, command.value)
    except msgspec.ValidationError as problem:
        raise Rejected("bad_command", f"That value does not fit the field '{command.field}': {problem}.", field=command.field) from None
    if command.field == "name":
        check_name(value)
    if isinstance(entity, Pool) and command.field == "value":
        value = pool_value(entity, value)
    step.change(command.kind, command.id, **{command.field: value})
    # The value may be one that players must not learn, so only the GMs are told what was set.
    step.emit(
        "gm.set",
        f"The GM sets {command.field} of {getattr(entity, 'name', entity.id)}.",
        to=step.gms(),
        kind=command.kind,
        id=command.id,
        field=command.field,
    )


def _pause(step: Step, command: c.GmPause) -> None:
    if command.on == step.table.paused:
        raise Rejected("not_now", "The table is paused already." if command.on else "The table is not paused.")
    if command.on:
        step.change("table", "", paused=True, paused_ms=step.now_ms)
        step.emit("paused", "The GM pauses the table.")
    else:
        extend(step, max(step.now_ms - step.table.paused_ms, 0))
        step.change("table", "", paused=False, paused_ms=0)
        step.emit("resumed", "The table goes on.")


def extend(step: Step, ms: int) -> None:
    """Move every deadline back by `ms`."""
    for prompt in list(step.prompts.values()):
        if prompt.deadline is not None:
            step.change("prompts", prompt.id, deadline=prompt.deadline + ms)
    for encounter in list(step.encounters.values()):
        if encounter.deadline is not None:
            step.change("encounters", encounter.id, deadline=encounter.deadline + ms)


def _extend(step: Step, command: c.Extend) -> None:
    if command.ms <= 0:
        raise Rejected("bad_command", "Deadlines move back, never forward.", given=command.ms)
    if step.table.paused:
        raise Rejected("not_now", "Deadlines stand still: the table is paused.")
    extend(step, command.ms)
    step.emit("deadlines.extended", f"Deadlines move back by {max(command.ms // 60_000, 1)} minutes: the server was away.", ms=command.ms)


def _disclose(step: Step, command: c.GmReveal | c.GmHide) -> None:
    hide = isinstance(command, c.GmHide)
    if command.kind in ("zone", "edge"):
        scene = step.scenes.get(command.scene)
        if scene is None:
            raise unknown("scene", command.scene, list(step.scenes))
        _disclose_place(step, scene, command, hide)
        return
    entity = getattr(step, command.kind).get(command.id)
    if entity is None:
        raise unknown(command.kind.rstrip("s"), command.id, list(getattr(step, command.kind)))
    if entity.hidden == hide:
        raise Rejected("not_now", "It is hidden already." if hide else "It is in plain sight already.", id=command.id)
    entity = step.change(command.kind, command.id, hidden=hide)
    secret = hide
    if command.kind == "combatants":
        secret = concealed(step, entity)
    elif command.kind == "tests" and entity.by in step.combatants:
        secret = hide or concealed(step, step.combatants[entity.by])
    _tell_disclosed(step, command, hide, getattr(entity, "name", entity.id), secret)


def _disclose_place(step: Step, scene: Scene, command: c.GmReveal | c.GmHide, hide: bool) -> None:
    """A zone, or a way between two."""
    already = Rejected("not_now", "It is hidden already." if hide else "It is in plain sight already.", id=command.id)
    if command.kind == "zone":
        zone = scene.zone(command.id)
        if zone is None:
            raise unknown("zone", command.id, [z.id for z in scene.zones])
        if zone.hidden == hide:
            raise already
        step.change("scenes", scene.id, zones=tuple(replace(z, hidden=hide) if z.id == command.id else z for z in scene.zones))
        _tell_disclosed(step, command, hide, zone.name, hide or scene.hidden)
        return
    ends = {command.id, command.to}
    ways = [e for e in scene.edges if {e.a, e.b} == ends]
    if not ways:
        raise unknown("way", f"{command.id}-{command.to}", [f"{e.a}-{e.b}" for e in scene.edges])
    if all(e.hidden == hide for e in ways):
        raise already
    step.change("scenes", scene.id, edges=tuple(replace(e, hidden=hide) if {e.a, e.b} == ends else e for e in scene.edges))
    between = [zone for zone in scene.zones if zone.id in ends]
    name = "A way between " + " and ".join(zone.name for zone in between)
    _tell_disclosed(step, command, hide, name, hide or scene.hidden or any(zone.hidden for zone in between))


def _tell_disclosed(step: Step, command: c.GmReveal | c.GmHide, hide: bool, name: str, secret: bool) -> None:
    to = step.gms() if secret else None
    if hide:
        step.emit("gm.hidden", f"{name} is hidden now.", to=to, kind=command.kind, id=command.id)
    else:
        step.emit("gm.revealed", f"{name} comes into sight.", to=to, kind=command.kind, id=command.id)


def _spawn(step: Step, command: c.GmSpawn) -> None:
    spawn(
        step,
        command.id,
        command.template,
        command.name,
        command.side,
        command.scene,
        command.zone,
        command.hidden,
        command.seat,
        dict(command.fields),
    )


def _remove(step: Step, command: c.GmRemove) -> None:
    take_out(step, step.combatant(command.combatant))


def take_out(step: Step, combatant: Any) -> None:
    """Take a combatant out of play for good: out of its seats, its encounter, its tests and everybody's reach."""
    secret = concealed(step, combatant)
    if combatant.scene in step.scenes:
        zones.leave(step, combatant.id)
    turns.drop(step, combatant.id)
    for seat in list(step.seats.values()):
        if combatant.id in seat.controls:
            step.change("seats", seat.id, controls=tuple(one for one in seat.controls if one != combatant.id))
    for test in list(step.tests.values()):
        if test.by == combatant.id:
            for prompt in list(step.prompts.values()):
                if prompt.owner == ("tests", test.id):
                    step.remove("prompts", prompt.id)
            step.remove("tests", test.id)
        elif any(helper.combatant == combatant.id for helper in test.helpers):
            step.change("tests", test.id, helpers=tuple(helper for helper in test.helpers if helper.combatant != combatant.id))
    step.remove("combatants", combatant.id)
    to = step.gms() if secret else None
    step.emit("combatant.removed", f"{combatant.name} leaves play.", to=to, combatant=combatant.id)


def _move(step: Step, command: c.GmMove) -> None:
    combatant = step.combatant(command.combatant)
    old = combatant.scene
    if old in step.scenes:
        zones.leave(step, combatant.id)
    zones.place(step, combatant.id, command.scene, command.zone, command.near, command.cover)
    if old != command.scene:
        turns.drop(step, combatant.id)
    scene = step.scenes[command.scene]
    zone = scene.zone(command.zone)
    text = f"{combatant.name} is in {zone.name if zone is not None else command.zone} now."
    step.about(combatant.id, "combatant.placed", text, combatant=combatant.id, zone=command.zone)


def _clock(step: Step, command: c.GmClock) -> None:
    step.change("table", "", clock=step.table.clock + command.minutes)
    step.emit("clock", f"{command.minutes} minutes pass.", minutes=command.minutes, clock=step.table.clock)
    step.rules.time_passed(step, command.minutes)


def _encounter(step: Step, command: c.GmEncounter) -> None:
    step.rules.start_encounter(step, command)


def _running(step: Step, encounter_id: str) -> None:
    if encounter_id not in step.encounters:
        raise unknown("encounter", encounter_id, list(step.encounters))


def _encounter_join(step: Step, command: c.GmEncounterJoin) -> None:
    _running(step, command.encounter)
    turns.join(step, command.encounter, command.combatant, command.initiative)


def _encounter_end(step: Step, command: c.GmEncounterEnd) -> None:
    _running(step, command.encounter)
    turns.finish(step, command.encounter, "The GM ends the fight.")


def _turn(step: Step, command: c.GmTurn) -> None:
    _running(step, command.encounter)
    encounter = step.encounters[command.encounter]
    if encounter.pending:
        raise Rejected("busy", "An unfinished action waits; answer or void its question first.", encounter=encounter.id)
    if not command.combatant:
        if encounter.current:
            step.in_scene(encounter.scene, "turn.skipped", "The GM skips the turn.", encounter=encounter.id)
        turns.end(step, encounter.id)
        return
    if command.combatant not in encounter.order or command.combatant in encounter.acted or not turns.can_act(step, command.combatant):
        raise Rejected(
            "illegal_choice",
            "The turn can go to somebody who has not acted this round and can.",
            known=[one for one in encounter.order if one not in encounter.acted and turns.can_act(step, one)],
        )
    if command.combatant != encounter.current:
        turns.give(step, encounter.id, command.combatant)


def _prompt(step: Step, command: c.GmPrompt) -> None:
    prompt = prompts.find(step, command.prompt)
    if command.do == "void" or prompt.owner[0] == "table":
        prompts.void(step, prompt)
        step.emit("prompt.voided", "The GM calls the unfinished action off.", prompt=prompt.id)
    else:
        step.emit("prompt.defaulted", "The GM settles a question.", prompt=prompt.id, seat=prompt.to)
        prompts.by_default(step, prompt)


def _dice(step: Step, command: c.GmDice) -> None:
    if command.do == "reveal":
        stream = step.table.open if command.stream == "open" else step.table.hidden
        if not stream.closed or step.table.physical:
            raise Rejected("not_now", f"The {command.stream} dice have not rolled since they were opened.", stream=command.stream)
        dice_epochs.rotate(step, command.stream)
        return
    physical = command.do == "physical"
    if physical == step.table.physical:
        raise Rejected("not_now", f"The table uses {command.do} dice already.")
    if step.table.suspended is not None:
        raise Rejected("busy", "Dice are being entered for an action; that comes first.", prompt=step.table.suspended.prompt)
    step.change("table", "", physical=physical)
    step.emit(
        "dice.mode", "From now on players roll and enter the dice." if physical else "From now on the server rolls.", physical=physical
    )


def set_setting(step: Step, key: str, value: int) -> None:
    kept = {**dict(step.table.settings), key: str(value)}
    if len(kept) > 64:
        raise Rejected("limit", "64 settings are enough.", limit=64)
    step.change("table", "", settings=tuple(sorted(kept.items())))


def _setting(step: Step, command: c.GmSetting) -> None:
    set_setting(step, command.key, command.value)
    step.emit("setting", f"{command.key} is {command.value} now.", key=command.key, value=command.value)


HANDLERS: dict[type, Callable[[Step, Any], None]] = {
    c.GmSeatAdd: _seat_add,
    c.GmSeat: _seat,
    c.GmSeatRemove: _seat_remove,
    c.Hold: _hold,
    c.GmSitting: _sitting,
    c.GmScene: _scene,
    c.GmSceneRemove: _scene_remove,
    c.GmSet: _set,
    c.GmPause: _pause,
    c.Extend: _extend,
    c.GmReveal: _disclose,
    c.GmHide: _disclose,
    c.GmSpawn: _spawn,
    c.GmRemove: _remove,
    c.GmMove: _move,
    c.GmClock: _clock,
    c.GmEncounter: _encounter,
    c.GmEncounterJoin: _encounter_join,
    c.GmEncounterEnd: _encounter_end,
    c.GmTurn: _turn,
    c.GmPrompt: _prompt,
    c.GmDice: _dice,
    c.GmSetting: _setting,
}
