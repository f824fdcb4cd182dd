"""Stretch's data: wanderers and what they carry, what a test takes, and unfinished actions."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from engine.commands import Id
from engine.session import Combatant, Part

Small = Annotated[int, msgspec.Meta(ge=0, le=1000)]
Modifier = Annotated[int, msgspec.Meta(ge=-20, le=20)]
Word = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z][A-Za-z0-9_]{0,39}$")]
"""The name of a skill or a mark: the table's own word, not an id of anything in it."""
Score = Annotated[int, msgspec.Meta(ge=0, le=20)]

ATTRIBUTES = ("STR", "PER", "END", "CHA", "INT", "AGI", "LCK")
Place = Literal["torso", "arm", "leg", "head", "weapon"]
State = Literal["", "down", "incapacitated", "dying", "stable", "dead"]
"""What became of somebody at 0 Health; "down" until the GM has said which."""
Cause = Literal["injury", "radiation", "hardship", "withdrawal"]

MAX_RADS = 1000
"""seeds/stretch_d20.txt, "Getting hurt and recovering": Rads use a 0-1000 scale."""
STIMPAK = 30
"""What a stimpak restores before a third of Medicine is added (same section)."""


class Special(Part, frozen=True, kw_only=True):
    """The seven attributes; a raw check uses ten times one of them as the skill value."""

    STR: Score = 5
    PER: Score = 5
    END: Score = 5
    CHA: Score = 5
    INT: Score = 5
    AGI: Score = 5
    LCK: Score = 5


class Weapon(Part, frozen=True, kw_only=True):
    """Fixed `damage`, no damage dice. `range` is how many zones away it strikes, 0 only within arm's reach.

    A weapon whose damage is `radiation` counts as radiation for the Ghoul Protocol; `rads` are taken by whoever it hits.
    """

    id: Id
    name: str
    skill: Word
    damage: Small = 1
    range: Annotated[int, msgspec.Meta(ge=0, le=10)] = 0
    radiation: bool = False
    rads: Small = 0
    jammed: bool = False


class Wanderer(Combatant, frozen=True, kw_only=True):
    """A character or creature. `agility_modifier` is what an attack's target number adds to 10 (switch agility_modifier).

    `skills` are pairs of name and value; one that is not listed is 0. `dt` and `dr` are the armor's, `dr` in percent (switch dr).
    Attributes, skills, armor, Rads, Stress, Resolve, AP and stimpaks are its own business: nobody else sees them.
    """

    special: Special = Special()
    skills: tuple[tuple[Word, Small], ...] = ()
    agility_modifier: Modifier = 0
    health: Small = 30
    max_health: Small = 30
    dt: Small = 0
    dr: Small = 0
    weapons: tuple[Weapon, ...] = ()
    stress: Small = 0
    max_stress: Small = 10
    resolve: Small = 10
    max_resolve: Small = 10
    rads: Annotated[int, msgspec.Meta(ge=0, le=MAX_RADS)] = 0
    ap: Small = 60
    max_ap: Small = 60
    stimpaks: Small = 0
    state: State = ""
    collapsed: bool = False
    """Reached the Stress maximum and has not rested since."""
    broken: str = ""
    """How it broke when Resolve reached 0, in its player's choice; "" while it holds."""
    ghoul: bool = False
    marks: tuple[Word, ...] = ()
    """What criticals and complications left, for the table to play out."""
    acted: Small = 0
    """Actions taken this turn."""
    moved: bool = False
    aiming: bool = False
    """Took a V.A.T.S. shot this turn, so it may not move."""

    def skill(self, name: str) -> int:
        for known, value in self.skills:
            if known == name:
                return value
        return 0

    def weapon(self, weapon_id: str) -> Weapon | None:
        for one in self.weapons:
            if one.id == weapon_id:
                return one
        return None


# --- test records and unfinished actions ------------------------------------------------------------------------------------


class Frame(Part, frozen=True, kw_only=True):
    """What a test takes: a skill (or a raw attribute, in capitals) against a threshold. Neither gap nor value: those tell the skill."""

    using: str
    threshold: int


QuestionKind = Literal["effect", "called", "fumble", "ghoul", "fall", "break"]


class Question(Part, frozen=True, kw_only=True):
    """Something that remains to be asked about `combatant`, because of what `by` did with `weapon` (at `place`)."""

    kind: QuestionKind
    combatant: str
    by: str = ""
    weapon: str = ""
    place: str = ""


class Asking(Part, frozen=True, kw_only=True, tag="asking", tag_field="type"):
    """What is left to ask, one after the other; the prompt is for the first."""

    prompts: tuple[str, ...]
    queue: tuple[Question, ...]
