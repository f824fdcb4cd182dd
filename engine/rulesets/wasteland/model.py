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
    """A perk or trait as plain figures: free d20s and a change of difficulty on tests of `skill` ("" every test), a bonus to initiative."""

    id: str
    rank: Small = 1
    skill: Skill | Literal[""] = ""
    dice: Small = 0
    difficulty: Delta = 0
    initiative: Delta = 0


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


class Turn(Part, frozen=True, kw_only=True):
    """What the running turn has used. `begun` after its first action; `aimed` waits for the first attack roll."""

    minors: Small = 0
    majors: Small = 0
    moved: bool = False
    aimed: bool = False
    attacked: bool = False
    begun: bool = False
    stunned: bool = False
    """No normal actions this turn: each one is bought."""


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
    dead: bool = False
    pool: Literal["", "group", "gm"] = ""
    """Whose Action Points it uses: "" is the group's for a pc, the GM's for everybody else."""
    turn: Turn = Turn()
    timing: str = ""
    """Lucky Timing ordered in advance: act right after this combatant."""
    trinket: bool = False
    """The personal item gave its point in this quest already (`trinket_luck`)."""


# --- tests ---------------------------------------------------------------------------------------------------------------


class Pair(Part, frozen=True, kw_only=True):
    """Which attribute + skill somebody tests with."""

    attribute: Attribute
    skill: Skill


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
    then: Literal["", "rally", "defend"] = ""
    """The action in a fight that this test belongs to."""
    ap: Small = 0
    """AP that Defend spends when it passes."""


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


# --- unfinished actions ----------------------------------------------------------------------------------------------


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


class Assault(Pending, frozen=True, kw_only=True, tag="assault"):
    """An attack under way. `stage` names what it waits for: the aim's re-roll, Luck on the d20s, AP for damage, Luck on the damage dice."""

    stage: Literal["aim", "luck", "ap", "damage"]
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


PendingRecord = Ties | Casting | Spending | Trouble | HelpAsked | Wish | Assault
