"""Protocol versions, subprotocol names and limits: the numbers both sides must agree on."""

from __future__ import annotations

from typing import Final

PROTOCOL_VERSION: Final = 1
"""The version this code was written for."""
MIN_VERSION: Final = 1
MAX_VERSION: Final = PROTOCOL_VERSION
"""The range of versions this server can speak."""

SUBPROTOCOL_MSGPACK: Final = "dustup.v1.msgpack"
SUBPROTOCOL_JSON: Final = "dustup.v1.json"

MAX_INT: Final = 2**53 - 1
"""Largest absolute value of any int on the wire: what a JavaScript number holds exactly."""
MAX_FRAME_IN: Final = 64 * 1024
"""Bytes in one message from a client."""
MAX_FRAME_OUT: Final = 1024 * 1024
"""Bytes in one message to a client; larger views travel in parts."""
MAX_DEPTH: Final = 16
"""How deep maps and arrays may nest in a message from a client; the message itself is the first level."""
MAX_HISTORY: Final = 200
"""Entries in one page of history."""
MAX_SESSIONS: Final = 64
"""Sessions one connection may sit at."""
MAX_OUTSTANDING: Final = 256
"""Requests of one connection that wait for their answer."""


def negotiate(low: int, high: int) -> int | None:
    """The highest version both sides speak when the client speaks `low`..`high`, or None when there is none."""
    version = min(high, MAX_VERSION)
    return version if version >= max(low, MIN_VERSION) else None


def mismatch(low: int, high: int) -> tuple[str, dict[str, object]]:
    """The sentence and the data of `unsupported_version`: both ranges, and which side is too old."""
    too_old = "server" if low > MAX_VERSION else "client"
    text = f"This client speaks protocol versions {low} to {high}, this server {MIN_VERSION} to {MAX_VERSION}: the {too_old} is too old."
    return text, {"client": [low, high], "server": [MIN_VERSION, MAX_VERSION], "too_old": too_old}
