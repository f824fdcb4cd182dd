"""Group commit: commits that arrive while a round trip is in flight travel together in the next one.

An idle server answers at once, a loaded one batches by itself, and no timer decides between the two. One connection with one
round trip in flight. Measured with nothing but commits to do (tests/bench/store_commits.py), a second one in flight gives half
again as many per second, because Redis works while we read answers; beside an engine that costs ten times as much per action
the difference is lost, and smaller batches cost Redis more.

A commit whose reply got lost is sent again as it was; the script knows a step by (v, stamp) and answers `again`.
"""

from __future__ import annotations

import asyncio
import itertools
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from hashlib import sha1
from typing import Any, Final, cast

import structlog
from hiredis import pack_command
from redis.asyncio.connection import AbstractConnection
from redis.exceptions import ConnectionError, RedisError, ResponseError

from server.store.base import Committed, Status, StoreUnavailable
from server.store.durability import Durability
from server.store.faults import is_transient, needs_new_connection, translate
from server.store.keys import Argument

FIRST_PAUSE_S: Final = 0.02
LONGEST_PAUSE_S: Final = 0.5
SHORTEST_TRY_S: Final = 0.1
KEYS_PER_COMMIT: Final = 6

_log = structlog.get_logger(__name__)


class _Waiting:
    __slots__ = ("deadline", "future", "packed")

    def __init__(self, packed: bytes, deadline: float, future: asyncio.Future[Committed]) -> None:
        self.packed = packed
        self.deadline = deadline
        self.future = future


