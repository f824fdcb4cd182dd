"""Exact odds for whoever asks, off the event loop and remembered.

The same question at the same version through the same sight is worked out once.

Sessions are immutable, so a worker thread may read one while the next steps are judged. One worker is enough, and keeps a crowd of
questions from taking the processor from the game.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import msgspec

import engine
from engine import Odds, Rejected, Ruleset, Session

KEPT: Final = 4096
"""Answers remembered by one node, over all its sessions."""
WAITING: Final = 64
"""Questions that may wait for the worker."""
PATIENCE_S: Final = 5.0

_encode = msgspec.msgpack.Encoder().encode


class OddsDesk:
    """Answers odds for all sessions of a node."""

    def __init__(self) -> None:
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="odds")
        self._kept: OrderedDict[tuple[Any, ...], asyncio.Future[Odds]] = OrderedDict()
        self._waiting = 0
        self.worked_out = 0
        """How many questions the worker was given: the rest were remembered."""

    async def ask(self, rules: Ruleset, session: Session, seat: str, command: Any) -> Odds:
        """The odds of a typed command for a seat. Raises Rejected: for a command without odds, and `rate_limited` or `limit` under load."""
        key = (session.header.session, session.epoch, session.v, engine.sight_of(session, seat), _encode(command))
        known = self._kept.get(key)
        if known is None:
            if self._waiting >= WAITING:
                raise Rejected("rate_limited", "Many odds are being worked out; ask again in a moment.")
            self._waiting += 1
            self.worked_out += 1
            known = asyncio.wrap_future(self._worker.submit(rules.odds, session, seat, command))
            known.add_done_callback(lambda done: self._done(key, done))
            self._kept[key] = known
            if len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        try:
            # Shielded: others may wait for the same answer.
            return await asyncio.wait_for(asyncio.shield(known), PATIENCE_S)
        except TimeoutError:
            raise Rejected("limit", "These odds take too long to work out.") from None

    def _done(self, key: tuple[Any, ...], done: asyncio.Future[Odds]) -> None:
        self._waiting -= 1
        if done.cancelled() or done.exception() is not None:
            self._kept.pop(key, None)

    def close(self) -> None:
        """Stop the worker; questions that wait are dropped."""
        self._worker.shutdown(wait=False, cancel_futures=True)
