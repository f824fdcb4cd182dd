"""The connection: moves bytes between a WebSocket and the core, keeps it open, and wakes whoever waits."""

from __future__ import annotations

import asyncio
import logging
import random
import secrets
import time
from collections.abc import Generator
from types import TracebackType
from typing import Any

import aiohttp

from ._codec import FRAME_OUT, Message
from ._core import Core
from ._events import Answered, Changed, Event, Failed, Fatal, HangUp, Present, Prompted, TableLost, Welcomed
from .errors import Closed, DustupError, Refused, Unauthorized, Unavailable, why
from .links import socket_url
from .table import Table

log = logging.getLogger("dustup")

SUBPROTOCOL = "dustup.v1.msgpack"
OPEN_WITHIN = 10.0
HEARTBEAT = 20.0


class Client:
    """One person's connection to a server, for as many tables as wanted. Use `dustup.connect`."""

    def __init__(
        self,
        url: str,
        token: str,
        *,
        patience: float = 60.0,
        wait: float = 5.0,
        first_delay: float = 0.25,
        longest_delay: float = 15.0,
        rng: random.Random | None = None,
    ) -> None:
        self.url = socket_url(url)
        self._wait = wait
        self._core = Core(
            token,
            client=secrets.token_hex(6),
            rng=rng or random.Random(secrets.randbits(64)),
            patience=patience,
            first_wait=first_delay,
            longest_wait=longest_delay,
        )
        self._tables: dict[str, Table] = {}
        self._answers: dict[str, asyncio.Future[Message]] = {}
        self._joins: dict[str, asyncio.Future[Table]] = {}
        self._welcomed: asyncio.Future[Message] | None = None
        self._wake = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None
        self._http: aiohttp.ClientSession | None = None
        self._socket: aiohttp.ClientWebSocketResponse | None = None
        self._hung_up = False
        self._tasks: list[asyncio.Task[None]] = []
        self._trouble = "no connection was tried yet"
        self._offset_ms = 0
        self._error: Closed | None = None

    # ---- life

    async def open(self) -> Client:
        """Connect and wait for the server's welcome. Raises Unavailable after `wait` seconds, Unauthorized, UnsupportedVersion."""
        self._welcomed = asyncio.get_running_loop().create_future()
        self._http = aiohttp.ClientSession()
        self._tasks = [
            asyncio.create_task(self._keep_connected(), name="dustup-reader"),
            asyncio.create_task(self._pump(), name="dustup-writer"),
        ]
        try:
            async with asyncio.timeout(self._wait):
                await asyncio.shield(self._welcomed)
        except TimeoutError:
            await self.close()
            raise Unavailable(f"cannot reach {self.url}: {self._trouble}. Is the server running, and is the address right?") from None
        except BaseException:
            await self.close()
            raise
        return self

    async def close(self) -> None:
        """Say good-bye and end everything this client started. Open requests fail with Closed. Safe to call twice."""
        if self._error is None:
            self._handle(self._core.fail(Closed("the client was closed")))
        tasks, self._tasks = self._tasks, []
        if self._socket is not None and not self._socket.closed:
            await self._socket.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._timer is not None:
            self._timer.cancel()
        if self._http is not None:
            await self._http.close()
            self._http = None

    async def __aenter__(self) -> Client:
        return self if self._http is not None else await self.open()

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()

    # ---- what is

    @property
    def welcome(self) -> Message:
        """The server's last `welcome`: version, server, person, limits, sessions [{session, seat, role}]."""
        return self._core.welcome

    @property
    def sessions(self) -> list[dict[str, Any]]:
        """Tables at which this person has a seat, as the server told at the welcome: [{session, seat, role}]."""
        return list(self.welcome.get("sessions") or [])

    @property
    def connected(self) -> bool:
        """False while a lost connection is being replaced."""
        return self._core.ready

    @property
    def reconnect_in(self) -> float:
        """Seconds between the loss of the connection and the next try; what it was when the last one was lost."""
        return self._core.reconnect_in

    @property
    def patience(self) -> float:
        """Seconds after which a request without an answer fails with Unavailable."""
        return self._core.patience

    @property
    def id(self) -> str:
        """The first half of this client's action ids."""
        return self._core.client

    def now(self) -> int:
        """The server's clock as well as this client knows it: milliseconds UTC."""
        return int(time.time() * 1000) + self._offset_ms

    # ---- what may be done

    async def join(self, session: str, token: str | None = None, history: int = 0) -> Table:
        """Sit down at a table; `token` is its seat token when the client's own does not open it, `history` 0..200 past frames.

        Raises Refused (`no_session`, `forbidden`, `expired`, ...), Unavailable, Closed. A table joined already is given again.
        """
        table = self._tables.get(session)
        if table is not None:
            return table
        future = self._joins.get(session)
        if future is None:
            future = asyncio.get_running_loop().create_future()
            future.add_done_callback(_retrieve)
            self._core.join(session, token, history, self._now())
            self._joins[session] = future
            self._wake.set()
        return await asyncio.shield(future)

    async def ping(self) -> float:
        """Seconds for a message to the server and back. Also sets `now()` right."""
        asked = self._now()
        await self._ask("ping", None, {})
        return self._now() - asked

    async def _ask(self, kind: str, session: str | None, fields: Message, *, ordered: bool = False) -> Message:
        if session is not None and session not in self._core.tables and session in self._tables:
            raise self._tables[session].lost or Refused("not_joined", "this table is not joined")
        id = self._core.ask(kind, session, fields, self._now(), ordered=ordered)
        return await self._answer_to(id)

    async def _answer_to(self, id: str) -> Message:
        future: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        self._answers[id] = future
        self._wake.set()
        try:
            return await future
        finally:
            if self._answers.pop(id, None) is not None and future.cancelled():
                self._core.abandon(id)

    async def _leave(self, session: str) -> None:
        table = self._tables.pop(session, None)
        if table is None:
            return
        id = self._core.leave(session, self._now())
        table._end(Closed("this client left the table", "left"))
        if id is not None:
            await self._answer_to(id)

    # ---- inner workings

    def _now(self) -> float:
        return asyncio.get_running_loop().time()

    async def _keep_connected(self) -> None:
        """Reader: one connection after another until closed or told that it is pointless."""
        try:
            while self._error is None:
                code, retry_after = await self._one_connection()
                self._handle(self._core.disconnected(self._now(), code, retry_after))
                self._wake.set()
                if self._error is None:
                    await asyncio.sleep(self._core.reconnect_in)
        except Exception as error:
            log.exception("the reader failed")
            self._handle(self._core.fail(Closed(f"this client failed: {error!r}", "internal")))

    async def _one_connection(self) -> tuple[int | None, int | None]:
        """Connect and read until the end. Returns the close code of the server if any, and its Retry-After in milliseconds."""
        assert self._http is not None
        self._hung_up = False
        try:
            async with asyncio.timeout(OPEN_WITHIN):
                socket = await self._http.ws_connect(
                    self.url,
                    protocols=(SUBPROTOCOL,),
                    heartbeat=HEARTBEAT,
                    max_msg_size=2 * FRAME_OUT,
                    timeout=aiohttp.ClientWSTimeout(ws_close=2.0),
                )
        except aiohttp.WSServerHandshakeError as error:
            return None, self._handshake_refused(error)
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            self._trouble = why(error)
            log.debug("no connection to %s: %s", self.url, self._trouble)
            return None, None
        try:
            self._socket = socket
            self._core.connected(self._now())
            self._wake.set()
            async for message in socket:
                if message.type == aiohttp.WSMsgType.BINARY:
                    now = self._now()
                    self._handle(self._core.receive(message.data, now))
                    if self._core.sending:
                        self._wake.set()
                    else:
                        self._set_timer(now)
                elif message.type == aiohttp.WSMsgType.TEXT:
                    self._handle([HangUp(1003, "the server sent text where bytes were agreed")])
                if self._hung_up:
                    break
        finally:
            self._socket = None
            await socket.close()
        self._trouble = f"the connection ended (code {socket.close_code})"
        return (None if self._hung_up else socket.close_code), None

    def _handshake_refused(self, error: aiohttp.WSServerHandshakeError) -> int | None:
        self._trouble = f"the server answered {error.status} {error.message}"
        if error.status in (401, 403):
            self._handle(self._core.fail(Unauthorized(f"{self.url} refused the connection: {error.status}", "unauthorized")))
        elif error.status in (400, 404, 405, 410, 426) and self._welcomed is not None and not self._welcomed.done():
            self._handle(self._core.fail(Closed(f"{self.url} is no Dustup server: it answered {error.status}", "no_server")))
        told = error.headers.get("Retry-After", "") if error.headers is not None else ""
        return int(told) * 1000 if told.isdecimal() else None

    async def _pump(self) -> None:
        """Writer: sends what the core has queued, and keeps its time."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            now = self._now()
            self._handle(self._core.tick(now))
            socket = self._socket
            if socket is not None:
                for raw in self._core.outgoing():
                    if self._socket is not socket:
                        break
                    try:
                        await socket.send_bytes(raw)
                    except (ConnectionError, aiohttp.ClientError):
                        break  # the reader sees the end of the connection and all that is unanswered goes again
            self._set_timer(now)

    def _set_timer(self, now: float) -> None:
        """Wake the writer when the core wants it. A timer that is set for earlier may stay: waking for nothing is harmless.

        `now` is the moment the core was last told of: what came due since then would be missed by a later one.
        """
        at = self._core.wake_at(now)
        if at is None or (self._timer is not None and self._timer.when() <= at):
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_at(at, self._timer_fired)

    def _timer_fired(self) -> None:
        self._timer = None
        self._wake.set()

    def _handle(self, events: list[Event]) -> None:
        for event in events:
            if isinstance(event, Changed):
                self._changed(event)
            elif isinstance(event, Answered):
                self._answered(event)
            elif isinstance(event, Failed):
                future = self._answers.get(event.id)
                if future is not None and not future.done():
                    future.set_exception(event.error)
            elif isinstance(event, Prompted | Present):
                table = self._tables.get(event.session)
                if table is not None:
                    table._pulse()
            elif isinstance(event, TableLost):
                self._lost(event.session, event.error)
            elif isinstance(event, Welcomed):
                self._keep_time(event.message)
                if self._welcomed is not None and not self._welcomed.done():
                    self._welcomed.set_result(event.message)
            elif isinstance(event, HangUp):
                self._hang_up(event)
            elif isinstance(event, Fatal):
                self._die(event.error)

    def _changed(self, event: Changed) -> None:
        if not event.first:
            self._tables[event.session]._moved(event.message)
            return
        table = self._tables[event.session] = Table(self, self._core.tables[event.session])
        future = self._joins.pop(event.session, None)
        if future is not None and not future.done():
            future.set_result(table)

    def _answered(self, event: Answered) -> None:
        if event.message["t"] == "pong":
            self._keep_time(event.message)
        future = self._answers.get(event.id)
        if future is not None and not future.done():
            future.set_result(event.message)

    def _lost(self, session: str, error: DustupError) -> None:
        table = self._tables.pop(session, None)
        if table is not None:
            table._end(error)
        future = self._joins.pop(session, None)
        if future is not None and not future.done():
            future.set_exception(error)

    def _hang_up(self, event: HangUp) -> None:
        log.warning("connection to %s given up: %s", self.url, event.text)
        self._trouble = event.text
        self._hung_up = True
        socket = self._socket
        if socket is not None:
            closing = asyncio.create_task(_quietly_close(socket, event.code), name="dustup-hang-up")
            self._tasks.append(closing)
            closing.add_done_callback(lambda task: self._tasks.remove(task) if task in self._tasks else None)

    def _die(self, error: Closed) -> None:
        self._error = error
        if self._welcomed is not None and not self._welcomed.done():
            self._welcomed.set_exception(error)
            self._welcomed.add_done_callback(_retrieve)

    def _keep_time(self, message: Message) -> None:
        now = message.get("now")
        if isinstance(now, int):
            self._offset_ms = now - int(time.time() * 1000)


async def _quietly_close(socket: aiohttp.ClientWebSocketResponse, code: int) -> None:
    try:
        await socket.close(code=code)
    except (ConnectionError, aiohttp.ClientError) as error:
        log.debug("while hanging up: %s", error)


def _retrieve(future: asyncio.Future[Any]) -> None:
    """Mark an error as seen: whoever waits for the future gets it, and if nobody does any more that is no leak."""
    if not future.cancelled():
        future.exception()


class Connecting:
    """What `connect` returns: `async with` it, or `await` it for a client to close yourself."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def __await__(self) -> Generator[Any, None, Client]:
        return self._client.open().__await__()

    async def __aenter__(self) -> Client:
        return await self._client.open()

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._client.close()


def connect(
    url: str,
    token: str,
    *,
    patience: float = 60.0,
    wait: float = 5.0,
    first_delay: float = 0.25,
    longest_delay: float = 15.0,
    rng: random.Random | None = None,
) -> Connecting:
    """Connect to a server: `async with dustup.connect(url, token) as client:` (or `client = await dustup.connect(url, token)`).

    `url` is ws(s)://… or http(s)://…; `/v1/ws` is added. `token` is a seat or person token. `patience`: seconds after which a
    request without an answer fails with Unavailable. `wait`: seconds for the first connection. `first_delay`, `longest_delay`:
    bounds of the jittered, doubling wait between connections, in seconds. Raises BadLink at once for an address that is none;
    entering raises Unavailable, Unauthorized or UnsupportedVersion.
    """
    return Connecting(Client(url, token, patience=patience, wait=wait, first_delay=first_delay, longest_delay=longest_delay, rng=rng))
