"""The wasteland's data: survivors and what they carry, what a test takes and gives, and unfinished actions.

Figures follow the rule texts and rules/FACTS.md A; every list is a tuple and every record frozen. What a number derives from
attributes (maximum HP, initiative, Defense, melee bonus, Luck points) is worked out in engine.rulesets.wasteland.derived.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from engine.session import Combatant, Helper, Part

Small = Annotated[int, msgspec.Meta(ge=0, le=1000)]
Few = Annotated[int, msgspec.Meta(ge=0, le=30)]
Delta = Annotated[int, msgspec.Meta(ge=-20, le=20)]
Rank = Annotated[int, msgspec.Meta(ge=0, le=12)]

Attribute = Literal["STR", "PER", "END", "CHA", "INT", "AGI", "LCK", "body", "mind"]
"""The seven of S.P.E.C.I.A.L.; creatures have `body` and `mind` instead."""
Skill = Literal[
    "athletics",
    "barter",
    "big_guns",
    "energy_weapons",
    "explosives",
    "lockpick",
    "medicine",
    "melee_weapons",
    "pilot",
    "repair",
    "science",
    "small_guns",
    "sneak",
    "speech",
    "survival",
    "throwing",
    "unarmed",
    "melee",
    "guns",
    "other",
]
"""Seventeen skills of people; creatures have `melee`, `guns` and `other`."""
DamageType = Literal["physical", "energy", "radiation", "poison"]
Band = Literal["close", "medium", "long", "extreme"]
Tier = Literal["pc", "normal", "notable", "major", "mighty", "legendary", "minion"]
"""`pc` a player's character; normal/notable/major NPC characters; normal/mighty/legendary/minion creatures (FACTS A11)."""
WeaponKind = Literal[
    "small_guns", "big_guns", "energy_weapons", "explosives", "throwing", "melee_weapons", "unarmed", "natural", "ranged_natural"
]
"""The two natural kinds are creatures' own: body + melee within reach, body + guns at range."""
EffectId = Literal[
    "arc", "breaking", "burst", "freeze", "persistent", "piercing", "radioactive", "spread", "stun", "tranquilize", "vicious"
]
BodyType = Literal["person", "hover_robot", "quadruped", "flying_insect"]


# --- what a survivor is made of --------------------------------------------------------------------------------------


class Special(Part, frozen=True, kw_only=True):
    """The seven attributes."""

    STR: Rank = 5
    PER: Rank = 5
    END: Rank = 5
    CHA: Rank = 5
    INT: Rank = 5
    AGI: Rank = 5
    LCK: Rank = 5


class Beast(Part, frozen=True, kw_only=True):
    """A creature's two attributes and three skills; its attacks always count as tagged (FACTS A11)."""

    body: Small = 5
    mind: Small = 5
    melee: Rank = 0
    guns: Rank = 0
    other: Rank = 0
    little: bool = False
    big: bool = False


class Skills(Part, frozen=True, kw_only=True):
    """Ranks of a person's skills; what is left out is 0."""

    athletics: Rank = 0
    barter: Rank = 0
    big_guns: Rank = 0
    energy_weapons: Rank = 0
    explosives: Rank = 0
    lockpick: Rank = 0
    medicine: Rank = 0
    melee_weapons: Rank = 0
    pilot: Rank = 0
    repair: Rank = 0
    science: Rank = 0
    small_guns: Rank = 0
    sneak: Rank = 0
    speech: Rank = 0
    survival: Rank = 0
    throwing: Rank = 0
    unarmed: Rank = 0


class Effect(Part, frozen=True, kw_only=True):
    """A damage effect of a weapon, with its rating where it has one (piercing, tranquilize)."""

    id: EffectId
    x: Small = 1
    type: DamageType | None = None
    """Persistent may hurt in another type than the weapon."""


class Quality(Part, frozen=True, kw_only=True):
    """A weapon quality by id (close_quarters, two_handed, inaccurate, suppressed ...), with its rating where it has one."""

    id: Annotated[str, msgspec.Meta(pattern=r"^[a-z_]{1,40}$")]
    x: Small = 1


