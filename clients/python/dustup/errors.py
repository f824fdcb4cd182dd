"""Everything this package raises on purpose. All derive from `DustupError`; each text says what can be done about it."""

from __future__ import annotations

from typing import Any


class DustupError(Exception):
    """Base of all errors of this package."""


class Refused(DustupError):
    """The server answered with an error: nothing was done.

    `code` is one of the protocol's stable codes (`not_your_turn`, `no_target`, ...), `text` a sentence for people, `v` the table's
    version at that moment (None when no table was meant), `data` further fields, `retry_after` milliseconds to wait when told.
    """

    def __init__(
        self,
        code: str,
        text: str = "",
        v: int | None = None,
        data: dict[str, Any] | None = None,
        retry_after: int | None = None,
    ) -> None:
        super().__init__(f"{code}: {text}" if text else code)
        self.code = code
        self.text = text or code
        self.v = v
        self.data = data or {}
        self.retry_after = retry_after


class Unavailable(DustupError):
    """No answer within the client's patience. If an action had been sent its outcome is unknown: it may be in the log or not.

    `id` is the action's id (None for anything else), `text` says what was waited for.
    """

    def __init__(self, text: str, id: str | None = None) -> None:
        super().__init__(text)
        self.text = text
        self.id = id


class Closed(DustupError):
    """The client is closed, by `close()` or for good by the server: nothing more will arrive. `code` is the reason's code, if any."""

    def __init__(self, text: str, code: str = "closed") -> None:
        super().__init__(text)
        self.text = text
        self.code = code


class Unauthorized(Closed):
    """The server does not accept the token (`unauthorized`, `expired` or `revoked`): get a new one."""


class UnsupportedVersion(Closed):
    """Client and server share no protocol version; the text says which side is too old."""


class ProtocolError(Closed):
    """One side sent what the other cannot read. A bug in one of the two, or something that is not a Dustup server."""


class Lagged(DustupError):
    """The reader of `frames()` or `prompts()` fell too far behind. The table's view is right all the same; start reading anew."""


class BadMessage(DustupError, ValueError):
    """A value that cannot go over the wire (a float, a huge number, a key that is no string, too deep, too large)."""


class BadLink(DustupError, ValueError):
    """A join link that cannot be understood; the text says which part."""


def why(error: BaseException) -> str:
    """What kept a connection from being made, in a few words for a person."""
    cause = getattr(error, "os_error", error)  # aiohttp wraps the system's error in a longer sentence
    if isinstance(cause, ConnectionRefusedError):
        return "nothing answers there"
    if isinstance(cause, TimeoutError):
        return "no answer in time"
    return (isinstance(cause, OSError) and cause.strerror) or str(error) or type(error).__name__
