"""A WebSocket client lean enough that the load generator does not measure itself: one asyncio Protocol, frames in and out, nothing else.

Only what a benchmark on loopback needs: no TLS, no compression, no continuation frames, a masking key of zeros.
"""

from __future__ import annotations

import asyncio
import base64
import os
from collections.abc import Callable
from typing import cast


class FastSocket(asyncio.Protocol):
    """One connection. `on_frame(socket, payload)` is called for every binary frame."""

    def __init__(self, on_frame: Callable[[FastSocket, bytes], None]) -> None:
        self.on_frame = on_frame
        self.received = 0
        self.bytes_in = 0
        self.opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._buffer = bytearray()
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's transports do not inherit from asyncio's

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.opened.done():
            self.opened.set_exception(exc or ConnectionError("closed before the handshake"))
        if not self.closed.done():
            self.closed.set_result(None)

    def handshake(self, host: str, path: str) -> None:
        key = base64.b64encode(os.urandom(16)).decode()
        assert self._transport is not None
        self._transport.write(
            f"GET {path} HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: dustup.v1.msgpack\r\n\r\n".encode()
        )

    def send(self, payload: bytes) -> None:
        size = len(payload)
        if size < 126:
            head = bytes((0x82, 0x80 | size))
        elif size < 65536:
            head = bytes((0x82, 0xFE)) + size.to_bytes(2, "big")
        else:
            head = bytes((0x82, 0xFF)) + size.to_bytes(8, "big")
        assert self._transport is not None
        self._transport.write(head + b"\0\0\0\0" + payload)

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def data_received(self, data: bytes) -> None:
        self.bytes_in += len(data)
        buffer = self._buffer
        buffer += data
        if not self.opened.done():
            end = buffer.find(b"\r\n\r\n")
            if end < 0:
                return
            if not buffer.startswith(b"HTTP/1.1 101"):
                self.opened.set_exception(ConnectionError(bytes(buffer[:200]).decode("latin-1")))
                return
            del buffer[: end + 4]
            self.opened.set_result(None)
        at = 0
        while len(buffer) - at >= 2:
            opcode, size, start = buffer[at] & 0x0F, buffer[at + 1] & 0x7F, at + 2
            if size == 126:
                size, start = int.from_bytes(buffer[at + 2 : at + 4], "big"), at + 4
            elif size == 127:
                size, start = int.from_bytes(buffer[at + 2 : at + 10], "big"), at + 10
            if len(buffer) < start + size:
                break
            payload = bytes(buffer[start : start + size])
            at = start + size
            if opcode == 2:
                self.received += 1
                self.on_frame(self, payload)
            elif opcode == 9 and self._transport is not None:
                self._transport.write(bytes((0x8A, 0x80 | size)) + b"\0\0\0\0" + payload)
        if at:
            del buffer[:at]


async def connect(host: str, port: int, path: str, on_frame: Callable[[FastSocket, bytes], None]) -> FastSocket:
    _, protocol = await asyncio.get_running_loop().create_connection(lambda: FastSocket(on_frame), host, port)
    protocol.handshake(f"{host}:{port}", path)
    await protocol.opened
    return protocol
