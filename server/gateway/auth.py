"""Tokens: who a connection speaks for. Made here, read here, revoked here.

A token is a JWT signed with HS256 and nothing else. Its text never appears in an error, a repr or a log line. What is checked from
the token alone (signature, issuer, expiry) needs no store; revocation does, and its answers are remembered for a few seconds at most.
See docs/decisions/tokens.md.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, Literal

import jwt
import msgspec

from server import ids
from server.clock import Clock
from server.gateway import SmallValues
from server.logs import get_logger

if TYPE_CHECKING:
    from engine import Session

Code = Literal["unauthorized", "expired", "revoked"]
Scope = Literal["seat", "person", "admin"]

ISSUER: Final = "dustup"
ALGORITHM: Final = "HS256"
MAX_TOKEN: Final = 2048
MIN_SECRET: Final = 32
MAX_TTL_MS: Final = 400 * 24 * 3_600_000
CACHE_MS: Final = 5_000
CACHE_SIZE: Final = 10_000
FULL_SWEEP_MS: Final = 300_000
SWEEP_BATCH: Final = 100
MARK_KEY: Final = "revoked-mark"

log = get_logger(__name__)


class AuthError(Exception):
    """A token that does not let its bearer in. `code` is one of the protocol's codes, `text` a sentence for a person.

    The text never says which check failed beyond the code: a forger learns nothing from it.
    """

    def __init__(self, code: Code, text: str) -> None:
        super().__init__(text)
        self.code: Final = code
        self.text: Final = text


class Claims(msgspec.Struct, frozen=True):
    """What a checked token says. `session` and `seat` are "" unless the scope is seat.

    `gen` is the seat's generation when the token was made. `since` is the version since which the seat had its holder then, None
    when the token does not say.
    """

    person: str
    scope: Scope
    session: str
    seat: str
    jti: str
    expires_ms: int
    gen: int = 0
    since: int | None = None

    def opens(self, session: Session, seat_id: str) -> bool:
        """Whether this token lets its bearer sit there at this state of the table.

        It does while they hold the seat. A seat that nobody holds is open to the tokens made for it by name, unless they were made for an
        earlier seat of that name. Which seat is whose stands in the log, so every node judges alike, and at once.
        """
        seat = session.seats.get(seat_id)
        if seat is None or (self.scope == "seat" and (self.session, self.seat) != (session.header.session, seat_id)):
            return False
        if seat.person:
            return self.scope != "admin" and seat.person == self.person
        return self.scope == "seat" and self.since in (None, seat.since)

    def seats(self, session: Session) -> list[str]:
        """The seats of a session that this token opens, in the table's order."""
        return [seat_id for seat_id in session.seats if self.opens(session, seat_id)]


class Held:
    """A live connection's token: its claims, and how to close what rests on it. Made by `Tokens.hold`."""

    __slots__ = ("claims", "close")

    def __init__(self, claims: Claims, close: Callable[[AuthError], None]) -> None:
        self.claims = claims
        self.close = close


