"""How fast anyone may go: token buckets per seat, session and address, and connections per address.

Whole numbers only, constant time, memory bounded by the settings whatever strangers do. See [limits] in docs/configuration.md.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from typing import Final

from server.clock import Clock
from server.config import LimitSettings

MAX_ADDRESS: Final = 64
LOCAL: Final = "local"


class Bucket:
    """`burst` tokens at most, `rate` of them coming back every `per_ms` milliseconds.

    The level counts 1/per_ms parts of a token, so that refilling is one exact multiplication per millisecond. The caller gives the
    monotonic time: one reading serves all the buckets a command passes.
    """

    __slots__ = ("_full", "_last_ms", "_level", "_per_ms", "_rate")

    def __init__(self, rate: int, burst: int, now_ms: int, *, per_ms: int = 1000) -> None:
        """Starts full. Raises ValueError unless rate, burst and per_ms are at least 1."""
        if rate < 1 or burst < 1 or per_ms < 1:
            raise ValueError(f"a bucket needs rate, burst and per_ms of at least 1, not {rate}, {burst}, {per_ms}")
        self._rate = rate
        self._per_ms = per_ms
        self._full = burst * per_ms
        self._level = self._full
        self._last_ms = now_ms

    def wait_ms(self, now_ms: int, cost: int = 1) -> int:
        """Milliseconds until `cost` tokens are there, 0 if they are now. Takes nothing. Raises ValueError if they never can be."""
        level = self._level + (now_ms - self._last_ms) * self._rate
        if level > self._full:
            level = self._full
        self._level = level
        self._last_ms = now_ms
        missing = cost * self._per_ms - level
        if missing <= 0:
            return 0
        if cost * self._per_ms > self._full:
            raise ValueError(f"{cost} tokens never fit a bucket of {self._full // self._per_ms}")
        return -(missing // -self._rate)

    def spend(self, cost: int = 1) -> None:
        """Take `cost` tokens without asking. Those that are not there are owed, and waited for by whoever comes next."""
        self._level -= cost * self._per_ms

    def take(self, now_ms: int, cost: int = 1) -> int:
        """Take `cost` tokens and answer 0, or take none and answer how many milliseconds to wait."""
        wait = self.wait_ms(now_ms, cost)
        if wait == 0:
            self._level -= cost * self._per_ms
        return wait


class Buckets:
    """One bucket per key, at most about `capacity` of them.

    Two generations: a key in use moves to the young one; when that is full it becomes the old one and what was left in the former
    old one is forgotten. Looking up, adding and forgetting are O(1). A forgotten key starts full again, which takes capacity/2 other
    keys in use in between.
    """

    __slots__ = ("_burst", "_half", "_old", "_per_ms", "_rate", "_young")

    def __init__(self, rate: int, burst: int, *, per_ms: int = 1000, capacity: int = 20_000) -> None:
        self._rate = rate
        self._burst = burst
        self._per_ms = per_ms
        self._half = max(1, capacity // 2)
        self._young: dict[str, Bucket] = {}
        self._old: dict[str, Bucket] = {}

    def __len__(self) -> int:
        return len(self._young) + len(self._old)

    def get(self, key: str, now_ms: int) -> Bucket:
        """The bucket of `key`, a full one if it is new or was forgotten. Keep no reference: a kept one may be forgotten."""
        bucket = self._young.get(key)
        if bucket is None:
            bucket = self._old.pop(key, None) or Bucket(self._rate, self._burst, now_ms, per_ms=self._per_ms)
            if len(self._young) >= self._half:
                self._old = self._young
                self._young = {}
            self._young[key] = bucket
        return bucket


class Limits:
    """All limits of one server process. Every answer in ms is what goes into `retry_after`; a rate set to 0 means no limit."""

    def __init__(self, clock: Clock, settings: LimitSettings) -> None:
        self._clock = clock
        self._seats = _buckets(settings.seat_rate, settings.seat_burst, settings.keys)
        self._sessions = _buckets(settings.session_rate, settings.session_burst, settings.keys)
        self._addresses = _buckets(settings.address_rate, settings.address_burst, settings.keys)
        self._tries = _buckets(settings.tries_per_minute, settings.tries_per_minute, settings.keys, per_ms=60_000)
        self._most_connections = settings.address_connections
        self._connections: dict[str, int] = {}

    def message(self, address: str, session: str = "", seat: str = "") -> int:
        """Account for one message: 0 if it may pass, else milliseconds to wait.

        Counts against the address, and when given the session and the seat (of that session). All or nothing: a seat that floods is
        refused before it uses up what its table or its house-mates may still send.
        """
        now = self._clock.monotonic_ms()
        of_address = of_session = of_seat = None
        wait = 0
        if self._addresses is not None:
            of_address = self._addresses.get(address, now)
            wait = of_address.wait_ms(now)
        if session:
            if self._sessions is not None:
                of_session = self._sessions.get(session, now)
                wait = max(wait, of_session.wait_ms(now))
            if seat and self._seats is not None:
                of_seat = self._seats.get(f"{session}/{seat}", now)
                wait = max(wait, of_seat.wait_ms(now))
        if wait:
            return wait
        if of_address is not None:
            of_address.spend()
        if of_session is not None:
            of_session.spend()
        if of_seat is not None:
            of_seat.spend()
        return 0

    def may_try(self, address: str) -> int:
        """Whether an address may try a token or an invite: 0, or milliseconds to wait. Counts nothing; say `refused` if it was no good.

        Good tries are free: after a restart a whole house comes back through one address at once.
        """
        if self._tries is None:
            return 0
        now = self._clock.monotonic_ms()
        return self._tries.get(address, now).wait_ms(now)

    def refused(self, address: str) -> None:
        """Count a token or an invite that was no good."""
        if self._tries is not None:
            self._tries.get(address, self._clock.monotonic_ms()).spend()

    def connect(self, address: str) -> bool:
        """Count a new connection; False, counting nothing, when the address has as many as it may."""
        count = self._connections.get(address, 0)
        if self._most_connections and count >= self._most_connections:
            return False
        self._connections[address] = count + 1
        return True

    def disconnect(self, address: str) -> None:
        """Count a connection gone; exactly once per `connect` that answered True. Raises KeyError when there was none."""
        count = self._connections[address]
        if count == 1:
            del self._connections[address]
        else:
            self._connections[address] = count - 1

    def connections(self, address: str) -> int:
        """How many connections the address has now."""
        return self._connections.get(address, 0)


def _buckets(rate: int, burst: int, keys: int, *, per_ms: int = 1000) -> Buckets | None:
    return Buckets(rate, burst, per_ms=per_ms, capacity=keys) if rate else None


def address_key(host: str | None) -> str:
    """The name under which a peer is counted.

    An IPv4 address as it is (also when mapped into IPv6); an IPv6 address as its /64, since one subscriber owns all of that; no
    address (a unix socket) as LOCAL; anything else cut to 64 characters.
    """
    if not host:
        return LOCAL
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host[:MAX_ADDRESS]
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(ipaddress.IPv6Network((address, 64), strict=False))


def client_address(peer: str | None, forwarded_for: str, trusted: Sequence[str]) -> str:
    """The `address_key` of the real client behind proxies.

    `peer`: who opened the TCP connection; `forwarded_for`: the X-Forwarded-For header or ""; `trusted`: networks whose word on it is
    taken. The header is read from its end, as far as trusted proxies vouch for it: what a client wrote into it itself counts for nothing.
    """
    networks = [ipaddress.ip_network(network, strict=False) for network in trusted]
    address = peer or ""
    for hop in reversed(forwarded_for.split(",")):
        if not hop.strip() or not _is_in(address, networks):
            break
        address = hop.strip()
    return address_key(address)


def _is_in(host: str, networks: Sequence[ipaddress.IPv4Network | ipaddress.IPv6Network]) -> bool:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    return any(address in network for network in networks)
