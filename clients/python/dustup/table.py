"""One joined table: its live view, what may be done, and what happens at it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from ._codec import Message
from ._replica import Replica, View
from .errors import DustupError, Lagged

if TYPE_CHECKING:
    from .client import Client

log = logging.getLogger("dustup")

QUEUE = 1000
"""Frames or prompts an iterator may fall behind before it ends with Lagged."""

T = TypeVar("T")
FrameCallback = Callable[[Message], object]


@dataclass(frozen=True, slots=True)
class Ack:
    """An action is done and durable as told. `again` is True when this very action had been done before (a repeated send).

    `v`: the table's version with the action in it (None when the server names none). `durability`: memory, os, disk or replicas:n.
    """

    id: str
    session: str
    v: int | None
    durability: str | None
    again: bool = False


class Options(list[dict[str, Any]]):
    """Legal options as the server lists them, and the version `v` they were computed at."""

    v: int = 0


class Page(list[dict[str, Any]]):
    """Frames of the past, oldest first; `more` says whether earlier ones exist."""

    more: bool = False


class _Feed:
    """One iterator's bounded queue. Ends with an error: the table's, or Lagged when its reader is too slow."""

    def __init__(self, limit: int) -> None:
        self._items: asyncio.Queue[Message | DustupError] = asyncio.Queue()
        self._limit = limit
        self.over = False

    def put(self, item: Message) -> None:
        if self.over:
            return
        if self._items.qsize() >= self._limit:
            self.end(Lagged(f"more than {self._limit} were waiting to be read"))
        else:
            self._items.put_nowait(item)

    def end(self, error: DustupError) -> None:
        if not self.over:
            self.over = True
            self._items.put_nowait(error)

    async def next(self) -> Message:
        item = await self._items.get()
        if isinstance(item, DustupError):
            raise item
        return item


class Table:
    """A table this client sits at. Made by `Client.join`; ends when left, lost, or when the client closes."""

    def __init__(self, client: Client, replica: Replica) -> None:
        self.client = client
        self._replica = replica
        self._feeds: set[_Feed] = set()
        self._prompt_feeds: dict[_Feed, set[str]] = {}
        self._callbacks: list[FrameCallback] = []
        self._waiters: set[asyncio.Future[None]] = set()
        self._changes = 0
        self._error: DustupError | None = None

    # ---- what is

    @property
    def session(self) -> str:
        return self._replica.session

    @property
    def view(self) -> View:
        """{kind: {id: {field: value}}}, one dict for life, kept up to date by frames. Not yours to change."""
        return self._replica.view

    @property
    def v(self) -> int:
        """The version of the view."""
        return self._replica.v

    @property
    def stamp(self) -> str:
        return self._replica.stamp

    @property
    def epoch(self) -> str:
        return self._replica.epoch

    @property
    def seat(self) -> str:
        return self._replica.seat or ""

    @property
    def role(self) -> str:
        return self._replica.role or ""

    @property
    def ruleset(self) -> str:
        return self._replica.ruleset or ""

    @property
    def variant(self) -> str:
        return self._replica.variant or ""

    @property
    def recent(self) -> list[Message]:
        """The last frames seen (those of `join(history=n)` first), oldest first, at most 200."""
        return list(self._replica.recent)

    @property
    def presence(self) -> dict[str, int]:
        """Open connections by seat, as last told."""
        return self._replica.presence

    @property
    def prompts_open(self) -> list[Message]:
        """Prompts that wait for this seat's answer, each with `id`, `type`, `text`, `choices` and so on."""
        return self._replica.open_prompts()

    @property
    def lost(self) -> DustupError | None:
        """Why the table has ended, None while it lives."""
        return self._error

    @property
    def changes(self) -> int:
        """Grows with everything that arrives for this table. To be given to `changed`."""
        return self._changes

    # ---- what may be done

    async def do(self, command: str | Mapping[str, Any], /, *, at: int | None = None, **fields: Any) -> Ack:
        """Do one command: `do("attack", target="c2")` or `do({"type": "attack", "target": "c2"})`.

        Sent until answered, by one id, through lost connections: it happens at most once. When this returns, the view has it.
        `at` is the version the command was meant for; the server refuses it as `stale` if the table has changed since. Raises
        Refused (nothing done), Unavailable (outcome unknown after the client's patience), BadMessage, Closed.
        """
        whole = {"type": command, **fields} if isinstance(command, str) else {**command, **fields}
        body: Message = {"command": whole}
        if at is not None:
            body["at"] = at
        ack = self._ack(await self.client._ask("do", self.session, body, ordered=True))
        if ack.v is not None and ack.v > self.v:
            await self._catch_up(ack.v)
        return ack

    async def answer(self, prompt: str, choice: str) -> Ack:
        """Answer a prompt by its id with the `value` of one of its choices. Raises as `do`."""
        return await self.do({"type": "answer", "prompt": prompt, "choice": choice})

    async def chat(self, text: str, **fields: Any) -> Ack:
        """Say something to everyone at the table. Raises as `do`."""
        return await self.do({"type": "chat", "text": text, **fields})

    async def post(self, text: str, **fields: Any) -> Ack:
        """Post a longer text to the table. Raises as `do`."""
        return await self.do({"type": "post", "text": text, **fields})

    async def salt(self, text: str) -> Ack:
        """Add this seat's own salt (1..64 characters) to the dice before the first roll. Raises as `do`."""
        return self._ack(await self.client._ask("salt", self.session, {"salt": text}, ordered=True))

    async def options(self) -> Options:
        """What this seat may do now: a list of {type, text, command, params, cost, combatant?, odds?, group?}."""
        answer = await self.client._ask("options", self.session, {})
        options = Options(answer.get("options") or [])
        options.v = answer.get("v", 0)
        return options

    async def odds(self, command: Mapping[str, Any]) -> dict[str, Any]:
        """Exact chances of a command: {type, text, parts: [{name, text, p: "a/b"}], damage?: [{value, p}]}."""
        answer = await self.client._ask("odds", self.session, {"command": dict(command)})
        odds: dict[str, Any] = answer.get("odds") or {}
        return odds

    async def history(self, before: int | None = None, limit: int = 50) -> Page:
        """Up to `limit` (1..200) past frames before version `before` (the newest when None), as this seat may see them."""
        body: Message = {"limit": limit}
        if before is not None:
            body["before"] = before
        answer = await self.client._ask("history", self.session, body)
        page = Page(answer.get("frames") or [])
        page.more = bool(answer.get("more"))
        return page

    async def leave(self) -> None:
        """Stop following the table. The seat stays yours; join again at any time."""
        await self.client._leave(self.session)

    # ---- what happens

    async def frames(self) -> AsyncGenerator[Message, None]:
        """Everything that moves the view from now on, in order: frames, and `reset` or `joined` messages when all of it was replaced.

        Raises Lagged when more than 1000 wait unread, or the error that ended the table.
        """
        feed = _Feed(QUEUE)
        self._feeds.add(feed)
        try:
            if self._error is not None:
                raise self._error
            while True:
                yield await feed.next()
        finally:
            self._feeds.discard(feed)

    async def prompts(self) -> AsyncGenerator[Message, None]:
        """Every prompt for this seat once: those open now, then each new one. Raises as `frames`."""
        feed = _Feed(QUEUE)
        self._prompt_feeds[feed] = set()
        try:
            if self._error is not None:
                raise self._error
            self._feed_prompts()
            while True:
                yield await feed.next()
        finally:
            self._prompt_feeds.pop(feed, None)

    def on_frame(self, callback: FrameCallback) -> Callable[[], None]:
        """Call `callback(message)` for everything `frames()` would give, at once and in order. Returns a function that ends it.

        It runs in the reader: keep it short. What it raises is logged and otherwise ignored.
        """
        self._callbacks.append(callback)

        def stop() -> None:
            if callback in self._callbacks:
                self._callbacks.remove(callback)

        return stop

    async def changed(self, seen: int) -> int:
        """Wait until `changes` differs from `seen`, and give its value. Raises the error that ended the table."""
        while self._changes == seen:
            if self._error is not None:
                raise self._error
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiters.add(waiter)
            try:
                await waiter
            finally:
                self._waiters.discard(waiter)
        return self._changes

    async def wait_for(self, predicate: Callable[[View], T], timeout: float | None = None) -> T:
        """Wait until `predicate(view)` is true and give what it returned; it is tried now and after every change.

        Raises TimeoutError after `timeout` seconds, or the error that ended the table.
        """
        async with asyncio.timeout(timeout):
            while True:
                seen = self._changes
                result = predicate(self.view)
                if result:
                    return result
                await self.changed(seen)

    async def _catch_up(self, v: int) -> None:
        """Only after a lost frame or a reconnect: the view is on its way. The action is done in any case, so nothing is raised."""
        epoch = self.epoch  # in another epoch that version may never come: the log lost it
        try:
            await self.wait_for(lambda _: self.v >= v or self.epoch != epoch, self.client.patience)
        except (DustupError, TimeoutError) as error:
            log.warning("table %s: the view has not reached version %s: %s", self.session, v, error)

    # ---- called by the client

    def _moved(self, message: Message) -> None:
        for feed in list(self._feeds):
            feed.put(message)
        for callback in list(self._callbacks):
            try:
                callback(message)
            except Exception:
                log.exception("an on_frame callback failed")
        self._pulse()

    def _pulse(self) -> None:
        self._changes += 1
        self._feed_prompts()
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)

    def _end(self, error: DustupError) -> None:
        if self._error is None:
            self._error = error
        for feed in [*self._feeds, *self._prompt_feeds]:
            feed.end(error)
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)

    def _feed_prompts(self) -> None:
        if not self._prompt_feeds:
            return
        prompts = self.prompts_open
        now_open = {prompt["id"] for prompt in prompts}
        for feed, told in self._prompt_feeds.items():
            told &= now_open
            for prompt in prompts:
                if prompt["id"] not in told:
                    told.add(prompt["id"])
                    feed.put(prompt)

    def _ack(self, answer: Message) -> Ack:
        return Ack(answer["id"], self.session, answer.get("v"), answer.get("durability"), bool(answer.get("again")))
