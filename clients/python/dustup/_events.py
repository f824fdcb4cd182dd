"""What the core tells whoever moves its bytes: answers, changed tables, and when to hang up."""

from __future__ import annotations

from dataclasses import dataclass

from ._codec import Message
from .errors import Closed, DustupError


@dataclass(frozen=True, slots=True)
class Welcomed:
    message: Message


@dataclass(frozen=True, slots=True)
class Answered:
    """The answer to request `id`."""

    id: str
    message: Message


@dataclass(frozen=True, slots=True)
class Failed:
    """Request `id` will get no answer, or was refused."""

    id: str
    error: DustupError


@dataclass(frozen=True, slots=True)
class Changed:
    """A table's view moved on: `message` is the frame, reset or joined that did it. `first` marks the first join."""

    session: str
    message: Message
    first: bool = False


@dataclass(frozen=True, slots=True)
class Prompted:
    session: str
    prompt: Message


@dataclass(frozen=True, slots=True)
class Present:
    session: str
    seats: dict[str, int]


@dataclass(frozen=True, slots=True)
class TableLost:
    """The table cannot be joined (any more)."""

    session: str
    error: DustupError


@dataclass(frozen=True, slots=True)
class HangUp:
    """Close the connection now, with this close code; a new one may be opened after `reconnect_in`."""

    code: int
    text: str


@dataclass(frozen=True, slots=True)
class Fatal:
    """The client is finished: reconnecting would not help."""

    error: Closed


Event = Welcomed | Answered | Failed | Changed | Prompted | Present | TableLost | HangUp | Fatal