class Weapon(Part, frozen=True, kw_only=True):
    """A weapon carried. `kind` decides attribute + skill (`attribute` and `skill` override it); `range` is the ideal range of ranged kinds.

    `dice` is the damage rating in dC6. `ammo` names the stack it draws on ("" needs none), `per_shot` units a shot. `count` matters for
    thrown ones. `drawn`: held in hand.
    """

    id: str
    name: str
    kind: WeaponKind
    dice: Few = 2
    type: DamageType = "physical"
    effects: tuple[Effect, ...] = ()
    qualities: tuple[Quality, ...] = ()
    range: Band = "close"
    fire_rate: Few = 0
    ammo: str = ""
    per_shot: Small = 1
    count: Small = 1
    drawn: bool = True
    attribute: Attribute | None = None
    skill: Skill | None = None
    also: tuple[DamageType, ...] = ()
    """Further types of its damage: the lowest of the Damage Resistances counts."""
    arm: str = ""
    """Location of the arm that holds it; "" is the body's main one (body.MAIN_ARM)."""
    at: str = ""
    """The zone in which it lies, dropped; "" is carried."""
    loaded: bool = True
    """False until it is reloaded (slow_load after a shot, fuel after a complication)."""


class Stack(Part, frozen=True, kw_only=True):
    """So many units of one kind of ammunition."""

    id: str
    count: Annotated[int, msgspec.Meta(ge=0, le=1_000_000)] = 0
    name: str = ""


class Resist(Part, frozen=True, kw_only=True):
    """Damage Resistance at a location ("*" or "" everywhere)."""

    # Not "*": a default that is left out of the bytes is told by identity, and only the empty text is one object everywhere.
    at: str = ""
    physical: Small = 0
    energy: Small = 0
    radiation: Small = 0
    poison: Small = 0


class Apparel(Part, frozen=True, kw_only=True):
    """Something worn. Per location and type the better of clothing and the outer piece counts, on top of natural DR (FACTS E)."""

    id: str
    name: str
    layer: Literal["clothing", "outer"] = "outer"
    covers: tuple[str, ...] = ()
    physical: Small = 0
    energy: Small = 0
    radiation: Small = 0
    worn: bool = True


class Perk(Part, frozen=True, kw_only=True):
    """A perk or trait: free d20s and a change of difficulty on tests of `skill` ("" every test), a bonus to initiative as plain figures,
    and whatever engine.rulesets.wasteland.perks knows of its `id`."""

    id: str
    rank: Small = 1
    skill: Skill | Literal[""] = ""
    dice: Small = 0
    difficulty: Delta = 0
    initiative: Delta = 0


class Pair(Part, frozen=True, kw_only=True):
    """Which attribute + skill somebody tests with."""

    attribute: Attribute
    skill: Skill


class Item(Part, frozen=True, kw_only=True):
    """So many doses or portions of something that is used up: chems and kits in a hurry, food and drink outside a fight.

    `heal` HP, `cures` radiation; `treats` an injury instead of healing; `stabilizes` the dying; `irradiated` food may hurt; `boost` is a
    perk for `minutes` of the fiction clock. `robots`: works on robots, and on nobody else.
    """

    id: str
    name: str
    kind: Literal["chem", "kit", "food", "drink"]
    count: Small = 1
    heal: Small = 0
    cures: Small = 0
    treats: bool = False
    stabilizes: bool = False
    irradiated: bool = False
    robots: bool = False
    boost: Perk | None = None
    minutes: Small = 0
    drawn: bool = False
    at: str = ""


class Boost(Part, frozen=True, kw_only=True):
    """A perk that a chem lends until a minute of the fiction clock."""

    perk: Perk
    until: int


class Burn(Part, frozen=True, kw_only=True):
    """Persistent damage at the end of the next turns. `dice` are rolled anew where `persistent_mode` says so, else `amount` repeats."""

    id: str
    type: DamageType
    at: str
    amount: Small
    rounds: Small
    effects: Small = 1
    """How hard it is to put out."""
    dice: Small = 0
    by: str = ""
    fresh: bool = False
    """It began in the own turn, whose end does not count yet."""


class Ailment(Part, frozen=True, kw_only=True):
    """A poison or disease: `difficulty` of the END + survival test that recovers from it. What else it does is a hindrance of its id."""

    id: str
    name: str
    kind: Literal["poison", "disease"]
    difficulty: Small = 1


class Trap(Part, frozen=True, kw_only=True):
    """A dangerous object, or a placed or ticking charge: who sets it off tests `pair`; failed, it hurts everybody in its zone.

    `fuse` is the round at whose start it goes off by itself (0: none). `alone`: only who set it off is hurt. Without a `pair` nobody
    can avoid it.
    """

    pair: Pair | None = None
    difficulty: Small = 2
    dice: Small = 6
    type: DamageType = "physical"
    effects: tuple[Effect, ...] = ()
    fuse: Small = 0
    alone: bool = False
    armed: bool = True
    by: str = ""


