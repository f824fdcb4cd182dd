"""One connection as the server sees it, without sockets, clock or tokens: frames in, events out; messages in, frames out.

Everything that decides what a client may send when lives in this file. The server owns the rest: it reads and writes the
socket, checks tokens, runs commands, and closes the socket when a Fault or `close_code` says so.

States:

| state   | entered by                                   | may receive                  | may send           |
|---------|----------------------------------------------|------------------------------|--------------------|
| NEW     | the start                                    | hello; anything else: fault  | nothing but close  |
| GREETED | a good hello; the server checks the token    | nothing: decide first        | accept, refuse     |
| READY   | accept(welcome)                              | anything but hello           | any message        |
| CLOSING | a fault that closes, refuse, close           | ignored                      | nothing            |
| CLOSED  | closed(): the socket is gone                 | ignored                      | nothing            |

Transitions:

| from     | on                                                          | to      |
|----------|-------------------------------------------------------------|---------|
| NEW      | hello with a version in common                              | GREETED |
| NEW      | hello without one; another message; any bad frame; too late | CLOSING |
| GREETED  | accept                                                      | READY   |
| GREETED  | refuse                                                      | CLOSING |
| READY    | a second hello; a frame that is no well-formed map          | CLOSING |
| any open | close(code)                                                 | CLOSING |
| any      | closed()                                                    | CLOSED  |

Calls that the state forbids are the server's own mistake and raise LocalProtocolError; the client's mistakes are Faults.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

from msgspec import Struct

from protocol.codec import Codec, FrameError, Wire
from protocol.errors import CloseCode, Code, close_code, sentence
from protocol.messages import (
    Bye,
    ClientMessage,
    Do,
    Error,
    Frame,
    Hello,
    History,
    Join,
    Joined,
    Leave,
    Odds,
    Options,
    Ping,
    Prompt,
    Salt,
    ServerMessage,
    Welcome,
)
from protocol.parts import ViewMessage, encode_parts
from protocol.versions import MAX_OUTSTANDING, MAX_SESSIONS, mismatch, negotiate


class State(Enum):
    """Where a connection is in its life."""

    NEW = "new"
    GREETED = "greeted"
    READY = "ready"
    CLOSING = "closing"
    CLOSED = "closed"


class LocalProtocolError(RuntimeError):
    """The server called something that the state of the connection does not allow."""


class Fault(Struct, frozen=True):
    """The client's mistake: send `reply` (`error`, encoded), then close the socket with `close` if it is not None."""

    error: Error
    reply: Wire
    close: CloseCode | None = None


Event = ClientMessage | Fault
_Request = Join | Leave | Do | Options | Odds | History | Salt


