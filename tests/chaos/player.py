"""One client of the bare protocol that never gives up: acts from options and prompts, loses connections, re-sends, resumes, races.

It notes everything it says and hears in the history, and keeps its view by SPEC.md alone.
"""

from __future__ import annotations

import asyncio
import random
from collections import deque
from typing import Any

import aiohttp
import msgpack  # type: ignore[import-untyped]  # it ships no types

from tests.chaos.history import Acked, Broken, History, Refused, Saw, Sent, Unsure, View, now

Message = dict[str, Any]
Command = dict[str, Any]

PATIENCE_S = 1.7
"""How long an answer may take. A wait for a replica that is away takes a second."""
OPEN_FOR_AGAIN = frozenset({"unavailable", "read_only", "rate_limited", "shutting_down", "not_joined", "resync", "archived", "internal"})
"""Codes after which the same action is sent again with the same id."""
NO_PLAY = ("gm.", "seat.", "dice.", "test.")


class Lost(Exception):
    """This connection is of no use any more."""


class Gone(Exception):
    """The table does not exist any more."""


class Player:
    """A client `name` on a seat. `urls` are all nodes, up or down; it picks. `twin`, if set, shares the seat and races this one."""

    def __init__(
        self, http: aiohttp.ClientSession, history: History, urls: list[str], session: str, seat: str, token: str, name: str, seed: str
    ) -> None:
        self.session, self.seat, self.name = session, seat, name
        self.twin: Player | None = None
        self.gone = False
        self.pace_s = 0.5
        self.view: dict[str, dict[str, Any]] = {}
        self.epoch, self.v, self.stamp = "", 0, ""
        self.inbox: deque[Command] = deque(maxlen=2)
        self._http, self._history, self._urls, self._token = http, history, urls, token
        self._rng = random.Random(seed)
        self._socket: aiohttp.ClientWebSocketResponse | None = None
        self._reader: asyncio.Task[None] | None = None
        self._answers: dict[str, asyncio.Future[Message]] = {}
        self._parts: list[Message] = []
        self._moved = asyncio.Event()
        self._nudge = asyncio.Event()
        self._link = 0
        self._asked = 0
        self._n = 0
        self._done: deque[tuple[str, Command]] = deque(maxlen=20)

    # --- the life of a client ---------------------------------------------------------------------------------------------

    async def play(self, over: asyncio.Event) -> None:
        """Act until it is over, whatever happens."""
        while not over.is_set() and not self.gone:
            try:
                await self._connected()
                await self._turn()
            except Lost:
                await self.hang_up()
                await asyncio.sleep(self._rng.uniform(0.05, 0.3))
            except Gone:
                self.gone = True

    async def catch_up(self, v: int, within_s: float) -> None:
        """Be connected and wait until the view has reached version `v`. Raises TimeoutError."""
        async with asyncio.timeout(within_s):
            while self.v < v and not self.gone:
                try:
                    await self._connected()
                    self._moved.clear()
                    if self.v < v:
                        async with asyncio.timeout(PATIENCE_S):
                            await self._moved.wait()
                except (Lost, TimeoutError):
                    await self.hang_up()
                except Gone:
                    self.gone = True

    async def say(self, text: str) -> int:
        """Chat, however often it takes; the version it became."""
        while True:
            try:
                await self._connected()
                v = await self._do({"type": "chat", "text": text})
                if v is not None:
                    return v
            except Lost:
                await self.hang_up()
                await asyncio.sleep(0.1)

    def final(self) -> View:
        return View(client=self.name, session=self.session, seat=self.seat, epoch=self.epoch, v=self.v, stamp=self.stamp, view=self.view)

    async def hang_up(self) -> None:
        """Drop the connection without a word."""
        socket, self._socket = self._socket, None
        reader, self._reader = self._reader, None
        if reader is not None:
            reader.cancel()
            await asyncio.gather(reader, return_exceptions=True)
        if socket is not None:
            socket._response.close()  # closing the socket itself would say good-bye

    # --- what to do -------------------------------------------------------------------------------------------------------

    async def _turn(self) -> None:
        dice = self._rng.random()
        if dice < 0.04:
            await self.hang_up()
            return
        if dice < 0.08 and self._done:
            id, command = self._rng.choice(self._done)
            await self._attempt(id, command)
            return
        command = self.inbox.popleft() if self.inbox else await self._choose()
        if self.twin is not None and command["type"] != "chat" and self._rng.random() < 0.4:
            self.twin.inbox.append(command)
            self.twin._nudge.set()
        await self._do(command)
        self._nudge.clear()
        try:
            async with asyncio.timeout(self._rng.uniform(0.3, 1.7) * self.pace_s):
                await self._nudge.wait()
        except TimeoutError:
            pass

    async def _choose(self) -> Command:
        for id, prompt in self.view.get("prompts", {}).items():
            if prompt.get("choices") and prompt.get("to", self.seat) == self.seat and not prompt.get("answered"):
                return {"type": "answer", "prompt": id, "choice": self._rng.choice(prompt["choices"])["value"]}
        dice = self._rng.random()
        if dice < 0.2:
            return {"type": "chat", "text": f"{self.name} says {self._rng.randrange(1000)}"}
        if dice < 0.3:
            return {"type": "roll", "notation": "2d20", "hidden": self.seat == "gm" and self._rng.random() < 0.5}
        if self.seat == "gm" and dice < 0.4:
            return self._rng.choice([{"type": "gm.undo"}, {"type": "gm.clock", "minutes": 1}, {"type": "gm.dice", "stream": "open"}])
        answer = await self._ask("options")
        options = [one for one in answer.get("options") or [] if not one["command"]["type"].startswith(NO_PLAY)]
        if not options:
            return {"type": "chat", "text": f"{self.name} waits"}
        option = self._rng.choice(options)
        command = dict(option["command"])
        for param in option.get("params") or []:
            if param.get("choices"):
                command[param["name"]] = self._rng.choice(param["choices"])["value"]
            elif not param.get("optional"):
                command[param["name"]] = param.get("default") or param.get("min") or 0
        return command

    async def _do(self, command: Command) -> int | None:
        """One action under one id until its fate is known, or, seldom, until patience ends. The version it became."""
        self._n += 1
        id = f"{self.name}.{self._n}"
        while True:
            try:
                await self._connected()
                answer = await self._attempt(id, command)
            except Lost:
                self._note(Unsure, id=id, code="lost", final=False)
                await self.hang_up()
                answer = {"code": "lost"}
            if answer.get("t") == "ack":
                self._done.append((id, command))
                return int(answer["v"])
            code = answer["code"]
            if code == "no_session":
                raise Gone
            if code != "lost" and code not in OPEN_FOR_AGAIN:
                return None
            if self._rng.random() < 0.03:
                self._note(Unsure, id=id, code=code, final=True)
                return None
            await asyncio.sleep(min(answer.get("retry_after") or 100, 500) / 1000 * self._rng.uniform(0.5, 1.5))
            if code == "not_joined" or self._rng.random() < 0.3:
                await self.hang_up()

    async def _attempt(self, id: str, command: Command) -> Message:
        """Send an action once and note its answer. Raises Lost when none comes."""
        self._note(Sent, id=id, kind=command["type"])
        answer = await self._ask("do", id, command=command)
        if answer["t"] == "error" and answer["code"] not in OPEN_FOR_AGAIN and answer["code"] != "no_session":
            self._note(Refused, id=id, code=answer["code"])
        elif answer["t"] == "error":
            self._note(Unsure, id=id, code=answer["code"])
        return answer

    # --- the connection ---------------------------------------------------------------------------------------------------

    async def _connected(self) -> None:
        """Have a connection that has joined: to any node, resuming where this client stands. Raises Lost and Gone."""
        if self._socket is not None and self._reader is not None and not self._reader.done():
            return
        await self.hang_up()
        self._link += 1
        self._parts = []
        try:
            async with asyncio.timeout(PATIENCE_S):
                url = self._rng.choice(self._urls) + "/v1/ws"
                self._socket = await self._http.ws_connect(url, protocols=("dustup.v1.msgpack",), max_msg_size=8 * 2**20)
                await self._send({"t": "hello", "token": self._token, "min": 1, "max": 1})
                first = await self._socket.receive()
                if first.type is not aiohttp.WSMsgType.BINARY or msgpack.unpackb(first.data)["t"] != "welcome":
                    raise Lost
        except (aiohttp.ClientError, OSError, TimeoutError) as problem:
            raise Lost from problem
        self._reader = asyncio.create_task(self._read(self._socket))
        fields: Message = {"resume": {"epoch": self.epoch, "v": self.v, "stamp": self.stamp}} if self.v else {}
        answer = await self._ask("join", **fields)
        if answer["t"] == "error":
            if answer["code"] == "no_session":
                raise Gone
            await asyncio.sleep(min(answer.get("retry_after") or 100, 1000) / 1000)
            raise Lost

    async def _ask(self, kind: str, id: str = "", **fields: Any) -> Message:
        """One request and its answer. Raises Lost when none comes in time."""
        if not id:
            self._asked += 1
            id = f"q{self._asked}"
        future = self._answers[id] = asyncio.get_running_loop().create_future()
        try:
            async with asyncio.timeout(PATIENCE_S):
                await self._send({"t": kind, "id": id, "session": self.session, **fields})
                return await future
        except TimeoutError as problem:
            raise Lost from problem
        finally:
            self._answers.pop(id, None)

    async def _send(self, message: Message) -> None:
        if self._socket is None:
            raise Lost
        try:
            await self._socket.send_bytes(msgpack.packb(message))
        except (aiohttp.ClientError, OSError) as problem:
            raise Lost from problem

    async def _read(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        try:
            async for frame in socket:
                if frame.type is aiohttp.WSMsgType.BINARY:
                    self._hear(msgpack.unpackb(frame.data))
        finally:
            for future in self._answers.values():
                if not future.done():
                    future.set_exception(Lost())
                    future.exception()  # nobody may be waiting for it any more

    # --- keeping the view -------------------------------------------------------------------------------------------------

    def _hear(self, message: Message) -> None:
        if message.get("parts"):
            self._parts.append(message)
            if message["part"] < message["parts"]:
                return
            message = self._united()
        kind = message["t"]
        if kind == "joined" and not message["resumed"]:
            self._stand(kind, message, message["view"])
        elif kind == "joined":
            self._stand("resumed", {"epoch": self.epoch, "v": self.v, "stamp": self.stamp}, self.view)
        elif kind == "reset":
            self._stand(kind, message, message["view"])
        elif kind == "frame":
            self._frame(message)
        elif kind == "ack":
            self._note(
                Acked, id=message["id"], v=message["v"], durability=message.get("durability") or "", again=bool(message.get("again"))
            )
        future = self._answers.get(message.get("id") or "")
        if future is not None and not future.done():
            future.set_result(message)

    def _frame(self, message: Message) -> None:
        if message["v"] != self.v + 1:
            self._note(Broken, what=f"frame {message['v']} came after version {self.v}")
        view = message["view"] if message.get("view") is not None else self.view
        for kind, entities in (message.get("views") or {}).items():
            view.setdefault(kind, {}).update(entities)
        for kind, ids in (message.get("gone") or {}).items():
            for entity in ids:
                view.get(kind, {}).pop(entity, None)
        self._stand("frame", {"epoch": self.epoch, "v": message["v"], "stamp": message["stamp"]}, view)

    def _stand(self, how: str, place: Message, view: dict[str, dict[str, Any]]) -> None:
        self.epoch, self.v, self.stamp, self.view = place["epoch"], place["v"], place["stamp"], view
        self._note(Saw, how=how, epoch=self.epoch, v=self.v, stamp=self.stamp)
        self._moved.set()

    def _united(self) -> Message:
        whole, self._parts = self._parts, []
        field = "view" if whole[0].get("view") is not None else "views"
        for part in whole[1:]:
            for kind, entities in (part.get(field) or {}).items():
                whole[0][field].setdefault(kind, {}).update(entities)
        return whole[0]

    def _note(self, note: type[Any], /, **fields: Any) -> None:
        self._history.note(note(at=now(), session=self.session, client=self.name, seat=self.seat, link=self._link, **fields))
