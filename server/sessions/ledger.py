"""A session in memory beside its log in the store: loads it, follows what others write, and notices when the log went back.

Knows nothing of viewers and mailboxes. One coroutine at a time may run here; the actor sees to that.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from msgspec.structs import replace

import engine
from engine import Act, Entry, LogError, Past, Ruleset, SeededDice, Session
from engine.commands import NewDice, Upgrade
from server import ids
from server.clock import Clock
from server.logs import get_logger
from server.metrics import Metrics
from server.sessions.acks import Acks
from server.sessions.fanout import Item
from server.sessions.texts import Bodies, read
from server.store import Commit, Store, StoreUnavailable

log = get_logger("session")

MAX_TRIES = 8
PAGE = 500
BODIES = 32
"""Texts of so many entries are fetched at once: few enough that none is forgotten again before it is shown."""


class SessionGone(Exception):
    """The store has no such live session (any more). `code` is no_session, archived or shutting_down."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code, self.text = code, text


def _no_session() -> SessionGone:
    return SessionGone("no_session", "This table does not exist any more.")


class Ledger:
    """The newest known state of one session, its dice, and which actions were done.

    `taken(item)` is called for every entry that becomes the state, in order; `renewed(session, reason)` when the log's lineage changed
    and everything known before is void.
    """

    def __init__(
        self,
        rules: Ruleset,
        session: Session,
        secret: bytes,
        *,
        store: Store,
        clock: Clock,
        metrics: Metrics,
        taken: Callable[[Item], None],
        renewed: Callable[[Session, str], None],
    ) -> None:
        self.rules = rules
        self.session = session
        self.id = session.header.session
        self.dice = SeededDice(secret, session.epoch)
        self.acks = Acks()
        self.bodies = Bodies()
        self.behind = False
        """True when the log may have grown without us: look before judging the next command."""
        self.upgrade = engine.needs_upgrade(rules, session)
        """True when this code is newer than the log's last writer: an `upgraded` entry comes before anything else."""
        self._secret = secret
        self._store = store
        self._clock = clock
        self._metrics = metrics
        self._taken = taken
        self._renewed = renewed

    def take(self, item: Item) -> None:
        """An entry is in the log: it is the state now."""
        self.session = item.after
        self._taken(item)

    async def is_newest(self) -> bool:
        """Whether the log ends with what we know. Raises StoreUnavailable."""
        return await self._store.top(self.id) == (self.session.v, self.session.stamp)

    async def know(self, key: str) -> None:
        """Load what a client did before, if we do not know it yet. Raises StoreUnavailable."""
        if key not in self.acks:
            self.acks.load(key, *await self._store.acks(self.id, key))

    async def fetch_bodies(self, entries: Sequence[Entry]) -> None:
        """Have the texts of these entries in memory. Raises StoreUnavailable."""
        wanted = self.bodies.missing([event.body for entry in entries for event in entry.events if event.body])
        if wanted:
            for text_id, stored in (await self._store.texts(self.id, wanted)).items():
                self.bodies.put(text_id, None if stored is None else read(stored))

    async def catch_up(self) -> None:
        """Apply what others have written. A log that does not contain our last entry is a fork: start over in a new epoch.

        Raises SessionGone, StoreUnavailable, Rejected("read_only") and LogError (a newer server writes what we cannot read).
        """
        renewed = False
        while True:
            known = self.session
            # Our own last entry is read again: its stamp proves that this is still the log we know.
            found = await self._store.entries(self.id, known.v - 1, PAGE)
            entries = [engine.decode_entry(data) for _, data in found]
            if not entries or entries[0].v != known.v or entries[0].stamp != known.stamp:
                await self._start_over()
                return
            for place, (entry, (_, data)) in enumerate(zip(entries[1:], found[1:], strict=True), 1):
                if place % BODIES == 1:
                    await self.fetch_bodies(entries[place : place + BODIES])
                before = self.session
                after = engine.evolve(self.rules, before, entry)
                if entry.id:
                    client, _, n = entry.id.rpartition(".")
                    self.acks.record(f"{entry.by}/{client}", int(n), entry.v)
                self.take(Item(before, after, entry, len(data)))
            renewed = renewed or any(entry.kind == "dice" for entry in entries[1:])
            if len(found) < PAGE:
                break
        if renewed:
            # New dice come with a new epoch, which the meta holds.
            loaded = await self._store.load(self.id)
            if loaded is None:
                raise _no_session()
            if loaded.meta["epoch"] != self.session.epoch:
                self._adopt(replace(self.session, epoch=loaded.meta["epoch"]), "Another server found that the log had lost entries.")
        self.behind = False
        self.upgrade = engine.needs_upgrade(self.rules, self.session)

    async def _start_over(self) -> None:
        """The log lost entries that we know (failover, restore): new epoch, new dice, whole views for everybody."""
        if await self._store.top(self.id) is None:
            raise _no_session()
        self._metrics.forks.inc()
        log.error("the log lost entries", session=self.id, known=self.session.v)
        for _ in range(MAX_TRIES):
            loaded = await load(self.rules, self._store, self.id)
            if loaded is None:
                raise _no_session()
            if loaded.epoch == self.session.epoch:
                loaded = await self._open_epoch(loaded)
            if loaded is not None:
                self._adopt(loaded, "The log lost its latest entries.")
                return
        raise StoreUnavailable("Too many others write to this table at once.", retry_after_ms=200)

    async def _open_epoch(self, loaded: Session) -> Session | None:
        """Commit new dice to a log that went back; None when another node was faster."""
        fresh = replace(loaded, epoch=ids.epoch())
        act = Act(by=engine.SYSTEM, command=NewDice(reason="the log lost entries"), stamp=ids.stamp())
        dice = SeededDice(self._secret, fresh.epoch)
        after, entry = engine.apply(self.rules, fresh, act, now_ms=self._clock.now_ms(), dice=dice)
        answer = await self._store.commit(
            Commit(
                session=self.id,
                base_v=loaded.v,
                base_stamp=loaded.stamp,
                v=after.v,
                stamp=after.stamp,
                entry=engine.encode_entry(entry),
                snapshot=engine.encode_snapshot(after),
                meta=(("epoch", after.epoch),),
            )
        )
        return after if answer.status == "ok" else None

    def _adopt(self, session: Session, reason: str) -> None:
        self.session = session
        self.dice = SeededDice(self._secret, session.epoch)
        self.acks = Acks()
        self.behind = False
        self.upgrade = engine.needs_upgrade(self.rules, session)
        self._renewed(session, reason)

    async def write_upgrade(self) -> None:
        """Note in the log that this newer code takes it over. Raises StoreUnavailable, SessionGone, Rejected("read_only")."""
        before = self.session
        act = Act(by=engine.SYSTEM, command=Upgrade(), stamp=ids.stamp())
        after, entry = engine.apply(self.rules, before, act, now_ms=self._clock.now_ms(), dice=self.dice)
        data = engine.encode_entry(entry)
        answer = await self._store.commit(
            Commit(
                session=self.id,
                base_v=before.v,
                base_stamp=before.stamp,
                v=after.v,
                stamp=after.stamp,
                entry=data,
                snapshot=engine.encode_snapshot(after),
            )
        )
        if answer.status == "ok":
            self.take(Item(before, after, entry, len(data)))
            self.upgrade = engine.needs_upgrade(self.rules, self.session)
        else:
            await self.catch_up()

    async def past(self, command: Any, ring: deque[Item]) -> Past | None:
        """What an undo needs: the session at its target and the rolls made since. None for every other command."""
        target = engine.undo_target(self.session, command)
        if target is None or not 1 <= target < self.session.v:
            return None
        items = [item for item in ring if item.entry.v > target]
        if items and items[0].entry.v == target + 1 and items[0].before is not None:
            return Past(items[0].before, tuple(roll for item in items for roll in item.entry.rolls))
        session: Session | None = None
        rolls: list[Any] = []
        after = 0
        while True:
            found = await self._store.entries(self.id, after, PAGE)
            for after, data in found:
                entry = engine.decode_entry(data)
                if after <= target:
                    session = engine.evolve(self.rules, session, entry, epoch=self.session.epoch)
                else:
                    rolls += entry.rolls
            if len(found) < PAGE:
                return None if session is None else Past(session, tuple(rolls))


