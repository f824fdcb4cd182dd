"""Every code that can travel on the wire: its sentence for people, whether trying again helps, and how sockets close.

Codes are part of the API: they may be added, never renamed or given another meaning. This module knows no rules; the
codes of refusals by the rules are listed here so that clients need one table only.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from types import MappingProxyType
from typing import Final, Literal, NamedTuple


class Code:
    """The codes of `error.code` and `bye.code`, as constants."""

    # Refusals by the rules.
    BAD_COMMAND: Final = "bad_command"
    UNKNOWN_COMMAND: Final = "unknown_command"
    UNKNOWN_SEAT: Final = "unknown_seat"
    UNKNOWN_ID: Final = "unknown_id"
    NOT_YOURS: Final = "not_yours"
    FORBIDDEN: Final = "forbidden"
    NOT_YOUR_TURN: Final = "not_your_turn"
    NOT_NOW: Final = "not_now"
    BUSY: Final = "busy"
    PAUSED: Final = "paused"
    ALREADY_ANSWERED: Final = "already_answered"
    ILLEGAL_CHOICE: Final = "illegal_choice"
    CANNOT_PAY: Final = "cannot_pay"
    OUT_OF_RANGE: Final = "out_of_range"
    NO_TARGET: Final = "no_target"
    STALE: Final = "stale"
    LIMIT: Final = "limit"
    INTERNAL: Final = "internal"

    # Refusals by the server.
    BAD_FRAME: Final = "bad_frame"
    UNKNOWN_KIND: Final = "unknown_kind"
    TOO_LARGE: Final = "too_large"
    UNSUPPORTED_VERSION: Final = "unsupported_version"
    HELLO_TIMEOUT: Final = "hello_timeout"
    UNAUTHORIZED: Final = "unauthorized"
    EXPIRED: Final = "expired"
    REVOKED: Final = "revoked"
    NO_SESSION: Final = "no_session"
    NOT_JOINED: Final = "not_joined"
    TOO_OLD: Final = "too_old"
    RATE_LIMITED: Final = "rate_limited"
    UNAVAILABLE: Final = "unavailable"
    ARCHIVED: Final = "archived"
    RESYNC: Final = "resync"
    SHUTTING_DOWN: Final = "shutting_down"
    READ_ONLY: Final = "read_only"
    BYE: Final = "bye"


class CodeInfo(NamedTuple):
    """What a code means. `retry` is True when the same request, unchanged and with the same id, may succeed later."""

    text: str
    retry: bool
    origin: Literal["rules", "server"]


def _rules(text: str) -> CodeInfo:
    return CodeInfo(text, False, "rules")


def _server(text: str, *, retry: bool = False) -> CodeInfo:
    return CodeInfo(text, retry, "server")


CODES: Final[Mapping[str, CodeInfo]] = MappingProxyType(
    {
        Code.BAD_COMMAND: _rules("That command is not put together correctly."),
        Code.UNKNOWN_COMMAND: _rules("This ruleset has no such command."),
        Code.UNKNOWN_SEAT: _rules("There is no such seat at this table."),
        Code.UNKNOWN_ID: _rules("There is nothing by that id here."),
        Code.NOT_YOURS: _rules("That does not belong to your seat."),
        Code.FORBIDDEN: _rules("Your role may not do that."),
        Code.NOT_YOUR_TURN: _rules("It is not your turn."),
        Code.NOT_NOW: _rules("That cannot be done at this moment."),
        Code.BUSY: _rules("Something else has to be finished first."),
        Code.PAUSED: _rules("The table is paused."),
        Code.ALREADY_ANSWERED: _rules("That question has been answered already."),
        Code.ILLEGAL_CHOICE: _rules("That is not one of the choices."),
        Code.CANNOT_PAY: _rules("You cannot pay for that."),
        Code.OUT_OF_RANGE: _rules("That is out of range."),
        Code.NO_TARGET: _rules("There is no such target."),
        Code.STALE: _rules("The table has changed since you decided. Look again, then decide again."),
        Code.LIMIT: _rules("That would be more than the server allows."),
        Code.INTERNAL: _rules("The server failed on this command. Nothing changed, and the table can be played on."),
        Code.BAD_FRAME: _server("The server cannot read that message."),
        Code.UNKNOWN_KIND: _server("The server does not know messages of this kind. It may be older than your client."),
        Code.TOO_LARGE: _server("That message is too large."),
        Code.UNSUPPORTED_VERSION: _server("Client and server have no protocol version in common."),
        Code.HELLO_TIMEOUT: _server("The server waited too long for your first message.", retry=True),
        Code.UNAUTHORIZED: _server("That token does not give access here."),
        Code.EXPIRED: _server("Your token has expired. Ask for a new invitation."),
        Code.REVOKED: _server("Your access has been withdrawn. Ask the host of the table."),
        Code.NO_SESSION: _server("There is no such table."),
        Code.NOT_JOINED: _server("Join the table on this connection first."),
        Code.TOO_OLD: _server("A later action was done already. Look at the table before acting again."),
        Code.RATE_LIMITED: _server("Too many messages in a short time. Wait a moment.", retry=True),
        Code.UNAVAILABLE: _server("The server cannot tell whether this was done. Send it again with the same id.", retry=True),
        Code.ARCHIVED: _server("The table is being fetched from the archive. Try again in a moment.", retry=True),
        Code.RESYNC: _server("Your connection fell too far behind. Connect again to catch up.", retry=True),
        Code.SHUTTING_DOWN: _server("The server is going down. Connect again in a moment.", retry=True),
        Code.READ_ONLY: _server("This server cannot write to the table at the moment.", retry=True),
        Code.BYE: _server("The server has ended this connection."),
    }
)
"""Every code with what it means."""


class CloseCode(IntEnum):
    """WebSocket close codes. What a client should do at each is in SPEC.md, "Closing"."""

    BYE = 4000
    SHUTTING_DOWN = 4001
    BAD_FRAME = 4002
    UNAUTHORIZED = 4003
    UNSUPPORTED_VERSION = 4004
    RATE_LIMITED = 4008
    RESYNC = 4009
    TOO_LARGE = 4013
    HELLO_TIMEOUT = 4014


_CLOSE: Final[Mapping[str, CloseCode]] = MappingProxyType(
    {
        Code.SHUTTING_DOWN: CloseCode.SHUTTING_DOWN,
        Code.BAD_FRAME: CloseCode.BAD_FRAME,
        Code.UNKNOWN_KIND: CloseCode.BAD_FRAME,
        Code.UNAUTHORIZED: CloseCode.UNAUTHORIZED,
        Code.EXPIRED: CloseCode.UNAUTHORIZED,
        Code.REVOKED: CloseCode.UNAUTHORIZED,
        Code.UNSUPPORTED_VERSION: CloseCode.UNSUPPORTED_VERSION,
        Code.RATE_LIMITED: CloseCode.RATE_LIMITED,
        Code.RESYNC: CloseCode.RESYNC,
        Code.TOO_LARGE: CloseCode.TOO_LARGE,
        Code.HELLO_TIMEOUT: CloseCode.HELLO_TIMEOUT,
    }
)


def close_code(code: str) -> CloseCode:
    """The close code for a connection that ends because of `code`; codes without one of their own give 4000."""
    return _CLOSE.get(code, CloseCode.BYE)


def sentence(code: str) -> str:
    """The default sentence for `code`. Raises KeyError for a code that is not in the table."""
    return CODES[code].text
