"""The WebSocket gateway: sockets, tokens and limits around the sans-I/O connection of `protocol`.

A connection reads in one coroutine, which handles its requests one after another and reads no further while answers wait to be taken.
What waits to be written is bounded (server.gateway.outbox); a reader too slow for it is closed with `resync`, which the log makes
cheap, while nobody else waits.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from aiohttp import WSMsgType, web

import engine
from engine import Rejected
from engine.commands import Salt as SaltCommand
from protocol import messages as m
from protocol.codec import CODECS, Codec, choose
from protocol.connection import Connection, Fault, State
from protocol.errors import CloseCode, Code, sentence
from protocol.parts import EntityTooLarge, fit_entries
from protocol.versions import MAX_FRAME_IN, MAX_FRAME_OUT, MAX_HISTORY
from server import ids
from server.gateway.auth import AuthError, Claims, Held
from server.gateway.limits import client_address
from server.gateway.outbox import Outbox
from server.logs import get_logger
from server.sessions.actor import Actor, SessionGone
from server.sessions.jobs import Done, Job, Outcome, Refusal
from server.sessions.texts import detach
from server.sessions.watchdog import TooSlow, watched
from server.store import StoreUnavailable

if TYPE_CHECKING:
    from server.app import Server

log = get_logger("socket")

HEARTBEAT_SECONDS = 20.0
CLOSE_SECONDS = 2.0
"""How long a closing connection may take to read what is left and to say good-bye itself."""
STRIKES = 500
"""Messages refused for their rate, one after another, after which a connection is closed: answering a flood is work, too."""
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
    try:
        place = urlsplit(origin).netloc
    except ValueError:
        return False
    return bool(place) and place in (request.host, urlsplit(server.url).netloc)


async def serve(request: web.Request, server: Server) -> web.StreamResponse:
    """One connection from its first byte to its last."""
    if not origin_allowed(request, server):
        raise web.HTTPForbidden(text="This page may not connect here; the host can add it to `origins`.\n")
    if server.draining:
        raise web.HTTPServiceUnavailable(text="This server is stopping; connect again in a moment.\n", headers={"Retry-After": "1"})
    if "token" in request.query or "code" in request.query:
        raise web.HTTPBadRequest(text="Tokens and codes go into messages, never into a URL.\n")
    codec = choose([one.strip() for one in request.headers.get("Sec-WebSocket-Protocol", "").split(",")])
    if codec is None:
        known = " or ".join(one.subprotocol for one in CODECS)
        raise web.HTTPBadRequest(text=f"Offer a subprotocol this server speaks: {known}.\n")
    address = client_address(request.remote, request.headers.get("X-Forwarded-For", ""), server.config.trusted_proxies)
    if not server.limits.connect(address):
        raise web.HTTPTooManyRequests(text="Too many connections from your address.\n", headers={"Retry-After": "10"})
    try:
        socket = web.WebSocketResponse(
            protocols=[one.subprotocol for one in CODECS],
            compress=False,
            max_msg_size=MAX_FRAME_IN + 1024,
            heartbeat=HEARTBEAT_SECONDS,
            autoping=False,
            timeout=CLOSE_SECONDS,
        )
        await socket.prepare(request)
        transport = request.transport
        if transport is None:  # gone already
            return socket
        connection = Socket(server, socket, transport, codec, address)
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

    __slots__ = ("actor", "claims", "codec", "held", "push", "seat", "socket")

    def __init__(self, socket: Socket, actor: Actor, seat: str, claims: Claims, held: Held | None) -> None:
        self.socket, self.actor, self.seat, self.claims, self.held = socket, actor, seat, claims, held
        self.codec = socket.codec
        self.push = socket.push

    def entitled(self, session: engine.Session) -> bool:
        return self.claims.opens(session, self.seat)

    def evict(self, code: str, text: str) -> None:
        self.socket.evict(self.actor.id, code, text)


class Socket:
    """A connection: its protocol state, its seats, and what waits for it to read."""

    def __init__(
        self, server: Server, socket: web.WebSocketResponse, transport: asyncio.WriteTransport, codec: Codec, address: str
    ) -> None:  # fmt: skip
        self.server = server
        self.codec = codec
        self.address = address
        self.connection = Connection(codec, max_sessions=server.config.limits.sessions)
        self.log = log.bind(conn=ids.connection_id())
        self._outbox = Outbox(transport, server.config.limits.queue_bytes, self._overflow)
        self.push = self._outbox.push
        self._socket = socket
        self._transport = transport
        self._seats: dict[str, Seated] = {}
        self._claims: Claims | None = None
        self._held: Held | None = None
        self._strikes = 0
        self._task: asyncio.Task[Any] | None = None
        self._close: int | None = None
        self._ended = asyncio.Event()

    # --- reading -----------------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Serve the connection until either side ends it."""
        timer = asyncio.get_running_loop().call_later(self.server.config.limits.hello_ms / 1000, self._hello_overdue)
        task = self._task = asyncio.current_task()
        try:
            await self._read()
        except ConnectionError:
            pass
        except asyncio.CancelledError:
            # Our own `finish` ends the reading; a cancellation from elsewhere goes on.
            if self._close is None or (task is not None and task.uncancel()):
                raise
        finally:
            self._task = None
            timer.cancel()
            self._leave_all()
            try:
                await self._say_goodbye()
            finally:
                self._outbox.close()
                self.connection.closed()
                self._ended.set()

    async def _read(self) -> None:
        connection, socket, outbox = self.connection, self._socket, self._outbox
        while self._close is None:
            frame = await socket.receive()
            if frame.type is WSMsgType.BINARY or frame.type is WSMsgType.TEXT:
                if outbox.waiting:
                    await outbox.drained()  # who does not take answers gets to ask no more
                for event in connection.receive(frame.data):
                    await self._on(event)
                if connection.state is State.CLOSING:
                    self._close = connection.close_code
            elif frame.type is WSMsgType.PING:
                if not self.server.limits.message(self.address):
                    await socket.pong(frame.data)
            elif frame.type is not WSMsgType.PONG:
                return

    async def _say_goodbye(self) -> None:
        """Let the other side read what is left and why it ends, within bounds."""
        if self._socket.closed:
            return
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                await self._outbox.drained()
        except TimeoutError:
            pass
        self._outbox.close()
        try:
            code = self._close or CloseCode.BYE
            await self._socket.close(code=code, message=close_reason(code), drain=False)
        finally:
            if self._transport.get_write_buffer_size():
                # It does not read. What it has not taken by now it gets when it comes back.
                self._transport.abort()

    def finish(self, code: int) -> None:
        """Write what is queued, then close with this code."""
        if self._close is None:
            self._close = code
            if self._task is not None:
                self._task.cancel()

    def _overflow(self) -> None:
        self.server.metrics.slow_closed.inc()
        self.log.info("closed: reads too slowly")
        self.finish(CloseCode.RESYNC)

    def _hello_overdue(self) -> None:
        fault = self.connection.hello_overdue()
        if fault is not None:
            self.push((fault.reply,))
            self.finish(fault.close or CloseCode.HELLO_TIMEOUT)

    async def bye(self) -> None:
        """The server stops: say when to come back, and close."""
        if self.connection.state is State.READY:
            self.push((self.connection.close(Code.SHUTTING_DOWN, retry_after=1000),))
        self.finish(CloseCode.SHUTTING_DOWN)
        try:
            async with asyncio.timeout(2 * CLOSE_SECONDS):
                await self._ended.wait()
        except TimeoutError:
            self._transport.abort()

    # --- requests ----------------------------------------------------------------------------------------------------------

    async def _on(self, event: Any) -> None:
        if isinstance(event, m.Do):
            self._do(event)
        elif isinstance(event, Fault):
            if self.server.limits.message(self.address):
                self._strike()
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
                self._error(gone.code, gone.text, event, retry_after=None if gone.code == Code.NO_SESSION else 1000)
            except AuthError as problem:
                self.server.limits.refused(self.address)
                self._error(problem.code, problem.text, event)
            except StoreUnavailable as problem:
                self._error(Code.UNAVAILABLE, problem.text, event, retry_after=problem.retry_after_ms)
            except Rejected as refusal:
                self._error(refusal.code, refusal.text, event, data=refusal.data)
            except (Exception, TooSlow):
                # One request that fails is no reason to lose the connection.
                self.server.metrics.engine_errors.inc()
                self.log.exception("a request failed", kind=type(event).__name__, session=event.session)
                self._error(Code.INTERNAL, "The server failed on this request.", event)

    async def _request(self, event: Any) -> None:
        if isinstance(event, m.Join):
            await self._join(event)
            return
        if isinstance(event, m.Leave):
            self.unseat(event.session)
            if event.id is not None:
                self.send(m.Ack(event.id, event.session))
            return
        seated = self._seats.get(event.session)
        if seated is None:
            self._error(Code.NOT_JOINED, sentence(Code.NOT_JOINED), event)
            return
        actor, seat = seated.actor, seated.seat
        session = actor.session
        if isinstance(event, m.Options):
            with watched():
                options = engine.options_of(actor.rules, session, seat)
            self.send(m.OptionsReply(event.id, event.session, session.v, options))
        elif isinstance(event, m.Odds):
            command = actor.rules.decode(bytes(event.command))
            odds = await self.server.odds.ask(actor.rules, session, seat, command)
            self.send(m.OddsReply(event.id, event.session, session.v, odds))
        elif isinstance(event, m.History):
            page, more = await actor.history(seat, event.before, min(event.limit, MAX_HISTORY))
            fitted = fit_entries(page, self.codec)
            self.send(m.HistoryReply(event.id, event.session, fitted, more or len(fitted) < len(page)))
        elif isinstance(event, m.Salt):
            self._submit(seated, event, SaltCommand(salt=event.salt), ())

    async def _hello(self, hello: m.Hello) -> None:
        wait = self.server.limits.may_try(self.address)
        if wait:
            self._refuse(Code.RATE_LIMITED, "Too many refused tokens from your address.", wait)
            return
        try:
            claims = await self.server.tokens.check(hello.token)
            self._held = self.server.tokens.hold(claims, self._revoked)
            sessions = await self._sessions_of(claims)
        except AuthError as problem:
            self.server.limits.refused(self.address)
            self._refuse(problem.code, problem.text)
            return
        except StoreUnavailable as problem:
            self._refuse(Code.UNAVAILABLE, problem.text, problem.retry_after_ms)
            return
        if self.connection.state is not State.GREETED:
            return  # the token was withdrawn meanwhile, or the server stops
        self._claims = claims
        limits = self.server.config.limits
        welcome = m.Welcome(
            self.connection.version or 1,
            m.ServerInfo("dustup", VERSION),
            claims.person,
            self.server.clock.now_ms(),
            m.Limits(MAX_FRAME_IN, MAX_FRAME_OUT, limits.seat_rate, MAX_HISTORY, limits.sessions),
            sessions,
        )
        self.push((self.connection.accept(welcome),))

    def _refuse(self, code: str, text: str, retry_after: int | None = None) -> None:
        if self.connection.state is State.GREETED:
            self.push((self.connection.refuse(code, text, retry_after=retry_after),))

    async def _sessions_of(self, claims: Claims) -> list[m.SeatRef]:
        """The seats a token opens, as far as they can be told now; joining is what decides."""
        registry = self.server.registry
        if claims.scope == "person":
            tables = await registry.people.tables(claims.person)
            return [m.SeatRef(session, seat, role) for session, seats in tables.items() for seat, role in seats]
        if claims.scope == "seat":
            try:
                actor = await registry.get(claims.session)
            except (SessionGone, Rejected):
                return []
            return [m.SeatRef(claims.session, seat, actor.session.seats[seat].role) for seat in claims.seats(actor.session)]
        return []

    async def _join(self, join: m.Join) -> None:
        claims, held = self._claims, None
        if join.token is not None:
            claims = await self.server.tokens.check(join.token)
            held = self.server.tokens.hold(claims, lambda problem: self.evict(join.session, problem.code, problem.text))
        assert claims is not None
        try:
            actor, seat, history = await self._find(join, claims)
        except BaseException:
            if held is not None:
                self.server.tokens.release(held)
            raise
        # From here to the end nothing is awaited: the answer holds exactly what the frames that follow build on.
        self.unseat(join.session)
        session = actor.session
        resume = None if join.resume is None else (join.resume.epoch, join.resume.v, join.resume.stamp)
        seated = Seated(self, actor, seat, claims, held)
        missed = actor.attach(seated, resume)
        self._seats[join.session] = seated
        try:
            answer = m.Joined(
                join.session,
                seat,
                session.seats[seat].role,
                session.epoch,
                session.v,
                session.stamp,
                session.header.ruleset,
                session.header.variant,
                missed is not None,
                view=None if missed is not None else engine.view(actor.rules, session, engine.sight_of(session, seat)),
                history=None if history is None else fit_entries(history, self.codec, MAX_FRAME_OUT // 2),
                id=join.id,
            )
            questions = [self.codec.encode(question) for question in actor.fanout.open_questions(session, seat)]
            self._outbox.push_large([*self.connection.send_view(answer), *(missed or ()), *questions])
        except EntityTooLarge:
            self.log.exception("a view does not fit", session=join.session)
            self.unseat(join.session)
            self._error(Code.INTERNAL, "This table does not fit into a message.", join)
        except BaseException:
            self.unseat(join.session)
            raise

    async def _find(self, join: m.Join, claims: Claims) -> tuple[Actor, str, list[Any] | None]:
        """The session to join, as new as the client knows it, the seat the token opens, and the page of history it wants."""
        history: list[Any] | None = None
        while True:
            actor = await self.server.registry.get(join.session)
            seat = seat_for(actor, claims)
            if join.resume is not None and not actor.knows((join.resume.epoch, join.resume.v, join.resume.stamp)):
                await actor.look()
            if join.resume is not None:
                await actor.note_erased(join.resume.v)
            if join.history:
                history, _ = await actor.history(seat, None, join.history)
            # It may have left memory, or the seat may have gone, while we waited.
            if not actor.gone and claims.opens(actor.session, seat):
                return actor, seat, history

    # --- commands ----------------------------------------------------------------------------------------------------------

    def _do(self, do: m.Do) -> None:
        seated = self._seats.get(do.session)
        if seated is None:
            self._error(Code.NOT_JOINED, sentence(Code.NOT_JOINED), do)
            return
        if not self._may_pass(do.id, do.session, seated.seat):
            return
        try:
            command, texts = detach(seated.actor.rules.decode(bytes(do.command)))
        except Rejected as refusal:
            self.server.metrics.action(refusal.code)
            self._error(refusal.code, refusal.text, do, data=refusal.data, v=seated.actor.session.v)
            return
        self._submit(seated, do, command, texts, do.at)

    def _submit(
        self, seated: Seated, message: m.Do | m.Salt, command: Any, texts: tuple[tuple[str, bytes], ...], at: int | None = None
    ) -> None:
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
        if not wait:
            self._strikes = 0
            return True
        text = "Too many messages in a short time. Wait a moment."
        self.send(m.Error(Code.RATE_LIMITED, text, id, session or None, retry_after=wait))
        self._strike()
        return False

    def _strike(self) -> None:
        self.server.metrics.rate_limited.inc()
        self._strikes += 1
        if self._strikes > STRIKES and self.connection.state is State.READY:
            self.push((self.connection.close(Code.RATE_LIMITED, retry_after=10_000),))

    def _error(self, code: str, text: str, request: Any, *, data: Any = None, v: int | None = None, retry_after: int | None = None) -> None:
        self.send(m.Error(code, text, request.id, request.session, v, data or None, retry_after))

    def send(self, message: Any) -> None:
        """Queue a message, if the connection still takes any."""
        if self.connection.state is State.READY:
            self.push((self.connection.send(message),))

    # --- seats -------------------------------------------------------------------------------------------------------------

    def unseat(self, session: str) -> None:
        """Forget a seat: the client left it, or it was taken away."""
        seated = self._seats.pop(session, None)
        if seated is not None:
            seated.actor.detach(seated)
            if seated.held is not None:
                self.server.tokens.release(seated.held)

    def evict(self, session: str, code: str, text: str) -> None:
        """A seat was taken away: say why. The connection stays."""
        self.unseat(session)
        self.connection.left(session)
        self.send(m.Error(code, text, session=session))

    def _leave_all(self) -> None:
        for session in list(self._seats):
            self.unseat(session)
        if self._held is not None:
            self.server.tokens.release(self._held)

    def _revoked(self, problem: AuthError) -> None:
        if self.connection.state is State.READY:
            self.push((self.connection.close(problem.code, problem.text),))
        else:
            self._refuse(problem.code, problem.text)
        self.finish(CloseCode.UNAUTHORIZED)


def close_reason(code: int) -> bytes:
    """What the close frame says."""
    return CloseCode(code).name.lower().encode() if code in CloseCode._value2member_map_ else b""


def seat_for(actor: Actor, claims: Claims) -> str:
    """The seat a token opens at a session. Raises AuthError when it opens none, without telling whether there is such a session."""
    found = claims.seats(actor.session)
    if found:
        return found[0]
    raise AuthError(Code.UNAUTHORIZED, "That token does not give access to this table.")