class Trigger(Part, frozen=True, kw_only=True):
    """What a readied action waits for: somebody (`who` by id, "" any enemy) `enters` or `ends_move` in `zone` ("" the own one), or
    `attacks`; or `prose`, which its owner claims and the GM confirms."""

    kind: Literal["enters", "attacks", "ends_move", "prose"]
    who: str = ""
    zone: str = ""
    text: str = ""


class Readied(Part, frozen=True, kw_only=True):
    """A readied major action. `target` "" is whoever triggers it."""

    trigger: Trigger
    action: Literal["attack", "defend", "sprint", "rally", "aid"]
    target: str = ""
    weapon: str = ""
    location: str = ""
    zone: str = ""
    extra_ammo: Small = 0
    round: Small = 0
    """The round it was readied in."""


class Promise(Part, frozen=True, kw_only=True):
    """Assist: help `ally` with the next test, with this pair."""

    ally: str
    pair: Pair


class Hindrance(Part, frozen=True, kw_only=True):
    """A change of difficulty that a complication or the GM put on somebody's tests of an attribute, a skill, or both ("" any).

    `once` goes with the next test it touches.
    """

    id: str
    amount: Delta
    attribute: Attribute | Literal[""] = ""
    skill: Skill | Literal[""] = ""
    once: bool = False
    text: str = ""


class Injury(Part, frozen=True, kw_only=True):
    """A serious injury at a location; `kind` (arm, leg, torso, head) says what it does until it is treated."""

    at: str
    kind: Literal["arm", "leg", "torso", "head"]
    treated: bool = False
    hard: bool = False
    """A debilitating weapon made it: 1 harder to treat."""


class Turn(Part, frozen=True, kw_only=True):
    """What the running turn (of this `round`) has used. `begun` after its first action; `aimed` waits for the first attack roll."""

    minors: Small = 0
    majors: Small = 0
    moved: bool = False
    aimed: bool = False
    attacked: bool = False
    begun: bool = False
    stunned: bool = False
    """No normal actions this turn: each one is bought."""
    frozen: bool = False
    """No actions at all this turn."""
    round: Small = 0
    bleeds: bool = False
    """It began with an open wound of the torso, so it ends with bleeding."""


class Survivor(Combatant, frozen=True, kw_only=True):
    """Anybody who acts or is shot at: a character, creature or robot. Fields left out of a spawn get full HP and Luck points.

    `max_hp`, `initiative`, `defense` None are derived (FACTS A11); a given `max_hp` is the maximum before radiation.
    """

    tier: Tier = "normal"
    level: Annotated[int, msgspec.Meta(ge=1, le=100)] = 1
    body_type: BodyType = "person"
    special: Special = Special()
    beast: Beast | None = None
    """Set for creatures: they have no S.P.E.C.I.A.L."""
    skills: Skills = Skills()
    tags: tuple[Skill, ...] = ()
    hp: Small = 0
    max_hp: Small | None = None
    hp_bonus: Delta = 0
    radiation: Small = 0
    well_rested: bool = False
    luck: Small = 0
    initiative: Small | None = None
    defense: Small | None = None
    guard: Small = 0
    """What Defend added, until the start of the own next turn."""
    dr: tuple[Resist, ...] = ()
    broken: tuple[Resist, ...] = ()
    """DR lost for good to Breaking."""
    apparel: tuple[Apparel, ...] = ()
    immune: tuple[DamageType, ...] = ()
    weapons: tuple[Weapon, ...] = ()
    ammo: tuple[Stack, ...] = ()
    perks: tuple[Perk, ...] = ()
    hindrances: tuple[Hindrance, ...] = ()
    injuries: tuple[Injury, ...] = ()
    prone: bool = False
    unaware: bool = False
    stunned: bool = False
    """No normal actions in the next turn; bought ones remain."""
    dying: bool = False
    """At 0 HP: unconscious, a death test at the start of each own turn. `out` comes with death."""
    unconscious: bool = False
    """Stabilized but not woken, or tranquilized (`wakes`): no actions."""
    wakes: int = 0
    """The minute of the fiction clock at which a tranquilized one wakes; 0: when somebody wakes it."""
    frozen: bool = False
    """No actions in the next turn."""
    dead: bool = False
    burns: tuple[Burn, ...] = ()
    items: tuple[Item, ...] = ()
    boosts: tuple[Boost, ...] = ()
    ailments: tuple[Ailment, ...] = ()
    slept: int | None = None
    """The minute of the fiction clock at which the last sleep ended."""
    ready: Readied | None = None
    promise: Promise | None = None
    leader: str = ""
    """Whose orders it takes (Command an NPC)."""
    trap: Trap | None = None
    """Set for dangerous objects."""
    mark: str = ""
    """Aim with a recon weapon marked this target: the next ally to attack it re-rolls 1d20."""
    shot_at: bool = False
    """Attacked since the own last turn, with charges to lay."""
    dash: Small = 0
    """Defense that a perk gives after Sprint, until the own next turn."""
    xp: Annotated[int, msgspec.Meta(ge=0, le=10_000_000)] = 0
    """Experience gained in all."""
    used: tuple[str, ...] = ()
    """What works once in a fight and has: perks, and weapons' reliable quality."""
    pool: Literal["", "group", "gm"] = ""
    """Whose Action Points it uses: "" is the group's for a pc, the GM's for everybody else."""
    turn: Turn = Turn()
    timing: str = ""
    """Lucky Timing ordered in advance: act right after this combatant."""
    trinket: bool = False
    """The personal item gave its point in this quest already (`trinket_luck`)."""


