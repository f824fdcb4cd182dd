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
(done, information, time, heal, wake, injury), `help` (GM: yes / no), `draw` (GM: yes with the price in LP / veto), `draw_price`
(player: yes / no), `save` (roll, buy with a number of dice, deck), `parry` (yes / no), `damage_free` (yes with positions / no), `ready`
(GM: yes / no), `timing` (yes / no, under `timing_hold`).

Events: tests tell `test.proposed framed joined refused led thrown opposed tied result`, then `wasteland.question answer time`; turns
`wasteland.opening tie aim move stand defend`; attacks `wasteland.attack`, `wasteland.reroll`, `wasteland.miss` or `wasteland.struck` (`at`
the location), `wasteland.damage` (dice that wait for Luck), `wasteland.hit` (`at`, `damage` before resistance; the GM and who controls the
target also read `dr`, `suffered`, `hp`), `wasteland.injury down stunned breaking gone`; and `wasteland.complication`, `wasteland.ap.paid`,
`wasteland.ap.lost`, `wasteland.luck.draw granted refused timing order refreshed trinket`, `wasteland.modified`.

Harm and healing: `wasteland.save saved reopened asleep awake stable treated healed bleeds burning burns doused frozen hazard charge tripped
exploded blast arc burst chem cleansed slept recovered cured ate glows repaired wears_off xp level promoted`; turns also `wasteland.draw
interact reload assist turn_given command ready ready.fired ready.lost ready.refused declared`, weapons `wasteland.empty reliable perk`.

Dice are drawn in this order: the pool of who attempts it, each helper's d20 in order of joining; for an attack the d20 pool, the hit
location d20 (unless called), the damage dC6, cover, then what opens a treated wound. Who assists an attack rolls right after its d20s.
Re-rolls are rolls of their own, when they are asked for.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from engine.commands import Command, Id, Ids, Label, MaybeId
from engine.rulesets.wasteland.model import Attribute, DamageType, Effect, Skill, Special

Dice = Annotated[int, msgspec.Meta(ge=0, le=100)]
Words = Annotated[str, msgspec.Meta(max_length=500)]
Difficulty = Annotated[int, msgspec.Meta(ge=-20, le=20)]


# --- in a fight ----------------------------------------------------------------------------------------------------------


class Attack(Command, frozen=True, kw_only=True, tag="attack"):
    """Attack with a weapon in hand (combat_rules_2d20, "Making an Attack").

    `weapon` may be left out when only one is held. `location` calls the shot (+1 difficulty). `dice`: d20s bought (0..3).
    `extra_ammo`: more shots for +1 dC6 each, up to the fire rate. `damage_ap`: AP for +1 dC6 each (melee, unarmed and thrown,
    0..3), spent after a hit as far as the pool then goes; left out, the engine asks. `one_handed`: a two-handed weapon in one hand (+2).
    `stacked_deck`: 1 LP, LCK in place of the attribute. `roll` at difficulty 0: true rolls for AP (as `d0_roll` allows). `throw` a
    blade that is made for it. A blast is aimed at a `zone` (or the one of `target`), a bombardment at further `zones` next to it.
    `pull`: where a wrangling weapon drags its target for 2 AP. `fated`: 1 LP makes a hit critical, `chain`: targets it goes on to, for
    1 AP and a round each, as far as perks allow.
    """

    target: MaybeId = ""
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
    throw: bool = False
    zone: MaybeId = ""
    zones: Ids = ()
    pull: MaybeId = ""
    fated: bool = False
    chain: Dice = 0


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
    """Minor action: re-roll 1d20 on the first attack roll of this turn. With a recon weapon `target` is marked for an ally's re-roll."""

    combatant: MaybeId = ""
    target: MaybeId = ""
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


class Draw(Command, frozen=True, kw_only=True, tag="draw"):
    """Minor action: draw a weapon or item you carry, or pick one up that lies in your zone (`of` whoever dropped it).

    `away` puts another one away, `drop` drops it (`draw_may_drop`); `arm` is the location of the arm that takes it.
    """

    item: Id
    combatant: MaybeId = ""
    of: MaybeId = ""
    away: MaybeId = ""
    drop: MaybeId = ""
    arm: MaybeId = ""
    gm_ap: bool = False


