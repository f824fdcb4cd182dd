"""Acts on deadlines when they come: loads the sessions that are due and gives each its deadline commands.

Any node may sweep. A deadline command names its prompt or turn, so of two nodes one is refused. Time during which no node was up is not
charged: a deadline that fell into it is moved back by its length.
"""

from __future__ import annotations

import engine
from engine.commands import Extend
from server.clock import Clock
from server.logs import get_logger
from server.metrics import Metrics
from server.sessions.actor import SessionGone
from server.sessions.registry import Registry
from server.store import Store, StoreUnavailable

log = get_logger("deadlines")

ALIVE = "alive"
GRACE_MS = 60_000
"""A pause of the sweeping shorter than this is no downtime."""


class Sweeper:
    """The deadline sweeper of one node."""

    def __init__(self, registry: Registry, store: Store, clock: Clock, metrics: Metrics) -> None:
        self._registry, self._store, self._clock, self._metrics = registry, store, clock, metrics
        self._away: tuple[int, int] | None = None

    async def start(self) -> None:
        """Note how long no node was up."""
        now = self._clock.now_ms()
        seen = await self._store.get(ALIVE)
        if seen is not None and now - int(seen) > GRACE_MS:
            self._away = (int(seen), now)
            log.info("deadlines that fell into the downtime are moved back", minutes=(now - int(seen)) // 60_000)
        await self._store.put(ALIVE, str(now).encode())

    async def sweep(self) -> int:
        """Act on everything that is due; returns how many deadlines were."""
        now = self._clock.now_ms()
        await self._store.put(ALIVE, str(now).encode())
        fired = 0
        for session_id in await self._store.due(now):
            try:
                actor = await self._registry.get(session_id)
                if self._away is not None and self._fell_into(engine.due(actor.session), self._away):
                    await actor.act(engine.SYSTEM, Extend(ms=self._away[1] - self._away[0]))
                fired += await actor.fire_deadlines()
            except SessionGone:
                await self._store.set_due(session_id, None)
            except StoreUnavailable:
                raise
            except Exception:
                log.exception("a session's deadlines could not be acted on", session=session_id)
        self._metrics.deadlines.inc(fired)
        return fired

    @staticmethod
    def _fell_into(due: int | None, away: tuple[int, int]) -> bool:
        return due is not None and away[0] < due <= away[1]
