"""Duel's data: its combatants, weapons, commands and unfinished actions."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from engine.commands import Command, Id, Ids, MaybeId
from engine.session import Combatant, Part

Small = Annotated[int, msgspec.Meta(ge=0, le=1000)]


class Weapon(Part, frozen=True, kw_only=True):
    """What a hit does: one die of `sides` plus `bonus`. `zones` is how far it strikes: 0 only what is within arm's reach."""

    name: str
    sides: int
    bonus: int
    zones: int = 0


WEAPONS = {
    "blade": Weapon(name="blade", sides=6, bonus=1),
    "maul": Weapon(name="maul", sides=10, bonus=0),
    "sling": Weapon(name="sling", sides=4, bonus=1, zones=2),
}
PLACES = ("head", "body", "body", "body", "arm", "leg")
"""Hit location by d6; a hit to the head hurts 2 more."""


class Duelist(Combatant, frozen=True, kw_only=True):
    """A fighter. `armor` and `grit` are its own business: nobody else sees them."""

    hp: Small = 12
    max_hp: Small = 12
    skill: Small = 4
    guard: Small = 3
    armor: Small = 0
    grit: Small = 1
    speed: Small = 10
    weapon: Literal["blade", "maul", "sling"] = "blade"
    acted: bool = False
    moved: bool = False
    parried: bool = False
    braced: bool = False
    exposed: bool = False


# --- commands ----------------------------------------------------------------------------------------------------------


class Attack(Command, frozen=True, kw_only=True, tag="attack"):
    """Strike a foe. A bold strike is 2 worse to hit and hurts 2 more."""

    target: Id
    bold: bool = False
    combatant: MaybeId = ""


class Feint(Command, frozen=True, kw_only=True, tag="feint"):
    """Both secretly choose high, middle or low; outguessed, the foe has no guard against the next strike."""

    target: Id
    combatant: MaybeId = ""


class Brace(Command, frozen=True, kw_only=True, tag="brace"):
    """Guard yourself: 2 better guard until your next turn."""

    combatant: MaybeId = ""


class Move(Command, frozen=True, kw_only=True, tag="move"):
    """Move to a neighbouring zone (or within yours), up to others there, behind a cover of it."""

    zone: Id
    near: Ids = ()
    cover: MaybeId = ""
    combatant: MaybeId = ""


class FrameTest(Command, frozen=True, kw_only=True, tag="test.frame"):
    """The GM sets what a test takes: d20 + bonus, 2 more for each helper, at least the difficulty."""

    needs = "gm"
    always = True
    test: Id
    bonus: Annotated[int, msgspec.Meta(ge=-20, le=20)] = 0
    difficulty: Annotated[int, msgspec.Meta(ge=1, le=40)] = 10
    hidden: bool | None = None


class JoinTest(Command, frozen=True, kw_only=True, tag="test.join"):
    """Help somebody's test."""

    test: Id
    combatant: Id


class RollTest(Command, frozen=True, kw_only=True, tag="test.roll"):
    """Roll a framed test."""

    test: Id


COMMANDS: tuple[type[Command], ...] = (Attack, Feint, Brace, Move, FrameTest, JoinTest, RollTest)


# --- unfinished actions and test records -----------------------------------------------------------------------------------


class Strike(Part, frozen=True, kw_only=True, tag="strike", tag_field="type"):
    """A strike that waits: for the foe's parry, then perhaps for the striker's re-roll (`face`, `against` are the first result)."""

    prompts: tuple[str, ...]
    by: str
    target: str
    bold: bool = False
    stage: Literal["parry", "reroll"] = "parry"
    face: int = 0
    roll: int = 0
    against: int = 0


class Guess(Part, frozen=True, kw_only=True, tag="guess", tag_field="type"):
    """A feint that waits for both secret choices."""

    prompts: tuple[str, ...]
    by: str
    target: str


class Frame(Part, frozen=True, kw_only=True):
    bonus: int
    difficulty: int
