"""Acts on deadlines when they come: loads the sessions that are due and gives each its deadline commands.

Any node may sweep. A deadline command names its prompt or turn, so of two nodes one is refused. Time during which nobody swept (no node was
up, the store was away, the clock was set forward) is not charged: a deadline that fell into it is moved back by its length.
"""

from __future__ import annotations

from typing import Final

import msgspec

import engine
from engine.commands import Extend
from server.clock import Clock
from server.logs import get_logger
from server.metrics import Metrics
from server.sessions.actor import Actor, SessionGone
from server.sessions.registry import Registry
from server.store import Store, StoreUnavailable

log = get_logger("deadlines")

ALIVE: Final = "alive"
AWAY: Final = "away"
GRACE_MS: Final = 60_000
"""A pause of the sweeping shorter than this is no downtime."""
AWAY_KEPT: Final = 32
AHEAD_MS: Final = 3_600_000
"""A heartbeat further in the future than this was written by a broken clock and is not believed."""

Window = tuple[int, int]
"""From when until when nobody swept, in ms. A deadline in it, its end included, is moved back by its length."""

_decoder = msgspec.json.Decoder(list[Window])


class Sweeper:
    """The deadline sweeper of one node."""

    def __init__(self, registry: Registry, store: Store, clock: Clock, metrics: Metrics) -> None:
        self._registry, self._store, self._clock, self._metrics = registry, store, clock, metrics

    async def start(self) -> None:
        """Note how long nobody swept. Raises StoreUnavailable."""
        await self._note_downtime(self._clock.now_ms())

    async def sweep(self) -> int:
        """Act on everything that is due; returns how many deadlines were. Raises StoreUnavailable."""
        now = self._clock.now_ms()
        await self._note_downtime(now)
        due = await self._store.due(now)
        away = await self._windows() if due else []
        fired = 0
        for session_id in due:
            try:
                actor = await self._registry.get(session_id)
                await self._extend(actor, away)
                fired += await actor.fire_deadlines()
            except SessionGone as gone:
                if gone.code == "no_session":
                    await self._store.set_due(session_id, None)
            except StoreUnavailable:
                raise
            except Exception:
                log.exception("a session's deadlines could not be acted on", session=session_id)
        self._metrics.deadlines.inc(fired)
        return fired

    async def _note_downtime(self, now: int) -> None:
        seen = await self._store.get(ALIVE)
        if seen is not None and now - int(seen) > GRACE_MS:
            windows = await self._windows()
            if all(window[0] != int(seen) for window in windows):  # else another node has noted this one
                windows.append((int(seen), now))
                await self._store.put(AWAY, msgspec.json.encode(windows[-AWAY_KEPT:]))
                log.info("deadlines that fell into the downtime are moved back", minutes=(now - int(seen)) // 60_000)
        # The latest heartbeat of any node: one whose clock is behind must not make the others' sweeps look like a pause.
        latest = now if seen is None or int(seen) - now > AHEAD_MS else max(int(seen), now)
        # Last: a node that dies before this finds the same downtime again.
        await self._store.put(ALIVE, str(latest).encode())

    async def _windows(self) -> list[Window]:
        data = await self._store.get(AWAY)
        return [] if data is None else _decoder.decode(data)

    async def _extend(self, actor: Actor, away: list[Window]) -> None:
        """Move the deadlines of a session back if its earliest one fell into a downtime."""
        await actor.look()
        session = actor.session
        due = engine.due(session)
        for start, end in away:
            if due is not None and start < due <= end:
                # For exactly this version: of two nodes that do this at once, one is refused.
                await actor.act(engine.SYSTEM, Extend(ms=end - start), base=session.v)
                return
