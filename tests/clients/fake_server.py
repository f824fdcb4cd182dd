"""A small server that speaks the protocol by docs/architecture.md and misbehaves on request. It shares no code with ours.

It keeps one table: commands of the types below, a log of frames, actions by id. Faults are queued in `faults` and each is
used up by one `do`.
"""

from __future__ import annotations

import asyncio
import copy
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgpack  # type: ignore[import-untyped]
from aiohttp import WSMsgType, web

SESSION = "k3v9mq2w7rt5xyab"
TOKEN = "token-of-ann"
NOW = 1_700_000_000_000

Message = dict[str, Any]


def start_view() -> dict[str, dict[str, Message]]:
    """Two fighters in a yard, Ann's turn."""
    return {
        "table": {"table": {"id": "table", "name": "The Yard"}},
        "seats": {
            "ann": {"id": "ann", "name": "Ann", "role": "player", "controls": ["c1"]},
            "bob": {"id": "bob", "name": "Bob", "role": "player", "controls": ["c2"]},
        },
        "scenes": {
            "yard": {
                "id": "yard",
                "name": "Yard",
                "zones": [{"id": "gate", "name": "Gate"}, {"id": "well", "name": "Well"}],
                "edges": [{"a": "gate", "b": "well"}],
            }
        },
        "combatants": {
            "c1": {"id": "c1", "name": "Ash", "scene": "yard", "zone": "gate", "hp": 5, "max_hp": 5},
            "c2": {"id": "c2", "name": "Boar", "scene": "yard", "zone": "gate", "hp": 2, "max_hp": 2},
        },
        "encounters": {"e1": {"id": "e1", "scene": "yard", "round": 1, "current": "c1", "order": ["c1", "c2"], "acted": []}},
    }


