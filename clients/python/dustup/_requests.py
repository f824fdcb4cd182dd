"""What this client asked and has no answer to yet, and when a refusal means "ask again by the same id"."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from ._codec import Message
from .errors import DustupError, Refused, Unavailable

RETRIED = frozenset({"unavailable", "shutting_down", "rate_limited", "read_only", "archived", "not_joined"})
"""Codes that say nothing about the request itself: it is sent again, by the same id, when its time has come."""

MOST = 1000
"""Requests one client may have open at a time."""

WINDOW = 200
"""Requests sent and unanswered at a time; a server refuses more than 256."""


class Backoff:
    """Waits between attempts, in seconds: they double up to `cap`, jittered so that many clients do not come back at once."""

    def __init__(self, rng: random.Random, first: float, cap: float) -> None:
        self._rng = rng
        self._first = first
        self._cap = cap
        self.tries = 0

    def next(self, retry_after_ms: int | None = None) -> float:
        """The next wait. A time told by the server is never undercut, and stretched by up to a quarter."""
        spread = self._rng.random()
        wait: float = min(self._cap, self._first * 2.0 ** min(self.tries, 30)) * (0.5 + spread / 2)
        self.tries += 1
        if retry_after_ms is not None and retry_after_ms > 0:
            return retry_after_ms / 1000 * (1 + spread / 4)
        return wait

    def reset(self) -> None:
        self.tries = 0


@dataclass(slots=True)
class Request:
    """One open request. `ordered` ones are actions: one at a time per session, in the order asked, never twice.

    `due` and `deadline` are seconds of the caller's monotonic clock: not before, and not after.
    """

    id: str
    raw: bytes
    session: str | None
    ordered: bool
    deadline: float
    waits: Backoff
    sent: bool = False
    tried: bool = False
    due: float = 0.0
    last: Message | None = None
    abandoned: bool = False
    dies_with_connection: bool = False

    def again(self, answer: Message, now: float) -> None:
        """The server could not do it now: send the same bytes later."""
        self.sent = False
        self.last = answer
        self.due = now + self.waits.next(answer.get("retry_after"))

    def expired(self) -> DustupError:
        """The error for a request whose time is up."""
        if self.last is not None and self.last.get("code") == "rate_limited":
            return refusal(self.last)
        why = f" (the server said: {self.last.get('text') or self.last.get('code')})" if self.last else ""
        if not self.tried:
            return Unavailable(f"the server could not be reached in time; nothing was sent{why}", None)
        if self.ordered:
            return Unavailable(f"no answer in time{why}: it may have been done or not, look at the table before doing it again", self.id)
        return Unavailable(f"no answer in time{why}", None)


def refusal(message: Message) -> Refused:
    """A server's `error` message as an exception."""
    return Refused(
        message.get("code", "internal"),
        message.get("text", ""),
        message.get("v"),
        message.get("data"),
        message.get("retry_after"),
    )


class Requests:
    """The open requests of one client, in the order asked."""

    def __init__(self) -> None:
        self._open: dict[str, Request] = {}

    def __len__(self) -> int:
        return len(self._open)

    def __iter__(self) -> Iterator[Request]:
        return iter(list(self._open.values()))

    def add(self, request: Request) -> None:
        """Raises Unavailable when too many are open already."""
        if len(self._open) >= MOST:
            raise Unavailable(f"{MOST} requests are open already: wait for answers before asking more")
        self._open[request.id] = request

    def get(self, id: str | None) -> Request | None:
        return self._open.get(id) if id is not None else None

    def pop(self, id: str) -> Request | None:
        return self._open.pop(id, None)

    def sendable(self, joined: set[str], now: float) -> Iterator[Request]:
        """Those to send now: their session is joined, their time has come, and no earlier action of that session is open."""
        busy: set[str] = set()
        room = WINDOW - sum(request.sent for request in self._open.values())
        for request in self:
            if room <= 0:
                return
            if request.ordered and request.session is not None:
                if request.session in busy:
                    continue
                busy.add(request.session)
            if not request.sent and request.due <= now and (request.session is None or request.session in joined):
                room -= 1
                yield request

    def next_time(self, now: float) -> float | None:
        """The next moment at which one of them is due or expires."""
        times = [request.deadline for request in self._open.values()]
        times += [request.due for request in self._open.values() if not request.sent and request.due > now]
        return min(times, default=None)
