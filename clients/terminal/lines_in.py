"""Lines of a blocking text stream as an asyncio queue, read by a thread that never holds up the loop or the exit."""

from __future__ import annotations

import asyncio
import threading
from typing import Protocol


class Source(Protocol):
    def readline(self) -> str: ...


class LinesIn:
    """`next()` gives the next line without its end, None at the end of the stream.

    A line is read only when one is wanted, so that whoever shares the stream later finds the rest of it.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self._loop = asyncio.get_running_loop()
        self._wanted = threading.Semaphore(0)
        self._asked = False
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()
        self._over = False
        # A daemon: a read that blocks on a terminal can be neither cancelled nor waited for.
        self._thread = threading.Thread(target=self._read, name="dustup-lines", daemon=True)
        self._thread.start()

    async def next(self) -> str | None:
        """The next line. May be cancelled and called again: no line is lost."""
        if not self._asked:
            self._asked = True
            self._wanted.release()
        line = await self._lines.get()
        self._asked = False
        return line

    def close(self) -> None:
        """Let the thread end, after the read it may be in."""
        self._over = True
        self._wanted.release()

    def _read(self) -> None:
        while True:
            self._wanted.acquire()
            if self._over:
                return
            try:
                line = self._source.readline()
            except (OSError, ValueError):
                line = ""
            try:
                self._loop.call_soon_threadsafe(self._lines.put_nowait, line.rstrip("\r\n") if line else None)
            except RuntimeError:
                return  # the loop is closed: nobody wants lines any more
