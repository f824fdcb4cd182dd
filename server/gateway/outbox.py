"""What waits to be written to one connection: bounded, in order, and written straight to its transport.

Frames of one turn of the event loop go out in one write. As long as the other side reads, nothing waits here; when its transport has
enough, frames queue here, up to a limit, and whoever sits behind a full queue is for the owner to close.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final

from protocol.codec import Wire

BUFFERED: Final = 128 * 1024
"""Bytes the transport may hold; what is beyond waits in the queue, where it can still be thrown away."""
LOOK_EVERY_S: Final = 0.02
_BINARY: Final = 0x82
_TEXT: Final = 0x81


def framed(payload: bytes, text: bool) -> bytes:
    """A WebSocket message as one unmasked frame (RFC 6455, 5.2), which is how servers send."""
    size = len(payload)
    first = _TEXT if text else _BINARY
    if size < 126:
        return bytes((first, size)) + payload
    if size < 65536:
        return bytes((first, 126)) + size.to_bytes(2, "big") + payload
    return bytes((first, 127)) + size.to_bytes(8, "big") + payload


class Outbox:
    """The outgoing side of one connection. `overflow()` is called, once, when more than `limit` bytes wait; the queue is empty then."""

    def __init__(self, transport: asyncio.WriteTransport, limit: int, overflow: Callable[[], None]) -> None:
        self._transport = transport
        self._limit = limit
        self._overflow = overflow
        self._loop = asyncio.get_running_loop()
        self._queue: deque[bytes] = deque()
        self._waiting = 0
        self._extra = 0
        self._timer: asyncio.Handle | None = None
        self._empty = asyncio.Event()
        self._empty.set()
        self._closed = False

    @property
    def waiting(self) -> int:
        """Bytes in the queue."""
        return self._waiting

    def push_large(self, wires: Sequence[Wire]) -> None:
        """Queue what was asked for and may be larger than the limit by itself (a whole view). Only after `drained`."""
        self._extra = sum(map(len, wires))
        self.push(wires)

    def push(self, wires: Sequence[Wire]) -> None:
        """Queue messages. Never blocks, never raises; nothing happens once closed."""
        if self._closed:
            return
        queue = self._queue
        for wire in wires:
            frame = framed(wire, False) if type(wire) is bytes else framed(str(wire).encode(), True)
            queue.append(frame)
            self._waiting += len(frame)
        if self._timer is None:
            self._empty.clear()
            self._timer = self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        self._timer = None
        transport, queue = self._transport, self._queue
        if transport.is_closing():
            self.close()
            return
        if len(queue) == 1 and not transport.get_write_buffer_size():
            transport.write(queue.popleft())
            self._waiting = 0
        room = BUFFERED - transport.get_write_buffer_size()
        batch: list[bytes] = []
        while queue and room > 0:
            frame = queue.popleft()
            room -= len(frame)
            self._waiting -= len(frame)
            batch.append(frame)
        if batch:
            transport.write(b"".join(batch))
        if not queue:
            self._extra = 0
            self._empty.set()
        elif self._waiting > self._limit + self._extra:
            self.clear()
            self._overflow()
        else:
            # It reads slowly. Looking again now and then costs little, and only for those who do.
            self._timer = self._loop.call_later(LOOK_EVERY_S, self._flush)

    def clear(self) -> None:
        """Throw away what waits."""
        self._queue.clear()
        self._waiting = 0
        self._empty.set()

    def close(self) -> None:
        """Take nothing more and forget what waits."""
        self._closed = True
        self.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    async def drained(self) -> None:
        """Wait until the transport has everything that was pushed."""
        await self._empty.wait()
