"""Legal options as data: what a seat may do now, what it costs, and which parameters it still has to fill in."""

from __future__ import annotations

from typing import Any, Literal

import msgspec


class Value(msgspec.Struct, frozen=True, omit_defaults=True):
    """A listed value of a parameter, and how to say it."""

    value: Any
    text: str


class Param(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A parameter: the client puts a value under `name` into the option's command. An optional one may be left out."""

    name: str
    text: str
    kind: Literal["choice", "int", "text"] = "choice"
    choices: tuple[Value, ...] = ()
    min: int | None = None
    max: int | None = None
    default: Any = None
    optional: bool = False


class Cost(msgspec.Struct, frozen=True):
    """What taking the option uses up."""

    pool: str
    amount: int


class Option(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Something a seat may do now. `type` is a stable message id; `command` is complete but for `params`."""

    type: str
    text: str
    command: dict[str, Any]
    combatant: str = ""
    params: tuple[Param, ...] = ()
    cost: tuple[Cost, ...] = ()
    odds: bool = False
    """True when the server can tell the odds of the finished command."""
    group: Literal["turn", "table"] = "turn"
    """"turn" plays the game; "table" is what people do to the table (undo, pause, delay), which a pilot leaves alone."""
