"""What a seat can ask for under `wasteland`, beyond the kernel's own commands (engine.commands).

Kernel commands used as they are: `turn.end` (Pass and end of turn), `test.propose`, `test.withdraw`, `gm.encounter` (`first` is who
opened the fight: it takes a turn, round 0, before the order begins), `gm.sitting` (Luck full, group pool 0, GM pool 1 per player),
`gm.set`, `gm.spawn` (fields: engine.rulesets.wasteland.model.Survivor), `answer`.

Pools have the ids `group` (cap 6) and `gm` (no cap). An action beyond the turn's own is bought at once when the pool pays for it: 1 AP
a second minor, 2 AP a second major. `dice` are d20s bought for 1, 2, 3 AP; `gm_ap` gives the GM what the pool lacks for them (any use
under `gm_ap_scope=any`); asked for where it may pay nothing it is refused.

Prompts by kind (a seat may answer a kind in advance with `seat.prefs`): `tie` (GM: who goes first; answers are combatant ids), `aim`
(yes with one position / no), `luck` (yes with positions of d20s from 0, 1 LP each / no), `damage_luck` (yes with positions of dC6, 1 LP
for up to three / no), `damage_ap` ("0".."3"), `complication` (GM, one each: describe, bank, harder, stumble, fumble, waste), `spend`
(done, information, time), `help` (GM: yes / no), `draw` (GM: yes with the price in LP / veto), `draw_price` (player: yes / no).

Events: tests tell `test.proposed framed joined refused led thrown opposed tied result`, then `wasteland.question answer time`; turns
`wasteland.opening tie aim move stand defend`; attacks `wasteland.attack`, `wasteland.reroll`, `wasteland.miss` or `wasteland.struck` (`at`
the location), `wasteland.damage` (dice that wait for Luck), `wasteland.hit` (`at`, `damage` before resistance; the GM and who controls the
target also read `dr`, `suffered`, `hp`), `wasteland.injury down stunned breaking gone`; and `wasteland.complication`, `wasteland.ap.paid`,
`wasteland.ap.lost`, `wasteland.luck.draw granted refused timing order refreshed trinket`, `wasteland.modified`.

Dice are drawn in this order: the pool of who attempts it, each helper's d20 in order of joining; for an attack the d20 pool, the hit
location d20 (unless called), the damage dC6. Re-rolls are rolls of their own, when they are asked for.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from engine.commands import Command, Id, Ids, Label, MaybeId
from engine.rulesets.wasteland.model import Attribute, Skill

Dice = Annotated[int, msgspec.Meta(ge=0, le=100)]
Words = Annotated[str, msgspec.Meta(max_length=500)]
Difficulty = Annotated[int, msgspec.Meta(ge=-20, le=20)]


# --- in a fight ----------------------------------------------------------------------------------------------------------


class Attack(Command, frozen=True, kw_only=True, tag="attack"):
    """Attack with a weapon in hand (combat_rules_2d20, "Making an Attack").

    `weapon` may be left out when only one is held. `location` calls the shot (+1 difficulty). `dice`: d20s bought (0..3).
    `extra_ammo`: more shots for +1 dC6 each, up to the fire rate. `damage_ap`: AP for +1 dC6 each (melee, unarmed and thrown,
    0..3), spent after a hit as far as the pool then goes; left out, the engine asks. `one_handed`: a two-handed weapon in one hand (+2).
    `stacked_deck`: 1 LP, LCK in place of the attribute. `roll` at difficulty 0: true rolls for AP (as `d0_roll` allows).
    """

    target: Id
    combatant: MaybeId = ""
    weapon: MaybeId = ""
    location: MaybeId = ""
    dice: Dice = 0
    gm_ap: bool = False
    stacked_deck: bool = False
    extra_ammo: Dice = 0
    damage_ap: Dice | None = None
    one_handed: bool = False
    roll: bool = False


class Move(Command, frozen=True, kw_only=True, tag="move"):
    """Minor movement action: to a neighbouring zone or within yours, up to others there (`near`), behind a cover; or `stand` up.

    Outside an encounter it costs nothing. The one movement action of a turn.
    """

    combatant: MaybeId = ""
    zone: MaybeId = ""
    near: Ids = ()
    cover: MaybeId = ""
    stand: bool = False
    gm_ap: bool = False


class Sprint(Command, frozen=True, kw_only=True, tag="sprint"):
    """Major movement action: up to two zones."""

    zone: Id
    combatant: MaybeId = ""
    near: Ids = ()
    cover: MaybeId = ""
    gm_ap: bool = False


class Aim(Command, frozen=True, kw_only=True, tag="aim"):
    """Minor action: re-roll 1d20 on the first attack roll of this turn."""

    combatant: MaybeId = ""
    gm_ap: bool = False


class Rally(Command, frozen=True, kw_only=True, tag="rally"):
    """Major action: a difficulty 0 test that always rolls; every success is saved as AP. END + survival, or what the GM allows."""

    combatant: MaybeId = ""
    attribute: Attribute = "END"
    skill: Skill = "survival"
    dice: Dice = 0
    gm_ap: bool = False
    stacked_deck: bool = False


class Defend(Command, frozen=True, kw_only=True, tag="defend"):
    """Major action: AGI + athletics against your own Defense; +1 Defense until your next turn, +1 more for `ap` = 2 AP when it passes."""

    combatant: MaybeId = ""
    dice: Dice = 0
    gm_ap: bool = False
    stacked_deck: bool = False
    ap: Literal[0, 2] = 0


# --- tests ---------------------------------------------------------------------------------------------------------------


class Framing(Command, frozen=True, kw_only=True):
    """What a GM sets for a test; see engine.rulesets.wasteland.model.Frame.

    `opponent` opposes with `against_attribute` + `against_skill`; without them it tests the same pair. `group` makes it a group test
    of the leader and these. `action` is what it costs in a fight on the own turn.
    """

    needs = "gm"
    always = True
    attribute: Attribute
    skill: Skill
    difficulty: Difficulty | None = None
    """None is 1; for an opposed test it is a change of the opposing side's successes, and None no change."""
    range: Annotated[int, msgspec.Meta(ge=1, le=5)] = 1
    help: Literal["ask", "any", "none"] = "ask"
    group: Ids = ()
    opponent: MaybeId = ""
    against_attribute: Attribute | None = None
    against_skill: Skill | None = None
    bonus_dice: Annotated[int, msgspec.Meta(ge=0, le=3)] = 0
    minutes: Annotated[int, msgspec.Meta(ge=0, le=1000)] = 0
    action: Literal["free", "minor", "major"] = "free"
    allow_roll: bool = False
    hidden: bool | None = None


