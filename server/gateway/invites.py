"""Invites: a code that seats whoever redeems it first.

An invite travels as `<session>.<code>` and is stored under its SHA-256 only, so a reader of the store cannot use what it finds. One
atomic `take` decides who redeems it. See docs/decisions/tokens.md.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
from typing import Final, Literal
from weakref import WeakValueDictionary

import msgspec

from server import ids
from server.clock import Clock
from server.gateway import SmallValues

Code = Literal["unauthorized", "bad_command", "limit"]
Role = Literal["gm", "player", "spectator"]

MAX_OPEN: Final = 100
MAX_TTL_MS: Final = 90 * 24 * 3_600_000


class InviteError(Exception):
    """An invite that was not made or not redeemed. `code` is one of the protocol's codes, `text` a sentence for a person.

    `unauthorized` means used, expired, withdrawn or never made. The caller cannot tell which, on purpose: whoever guesses codes
    must not learn that one of them was real. The host can tell from the list of open invites.
    """

    def __init__(self, code: Code, text: str) -> None:
        super().__init__(text)
        self.code: Final = code
        self.text: Final = text


class Invite(msgspec.Struct, frozen=True):
    """What a redeemed code is good for: the seat `seat`, or a new seat of role `role` (one of the two is "").

    `id` names the invite in lists and cannot be redeemed; `by` is the seat or person who made it; times are ms UTC.
    """

    id: str
    session: str
    seat: str
    role: Role | Literal[""]
    by: str
    created_ms: int
    expires_ms: int
    round: str = ""


_ROLES: Final = ("gm", "player", "spectator")
_decode_invite: Final = msgspec.msgpack.Decoder(Invite).decode
_decode_list: Final = msgspec.msgpack.Decoder(tuple[Invite, ...]).decode
_encode: Final = msgspec.msgpack.Encoder().encode


def _unauthorized() -> InviteError:
    return InviteError("unauthorized", "This invite cannot be used: it was used already, has expired, was withdrawn, or is mistyped.")


def _id_of(session: str, plain_code: str) -> str:
    return hashlib.sha256(f"{session}.{plain_code}".encode("ascii")).hexdigest()


def _key(invite_id: str) -> str:
    return f"invite:{invite_id}"


def _list_key(session: str) -> str:
    return f"invites:{session}"


def _round_key(session: str) -> str:
    return f"invite-round:{session}"


class Invites:
    """Makes, redeems and withdraws invites. All methods may raise StoreUnavailable."""

    def __init__(self, clock: Clock, store: SmallValues) -> None:
        self._clock = clock
        self._store = store
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def create(self, session: str, *, seat: str = "", role: Role | Literal[""] = "", ttl_ms: int, by: str) -> str:
        """A fresh invite `<session>.<code>` for an existing seat or for a new seat of a role; exactly one of the two must be given.

        The code is in the answer and nowhere else. Raises InviteError: `bad_command` for arguments that make no sense, `limit` when
        the session has MAX_OPEN open invites (listed ones, see `open`).
        """
        self._check(session, seat, role, ttl_ms, by)
        code = ids.invite_code()
        now = self._clock.now_ms()
        invite_id = _id_of(session, code.replace("-", ""))
        async with self._lock(session):
            listed = await self._open(session)
            if len(listed) >= MAX_OPEN:
                raise InviteError("limit", f"This table has {MAX_OPEN} open invites. Withdraw some first.")
            invite = Invite(invite_id, session, seat, role, by, now, now + ttl_ms, await self._round(session))
            await self._write_list(session, (*listed, invite))
            await self._store.put(_key(invite_id), _encode(invite), ttl_ms=ttl_ms)
        return f"{session}.{code}"

    async def redeem(self, typed: str) -> Invite:
        """What the invite is good for; of many callers, on any nodes, exactly one gets it. Raises InviteError `unauthorized`.

        The code is spent from here on. If what follows fails, `give_back` makes it good again.
        """
        session, dot, code = typed.strip().rpartition(".")
        plain = ids.canonical_code(code)
        if not dot or plain is None or not ids.is_id(session):
            raise _unauthorized()
        # Asked before the take: were it to fail afterwards, the code would be spent for nothing.
        round_ = await self._round(session)
        raw = await self._store.take(_key(_id_of(session, plain)))
        if raw is None:
            raise _unauthorized()
        invite = _decode_invite(raw)
        if invite.expires_ms <= self._clock.now_ms() or invite.round != round_:
            raise _unauthorized()
        return invite

    async def give_back(self, invite: Invite) -> None:
        """Make a redeemed invite good again, for what is left of its time: for when seating failed through no fault of the guest."""
        left_ms = invite.expires_ms - self._clock.now_ms()
        if left_ms > 0:
            await self._store.put(_key(invite.id), _encode(invite), ttl_ms=left_ms)

    async def revoke(self, session: str, invite_id: str) -> bool:
        """Withdraw one invite by the `id` that `open` shows; True if it was still open. An id of another session is not touched."""
        raw = await self._store.get(_key(invite_id))
        if raw is None or _decode_invite(raw).session != session:
            return False
        return await self._store.drop(_key(invite_id))

    async def revoke_all(self, session: str) -> None:
        """Withdraw every invite of a session made until now, listed or not."""
        ids.check_id(session, "session")
        async with self._lock(session):
            await self._store.put(_round_key(session), os.urandom(8).hex().encode("ascii"))
            await self._store.drop(_list_key(session))

    async def open(self, session: str) -> list[Invite]:
        """The open invites of a session, oldest first, at most MAX_OPEN.

        The list is a convenience: when two nodes make an invite of one session in the same moment, one of them may be missing. Such
        an invite can still be redeemed, expires as it should, and `revoke_all` ends it.
        """
        return list(await self._open(session))

    async def _open(self, session: str) -> tuple[Invite, ...]:
        raw = await self._store.get(_list_key(session))
        if raw is None:
            return ()
        now = self._clock.now_ms()
        unexpired = [invite for invite in _decode_list(raw) if invite.expires_ms > now]
        found = await asyncio.gather(*(self._store.get(_key(invite.id)) for invite in unexpired))
        return tuple(invite for invite, value in zip(unexpired, found, strict=True) if value is not None)

    async def _write_list(self, session: str, invites: tuple[Invite, ...]) -> None:
        longest_ms = max(invite.expires_ms for invite in invites) - self._clock.now_ms()
        await self._store.put(_list_key(session), _encode(invites), ttl_ms=longest_ms)

    async def _round(self, session: str) -> str:
        return (await self._store.get(_round_key(session)) or b"").decode("ascii")

    def _lock(self, session: str) -> asyncio.Lock:
        lock = self._locks.get(session)
        if lock is None:
            lock = self._locks[session] = asyncio.Lock()
        return lock

    @staticmethod
    def _check(session: str, seat: str, role: str, ttl_ms: int, by: str) -> None:
        if (seat == "") == (role == ""):
            raise InviteError("bad_command", "An invite is for a seat or for a role: give one of the two.")
        if role and role not in _ROLES:
            raise InviteError("bad_command", f"There is no such role; use one of {', '.join(_ROLES)}.")
        if not 0 < ttl_ms <= MAX_TTL_MS:
            raise InviteError("bad_command", f"An invite can live from 1 ms to {MAX_TTL_MS} ms (90 days), not {ttl_ms} ms.")
        try:
            ids.check_id(session, "session")
            ids.check_id(by, "by")
            if seat:
                ids.check_id(seat, "seat")
        except ValueError as error:
            raise InviteError("bad_command", f"{error}.") from None
