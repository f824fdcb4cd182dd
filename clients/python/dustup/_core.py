"""The client without sockets: bytes of the server in, changed tables and bytes to send out.

The caller brings the clock (any monotonic seconds) and moves bytes; this file decides. Everything that must hold after a
lost connection is decided here: resume points, which requests go again and in which order, when to give up.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from . import _codec
from ._codec import Message
from ._events import Answered, Changed, Event, Failed, Fatal, HangUp, Present, Prompted, TableLost, Welcomed
from ._replica import Replica
from ._requests import RETRIED, Backoff, Request, Requests, refusal
from ._version import __version__
from .errors import BadMessage, Closed, DustupError, ProtocolError, Refused, Unauthorized, Unavailable, UnsupportedVersion

VERSION = 1
"""The protocol version this client speaks."""

NAME = "dustup-python"

WELCOME_WITHIN = 10.0
STEADY_AFTER = 5.0

FATAL_CLOSE = {
    1003: ("bad_frame", "the server does not take binary messages at this address"),
    1007: ("bad_frame", "the server could not read what this client sent"),
    1009: ("too_large", "a message was larger than the other side takes"),
    4002: ("bad_frame", "the server could not read what this client sent"),
    4003: ("unauthorized", "the server does not accept the token"),
    4004: ("unsupported_version", "the server does not speak this client's protocol version"),
    4013: ("too_large", "a message was larger than the server takes"),
}
RATE_LIMITED_CLOSE, RATE_LIMITED_WAIT_MS = 4008, 60_000
BYE_CLOSE = 4000
UNSEATED = frozenset({"revoked", "no_session", "expired", "unauthorized", "forbidden", "unknown_seat"})
"""Codes that, said of a table without being asked, mean the seat is gone."""
FATAL_CODES = frozenset({"unauthorized", "expired", "revoked", "unsupported_version"})


@dataclass(slots=True)
class _Join:
    id: str
    deadline: float
    due: float
    waits: Backoff
    sent: bool = False


class Core:
    """One client's state. Not thread-safe; every method returns at once.

    `patience`: seconds after which a request or a first join without an answer fails with Unavailable. `client`: the first half
    of action ids, random unless given. `first_wait` and `longest_wait`: seconds of the shortest and longest reconnect wait.
    """

    def __init__(
        self,
        token: str,
        *,
        client: str,
        rng: random.Random,
        patience: float = 60.0,
        first_wait: float = 0.25,
        longest_wait: float = 15.0,
    ) -> None:
        self.client = client
        self.patience = patience
        self.tables: dict[str, Replica] = {}
        self.welcome: Message = {}
        self.reconnect_in = 0.0
        self._token = token
        self._rng = rng
        self._waits = (first_wait, longest_wait)
        self._reconnects = Backoff(rng, first_wait, longest_wait)
        self._requests = Requests()
        self._joins: dict[str, _Join] = {}
        self._ids = 0
        self._out: list[bytes] = []
        self._connected_at: float | None = None
        self._ready = False
        self._retry_after: int | None = None
        self._last_error: Message | None = None
        self._fatal: Closed | None = None

    # ---- what the user asks

    def ask(self, kind: str, session: str | None, fields: Message, now: float, *, ordered: bool = False) -> str:
        """Queue one request and give its id. Raises BadMessage for what cannot be sent, Closed or Refused when it makes no sense."""
        self._check_alive()
        if session is not None and session not in self.tables:
            raise Refused("not_joined", "this table is not joined")
        self._ids += 1
        id = f"{self.client}.{self._ids}" if ordered else f"q{self._ids}"
        message = {"t": kind, "id": id, **fields}
        if session is not None:
            message["session"] = session
        raw = _codec.encode(message, self.limit)
        self._requests.add(Request(id, raw, session, ordered, now + self.patience, Backoff(self._rng, *self._waits)))
        self._flush(now)
        return id

    def join(self, session: str, token: str | None, history: int, now: float) -> None:
        """Want a table. Ends in Changed(first=True) or TableLost."""
        self._check_alive()
        replica = Replica(session, token, history)
        _codec.encode(replica.join_message("j"), self.limit)
        self.tables[session] = replica
        self._want(session, now, now + self.patience)
        self._flush(now)

    def leave(self, session: str, now: float) -> str | None:
        """Stop following a table. The id of the `leave` sent, or None when there is no connection to say it on."""
        replica = self.tables.pop(session, None)
        self._joins.pop(session, None)
        if replica is None or replica.state != "joined":
            return None
        id = self.ask("leave", None, {"session": session}, now)
        request = self._requests.get(id)
        if request is not None:
            request.dies_with_connection = True
        return id

    def abandon(self, id: str) -> None:
        """The user no longer waits. What was not sent never will be; what was sent stays in its place until answered."""
        request = self._requests.get(id)
        if request is None:
            return
        request.abandoned = True
        if not request.sent:
            self._requests.pop(id)

    # ---- what the connection does

    @property
    def limit(self) -> int:
        """Bytes of the largest message the server takes."""
        limit = (self.welcome.get("limits") or {}).get("frame_in")
        return limit if isinstance(limit, int) else _codec.FRAME_IN

    @property
    def ready(self) -> bool:
        """True between `welcome` and the end of a connection."""
        return self._ready

    def connected(self, now: float) -> None:
        """A socket is open: say hello."""
        self._out.clear()
        self._connected_at = now
        self._retry_after = None
        self._last_error = None
        hello = {
            "t": "hello",
            "token": self._token,
            "min": VERSION,
            "max": VERSION,
            "client": {"name": NAME, "version": __version__},
        }
        self._out.append(_codec.encode(hello))

    def disconnected(self, now: float, code: int | None, retry_after_ms: int | None = None) -> list[Event]:
        """The socket is closed, or never opened. Sets `reconnect_in`; a Fatal event says that trying again is pointless."""
        lived = now - self._connected_at if self._connected_at is not None else 0.0
        self._connected_at = None
        self._ready = False
        self._out.clear()
        events: list[Event] = []
        for replica in self.tables.values():
            replica.out()
            self._want(replica.session, now, None)
        for request in self._requests:
            request.sent = False
            if request.dies_with_connection:
                self._requests.pop(request.id)
                events.append(Answered(request.id, {"t": "ack", "id": request.id}))
            elif request.abandoned:
                self._requests.pop(request.id)
        if lived >= STEADY_AFTER:
            self._reconnects.reset()
        if self._retry_after is not None:
            retry_after_ms = self._retry_after
        elif code == RATE_LIMITED_CLOSE:
            retry_after_ms = RATE_LIMITED_WAIT_MS
        self.reconnect_in = self._reconnects.next(retry_after_ms)
        reason = self._why_fatal(code)
        if reason is not None:
            events.extend(self.fail(reason))
        return events

    def receive(self, raw: bytes, now: float) -> list[Event]:
        """One message of the server. What is not understood is ignored, what is garbage ends the connection."""
        try:
            message = _codec.decode(raw)
        except BadMessage as error:
            return [HangUp(4002, f"the server sent garbage: {error}")]
        events: list[Event] = []
        handler = _HANDLERS.get(message["t"])
        if handler is not None:
            try:
                handler(self, message, now, events)
            except (KeyError, TypeError, AttributeError, ValueError) as error:
                return [*events, HangUp(4002, f"the server sent a broken `{message['t']}`: {type(error).__name__} {error}")]
        self._flush(now)
        return events

    def tick(self, now: float) -> list[Event]:
        """Give up what has waited too long, and send what is due. To be called at `wake_at`."""
        events: list[Event] = []
        for request in self._requests:
            if request.deadline <= now:
                self._requests.pop(request.id)
                events.append(Failed(request.id, request.expired()))
        for session, join in list(self._joins.items()):
            if join.deadline <= now:
                self._lose(session, Unavailable("the table could not be joined in time: the server does not answer"), events)
        if self._connected_at is not None and not self._ready and now - self._connected_at >= WELCOME_WITHIN:
            events.append(HangUp(1002, "no welcome in time"))
        self._flush(now)
        return events

    def wake_at(self, now: float) -> float | None:
        """When to call `tick` next."""
        times = [join.deadline for join in self._joins.values() if join.deadline != float("inf")]
        times += [join.due for join in self._joins.values() if not join.sent and join.due > now]
        if (of_requests := self._requests.next_time(now)) is not None:
            times.append(of_requests)
        if self._connected_at is not None and not self._ready:
            times.append(self._connected_at + WELCOME_WITHIN)
        return min(times, default=None)

    @property
    def sending(self) -> bool:
        """True when there are bytes to send."""
        return bool(self._out)

    def outgoing(self) -> list[bytes]:
        """Bytes to send, in order; they are handed out once."""
        out, self._out = self._out, []
        return out

    def fail(self, error: Closed) -> list[Event]:
        """End everything: every open request and every table fails with `error`."""
        self._fatal = error
        events: list[Event] = [Failed(request.id, error) for request in self._requests]
        self._requests = Requests()
        for session in list(self.tables):
            self._lose(session, error, events)
        return [*events, Fatal(error)]

    # ---- messages

    def _on_welcome(self, message: Message, now: float, events: list[Event]) -> None:
        self.welcome = message
        self._ready = True
        events.append(Welcomed(message))

    def _on_joined(self, message: Message, now: float, events: list[Event]) -> None:
        replica = self.tables.get(message["session"])
        if replica is None or replica.session not in self._joins or (whole := replica.gather(message)) is None:
            return
        first = replica.v == 0
        replica.joined(whole)
        del self._joins[replica.session]
        self._reconnects.reset()  # whatever ended the last connection, this server serves us
        if first or not whole.get("resumed"):
            events.append(Changed(replica.session, whole, first))

    def _on_frame(self, message: Message, now: float, events: list[Event]) -> None:
        replica = self.tables.get(message["session"])
        if replica is None or replica.state != "joined" or (whole := replica.gather(message)) is None:
            return
        outcome = replica.frame(whole)
        if outcome == "applied":
            events.append(Changed(replica.session, whole))
        elif outcome == "gap":
            self._rejoin(replica, now)

    def _on_reset(self, message: Message, now: float, events: list[Event]) -> None:
        replica = self.tables.get(message["session"])
        if replica is None or replica.state != "joined" or (whole := replica.gather(message)) is None:
            return
        replica.reset(whole)
        events.append(Changed(replica.session, whole))

    def _on_prompt(self, message: Message, now: float, events: list[Event]) -> None:
        replica = self.tables.get(message["session"])
        if replica is not None:
            prompt = message["prompt"]
            replica.asked[prompt["id"]] = prompt
            events.append(Prompted(replica.session, prompt))

    def _on_presence(self, message: Message, now: float, events: list[Event]) -> None:
        replica = self.tables.get(message["session"])
        if replica is not None:
            replica.presence = message["seats"]
            events.append(Present(replica.session, replica.presence))

    def _on_answer(self, message: Message, now: float, events: list[Event]) -> None:
        request = self._requests.pop(message["id"]) if "id" in message else None
        if request is None:
            return
        events.append(Answered(request.id, message))
        replica = self.tables.get(request.session) if request.session is not None else None
        if replica is None or replica.state != "joined" or message["t"] != "ack" or message.get("again"):
            return
        if message.get("v", 0) > replica.v:
            self._rejoin(replica, now)  # a frame comes before its ack: one was lost

    def _on_error(self, message: Message, now: float, events: list[Event]) -> None:
        id, code = message.get("id"), message["code"]
        request = self._requests.get(id)
        joining = next((session for session, join in self._joins.items() if join.sent and join.id == id), None)
        if request is not None:
            self._request_refused(request, message, now, events)
        elif joining is not None:
            self._join_refused(joining, message, now, events)
        elif id is not None:
            return
        elif message.get("session") in self.tables:
            session = message["session"]
            if session in self._joins and self._joins[session].sent:
                self._join_refused(session, message, now, events)
            elif code == "resync":
                self._rejoin(self.tables[session], now)
            elif code in UNSEATED:
                self._lose(session, refusal(message), events)
            elif code in RETRIED and code != "rate_limited":
                # The server let go of this table, and says it will have it again.
                self.tables[session].out()
                self._want(session, now, None)
                self._joins[session].due = now + self._joins[session].waits.next(message.get("retry_after"))
        else:
            self._last_error = message
            self._retry_after = message.get("retry_after", self._retry_after)
            if code in RETRIED:
                for each in self._requests:
                    if each.sent:
                        each.again(message, now)

    def _on_bye(self, message: Message, now: float, events: list[Event]) -> None:
        self._retry_after = message.get("retry_after")
        self._last_error = message

    # ---- inner workings

    def _request_refused(self, request: Request, message: Message, now: float, events: list[Event]) -> None:
        code = message["code"]
        if code not in RETRIED or request.abandoned:
            self._requests.pop(request.id)
            events.append(Failed(request.id, refusal(message)))
            return
        request.again(message, now)
        if request.due > request.deadline:
            self._requests.pop(request.id)
            events.append(Failed(request.id, request.expired()))
        elif code == "not_joined" and request.session is not None and (replica := self.tables.get(request.session)) is not None:
            replica.out()
            self._want(replica.session, now, None)

    def _join_refused(self, session: str, message: Message, now: float, events: list[Event]) -> None:
        replica, join = self.tables[session], self._joins[session]
        if message["code"] in RETRIED or message["code"] == "busy":
            join.sent = False
            join.due = now + join.waits.next(message.get("retry_after"))
        elif message["code"] in ("too_old", "resync") and not replica.fresh:
            self._rejoin(replica, now)
        else:
            self._lose(session, refusal(message), events)

    def _want(self, session: str, now: float, deadline: float | None) -> None:
        """Join (again) as soon as possible. Without a deadline an earlier one is kept, if any: a table once joined is waited for."""
        known = self._joins.get(session)
        self._ids += 1
        if deadline is None:
            deadline = known.deadline if known is not None else float("inf")
        self._joins[session] = _Join(f"j{self._ids}", deadline, now, known.waits if known else Backoff(self._rng, *self._waits))

    def _rejoin(self, replica: Replica, now: float) -> None:
        """The view cannot be trusted to be whole: fetch all of it."""
        replica.out()
        replica.fresh = True
        self._want(replica.session, now, None)

    def _lose(self, session: str, error: DustupError, events: list[Event]) -> None:
        self.tables.pop(session, None)
        self._joins.pop(session, None)
        for request in self._requests:
            if request.session == session:
                self._requests.pop(request.id)
                events.append(Failed(request.id, error))
        events.append(TableLost(session, error))

    def _flush(self, now: float) -> None:
        if not self._ready:
            return
        for session, join in self._joins.items():
            if not join.sent and join.due <= now:
                replica = self.tables[session]
                self._out.append(_codec.encode(replica.join_message(join.id), self.limit))
                replica.state = "joining"
                join.sent = True
        joined = {session for session, replica in self.tables.items() if replica.state == "joined"}
        for request in self._requests.sendable(joined, now):
            self._out.append(request.raw)
            request.sent = request.tried = True

    def _why_fatal(self, code: int | None) -> Closed | None:
        told = self._last_error or {}
        told_code = told.get("code", "")
        if code == BYE_CLOSE and told.get("t") == "bye" and self._retry_after is None:
            return Closed(told.get("text") or "the server ended this connection", told_code or "bye")
        if code not in FATAL_CLOSE and told_code not in FATAL_CODES:
            return None
        name, text = FATAL_CLOSE.get(code or 0, (told_code, ""))
        if told_code:
            name = told_code
        text = told.get("text") or text
        if name in ("unauthorized", "expired", "revoked") or code == 4003:
            return Unauthorized(text, name)
        if name == "unsupported_version" or code == 4004:
            return UnsupportedVersion(text, name)
        return ProtocolError(text, name)

    def _check_alive(self) -> None:
        if self._fatal is not None:
            raise self._fatal


_HANDLERS = {
    "welcome": Core._on_welcome,
    "joined": Core._on_joined,
    "frame": Core._on_frame,
    "reset": Core._on_reset,
    "prompt": Core._on_prompt,
    "presence": Core._on_presence,
    "ack": Core._on_answer,
    "options": Core._on_answer,
    "odds": Core._on_answer,
    "history": Core._on_answer,
    "pong": Core._on_answer,
    "error": Core._on_error,
    "bye": Core._on_bye,
}