class RequestTest(Framing, frozen=True, kw_only=True, tag="test.request"):
    """The GM asks a combatant for a test, framed at once."""

    combatant: Id
    label: Label = ""


class FrameTest(Framing, frozen=True, kw_only=True, tag="test.frame"):
    """The GM frames a proposed test, or frames it anew before anybody rolled."""

    test: Id


class JoinTest(Command, frozen=True, kw_only=True, tag="test.join"):
    """Help with a test by rolling 1d20 (core_rules_2d20, "Assistance"), with a pair of your own or the test's.

    Who is part of a group test takes part without this, and joins only to name another pair.
    """

    test: Id
    combatant: Id
    attribute: Attribute | None = None
    skill: Skill | None = None


class LeadTest(Command, frozen=True, kw_only=True, tag="test.lead"):
    """Choose who leads a group test, before it rolls: the former leader takes the new one's place among the others."""

    test: Id
    combatant: Id


class RollTest(Command, frozen=True, kw_only=True, tag="test.roll"):
    """Roll a framed test, or (`combatant` the opponent) the opposing side of it, which goes first.

    `roll` matters at difficulty 0 alone: false succeeds without dice, true rolls for AP where `d0_roll` or the GM allows it.
    """

    test: Id
    combatant: MaybeId = ""
    dice: Dice = 0
    gm_ap: bool = False
    stacked_deck: bool = False
    roll: bool = False


