"""The kernel's commands: what a seat can ask for under every ruleset.

A command is a map with a `type`. Rulesets add their own by subclassing Command. `needs` says who may send it: any seat
that may act ("player"), a GM ("gm"), anyone at the table ("any"). `always` commands work while the table is paused or a
question is open.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

import msgspec

from engine.rejected import Rejected
from engine.session import Cover, Edge, Role

Id = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9_.:-]{1,64}$(?!\n)")]
MaybeId = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9_.:-]{0,64}$(?!\n)")]
Label = Annotated[str, msgspec.Meta(max_length=120)]
Count = Annotated[int, msgspec.Meta(ge=0, le=1_000_000)]
Ids = Annotated[tuple[Id, ...], msgspec.Meta(max_length=64)]
SettingKey = Annotated[str, msgspec.Meta(pattern=r"^[a-z0-9_.-]{1,40}$(?!\n)")]
SettingValue = Annotated[int, msgspec.Meta(ge=0, le=1_000_000)]
SafeInt = Annotated[int, msgspec.Meta(ge=-(2**53) + 1, le=2**53 - 1)]


MAX_TEXT = 2000
"""Characters of one text in a field of a combatant, scene, pool or test: views hold many of them."""


def check_open(value: Any, depth: int = 8) -> None:
    """Refuse what cannot be logged in a field whose type only the ruleset knows: floats, numbers beyond 53 bits, deep nests, long texts.

    Raises Rejected("bad_command").
    """
    if isinstance(value, str) and len(value) > MAX_TEXT:
        raise Rejected("bad_command", f"A text in a field has at most {MAX_TEXT} characters.", limit=MAX_TEXT)
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return
    if isinstance(value, int):
        if abs(value) < 2**53:
            return
    elif depth and isinstance(value, (list, tuple)):
        for item in value:
            check_open(item, depth - 1)
        return
    elif depth and isinstance(value, dict) and all(isinstance(key, str) for key in value):
        for item in value.values():
            check_open(item, depth - 1)
        return
    raise Rejected("bad_command", "Values are texts, whole numbers within 53 bits, true, false, null, and short lists and maps of these.")


class Command(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, forbid_unknown_fields=True, tag_field="type"):
    """Base of every command."""

    needs: ClassVar[str] = "player"
    always: ClassVar[bool] = False
    quiet: ClassVar[bool] = False


class TextRef(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Stands in the log for a chat or post text that is kept outside it, so that it can be erased. `sha256` proves what was said."""

    id: str
    sha256: str


Text = Annotated[str, msgspec.Meta(min_length=1, max_length=16_000)] | TextRef


# --- talking and rolling -----------------------------------------------------------------------------------------


class Chat(Command, frozen=True, kw_only=True, tag="chat"):
    """Say something out of character; `to` makes it a private line to these seats."""

    needs = "any"
    always = True
    quiet = True
    text: Text
    to: Ids = ()


class Post(Command, frozen=True, kw_only=True, tag="post"):
    """Tell a piece of the story, as a combatant or as the narrator; `to` makes it a private line."""

    needs = "any"
    always = True
    quiet = True
    text: Text
    combatant: MaybeId = ""
    to: Ids = ()


class Roll(Command, frozen=True, kw_only=True, tag="roll"):
    """Roll dice by notation ("2d20kh1+3"), for all to see or (a GM) hidden."""

    notation: Annotated[str, msgspec.Meta(min_length=1, max_length=120)]
    label: Label = ""
    hidden: bool = False


class Salt(Command, frozen=True, kw_only=True, tag="dice.salt"):
    """Add this seat's salt to the open dice epochs that have not rolled yet."""

    needs = "any"
    always = True
    quiet = True
    salt: Annotated[str, msgspec.Meta(min_length=1, max_length=64)]


class Prefs(Command, frozen=True, kw_only=True, tag="seat.prefs"):
    """Answer every prompt of a kind in advance: always, never, or ask."""

    needs = "any"
    always = True
    quiet = True
    kind: Annotated[str, msgspec.Meta(pattern=r"^[a-z0-9_.-]{1,40}$(?!\n)")]
    value: Literal["always", "never", "ask"]


class Leave(Command, frozen=True, kw_only=True, tag="seat.leave"):
    """Give up this seat for good; what it controlled is the GM's."""

    needs = "any"
    always = True


class Answer(Command, frozen=True, kw_only=True, tag="answer"):
    """Answer an open prompt. A GM may answer any; `ints` are the numbers the answer needs (dice faces, positions)."""

    needs = "any"
    always = True
    prompt: Id
    choice: Annotated[str, msgspec.Meta(max_length=64)] = ""
    ints: Annotated[tuple[SafeInt, ...], msgspec.Meta(max_length=1000)] = ()


