"""What the clients of a run saw, in one order: the evidence that the checker weighs against the logs.

All clients live in one process and one event loop, so the order of this list is real time: what was noted earlier happened earlier.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import msgspec


class Note(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Base of all notes. `at`: seconds, monotonic. `client`: first half of its action ids. `link`: which of its connections."""

    at: float
    session: str
    client: str
    seat: str
    link: int


class Sent(Note, frozen=True, kw_only=True):
    """An action left the client: for the first time, or again with the same id."""

    id: str
    kind: str


class Acked(Note, frozen=True, kw_only=True):
    """The server said it is done. An `id` that ends with "." names the client alone: its library does not tell more, and tells it late,
    once its view has caught up; `since` is when it was asked.
    """

    id: str
    v: int
    durability: str = ""
    again: bool = False
    since: float | None = None


class Refused(Note, frozen=True, kw_only=True):
    """The server said no, with a code that means it was not done."""

    id: str
    code: str


class Unsure(Note, frozen=True, kw_only=True):
    """No answer, or one that leaves the outcome open; `final` when the client gave the action up."""

    id: str
    code: str
    final: bool = False


class Saw(Note, frozen=True, kw_only=True):
    """The client stands at (epoch, v, stamp) now: by a `frame`, or by a whole view (`joined`, `resumed`, `reset`)."""

    how: str
    epoch: str
    v: int
    stamp: str


class Broken(Note, frozen=True, kw_only=True):
    """The server broke its protocol towards this client."""

    what: str


Event = Sent | Acked | Refused | Unsure | Saw | Broken


class Loss(msgspec.Struct, frozen=True, kw_only=True):
    """A time in which acknowledged writes could be lost with the primary: from the cut of the replication to the last server's move.

    `session`: the one it concerns, "" for all.
    """

    start: float
    end: float
    session: str = ""


class View(msgspec.Struct, frozen=True, kw_only=True):
    """What a client has on its screen at the end, kept by frames."""

    client: str
    session: str
    seat: str
    epoch: str
    v: int
    stamp: str
    view: dict[str, dict[str, Any]]


class Log(msgspec.Struct, frozen=True, kw_only=True):
    """A session as the store holds it at the end: (v, stamp, bytes) from the stream, the epoch from the meta."""

    epoch: str
    rows: list[tuple[int, str, bytes]]


class Evidence(msgspec.Struct, kw_only=True):
    """Everything a run leaves. `gone`: when the keys of a session were deleted for good. `audits`: what `dustup verify` found wrong."""

    events: list[Event] = []
    logs: dict[str, Log] = {}
    losses: list[Loss] = []
    gone: dict[str, float] = {}
    views: list[View] = []
    audits: dict[str, str] = {}


class History:
    """Where clients note things. `on_ack` is called for every first acknowledgement."""

    def __init__(self) -> None:
        self.evidence = Evidence()
        self.on_ack: list[Callable[[Acked], None]] = []

    def note(self, event: Event) -> None:
        self.evidence.events.append(event)
        if isinstance(event, Acked) and not event.again:
            for callback in self.on_ack:
                callback(event)


def now() -> float:
    """The clock of all notes."""
    return time.monotonic()