class SpendTest(Command, frozen=True, kw_only=True, tag="test.spend"):
    """Spend AP on a passed test: `information` (1 AP, one question), `time` (2 AP, halves the minutes, rounded down), or `done`."""

    test: Id
    what: Literal["information", "time", "done"]
    question: Words = ""


class AskTest(Command, frozen=True, kw_only=True, tag="test.ask"):
    """Put a question that was bought into words."""

    test: Id
    question: Annotated[str, msgspec.Meta(min_length=1, max_length=500)]


class AnswerTest(Command, frozen=True, kw_only=True, tag="test.answer"):
    """The GM answers a test's oldest open question, truthfully."""

    needs = "gm"
    always = True
    test: Id
    answer: Annotated[str, msgspec.Meta(min_length=1, max_length=500)]


# --- Luck ----------------------------------------------------------------------------------------------------------------


class LuckDraw(Command, frozen=True, kw_only=True, tag="luck.draw"):
    """Luck of the Draw: suggest a helpful fact; the GM vetoes it, allows it for 1 LP, or names a higher price that you may decline."""

    combatant: Id
    text: Words


class LuckOffer(Command, frozen=True, kw_only=True, tag="luck.offer"):
    """The GM offers a combatant a helpful fact for `price` LP."""

    needs = "gm"
    always = True
    combatant: Id
    text: Words
    price: Annotated[int, msgspec.Meta(ge=1, le=20)] = 1


class LuckReroll(Command, frozen=True, kw_only=True, tag="luck.reroll"):
    """Miss Fortune by name: answers the open `luck` or `damage_luck` question of a combatant with yes and these positions (from 0)."""

    combatant: Id
    positions: Annotated[tuple[Annotated[int, msgspec.Meta(ge=0, le=99)], ...], msgspec.Meta(min_length=1, max_length=100)]


class LuckTiming(Command, frozen=True, kw_only=True, tag="luck.timing"):
    """Lucky Timing: take your turn now (between turns: before the running one has begun), or, with `after`, right after somebody's turn.

    `cancel` takes an order back. The LP is paid when the turn is taken.
    """

    combatant: Id
    after: MaybeId = ""
    cancel: bool = False


class LuckTrinket(Command, frozen=True, kw_only=True, tag="luck.trinket"):
    """Meditate on your personal item: +1 LP, once per quest, outside a fight (`trinket_luck=on`)."""

    combatant: Id


class LuckRefresh(Command, frozen=True, kw_only=True, tag="luck.refresh"):
    """The GM refreshes Luck points at a milestone (of all, or of some); a new `quest` also gives the personal items back their point."""

    needs = "gm"
    always = True
    combatants: Ids = ()
    reason: Literal["milestone", "quest"] = "milestone"


class GmModify(Command, frozen=True, kw_only=True, tag="gm.modify"):
    """The GM makes somebody's tests (of an attribute, of a skill) harder or easier: the next one alone (`once`), or until lifted
    (`amount` 0 lifts `id`).
    """

    needs = "gm"
    always = True
    combatant: Id
    amount: Annotated[int, msgspec.Meta(ge=-5, le=5)]
    id: MaybeId = ""
    attribute: Attribute | None = None
    skill: Skill | None = None
    once: bool = True
    text: Label = ""


COMMANDS: tuple[type[Command], ...] = (
    Attack,
    Move,
    Sprint,
    Aim,
    Rally,
    Defend,
    RequestTest,
    FrameTest,
    JoinTest,
    LeadTest,
    RollTest,
    SpendTest,
    AskTest,
    AnswerTest,
    LuckDraw,
    LuckOffer,
    LuckReroll,
    LuckTiming,
    LuckTrinket,
    LuckRefresh,
    GmModify,
)
