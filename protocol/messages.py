"""The messages of the wire, typed. SPEC.md says what each means; this module says what each looks like.

A message is one map whose tag `t` names its kind. Messages from clients are strict: bounded fields, unknown fields
refused. Messages to clients are for encoding: fields equal to their default are left out, and the parts marked Body
take plain builtins or a msgspec.Raw that the same codec encoded before, so one encoding can be shared by many readers.
"""

from __future__ import annotations

from typing import Annotated, Any, Final

from msgspec import Meta, Raw, Struct

from protocol.versions import MAX_HISTORY, MAX_INT

# `$` also matches before a final newline in Python (not in JavaScript), hence the look-ahead.
ID_PATTERN: Final = r"^[A-Za-z0-9_.:-]{1,64}$(?!\n)"
ACTION_PATTERN: Final = r"^[A-Za-z0-9_:-]{1,48}\.[1-9][0-9]{0,14}$(?!\n)"
HEX16_PATTERN: Final = r"^[0-9a-f]{16}$(?!\n)"

Id = Annotated[str, Meta(pattern=ID_PATTERN, description="An id: 1 to 64 characters of A-Z a-z 0-9 _ . : -")]
ActionId = Annotated[
    str,
    Meta(
        pattern=ACTION_PATTERN,
        description="An action id <client>.<n>: a name the client keeps, a dot, and a number from 1 that only rises",
    ),
]
RequestId = Annotated[str, Meta(min_length=1, max_length=64, description="Chosen by the client, repeated in the answer")]
Mark = Annotated[str, Meta(pattern=HEX16_PATTERN, description="16 lower-case hex digits")]
Version = Annotated[int, Meta(ge=1, le=MAX_INT, description="A version of the session, counted from 1")]
Count = Annotated[int, Meta(ge=0, le=MAX_INT)]
Millis = Annotated[int, Meta(ge=0, le=MAX_INT, description="Milliseconds, UTC since 1970 where it is a point in time")]
ProtocolNumber = Annotated[int, Meta(ge=1, le=9999, description="A protocol version")]
Token = Annotated[str, Meta(min_length=1, max_length=4096)]
ShortText = Annotated[str, Meta(max_length=64)]


def split_action_id(action: str) -> tuple[str, int]:
    """The two halves of a valid action id: `"web.17"` gives `("web", 17)`."""
    client, _, n = action.rpartition(".")
    return client, int(n)


# --- Client to server -------------------------------------------------------------------------------------------------