class Interact(Command, frozen=True, kw_only=True, tag="interact"):
    """Minor action: something simple with your equipment or surroundings."""

    text: Annotated[str, msgspec.Meta(min_length=1, max_length=500)]
    combatant: MaybeId = ""
    gm_ap: bool = False


class Reload(Command, frozen=True, kw_only=True, tag="reload"):
    """Minor action: load a weapon that is empty."""

    weapon: Id
    combatant: MaybeId = ""
    gm_ap: bool = False


class TakeChem(Command, frozen=True, kw_only=True, tag="chem"):
    """Minor action: give a dose of a chem in your hand to yourself or a willing `patient` within reach.

    `what`: heal, treat an injury (`at` a location), stabilize the dying, or just take it; left out, what helps most.
    """

    item: Id
    combatant: MaybeId = ""
    patient: MaybeId = ""
    what: Literal["", "heal", "treat", "stabilize", "take"] = ""
    at: MaybeId = ""
    gm_ap: bool = False


class FirstAid(Command, frozen=True, kw_only=True, tag="aid"):
    """Major action: heal HP, treat an injury (`at` a location) or stabilize a dying `patient` (default: yourself).

    `ap`: AP for more HP when it works; left out, the engine asks. `wake`: 1 AP wakes whom you stabilize. `chem`: a healing item in hand
    that goes into it. `roll` at difficulty 0 rolls for AP.
    """

    combatant: MaybeId = ""
    patient: MaybeId = ""
    what: Literal["heal", "treat", "stabilize"] = "heal"
    at: MaybeId = ""
    dice: Dice = 0
    gm_ap: bool = False
    stacked_deck: bool = False
    roll: bool = False
    ap: Annotated[int, msgspec.Meta(ge=0, le=30)] | None = None
    wake: bool = False
    chem: MaybeId = ""


class Assist(Command, frozen=True, kw_only=True, tag="assist"):
    """Major action: help `ally`'s next test with 1d20 of this pair. Not on your turn it gives up the one you still have this round."""

    ally: Id
    attribute: Attribute
    skill: Skill
    combatant: MaybeId = ""
    gm_ap: bool = False


class CommandNpc(Command, frozen=True, kw_only=True, tag="command"):
    """Major action: an NPC under your command takes one major action now, and you assist it."""

    npc: Id
    action: Literal["attack", "defend", "rally", "sprint", "aid"]
    combatant: MaybeId = ""
    target: MaybeId = ""
    weapon: MaybeId = ""
    location: MaybeId = ""
    extra_ammo: Dice = 0
    zone: MaybeId = ""
    what: Literal["heal", "treat", "stabilize"] = "heal"
    gm_ap: bool = False


class Ready(Command, frozen=True, kw_only=True, tag="ready"):
    """Major action: perform `action` when somebody (`who`, else any enemy) enters or ends a move in `zone` (else yours), or attacks;
    or when what you say in `text` happens (claim it with `ready.claim`).

    `target` of an attack is, left out, whoever sets it off; `go` is where a sprint leads; First Aid stabilizes a dying
    `target`, else heals.
    """

    trigger: Literal["enters", "attacks", "ends_move", "prose"]
    action: Literal["attack", "defend", "sprint", "rally", "aid"]
    combatant: MaybeId = ""
    who: MaybeId = ""
    zone: MaybeId = ""
    text: Words = ""
    target: MaybeId = ""
    weapon: MaybeId = ""
    location: MaybeId = ""
    extra_ammo: Dice = 0
    go: MaybeId = ""


class ClaimReady(Command, frozen=True, kw_only=True, tag="ready.claim"):
    """What you wait for in your own words happens: the GM confirms it. `target`: whom your attack is for, if you had not said."""

    combatant: Id
    target: MaybeId = ""


class Douse(Command, frozen=True, kw_only=True, tag="douse"):
    """Major action: a test that stops persistent damage (`burn`, else the first)."""

    combatant: MaybeId = ""
    burn: MaybeId = ""
    attribute: Attribute = "AGI"
    skill: Skill = "athletics"
    dice: Dice = 0
    gm_ap: bool = False
    stacked_deck: bool = False


