"""Every session this node has in memory: found, loaded once however many ask, made, and let go when nobody uses it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine
from typing import Any

import engine
from engine import LogError, Rejected, SeededDice, Session, Setup
from server import ids
from server.clock import Clock
from server.config import Config
from server.logs import get_logger
from server.metrics import Metrics
from server.sessions.actor import Actor, SessionGone, load
from server.sessions.fanout import Item
from server.sessions.people import People, seats_of
from server.store import Commit, Store, StoreUnavailable

log = get_logger("registry")

SWEEP_SECONDS = 20
"""How long a live session may go without a look at the log when no hint came: a lost hint costs this much, never data."""


class Registry:
    """The live sessions of one node."""

    def __init__(self, store: Store, clock: Clock, config: Config, metrics: Metrics) -> None:
        self.store, self.clock, self.config, self.metrics = store, clock, config, metrics
        self.people = People(store)
        self._actors: dict[str, Actor] = {}
        self._loading: dict[str, asyncio.Future[Actor]] = {}
        self._closing = False
        self._tasks: set[asyncio.Task[None]] = set()
        self._looking = False
        store.on_hint(self._hint)

    @property
    def live(self) -> list[Actor]:
        return list(self._actors.values())

    async def get(self, session_id: str) -> Actor:
        """The actor of a session, loading it if need be.

        Raises SessionGone, StoreUnavailable, and Rejected("read_only") when a newer server writes it.
        """
        actor = self._actors.get(session_id)
        if actor is not None and not actor.gone:
            actor.used_ms = self.clock.monotonic_ms()
            return actor
        if self._closing:
            raise SessionGone("shutting_down", "This server is stopping; connect again in a moment.")
        if not ids.is_id(session_id):
            raise SessionGone("no_session", "There is no such table.")
        loading = self._loading.get(session_id)
        if loading is None:
            loading = self._loading[session_id] = asyncio.ensure_future(self._load(session_id))
            loading.add_done_callback(lambda done: self._loaded(session_id, done))
        # Shielded: one impatient visitor must not cancel the loading that others wait for.
        return await asyncio.shield(loading)

    def _loaded(self, session_id: str, done: asyncio.Future[Actor]) -> None:
        self._loading.pop(session_id, None)
        if done.cancelled() or done.exception() is not None:
            self._background(self._unwatch(session_id))

    async def _load(self, session_id: str) -> Actor:
        await self.store.watch(session_id)
        try:
            session = await load(None, self.store, session_id)
        except LogError as problem:
            log.error("a log cannot be followed", session=session_id, problem=str(problem))
            raise Rejected("read_only", f"This server cannot read the table's log: {problem}.") from None
        secret = await self.store.seed(session_id)
        if session is None or secret is None:
            raise SessionGone("no_session", "There is no such table.")
        if self._closing:
            raise SessionGone("shutting_down", "This server is stopping; connect again in a moment.")
        return self._keep(session, secret)

    async def _unwatch(self, session_id: str) -> None:
        """Hear no more of a session, unless somebody uses it again."""
        if session_id not in self._actors and session_id not in self._loading:
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
            on_gone=self._gone,
            on_taken=self._taken,
        )
        self._actors[actor.id] = actor
        self.metrics.live_sessions.set(len(self._actors))
        return actor

    def _forget(self, actor: Actor) -> None:
        if self._actors.get(actor.id) is actor:
            del self._actors[actor.id]
        self.metrics.live_sessions.set(len(self._actors))

    def _gone(self, actor: Actor) -> None:
        self._forget(actor)
        self._background(self._unwatch(actor.id))

    def _taken(self, item: Item) -> None:
        before = item.before
        if before is None or before.seats is not item.after.seats:
            self._background(self.people.follow(before, item.after))

    def _background(self, work: Coroutine[Any, Any, None]) -> None:
        """Something derived that is found again if it is lost."""

        async def run() -> None:
            try:
                await work
            except StoreUnavailable as problem:
                log.warning("store unavailable", problem=problem.text)

        task = asyncio.get_running_loop().create_task(run())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

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
        if due is not None:
            await self.store.set_due(session_id, due)
        log.info("session created", session=session_id, ruleset=rules.name)
        return self._keep(session, secret)

    # --- following other nodes -------------------------------------------------------------------------------------------

    def _hint(self, session_id: str, v: int) -> None:
        if not session_id:
            # Hints may have been missed. One pass over all, however often this is said meanwhile.
            self._background(self.look_around())
        elif (actor := self._actors.get(session_id)) is not None:
            actor.heard(v)

    async def look_around(self) -> None:
        """Look at the log of every live session that somebody watches: what a lost hint would have told. Raises StoreUnavailable."""
        if self._looking:
            return
        self._looking = True
        try:
            for actor in self.live:
                if actor.fanout.viewers and not actor.gone:
                    top = await self.store.top(actor.id)
                    if top != (actor.session.v, actor.session.stamp):
                        try:
                            await actor.look()
                        except (SessionGone, LogError, Rejected) as problem:
                            log.info("a live session ended", session=actor.id, problem=str(problem))
        finally:
            self._looking = False

    # --- the end -----------------------------------------------------------------------------------------------------------

    async def sweep(self) -> int:
        """Let idle sessions go; returns how many left. To be called every few seconds."""
        limit = self.config.idle_minutes * 60_000
        now = self.clock.monotonic_ms()
        gone = 0
        for actor in self.live:
            if actor.idle and now - actor.used_ms >= limit:
                actor.let_go()
                self._forget(actor)
                await self._unwatch(actor.id)
                gone += 1
        return gone

    async def close(self) -> None:
        """Finish every command under way; no session is loaded any more."""
        self._closing = True
        await asyncio.gather(*(actor.close() for actor in self.live))
        self._actors.clear()
        self.metrics.live_sessions.set(0)
        if self._tasks:
            await asyncio.wait(list(self._tasks), timeout=1)

    def seats_of(self, actor: Actor, person: str) -> list[tuple[str, str]]:
        """The seats (id, role) of a session that a person holds."""
        return seats_of(actor.session, person)


def plain_outcome(outcome: Any) -> dict[str, Any]:
    """An outcome as HTTP tells it."""
    return {name: value for name in outcome.__struct_fields__ if (value := getattr(outcome, name)) not in (None, False)}
