"""What one committed step leaves behind: the entry, its events and its changes, and their bytes in the log."""

from __future__ import annotations

from typing import Any

import msgspec

from engine.dice import RolledFact

SYSTEM = "@system"
"""Who acts when nobody does: deadlines, upgrades, creation."""


class Act(msgspec.Struct, frozen=True, kw_only=True):
    """A command with its circumstances: who (a seat id or SYSTEM), the typed command, the action id, and the stamp the entry will carry."""

    by: str
    command: Any
    id: str = ""
    stamp: str = ""


class Event(msgspec.Struct, frozen=True, omit_defaults=True):
    """A fact for people and clients.

    `type` is a stable message id, `text` an English sentence. `to` lists the seats that may read it (None: everyone); `public` is
    what everybody else reads instead, if anything. `body` is the id of a text kept outside the log.
    """

    type: str
    text: str
    data: dict[str, Any] = {}
    to: tuple[str, ...] | None = None
    public: Event | None = None
    body: str = ""


class Change(msgspec.Struct, frozen=True, array_like=True):
    """New values of some fields of one entity. `op`: "=" changed, "+" new (all fields), "-" gone (no fields)."""

    op: str
    kind: str
    id: str
    fields: dict[str, Any] = {}


class Drawn(msgspec.Struct, frozen=True, array_like=True):
    """A commitment ("commitment") or an opened seed ("reveal") that the step took from the dice: an audit needs them to re-execute it."""

    what: str
    stream: str
    index: int
    value: str


class Entry(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One committed step. `command` is the command in plain form; `past` the version an undo restored; `schema` the (kernel, ruleset)
    shape numbers of `changes`; `sight` is true when it changed what somebody may see; `quiet` when it is chat, a post or a preference."""

    v: int
    at: int
    by: str
    stamp: str = ""
    id: str = ""
    kind: str = "command"
    command: Any = None
    events: tuple[Event, ...] = ()
    changes: tuple[Change, ...] = ()
    rolls: tuple[RolledFact, ...] = ()
    idents: tuple[str, ...] = ()
    drawn: tuple[Drawn, ...] = ()
    past: int = 0
    schema: tuple[int, int] = (1, 1)
    version: str = ""
    sight: bool = False
    quiet: bool = False


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Entry)


def encode_entry(entry: Entry) -> bytes:
    """The entry's bytes in the log."""
    return _encoder.encode(entry)


def decode_entry(data: bytes) -> Entry:
    """The entry of these bytes, its open fields in plain form. Raises msgspec.DecodeError or msgspec.ValidationError."""
    return _decoder.decode(data)


def plain(value: Any) -> Any:
    """A value as it will be read back from the log: Structs as maps, tuples as lists."""
    return msgspec.msgpack.decode(_encoder.encode(value))
