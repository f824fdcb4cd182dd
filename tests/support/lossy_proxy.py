"""A relay between a store and its server that loses one reply after the server has done what it was asked."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import tempfile
from pathlib import Path


class LossyProxy:
    """Listens on `url`, forwards to the unix socket `upstream`.

    After lose_reply(marker), the first request that contains `marker` reaches the server, its reply is read and thrown away,
    and both ends are closed. `lost` is set then.
    """

    def __init__(self, upstream: Path) -> None:
        self._upstream = upstream
        self._folder = Path(tempfile.mkdtemp(prefix="dp-"))
        self._marker: bytes | None = None
        self._server: asyncio.Server | None = None
        self._relays: set[asyncio.Task[None]] = set()
        self._directions: set[asyncio.Task[None]] = set()
        self.lost = asyncio.Event()

    @property
    def url(self) -> str:
        return f"unix://{self._folder / 'p'}"

    def lose_reply(self, marker: bytes) -> None:
        self._marker = marker
        self.lost.clear()

    async def __aenter__(self) -> LossyProxy:
        self._server = await asyncio.start_unix_server(self._accept, self._folder / "p")
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for direction in self._directions:
            direction.cancel()
        # Not cancelled themselves: the streams of Python 3.11 complain about a cancelled connection handler.
        await asyncio.gather(*self._relays)
        shutil.rmtree(self._folder, ignore_errors=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._relays.add(task)
        up_reader, up_writer = await asyncio.open_unix_connection(self._upstream)
        losing = False

        async def requests() -> None:
            nonlocal losing
            while data := await reader.read(65536):
                if self._marker is not None and self._marker in data:
                    self._marker, losing = None, True
                up_writer.write(data)

        async def replies() -> None:
            while data := await up_reader.read(65536):
                if losing:
                    self.lost.set()
                    return
                writer.write(data)

        both = [asyncio.create_task(requests()), asyncio.create_task(replies())]
        self._directions.update(both)
        try:
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for one in both:
                one.cancel()
            await asyncio.gather(*both, return_exceptions=True)
            for end in (writer, up_writer):
                end.close()
                with contextlib.suppress(OSError):
                    await end.wait_closed()
            self._directions.difference_update(both)
            self._relays.discard(task)
