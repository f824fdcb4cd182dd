"""One live session: its mailbox, its commits, its viewers.

One command at a time is judged and committed; while its commit is in flight the next ones of this session wait and other sessions do not.
Commit first, then tell anyone. There is no task per command: the usual way runs in the store's own callback, and only what needs to read
the store first (an unknown client, a conflict, an undo) takes a task.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any

from msgspec.structs import replace

import engine
from engine import Act, Entry, Past, Rejected, Ruleset, SeededDice, Session
from engine.commands import Deadline, NewDice, Upgrade
from protocol.codec import Wire
from server import ids
from server.clock import Clock
from server.logs import get_logger
from server.metrics import Metrics
from server.sessions.acks import Acks
from server.sessions.fanout import Fanout, Item, Viewer
from server.sessions.jobs import MAILBOX, Done, Job, Outcome, Refusal
from server.sessions.texts import Bodies, read
from server.store import Commit, Committed, Store, StoreReadOnly, StoreUnavailable

log = get_logger("session")

MAX_TRIES = 8
SLOW_MS = 250
"""A command that takes longer to judge is refused: it would hold up every session of this node."""


class SessionGone(Exception):
    """The store has no such live session (any more). `code` is no_session or archived."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code, self.text = code, text


class Actor:
    """A live session on this node. Made by the registry; everything but the async methods must run in the event loop."""

    def __init__(
        self,
        rules: Ruleset,
        session: Session,
        secret: bytes,
        *,
        store: Store,
        clock: Clock,
        metrics: Metrics,
        ring: int,
        snapshot_every: int,
        on_gone: Callable[[Actor], None],
    ) -> None:
        self.rules = rules
        self.session = session
        self.id = session.header.session
        self.bodies = Bodies()
        self.acks = Acks()
        self.fanout = Fanout(rules, self.id, self.bodies, ring, metrics)
        self.log = log.bind(session=self.id)
        self.used_ms = clock.monotonic_ms()
        self.behind = False
        """True when the log may have grown without us: look before judging the next command."""
        self._secret = secret
        self._dice = SeededDice(secret, session.epoch)
        self._store = store
        self._clock = clock
        self._metrics = metrics
        self._snapshot_every = snapshot_every
        self._on_gone = on_gone
        self._mailbox: deque[Job] = deque()
        self._busy = False
        self._gone = False
        self._due = engine.due(session)
        self._upgrade = engine.needs_upgrade(rules, session)
        self._tasks: set[asyncio.Task[None]] = set()
        self._presence_due = False
        self._quiet = asyncio.Event()
        self._quiet.set()

    # --- for others ------------------------------------------------------------------------------------------------------

    @property
    def idle(self) -> bool:
        """Nobody watches and nothing is under way."""
        return not self.fanout.viewers and not self._busy and not self._mailbox

    @property
    def gone(self) -> bool:
        return self._gone

    def submit(self, job: Job) -> None:
        """Queue a command; its `reply` is called exactly once."""
        self.used_ms = self._clock.monotonic_ms()
        if self._gone:
            job.reply(
                Refusal("unavailable", "The session is being moved; send it again with the same id.", self.session.v, retry_after=200)
            )
        elif len(self._mailbox) >= MAILBOX:
            job.reply(Refusal("rate_limited", "Too many commands wait for this table.", self.session.v, retry_after=1000))
        else:
            self._mailbox.append(job)
            self._quiet.clear()
            self._pump()

    async def act(self, by: str, command: Any, *, client: str = "", n: int = 0, at: int | None = None, texts: Any = ()) -> Outcome:
        """As submit, and wait for the outcome."""
        future: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self.submit(
            Job(
                by=by,
                command=command,
                reply=lambda outcome: None if future.done() else future.set_result(outcome),
                client=client,
                n=n,
                at=at,
                texts=texts,
            )
        )
        return await future

    def attach(self, viewer: Viewer, resume: tuple[str, int, str] | None) -> list[Wire] | None:
        """Seat a viewer. The frames it missed when it can resume from (epoch, v, stamp), else None: it needs a whole view."""
        self.used_ms = self._clock.monotonic_ms()
        missed: list[Wire] | None = None
        if resume is not None and resume[0] == self.session.epoch:
            _, v, stamp = resume
            if v == self.session.v and stamp == self.session.stamp:
                missed = []
            elif v < self.session.v:
                missed = self.fanout.missed(v, stamp, viewer.seat, viewer.codec)
            self._metrics.resume("full" if missed is None else "ring")
        self.fanout.add(viewer)
        self._announce_presence()
        return missed

    def detach(self, viewer: Viewer) -> None:
        self.used_ms = self._clock.monotonic_ms()
        self.fanout.remove(viewer)
        self._announce_presence()

    def _announce_presence(self) -> None:
        # Gathered for a moment: two hundred spectators who come at once make a few messages, not forty thousand.
        if not self._presence_due:
            self._presence_due = True
            asyncio.get_running_loop().call_later(0.1, self._tell_presence)

    def _tell_presence(self) -> None:
        self._presence_due = False
        if self.fanout.viewers:
            self.fanout.announce(self.fanout.presence())

    async def history(self, seat: str, before: int | None, limit: int) -> tuple[list[dict[str, Any]], bool]:
        """A page of the past for a seat, oldest first, and whether there is more before it. May raise StoreUnavailable."""
        found = await self._store.entries_before(self.id, before if before is not None else self.session.v + 1, limit)
        entries = [engine.decode_entry(data) for _, data in reversed(found)]
        await self.fetch_bodies(entries)
        page = list(self.fanout.past(entries, engine.sight_of(self.session, seat)))
        return page, bool(entries) and entries[0].v > 1

    async def fetch_bodies(self, entries: Sequence[Entry]) -> None:
        wanted = self.bodies.missing([event.body for entry in entries for event in entry.events if event.body])
        if wanted:
            for text_id, stored in (await self._store.texts(self.id, wanted)).items():
                self.bodies.put(text_id, None if stored is None else read(stored))

    async def erase(self, text_id: str) -> bool:
        """Forget a text for good; those who join or look back see that something was erased."""
        done = await self._store.erase_text(self.id, text_id)
        self.bodies.put(text_id, None)
        return done

    async def settled(self) -> None:
        """Wait until no command is under way."""
        await self._quiet.wait()

    async def refresh(self) -> None:
        """Look whether the log has grown (a hint came, or none for long)."""
        if not self._busy and not self._gone:
            self.behind = True
            self._spawn(self._look())

    async def _look(self) -> None:
        await self._catch_up()

    # --- the mailbox -----------------------------------------------------------------------------------------------------

    def _pump(self) -> None:
        while self._mailbox and not self._busy:
            job = self._mailbox.popleft()
            if self._must_read_first(job):
                self._spawn(self._prepare(job))
            else:
                self._attempt(job, None)
        if not self._busy and not self._mailbox:
            self._quiet.set()

    def _must_read_first(self, job: Job) -> bool:
        if self.behind or (self._upgrade and not isinstance(job.command, Upgrade)):
            return True
        return (bool(job.client) and job.key not in self.acks) or engine.undo_target(self.session, job.command) is not None

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        self._busy = True
        self._quiet.clear()

        async def run() -> None:
            try:
                await work
            except SessionGone as gone:
                self._vanish(gone)
            except StoreUnavailable as problem:
                # Only a look without a job ends here: jobs answer for themselves.
                self.log.warning("store unavailable", problem=problem.text)
                self._busy = False
            except Exception:
                self.log.exception("session task failed")
                self.behind = True
                self._busy = False
            else:
                if not self._in_flight:
                    self._busy = False
            self._pump()

        task = asyncio.get_running_loop().create_task(run())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    _in_flight = False

    async def _prepare(self, job: Job) -> None:
        """Read what the command needs to be judged, then judge it."""
        try:
            if self.behind:
                await self._catch_up()
            if self._upgrade and not isinstance(job.command, Upgrade):
                await self._upgrade_log()
            if job.client and job.key not in self.acks:
                self.acks.load(job.key, *await self._store.acks(self.id, job.key))
            past = await self._past(job)
        except SessionGone as gone:
            job.reply(Refusal(gone.code, gone.text, self.session.v))
            raise
        except Rejected as refusal:
            job.reply(Refusal(refusal.code, refusal.text, self.session.v, refusal.data))
            return
        except StoreUnavailable as problem:
            self._unavailable(job, problem)
            return
        except Exception:
            job.reply(Refusal("internal", "The server failed on this command; nothing was changed.", self.session.v))
            raise
        self._attempt(job, past)

    def _attempt(self, job: Job, past: Past | None) -> None:
        """Judge a command and hand its step to the store."""
        before = self.session
        if job.client:
            done = self.acks.find(job.key, job.n)
            if done:
                self._metrics.action("again")
                job.reply(Done(done, "", again=True))
                return
            if done == 0:
                self._refuse(job, "too_old", "That action id is older than those the server remembers.")
                return
        if job.at is not None and self._is_stale(job):
            self._doubt(job, Rejected("stale", "The table has changed since version " + str(job.at) + ".", at=job.at))
            return
        started = self._clock.monotonic_ms()
        try:
            act = Act(by=job.by, command=job.command, id=job.action, stamp=ids.stamp())
            after, entry = engine.apply(self.rules, before, act, now_ms=self._clock.now_ms(), dice=self._dice, past=past)
        except Rejected as refusal:
            if refusal.code == "internal":
                self._metrics.engine_errors.inc()
                self.log.error("the rules failed", by=job.by, v=before.v, command=repr(job.command)[:500], exc_info=refusal.__cause__)
            self._doubt(job, refusal)
            return
        took = self._clock.monotonic_ms() - started
        if took > SLOW_MS:
            self._metrics.engine_errors.inc()
            self.log.error("a command took too long", by=job.by, v=before.v, ms=took, command=repr(job.command)[:500])
            self._refuse(job, "internal", f"The command took {took} ms to judge and was not done.")
            return
        self._commit(job, before, after, entry)

    def _commit(self, job: Job, before: Session, after: Session, entry: Entry) -> None:
        meta: tuple[tuple[str, str], ...] = ()
        due = engine.due(after)
        if due != self._due:
            meta += (("due", "" if due is None else str(due)),)
        if after.epoch != before.epoch:
            meta += (("epoch", after.epoch),)
        commit = Commit(
            session=self.id,
            base_v=before.v,
            base_stamp=before.stamp,
            v=after.v,
            stamp=after.stamp,
            entry=engine.encode_entry(entry),
            client=job.key if job.client else None,
            n=job.n,
            snapshot=engine.encode_snapshot(after) if after.v % self._snapshot_every == 0 else None,
            meta=meta,
            texts=job.texts,
        )
        self._busy = self._in_flight = True
        started = self._clock.monotonic_ms()
        future = asyncio.ensure_future(self._store.commit(commit))

        def committed(answer: asyncio.Future[Committed]) -> None:
            self._busy = self._in_flight = False
            self._metrics.commit_seconds.observe((self._clock.monotonic_ms() - started) / 1000)
            self._committed(answer, job, Item(before, after, entry))
            self._pump()

        future.add_done_callback(committed)

    def _committed(self, answer: asyncio.Future[Committed], job: Job, item: Item) -> None:
        problem = answer.exception() if not answer.cancelled() else StoreUnavailable("The server stopped waiting for the store.")
        if isinstance(problem, StoreUnavailable):
            self._unavailable(job, problem)
            return
        if problem is not None:
            self.behind = True
            self.log.error("commit failed", exc_info=problem)
            job.reply(
                Refusal(
                    "unavailable", "The server cannot tell whether this was done; send the same id again.", self.session.v, retry_after=1000
                )
            )
            return
        result = answer.result()
        if result.status == "ok":
            self._metrics.commits.inc()
            self._metrics.action("ok")
            for text_id, stored in job.texts:
                self.bodies.put(text_id, read(stored))
            if job.client:
                self.acks.record(job.key, job.n, item.entry.v)
            self._take(item)
            job.reply(Done(item.entry.v, result.durability))
        elif result.status == "conflict":
            self._metrics.conflicts.inc()
            self._again(job)
        elif result.status == "duplicate":
            # Another node did it: its entry comes first, then the ack.
            self._metrics.duplicates.inc()
            self._again(job, done=result.v)
        elif result.status == "too_old":
            self._refuse(job, "too_old", "That action id is older than those the server remembers.")
        else:
            code = "archived" if result.status == "archived" else "no_session"
            text = "The table is in the archive." if code == "archived" else "This table does not exist any more."
            self._refuse(job, code, text)
            self._vanish(SessionGone(code, text))

    def _again(self, job: Job, done: int = 0) -> None:
        """Catch up with the log, then judge the command again (or say it was done)."""
        job.tries += 1
        self.behind = True

        async def work() -> None:
            if job.tries > MAX_TRIES:
                job.reply(Refusal("unavailable", "Too many others write to this table at once.", self.session.v, retry_after=200))
                return
            if done:
                try:
                    await self._catch_up()
                except (StoreUnavailable, SessionGone):
                    self.log.warning("could not catch up after a duplicate")
                self._metrics.action("again")
                job.reply(Done(done, "", again=True))
                return
            await self._prepare(job)

        self._spawn(work())

    def _doubt(self, job: Job, refusal: Rejected) -> None:
        """Refuse, but only on the newest state: if the log has grown meanwhile (another node), judge again."""
        if job.confirmed or not job.client:
            self._refuse(job, refusal.code, refusal.text, refusal.data)
            return

        async def work() -> None:
            try:
                top = await self._store.top(self.id)
            except StoreUnavailable:
                top = (self.session.v, self.session.stamp)  # nothing was done, and that much is certain
            job.confirmed = True
            if top == (self.session.v, self.session.stamp):
                self._refuse(job, refusal.code, refusal.text, refusal.data)
                return
            self.behind = True
            job.confirmed = False
            job.tries += 1
            if job.tries > MAX_TRIES:
                self._refuse(job, refusal.code, refusal.text, refusal.data)
                return
            await self._prepare(job)

        self._spawn(work())

    def _refuse(self, job: Job, code: str, text: str, data: dict[str, Any] | None = None) -> None:
        self._metrics.action(code)
        job.reply(Refusal(code, text, self.session.v, data or None))

    def _unavailable(self, job: Job, problem: StoreUnavailable) -> None:
        self.behind = True
        read_only = isinstance(problem, StoreReadOnly)
        code = "read_only" if read_only else "unavailable"
        self._metrics.store_error("read_only" if read_only else "unavailable")
        self._metrics.action(code)
        job.reply(Refusal(code, problem.text, self.session.v, retry_after=problem.retry_after_ms))

    def _take(self, item: Item) -> None:
        """An entry is in the log: it is the state now, and everybody is told."""
        due = engine.due(item.after)
        self.session = item.after
        if due != self._due:
            self._due = due
            self._background(self._store.set_due(self.id, due))
        started = self._clock.monotonic_ms()
        self.fanout.publish(item)
        self._metrics.fanout_seconds.observe((self._clock.monotonic_ms() - started) / 1000)

    def _background(self, work: Awaitable[None]) -> None:
        """Something derived that the sweep repairs if it is lost."""

        async def run() -> None:
            try:
                await work
            except StoreUnavailable as problem:
                self.log.warning("index not written", problem=problem.text)

        task = asyncio.get_running_loop().create_task(run())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _is_stale(self, job: Job) -> bool:
        """Whether something that this seat can see, other than talk, happened after the version the command was meant for."""
        at = job.at or 0
        if at >= self.session.v:
            return False
        later = [item for item in self.fanout.ring if item.entry.v > at]
        if len(later) < self.session.v - at:
            return True
        for item in later:
            if item.entry.quiet:
                continue
            renderer = engine.Renderer(self.rules, item.before, item.after, item.entry, self.bodies.get)
            if renderer.frame(engine.sight_of(item.after, job.by))[1]:
                return True
        return False

    # --- following the log -------------------------------------------------------------------------------------------------

    async def _catch_up(self) -> None:
        """Apply what others have written. A log that does not contain our last entry is a fork: start over in a new epoch."""
        renewed = False
        while True:
            known = self.session
            found = await self._store.entries(self.id, known.v - 1, 500)
            if not found and await self._store.top(self.id) is None:
                raise SessionGone("no_session", "This table does not exist any more.")
            entries = [engine.decode_entry(data) for _, data in found]
            if not entries or entries[0].v != known.v or entries[0].stamp != known.stamp:
                await self._start_over()
                return
            await self.fetch_bodies(entries[1:])
            for entry in entries[1:]:
                before = self.session
                after = engine.evolve(self.rules, before, entry)
                if entry.id:
                    client, _, n = entry.id.rpartition(".")
                    self.acks.record(f"{entry.by}/{client}", int(n), entry.v)
                self._take(Item(before, after, entry))
            renewed = renewed or any(entry.kind == "dice" for entry in entries[1:])
            if len(found) < 500:
                break
        if renewed:
            # New dice come with a new epoch, which the meta holds.
            epoch = await self._epoch()
            if epoch != self.session.epoch:
                self._adopt(replace(self.session, epoch=epoch), "another server found that the log had lost entries")
        self.behind = False
        self._upgrade = engine.needs_upgrade(self.rules, self.session)

    async def _epoch(self) -> str:
        loaded = await self._store.load(self.id)
        return loaded.meta["epoch"] if loaded is not None else self.session.epoch

    async def _start_over(self) -> None:
        """The log lost entries that we know (failover, restore): new epoch, new dice, whole views for everybody."""
        self._metrics.forks.inc()
        self.log.error("the log lost entries", known=self.session.v)
        loaded: Session | None = None
        for _ in range(MAX_TRIES):
            loaded = await load(self.rules, self._store, self.id)
            if loaded is None:
                raise SessionGone("no_session", "This table does not exist any more.")
            if loaded.epoch != self.session.epoch:
                break  # another node opened the new epoch already
            fresh = replace(loaded, epoch=ids.epoch())
            dice = SeededDice(self._secret, fresh.epoch)
            act = Act(by=engine.SYSTEM, command=NewDice(reason="the log lost entries"), stamp=ids.stamp())
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
            if answer.status == "ok":
                loaded = after
                break
        if loaded is not None:
            self._adopt(loaded, "the log lost entries")

    def _adopt(self, session: Session, reason: str) -> None:
        self.session = session
        self._dice = SeededDice(self._secret, session.epoch)
        self.acks = Acks()
        self._due = engine.due(session)
        self.behind = False
        self.fanout.reset(session, reason)

    async def _upgrade_log(self) -> None:
        act = Act(by=engine.SYSTEM, command=Upgrade(), stamp=ids.stamp())
        before = self.session
        after, entry = engine.apply(self.rules, before, act, now_ms=self._clock.now_ms(), dice=self._dice)
        answer = await self._store.commit(
            Commit(
                session=self.id,
                base_v=before.v,
                base_stamp=before.stamp,
                v=after.v,
                stamp=after.stamp,
                entry=engine.encode_entry(entry),
                snapshot=engine.encode_snapshot(after),
            )
        )
        if answer.status == "ok":
            self._take(Item(before, after, entry))
        else:
            await self._catch_up()
        self._upgrade = engine.needs_upgrade(self.rules, self.session)

    async def _past(self, job: Job) -> Past | None:
        """What an undo needs: the session at its target and the rolls made since."""
        target = engine.undo_target(self.session, job.command)
        if target is None or not 1 <= target < self.session.v:
            return None
        items = [item for item in self.fanout.ring if item.entry.v > target]
        if items and items[0].entry.v == target + 1 and items[0].before is not None:
            return Past(items[0].before, tuple(roll for item in items for roll in item.entry.rolls))
        session: Session | None = None
        rolls: list[Any] = []
        after = 0
        while True:
            found = await self._store.entries(self.id, after, 500)
            for v, data in found:
                entry = engine.decode_entry(data)
                after = v
                if v <= target:
                    session = engine.evolve(self.rules, session, entry, epoch=self.session.epoch)
                else:
                    rolls += entry.rolls
            if len(found) < 500:
                break
        return None if session is None else Past(session, tuple(rolls))

    # --- deadlines and the end -------------------------------------------------------------------------------------------

    async def fire_deadlines(self) -> int:
        """Act on every deadline that has come; returns how many were. Another node may be first: then they are refused here."""
        fired = 0
        for command in engine.overdue(self.session, self._clock.now_ms()):
            outcome = await self.act(engine.SYSTEM, command)
            fired += isinstance(outcome, Done)
        self._background(self._store.set_due(self.id, engine.due(self.session)))
        return fired

    def _vanish(self, gone: SessionGone) -> None:
        if self._gone:
            return
        self._gone = True
        self._busy = False
        for viewers in list(self.fanout.viewers.values()):
            for viewer in list(viewers):
                viewer.evict(gone.code, gone.text)
        while self._mailbox:
            self._mailbox.popleft().reply(Refusal(gone.code, gone.text, self.session.v))
        self._quiet.set()
        self._on_gone(self)

    async def close(self) -> None:
        """Finish what is under way; nothing is accepted afterwards."""
        await self.settled()
        self._gone = True
        for task in list(self._tasks):
            await asyncio.wait({task}, timeout=1)


async def load(rules: Ruleset | None, store: Store, session_id: str) -> Session | None:
    """A session from the store: its newest snapshot and the entries after it. None when there is none."""
    loaded = await store.load(session_id)
    if loaded is None:
        return None
    epoch = loaded.meta["epoch"]
    rules = rules or engine.ruleset(loaded.meta["ruleset"])
    session = engine.decode_snapshot(rules, loaded.snapshot[1]) if loaded.snapshot is not None else None
    for v, data in loaded.entries:
        if session is None or v > session.v:
            session = engine.evolve(rules, session, engine.decode_entry(data), epoch=epoch)
    return None if session is None else replace(session, epoch=epoch)


__all__ = ["Actor", "Deadline", "SessionGone", "load"]