class Connection:
    """The server side of one connection.

    `max_sessions` bounds the sessions joined or being joined, `max_outstanding` the requests without an answer yet.
    With `require_join` False, requests for sessions that were not joined are passed on (the server may know better).
    """

    __slots__ = (
        "_joined",
        "_joining",
        "_max_outstanding",
        "_max_sessions",
        "_outstanding",
        "_require_join",
        "close_code",
        "codec",
        "state",
        "version",
    )

    def __init__(
        self,
        codec: Codec,
        *,
        max_sessions: int = MAX_SESSIONS,
        max_outstanding: int = MAX_OUTSTANDING,
        require_join: bool = True,
    ) -> None:
        self.codec = codec
        self.state = State.NEW
        self.version: int | None = None
        """The negotiated protocol version, from GREETED on."""
        self.close_code: CloseCode | None = None
        """The code to close the socket with, from CLOSING on."""
        self._max_sessions = max_sessions
        self._max_outstanding = max_outstanding
        self._require_join = require_join
        self._joined: set[str] = set()
        # Session -> id of the join that is being answered.
        self._joining: dict[str, str | None] = {}
        # Request id -> the session it is for, and whether it is an action, which may be sent again.
        self._outstanding: dict[str, tuple[str, bool]] = {}

    @property
    def joined(self) -> frozenset[str]:
        """The sessions this connection sits at."""
        return frozenset(self._joined)

    @property
    def outstanding(self) -> int:
        """How many requests wait for their answer."""
        return len(self._outstanding)

    # --- Frames in ----------------------------------------------------------------------------------------------------

    def receive(self, frame: Wire) -> list[Event]:
        """What a frame from the client means: its message, a Fault, or nothing.

        Nothing comes of a `do` or `salt` that repeats an id still waiting for its answer (that answer is the answer),
        and of frames while closing. Raises LocalProtocolError while the server has not decided on a hello.
        """
        state = self.state
        if state is not State.READY:
            if state is State.NEW:
                return [self._greet(frame)]
            if state is State.GREETED:
                raise LocalProtocolError("decide on the hello with accept() or refuse() before the next receive()")
            return []
        try:
            message = self.codec.decode_client(frame)
        except FrameError as error:
            return [self._refused(error)]
        if isinstance(message, Ping):
            return [message]
        if isinstance(message, Hello):
            return [self._fault(Code.BAD_FRAME, "Hello is said once per connection.", close=CloseCode.BAD_FRAME)]
        return self._request(message)

    def _greet(self, frame: Wire) -> Event:
        try:
            message = self.codec.decode_client(frame)
        except FrameError as error:
            return self._refused(error, close=error.close or CloseCode.BAD_FRAME)
        if not isinstance(message, Hello):
            text = "The first message of a connection is hello."
            return self._fault(Code.BAD_FRAME, text, id=message.id, close=CloseCode.BAD_FRAME)
        if message.min > message.max:
            text = f"The lowest version ({message.min}) is above the highest ({message.max})."
            return self._fault(Code.BAD_FRAME, text, close=CloseCode.BAD_FRAME)
        version = negotiate(message.min, message.max)
        if version is None:
            text, data = mismatch(message.min, message.max)
            return self._fault(Code.UNSUPPORTED_VERSION, text, data=data, close=CloseCode.UNSUPPORTED_VERSION)
        self.version = version
        self.state = State.GREETED
        return message

    def _request(self, message: _Request) -> list[Event]:
        session, id = message.session, message.id
        request = (session, isinstance(message, Do | Salt))
        outstanding = self._outstanding
        if id is not None and id in outstanding:
            if request[1] and outstanding[id] == request:
                return []
            # Not `id=id`: that would look like the answer to the request that is still waiting.
            return [self._fault(Code.BAD_FRAME, f"The id '{id}' belongs to a request that is not answered yet.", data={"id": id})]
        if len(outstanding) >= self._max_outstanding:
            text = f"{self._max_outstanding} requests wait for their answers. Send more when some have come."
            return [self._fault(Code.RATE_LIMITED, text, id=id, session=session, retry_after=1000)]
        if isinstance(message, Join):
            fault = self._start_join(message)
            if fault is not None:
                return [fault]
        elif self._require_join and session not in self._joined and session not in self._joining:
            return [self._fault(Code.NOT_JOINED, id=id, session=session)]
        if isinstance(message, Leave):
            self.left(session)
        if id is not None:
            outstanding[id] = request
        return [message]

    def _start_join(self, message: Join) -> Fault | None:
        session, joining, joined = message.session, self._joining, self._joined
        if session in joining:
            return self._fault(Code.BUSY, "This table is being joined already.", id=message.id, session=session)
        if session not in joined and len(joined) + sum(other not in joined for other in joining) >= self._max_sessions:
            text = f"One connection may sit at {self._max_sessions} tables. Leave one first."
            return self._fault(Code.LIMIT, text, id=message.id, session=session)
        joining[session] = message.id
        return None

    # --- Messages out -------------------------------------------------------------------------------------------------

    def accept(self, welcome: Welcome) -> Wire:
        """The frame that accepts the hello. `welcome.version` must be the negotiated `version`."""
        if self.state is not State.GREETED:
            raise LocalProtocolError(f"accept() while {self.state.value}")
        if welcome.version != self.version:
            raise LocalProtocolError(f"welcome with version {welcome.version}, but {self.version} was negotiated")
        self.state = State.READY
        return self.codec.encode(welcome)

    def refuse(self, code: str, text: str | None = None, *, retry_after: int | None = None) -> Wire:
        """The frame that refuses the hello; close the socket with `close_code` after sending it."""
        if self.state is not State.GREETED:
            raise LocalProtocolError(f"refuse() while {self.state.value}")
        self._closing(close_code(code))
        return self.codec.encode(Error(code=code, text=text or sentence(code), retry_after=retry_after))

    def send(self, message: ServerMessage) -> Wire:
        """The frame of a message, noting which request it answers. An error that refuses a join must name its id or session."""
        if self.state is not State.READY:
            raise LocalProtocolError(f"send() while {self.state.value}")
        if not isinstance(message, Frame | Prompt):
            self._answered(message)
        return self.codec.encode(message)

    def send_view(self, message: ViewMessage) -> list[Wire]:
        """As `send`, in as many frames as the view needs. Raises parts.EntityTooLarge, and then nothing is noted."""
        if self.state is not State.READY:
            raise LocalProtocolError(f"send_view() while {self.state.value}")
        frames = encode_parts(message, self.codec)
        self._answered(message)
        return frames

    def close(self, code: str, text: str | None = None, *, retry_after: int | None = None) -> Wire:
        """The frame of a `bye`; close the socket with `close_code` after sending it."""
        if self.state in (State.CLOSING, State.CLOSED):
            raise LocalProtocolError(f"close() while {self.state.value}")
        self._closing(close_code(code))
        return self.codec.encode(Bye(code=code, text=text or sentence(code), retry_after=retry_after))

    def hello_overdue(self) -> Fault | None:
        """Say that the time for a hello is over: the Fault to act on, or None when hello has come or the end has begun."""
        if self.state is not State.NEW:
            return None
        return self._fault(Code.HELLO_TIMEOUT, close=CloseCode.HELLO_TIMEOUT)

    def left(self, session: str) -> None:
        """Forget a session: the client left it, or the server took it away (its requests still get their answers)."""
        self._joined.discard(session)
        self._joining.pop(session, None)

    def closed(self) -> None:
        """The socket is gone."""
        self.state = State.CLOSED
        self._joined.clear()
        self._joining.clear()
        self._outstanding.clear()

    # --- Inside -------------------------------------------------------------------------------------------------------

    def _answered(self, message: ServerMessage) -> None:
        id = getattr(message, "id", None)
        session = None if id is None else self._outstanding.pop(id, (None, False))[0]
        if isinstance(message, Joined):
            joined = message.session
            # Without an entry the client has left again before its join was answered.
            if joined in self._joining:
                del self._joining[joined]
                self._joined.add(joined)
        elif isinstance(message, Error) and self._joining:
            session = session or message.session
            if session in self._joining and self._joining[session] == id:
                del self._joining[session]

    def _refused(self, error: FrameError, close: CloseCode | None = None) -> Fault:
        id, data = error.id, error.data
        if id is not None and id in self._outstanding:
            id, data = None, {"id": id}
        return self._fault(error.code, error.text, id=id, session=error.session, data=data, close=close or error.close)

    def _fault(
        self,
        code: str,
        text: str | None = None,
        *,
        id: str | None = None,
        session: str | None = None,
        data: dict[str, Any] | None = None,
        retry_after: int | None = None,
        close: CloseCode | None = None,
    ) -> Fault:
        error = Error(code=code, text=text or sentence(code), id=id, session=session, data=data, retry_after=retry_after)
        if close is not None:
            self._closing(close)
        return Fault(error, self.codec.encode(error), close)

    def _closing(self, code: CloseCode) -> None:
        self.state = State.CLOSING
        self.close_code = code
