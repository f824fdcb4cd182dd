"""What is known of the connection: connected, or lost since when and tried again when."""

from __future__ import annotations

import time
from dataclasses import dataclass

import dustup


@dataclass(slots=True)
class LinkState:
    """Looked at a few times a second. `seconds` until the next try, None while one is under way."""

    client: dustup.Client
    connected: bool = True
    lost_at: float = 0.0
    next_at: float = 0.0
    _wait: float = 0.0

    def look(self) -> bool:
        """Notice changes; True when something to be shown is different."""
        was = self.connected
        self.connected = self.client.connected
        now = time.monotonic()
        # The SDK tells the wait before its next try only here.
        wait = self.client.reconnect_in
        if not self.connected:
            if was:
                self.lost_at = now
            if was or wait != self._wait:
                self.next_at = now + wait
        self._wait = wait
        return was != self.connected or not self.connected

    @property
    def seconds(self) -> int | None:
        left = self.next_at - time.monotonic()
        return max(1, round(left)) if left > 0 else None
