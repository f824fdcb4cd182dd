"""From a join link to a seat's token: what both ways of playing in a terminal do first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import dustup

from .words import clean


class NoInvite(dustup.BadLink):
    """The link leads to a server but opens no seat, and no token was given."""


@dataclass(frozen=True, slots=True)
class Door:
    """Where to connect and with what. `session` is None when the link does not say which table it leads to."""

    url: str
    token: str
    session: str | None = None


async def find(link: str, *, token: str | None, session: str | None, say: Callable[[str], object]) -> Door:
    """Take a link apart and redeem its invite. `say` shows the token that an invite turned into: it is shown once.

    Raises NoInvite, BadLink, Refused (the invite was used or is wrong), Unavailable.
    """
    where = dustup.parse_link(link)
    token = token or where.token
    session = session or where.session
    if token is None and where.code is not None:
        seat = await dustup.http.redeem(where.url, where.code)
        token, session = str(seat["token"]), seat.get("session", session)
        say("The invite is yours. To come back later, use this token:")
        say(f"  {clean(token)}")
    if token is None:
        raise NoInvite("This address has no invite in it: give a join link, or a token with --token.")
    return Door(where.url, token, session)
