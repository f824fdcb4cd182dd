"""The wasteland ruleset: which command goes to which handler, which unfinished action resumes where, and what the kernel asks of it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any, ClassVar

from msgspec.structs import replace

from engine import commands as kernel_commands
from engine import gm, zones
from engine.odds import Odds
from engine.options import Option
from engine.rulesets import Answered, BaseRuleset
from engine.rulesets.wasteland import (
    actions,
    aid,
    assault,
    attack,
    charges,
    derived,
    firing,
    growth,
    healing,
    luck,
    moving,
    odds,
    options,
    order,
    pack,
    pilot,
    pools,
    rest,
    saves,
    spending,
    tables,
    testflow,
    turnhooks,
    views,
)
from engine.rulesets.wasteland import commands as c
from engine.rulesets.wasteland import model as m
from engine.rulesets.wasteland import pending as p
from engine.session import Combatant, Session
from engine.setup import Setup
from engine.sight import Sight
from engine.step import Step

HANDLERS: Mapping[type, Callable[[Step, Any], None]] = {
    c.Attack: attack.attack,
    c.Move: moving.move,
    c.Sprint: moving.sprint,
    c.Aim: moving.aim,
    c.Draw: actions.draw,
    c.Interact: actions.interact,
    c.Reload: actions.reload,
    c.TakeChem: aid.take_chem,
    c.FirstAid: aid.first_aid,
    c.Assist: actions.assist,
    c.CommandNpc: actions.command_npc,
    c.Ready: firing.ready,
    c.ClaimReady: firing.claim,
    c.Douse: actions.douse,
    c.Place: charges.place,
    c.Eat: rest.eat,
    c.Repair: rest.repair,
    c.GmRest: rest.sleep,
    c.GmHazard: actions.hazard,
    c.GmReward: growth.reward,
    c.LevelUp: growth.level_up,
    c.GmPromote: growth.promote,
    c.Rally: actions.rally,
    c.Defend: actions.defend,
    c.RequestTest: testflow.request,
    c.FrameTest: testflow.frame,
    c.JoinTest: testflow.join,
    c.LeadTest: testflow.lead,
    c.RollTest: testflow.roll,
    c.SpendTest: spending.spend_command,
    c.AskTest: spending.ask_command,
    c.AnswerTest: spending.answer_command,
    c.LuckDraw: luck.draw,
    c.LuckOffer: luck.offer,
    c.LuckReroll: luck.reroll_command,
    c.LuckTiming: luck.timing,
    c.LuckTrinket: luck.trinket,
    c.LuckRefresh: luck.refresh_command,
    c.GmModify: actions.modify,
}


class Wasteland(BaseRuleset):
    name = "wasteland"
    version = "2"
    title = "Wasteland"
    summary = "2d20 skill tests, Action Points and Luck, and fights with hit locations and combat dice."
    combatant_type = m.Survivor
    pending = p.PendingRecord
    records: ClassVar[Mapping[tuple[str, str], Any]] = {
        ("tests", "frame"): m.Frame | None,
        ("tests", "result"): m.Result | None,
        ("tests", "helpers"): tuple[m.Helping, ...],
    }
    own_commands = c.COMMANDS
    samples: ClassVar[Mapping[str, str]] = {
        "scrapyard": "Six wayfarers against the pickers of a scrapyard.",
        "kiln": "Three of them against the keepers of an old kiln: fire, darkness and a poisoned sump.",
        "ford": "Three of them at a ford in rain and fog, against drovers and what they drive.",
    }
    switches: ClassVar[Mapping[str, tuple[str | int | bool, ...]]] = tables.SWITCHES
    variants: ClassVar[Mapping[str, Mapping[str, str | int | bool]]] = {"standard": {}, "zh": tables.ZH, "summary-zh": tables.ZH}

    # --- tables and people -----------------------------------------------------------------------------------------------

    def new(self, step: Step, setup: Setup) -> None:
        """The ready table, if one is named, and the two pools of Action Points."""
        if setup.sample:
            _write_sample(step, setup.sample)
        pools.create(step)

    def spawn(self, step: Step, combatant_id: str, template: str, fields: Mapping[str, Any]) -> Combatant:
        """A survivor from a template, unhurt and with all its Luck unless the fields say otherwise."""
        base = pack.template(template) if template else {}
        given = {**base, **fields}
        made: Any = super().spawn(step, combatant_id, "", given)
        fresh: dict[str, Any] = {}
        if "hp" not in given:
            fresh["hp"] = derived.max_hp(made)
        if "luck" not in given:
            fresh["luck"] = derived.max_luck(made)
        whole: Combatant = replace(made, **fresh)
        return whole

    def sitting_opened(self, step: Step) -> None:
        """core_rules_2d20, "Regaining Luck", "The Gamemaster's Action Point Pool"."""
        luck.refresh(step)
        pools.refresh(step)

    def time_passed(self, step: Step, minutes: int) -> None:
        """Chems wear off, tranquilized ones wake."""
        healing.time_passed(step)

    # --- play ------------------------------------------------------------------------------------------------------------

    def apply(self, step: Step, command: Any) -> None:
        HANDLERS[type(command)](step, command)

    def resume(self, step: Step, owner: tuple[str, str], record: Any, answers: tuple[Answered, ...]) -> None:
        match record:
            case p.Assault():
                assault.resume(step, owner, record, answers)
            case p.Save():
                saves.resume(step, owner, record, answers)
            case p.Passing():
                turnhooks.passed(step, owner[1], record)
            case p.Interrupt():
                firing.resume(step, owner, record)
            case p.Landing():
                moving.land(step, record)
            case p.Claim():
                firing.claimed(step, record, answers)
            case p.Hold():
                luck.held(step, owner[1], record, answers)
            case p.Casting():
                testflow.recast(step, record, answers)
            case p.Spending():
                spending.spent(step, record, answers)
            case p.Trouble() if record.test:
                testflow.trouble_over(step, record, answers)
            case p.Trouble():
                assault.trouble_over(step, owner, record, answers)
                saves.close(step, owner)
            case p.HelpAsked():
                testflow.help_answered(step, record, answers)
            case p.Wish():
                luck.wish_answered(step, owner, record, answers)
            case p.Ties():
                order.tie_broken(step, owner[1], record, answers)

    def initiative(self, step: Step, combatant: Any) -> int:
        return derived.initiative(combatant)

    def start_encounter(self, step: Step, command: kernel_commands.GmEncounter) -> None:
        order.start(step, command)

    def turn_started(self, step: Step, combatant: Any) -> None:
        turnhooks.turn_started(step, combatant)

    def turn_ended(self, step: Step, combatant: Any) -> None:
        turnhooks.turn_ended(step, combatant)

    # --- what clients are told -------------------------------------------------------------------------------------------

    def options(self, session: Session, seat: str) -> list[Option]:
        return options.options(self, session, seat)

    def odds(self, session: Session, seat: str, command: Any) -> Odds:
        return odds.odds(self, session, seat, command)

    def suggest(self, session: Session, seat: str) -> dict[str, Any] | None:
        """A sensible next command for the seat, None when it has nothing to do (engine.rulesets.wasteland.pilot)."""
        return pilot.suggest(self, session, seat)

    def grade_combatant(self, session: Session, combatant: Any, sight: Sight) -> Hashable | None:
        return views.grade(combatant, sight)

    def view_combatant(self, session: Session, combatant: Any, grade: Hashable) -> dict[str, Any]:
        return views.view(combatant, grade)


def _write_sample(step: Step, name: str) -> None:
    ready = pack.sample(name)
    gm.write_scene(step, ready.scene, ready.name, ready.zones, ready.edges, ready.blind, ready.tags, False)
    for seat in ready.seats:
        if seat.id not in step.seats:
            gm.add_seat(step, seat.id, seat.name, "player", ())
    owners = {one: seat.id for seat in ready.seats for one in seat.controls}
    for one in ready.combatants:
        gm.spawn(step, one.id, one.template, "", one.side, ready.scene, one.zone, False, owners.get(one.id, ""), {})
        if one.cover:
            zones.place(step, one.id, ready.scene, one.zone, (), one.cover)


RULES = Wasteland()
