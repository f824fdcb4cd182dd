"""What a seat can ask for under `stretch`, beyond the kernel's own commands (engine.commands).

Prompts by kind (a seat may answer a kind in advance with `seat.prefs`): `effect` (GM: what a critical does beyond its damage), `called`
(GM, switch called_effect=gm: what a called shot does), `fumble` (GM: the complication of a natural 1), `fall` (GM: incapacitated or
dying; "always" is dying, "never" incapacitated), `ghoul` (the player: become one or not), `break` (the player: how the character breaks).

Dice: one d20 for an attack or a test. Nothing else rolls.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from engine.commands import Command, GmCommand, Id, Ids, Label, MaybeId
from engine.rulesets.stretch.model import Cause, Place, Small, Word

Threshold = Annotated[int, msgspec.Meta(ge=0, le=1000)]
About = Literal["task", "words", "belief", "decision"]


# --- in a fight ----------------------------------------------------------------------------------------------------------


class Attack(Command, frozen=True, kw_only=True, tag="attack"):
    """Attack with a weapon (left out: the only one carried). `place` makes it a V.A.T.S. shot, paid in AP: no movement after it."""

    target: Id
    weapon: MaybeId = ""
    place: Place | None = None
    combatant: MaybeId = ""


class Move(Command, frozen=True, kw_only=True, tag="move"):
    """Move to a neighbouring zone (or within yours), up to others there, behind a cover of it. Once a turn."""

    zone: Id
    near: Ids = ()
    cover: MaybeId = ""
    combatant: MaybeId = ""


class Stimpak(Command, frozen=True, kw_only=True, tag="stimpak"):
    """Use one of your stimpaks on yourself or somebody in your zone: 30 Health and a third of your Medicine. An action in a fight."""

    combatant: MaybeId = ""
    target: MaybeId = ""


class Clear(Command, frozen=True, kw_only=True, tag="clear"):
    """Clear a jammed weapon: an action."""

    weapon: Id
    combatant: MaybeId = ""


class Stabilize(Command, frozen=True, kw_only=True, tag="stabilize"):
    """Keep somebody in your zone from dying: an action (switch stabilize=action)."""

    target: Id
    combatant: MaybeId = ""


# --- tests ---------------------------------------------------------------------------------------------------------------


class FrameTest(GmCommand, frozen=True, kw_only=True, tag="test.frame"):
    """Set what a test takes. `using`: a skill, or an attribute in capitals for a raw check. What is not a `task` is never rolled for."""

    test: Id
    using: Word
    threshold: Threshold
    about: About = "task"
    hidden: bool | None = None


class RequestTest(GmCommand, frozen=True, kw_only=True, tag="test.request"):
    """Call for a test of a combatant, framed at once."""

    combatant: Id
    using: Word
    threshold: Threshold
    label: Label = ""
    about: About = "task"
    hidden: bool = False


class RollTest(Command, frozen=True, kw_only=True, tag="test.roll"):
    """Roll a framed test. A Wall cannot be rolled."""

    test: Id


# --- the GM's ------------------------------------------------------------------------------------------------------------


class Hurt(GmCommand, frozen=True, kw_only=True, tag="gm.hurt"):
    """What the world does to somebody: Health (past armor if `armor`), Rads, Stress, Resolve. Rads count before the damage does."""

    combatant: Id
    damage: Small = 0
    cause: Cause = "injury"
    armor: bool = False
    rads: Small = 0
    stress: Small = 0
    resolve: Small = 0


class Ease(GmCommand, frozen=True, kw_only=True, tag="gm.ease"):
    """Give back Health, Resolve, or take Rads and Stress away. Stress that eases does not end a collapse; rest does."""

    combatant: Id
    health: Small = 0
    rads: Small = 0
    stress: Small = 0
    resolve: Small = 0


class Rest(GmCommand, frozen=True, kw_only=True, tag="gm.rest"):
    """These rest: their Stress is gone, and so is a collapse."""

    combatants: Ids


class Fate(GmCommand, frozen=True, kw_only=True, tag="gm.fate"):
    """Say what becomes of somebody at 0 Health."""

    combatant: Id
    state: Literal["incapacitated", "dying", "stable", "dead"]


class Mark(GmCommand, frozen=True, kw_only=True, tag="gm.mark"):
    """Put a mark on somebody (knocked_down, disarmed, noise ...) or take it off."""

    combatant: Id
    mark: Word
    off: bool = False


COMMANDS: tuple[type[Command], ...] = (
    Attack,
    Move,
    Stimpak,
    Clear,
    Stabilize,
    FrameTest,
    RequestTest,
    RollTest,
    Hurt,
    Ease,
    Rest,
    Fate,
    Mark,
)
