"""At which tables a person has seats: an index over the sessions, so that a person's token can list them.

Derived and forgiving. The truth is each session's seats; a line too many is dropped when somebody finds it wrong, a missing one comes back
when the person joins. Two nodes that write one person's list at the same moment may lose a line, as with the list of open invites.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final

import msgspec

from engine import Session
from server.store import Store

MOST: Final = 200
"""Tables listed per person; the longest known ones are left out beyond that."""

Seats = list[tuple[str, str]]
"""(seat, role) of one person at one session."""

_decoder = msgspec.msgpack.Decoder(dict[str, list[tuple[str, str]]])
_encode = msgspec.msgpack.Encoder().encode


def seats_of(session: Session, person: str) -> Seats:
    """The seats (id, role) that a person holds at a session."""
    return [(seat.id, seat.role) for seat in session.seats.values() if person and seat.person == person]


class People:
    """The index of one node's store. Every method may raise StoreUnavailable."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._writing = asyncio.Lock()

    async def tables(self, person: str) -> Mapping[str, Seats]:
        """Session -> seats of a person, as far as known, in the order they came to be known."""
        data = await self._store.get(_key(person))
        try:
            return {} if data is None else _decoder.decode(data)
        except msgspec.MsgspecError:
            return {}

    async def note(self, person: str, session: str, seats: Seats) -> None:
        """What a person now holds at a session; an empty list takes the line out."""
        async with self._writing:
            known = dict(await self.tables(person))
            if known.get(session, []) == seats:
                return
            known.pop(session, None)
            if seats:
                known[session] = seats
            while len(known) > MOST:
                del known[next(iter(known))]
            if known:
                await self._store.put(_key(person), _encode(known))
            else:
                await self._store.drop(_key(person))

    async def follow(self, before: Session | None, after: Session) -> None:
        """Note everything that one entry changed about who sits where."""
        was = {} if before is None else before.seats
        persons = {
            seat.person: None
            for one, other in ((was, after.seats), (after.seats, was))
            for seat in one.values()
            if seat.person and (seat.id not in other or (other[seat.id].person, other[seat.id].role) != (seat.person, seat.role))
        }
        for person in persons:
            await self.note(person, after.header.session, seats_of(after, person))


def _key(person: str) -> str:
    return f"person:{person}"
