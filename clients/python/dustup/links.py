"""Addresses and join links: what a person was sent, taken apart."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlsplit, urlunsplit

from .errors import BadLink

PATH = "/v1/ws"

_SCHEMES = {"http": "http", "https": "https", "ws": "http", "wss": "https"}
_INVITE = re.compile(r"[A-Za-z0-9_:-]{1,64}\.[A-Za-z0-9_-]{1,128}")
_TOKEN = re.compile(r"[A-Za-z0-9_.=-]{1,4096}")
_SESSION = re.compile(r"[A-Za-z0-9_.:-]{1,64}")


@dataclass(frozen=True, slots=True)
class Link:
    """Where to go and with what. `url` is the http(s) base of the server; at most one of `code` and `token` is set.

    `code` is a whole invite `<session>.<code>`, to be given to `dustup.http.redeem`; `session` is the table it leads to, when told.
    """

    url: str
    session: str | None = None
    code: str | None = None
    token: str | None = None


def parse_link(link: str) -> Link:
    """A join link or a server's address, taken apart.

    `https://host/#<session>.<code>` is an invite; `https://host/#token=<token>` (and `&session=<session>`) carries a token; without
    a fragment it is a bare address. ws:// and wss:// are taken too. Raises BadLink, which says what is wrong.
    """
    text = link.strip()
    if not text:
        raise BadLink("the link is empty")
    try:
        parts = urlsplit(text)
        parts.port  # noqa: B018  # reading it is how urllib checks it
    except ValueError as error:
        raise BadLink(f"not a link: {error}") from None
    if parts.scheme.lower() not in _SCHEMES:
        raise BadLink("a join link starts with http:// or https:// (or ws://, wss://)")
    if not parts.hostname:
        raise BadLink("the link names no server")
    if parts.username is not None or parts.password is not None:
        raise BadLink("a join link has no user name or password before the server's name")
    path = parts.path.rstrip("/").removesuffix(PATH).rstrip("/")
    url = urlunsplit((_SCHEMES[parts.scheme.lower()], parts.netloc, path, "", ""))
    fragment = parts.fragment
    if not fragment:
        return Link(url)
    if "=" in fragment and not _INVITE.fullmatch(fragment):
        return _with_token(url, fragment)
    if not _INVITE.fullmatch(fragment):
        raise BadLink("the part after # is no invite: it looks like <table>.<code>; was the link cut off?")
    return Link(url, session=fragment.split(".", 1)[0], code=fragment)


def _with_token(url: str, fragment: str) -> Link:
    try:
        fields = dict(parse_qsl(fragment, keep_blank_values=True, strict_parsing=True))
    except ValueError:
        raise BadLink("the part after # cannot be read; was the link cut off?") from None
    token, session = fields.pop("token", ""), fields.pop("session", None)
    if fields:
        raise BadLink(f"the part after # holds something unknown: {', '.join(sorted(fields))}")
    if not _TOKEN.fullmatch(token):
        raise BadLink("the part after # holds no token; was the link cut off?")
    if session is not None and not _SESSION.fullmatch(session):
        raise BadLink("the part after # names a table by an id that none can have")
    return Link(url, session=session, token=token)


def http_url(url: str) -> str:
    """The http(s) base address of a server, without a trailing slash. Raises BadLink."""
    return parse_link(url.split("#", 1)[0]).url


def socket_url(url: str) -> str:
    """The WebSocket address of a server given by any of its addresses. A query (`?near=<session>`) stays. Raises BadLink."""
    parts = urlsplit(http_url(url))
    query = urlsplit(url.strip()).query
    return urlunsplit(("wss" if parts.scheme == "https" else "ws", parts.netloc, parts.path + PATH, query, ""))
