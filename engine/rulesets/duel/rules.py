"""Duel's rules: who may do what, what it costs, and what comes of it. docs/rules/duel.md tells them to players."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from msgspec.structs import replace

from engine import testlife, turns, zones
from engine.odds import Odds
from engine.options import Option
from engine.rejected import Rejected, unknown
from engine.rulesets import Answered, BaseRuleset
from engine.rulesets.duel import model as m
from engine.rulesets.duel import sample, shown
from engine.rulesets.duel.model import Duelist
from engine.session import Combatant, Session
from engine.setup import Setup
from engine.step import Step
from engine.talk import fact

Owner = tuple[str, str]
STANCES = (("high", "high"), ("middle", "in the middle"), ("low", "low"))
BEATS = {("high", "low"), ("low", "middle"), ("middle", "high")}


class Duel(BaseRuleset):
    name = "duel"
    version = "1"
    title = "Duel"
    summary = "Opposed d20 fights, ten minutes long: strike, parry, feint, move."
    combatant_type = Duelist
    pending = m.Strike | m.Guess
    records: ClassVar[Mapping[tuple[str, str], Any]] = {("tests", "frame"): m.Frame | None}
    own_commands = m.COMMANDS
    samples: ClassVar[Mapping[str, str]] = {"yard": "Two against two at an old mill."}
    switches: ClassVar[Mapping[str, tuple[str | int | bool, ...]]] = {"parry_bonus": (3, 0, 5)}
    variants: ClassVar[Mapping[str, Mapping[str, str | int | bool]]] = {"bloody": {"parry_bonus": 0}}
    unlisted: ClassVar[Mapping[str, str]] = {"move.near": "several at once: options list each alone"}

    def __init__(self) -> None:
        super().__init__()
        self.handlers: dict[type, Callable[[Step, Any], None]] = {
            m.Attack: self._attack,
            m.Feint: self._feint,
            m.Brace: self._brace,
            m.Move: self._move,
            m.FrameTest: self._frame_test,
            m.JoinTest: self._join_test,
            m.RollTest: self._roll_test,
        }

    def new(self, step: Step, setup: Setup) -> None:
        if setup.sample:
            sample.write(step, setup.sample)

    def apply(self, step: Step, command: Any) -> None:
        self.handlers[type(command)](step, command)

    def spawn(self, step: Step, combatant_id: str, template: str, fields: Mapping[str, Any]) -> Combatant:
        if template not in ("", *sample.TEMPLATES):
            raise unknown("template", template, sorted(sample.TEMPLATES))
        base = sample.TEMPLATES.get(template, {})
        return replace(super().spawn(step, combatant_id, "", {**base, **fields}), template=template)

    def initiative(self, step: Step, combatant: Any) -> int:
        return int(combatant.speed)

    def turn_started(self, step: Step, combatant: Any) -> None:
        step.change("combatants", combatant.id, acted=False, moved=False, parried=False, braced=False)

    def view_combatant(self, session: Session, combatant: Any, grade: Any) -> dict[str, Any]:
        return shown.view(combatant, grade)

    def options(self, session: Session, seat: str) -> list[Option]:
        return shown.options(self, session, seat)

    def odds(self, session: Session, seat: str, command: Any) -> Odds:
        return shown.odds(self, session, seat, command) if isinstance(command, m.Attack) else super().odds(session, seat, command)

    # --- strikes and feints ------------------------------------------------------------------------------------------------

    def _acting(self, step: Step, combatant_id: str) -> tuple[Duelist, Owner]:
        duelist, encounter = turns.acting(step, combatant_id)
        if encounter is None:
            raise Rejected("not_now", "Nobody fights here; the GM starts an encounter first.")
        if duelist.acted:
            raise Rejected("not_now", f"{duelist.name} has acted this turn; move or end the turn.")
        return duelist, ("encounters", encounter.id)

    def _against(self, step: Step, command: m.Attack | m.Feint) -> tuple[Duelist, Duelist, Owner]:
        """Who acts against whom, checked; whoever does comes into sight."""
        by, owner = self._acting(step, command.combatant)
        target: Duelist = step.combatant(command.target)
        if target.side == by.side:
            raise Rejected("illegal_choice", f"{target.name} is on the same side.", target=target.id)
        if target.out or not shown.in_reach(step.scenes[by.scene], by, target):
            raise Rejected("out_of_range", f"{target.name} is out of reach of {by.name}'s {by.weapon}.", target=target.id)
        if zones.in_hidden_place(step, by) or zones.concealed(step, target):
            raise Rejected("not_now", "Nobody fights from a hidden place, nor against somebody unseen.", target=target.id)
        return step.change("combatants", by.id, acted=True, hidden=False), target, owner

    def _attack(self, step: Step, command: m.Attack) -> None:
        by, target, owner = self._against(step, command)
        boldly = " boldly" if command.bold else ""
        step.emit("duel.attack", f"{by.name} strikes at {target.name}{boldly}.", by=by.id, target=target.id, bold=command.bold)
        text = f"{by.name} strikes at {target.name}. Parry? One parry a round."
        asked = () if target.parried else (self._ask(step, owner, target, "parry", text, ("Parry", "Save the parry")),)
        step.push(owner, m.Strike(prompts=asked, by=by.id, target=target.id, bold=command.bold))

    def _ask(self, step: Step, owner: Owner, whom: Duelist, kind: str, text: str, choices: tuple[str, str]) -> str:
        return step.ask(
            owner,
            step.controller(whom.id),
            kind=kind,
            type=f"duel.{kind}?",
            text=text,
            choices=[("yes", choices[0]), ("no", choices[1])],
            default="no",
            always="yes",
            never="no",
            combatant=whom.id,
        )

    def resume(self, step: Step, owner: Owner, record: Any, answers: tuple[Answered, ...]) -> None:
        by, target = step.combatants.get(record.by), step.combatants.get(record.target)
        if by is None or target is None or by.out or target.out:
            return  # an interrupt took one of them out of the fight
        chosen = {one.combatant: one.choice for one in answers}
        if isinstance(record, m.Guess):
            self._guessed(step, by, target, chosen)
        elif record.stage == "parry":
            self._cross(step, owner, record, by, target, parry=chosen.get(target.id) == "yes")
        elif chosen[by.id] == "yes":
            step.change("combatants", by.id, grit=by.grit - 1)
            again = step.roll(1, 20, purpose="strike.again", actor=by.id, of=record.roll, positions=(0,))
            step.emit("duel.reroll", f"{by.name} grits their teeth and rolls again: {again.faces[0]}.", by=by.id, rolls=[fact(again)])
            self._land(step, owner, replace(record, face=again.faces[0]), by, target)
        else:
            self._land(step, owner, record, by, target)

    def _cross(self, step: Step, owner: Owner, record: m.Strike, by: Duelist, target: Duelist, *, parry: bool) -> None:
        mine = step.roll(1, 20, purpose="strike", actor=by.id)
        theirs = step.roll(1, 20, purpose="guard", actor=target.id)
        bonus = int(self.option(step, "parry_bonus")) if parry else 0
        against = theirs.faces[0] + shown.guard_of(target) + bonus
        step.change("combatants", target.id, exposed=False, parried=target.parried or parry)
        text = f"{by.name} rolls {mine.faces[0]}, {target.name} {theirs.faces[0]}{' and parries' if parry else ''}."
        step.emit("duel.cross", text, by=by.id, target=target.id, parry=parry, rolls=[fact(mine), fact(theirs)])
        record = replace(record, prompts=(), stage="reroll", face=mine.faces[0], roll=mine.n, against=against)
        if by.grit and not _hits(record, by):
            text = f"{by.name} misses. Spend grit to roll again?"
            prompt = self._ask(step, owner, by, "reroll", text, ("Spend 1 grit", "Let it go"))
            step.push(owner, replace(record, prompts=(prompt,)))
        else:
            self._land(step, owner, record, by, target)

    def _land(self, step: Step, owner: Owner, record: m.Strike, by: Duelist, target: Duelist) -> None:
        if not _hits(record, by):
            step.emit("duel.miss", f"{by.name} misses {target.name}.", by=by.id, target=target.id)
            return
        weapon = m.WEAPONS[by.weapon]
        at = step.roll(1, 6, purpose="place", actor=by.id)
        hurt = step.roll(1, weapon.sides, purpose="damage", actor=by.id)
        place = m.PLACES[at.faces[0] - 1]
        damage = max(hurt.faces[0] + weapon.bonus + 2 * (place == "head") + 2 * record.bold - target.armor, 0)
        left = max(target.hp - damage, 0)
        step.change("combatants", target.id, hp=left, out=left == 0)
        text = f"{by.name} hits {target.name} in the {place} for {damage}."
        step.emit("duel.hit", text, by=by.id, target=target.id, place=place, damage=damage, rolls=[fact(at), fact(hurt)])
        if left == 0:
            step.emit("duel.out", f"{target.name} is out of the fight.", combatant=target.id)
            sides = sorted({step.combatants[one].side for one in step.encounters[owner[1]].order if turns.can_act(step, one)})
            if len(sides) == 1:
                turns.finish(step, owner[1], f"The fight is over: {sides[0] or 'one side'} stands.", side=sides[0])

    def _feint(self, step: Step, command: m.Feint) -> None:
        by, target, owner = self._against(step, command)
        step.emit("duel.feint", f"{by.name} feints at {target.name}.", by=by.id, target=target.id)
        group = step.ident("g")
        asked = tuple(
            step.ask(
                owner,
                step.controller(one.id),
                kind="stance",
                type="duel.stance?",
                text=f"Where does {one.name} go: high, in the middle, or low? High beats low, low beats the middle, the middle beats high.",
                choices=STANCES,
                default="middle",
                group=group,
                secret=True,
                combatant=one.id,
            )
            for one in (by, target)
        )
        step.push(owner, m.Guess(prompts=asked, by=by.id, target=target.id))

    def _guessed(self, step: Step, by: Duelist, target: Duelist, chosen: Mapping[str, str]) -> None:
        won = (chosen[by.id], chosen[target.id]) in BEATS
        step.change("combatants", target.id, exposed=won or target.exposed)
        text = f"{by.name} goes {chosen[by.id]}, {target.name} {chosen[target.id]}: {'an opening!' if won else 'no opening.'}"
        step.emit("duel.guessed", text, by=by.id, target=target.id, chosen=dict(chosen), won=won)

    def _brace(self, step: Step, command: m.Brace) -> None:
        by, _ = self._acting(step, command.combatant)
        step.change("combatants", by.id, acted=True, braced=True)
        step.about(by.id, "duel.brace", f"{by.name} braces.", combatant=by.id)

    def _move(self, step: Step, command: m.Move) -> None:
        by, encounter = turns.acting(step, command.combatant)
        if encounter is not None and by.moved:
            raise Rejected("not_now", f"{by.name} has moved this turn.")
        scene = step.scenes.get(by.scene)
        ways = [] if scene is None else zones.ways_for(step, scene, by.zone)
        if scene is None or command.zone not in (by.zone, *ways):
            raise Rejected("out_of_range", "Move to a neighbouring zone.", zone=command.zone)
        zone = scene.zone(command.zone)
        if zone is not None:
            zones.check_moves(step, by, zone)
        zones.place(step, by.id, by.scene, command.zone, command.near, command.cover)
        step.change("combatants", by.id, moved=encounter is not None)
        text = f"{by.name} moves to {zone.name if zone is not None else command.zone}."
        near = [one for one in command.near if not zones.concealed(step, step.combatants[one])]
        step.about(by.id, "duel.move", text, combatant=by.id, zone=command.zone, near=near)

    # --- tests -------------------------------------------------------------------------------------------------------------

    def _frame_test(self, step: Step, command: m.FrameTest) -> None:
        test = testlife.find(step, command.test, "proposed", "framed")
        record = m.Frame(bonus=command.bonus, difficulty=command.difficulty)
        testlife.frame(step, test, record, f"It takes {command.difficulty} on d20{command.bonus:+d}.", hidden=command.hidden)

    def _join_test(self, step: Step, command: m.JoinTest) -> None:
        test = testlife.find(step, command.test, "proposed", "framed")
        testlife.join(step, test, command.combatant, None, f"{step.name(command.combatant)} helps.")

    def _roll_test(self, step: Step, command: m.RollTest) -> None:
        test = testlife.find(step, command.test, "framed")
        if not step.controls(test.by):
            raise Rejected("not_yours", "Only who attempts a test rolls it.", test=test.id)
        rolled = step.roll(1, 20, purpose="test", actor=test.by, hidden=test.hidden)
        total = rolled.faces[0] + test.frame.bonus + 2 * len(test.helpers)
        passed = total >= test.frame.difficulty
        text = f"{step.name(test.by)} rolls {rolled.faces[0]}, {total} in all: {'passed' if passed else 'failed'}."
        testlife.said(step, test, "test.rolled", text, total=total, passed=passed, rolls=[fact(rolled)])
        testlife.close(step, test.id)


def _hits(record: m.Strike, by: Duelist) -> bool:
    return record.face + shown.aim_of(by, record.bold) >= record.against
