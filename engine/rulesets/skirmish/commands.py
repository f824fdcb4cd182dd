"""What a seat can ask for under `skirmish`, beyond the kernel's own commands (engine.commands).

The one kind of prompt is `reroll`: the answer "yes" declares with its numbers how many dice are re-rolled, and which, counted from 1 in the
prompt's list of dice that may be; "no" keeps them.

Dice are drawn in this order: luck dice, the rest of the pool, re-rolls, bonus dice; for a hit then the dice of its critical effect, a
meltdown's 2E, the 2I of each friend near who fell; a round's roll-off when it begins.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

from engine.commands import Command, GmCommand, Id, Ids, Label, MaybeId
from engine.rulesets.skirmish.model import Few, PoolText

Need = Annotated[int, msgspec.Meta(ge=1, le=10)]


# --- activations -------------------------------------------------------------------------------------------------------------


class Activate(Command, frozen=True, kw_only=True, tag="activate"):
    """Activate this model of your crew instead of the one whose turn it is, before that one has done anything."""

    combatant: Id


class Attack(Command, frozen=True, kw_only=True, tag="attack"):
    """Attack with a weapon (left out: the only one). `supporters` add a die each, up to the attacker's Charisma, and take a Fatigue."""

    target: Id
    weapon: MaybeId = ""
    supporters: Ids = ()
    combatant: MaybeId = ""


class Move(Command, frozen=True, kw_only=True, tag="move"):
    """Move 8 inches, or with `dash` 12 for a Fatigue: to a zone in reach, up to others there if inches are left, behind a cover."""

    zone: Id
    near: Ids = ()
    cover: MaybeId = ""
    dash: bool = False
    combatant: MaybeId = ""


class Patch(Command, frozen=True, kw_only=True, tag="patch"):
    """Patch Up: take 2 Harm off yourself or a friend you stand with."""

    combatant: MaybeId = ""
    target: MaybeId = ""


class Breathe(Command, frozen=True, kw_only=True, tag="breathe"):
    """Catch your breath: lose a Fatigue."""

    combatant: MaybeId = ""


class RollOff(Command, frozen=True, kw_only=True, tag="rolloff"):
    """A roll-off between two models' players: the lower d10 wins, ties roll again."""

    combatant: Id
    against: Id


# --- tests -------------------------------------------------------------------------------------------------------------------


class Framing(GmCommand, frozen=True, kw_only=True):
    """What a GM sets for a test; see engine.rulesets.skirmish.model.Frame. `target`: whose Harm adds dice.

    `lucky` false: no luck dice, though others may still add to the pool; `unlucky`: neither those nor any bonus dice.
    """

    pool: PoolText
    need: Need = 1
    unlucky: bool = False
    lucky: bool = True
    rerolls: Few = 0
    bonus: Few = 0
    target: MaybeId = ""
    critical: Label = ""


class FrameTest(Framing, frozen=True, kw_only=True, tag="test.frame"):
    """Set what a proposed test takes."""

    test: Id
    hidden: bool | None = None


class RequestTest(Framing, frozen=True, kw_only=True, tag="test.request"):
    """Call for a test of a model, framed at once."""

    combatant: Id
    label: Label = ""
    hidden: bool = False


class JoinTest(Command, frozen=True, kw_only=True, tag="test.join"):
    """Support somebody's test: a die more, for a Fatigue."""

    test: Id
    combatant: Id


class RollTest(Command, frozen=True, kw_only=True, tag="test.roll"):
    """Roll a framed test."""

    test: Id


COMMANDS: tuple[type[Command], ...] = (Activate, Attack, Move, Patch, Breathe, RollOff, FrameTest, RequestTest, JoinTest, RollTest)