class Place(Command, frozen=True, kw_only=True, tag="place"):
    """Major action: lay a mine or charge where you are."""

    weapon: Id
    combatant: MaybeId = ""
    dice: Dice = 0
    gm_ap: bool = False
    stacked_deck: bool = False


# --- between fights ------------------------------------------------------------------------------------------------------


class Eat(Command, frozen=True, kw_only=True, tag="eat"):
    """Eat or drink something, outside a fight."""

    combatant: Id
    item: Id


class Repair(Command, frozen=True, kw_only=True, tag="repair"):
    """An hour's work on a machine, outside a fight."""

    combatant: Id
    patient: Id


class Care(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A doctor and the patients cared for."""

    doctor: Id
    patients: Ids


class GmRest(Command, frozen=True, kw_only=True, tag="gm.rest"):
    """Some sleep for so many hours; `activity` is what the day before was like, `care` who looks after whom. The clock moves on."""

    needs = "gm"
    always = True
    combatants: Annotated[Ids, msgspec.Meta(min_length=1)]
    hours: Annotated[int, msgspec.Meta(ge=1, le=24)]
    safe: bool = False
    activity: Literal["restful", "light", "moderate", "heavy"] = "restful"
    care: Annotated[tuple[Care, ...], msgspec.Meta(max_length=16)] = ()


class GmReward(Command, frozen=True, kw_only=True, tag="gm.reward"):
    """The GM gives experience to each of `combatants`: for `foes` they overcame, and `amount` beside it."""

    needs = "gm"
    always = True
    combatants: Annotated[Ids, msgspec.Meta(min_length=1)]
    foes: Ids = ()
    amount: Annotated[int, msgspec.Meta(ge=0, le=100_000)] = 0


class LevelUp(Command, frozen=True, kw_only=True, tag="level.up"):
    """Rise a level, with the experience for it: a rank of `skill`, and a perk (or one more rank of it)."""

    combatant: Id
    skill: Skill
    perk: Annotated[str, msgspec.Meta(max_length=40)] = ""


class GmPromote(Command, frozen=True, kw_only=True, tag="gm.promote"):
    """The GM makes an NPC greater than it was: mighty or legendary, notable or major; unhurt, and with its Luck."""

    needs = "gm"
    always = True
    combatant: Id
    tier: Literal["normal", "notable", "major", "mighty", "legendary", "minion"]
    special: Special | None = None
    tags: Annotated[tuple[Skill, ...], msgspec.Meta(max_length=8)] = ()


class GmHazard(Command, frozen=True, kw_only=True, tag="gm.hazard"):
    """A hazard hurts these combatants, or everybody in a zone: by `name` (`times` for a fall of so many zones), or `dice` of its own."""

    needs = "gm"
    combatants: Ids = ()
    scene: MaybeId = ""
    zone: MaybeId = ""
    name: Annotated[str, msgspec.Meta(max_length=40)] = ""
    times: Annotated[int, msgspec.Meta(ge=1, le=10)] = 1
    dice: Annotated[int, msgspec.Meta(ge=0, le=30)] = 0
    damage: DamageType = "physical"
    effects: Annotated[tuple[Effect, ...], msgspec.Meta(max_length=8)] = ()
    whole_body: bool = False
    text: Label = ""


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
    vision: bool | None = None
    """Whether it relies on sight (a head injury and darkness make it harder); None: tests of PER do."""
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
    """Spend AP on a passed test: `information` (1 AP, one question), `time` (2 AP, halves the minutes, rounded down), on First Aid `heal`
    and `wake` (1 AP each), on recovering `injury` (2 AP, one more); or `done`."""

    test: Id
    what: Literal["information", "time", "heal", "wake", "injury", "done"]
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
    Draw,
    Interact,
    Reload,
    TakeChem,
    FirstAid,
    Assist,
    CommandNpc,
    Ready,
    ClaimReady,
    Douse,
    Place,
    Eat,
    Repair,
    GmRest,
    GmHazard,
    GmReward,
    LevelUp,
    GmPromote,
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