class FakeServer:
    """`url` is its address. Everything clients sent is in `received`; `executed` holds the action ids done, in order."""

    def __init__(self) -> None:
        self.view = start_view()
        self.epoch = "00000000000000e1"
        self.v = 1
        self.stamps = {1: self._stamp(1)}
        self.log: dict[int, Message] = {}
        self.executed: list[str] = []
        self.acks: dict[str, Message] = {}
        self.received: list[Message] = []
        self.faults: deque[str] = deque()
        self.join_faults: deque[str] = deque()
        self.parts = 1
        self.forget_resume = False
        self.welcome_error: Message | None = None
        self.release = asyncio.Event()
        self.url = ""
        self.connections = 0
        self.prompt_after: Message | None = None
        self._sockets: dict[web.WebSocketResponse, asyncio.Transport | None] = {}
        self._news = asyncio.Event()
        self._joined: set[web.WebSocketResponse] = set()

    # ---- what tests look at and do

    def sent(self, kind: str) -> list[Message]:
        return [message for message in self.received if message["t"] == kind]

    async def wait_sent(self, kind: str, count: int = 1) -> None:
        """Until clients have sent this many messages of a kind."""
        while len(self.sent(kind)) < count:
            self._news.clear()
            await self._news.wait()

    async def send_garbage(self) -> None:
        for socket in list(self._joined):
            await socket.send_bytes(b"\xc1garbage")

    async def commit(self, views: dict[str, Any], text: str, *, skip: bool = False, **more: Any) -> int:
        """One entry by somebody else. `skip` loses its frame on the way to the clients."""
        frame = self._commit(views, text, **more)
        if not skip:
            for socket in list(self._joined):
                await self.send(socket, frame)
        return self.v

    async def say(self, message: Message) -> None:
        for socket in list(self._joined):
            await self.send(socket, message)

    async def reset(self, reason: str, view: dict[str, Any] | None = None) -> None:
        """A new lineage of the log, at version 1 of it."""
        self.view = view or start_view()
        self.epoch = "00000000000000e2"
        self.v, self.log, self.stamps = 1, {}, {1: "000000000000beef"}
        for socket in list(self._joined):
            for message in self._in_parts({"t": "reset", **self._where(), "reason": reason}):
                await self.send(socket, message)

    def drop_all(self) -> None:
        """Every connection is cut without a word."""
        for socket in list(self._sockets):
            self._cut(socket)

    async def send(self, socket: web.WebSocketResponse, message: Message) -> None:
        await socket.send_bytes(msgpack.packb(message))

    # ---- the table

    def _stamp(self, v: int) -> str:
        return f"{v:016x}"

    def _where(self) -> Message:
        return {"session": SESSION, "epoch": self.epoch, "v": self.v, "stamp": self.stamps[self.v]}

    def _commit(self, views: dict[str, Any], text: str, by: str = "bob", type: str = "note", **more: Any) -> Message:
        self.v += 1
        self.stamps[self.v] = self._stamp(self.v)
        for kind, entities in views.items():
            self.view.setdefault(kind, {}).update(copy.deepcopy(entities))
        for kind, ids in more.get("gone", {}).items():
            for id in ids:
                del self.view[kind][id]
            if not self.view[kind]:
                del self.view[kind]
        frame = {"t": "frame", "session": SESSION, "v": self.v, "stamp": self.stamps[self.v], "at": NOW, "by": by}
        frame |= {"events": [{"type": type, "text": text}], "views": copy.deepcopy(views), **more}
        self.log[self.v] = frame
        return frame

    def _execute(self, command: Message) -> Message | tuple[str, str]:
        """The frame of a command, or a refusal."""
        kind = command.get("type")
        if kind == "hit":
            target = self.view["combatants"].get(command.get("target", ""))
            if target is None:
                return "no_target", "There is nobody like that."
            hurt = {**target, "hp": target["hp"] - 1}
            if hurt["hp"] > 0:
                return self._commit({"combatants": {target["id"]: hurt}}, f"{target['name']} is hit.", by="ann", type="hit")
            return self._commit(
                {"combatants": {target["id"]: hurt}}, f"{target['name']} falls.", by="ann", type="falls", gone={"encounters": ["e1"]}
            )
        if kind in ("chat", "post"):
            event = {"type": kind, "text": "", "body": command["text"], "by": "ann"}
            return self._commit({}, "", by="ann", events=[event])
        if kind == "answer":
            return self._commit({}, f"Ann answers {command['choice']}.", by="ann", gone={"prompts": [command["prompt"]]})
        if kind == "turn.end":
            return self._commit({}, "Ann lets the turn pass.", by="ann")
        return "unknown_command", "This ruleset has no such command."

    def options(self) -> list[Message]:
        """Hitting with odds, a step with two details, ending the turn; nothing once the fight is over."""
        if not self.view.get("encounters"):
            return []
        targets = [{"value": id, "text": each["name"]} for id, each in self.view["combatants"].items() if id != "c1" and each["hp"] > 0]
        return [
            {
                "type": "fake.hit",
                "text": "Hit somebody",
                "combatant": "c1",
                "command": {"type": "hit"},
                "params": [{"name": "target", "kind": "choice", "text": "Whom", "choices": targets}],
                "cost": [{"pool": "breath", "amount": 1}],
                "odds": True,
            },
            {"type": "fake.end", "text": "End the turn", "combatant": "c1", "command": {"type": "turn.end"}},
        ]

    # ---- the wire

    async def handle(self, request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse(protocols=("dustup.v1.msgpack",))
        await socket.prepare(request)
        self.connections += 1
        self._sockets[socket] = request.transport
        try:
            async for raw in socket:
                if raw.type != WSMsgType.BINARY:
                    break
                message = msgpack.unpackb(raw.data)
                self.received.append(message)
                self._news.set()
                await getattr(self, f"_on_{message['t']}")(socket, message)
        except ConnectionError:
            pass
        finally:
            self._sockets.pop(socket, None)
            self._joined.discard(socket)
        return socket

    def _cut(self, socket: web.WebSocketResponse) -> None:
        self._joined.discard(socket)
        transport = self._sockets.get(socket)
        if transport is not None:
            transport.abort()

    async def _on_hello(self, socket: web.WebSocketResponse, message: Message) -> None:
        if self.welcome_error is not None:
            await self.send(socket, {"t": "error", **self.welcome_error})
            await socket.close(code=self.welcome_error["close"])
            return
        if message["token"] != TOKEN:
            await self.send(socket, {"t": "error", "code": "unauthorized", "text": "That token does not give access here."})
            await socket.close(code=4003)
            return
        limits = {"frame_in": 65536, "frame_out": 1048576, "rate": 20, "history": 200, "sessions": 64}
        seats = [{"session": SESSION, "seat": "ann", "role": "player"}]
        server = {"name": "fake", "version": "0"}
        await self.send(
            socket, {"t": "welcome", "version": 1, "server": server, "person": "ann", "now": NOW, "limits": limits, "sessions": seats}
        )

    def _in_parts(self, message: Message) -> list[Message]:
        """`message` with the view, an entity kind to a part when parts are asked for. The first carries what else there is."""
        view = copy.deepcopy(self.view)
        if self.parts == 1:
            return [{**message, "view": view}]
        kinds = list(view)
        pieces = [{kind: view[kind] for kind in kinds[number :: self.parts]} for number in range(self.parts)]
        return [{**message, "view": piece, "part": number, "parts": self.parts} for number, piece in enumerate(pieces, 1)]

    async def _on_join(self, socket: web.WebSocketResponse, message: Message) -> None:
        fault = self.join_faults.popleft() if self.join_faults else ""
        if fault:
            await self.send(socket, {"t": "error", "id": message["id"], "code": fault, "text": fault, "retry_after": 10})
            return
        if message["session"] != SESSION:
            where = {"id": message["id"], "session": message["session"]}
            await self.send(socket, {"t": "error", **where, "code": "no_session", "text": "There is no such table."})
            return
        self._joined.add(socket)
        joined = {"t": "joined", **self._where(), "seat": "ann", "role": "player", "ruleset": "fake", "variant": "", "id": message["id"]}
        resume = message.get("resume")
        known = (
            resume is not None
            and not self.forget_resume
            and resume["epoch"] == self.epoch
            and self.stamps.get(resume["v"]) == resume["stamp"]
        )
        if resume is not None and known:
            await self.send(socket, {**joined, "resumed": True})
            for v in range(resume["v"] + 1, self.v + 1):
                await self.send(socket, self.log[v])
            return
        if message.get("history"):
            joined["history"] = [frame for _, frame in sorted(self.log.items())][-message["history"] :]
        for part in self._in_parts({**joined, "resumed": False}):
            await self.send(socket, part)

    async def _on_do(self, socket: web.WebSocketResponse, message: Message) -> None:
        id = message["id"]
        fault = self.faults.popleft() if self.faults else ""
        if fault == "cut before":
            self._cut(socket)
            return
        if fault == "resync":
            await socket.close(code=4009)
            return
        if fault == "bye":
            await self.send(socket, {"t": "bye", "code": "shutting_down", "text": "Going down.", "retry_after": 40})
            await socket.close(code=4001)
            return
        if fault in ("unavailable", "rate_limited"):
            await self.send(socket, {"t": "error", "id": id, "code": fault, "text": "Not now.", "retry_after": 20})
            return
        if fault == "slow":
            await self.release.wait()
        if id in self.acks:
            await self.send(socket, {**self.acks[id], "again": True})
            return
        result = self._execute(message["command"])
        if isinstance(result, tuple):
            await self.send(socket, {"t": "error", "id": id, "session": SESSION, "v": self.v, "code": result[0], "text": result[1]})
            return
        self.executed.append(id)
        self.acks[id] = {"t": "ack", "id": id, "session": SESSION, "v": self.v, "durability": "disk"}
        if fault == "cut after":
            self._cut(socket)
            return
        for each in list(self._joined):
            if not (fault == "lose frame" and each is socket):
                await self.send(each, result)
        if fault == "unavailable but done":
            await self.send(socket, {"t": "error", "id": id, "code": "unavailable", "text": "Perhaps.", "retry_after": 20})
            return
        await self.send(socket, self.acks[id])
        if fault == "ack twice":
            await self.send(socket, {**self.acks[id], "again": True})

    async def _on_salt(self, socket: web.WebSocketResponse, message: Message) -> None:
        await self._on_do(socket, {**message, "command": {"type": "chat", "text": f"salt {message['salt']}"}})

    async def _on_options(self, socket: web.WebSocketResponse, message: Message) -> None:
        await self.send(socket, {"t": "options", "id": message["id"], "session": SESSION, "v": self.v, "options": self.options()})

    async def _on_odds(self, socket: web.WebSocketResponse, message: Message) -> None:
        parts = [{"name": "hit", "text": "hits", "p": "13/20"}, {"name": "crit", "text": "hits hard", "p": "1/30"}]
        odds = {"type": "fake.odds", "text": "A blow", "parts": parts, "damage": [{"value": 0, "p": "7/20"}, {"value": 1, "p": "13/20"}]}
        await self.send(socket, {"t": "odds", "id": message["id"], "session": SESSION, "v": self.v, "odds": odds})

    async def _on_history(self, socket: web.WebSocketResponse, message: Message) -> None:
        before = message.get("before", self.v + 1)
        past = [frame for v, frame in sorted(self.log.items()) if v < before]
        page = past[-message["limit"] :]
        answer = {"t": "history", "id": message["id"], "session": SESSION, "frames": page, "more": len(page) < len(past)}
        await self.send(socket, answer)

    async def _on_leave(self, socket: web.WebSocketResponse, message: Message) -> None:
        self._joined.discard(socket)
        await self.send(socket, {"t": "ack", "id": message["id"], "session": SESSION})

    async def _on_ping(self, socket: web.WebSocketResponse, message: Message) -> None:
        await self.send(socket, {"t": "pong", "id": message["id"], "now": NOW})


@asynccontextmanager
async def running() -> AsyncIterator[FakeServer]:
    """A fake server on a free port of the loopback, stopped at the end."""
    server = FakeServer()
    app = web.Application()
    app.router.add_get("/v1/ws", server.handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    server.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield server
    finally:
        server.release.set()
        server.drop_all()
        await runner.cleanup()
