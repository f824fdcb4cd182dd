"""The skirmish ruleset: which handler takes which command, and how rounds and activations begin."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from msgspec.structs import replace

from engine import turns
from engine.commands import GmEncounter
from engine.odds import Odds
from engine.options import Option
from engine.rejected import unknown
from engine.rulesets import Answered, BaseRuleset
from engine.rulesets.skirmish import attack, checks, crews, pack, pools, shown
from engine.rulesets.skirmish import commands as c
from engine.rulesets.skirmish.model import Frame, Model, Throwing
from engine.rulesets.skirmish.switches import SWITCHES, VARIANTS
from engine.session import Combatant, Encounter, Session
from engine.setup import Setup
from engine.step import Step


class Skirmish(BaseRuleset):
    """seeds/special_d10.txt, whole, and a small fight on top; docs/rules/skirmish.md says which is which."""

    name = "skirmish"
    version = "1"
    title = "Skirmish"
    summary = "Pools of d10 with luck dice; small crews that activate in turn."
    combatant_type = Model
    pending = Throwing
    records: ClassVar[Mapping[tuple[str, str], Any]] = {("tests", "frame"): Frame | None}
    own_commands = c.COMMANDS
    samples: ClassVar[Mapping[str, str]] = pack.SAMPLES
    switches: ClassVar[Mapping[str, tuple[str | int | bool, ...]]] = SWITCHES
    variants: ClassVar[Mapping[str, Mapping[str, str | int | bool]]] = VARIANTS
    unlisted: ClassVar[Mapping[str, str]] = {
        "move.near": "several at once: options list each alone",
        "attack.supporters": "any of them: options list each alone, and all that count",
        "rolloff": "the text's word for settling anything between two players, whenever they like",
    }

    handlers: ClassVar[Mapping[type, Callable[[Step, Any], None]]] = {
        c.Activate: crews.activate,
        c.Attack: attack.attack,
        c.Move: attack.move,
        c.Patch: attack.patch,
        c.Breathe: attack.breathe,
        c.RollOff: crews.declared,
        c.FrameTest: checks.frame,
        c.RequestTest: checks.request,
        c.JoinTest: checks.join,
        c.RollTest: checks.roll,
    }

    def new(self, step: Step, setup: Setup) -> None:
        if setup.sample:
            pack.write(step, setup.sample)

    def apply(self, step: Step, command: Any) -> None:
        self.handlers[type(command)](step, command)

    def resume(self, step: Step, owner: tuple[str, str], record: Any, answers: tuple[Answered, ...]) -> None:
        thrown = record.throw
        if thrown.by not in step.combatants:
            return
        if answers and answers[0].choice == "yes":
            thrown = pools.reroll(step, thrown, answers[0].ints)
        else:
            thrown = replace(thrown, rights=0)
        again = replace(record, throw=thrown, prompts=())
        if owner[0] == "tests":
            checks.go_on(step, owner, again)
        else:
            attack.go_on(step, owner, again)

    def spawn(self, step: Step, combatant_id: str, template: str, fields: Mapping[str, Any]) -> Combatant:
        if template not in ("", *pack.TEMPLATES):
            raise unknown("template", template, sorted(pack.TEMPLATES))
        made = super().spawn(step, combatant_id, "", {**pack.TEMPLATES.get(template, {}), **fields})
        return replace(made, template=template)

    def start_encounter(self, step: Step, command: GmEncounter) -> None:
        """Roll off which crew begins, unless the GM says whose model does (`first`)."""
        here = [one for one in step.combatants.values() if one.scene == command.scene and not one.out and one.kind != "object"]
        chosen = [one.id for one in here if not command.combatants or one.id in command.combatants]
        begins = step.combatant(command.first).side if command.first else None
        crews.order(step, command.scene, chosen, begins)
        turns.start(step, command.scene, command.combatants)

    def initiative(self, step: Step, combatant: Any) -> int:
        """The rank from the roll-off; who joins later comes last until the next round."""
        return int(combatant.rank)

    def turn_started(self, step: Step, combatant: Any) -> None:
        step.change("combatants", combatant.id, acted=False, moved=False, chosen=False)

    def round_started(self, step: Step, encounter: Encounter) -> None:
        crews.next_round(step, encounter)

    def view_combatant(self, session: Session, combatant: Any, grade: Any) -> dict[str, Any]:
        return shown.view(combatant, grade)

    def options(self, session: Session, seat: str) -> list[Option]:
        return shown.options(self, session, seat)

    def odds(self, session: Session, seat: str, command: Any) -> Odds:
        if isinstance(command, c.Attack):
            return shown.attack_odds(self, session, seat, command)
        if isinstance(command, c.RollTest):
            return shown.test_odds(self, session, seat, command)
        return super().odds(session, seat, command)
