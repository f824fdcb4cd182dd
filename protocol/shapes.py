"""The shapes of message bodies (events, options, chances, questions), for the schema and for tests.

The server never builds these: bodies come from the engine as plain maps and are spliced into messages as they are.
They are written down so that the schema describes them and tests can check what the engine makes.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from msgspec import Meta, Struct

from protocol.messages import Mark, Millis, Version

Scalar = str | int | bool | None
Fraction = Annotated[str, Meta(pattern=r"^(0|[1-9][0-9]*)/[1-9][0-9]*$", description="An exact chance a/b, from 0/1 to 1/1")]


class _Shape(Struct, frozen=True, omit_defaults=True):
    pass


class ViewBody(_Shape, frozen=True):
    """A view: `{kind: {id: {fields}}}`. `table` has one entity, with the id `table`."""

    table: dict[str, dict[str, Any]] = {}
    seats: dict[str, dict[str, Any]] = {}
    combatants: dict[str, dict[str, Any]] = {}
    scenes: dict[str, dict[str, Any]] = {}
    encounters: dict[str, dict[str, Any]] = {}
    pools: dict[str, dict[str, Any]] = {}
    tests: dict[str, dict[str, Any]] = {}
    prompts: dict[str, dict[str, Any]] = {}


class Event(_Shape, frozen=True):
    """Something that happened: a stable message id, an English sentence, and data beside them."""

    type: str
    text: str
    body: str | None = None
    erased: bool = False


class PastEntry(_Shape, frozen=True):
    """An entry of the past, in history."""

    v: Version
    stamp: Mark
    at: Millis | None = None
    by: str | None = None
    events: list[Event] = []


class Choice(_Shape, frozen=True):
    """A value that may be chosen, and how to show it."""

    value: Scalar
    text: str


class Ints(_Shape, frozen=True):
    """Numbers that go with an answer: `least` to `most` of them, each from `low` to `high`; `choice` names the one that needs them."""

    least: int
    most: int
    low: int
    high: int
    choice: str = ""


class Question(_Shape, frozen=True):
    """A prompt. `default` is taken at `deadline` (ms UTC), if it has one, when nobody has answered."""

    id: str
    kind: str
    type: str
    text: str
    choices: list[Choice] = []
    default: str = ""
    deadline: Millis | None = None
    ints: Ints | None = None
    combatant: str | None = None
    group: str | None = None
    data: dict[str, Any] | None = None


class Param(_Shape, frozen=True):
    """Something the player still has to fill in: the client sets `command[name]`."""

    name: str
    text: str
    kind: Literal["choice", "int", "text"] = "choice"
    choices: list[Choice] = []
    min: int | None = None
    max: int | None = None
    default: Scalar = None
    optional: bool = False


class Cost(_Shape, frozen=True):
    """What an option takes from a pool."""

    pool: str
    amount: int


class Option(_Shape, frozen=True):
    """Something legal. `command` is complete but for the params; `odds` when the server can tell its chances."""

    type: str
    text: str
    command: dict[str, Any]
    combatant: str | None = None
    params: list[Param] = []
    cost: list[Cost] = []
    odds: bool = False
    group: str = "turn"


class Chance(_Shape, frozen=True):
    """How likely one outcome is."""

    name: str
    text: str
    p: Fraction


class Amount(_Shape, frozen=True):
    """How likely one amount of damage is."""

    value: int
    p: Fraction


class Chances(_Shape, frozen=True):
    """What a command may lead to."""

    type: str
    text: str
    parts: list[Chance] = []
    damage: list[Amount] = []


SHAPES: Final = (ViewBody, Event, PastEntry, Choice, Ints, Question, Param, Cost, Option, Chance, Amount, Chances)