class EndTurn(Command, frozen=True, kw_only=True, tag="turn.end"):
    """End the turn of a combatant (default: whose turn it is, if it is yours)."""

    combatant: MaybeId = ""


class DelayTurn(Command, frozen=True, kw_only=True, tag="turn.delay"):
    """Take this turn later in the round: right after `after`."""

    after: Id
    combatant: MaybeId = ""


class ProposeTest(Command, frozen=True, kw_only=True, tag="test.propose"):
    """Propose a test for a combatant; the GM frames it."""

    combatant: Id
    label: Label = ""


class WithdrawTest(Command, frozen=True, kw_only=True, tag="test.withdraw"):
    """Take back a test that was not rolled yet."""

    test: Id


# --- the GM's ------------------------------------------------------------------------------------------------------


class GmCommand(Command, frozen=True, kw_only=True):
    needs = "gm"
    always = True


class ZoneSpec(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, forbid_unknown_fields=True):
    """A zone as a scene is set up with."""

    id: Id
    name: Label
    covers: Annotated[tuple[Cover, ...], msgspec.Meta(max_length=16)] = ()
    cost: Count = 0
    tags: tuple[Label, ...] = ()
    hidden: bool = False


class GmSeatAdd(GmCommand, frozen=True, kw_only=True, tag="gm.seat.add"):
    """Add a seat."""

    seat: Id
    name: Label
    role: Role = "player"
    controls: Ids = ()


class GmSeat(GmCommand, frozen=True, kw_only=True, tag="gm.seat"):
    """Change a seat's name, role or the combatants it controls; what is left out stays."""

    seat: Id
    name: Label | None = None
    role: Role | None = None
    controls: Ids | None = None


class GmSeatRemove(GmCommand, frozen=True, kw_only=True, tag="gm.seat.remove"):
    """Remove a seat; its holder is out."""

    seat: Id


class GmSitting(GmCommand, frozen=True, kw_only=True, tag="gm.sitting"):
    """Open the next sitting: what refreshes at a session's start refreshes now."""


class GmScene(GmCommand, frozen=True, kw_only=True, tag="gm.scene"):
    """Make a scene, or replace the zones and ways of one."""

    scene: Id
    name: Label
    zones: Annotated[tuple[ZoneSpec, ...], msgspec.Meta(min_length=1, max_length=200)]
    edges: Annotated[tuple[Edge, ...], msgspec.Meta(max_length=2000)] = ()
    blind: Annotated[tuple[tuple[Id, Id], ...], msgspec.Meta(max_length=2000)] = ()
    tags: tuple[Label, ...] = ()
    hidden: bool = False


class GmSceneRemove(GmCommand, frozen=True, kw_only=True, tag="gm.scene.remove"):
    """Remove an empty scene."""

    scene: Id


class GmSet(GmCommand, frozen=True, kw_only=True, tag="gm.set"):
    """Set one field of a combatant, pool, scene or test by hand."""

    kind: Literal["combatants", "pools", "scenes", "tests"]
    id: Id
    field: Label
    value: Any


class GmUndo(GmCommand, frozen=True, kw_only=True, tag="gm.undo"):
    """Restore the table as it was at version `to` (default: before the last step that changed it).

    `dice`: keep the voided faces for the same rolls, or roll anew.
    """

    to: Annotated[int, msgspec.Meta(ge=0, le=2**53 - 1)] = 0
    dice: Literal["keep", "new"] = "keep"


class GmPause(GmCommand, frozen=True, kw_only=True, tag="gm.pause"):
    """Stop or resume the game; deadlines stand still meanwhile."""

    on: bool = True


class GmReveal(GmCommand, frozen=True, kw_only=True, tag="gm.reveal"):
    """Show players a hidden combatant, scene, zone, way, pool or test."""

    kind: Literal["combatants", "scenes", "pools", "tests", "zone", "edge"] = "combatants"
    id: Id
    scene: MaybeId = ""
    to: MaybeId = ""
    """For an edge: the other end."""


class GmHide(GmCommand, frozen=True, kw_only=True, tag="gm.hide"):
    """Hide a combatant, scene, zone, way, pool or test from players."""

    kind: Literal["combatants", "scenes", "pools", "tests", "zone", "edge"] = "combatants"
    id: Id
    scene: MaybeId = ""
    to: MaybeId = ""