async def load(rules: Ruleset | None, store: Store, session_id: str) -> Session | None:
    """A session from the store: its newest snapshot and the entries after it. None when there is none.

    Raises SessionGone("archived"), StoreUnavailable, LogError, and Rejected for a ruleset nobody has.
    """
    loaded = await store.load(session_id)
    if loaded is None:
        return None
    if loaded.meta.get("archived") == "1":
        raise SessionGone("archived", "The table is being fetched from the archive.")
    epoch = loaded.meta["epoch"]
    rules = rules or engine.ruleset(loaded.meta["ruleset"])
    session: Session | None = None
    if loaded.snapshot is not None:
        try:
            session = engine.decode_snapshot(rules, loaded.snapshot[1])
        except LogError as problem:
            # A snapshot only saves time; the log is the truth.
            log.error("a snapshot cannot be read", session=session_id, problem=str(problem))
    if session is None and loaded.snapshot is not None:
        return await _replayed(rules, store, session_id, epoch)
    for v, data in loaded.entries:
        if session is None or v > session.v:
            session = engine.evolve(rules, session, engine.decode_entry(data), epoch=epoch)
    return None if session is None else replace(session, epoch=epoch)


async def _replayed(rules: Ruleset, store: Store, session_id: str, epoch: str) -> Session | None:
    session: Session | None = None
    while found := await store.entries(session_id, 0 if session is None else session.v, PAGE):
        for _, data in found:
            session = engine.evolve(rules, session, engine.decode_entry(data), epoch=epoch)
    return session
