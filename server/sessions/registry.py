"""Every session this node has in memory: found, loaded once however many ask, made, and let go when nobody uses it."""

from __future__ import annotations

import asyncio
import os
from typing import Any

import engine
from engine import Rejected, SeededDice, Session, Setup
from server import ids
from server.clock import Clock
from server.config import Config
from server.logs import get_logger
from server.metrics import Metrics
from server.sessions.actor import Actor, SessionGone, load
from server.store import Commit, Store, StoreUnavailable

log = get_logger("registry")

SWEEP_SECONDS = 20
"""How long a live session may go without a look at the log when no hint came: a lost hint costs this much, never data."""


class Registry:
    """The live sessions of one node."""

    def __init__(self, store: Store, clock: Clock, config: Config, metrics: Metrics) -> None:
        self.store, self.clock, self.config, self.metrics = store, clock, config, metrics
        self._actors: dict[str, Actor] = {}
        self._loading: dict[str, asyncio.Future[Actor]] = {}
        self._closing = False
        store.on_hint(self._hint)

    @property
    def live(self) -> list[Actor]:
        return list(self._actors.values())

    async def get(self, session_id: str) -> Actor:
        """The actor of a session, loading it if need be. Raises SessionGone or StoreUnavailable."""
        actor = self._actors.get(session_id)
        if actor is not None and not actor.gone:
            return actor
        if self._closing:
            raise SessionGone("shutting_down", "This server is stopping; connect again in a moment.")
        if not ids.is_id(session_id):
            raise SessionGone("no_session", "There is no such table.")
        loading = self._loading.get(session_id)
        if loading is None:
            loading = self._loading[session_id] = asyncio.ensure_future(self._load(session_id))
            loading.add_done_callback(lambda _: self._loading.pop(session_id, None))
        # Shielded: one impatient visitor must not cancel the loading that others wait for.
        return await asyncio.shield(loading)

    async def _load(self, session_id: str) -> Actor:
        await self.store.watch(session_id)
        try:
            session = await load(None, self.store, session_id)
            secret = await self.store.seed(session_id)
        except BaseException:
            await self._unwatch(session_id)
            raise
        if session is None or secret is None:
            await self._unwatch(session_id)
            raise SessionGone("no_session", "There is no such table.")
        return self._keep(session, secret)

    async def _unwatch(self, session_id: str) -> None:
        try:
            await self.store.unwatch(session_id)
        except StoreUnavailable:
            log.warning("could not unsubscribe", session=session_id)

    def _keep(self, session: Session, secret: bytes) -> Actor:
        actor = Actor(
            engine.ruleset(session.header.ruleset),
            session,
            secret,
            store=self.store,
            clock=self.clock,
            metrics=self.metrics,
            ring=self.config.ring,
            snapshot_every=self.config.snapshot_every,
            on_gone=self._forget,
        )
        self._actors[actor.id] = actor
        self.metrics.live_sessions.set(len(self._actors))
        return actor

    def _forget(self, actor: Actor) -> None:
        if self._actors.get(actor.id) is actor:
            del self._actors[actor.id]
        self.metrics.live_sessions.set(len(self._actors))

    async def create(self, setup: Setup, *, session_id: str = "", secret: bytes | None = None) -> Actor:
        """Make a session and keep it live. Raises Rejected for a set-up that does not hold together, StoreUnavailable."""
        rules = engine.ruleset(setup.ruleset)
        session_id = session_id or ids.session_id()
        secret = secret or os.urandom(32)
        epoch = ids.epoch()
        session, entry = engine.create(
            rules, setup, session_id=session_id, epoch=epoch, now_ms=self.clock.now_ms(), dice=SeededDice(secret, epoch), stamp=ids.stamp()
        )
        due = engine.due(session)
        meta: tuple[tuple[str, str], ...] = (
            ("ruleset", rules.name),
            ("epoch", epoch),
            ("name", setup.name),
            ("created", str(self.clock.now_ms())),
            ("due", "" if due is None else str(due)),
        )
        commit = Commit(
            session=session_id,
            base_v=0,
            base_stamp="",
            v=1,
            stamp=session.stamp,
            entry=engine.encode_entry(entry),
            snapshot=engine.encode_snapshot(session),
            meta=meta,
        )
        answer = await self.store.create(commit, seed=secret)
        if answer.status != "ok":
            raise Rejected("bad_command", f"A session '{session_id}' exists already.", session=session_id)
        await self.store.watch(session_id)
        await self.store.set_due(session_id, due)
        log.info("session created", session=session_id, ruleset=rules.name)
        return self._keep(session, secret)

    def _hint(self, session_id: str, v: int) -> None:
        for actor in [self._actors[session_id]] if session_id in self._actors else [] if session_id else self.live:
            if not session_id or actor.session.v < v:
                asyncio.get_running_loop().create_task(self._look(actor))

    async def _look(self, actor: Actor) -> None:
        try:
            await actor.refresh()
        except StoreUnavailable as problem:
            log.warning("store unavailable", session=actor.id, problem=problem.text)

    async def sweep(self) -> int:
        """Let idle sessions go and look at the logs of the others; returns how many left. To be called every few seconds."""
        limit = self.config.idle_minutes * 60_000
        now = self.clock.monotonic_ms()
        gone = 0
        for actor in self.live:
            if actor.idle and now - actor.used_ms >= limit:
                await actor.close()
                if actor.fanout.viewers:
                    continue
                self._forget(actor)
                await self._unwatch(actor.id)
                gone += 1
        return gone

    async def look_around(self) -> None:
        """Look at the log of every live session that is not busy: what a lost hint would have told."""
        for actor in self.live:
            if actor.fanout.viewers:
                top = await self.store.top(actor.id)
                if top != (actor.session.v, actor.session.stamp):
                    await self._look(actor)

    async def close(self) -> None:
        """Finish every command under way; no session is loaded any more."""
        self._closing = True
        await asyncio.gather(*(actor.close() for actor in self.live))
        self._actors.clear()

    def seats_of(self, actor: Actor, person: str) -> list[tuple[str, str]]:
        """The seats (id, role) of a session that a person holds."""
        return [(seat.id, seat.role) for seat in actor.session.seats.values() if seat.person and seat.person == person]


def plain_outcome(outcome: Any) -> dict[str, Any]:
    """An outcome as HTTP tells it."""
    return {name: value for name in outcome.__struct_fields__ if (value := getattr(outcome, name)) not in (None, False)}
