"""What was done by which action id, per client of a seat: the memory that turns a re-sent command into its first answer."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping

KEPT = 64
CLIENTS = 256


class Acks:
    """The last n and the last acks of each client that acted here; others are loaded from the store when they first act."""

    def __init__(self) -> None:
        self._clients: OrderedDict[str, tuple[int, dict[int, int]]] = OrderedDict()

    def __contains__(self, client: str) -> bool:
        return client in self._clients

    def load(self, client: str, last: int, acks: Mapping[int, int]) -> None:
        known = self._clients.get(client)
        if known is None or known[0] < last:
            self._clients[client] = (last, dict(acks))
        self._bound()

    def record(self, client: str, n: int, v: int) -> None:
        """Entry `v` did action `n`. Ignored for a client that was not loaded: its acks come whole from the store."""
        known = self._clients.get(client)
        if known is None:
            return
        acks = known[1]
        acks[n] = v
        while len(acks) > KEPT:
            del acks[min(acks)]
        self._clients[client] = (max(known[0], n), acks)
        self._clients.move_to_end(client)

    def forget(self, client: str) -> None:
        """What is known of a client proved wrong: it is loaded anew before it acts again."""
        self._clients.pop(client, None)

    def _bound(self) -> None:
        while len(self._clients) > CLIENTS:
            self._clients.popitem(last=False)

    def find(self, client: str, n: int) -> int | None:
        """The version that did this action; 0 when it is older than those remembered; None when it is new."""
        last, acks = self._clients.get(client, (0, {}))
        if n > last:
            return None
        return acks.get(n, 0)
