"""A client of the bare protocol for tests: says exactly what it is told to, keeps its views by SPEC.md alone, notes everything in order."""

from __future__ import annotations

import asyncio
import copy
import json
from collections.abc import Callable, Mapping
from typing import Any

import aiohttp
import msgpack  # type: ignore[import-untyped]

Message = dict[str, Any]

PATIENCE_S = 20.0


async def eventually(condition: Callable[[], object], patience_s: float = PATIENCE_S) -> None:
    """Wait for something inside the server that tells nobody when it happens. Raises TimeoutError."""
    async with asyncio.timeout(patience_s):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.001)


class Ended(Exception):
    """The server closed the connection; `code` is the close code."""

    def __init__(self, code: int | None) -> None:
        super().__init__(f"closed with {code}")
        self.code = code


class Replica:
    """One session as SPEC.md section 8 tells a client to keep it. A gap, a doubled or a foreign frame is an AssertionError."""

    def __init__(self, joined: Message, view: dict[str, dict[str, Any]]) -> None:
        self.seat: str = joined["seat"]
        self.view = view
        self.v: int = joined["v"]
        self.stamp: str = joined["stamp"]
        self.epoch: str = joined["epoch"]
        self.frames: list[Message] = []

    def frame(self, message: Message) -> None:
        assert message["v"] == self.v + 1, f"frame {message['v']} after version {self.v}"
        self.frames.append(message)
        if message.get("view") is not None:
            self.view = message["view"]
        for kind, entities in (message.get("views") or {}).items():
            self.view.setdefault(kind, {}).update(entities)
        for kind, ids in (message.get("gone") or {}).items():
            for entity_id in ids:
                self.view.get(kind, {}).pop(entity_id, None)
        self.v, self.stamp = message["v"], message["stamp"]

    @property
    def shown(self) -> dict[str, dict[str, Any]]:
        """The view without kinds that hold nothing: absent and empty are the same."""
        return {kind: copy.deepcopy(entities) for kind, entities in self.view.items() if entities}

    @property
    def resume(self) -> Message:
        return {"epoch": self.epoch, "v": self.v, "stamp": self.stamp}


class RawClient:
    """One connection. `seen` is everything the server said, in order."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse, *, text: bool) -> None:
        self.socket = socket
        self.text = text
        self.seen: list[Message] = []
        self.tables: dict[str, Replica] = {}
        self.close_code: int | None = None
        self._unread: list[Message] = []
        self._parts: dict[str, list[Message]] = {}
        self._n = 0

    # --- out

    async def send(self, message: Mapping[str, Any]) -> None:
        if self.text:
            await self.socket.send_str(json.dumps(message))
        else:
            await self.socket.send_bytes(msgpack.packb(dict(message)))

    async def send_bytes(self, data: bytes) -> None:
        await self.socket.send_bytes(data)

    def next_id(self) -> str:
        self._n += 1
        return f"r{self._n}"

    # --- in

    async def receive(self) -> Message:
        """The next message, applied to its table's replica. Raises Ended when there is none any more."""
        async with asyncio.timeout(PATIENCE_S):
            frame = await self.socket.receive()
        if frame.type in (aiohttp.WSMsgType.CLOSE, aiohttp.WSMsgType.CLOSED, aiohttp.WSMsgType.CLOSING, aiohttp.WSMsgType.ERROR):
            self.close_code = self.socket.close_code
            raise Ended(self.close_code)
        assert frame.type is (aiohttp.WSMsgType.TEXT if self.text else aiohttp.WSMsgType.BINARY), frame
        message: Message = json.loads(frame.data) if self.text else msgpack.unpackb(frame.data)
        self.seen.append(message)
        self._apply(message)
        return message

    async def until(self, wanted: Callable[[Message], bool]) -> Message:
        """Read on until a message is `wanted`, and give it."""
        while True:
            message = await self.receive()
            if wanted(message):
                return message

    async def answer(self, id: str) -> Message:
        """The answer to a request, read already or still to come."""
        for message in self.seen:
            if message.get("id") == id:
                return message
        return await self.until(lambda message: message.get("id") == id)

    async def at(self, session: str, v: int) -> Replica:
        """Read until the table's replica has reached version `v`."""
        while self.tables[session].v < v:
            await self.receive()
        return self.tables[session]

    async def ended(self) -> int | None:
        """Read until the server closes; its close code."""
        try:
            while True:
                await self.receive()
        except Ended as end:
            return end.code

    def of(self, kind: str) -> list[Message]:
        return [message for message in self.seen if message["t"] == kind]

    # --- asking

    async def hello(self, token: str, **fields: Any) -> Message:
        await self.send({"t": "hello", "token": token, "min": 1, "max": 1, **fields})
        return await self.receive()

    async def join(self, session: str, **fields: Any) -> Message:
        """Join and give the answer, a `joined` (its parts united, its replica in `tables`) or an `error`."""
        id = fields.pop("id", None) or self.next_id()
        await self.send({"t": "join", "session": session, "id": id, **fields})
        answer = await self.answer(id)
        while session in self._parts:
            await self.receive()
        return answer

    async def ask(self, kind: str, session: str, **fields: Any) -> Message:
        id = fields.pop("id", None) or self.next_id()
        await self.send({"t": kind, "session": session, "id": id, **fields})
        return await self.answer(id)

    async def do(self, session: str, id: str, command: Mapping[str, Any], **fields: Any) -> Message:
        """Do a command and give its answer, the one that comes after this call (an id may be sent more than once)."""
        await self.send({"t": "do", "id": id, "session": session, "command": dict(command), **fields})
        return await self.until(lambda message: message.get("id") == id)

    async def settle(self) -> None:
        """Read everything the server has said until now."""
        id = self.next_id()
        await self.send({"t": "ping", "id": id})
        await self.answer(id)

    async def close(self) -> None:
        await self.socket.close()

    # --- keeping views

    def _apply(self, message: Message) -> None:
        kind, session = message["t"], message.get("session", "")
        if message.get("parts"):
            held = self._parts.setdefault(session, [])
            held.append(message)
            assert message["part"] == len(held)
            if message["part"] < message["parts"]:
                return
            message = self._unite(self._parts.pop(session))
        else:
            assert session not in self._parts or kind not in ("frame", "joined", "reset"), "another message between two parts"
        if kind == "joined":
            # When resumed, the frames that follow go on from where this client stood.
            if not message["resumed"]:
                self.tables[session] = Replica(message, message["view"])
        elif kind == "frame" and session in self.tables:
            self.tables[session].frame(message)
        elif kind == "reset":
            replica = self.tables[session]
            replica.view, replica.v, replica.stamp, replica.epoch = message["view"], message["v"], message["stamp"], message["epoch"]

    @staticmethod
    def _unite(parts: list[Message]) -> Message:
        whole = copy.deepcopy(parts[0])
        field = "view" if whole.get("view") is not None else "views"
        for part in parts[1:]:
            for kind, entities in (part.get(field) or {}).items():
                whole.setdefault(field, {}).setdefault(kind, {}).update(entities)
        return whole
