"""Client for Dustup tables: a live view, actions that happen exactly once, and a connection that mends itself.

Start with `connect`, then `Client.join` for a `Table`; README.md has an example of ten lines.
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