class GmSpawn(GmCommand, frozen=True, kw_only=True, tag="gm.spawn"):
    """Bring a combatant into play from a template, with some fields set."""

    id: MaybeId = ""
    template: Annotated[str, msgspec.Meta(max_length=64)] = ""
    name: Label = ""
    side: Label = ""
    scene: MaybeId = ""
    zone: MaybeId = ""
    hidden: bool = False
    seat: MaybeId = ""
    fields: dict[str, Any] = {}


class GmRemove(GmCommand, frozen=True, kw_only=True, tag="gm.remove"):
    """Take a combatant out of play for good."""

    combatant: Id


class GmMove(GmCommand, frozen=True, kw_only=True, tag="gm.move"):
    """Put a combatant anywhere."""

    combatant: Id
    scene: Id
    zone: Id
    near: Ids = ()
    cover: MaybeId = ""


class GmClock(GmCommand, frozen=True, kw_only=True, tag="gm.clock"):
    """Advance the fiction clock."""

    minutes: Annotated[int, msgspec.Meta(ge=1, le=525_600)]


class GmEncounter(GmCommand, frozen=True, kw_only=True, tag="gm.encounter"):
    """Start an encounter in a scene, with all its combatants or the ones named."""

    scene: Id
    combatants: Ids = ()
    first: MaybeId = ""
    """Who opens: takes a turn before the order begins, where the ruleset has such a thing."""


class GmEncounterJoin(GmCommand, frozen=True, kw_only=True, tag="gm.encounter.join"):
    """Add a combatant to a running encounter."""

    encounter: Id
    combatant: Id
    initiative: Annotated[int, msgspec.Meta(ge=-1000, le=1000)] | None = None


class GmEncounterEnd(GmCommand, frozen=True, kw_only=True, tag="gm.encounter.end"):
    """End an encounter; the open dice are revealed."""

    encounter: Id


class GmTurn(GmCommand, frozen=True, kw_only=True, tag="gm.turn"):
    """Skip the turn that is running, or give the turn to a combatant that has not acted this round."""

    encounter: Id
    combatant: MaybeId = ""


class GmPrompt(GmCommand, frozen=True, kw_only=True, tag="gm.prompt"):
    """Settle somebody's prompt: take its default now, or void the unfinished action it belongs to."""

    prompt: Id
    do: Literal["default", "void"] = "default"


class GmDice(GmCommand, frozen=True, kw_only=True, tag="gm.dice"):
    """Open new dice: reveal a stream's seed and go on with a fresh one, or change between the server's dice and physical ones."""

    do: Literal["reveal", "physical", "seeded"]
    stream: Literal["open", "hidden"] = "open"


class GmSetting(GmCommand, frozen=True, kw_only=True, tag="gm.setting"):
    """Change a session setting, for example deadline.prompt or deadline.turn in minutes (0: none)."""

    key: SettingKey
    value: SettingValue


# --- the system's ----------------------------------------------------------------------------------------------------


class SystemCommand(Command, frozen=True, kw_only=True):
    needs = "system"
    always = True


class Deadline(SystemCommand, frozen=True, kw_only=True, tag="system.deadline"):
    """A prompt's or a turn's time is up. Names what it is for, so a second one is refused."""

    prompt: str = ""
    encounter: str = ""
    turn: int = 0


class Extend(SystemCommand, frozen=True, kw_only=True, tag="system.extend"):
    """Move every deadline back, after downtime."""

    ms: int


class Hold(SystemCommand, frozen=True, kw_only=True, tag="system.hold"):
    """A person takes a seat (an invite was redeemed); what was private to the former holder stays so."""

    seat: str
    person: str
    name: str = ""


class NewDice(SystemCommand, frozen=True, kw_only=True, tag="system.dice"):
    """Open new dice epochs on both streams after the log was forked, restored or imported."""

    reason: str


class Upgrade(SystemCommand, frozen=True, kw_only=True, tag="system.upgrade"):
    """A newer server takes the log over."""


PLAYER_COMMANDS: tuple[type[Command], ...] = (
    Chat,
    Post,
    Roll,
    Salt,
    Prefs,
    Leave,
    Answer,
    EndTurn,
    DelayTurn,
    ProposeTest,
    WithdrawTest,
    GmSeatAdd,
    GmSeat,
    GmSeatRemove,
    GmSitting,
    GmScene,
    GmSceneRemove,
    GmSet,
    GmUndo,
    GmPause,
    GmReveal,
    GmHide,
    GmSpawn,
    GmRemove,
    GmMove,
    GmClock,
    GmEncounter,
    GmEncounterJoin,
    GmEncounterEnd,
    GmTurn,
    GmPrompt,
    GmDice,
    GmSetting,
)
SYSTEM_COMMANDS: tuple[type[Command], ...] = (Deadline, Extend, Hold, NewDice, Upgrade)