class ClientInfo(Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """What program is speaking; shown to hosts, never used to decide anything."""

    name: ShortText
    version: ShortText = ""


class Resume(Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """The last entry a client has applied."""

    epoch: Mark
    v: Version
    stamp: Mark


class _FromClient(Struct, frozen=True, gc=False, forbid_unknown_fields=True, omit_defaults=True, tag_field="t"):
    pass


class Hello(_FromClient, frozen=True, tag="hello"):
    """The first message: who is there, and which protocol versions it speaks."""

    token: Token
    min: ProtocolNumber
    max: ProtocolNumber
    client: ClientInfo | None = None


class Join(_FromClient, frozen=True, tag="join"):
    """Sit down at a session. `token` when it is another than hello's; `history` asks for that many latest entries."""

    session: Id
    token: Token | None = None
    resume: Resume | None = None
    history: Annotated[int, Meta(ge=0, le=MAX_HISTORY)] = 0
    id: RequestId | None = None


class Leave(_FromClient, frozen=True, tag="leave"):
    """Get no more of a session on this connection. Answered only when it has an id."""

    session: Id
    id: RequestId | None = None


class Do(_FromClient, frozen=True, tag="do"):
    """Ask for a command: a map with a string `type`. `at` is the version the person was looking at."""

    id: ActionId
    session: Id
    # Decoded, this is msgpack whatever the subprotocol, with every limit of the wire checked; only the ruleset reads it.
    command: Raw
    at: Count | None = None


class Options(_FromClient, frozen=True, tag="options"):
    """Ask what is legal for this seat now."""

    id: RequestId
    session: Id


class Odds(_FromClient, frozen=True, tag="odds"):
    """Ask how likely the outcomes of a command are."""

    id: RequestId
    session: Id
    command: Raw


class History(_FromClient, frozen=True, tag="history"):
    """Ask for up to `limit` entries before version `before` (the newest ones when it is absent)."""

    id: RequestId
    session: Id
    before: Version | None = None
    limit: Annotated[int, Meta(ge=1, le=MAX_HISTORY)] = 50


class Salt(_FromClient, frozen=True, tag="salt"):
    """Add to the randomness of the open dice epoch."""

    id: ActionId
    session: Id
    salt: Annotated[str, Meta(min_length=1, max_length=64)]


class Ping(_FromClient, frozen=True, tag="ping"):
    """Ask for a pong."""

    id: RequestId | None = None


ClientMessage = Hello | Join | Leave | Do | Options | Odds | History | Salt | Ping
CLIENT_TYPES: Final = (Hello, Join, Leave, Do, Options, Odds, History, Salt, Ping)


# --- Server to client -------------------------------------------------------------------------------------------------


def _body(ref: str, description: str, *, array: bool = False) -> Meta:
    shape: dict[str, Any] = {"$ref": f"#/$defs/{ref}"}
    return Meta(extra_json_schema={"description": description} | ({"type": "array", "items": shape} if array else shape))


View = Annotated[Any, _body("ViewBody", "Entities by kind and id")]
PromptBody = Annotated[Any, _body("Question", "The question and its legal answers")]
OptionsBody = Annotated[Any, _body("Option", "What is legal now", array=True)]
OddsBody = Annotated[Any, _body("Chances", "Exact chances")]
Events = Annotated[Any, _body("Event", "What happened, in order", array=True)]
Entries = Annotated[Any, _body("PastEntry", "Past entries, oldest first", array=True)]
Part = Annotated[int, Meta(ge=1, description="Which part of the view this is, from 1; absent when there is only one")]
Parts = Annotated[int, Meta(ge=2, description="How many parts there are; absent when there is only one")]


class ServerInfo(Struct, frozen=True):
    """What program answers."""

    name: str
    version: str


class Limits(Struct, frozen=True):
    """What the server allows: bytes per frame in and out, commands per second and seat, history page, sessions per connection."""

    frame_in: int
    frame_out: int
    rate: int
    history: int
    sessions: int


class SeatRef(Struct, frozen=True):
    """A seat the person holds."""

    session: str
    seat: str
    role: str


class _FromServer(Struct, frozen=True, omit_defaults=True, tag_field="t"):
    pass


class Welcome(_FromServer, frozen=True, tag="welcome"):
    """The answer to hello: the chosen protocol version, and the seats the token opens."""

    version: ProtocolNumber
    server: ServerInfo
    person: str
    now: Millis
    limits: Limits
    sessions: list[SeatRef]


class Joined(_FromServer, frozen=True, tag="joined"):
    """The answer to join. When `resumed`, the missed frames follow and there is no view."""

    session: str
    seat: str
    role: str
    epoch: Mark
    v: Version
    stamp: Mark
    ruleset: str
    variant: str
    resumed: bool
    view: View = None
    history: Entries = None
    part: Part | None = None
    parts: Parts | None = None
    id: RequestId | None = None


class Frame(_FromServer, frozen=True, tag="frame"):
    """One committed entry as this seat may know it; empty but for its version when it may know nothing of it."""

    session: str
    v: Version
    stamp: Mark
    at: Millis | None = None
    by: str | None = None
    events: Events = None
    views: View = None
    gone: dict[str, list[str]] | None = None
    view: View = None
    part: Part | None = None
    parts: Parts | None = None


class Prompt(_FromServer, frozen=True, tag="prompt"):
    """A question to this seat, sent after the frame that opened it."""

    session: str
    v: Version
    prompt: PromptBody


class Ack(_FromServer, frozen=True, tag="ack"):
    """A command was done (or `again`: had been done before) as entry `v`."""

    id: RequestId
    session: str | None = None
    v: Version | None = None
    durability: str | None = None
    again: bool = False


class Error(_FromServer, frozen=True, tag="error"):
    """A request was refused, and nothing changed by it (but see `unavailable`)."""

    code: str
    text: str
    id: RequestId | None = None
    session: str | None = None
    v: Version | None = None
    data: dict[str, Any] | None = None
    retry_after: Millis | None = None


class OptionsReply(_FromServer, frozen=True, tag="options"):
    """What is legal for the seat at version `v`."""

    id: RequestId
    session: str
    v: Version
    options: OptionsBody


class OddsReply(_FromServer, frozen=True, tag="odds"):
    """Exact chances of a command at version `v`."""

    id: RequestId
    session: str
    v: Version
    odds: OddsBody


class HistoryReply(_FromServer, frozen=True, tag="history"):
    """A page of past entries; `more` when older ones exist."""

    id: RequestId
    session: str
    frames: Entries
    more: bool


class Presence(_FromServer, frozen=True, tag="presence"):
    """How many connections each seat has; seats with none are left out."""

    session: str
    seats: dict[str, int]


class Reset(_FromServer, frozen=True, tag="reset"):
    """The lineage of the log changed: forget this session's state and take this view."""

    session: str
    epoch: Mark
    v: Version
    stamp: Mark
    reason: str
    view: View
    part: Part | None = None
    parts: Parts | None = None


class Pong(_FromServer, frozen=True, tag="pong"):
    """The answer to ping, with the server's clock."""

    now: Millis
    id: RequestId | None = None


class Bye(_FromServer, frozen=True, tag="bye"):
    """The server is about to close this connection."""

    code: str
    text: str
    retry_after: Millis | None = None


ServerMessage = Welcome | Joined | Frame | Prompt | Ack | Error | OptionsReply | OddsReply | HistoryReply | Presence | Reset | Pong | Bye
SERVER_TYPES: Final = (
    Welcome,
    Joined,
    Frame,
    Prompt,
    Ack,
    Error,
    OptionsReply,
    OddsReply,
    HistoryReply,
    Presence,
    Reset,
    Pong,
    Bye,
)