class GroupCommit:
    """Sends commits and tells each caller its outcome.

    `bound_s` is how long one commit may take, repeats included, before its future fails with StoreUnavailable; `try_s` how
    long one round trip may take. At most `queue_limit` commits wait; more are refused at once. `round_trips`, `sent` and
    `repeats` count batches sent, commits in them and commits put back after a fault: for metrics and tests.
    """

    def __init__(
        self,
        dial: Callable[[], AbstractConnection],
        script: bytes,
        durability: Durability,
        *,
        where: str,
        bound_s: float,
        try_s: float,
        queue_limit: int = 10_000,
        batch_limit: int = 512,
        batch_bytes: int = 4 * 1024 * 1024,
    ) -> None:
        self.round_trips = 0
        self.sent = 0
        self.repeats = 0
        self._dial = dial
        self._script = script
        self._sha = sha1(script, usedforsecurity=False).hexdigest()
        self._durability = durability
        self._where = where
        self._bound_s = bound_s
        self._try_s = try_s
        self._queue_limit = queue_limit
        self._batch_limit = batch_limit
        self._batch_bytes = batch_bytes
        self._queue: deque[_Waiting] = deque()
        self._wake = asyncio.Event()
        self._connection: AbstractConnection | None = None
        self._task: asyncio.Task[None] | None = None
        self._closed = False

    @property
    def queued(self) -> int:
        """Commits that wait for the next round trip."""
        return len(self._queue)

    async def start(self) -> None:
        """Connect and begin to send. Raises StoreUnavailable when no connection can be made within the bound."""
        deadline = self._now() + self._bound_s
        pause = FIRST_PAUSE_S
        while True:
            try:
                async with asyncio.timeout(min(self._try_s, max(SHORTEST_TRY_S, deadline - self._now()))):
                    await self._connected()
                break
            except StoreUnavailable:
                raise
            except (RedisError, OSError) as error:
                await self._hang_up()
                if not is_transient(error) or self._now() + pause > deadline:
                    raise translate(error, self._where) from error
                await asyncio.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE_S)
        self._task = asyncio.create_task(self._run(), name="store-commits")

    async def close(self) -> None:
        """Send what still waits, within the bound, then hang up."""
        self._closed = True
        self._wake.set()
        if self._task is not None:
            # Every commit that waits has a deadline, so the task ends by itself.
            await self._task
            self._task = None
        await self._hang_up()

    def submit(self, arguments: Sequence[Argument]) -> asyncio.Future[Committed]:
        """Queue one commit; `arguments` as made by keys.commit_arguments. Cancelling the future does not cancel the commit."""
        future: asyncio.Future[Committed] = asyncio.get_running_loop().create_future()
        # A caller that was cancelled never looks at its answer; that is not worth a warning.
        future.add_done_callback(_seen)
        if self._closed or self._task is None:
            future.set_exception(StoreUnavailable("the store is closed; the server is stopping", retry_after_ms=2000))
        elif len(self._queue) >= self._queue_limit:
            future.set_exception(StoreUnavailable(f"{self._queue_limit} commits wait for Redis already; it is too slow for this load"))
        else:
            self._queue.append(_Waiting(_pack("EVALSHA", self._sha, KEYS_PER_COMMIT, *arguments), self._now() + self._bound_s, future))
            self._wake.set()
        return future

    # ------------------------------------------------------------------ the one task

    async def _run(self) -> None:
        pause = FIRST_PAUSE_S
        while True:
            while not self._queue:
                if self._closed:
                    return
                self._wake.clear()
                await self._wake.wait()
            batch = self._take()
            try:
                await self._send(batch)
                pause = FIRST_PAUSE_S
                continue
            except Exception as error:
                await self._hang_up()
                if not isinstance(error, StoreUnavailable) and is_transient(error):
                    self._put_back(batch, error)
                else:
                    self._fail(batch, error)
                    if not isinstance(error, (StoreUnavailable, RedisError)):
                        _log.exception("commit_batch_failed", commits=len(batch))
            if self._queue:
                await asyncio.sleep(max(0.0, min(pause, self._queue[0].deadline - self._now())))
                pause = min(2 * pause, LONGEST_PAUSE_S)

    def _take(self) -> list[_Waiting]:
        batch: list[_Waiting] = []
        size = 0
        while self._queue and len(batch) < self._batch_limit and size < self._batch_bytes:
            batch.append(self._queue.popleft())
            size += len(batch[-1].packed)
        return batch

    async def _send(self, batch: list[_Waiting]) -> None:
        """One round trip. Settles every commit that got an answer; raises when the connection failed."""
        # A try that begins late still gets a moment, or a commit that waited for a restart would never see it succeed.
        limit = min(self._try_s, max(SHORTEST_TRY_S, batch[0].deadline - self._now()))
        async with asyncio.timeout(limit):
            connection = await self._connected()
            commands = [waiting.packed for waiting in batch]
            wait = self._durability.wait_command()
            if wait is not None:
                commands.append(_pack(*wait))
            self.round_trips += 1
            self.sent += len(batch)
            answers = await _exchange(connection, commands)
        confirmed = answers.pop() if wait is not None else None
        if isinstance(confirmed, ResponseError):
            _log.warning("durability_wait_refused", said=str(confirmed))
            confirmed = 0
        self._settle(batch, answers, self._durability.label(confirmed))

    def _settle(self, batch: list[_Waiting], answers: list[Any], durability: str) -> None:
        again: list[_Waiting] = []
        fresh_connection: Exception | None = None
        for waiting, answer in zip(batch, answers, strict=True):
            if isinstance(answer, ResponseError):
                if needs_new_connection(answer) or is_transient(answer):
                    fresh_connection = answer
                if is_transient(answer):
                    again.append(waiting)
                elif not waiting.future.done():
                    waiting.future.set_exception(translate(answer, self._where))
            elif not waiting.future.done():
                waiting.future.set_result(self._committed(answer, durability))
        if fresh_connection is not None:
            batch[:] = again
            raise fresh_connection

    def _committed(self, answer: list[Any], durability: str) -> Committed:
        status, v, stamp, again = answer
        written_now = status == b"ok" and not again
        return Committed(
            status=cast(Status, status.decode()),
            v=int(v),
            stamp=stamp.decode(),
            # A wait speaks for what this connection wrote in this batch, so an older write may claim the server's own label only.
            durability=durability if written_now else self._durability.local,
        )

    # ------------------------------------------------------------------ faults

    def _put_back(self, batch: list[_Waiting], error: Exception) -> None:
        """Queue a failed batch again, in its order, and give up what has waited too long."""
        self.repeats += len(batch)
        self._queue.extendleft(reversed(batch))
        now = self._now()
        late = list(itertools.takewhile(lambda waiting: waiting.deadline <= now, self._queue))
        for _ in late:
            self._queue.popleft()
        _log.warning("commits_wait", said=str(error) or type(error).__name__, waiting=len(self._queue), given_up=len(late))
        self._fail(late, error)

    def _fail(self, batch: Iterable[_Waiting], error: Exception) -> None:
        for waiting in batch:
            if not waiting.future.done():
                waiting.future.set_exception(translate(error, self._where))

    # ------------------------------------------------------------------ the connection

    async def _connected(self) -> AbstractConnection:
        """The open connection, or a new one that knows the script and whose server's durability is known."""
        if self._connection is not None:
            return self._connection
        connection = self._dial()

        async def ask(*command: Argument) -> Any:
            (answer,) = await _exchange(connection, [_pack(*command)])
            if isinstance(answer, Exception):
                raise answer
            return answer

        try:
            await connection.connect()  # type: ignore[no-untyped-call]
            await ask("SCRIPT", "LOAD", self._script)
            await self._durability.probe(ask)
        except BaseException:
            await _disconnect(connection)
            raise
        self._connection = connection
        return connection

    async def _hang_up(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            await _disconnect(connection)

    def _now(self) -> float:
        return asyncio.get_running_loop().time()


def _pack(*command: Argument) -> bytes:
    """A command as it goes over the wire. hiredis does this in C; the library's own packing costs half of all the time of a commit."""
    return cast(bytes, cast(Any, pack_command)(command))


async def _exchange(connection: AbstractConnection, commands: Sequence[bytes]) -> list[Any]:
    """Send packed `commands` in one write and read one answer each; error answers are values, a broken connection raises."""
    if not connection.is_connected:
        # redis-py would silently dial again, without the script and the probe.
        raise ConnectionError("the connection was closed")
    await connection.send_packed_command(commands, check_health=False)
    answers: list[Any] = []
    for _ in commands:
        try:
            answers.append(await connection.read_response())
        except ResponseError as error:
            answers.append(error)
    return answers


async def _disconnect(connection: AbstractConnection) -> None:
    try:
        await connection.disconnect(nowait=True)
    except (RedisError, OSError):
        pass  # it is gone, which is what was wanted


def _seen(future: asyncio.Future[Committed]) -> None:
    if not future.cancelled():
        future.exception()
