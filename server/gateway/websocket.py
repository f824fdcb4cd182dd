"""The WebSocket gateway: sockets, tokens and limits around the sans-I/O connection of `protocol`.

A connection reads in one coroutine and writes in another; what waits to be written is bounded, and a reader too slow for it is
closed with `resync`, which the log makes cheap, while nobody else waits.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from aiohttp import WSMsgType, web

import engine
from engine import Rejected
from engine.commands import Salt as SaltCommand
from protocol import messages as m
from protocol.codec import CODECS, MSGPACK, Codec, Wire, choose
from protocol.connection import Connection, Fault, LocalProtocolError, State
from protocol.errors import CloseCode, Code
from protocol.parts import EntityTooLarge, fit_entries
from protocol.versions import MAX_FRAME_IN, MAX_FRAME_OUT, MAX_HISTORY
from server import ids
from server.gateway.auth import AuthError, Claims, Held
from server.gateway.limits import client_address
from server.logs import get_logger
from server.sessions.actor import Actor, SessionGone
from server.sessions.jobs import Done, Job, Outcome, Refusal
from server.sessions.texts import detach
from server.store import StoreUnavailable

if TYPE_CHECKING:
    from server.app import Server

log = get_logger("socket")

HEARTBEAT_SECONDS = 25.0
VERSION = "0.1.0"


def add_routes(app: web.Application, server: Server) -> None:
    async def handle(request: web.Request) -> web.StreamResponse:
        return await serve(request, server)

    app.router.add_get("/v1/ws", handle)


def origin_allowed(request: web.Request, server: Server) -> bool:
    """Whether a browser page may connect: the server's own pages, and those the host listed. Programs send no Origin."""
    origin = request.headers.get("Origin")
    if origin is None or "*" in server.config.origins or origin in server.config.origins:
        return True
    own = urlsplit(server.url)
    return urlsplit(origin).netloc in (request.host, own.netloc)


async def serve(request: web.Request, server: Server) -> web.StreamResponse:
    """One connection from its first byte to its last."""
    if not origin_allowed(request, server):
        raise web.HTTPForbidden(text="This page may not connect here; the host can add it to `origins`.\n")
    if server.draining:
        raise web.HTTPServiceUnavailable(text="This server is stopping; connect again in a moment.\n", headers={"Retry-After": "1"})
    address = client_address(request.remote, request.headers.get("X-Forwarded-For", ""), server.config.trusted_proxies)
    if "token" in request.query:
        raise web.HTTPBadRequest(text="Tokens go into the first message, never into a URL.\n")
    if not server.limits.connect(address):
        raise web.HTTPTooManyRequests(text="Too many connections from your address.\n", headers={"Retry-After": "10"})
    try:
        socket = web.WebSocketResponse(
            protocols=[codec.subprotocol for codec in CODECS],
            compress=False,
            max_msg_size=MAX_FRAME_IN + 1024,
            heartbeat=HEARTBEAT_SECONDS,
            autoping=True,
        )
        await socket.prepare(request)
        offered = request.headers.get("Sec-WebSocket-Protocol", "")
        codec = choose([one.strip() for one in offered.split(",") if one.strip()]) or MSGPACK
        connection = Socket(server, socket, codec, address)
        server.sockets.add(connection)
        server.metrics.connections.inc()
        try:
            await connection.run()
        finally:
            server.metrics.connections.dec()
            server.sockets.discard(connection)
        return socket
    finally:
        server.limits.disconnect(address)


class Seated:
    """One seat of one session at one connection: what the fan-out sees of a socket."""

    __slots__ = ("actor", "codec", "held", "seat", "socket")

    def __init__(self, socket: Socket, actor: Actor, seat: str, held: Held | None) -> None:
        self.socket, self.actor, self.seat, self.held = socket, actor, seat, held
        self.codec = socket.codec

    def push(self, wires: Sequence[Wire]) -> None:
        self.socket.push(wires)

    def evict(self, code: str, text: str) -> None:
        self.socket.unseat(self.actor.id)
        self.socket.send(m.Error(code, text, session=self.actor.id))


