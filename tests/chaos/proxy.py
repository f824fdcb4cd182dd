"""The network between two processes: a TCP relay that can be cut, healed, led elsewhere, and made to lose one reply."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

Address = tuple[str, int]


class _Pair:
    """One connection and the one behind it."""

    def __init__(self, near: asyncio.StreamWriter, far: asyncio.StreamWriter) -> None:
        self.near, self.far = near, far
        self.losing = False

    def abort(self) -> None:
        for end in (self.near, self.far):
            transport = end.transport
            if transport is not None:
                transport.abort()


class Proxy:
    """Listens on `address` once started and relays to what `target()` names at the time of each new connection.

    cut() stops every byte in both directions and lets new connections hang, as a network that drops packets does; heal() ends all those
    connections and lets new ones through. lead_elsewhere() ends all connections.
    """

    def __init__(self, target: Callable[[], Address]) -> None:
        self.target = target
        self.lost = 0
        self._open = asyncio.Event()
        self._open.set()
        self._pairs: set[_Pair] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._marker: bytes | None = None
        self._server: asyncio.Server | None = None
        self.address: Address = ("127.0.0.1", 0)

    @property
    def url(self) -> str:
        return f"redis://{self.address[0]}:{self.address[1]}/0"

    async def start(self) -> Proxy:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.address = self._server.sockets[0].getsockname()[:2]
        return self

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
        self._open.set()
        self.drop()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def cut(self) -> None:
        self._open.clear()

    def heal(self) -> None:
        self.drop()
        self._open.set()

    def drop(self) -> None:
        """End all connections at once."""
        for pair in list(self._pairs):
            pair.abort()

    def lose_reply(self, marker: bytes) -> None:
        """The next request that holds `marker` reaches the other side; its reply does not come back, and the connection ends."""
        self._marker = marker

    def forgive(self) -> None:
        """No reply is to be lost any more."""
        self._marker = None

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            await self._relay(reader, writer)
        except (OSError, asyncio.CancelledError):
            # The streams of Python 3.11 complain about a connection handler that ends cancelled.
            pass
        finally:
            writer.transport.abort()
            self._tasks.discard(task)

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self._open.wait()
        far_reader, far_writer = await asyncio.open_connection(*self.target())
        pair = _Pair(writer, far_writer)
        self._pairs.add(pair)
        both = [
            asyncio.create_task(self._pump(reader, far_writer, pair, asking=True)),
            asyncio.create_task(self._pump(far_reader, writer, pair, asking=False)),
        ]
        try:
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._pairs.discard(pair)
            pair.abort()
            for one in both:
                one.cancel()
            await asyncio.gather(*both, return_exceptions=True)

    async def _pump(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, pair: _Pair, *, asking: bool) -> None:
        with contextlib.suppress(OSError):
            while data := await source.read(262_144):
                await self._open.wait()
                if asking and self._marker is not None and self._marker in data:
                    self._marker, pair.losing = None, True
                if not asking and pair.losing:
                    self.lost += 1
                    return
                sink.write(data)
                await sink.drain()
