"""Setting a new table up: its switches, seats, scenes, combatants and settings, from a Setup."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine import dice_epochs, gm
from engine.commands import GmEncounter
from engine.rejected import Rejected, unknown

if TYPE_CHECKING:
    from engine.rulesets import Ruleset
    from engine.setup import Setup
    from engine.step import Step


def switches(rules: Ruleset, setup: Setup) -> tuple[tuple[str, str | int | bool], ...]:
    """The switches that are set: the variant's, overridden by the set-up's. Raises Rejected for unknown ones."""
    if setup.variant and setup.variant not in rules.variants:
        raise unknown("variant", setup.variant, sorted(rules.variants))
    chosen = {**rules.variants.get(setup.variant, {}), **setup.options}
    for name, value in chosen.items():
        allowed = rules.switches.get(name)
        if allowed is None:
            raise unknown("option", name, sorted(rules.switches))
        if not any(value == one and type(value) is type(one) for one in allowed):
            raise Rejected(
                "illegal_choice", f"The option '{name}' is one of: {', '.join(map(str, allowed))}.", option=name, known=list(allowed)
            )
    return tuple(sorted(chosen.items()))


def set_up(step: Step, setup: Setup) -> None:
    """Write a whole new table from its set-up. Raises Rejected."""
    step.change("table", "", name=setup.name, physical=setup.physical)
    for key, value in sorted(setup.settings.items()):
        gm.set_setting(step, key, value)
    dice_epochs.begin(step, "open", 1, 0)
    dice_epochs.begin(step, "hidden", 1, 0)
    step.emit("session.created", f"A table of {step.rules.title} is set.", ruleset=step.rules.name)
    for seat in setup.seats:
        gm.add_seat(step, seat.id, seat.name or seat.id, seat.role, ())
    if not step.gms():
        gm.add_seat(step, "gm", "GM", "gm", ())
    for scene in setup.scenes:
        gm.write_scene(step, scene.id, scene.name or scene.id, scene.zones, scene.edges, scene.blind, scene.tags, scene.hidden)
    step.rules.new(step, setup)
    for one in setup.combatants:
        gm.spawn(step, one.id, one.template, one.name, one.side, one.scene, one.zone, one.hidden, one.seat, one.fields)
    for name, value in setup.pools.items():
        if name not in step.pools:
            raise unknown("pool", name, list(step.pools))
        step.change("pools", name, value=gm.pool_value(step.pools[name], value))
    for seat in setup.seats:
        if seat.controls:
            step.change("seats", seat.id, controls=gm.checked_controls(step, (*step.seats[seat.id].controls, *seat.controls)))
    if setup.encounter:
        step.rules.start_encounter(step, GmEncounter(scene=setup.encounter))
