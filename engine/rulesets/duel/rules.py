"""Duel's rules: who may do what, what it costs, and what comes of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, ClassVar

from msgspec.structs import replace

from engine import odds as o
from engine import testlife, turns, zones
from engine.odds import Odds
from engine.options import Option, Param, Value
from engine.rejected import Rejected, unknown
from engine.rulesets import Answered, BaseRuleset
from engine.rulesets.duel import sample
from engine.rulesets.duel.model import (
    COMMANDS,
    PLACES,
    WEAPONS,
    Attack,
    Brace,
    Duelist,
    Feint,
    Frame,
    FrameTest,
    Guess,
    JoinTest,
    Move,
    Result,
    RollTest,
    Strike,
)
from engine.session import Combatant, Session
from engine.setup import Setup
from engine.sight import sight_of, unseen
from engine.step import Step
from engine.talk import fact

STANCES = (("high", "high"), ("middle", "in the middle"), ("low", "low"))
BEATS = {("high", "low"), ("low", "middle"), ("middle", "high")}


class Duel(BaseRuleset):
    name = "duel"
    version = "1"
    title = "Duel"
    summary = "Opposed d20 fights, ten minutes long: strike, parry, feint, move."
    combatant_type = Duelist
    pending = Strike | Guess
    records: ClassVar[Mapping[tuple[str, str], Any]] = {("tests", "frame"): Frame | None, ("tests", "result"): Result | None}
    own_commands = COMMANDS
    switches: ClassVar[Mapping[str, tuple[str | int | bool, ...]]] = {"parry_bonus": (3, 0, 5)}
    variants: ClassVar[Mapping[str, Mapping[str, str | int | bool]]] = {"bloody": {"parry_bonus": 0}}

    def __init__(self) -> None:
        super().__init__()
        self.handlers: dict[type, Callable[[Step, Any], None]] = {
            Attack: self._attack,
            Feint: self._feint,
            Brace: self._brace,
            Move: self._move,
            FrameTest: self._frame_test,
            JoinTest: self._join_test,
            RollTest: self._roll_test,
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
        made: Combatant = super().spawn(step, combatant_id, "", {"name": template or combatant_id, **base, **fields})
        return replace(made, template=template)

    def initiative(self, step: Step, combatant: Any) -> int:
        return int(combatant.speed)

    def turn_started(self, step: Step, combatant: Any) -> None:
        step.change("combatants", combatant.id, acted=False, moved=False, parried=False, braced=False)

    # --- what a duelist does ---------------------------------------------------------------------------------------------

    def _acting(self, step: Step, combatant_id: str) -> tuple[Duelist, tuple[str, str]]:
        duelist, encounter = turns.acting(step, combatant_id)
        if encounter is None:
            raise Rejected("not_now", "Nobody fights here; the GM starts an encounter first.")
        if duelist.acted:
            raise Rejected("not_now", f"{duelist.name} has acted this turn; move or end the turn.")
        return duelist, ("encounters", encounter.id)

    def _target(self, step: Step, by: Duelist, target_id: str) -> Duelist:
        target: Duelist = step.combatant(target_id)
        scene = step.scenes[by.scene]
        if target.id == by.id or target.out or not in_reach(scene, by, target):
            raise Rejected("out_of_range", f"{target.name} is out of reach of {by.name}'s {by.weapon}.", target=target.id)
        return target

    def _attack(self, step: Step, command: Attack) -> None:
        by, owner = self._acting(step, command.combatant)
        target = self._target(step, by, command.target)
        step.change("combatants", by.id, acted=True)
        step.emit(
            "duel.attack",
            f"{by.name} strikes at {target.name}{' boldly' if command.bold else ''}.",
            by=by.id,
            target=target.id,
            bold=command.bold,
        )
        asked: tuple[str, ...] = ()
        if not target.parried:
            asked = (
                step.ask(
                    owner,
                    step.controller(target.id),
                    kind="parry",
                    type="duel.parry?",
                    text=f"{by.name} strikes at {target.name}. Parry? One parry a round.",
                    choices=[("yes", "Parry"), ("no", "Save the parry")],
                    default="no",
                    always="yes",
                    never="no",
                    combatant=target.id,
                ),
            )
        step.push(owner, Strike(prompts=asked, by=by.id, target=target.id, bold=command.bold))

    def resume(self, step: Step, owner: tuple[str, str], record: Any, answers: tuple[Answered, ...]) -> None:
        by, target = step.combatants.get(record.by), step.combatants.get(record.target)
        if by is None or target is None or by.out or target.out:
            return  # an interrupt took one of them out of the fight
        if isinstance(record, Guess):
            self._guessed(step, by, target, {one.combatant: one.choice for one in answers})
        elif record.stage == "parry":
            self._cross(step, owner, record, by, target, parry=any(one.choice == "yes" for one in answers))
        elif answers[0].choice == "yes":
            step.change("combatants", by.id, grit=by.grit - 1)
            again = step.roll(1, 20, purpose="strike.again", actor=by.id, of=record.roll, positions=(0,))
            step.emit("duel.reroll", f"{by.name} grits their teeth and rolls again: {again.faces[0]}.", by=by.id, rolls=[fact(again)])
            self._land(step, owner, record, by, target, again.faces[0], record.against)
        else:
            self._land(step, owner, record, by, target, record.face, record.against)

    def _cross(self, step: Step, owner: tuple[str, str], record: Strike, by: Duelist, target: Duelist, *, parry: bool) -> None:
        mine = step.roll(1, 20, purpose="strike", actor=by.id)
        theirs = step.roll(1, 20, purpose="guard", actor=target.id)
        bonus = int(self.option(step, "parry_bonus")) if parry else 0
        against = theirs.faces[0] + guard_of(target) + bonus
        step.change("combatants", target.id, exposed=False, parried=target.parried or parry)
        text = f"{by.name} rolls {mine.faces[0]}, {target.name} {theirs.faces[0]}{' and parries' if parry else ''}."
        step.emit("duel.cross", text, by=by.id, target=target.id, parry=parry, rolls=[fact(mine), fact(theirs)])
        if mine.faces[0] + aim_of(by, record.bold) < against and by.grit:
            prompt = step.ask(
                owner,
                step.controller(by.id),
                kind="reroll",
                type="duel.reroll?",
                text=f"{by.name} misses. Spend grit to roll again?",
                choices=[("yes", "Spend 1 grit"), ("no", "Let it go")],
                default="no",
                always="yes",
                never="no",
                combatant=by.id,
            )
            waiting = Strike(
                prompts=(prompt,),
                by=by.id,
                target=target.id,
                bold=record.bold,
                stage="reroll",
                face=mine.faces[0],
                roll=mine.n,
                against=against,
            )
            step.push(owner, waiting)
            return
        self._land(step, owner, record, by, target, mine.faces[0], against)

    def _land(self, step: Step, owner: tuple[str, str], record: Strike, by: Duelist, target: Duelist, face: int, against: int) -> None:
        if face + aim_of(by, record.bold) < against:
            step.emit("duel.miss", f"{by.name} misses {target.name}.", by=by.id, target=target.id)
            return
        weapon = WEAPONS[by.weapon]
        at = step.roll(1, 6, purpose="place", actor=by.id)
        hurt = step.roll(1, weapon.sides, purpose="damage", actor=by.id)
        place = PLACES[at.faces[0] - 1]
        damage = max(hurt.faces[0] + weapon.bonus + (2 if place == "head" else 0) + (2 if record.bold else 0) - target.armor, 0)
        left = max(target.hp - damage, 0)
        step.change("combatants", target.id, hp=left, out=left == 0)
        text = f"{by.name} hits {target.name} in the {place} for {damage}."
        step.emit("duel.hit", text, by=by.id, target=target.id, place=place, damage=damage, rolls=[fact(at), fact(hurt)])
        if left == 0:
            step.emit("duel.out", f"{target.name} is out of the fight.", combatant=target.id)
            sides = sorted({step.combatants[one].side for one in step.encounters[owner[1]].order if turns.can_act(step, one)})
            if len(sides) == 1:
                turns.finish(step, owner[1], f"The fight is over: {sides[0] or 'one side'} stands.", side=sides[0])

    def _feint(self, step: Step, command: Feint) -> None:
        by, owner = self._acting(step, command.combatant)
        target = self._target(step, by, command.target)
        step.change("combatants", by.id, acted=True)
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
        step.push(owner, Guess(prompts=asked, by=by.id, target=target.id))

    def _guessed(self, step: Step, by: Duelist, target: Duelist, chosen: Mapping[str, str]) -> None:
        won = (chosen[by.id], chosen[target.id]) in BEATS
        step.change("combatants", target.id, exposed=won or target.exposed)
        text = f"{by.name} goes {chosen[by.id]}, {target.name} {chosen[target.id]}: {'an opening!' if won else 'no opening.'}"
        step.emit("duel.guessed", text, by=by.id, target=target.id, chosen=dict(chosen), won=won)

    def _brace(self, step: Step, command: Brace) -> None:
        by, _ = self._acting(step, command.combatant)
        step.change("combatants", by.id, acted=True, braced=True)
        step.emit("duel.brace", f"{by.name} braces.", combatant=by.id)

    def _move(self, step: Step, command: Move) -> None:
        by, encounter = turns.acting(step, command.combatant)
        if encounter is not None and by.moved:
            raise Rejected("not_now", f"{by.name} has moved this turn.")
        scene = step.scenes.get(by.scene)
        if scene is None or (
            command.zone != by.zone and not any(z == command.zone and not way.hidden for z, way in zones.neighbours(scene, by.zone))
        ):
            raise Rejected("out_of_range", "Move to a neighbouring zone.", zone=command.zone)
        zones.place(step, by.id, by.scene, command.zone, command.near, command.cover)
        if encounter is not None:
            step.change("combatants", by.id, moved=True)
        told: dict[str, Any] = {"combatant": by.id, "zone": command.zone, "near": list(command.near)}
        zone = scene.zone(command.zone)
        text = f"{by.name} moves to {zone.name if zone is not None else command.zone}."
        if by.hidden:
            step.whisper("duel.move", text, by.id, **told)
        else:
            step.emit("duel.move", text, **told)

    # --- tests -------------------------------------------------------------------------------------------------------------

    def _frame_test(self, step: Step, command: FrameTest) -> None:
        test = testlife.find(step, command.test, "proposed", "framed")
        record = Frame(bonus=command.bonus, difficulty=command.difficulty)
        testlife.frame(step, test, record, f"It takes {command.difficulty} on d20{command.bonus:+d}.", hidden=command.hidden)

    def _join_test(self, step: Step, command: JoinTest) -> None:
        test = testlife.find(step, command.test, "proposed", "framed")
        testlife.join(step, test, command.combatant, None, f"{step.name(command.combatant)} helps.")

    def _roll_test(self, step: Step, command: RollTest) -> None:
        test = testlife.find(step, command.test, "framed")
        if not step.controls(test.by):
            raise Rejected("not_yours", "Only who attempts a test rolls it.", test=test.id)
        if test.by not in step.combatants:
            raise unknown("combatant", test.by)
        rolled = step.roll(1, 20, purpose="test", actor=test.by, hidden=test.hidden)
        total = rolled.faces[0] + test.frame.bonus + 2 * len(test.helpers)
        passed = total >= test.frame.difficulty
        text = f"{step.name(test.by)} rolls {rolled.faces[0]}, {total} in all: {'passed' if passed else 'failed'}."
        testlife.said(step, test, "test.rolled", text, total=total, passed=passed, rolls=[fact(rolled)])
        testlife.close(step, test.id)

    # --- what clients are told ------------------------------------------------------------------------------------------------

    def view_combatant(self, session: Session, combatant: Any, grade: Any) -> dict[str, Any]:
        shown = {name: getattr(combatant, name) for name in PUBLIC}
        if grade == "full":
            shown.update({name: getattr(combatant, name) for name in OWN})
        return shown

    def options(self, session: Session, seat: str) -> list[Option]:
        me = session.seats.get(seat)
        if me is None or session.table.paused or session.table.suspended is not None:
            return []
        found: list[Option] = []
        for encounter in session.encounters.values():
            by = session.combatants.get(encounter.current)
            if by is not None and not encounter.pending and not by.out and (me.role == "gm" or by.id in me.controls):
                found += self._turn_options(session, by, set(unseen(self, session, sight_of(session, seat))))
        return found

    def _turn_options(self, session: Session, by: Duelist, lost: set[str]) -> list[Option]:
        scene = session.scenes[by.scene]
        found: list[Option] = []
        foes = [
            Value(one.id, one.name)
            for one in session.combatants.values()
            if one.id not in lost and one.side != by.side and not one.out and one.scene == by.scene and in_reach(scene, by, one)
        ]
        if not by.acted:
            if foes:
                target = Param(name="target", text="Whom?", choices=tuple(foes))
                bold = Param(
                    name="bold", text="Boldly?", choices=(Value(False, "no"), Value(True, "2 worse to hit, hurts 2 more")), default=False
                )
                found.append(option("duel.attack", f"Strike with the {by.weapon}", by, "attack", (target, bold), odds=True))
                found.append(option("duel.feint", "Feint", by, "feint", (target,)))
            found.append(option("duel.brace", "Brace", by, "brace"))
        if not by.moved:
            for zone_id in [by.zone, *[z for z, way in zones.neighbours(scene, by.zone) if not way.hidden]]:
                zone = scene.zone(zone_id)
                there = [
                    one
                    for one in session.combatants.values()
                    if one.zone == zone_id and one.scene == by.scene and one.id != by.id and one.id not in lost
                ]
                if zone is None or zone.hidden or (zone_id == by.zone and not there):
                    continue
                near = (Value([], "nobody"), *(Value([one.id], one.name) for one in there))
                up_to = Param(name="near", text="Up to whom?", choices=near, default=[], optional=True)
                found.append(option("duel.move", f"Move to {zone.name}", by, "move", (up_to,) if there else (), zone=zone_id))
        found.append(option("turn.end", "End the turn", by, "turn.end"))
        return found

    def odds(self, session: Session, seat: str, command: Any) -> Odds:
        if not isinstance(command, Attack):
            return super().odds(session, seat, command)
        by = session.combatants.get(command.combatant or next((e.current for e in session.encounters.values()), ""))
        target = session.combatants.get(command.target)
        sight = sight_of(session, seat)
        lost = unseen(self, session, sight)
        if by is None or target is None or by.id in lost or target.id in lost:
            raise unknown("combatant", command.target)
        weapon = WEAPONS[by.weapon]
        hits: list[Fraction] = []
        for bonus in (0, int(self.option(session, "parry_bonus"))):
            margin = o.die(20) + o.die(20).map(lambda face: -face)
            hits.append(margin.p_at_least(guard_of(target) + bonus - aim_of(by, command.bold)))
        own = self.grade_combatant(session, target, sight) == "full"
        armor = target.armor if own else 0
        raw = (
            o.die(weapon.sides)
            + o.die(6).map(lambda face: 2 if PLACES[face - 1] == "head" else 0)
            + o.constant(weapon.bonus + 2 * command.bold)
        )
        parts = (o.part("hit", "hits", hits[0]), o.part("hit_parried", "hits through a parry", hits[1]))
        return Odds(
            type="duel.attack",
            text="before armor" if not own else "",
            parts=parts,
            damage=o.damage_table(raw.map(lambda d: max(d - armor, 0))),
        )


PUBLIC = (
    "id",
    "name",
    "kind",
    "side",
    "scene",
    "zone",
    "cover",
    "out",
    "reach",
    "hp",
    "max_hp",
    "skill",
    "guard",
    "weapon",
    "parried",
    "braced",
    "exposed",
)
OWN = ("hidden", "armor", "grit", "speed", "acted", "moved")


def option(type: str, text: str, by: Duelist, command: str, params: tuple[Param, ...] = (), *, odds: bool = False, **fields: Any) -> Option:
    return Option(type=type, text=text, command={"type": command, "combatant": by.id, **fields}, combatant=by.id, params=params, odds=odds)


def in_reach(scene: Any, by: Duelist, target: Duelist) -> bool:
    """Whether the weapon strikes the target: within arm's reach, or in sight within its zones and not wholly covered."""
    if target.scene != by.scene:
        return False
    reach = WEAPONS[by.weapon].zones
    if not reach:
        return zones.is_near(scene, by.id, target.id)
    away = zones.distance(scene, by.zone, target.zone)
    return away is not None and away <= reach and zones.sees(scene, by.zone, target.zone) and not zones.wholly_covered(scene, target)


def guard_of(target: Duelist) -> int:
    return 0 if target.exposed else target.guard + 2 * target.braced


def aim_of(by: Duelist, bold: bool) -> int:
    return by.skill - 2 * bold
