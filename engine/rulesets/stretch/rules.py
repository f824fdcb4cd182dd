"""The stretch ruleset: which handler takes which command, how combatants are made, and what turns and fights begin with."""

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
from engine.rulesets.stretch import asking, checks, fight, harm, pack, shown
from engine.rulesets.stretch import commands as c
from engine.rulesets.stretch.model import Asking, Frame, Wanderer
from engine.rulesets.stretch.switches import SWITCHES, VARIANTS, switch
from engine.session import Combatant, Session
from engine.setup import Setup
from engine.step import Step

INITIATIVE = {"per_agi": ("PER", "AGI"), "agi_lck": ("AGI", "LCK"), "agi": ("AGI",)}


class Stretch(BaseRuleset):
    """seeds/stretch_d20.txt, whole; docs/rules/stretch.md tells it to players."""

    name = "stretch"
    version = "1"
    title = "Stretch"
    summary = "A d20 over the gap between skill and task; fights on one page, fixed damage, called shots."
    combatant_type = Wanderer
    pending = Asking
    records: ClassVar[Mapping[tuple[str, str], Any]] = {("tests", "frame"): Frame | None}
    own_commands = c.COMMANDS
    samples: ClassVar[Mapping[str, str]] = pack.SAMPLES
    switches: ClassVar[Mapping[str, tuple[str | int | bool, ...]]] = SWITCHES
    variants: ClassVar[Mapping[str, Mapping[str, str | int | bool]]] = VARIANTS
    unlisted: ClassVar[Mapping[str, str]] = {"move.near": "several at once: options list each alone"}

    handlers: ClassVar[Mapping[type, Callable[[Step, Any], None]]] = {
        c.Attack: fight.attack,
        c.Move: fight.move,
        c.Stimpak: fight.stimpak,
        c.Clear: fight.clear,
        c.Stabilize: fight.stabilize,
        c.FrameTest: checks.frame,
        c.RequestTest: checks.request,
        c.RollTest: checks.roll,
        c.Hurt: harm.hurt,
        c.Ease: harm.ease,
        c.Rest: harm.rest,
        c.Fate: harm.fate,
        c.Mark: harm.mark,
    }

    def new(self, step: Step, setup: Setup) -> None:
        if setup.sample:
            pack.write(step, setup.sample)

    def apply(self, step: Step, command: Any) -> None:
        self.handlers[type(command)](step, command)

    def resume(self, step: Step, owner: tuple[str, str], record: Any, answers: tuple[Answered, ...]) -> None:
        asking.resume(step, owner, record, answers)

    def spawn(self, step: Step, combatant_id: str, template: str, fields: Mapping[str, Any]) -> Combatant:
        """A wanderer; what the fields leave out is full: Health, Resolve and AP are at their maximum."""
        if template not in ("", *pack.TEMPLATES):
            raise unknown("template", template, sorted(pack.TEMPLATES))
        given = {**pack.TEMPLATES.get(template, {}), **fields}
        made: Wanderer = super().spawn(step, combatant_id, "", given)  # type: ignore[assignment]
        full: dict[str, Any] = {"template": template}
        if switch(step, "stress_max") == "endurance" and "max_stress" not in given:
            full["max_stress"] = 2 * made.special.END
        if switch(step, "vats_pool") == "agility":
            full["max_ap"] = 10 * made.special.AGI
        made = replace(made, **full)
        for name, most in (("health", made.max_health), ("resolve", made.max_resolve), ("ap", made.max_ap)):
            if name not in given:
                made = replace(made, **{name: most})
        return replace(made, out=made.out or made.health == 0)

    def initiative(self, step: Step, combatant: Any) -> int:
        return sum(int(getattr(combatant.special, name)) for name in INITIATIVE[switch(step, "initiative")])

    def start_encounter(self, step: Step, command: GmEncounter) -> None:
        if switch(step, "vats_refresh") == "encounter":
            for one in list(step.combatants.values()):
                if one.scene == command.scene and (not command.combatants or one.id in command.combatants):
                    self._refresh(step, one)
        turns.start(step, command.scene, command.combatants)

    def turn_started(self, step: Step, combatant: Any) -> None:
        step.change("combatants", combatant.id, acted=0, moved=False, aiming=False)
        if switch(step, "vats_refresh") == "turn":
            self._refresh(step, step.combatants[combatant.id])

    def sitting_opened(self, step: Step) -> None:
        if switch(step, "vats_refresh") == "sitting":
            for one in list(step.combatants.values()):
                self._refresh(step, one)

    @staticmethod
    def _refresh(step: Step, who: Wanderer) -> None:
        if who.ap < who.max_ap:
            step.change("combatants", who.id, ap=who.max_ap)

    def view_combatant(self, session: Session, combatant: Any, grade: Any) -> dict[str, Any]:
        return shown.view(session, combatant, grade)

    def options(self, session: Session, seat: str) -> list[Option]:
        return shown.options(self, session, seat)

    def odds(self, session: Session, seat: str, command: Any) -> Odds:
        if isinstance(command, c.Attack):
            return shown.attack_odds(self, session, seat, command)
        if isinstance(command, c.RollTest):
            return shown.test_odds(self, session, seat, command)
        return super().odds(session, seat, command)
