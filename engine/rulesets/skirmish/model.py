"""Skirmish's data: models and their weapon profiles, what a test takes, dice that were thrown, and unfinished actions."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from engine.commands import Id, Label
from engine.session import Combatant, Part

Small = Annotated[int, msgspec.Meta(ge=0, le=1000)]
Few = Annotated[int, msgspec.Meta(ge=0, le=10)]
Score = Annotated[int, msgspec.Meta(ge=0, le=10)]
PoolText = Annotated[str, msgspec.Meta(pattern=r"^([1-9]|1[0-9]|20)[SPECIAL]$")]
"""A dice pool as the text writes it: how many d10 and against which attribute, "2A" or "4P"."""

Kind = Literal["ranged", "melee", "grenade", "heavy"]
TraitName = Literal["aim", "storm", "unwieldy", "slow", "cqb", "once"]
Critical = Literal["", "pierce", "maim", "ignite", "poison", "tranquilize", "suppress", "pushback", "meltdown"]


class Special(Part, frozen=True, kw_only=True):
    """The seven attributes by their letters; L is Luck, which gives luck dice."""

    S: Score = 5
    P: Score = 5
    E: Score = 5
    C: Score = 5
    I: Score = 5  # noqa: E741  # the attribute's letter
    A: Score = 5
    L: Score = 0

    def value(self, letter: str) -> int:
        return int(getattr(self, letter))


class Weapon(Part, frozen=True, kw_only=True):
    """A weapon profile (FACTS A15): `range` in inches (up to 3: only who stands together), the test it takes, traits, critical effect.

    `traits` are pairs of name and X; `x` is the critical effect's X.
    """

    id: Id
    name: str
    kind: Kind = "ranged"
    range: Annotated[int, msgspec.Meta(ge=1, le=120)] = 16
    test: PoolText = "2P"
    traits: tuple[tuple[TraitName, Few], ...] = ()
    critical: Critical = ""
    x: Few = 1
    used: bool = False

    def trait(self, name: TraitName) -> int | None:
        """The X of a trait, None when the weapon lacks it."""
        for known, value in self.traits:
            if known == name:
                return value
        return None


class Model(Combatant, frozen=True, kw_only=True):
    """A model of a crew (`side`). Attributes, Fatigue, re-rolls and weapon profiles are its crew's business: others see Harm and Injuries.

    `rerolls`: dice it may re-roll in each of its attacks and tests, by a perk.
    """

    special: Special = Special()
    weapons: tuple[Weapon, ...] = ()
    harm: Few = 0
    harm_limit: Few = 3
    injuries: Small = 0
    fatigue: Small = 0
    rerolls: Small = 0
    state: Literal["", "incapacitated", "fled"] = ""
    acted: bool = False
    moved: bool = False
    chosen: bool = False
    """Its player picked it for this activation."""
    rank: Small = 0
    """Its place in the order of the round, from the roll-off: highest first."""

    def weapon(self, weapon_id: str) -> Weapon | None:
        for one in self.weapons:
            if one.id == weapon_id:
                return one
        return None


# --- tests and dice ----------------------------------------------------------------------------------------------------------


class Frame(Part, frozen=True, kw_only=True):
    """What a test takes. `harm` are the dice that the target's Harm gives, counted when the test was framed."""

    pool: PoolText
    need: Few = 1
    unlucky: bool = False
    lucky: bool = True
    rerolls: Few = 0
    bonus: Few = 0
    harm: Few = 0
    critical: Label = ""


class Die(Part, frozen=True, kw_only=True):
    """A thrown d10."""

    face: int
    luck: bool = False
    bonus: bool = False
    again: bool = False
    """It was re-rolled."""


class Throw(Part, frozen=True, kw_only=True):
    """A pool on the table: `value` is what a die must not exceed, `rights` how many dice may still be re-rolled.

    `luck_hits` is None until the luck dice are final and their bonus dice were rolled.
    """

    by: str
    value: int
    dice: tuple[Die, ...]
    rights: int = 0
    roll: int = 0
    hidden: bool = False
    luck_hits: int | None = None


class Throwing(Part, frozen=True, kw_only=True, tag="throwing", tag_field="type"):
    """A throw that waits for its re-rolls: of a test (its owner), or of an attack on `target` with `weapon`."""

    prompts: tuple[str, ...]
    throw: Throw
    target: str = ""
    weapon: str = ""