class _Header(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    alg: Literal["HS256"]
    kid: str
    typ: Literal["JWT"] = "JWT"


class _Body(msgspec.Struct, frozen=True):
    iss: Literal["dustup"]
    sub: str
    jti: str
    iat: int
    exp: int
    scope: Scope = "seat"
    ses: str = ""
    seat: str = ""
    gen: int = 0
    since: int | None = None


def _unauthorized() -> AuthError:
    return AuthError("unauthorized", "This token is not valid here. Ask the host for a new one.")


def _expired() -> AuthError:
    return AuthError("expired", "This token has expired. Ask the host for a new one.")


def _revoked() -> AuthError:
    return AuthError("revoked", "This token was withdrawn by the host.")


def _key_id(secret: bytes) -> str:
    # A MAC under the secret itself: it names the key and is of no more use to a guesser than a token is.
    return hmac.new(secret, b"dustup key id", hashlib.sha256).hexdigest()[:16]


def _jti_key(jti: str) -> str:
    return f"revoked:{jti}"


def _gen_key(session: str, seat: str) -> str:
    # "/" is in neither id, so two seats can never share a key.
    return f"gen:{session}/{seat}"


class Tokens:
    """Makes, checks and revokes tokens.

    `secrets`: at least one, each at least 32 bytes. The first signs; all of them are accepted, so a new one is put in front and the
    old one removed once its tokens have expired. `store` keeps revocations and seat generations. Raises ValueError for a secret
    that cannot be used.
    """

    def __init__(self, secrets: Sequence[bytes], clock: Clock, store: SmallValues) -> None:
        if not secrets:
            raise ValueError("a signing secret is needed")
        for secret in secrets:
            if len(secret) < MIN_SECRET:
                raise ValueError(f"a signing secret has {len(secret)} bytes; it needs at least {MIN_SECRET}")
            try:
                jwt.encode({}, secret, ALGORITHM)
            except jwt.InvalidKeyError:
                raise ValueError("a signing secret looks like a public key or certificate; use random bytes") from None
        self._signing = secrets[0]
        self._signing_id = _key_id(secrets[0])
        self._keys = {_key_id(secret): secret for secret in secrets}
        self._clock = clock
        self._store = store
        self._cache: dict[str, tuple[int, bytes | None]] = {}
        # Rises whenever remembered answers stop being true, so that a read begun before knows it may have come back stale.
        self._turn = 0
        self._held: dict[Held, None] = {}
        self._mark: bytes | None = None
        self._full_at_ms = clock.monotonic_ms()

    # -- making

    async def seat_token(self, session: str, seat: str, person: str, ttl_ms: int, since: int | None = None) -> str:
        """A token that speaks for one seat of one session, for as long as `person` holds it. Raises ValueError for a bad id or ttl.

        `since`: the seat's own, so that a token for a seat nobody holds opens no later seat of the same name.
        Asks the store for the seat's generation, so StoreUnavailable is possible too.
        """
        ids.check_id(session, "session")
        ids.check_id(seat, "seat")
        gen = _generation(await self._ask(_gen_key(session, seat)))
        claims: dict[str, str | int] = {"ses": session, "seat": seat, "gen": gen}
        if since is not None:
            claims["since"] = since
        return self._sign(person, ttl_ms, claims)

    def person_token(self, person: str, ttl_ms: int) -> str:
        """A token that speaks for a person at whichever tables they hold a seat. Raises ValueError for a bad id or ttl."""
        return self._sign(person, ttl_ms, {"scope": "person"})

    def admin_token(self, person: str, ttl_ms: int) -> str:
        """A token that may create and import sessions. Raises ValueError for a bad id or ttl."""
        return self._sign(person, ttl_ms, {"scope": "admin"})

    def _sign(self, person: str, ttl_ms: int, more: dict[str, str | int]) -> str:
        ids.check_id(person, "person")
        if not 0 < ttl_ms <= MAX_TTL_MS:
            raise ValueError(f"a token cannot live {ttl_ms} ms: from 1 ms to {MAX_TTL_MS} ms (400 days) is allowed")
        now = self._clock.now_ms()
        body = {"iss": ISSUER, "sub": person, "jti": ids.token_id(), "iat": now // 1000, "exp": -((now + ttl_ms) // -1000)}
        return jwt.encode(body | more, self._signing, ALGORITHM, headers={"kid": self._signing_id})

    # -- checking

    async def check(self, token: str) -> Claims:
        """What `token` says, if it is ours, unexpired and not revoked.

        Raises AuthError, and StoreUnavailable when revocation cannot be looked up: not knowing is not a yes. A revocation made by
        another node may be missed for CACHE_MS.
        """
        claims = self.read(token)
        await self._refuse_revoked(claims)
        return claims

    def read(self, token: str) -> Claims:
        """What `token` says, judged from the token and the clock alone: revocation is NOT looked at. Raises AuthError."""
        if len(token) > MAX_TOKEN or not token.isascii():
            raise _unauthorized()
        try:
            segment = token.partition(".")[0]
            header = msgspec.json.decode(base64.urlsafe_b64decode(segment + "=" * (-len(segment) % 4)), type=_Header)
            payload = jwt.decode(
                token,
                self._keys[header.kid],
                algorithms=[ALGORITHM],
                issuer=ISSUER,
                # Times are judged below, by the injected clock. `iat` is not judged at all: another node's clock may be ahead.
                options={"require": ["iss", "sub", "jti", "iat", "exp"], "verify_exp": False, "verify_iat": False, "verify_nbf": False},
            )
            body = msgspec.convert(payload, _Body)
        except (ValueError, KeyError, msgspec.MsgspecError, jwt.PyJWTError):
            raise _unauthorized() from None
        named = body.ses != "" and body.seat != ""
        if named != (body.scope == "seat"):
            raise _unauthorized()
        expires_ms = body.exp * 1000
        if expires_ms <= self._clock.now_ms():
            raise _expired()
        return Claims(body.sub, body.scope, body.ses, body.seat, body.jti, expires_ms, body.gen, body.since)

    async def _refuse_revoked(self, claims: Claims) -> None:
        while True:
            turn = self._turn
            if await self._recall(_jti_key(claims.jti)) is not None:
                raise _revoked()
            if claims.scope == "seat":
                key = _gen_key(claims.session, claims.seat)
                # A remembered generation may be older than the token; only a fresh one may condemn it.
                if _generation(await self._recall(key)) != claims.gen and _generation(await self._ask(key)) != claims.gen:
                    raise _revoked()
            if turn == self._turn:
                return

    async def _recall(self, key: str) -> bytes | None:
        known = self._cache.get(key)
        if known is not None and self._clock.monotonic_ms() - known[0] < CACHE_MS:
            return known[1]
        return await self._ask(key)

    async def _ask(self, key: str) -> bytes | None:
        turn, asked_ms = self._turn, self._clock.monotonic_ms()
        value = await self._store.get(key)
        if turn == self._turn:
            self._remember(key, asked_ms, value)
        return value

    def _remember(self, key: str, asked_ms: int, value: bytes | None) -> None:
        self._cache.pop(key, None)
        if len(self._cache) >= CACHE_SIZE:
            del self._cache[next(iter(self._cache))]
        self._cache[key] = (asked_ms, value)

    # -- revoking

    async def revoke(self, jti: str, until_ms: int) -> None:
        """End one token. `until_ms`: when it would have expired anyway (`Claims.expires_ms`); a moment past is a no-op.

        On return the revocation is stored and this node's connections resting on the token have been told to close. Raises
        StoreUnavailable: then it may or may not have happened; ask again.
        """
        left_ms = until_ms - self._clock.now_ms()
        if left_ms <= 0:
            return
        await self._store_revocation(_jti_key(ids.check_id(jti, "token id")), b"1", left_ms)
        self._close_held(lambda claims: claims.jti == jti, _revoked())

    async def revoke_seat(self, session: str, seat: str) -> None:
        """End every token of one seat made until now; later ones are good. Otherwise as `revoke`."""
        key = _gen_key(ids.check_id(session, "session"), ids.check_id(seat, "seat"))
        # Drawn, not counted: with a counter, two revocations at once would make one step, and a token made between them would live.
        gen = int.from_bytes(os.urandom(6), "big") + 1
        await self._store_revocation(key, b"%d" % gen, None)
        self._close_held(lambda claims: claims.session == session and claims.seat == seat and claims.gen != gen, _revoked())

    async def _store_revocation(self, key: str, value: bytes, ttl_ms: int | None) -> None:
        await self._store.put(key, value, ttl_ms=ttl_ms)
        self._turn += 1
        self._remember(key, self._clock.monotonic_ms(), value)
        # After the revocation, never before: whoever sees a new mark must find the revocation it stands for.
        await self._store.put(MARK_KEY, os.urandom(8))

    # -- live connections

    def hold(self, claims: Claims, close: Callable[[AuthError], None]) -> Held:
        """Watch over a live connection that rests on `claims`; `close` is called once, if they die before `release`.

        Call it straight after `check`, without awaiting anything in between.
        """
        held = Held(claims, close)
        self._held[held] = None
        return held

    def release(self, held: Held) -> None:
        """Stop watching; harmless when already closed or released."""
        self._held.pop(held, None)

    async def sweep(self) -> int:
        """Close held connections whose token has expired, or was revoked by another node. Returns how many. To be called every few seconds.

        Costs one read of the store, unless someone revoked something since the last sweep or FULL_SWEEP_MS have passed: then every
        held token is looked up. Raises StoreUnavailable; the next sweep makes up for it.
        """
        now = self._clock.now_ms()
        closed = self._close_held(lambda claims: claims.expires_ms <= now, _expired())
        mark = await self._store.get(MARK_KEY)
        started_ms = self._clock.monotonic_ms()
        if mark == self._mark and started_ms - self._full_at_ms < FULL_SWEEP_MS:
            return closed
        self._turn += 1
        self._cache.clear()
        # dict.fromkeys, not a set: several connections share a token, and the order stays that of arrival.
        claims = list(dict.fromkeys(held.claims for held in self._held))
        for start in range(0, len(claims), SWEEP_BATCH):
            batch = claims[start : start + SWEEP_BATCH]
            dead = [one for one, is_dead in zip(batch, await asyncio.gather(*map(self._is_revoked, batch)), strict=True) if is_dead]
            closed += self._close_held(dead.__contains__, _revoked())
        self._mark, self._full_at_ms = mark, started_ms
        return closed

    async def _is_revoked(self, claims: Claims) -> bool:
        try:
            await self._refuse_revoked(claims)
        except AuthError:
            return True
        return False

    def _close_held(self, dead: Callable[[Claims], bool], error: AuthError) -> int:
        doomed = [held for held in self._held if dead(held.claims)]
        for held in doomed:
            del self._held[held]
            try:
                held.close(error)
            except Exception:
                # One connection that cannot be closed must not keep the others alive.
                log.exception("closing a connection failed", person=held.claims.person, error=error.code)
        return len(doomed)


def _generation(value: bytes | None) -> int:
    return 0 if value is None else int(value)