class Socket:
    """A connection: its protocol state, its seats, and the frames that wait for it to read."""

    def __init__(self, server: Server, socket: web.WebSocketResponse, codec: Codec, address: str) -> None:
        self.server = server
        self.codec = codec
        self.address = address
        self.connection = Connection(codec, max_sessions=server.config.limits.sessions)
        self.log = log.bind(conn=ids.connection_id())
        self._socket = socket
        self._seats: dict[str, Seated] = {}
        self._claims: Claims | None = None
        self._held: Held | None = None
        self._queue: deque[Wire] = deque()
        self._queued = 0
        self._wake = asyncio.Event()
        self._over = False
        self._close: int = CloseCode.BYE
        self._writer: asyncio.Task[None] | None = None

    # --- reading -----------------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Serve the connection until either side ends it."""
        self._writer = asyncio.get_running_loop().create_task(self._write())
        timer = asyncio.get_running_loop().call_later(self.server.config.limits.hello_ms / 1000, self._hello_overdue)
        try:
            async for frame in self._socket:
                if frame.type is WSMsgType.BINARY or frame.type is WSMsgType.TEXT:
                    for event in self.connection.receive(frame.data):
                        await self._on(event)
                    if self.connection.state is State.CLOSING:
                        self.finish(self.connection.close_code or CloseCode.BYE)
                        break
                elif frame.type is WSMsgType.ERROR:
                    break
        except ConnectionError:
            pass
        finally:
            timer.cancel()
            self._leave_all()
            self._over = True
            self._wake.set()
            await asyncio.gather(self._writer, return_exceptions=True)
            self.connection.closed()

    def _hello_overdue(self) -> None:
        fault = self.connection.hello_overdue()
        if fault is not None:
            self.push((fault.reply,))
            self.finish(fault.close or CloseCode.HELLO_TIMEOUT)

    async def _on(self, event: Any) -> None:
        if isinstance(event, m.Do):
            self._do(event)
        elif isinstance(event, Fault):
            self.push((event.reply,))
        elif isinstance(event, m.Hello):
            await self._hello(event)
        elif isinstance(event, m.Ping):
            if self._may_pass(event.id):
                self.send(m.Pong(self.server.clock.now_ms(), event.id))
        elif self._may_pass(event.id, event.session):
            try:
                await self._request(event)
            except SessionGone as gone:
                self._error(gone.code, gone.text, event, retry_after=1000 if gone.code == Code.SHUTTING_DOWN else None)
            except AuthError as problem:
                self.server.limits.refused(self.address)
                self._error(problem.code, problem.text, event)
            except StoreUnavailable as problem:
                self._error(Code.UNAVAILABLE, problem.text, event, retry_after=problem.retry_after_ms)
            except Rejected as refusal:
                self._error(refusal.code, refusal.text, event, data=refusal.data)

    async def _request(self, event: Any) -> None:
        if isinstance(event, m.Join):
            await self._join(event)
        elif isinstance(event, m.Leave):
            self.unseat(event.session)
            if event.id is not None:
                self.send(m.Ack(event.id, event.session))
        elif isinstance(event, m.Options):
            seated = self._seats[event.session]
            session = seated.actor.session
            self.send(m.OptionsReply(event.id, event.session, session.v, seated.actor.rules.options(session, seated.seat)))
        elif isinstance(event, m.Odds):
            seated = self._seats[event.session]
            session = seated.actor.session
            command = seated.actor.rules.decode(bytes(event.command))
            self.send(m.OddsReply(event.id, event.session, session.v, seated.actor.rules.odds(session, seated.seat, command)))
        elif isinstance(event, m.History):
            seated = self._seats[event.session]
            page, more = await seated.actor.history(seated.seat, event.before, min(event.limit, MAX_HISTORY))
            fitted = fit_entries(page, self.codec)
            self.send(m.HistoryReply(event.id, event.session, fitted, more or len(fitted) < len(page)))
        elif isinstance(event, m.Salt):
            self._submit(event, SaltCommand(salt=event.salt), ())

    async def _hello(self, hello: m.Hello) -> None:
        wait = self.server.limits.may_try(self.address)
        if wait:
            self.push((self.connection.refuse(Code.RATE_LIMITED, "Too many refused tokens from your address.", retry_after=wait),))
            return
        try:
            claims = await self.server.tokens.check(hello.token)
            held = self.server.tokens.hold(claims, self._revoked)
            sessions = await self._sessions_of(claims)
        except AuthError as problem:
            self.server.limits.refused(self.address)
            self.push((self.connection.refuse(problem.code, problem.text),))
            return
        except StoreUnavailable as problem:
            self.push((self.connection.refuse(Code.UNAVAILABLE, problem.text, retry_after=problem.retry_after_ms),))
            return
        self._claims, self._held = claims, held
        limits = self.server.config.limits
        self.push(
            (
                self.connection.accept(
                    m.Welcome(
                        self.connection.version or 1,
                        m.ServerInfo("dustup", VERSION),
                        claims.person,
                        self.server.clock.now_ms(),
                        m.Limits(MAX_FRAME_IN, MAX_FRAME_OUT, limits.seat_rate, MAX_HISTORY, limits.sessions),
                        sessions,
                    )
                ),
            )
        )

    async def _sessions_of(self, claims: Claims) -> list[m.SeatRef]:
        if claims.scope == "seat":
            try:
                actor = await self.server.registry.get(claims.session)
            except SessionGone:
                return []
            seat = actor.session.seats.get(claims.seat)
            return [] if seat is None else [m.SeatRef(claims.session, seat.id, seat.role)]
        return []

    async def _join(self, join: m.Join) -> None:
        claims, held = self._claims, None
        if join.token is not None:
            claims = await self.server.tokens.check(join.token)
            held = self.server.tokens.hold(claims, lambda problem: self._seat_revoked(join.session, problem))
        assert claims is not None
        try:
            actor = await self.server.registry.get(join.session)
            seat = seat_for(actor, claims)
            history: list[Any] | None = None
            if join.history:
                history, _ = await actor.history(seat, None, join.history)
        except BaseException:
            if held is not None:
                self.server.tokens.release(held)
            raise
        self.unseat(join.session)
        if self._over or self.connection.state is not State.READY:
            return
        seated = Seated(self, actor, seat, held)
        # From here to the end nothing is awaited: the answer holds exactly what the frames that follow build on.
        self._seats[join.session] = seated
        resume = None if join.resume is None else (join.resume.epoch, join.resume.v, join.resume.stamp)
        missed = actor.attach(seated, resume)
        session = actor.session
        answer = m.Joined(
            join.session,
            seat,
            session.seats[seat].role,
            session.epoch,
            session.v if missed is None else (join.resume.v if join.resume is not None else session.v),
            session.stamp if missed is None else (join.resume.stamp if join.resume is not None else session.stamp),
            session.header.ruleset,
            session.header.variant,
            missed is not None,
            view=None if missed is not None else engine.view(actor.rules, session, engine.sight_of(session, seat)),
            history=None if history is None else fit_entries(history, self.codec, MAX_FRAME_OUT // 2),
            id=join.id,
        )
        try:
            self.push(self.connection.send_view(answer))
        except EntityTooLarge:
            self.log.exception("a view does not fit", session=join.session)
            self.unseat(join.session)
            self._error(Code.INTERNAL, "This table does not fit into a message.", join)
            return
        if missed:
            self.push(missed)
        for question in actor.fanout.open_questions(session, seat):
            self.send(question)

    # --- commands ----------------------------------------------------------------------------------------------------------

    def _do(self, do: m.Do) -> None:
        seated = self._seats.get(do.session)
        if seated is None:
            self._error(Code.NOT_JOINED, "Join the table on this connection first.", do)
            return
        if not self._may_pass(do.id, do.session, seated.seat):
            return
        try:
            command, texts = detach(seated.actor.rules.decode(bytes(do.command)))
        except Rejected as refusal:
            self.server.metrics.action(refusal.code)
            self._error(refusal.code, refusal.text, do, data=refusal.data, v=seated.actor.session.v)
            return
        self._submit(do, command, texts, do.at)

    def _submit(self, message: m.Do | m.Salt, command: Any, texts: tuple[tuple[str, bytes], ...], at: int | None = None) -> None:
        seated = self._seats[message.session]
        client, n = m.split_action_id(message.id)

        def reply(outcome: Outcome) -> None:
            self._answer(message.id, message.session, outcome)

        seated.actor.submit(Job(by=seated.seat, command=command, reply=reply, client=client, n=n, at=at, texts=texts))

    def _answer(self, action: str, session: str, outcome: Outcome) -> None:
        if isinstance(outcome, Done):
            self.send(m.Ack(action, session, outcome.v, outcome.durability or None, outcome.again))
        else:
            self._refused(action, session, outcome)

    def _refused(self, action: str, session: str, refusal: Refusal) -> None:
        self.send(m.Error(refusal.code, refusal.text, action, session, refusal.v or None, refusal.data, refusal.retry_after))

    def _may_pass(self, id: str | None, session: str = "", seat: str = "") -> bool:
        wait = self.server.limits.message(self.address, session, seat)
        if wait:
            self.server.metrics.rate_limited.inc()
            self.send(
                m.Error(Code.RATE_LIMITED, "Too many messages in a short time. Wait a moment.", id, session or None, retry_after=wait)
            )
        return not wait

    def _error(self, code: str, text: str, request: Any, *, data: Any = None, v: int | None = None, retry_after: int | None = None) -> None:
        self.send(m.Error(code, text, request.id, request.session, v, data or None, retry_after))

    # --- writing -----------------------------------------------------------------------------------------------------------

    def send(self, message: Any) -> None:
        """Queue a message, if the connection still takes any."""
        try:
            self.push((self.connection.send(message),))
        except LocalProtocolError:
            self.log.debug("nobody is there to be told", kind=type(message).__name__)

    def push(self, wires: Sequence[Wire]) -> None:
        """Queue encoded frames. A connection that does not read is closed with `resync`."""
        if self._over:
            return
        for wire in wires:
            self._queue.append(wire)
            self._queued += len(wire)
        if self._queued > self.server.config.limits.queue_bytes:
            self.server.metrics.slow_closed.inc()
            self.log.info("closed: reads too slowly", queued=self._queued)
            self._queue.clear()
            self._queued = 0
            self.finish(CloseCode.RESYNC)
        self._wake.set()

    def finish(self, code: int) -> None:
        """Write what is queued, then close with this code."""
        if not self._over:
            self._over = True
            self._close = code
            self._wake.set()
            if code == CloseCode.RESYNC:
                # It does not read: do not wait for its socket to drain.
                asyncio.get_running_loop().call_later(1.0, self._abort)

    def _abort(self) -> None:
        if self._writer is not None and not self._writer.done():
            self._writer.cancel()

    async def _write(self) -> None:
        socket = self._socket
        try:
            while True:
                while self._queue:
                    wire = self._queue.popleft()
                    self._queued -= len(wire)
                    if type(wire) is bytes:
                        await socket.send_bytes(wire)
                    else:
                        await socket.send_str(str(wire))
                if self._over:
                    break
                self._wake.clear()
                await self._wake.wait()
            await socket.close(code=self._close, message=close_reason(self._close))
        except (ConnectionError, RuntimeError):
            # The other side went away while we wrote.
            self._over = True
        except asyncio.CancelledError:
            self._over = True
            if socket._req is not None and socket._req.transport is not None:  # its reader is stuck: cut the line
                socket._req.transport.abort()

    async def bye(self) -> None:
        """The server stops: say when to come back, and close."""
        if self.connection.state is State.READY:
            self.push((self.connection.close(Code.SHUTTING_DOWN, retry_after=1000),))
        self.finish(CloseCode.SHUTTING_DOWN)
        if self._writer is not None:
            await asyncio.wait({self._writer}, timeout=2)

    # --- seats -------------------------------------------------------------------------------------------------------------

    def unseat(self, session: str) -> None:
        """Forget a seat: the client left it, or it was taken away."""
        seated = self._seats.pop(session, None)
        if seated is not None:
            seated.actor.detach(seated)
            if seated.held is not None:
                self.server.tokens.release(seated.held)

    def _leave_all(self) -> None:
        for session in list(self._seats):
            self.unseat(session)
        if self._held is not None:
            self.server.tokens.release(self._held)

    def _revoked(self, problem: AuthError) -> None:
        if self.connection.state is State.READY:
            self.push((self.connection.close(problem.code, problem.text),))
        self.finish(CloseCode.UNAUTHORIZED)

    def _seat_revoked(self, session: str, problem: AuthError) -> None:
        self.send(m.Error(problem.code, problem.text, session=session))
        self.connection.left(session)
        self.unseat(session)


def close_reason(code: int) -> bytes:
    """What the close frame says."""
    return CloseCode(code).name.lower().encode() if code in CloseCode._value2member_map_ else b""


def seat_for(actor: Actor, claims: Claims) -> str:
    """The seat a token opens at a session. Raises AuthError when it opens none, without telling whether there is such a session."""
    if claims.scope == "seat":
        if claims.session == actor.id and claims.seat in actor.session.seats:
            return claims.seat
    elif claims.scope == "person":
        for seat in actor.session.seats.values():
            if seat.person and seat.person == claims.person:
                return seat.id
    raise AuthError(Code.UNAUTHORIZED, "That token does not give access to this table.")
