"""Client for Dustup tables: a live view, actions that happen exactly once, and a connection that mends itself.

    async with dustup.connect(url, token) as client:
        table = await client.join(session)
        await table.chat("hi")
"""

from . import http
from ._version import __version__
from .client import Client, Connecting, connect
from .errors import (
    BadLink,
    BadMessage,
    Closed,
    DustupError,
    Lagged,
    ProtocolError,
    Refused,
    Unauthorized,
    Unavailable,
    UnsupportedVersion,
)
from .links import Link, parse_link
from .pilot import Pilot
from .table import Ack, Options, Page, Table

__all__ = [
    "Ack",
    "BadLink",
    "BadMessage",
    "Client",
    "Closed",
    "Connecting",
    "DustupError",
    "Lagged",
    "Link",
    "Options",
    "Page",
    "Pilot",
    "ProtocolError",
    "Refused",
    "Table",
    "Unauthorized",
    "Unavailable",
    "UnsupportedVersion",
    "__version__",
    "connect",
    "http",
    "parse_link",
]
