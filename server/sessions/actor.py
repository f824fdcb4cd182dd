"""One live session: its mailbox, its commits, its viewers.

One command at a time is judged and committed; while its commit is in flight the next ones of this session wait and other sessions do not.
Commit first, then tell anyone.

There is one owner at a time (`_busy`): a commit in flight, whose answer comes as a callback, or one task. The usual command takes the
first way and costs no task; whatever needs to read the store (an unknown client, a conflict, a doubtful refusal, an undo, a look at the
log) takes the second and stays the owner until its command has its answer. `_pump` hands the ownership on.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import engine
from engine import Act, LogError, Past, Rejected, Ruleset, Session
from protocol.codec import Wire
from server import ids
from server.clock import Clock
from server.logs import get_logger
from server.metrics import Metrics
from server.sessions.fanout import LARGE, MAX_ENTITY, Fanout, Item, Viewer, too_large
from server.sessions.jobs import MAILBOX, Done, Job, Outcome, Refusal
from server.sessions.ledger import Ledger, SessionGone, load
from server.sessions.texts import read
from server.sessions.watchdog import TooSlow, watched
from server.store import Commit, Committed, Store, StoreReadOnly, StoreUnavailable

log = get_logger("session")

MAX_TRIES = 8
FINAL = frozenset({"too_old", "internal"})
"""Refusals that no newer state would change, or that are too dear to try twice."""


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
        on_taken: Callable[[Item], None] | None = None,
    ) -> None:
        self.rules = rules
        self.id = session.header.session
        self.ledger = Ledger(
            rules, session, secret, store=store, clock=clock, metrics=metrics, taken=self._taken, renewed=self._renewed
        )  # fmt: skip
        self.bodies = self.ledger.bodies
        self.fanout = Fanout(rules, self.id, self.bodies, ring, metrics)
        self.log = log.bind(session=self.id)
        self.used_ms = clock.monotonic_ms()
        self._store = store
        self._clock = clock
        self._metrics = metrics
        self._snapshot_every = snapshot_every
        self._on_gone = on_gone
        self._on_taken = on_taken
        self._mailbox: deque[Job] = deque()
        self._busy = False
        self._closing = False
        self._gone = False
        self._heard = 0
        self._lookers: list[asyncio.Future[None]] = []
        self._due = engine.due(session)
        self._tasks: set[asyncio.Task[None]] = set()
        self._presence: asyncio.TimerHandle | None = None
        self._quiet = asyncio.Event()
        self._quiet.set()

    # --- for others ------------------------------------------------------------------------------------------------------

    @property
    def session(self) -> Session:
        """The newest state this node knows."""
        return self.ledger.session

    @property
    def idle(self) -> bool:
        """Nobody watches and nothing is under way."""
        return not self.fanout.viewers and not self._busy and not self._mailbox

    @property
    def gone(self) -> bool:
        """True when this object takes no more commands; the registry makes another one if the session still exists."""
        return self._gone or self._closing

    def submit(self, job: Job) -> None:
        """Queue a command; its `reply` is called exactly once."""
        self.used_ms = self._clock.monotonic_ms()
        if self.gone:
            text = "The table is moving to another server; send it again with the same id."
            job.answer(Refusal("unavailable", text, self.session.v, retry_after=200))
        elif len(self._mailbox) >= MAILBOX:
            job.answer(Refusal("rate_limited", "Too many commands wait for this table.", self.session.v, retry_after=1000))
        else:
            self._mailbox.append(job)
            self._quiet.clear()
            self._pump()

    async def act(
        self, by: str, command: Any, *, client: str = "", n: int = 0, at: int | None = None, texts: Any = (), base: int | None = None
    ) -> Outcome:
        """As submit, and wait for the outcome."""
        future: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()

        def reply(outcome: Outcome) -> None:
            if not future.done():
                future.set_result(outcome)

        self.submit(Job(by=by, command=command, reply=reply, client=client, n=n, at=at, texts=texts, base=base))
        return await future

    def attach(self, viewer: Viewer, resume: tuple[str, int, str] | None) -> list[Wire] | None:
        """Seat a viewer. The frames it missed when it can resume from (epoch, v, stamp), else None: it needs a whole view."""
        self.used_ms = self._clock.monotonic_ms()
        missed: list[Wire] | None = None
        if resume is not None:
            epoch, v, stamp = resume
            if epoch == self.session.epoch:
                here = (v, stamp) == (self.session.v, self.session.stamp)
                missed = [] if here else self.fanout.missed(v, stamp, viewer.seat, viewer.codec)
            self._metrics.resume("full" if missed is None else "ring")
        self.fanout.add(viewer)
        self._announce_presence()
        return missed

    def knows(self, resume: tuple[str, int, str]) -> bool:
        """False when somebody stands where this node has not been: then look at the log before judging who is right."""
        epoch, v, stamp = resume
        session = self.session
        return epoch == session.epoch and v <= session.v and (v < session.v or stamp == session.stamp)

    def detach(self, viewer: Viewer) -> None:
        self.used_ms = self._clock.monotonic_ms()
        self.fanout.remove(viewer)
        self._announce_presence()

    def _announce_presence(self) -> None:
        # Gathered for a moment: two hundred spectators who come at once make a few messages, not forty thousand.
        if self._presence is None and self.fanout.viewers:
            self._presence = asyncio.get_running_loop().call_later(0.1, self._tell_presence)

    def _tell_presence(self) -> None:
        self._presence = None
        if self.fanout.viewers and not self._gone:
            self.fanout.announce(self.fanout.presence())

    async def history(self, seat: str, before: int | None, limit: int) -> tuple[list[dict[str, Any]], bool]:
        """A page of the past for a seat, oldest first, and whether there is more before it. May raise StoreUnavailable."""
        self.used_ms = self._clock.monotonic_ms()
        found = await self._store.entries_before(self.id, before if before is not None else self.session.v + 1, limit)
        entries = [engine.decode_entry(data) for _, data in reversed(found)]
        wanted = [event.body for entry in entries for event in entry.events if event.body]
        # From the store, never from memory: another node may have erased one.
        stored = await self._store.texts(self.id, wanted) if wanted else {}

        def body(text_id: str) -> str | None:
            data = stored.get(text_id)
            return None if data is None else read(data)

        page = list(self.fanout.past(entries, engine.sight_of(self.session, seat), body))
        return page, bool(entries) and entries[0].v > 1

    async def erase(self, text_id: str) -> bool:
        """Forget a text for good; those who join or look back see that something was erased."""
        done = await self._store.erase_text(self.id, text_id)
        self.bodies.put(text_id, None)
        return done

    async def note_erased(self, after: int) -> None:
        """Forget the texts that another node has erased, of entries after this version: somebody is about to be told of them again."""
        held = [event.body for item in self.fanout.ring if item.entry.v > after for event in item.entry.events if event.body]
        wanted = [text_id for text_id in held if self.bodies.get(text_id) is not None]
        if wanted:
            try:
                stored = await self._store.texts(self.id, wanted)
            except StoreUnavailable:
                return  # a table that can be watched while its store is away is worth more
            for text_id in wanted:
                if stored.get(text_id) is None:
                    self.bodies.put(text_id, None)

    async def settled(self) -> None:
        """Wait until no command is under way."""
        await self._quiet.wait()

    # --- looking at the log ----------------------------------------------------------------------------------------------

    def heard(self, v: int) -> None:
        """A hint: the log may have grown to `v`. Costs nothing when that is our own commit, on its way."""
        if v > self.session.v and v > self._heard and not self.gone:
            self._heard = v
            self._quiet.clear()
            self._pump()

    async def look(self) -> None:
        """Read what the log has that we do not know. Raises StoreUnavailable and SessionGone."""
        if self.gone:
            return
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._lookers.append(done)
        self._quiet.clear()
        self._pump()
        await done

    async def _look(self) -> None:
        lookers, self._lookers, self._heard = self._lookers, [], 0
        self.ledger.behind = True
        problem: BaseException | None = None
        try:
            await self.ledger.catch_up()
        except BaseException as found:
            problem = found
            raise
        finally:
            for looker in lookers:
                if not looker.done():
                    if isinstance(problem, Exception):
                        looker.set_exception(problem)
                    else:
                        looker.set_result(None)

    # --- the mailbox -----------------------------------------------------------------------------------------------------

    def _pump(self) -> None:
        """Give the next piece of work its turn, unless something has it."""
        while not self._busy and not self._gone:
            if self._mailbox:
                job = self._mailbox.popleft()
                if self._must_read_first(job):
                    self._spawn(self._carry_out(job))
                else:
                    self._try(job)
            elif self._lookers or self._heard > self.session.v:
                self._spawn(self._look())
            else:
                self._quiet.set()
                return

    def _must_read_first(self, job: Job) -> bool:
        ledger = self.ledger
        return (
            ledger.behind
            or ledger.upgrade
            or (bool(job.client) and job.key not in ledger.acks)
            or engine.undo_target(ledger.session, job.command) is not None
        )

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        self._busy = True
        self._keep(asyncio.get_running_loop().create_task(self._own(work)))

    async def _own(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except SessionGone as gone:
            self._vanish(gone)
        except (Rejected, LogError) as problem:
            # A newer server writes what this one cannot read: it must not show a table that has moved on.
            self.log.error("the log cannot be followed", problem=str(problem))
            self._vanish(SessionGone("read_only", "A newer server has taken this table over; connect again."))
        except StoreUnavailable as problem:
            self.log.warning("store unavailable", problem=problem.text)
        except Exception:
            self.ledger.behind = True
            self.log.exception("session task failed")
        finally:
            self._busy = False
            self._pump()

    def _keep(self, task: asyncio.Task[None]) -> None:
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # --- one command, the usual way: judged at once, its commit answered by a callback --------------------------------------

    def _try(self, job: Job) -> None:
        verdict = self._judge(job, None)
        if isinstance(verdict, Item):
            self._busy = True
            started = self._clock.monotonic_ms()
            future = asyncio.ensure_future(self._store.commit(self._commit(job, verdict)))
            future.add_done_callback(lambda answer: self._committed(job, verdict, started, answer))
        elif self._doubtful(job, verdict):
            self._spawn(self._carry_out(job, verdict))
        else:
            self._answer(job, verdict)

    def _committed(self, job: Job, item: Item, started: int, answer: asyncio.Future[Committed]) -> None:
        done = True
        try:
            self._metrics.commit_seconds.observe((self._clock.monotonic_ms() - started) / 1000)
            done = self._concluded(job, item, answer.result())
        except StoreUnavailable as problem:
            self._unavailable(job, problem)
        except (Exception, asyncio.CancelledError):
            self.log.exception("commit failed")
            self._unavailable(job, StoreUnavailable("The server cannot tell whether this was done; send the same id again."))
        if done:
            self._busy = False
            self._pump()
        else:
            self._spawn(self._carry_out(job))

    # --- one command, the thorough way ---------------------------------------------------------------------------------------

    async def _carry_out(self, job: Job, doubt: Done | Refusal | None = None) -> None:
        """Read what a command needs, judge it, commit it, as often as others are faster. It has its answer at the end, whatever happens."""
        try:
            for _ in range(MAX_TRIES):
                verdict = doubt or await self._read_and_judge(job)
                doubt = None
                if isinstance(verdict, Item):
                    if self._concluded(job, verdict, await self._store.commit(self._commit(job, verdict))):
                        return
                elif not self._doubtful(job, verdict) or await self.ledger.is_newest():
                    self._answer(job, verdict)
                    return
                else:
                    self.ledger.behind = True
            text = "Too many others write to this table at once; send it again with the same id."
            self._unavailable(job, StoreUnavailable(text, retry_after_ms=200))
        except StoreUnavailable as problem:
            self._unavailable(job, problem)
        except SessionGone as gone:
            self._answer(job, Refusal(gone.code, gone.text, self.session.v))
            raise
        except (Rejected, LogError) as problem:
            self._answer(job, Refusal("read_only", str(problem), self.session.v, retry_after=1000))
            raise
        except BaseException:
            # It may have been committed: the same id tells.
            text = "The server failed and cannot tell whether this was done; send the same id again."
            self._unavailable(job, StoreUnavailable(text))
            raise

    async def _read_and_judge(self, job: Job) -> Item | Done | Refusal:
        ledger = self.ledger
        if ledger.behind:
            await ledger.catch_up()
        if ledger.upgrade:
            await ledger.write_upgrade()
        if job.client:
            await ledger.know(job.key)
        return self._judge(job, await ledger.past(job.command, self.fanout.ring))

    def _judge(self, job: Job, past: Past | None) -> Item | Done | Refusal:
        """What a command comes to on the state we know: a step to commit, or an answer."""
        ledger = self.ledger
        before = ledger.session
        if job.client:
            done = ledger.acks.find(job.key, job.n)
            if done:
                return Done(done, "", again=True)
            if done == 0:
                return Refusal("too_old", "That action id is older than those the server remembers.", before.v)
        if job.base is not None and job.base != before.v:
            return Refusal("stale", f"The table is not at version {job.base} any more.", before.v)
        try:
            with watched():
                if job.at is not None and self._is_stale(job, job.at):
                    return Refusal("stale", f"The table has changed since version {job.at}.", before.v, {"at": job.at})
                act = Act(by=job.by, command=job.command, id=job.action, stamp=ids.stamp())
                after, entry = engine.apply(self.rules, before, act, now_ms=self._clock.now_ms(), dice=ledger.dice, past=past)
                data = engine.encode_entry(entry)  # fails on what rules put into the state that no log can hold
        except Rejected as refusal:
            if refusal.code == "internal":
                self._metrics.engine_errors.inc()
                self.log.error("the rules failed", by=job.by, v=before.v, command=repr(job.command)[:500], exc_info=refusal.__cause__)
            return Refusal(refusal.code, refusal.text, before.v, refusal.data or None)
        except TooSlow as problem:
            self._metrics.engine_errors.inc()
            self.log.error("a command took too long", by=job.by, v=before.v, ms=problem.ms, command=repr(job.command)[:500])
            return Refusal("internal", f"The ruleset '{self.rules.name}' took too long over this command; nothing was changed.", before.v)
        except Exception as problem:
            self._metrics.engine_errors.inc()
            self.log.error("the rules failed", by=job.by, v=before.v, command=repr(job.command)[:500], exc_info=problem)
            return Refusal("internal", f"The ruleset '{self.rules.name}' failed on this command; nothing was changed.", before.v)
        if len(data) > LARGE and (outgrown := too_large(after, entry)):
            text = f"That would make {outgrown} larger than a message to a client can be; it was not done."
            return Refusal("limit", text, before.v, {"bytes": MAX_ENTITY})
        return Item(before, after, entry, len(data), data)

    def _doubtful(self, job: Job, verdict: Done | Refusal) -> bool:
        """Whether an answer may be due to what this node has not read yet: another node may have been faster."""
        if isinstance(verdict, Done):
            return verdict.v > self.session.v  # its frame goes first
        return bool(job.client) and verdict.code not in FINAL

    def _commit(self, job: Job, item: Item) -> Commit:
        before, after = item.before, item.after
        assert before is not None
        due = engine.due(after)
        return Commit(
            session=self.id,
            base_v=before.v,
            base_stamp=before.stamp,
            v=after.v,
            stamp=after.stamp,
            entry=item.data,
            client=job.key if job.client else None,
            n=job.n,
            snapshot=engine.encode_snapshot(after) if after.v % self._snapshot_every == 0 else None,
            meta=() if due == self._due else (("due", "" if due is None else str(due)),),
            texts=job.texts,
        )

    def _concluded(self, job: Job, item: Item, result: Committed) -> bool:
        """Act on the store's answer. False when the command must be judged again on what others wrote."""
        if result.status == "ok":
            self._metrics.commits.inc()
            item.data = b""
            for text_id, stored in job.texts:
                self.bodies.put(text_id, read(stored))
            if job.client:
                self.ledger.acks.record(job.key, job.n, item.entry.v)
            self.ledger.take(item)
            self._answer(job, Done(item.entry.v, result.durability))
            return True
        if result.status == "conflict":
            self._metrics.conflicts.inc()
            self.ledger.behind = True
            return False
        if result.status == "duplicate":
            # Another node did it: its entry is read first, then the ack follows from what the store remembers.
            self._metrics.duplicates.inc()
            self.ledger.behind = True
            self.ledger.acks.forget(job.key)
            return False
        if result.status == "too_old":
            self._answer(job, Refusal("too_old", "That action id is older than those the server remembers.", self.session.v))
            return True
        archived = result.status == "archived"
        gone = SessionGone(
            "archived" if archived else "no_session", "The table is in the archive." if archived else "This table does not exist any more."
        )
        self._answer(job, Refusal(gone.code, gone.text, self.session.v))
        self._vanish(gone)
        return True

    def _answer(self, job: Job, outcome: Done | Refusal) -> None:
        if job.answered:
            return
        if isinstance(outcome, Done):
            self._metrics.action("again" if outcome.again else "ok")
        else:
            self._metrics.action(outcome.code)
        try:
            job.answer(outcome)
        except Exception:
            # One broken receiver must not stop the table.
            self.log.exception("an answer could not be given")

    def _unavailable(self, job: Job, problem: StoreUnavailable) -> None:
        if not self.ledger.behind:  # once, not for everybody who tries while it lasts
            self.log.warning("nothing can be written", problem=problem.text)
        self.ledger.behind = True
        read_only = isinstance(problem, StoreReadOnly)
        self._metrics.store_error("read_only" if read_only else "unavailable")
        code = "read_only" if read_only else "unavailable"
        self._answer(job, Refusal(code, problem.text, self.session.v, retry_after=problem.retry_after_ms))

    def _is_stale(self, job: Job, at: int) -> bool:
        """Whether something that this seat can see, other than talk, happened after the version the command was meant for."""
        session = self.session
        if at >= session.v:
            return False
        later = [item for item in self.fanout.ring if item.entry.v > at]
        if len(later) < session.v - at:
            return True
        for item in later:
            if item.entry.quiet:
                continue
            sight = engine.sight_of(item.after, job.by)
            _, parts = engine.Renderer(self.rules, item.before, item.after, item.entry, self.bodies.get).frame(sight)
            if parts.get("view") is not None and not parts.get("events") and item.before is not None:
                # Sent whole because somebody's sight changed; perhaps not this one's.
                if engine.view(self.rules, item.before, engine.sight_of(item.before, job.by)) != parts["view"]:
                    return True
            elif parts:
                return True
        return False

    # --- what the ledger tells -----------------------------------------------------------------------------------------------

    def _taken(self, item: Item) -> None:
        self._note_due()
        started = self._clock.monotonic_ms()
        self.fanout.publish(item)
        self._metrics.fanout_seconds.observe((self._clock.monotonic_ms() - started) / 1000)
        if self._on_taken is not None:
            self._on_taken(item)

    def _renewed(self, session: Session, reason: str) -> None:
        self._note_due()
        self.fanout.reset(session, reason)

    def _note_due(self) -> None:
        due = engine.due(self.session)
        if due != self._due:
            self._due = due
            self._background(self._store.set_due(self.id, due))

    def _background(self, work: Awaitable[None]) -> None:
        """Something derived that the sweep repairs if it is lost."""

        async def run() -> None:
            try:
                await work
            except StoreUnavailable as problem:
                self.log.warning("index not written", problem=problem.text)

        self._keep(asyncio.get_running_loop().create_task(run()))

    # --- deadlines and the end -------------------------------------------------------------------------------------------

    async def fire_deadlines(self) -> int:
        """Act on every deadline that has come; returns how many were. Another node may be first: then they are refused here.

        Reads the log first. Raises StoreUnavailable and SessionGone.
        """
        await self.look()
        fired = 0
        for command in engine.overdue(self.session, self._clock.now_ms()):
            outcome = await self.act(engine.SYSTEM, command)
            fired += isinstance(outcome, Done)
        await self._store.set_due(self.id, engine.due(self.session))
        return fired

    def _vanish(self, gone: SessionGone) -> None:
        if self._gone:
            return
        self._gone = True
        for viewers in list(self.fanout.viewers.values()):
            for viewer in list(viewers):
                viewer.evict(gone.code, gone.text)
        self._end(Refusal(gone.code, gone.text, self.session.v))
        self._on_gone(self)

    def _end(self, refusal: Refusal) -> None:
        while self._mailbox:
            self._answer(self._mailbox.popleft(), refusal)
        for looker in self._lookers:
            if not looker.done():
                looker.set_result(None)
        self._lookers.clear()
        if self._presence is not None:
            self._presence.cancel()
            self._presence = None
        self._quiet.set()

    def let_go(self) -> None:
        """Leave memory. Only while `idle`: nothing is under way that anyone waits for."""
        self._gone = True
        self._end(Refusal("unavailable", "The table left this server's memory; send it again.", self.session.v, retry_after=200))

    async def close(self) -> None:
        """Finish what is under way; nothing is accepted from now on."""
        self._closing = True
        await self.settled()
        self.let_go()
        if self._tasks:
            await asyncio.wait(list(self._tasks), timeout=1)


__all__ = ["Actor", "SessionGone", "load"]