# --- tests ---------------------------------------------------------------------------------------------------------------


class Helping(Helper, frozen=True, kw_only=True):
    """Somebody who helps, and the pair they roll with."""

    how: Pair


class Frame(Part, frozen=True, kw_only=True):
    """What the GM set: the pair, the difficulty, the complication range (1..5), who may help, and what it is about.

    `help`: "ask" the GM each time, "any" helper, or "none". `group` lists who must take part in a group test; `by` leads it.
    `opponent` opposes it with `against`; in the sequential form it rolls first and its successes are the difficulty, to which
    `difficulty` is added as a change. `dice` are free d20s, `minutes` how long it takes.
    """

    pair: Pair
    difficulty: Delta = 1
    range: Annotated[int, msgspec.Meta(ge=1, le=5)] = 1
    help: Literal["ask", "any", "none"] = "ask"
    group: tuple[str, ...] = ()
    opponent: str = ""
    against: Pair | None = None
    dice: Small = 0
    minutes: Small = 0
    action: Literal["free", "minor", "major"] = "free"
    allow_roll: bool = False
    """The GM lets it be rolled at difficulty 0."""
    then: Literal["", "rally", "defend", "aid", "recover", "ailment", "douse", "place"] = ""
    """What this test decides beyond itself (engine.rulesets.wasteland.outcomes)."""
    ap: Small = 0
    """AP that Defend spends when it passes, or First Aid on more HP."""
    patient: str = ""
    what: str = ""
    """First Aid: heal, treat or stabilize; else the id of what is recovered from or put out."""
    at: str = ""
    wake: bool = False
    asked: bool = True
    """Whether AP, and Luck on a readied action, may still be spent by answering; False where the command said it all."""
    vision: bool = False
    """It relies on sight."""
    extra: Small = 0
    """HP that a chem in First Aid gives at once."""


class Throw(Part, frozen=True, kw_only=True):
    """A d20 pool on the table: whose, the target number, the face up to which it is critical, the roll's number, what was re-rolled."""

    by: str
    tn: int
    crit: int
    faces: tuple[int, ...]
    roll: int
    rerolled: tuple[int, ...] = ()
    role: Literal["lead", "help", "against"] = "lead"
    skill: str = ""


class Question(Part, frozen=True, kw_only=True):
    """A question bought with 1 AP, and the GM's answer."""

    text: str = ""
    answer: str = ""


class Result(Part, frozen=True, kw_only=True):
    """What a test came to. `throws` and `opposition` are the pools of the two sides, `against` what the opposing side scored.

    It is shown to the table, so target numbers of those whose sheets are not open are left out of it (0).
    """

    throws: tuple[Throw, ...] = ()
    opposition: tuple[Throw, ...] = ()
    difficulty: int = 0
    successes: int = 0
    against: int = 0
    complications: int = 0
    passed: bool = False
    ap: int = 0
    minutes: int = 0
    questions: tuple[Question, ...] = ()
