"""The wasteland's unfinished actions: small records on a stack that wait for answers and go on where they stopped."""

from __future__ import annotations

from typing import Literal

from engine.rulesets.wasteland.model import Helping, Pair, Throw, Weapon
from engine.session import Part


class Pending(Part, frozen=True, kw_only=True, tag_field="type"):
    """Base of the records that wait for prompts."""

    prompts: tuple[str, ...] = ()


class Ties(Pending, frozen=True, kw_only=True, tag="ties"):
    """Initiative waits for the GM to break a tie: `ranked` is settled, `rest` the groups (initiative, ids) to rank; the first is asked."""

    ranked: tuple[tuple[str, int], ...]
    rest: tuple[tuple[int, tuple[str, ...]], ...]
    first: str = ""


class Casting(Pending, frozen=True, kw_only=True, tag="casting"):
    """A test's pools lie on the table; their owners may still re-roll with Luck. `side` says which side has just rolled."""

    test: str
    throws: tuple[Throw, ...]
    side: Literal["lead", "against"] = "lead"


class Spending(Pending, frozen=True, kw_only=True, tag="spending"):
    """A passed test whose owner may spend Action Points on it."""

    test: str


class Trouble(Pending, frozen=True, kw_only=True, tag="trouble"):
    """Complications wait for the GM, one prompt each. `test` or the attack (`weapon`) they came from."""

    by: str
    skill: str = ""
    weapon: str = ""
    test: str = ""
    of: tuple[str, ...] = ()
    """Who rolled each of them."""


class HelpAsked(Pending, frozen=True, kw_only=True, tag="help"):
    """Somebody asks the GM's leave to help with a test."""

    test: str
    helper: str
    pair: Pair


class Wish(Pending, frozen=True, kw_only=True, tag="wish"):
    """Luck of the Draw: waits for the GM's word (`price` 0), then perhaps for the player's yes to the price."""

    by: str
    text: str
    price: int = 0


class Save(Pending, frozen=True, kw_only=True, tag="save"):
    """A test that something forces on somebody: death, a trap, a tranquilizer. `stage`: what to put into it, then Luck on its dice.

    `then` names what it decides (engine.rulesets.wasteland.outcomes), `source` what forces it.
    """

    stage: Literal["offer", "luck"]
    by: str
    pair: Pair
    difficulty: int
    range: int
    then: Literal["death", "trap", "tranquilize"]
    throw: Throw | None = None
    source: str = ""


class Passing(Pending, frozen=True, kw_only=True, tag="passing"):
    """The turn of somebody who cannot act ends by itself once its death test is over."""

    by: str


class Interrupt(Pending, frozen=True, kw_only=True, tag="interrupt"):
    """Readied actions that what is beneath on the stack has set off, in initiative order; `by` set them off."""

    queue: tuple[str, ...]
    by: str


class Landing(Pending, frozen=True, kw_only=True, tag="landing"):
    """The end of a move, after those who were ready for the entering: dangerous objects and who waits for its end."""

    by: str
    stage: Literal["enter", "end"] = "enter"


class Claim(Pending, frozen=True, kw_only=True, tag="claim"):
    """The owner of a readied action says that what it waits for happens; the GM confirms."""

    by: str
    target: str = ""


class Hold(Pending, frozen=True, kw_only=True, tag="hold"):
    """`timing_hold`: a turn waits until those with Luck have said whether they act before it."""

    of: tuple[str, ...]


class Assault(Pending, frozen=True, kw_only=True, tag="assault"):
    """An attack under way. `stage` names what it waits for: who may interrupt it, a parry, the aim's re-roll, Luck on the d20s, AP for
    damage, Luck on the damage dice."""

    stage: Literal["declared", "parry", "aim", "luck", "ap", "free", "damage"]
    by: str
    target: str
    weapon: Weapon
    difficulty: int
    throw: Throw
    range: int = 1
    called: str = ""
    extra: int = 0
    bonus: int = 0
    """Damage dice beyond the weapon's rating, the melee bonus and ammunition (a sneak attack's)."""
    vicious: bool = False
    ap: int | None = None
    gm_ap: bool = False
    """The GM gets what the pool lacks for `ap` (`gm_ap_scope=any`)."""
    at: str = ""
    dice: tuple[int, ...] = ()
    roll: int = 0
    rerolled: tuple[int, ...] = ()
    count: int = 2
    """How many d20s it rolls."""
    automatic: bool = False
    """Difficulty 0 without a roll."""
    reasons: tuple[tuple[str, int], ...] = ()
    lucky: bool = False
    """LCK in the attribute's place."""
    aim: int = 0
    """Dice that Aim, a mark or a perk may still re-roll."""
    helpers: tuple[Throw, ...] = ()
    helps: tuple[Helping, ...] = ()
    """Who assists, with what."""
    zone: str = ""
    """Blast: the zone that is attacked, `target` being empty."""
    failed: bool = False
    """A blast whose test failed: half of the dice, no effects."""
    more: tuple[str, ...] = ()
    """Bombard: further zones."""
    pull: str = ""
    """Wrangle: the zone into which the target is moved for 2 AP."""
    fated: bool = False
    """A Luck point makes a hit critical (perks)."""
    granted: bool = False
    """Not the attacker's own turn: readied or commanded."""
    thrown: bool = False
    one_handed: bool = False
    aimed: bool = False
    chain: int = 0
    """How many more targets a perk may take it to."""


PendingRecord = Ties | Casting | Spending | Trouble | HelpAsked | Wish | Assault | Save | Passing | Interrupt | Landing | Claim | Hold
