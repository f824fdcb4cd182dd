"""Hints from other nodes: one connection that listens to the channels of the watched sessions.

A hint only says "this session may have grown to v". Whenever some may have been lost (the connection broke, or a session was
watched while there was none) the callbacks get ("", 0) once all channels are heard again, and every reader looks at the log.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final

import structlog
from redis.asyncio.connection import AbstractConnection
from redis.exceptions import ConnectionError, RedisError

from server.store.keys import Keys

QUIET_S: Final = 10.0
FIRST_PAUSE_S: Final = 0.05
LONGEST_PAUSE_S: Final = 2.0
CHANNELS_PER_COMMAND: Final = 500

_log = structlog.get_logger(__name__)


class HintListener:
    """Listens until closed, through any number of lost connections.

    A connection that is quiet for `quiet_s` is asked for a sign of life, and given up when it stays quiet as long again.
    `wait_s` bounds how long watch() waits for the server to confirm.
    """

    def __init__(
        self, dial: Callable[[], AbstractConnection], keys: Keys, *, connect_s: float, wait_s: float = 2.0, quiet_s: float = QUIET_S
    ) -> None:
        self._dial = dial
        self._keys = keys
        self._connect_s = connect_s
        self._wait_s = wait_s
        self._quiet_s = quiet_s
        self._callbacks: list[Callable[[str, int], None]] = []
        self._watched: dict[str, asyncio.Event] = {}
        self._connection: AbstractConnection | None = None
        self._sending = asyncio.Lock()
        self._missed = False
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.create_task(self._run(), name="store-hints")

    async def close(self) -> None:
        task, self._task = self._task, None
        while task is not None and not task.done():
            # More than once: before Python 3.12 wait_for() may swallow a cancellation that meets an arriving message.
            task.cancel()
            await asyncio.wait([task], timeout=0.1)

    def on_hint(self, callback: Callable[[str, int], None]) -> None:
        self._callbacks.append(callback)

    async def watch(self, session: str) -> None:
        """Hear of `session`. Returns when the server confirmed, or after `wait_s`: then a ("", 0) follows once it can be heard."""
        channel = self._keys.session(session).channel
        heard = self._watched.get(channel)
        if heard is None:
            heard = self._watched[channel] = asyncio.Event()
            await self._send("SUBSCRIBE", channel)
        try:
            async with asyncio.timeout(self._wait_s):
                await heard.wait()
        except TimeoutError:
            self._missed = True

    async def unwatch(self, session: str) -> None:
        channel = self._keys.session(session).channel
        if self._watched.pop(channel, None) is not None:
            await self._send("UNSUBSCRIBE", channel)

    # ------------------------------------------------------------------ the one task

    async def _run(self) -> None:
        pause = FIRST_PAUSE_S
        while True:
            connection = self._dial()
            try:
                async with asyncio.timeout(self._connect_s):
                    await connection.connect()  # type: ignore[no-untyped-call]
                pause = FIRST_PAUSE_S
                await self._listen(connection)
            except (RedisError, OSError) as error:
                _log.info("hints_lost", said=str(error) or type(error).__name__)
            finally:
                self._connection = None
                await _drop(connection)
            self._missed = True
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE_S)

    async def _listen(self, connection: AbstractConnection) -> None:
        for heard in self._watched.values():
            heard.clear()
        async with self._sending:
            channels = list(self._watched)
            for start in range(0, len(channels), CHANNELS_PER_COMMAND):
                await self._write(connection, "SUBSCRIBE", *channels[start : start + CHANNELS_PER_COMMAND])
            # A channel of our own, last: there is always something to confirm, and a server closes nobody who is subscribed.
            await self._write(connection, "SUBSCRIBE", self._keys.listener)
            self._connection = connection
        asked = False
        while True:
            message = await connection.read_response(timeout=self._quiet_s, disconnect_on_error=False)
            if message is None:
                if asked:
                    raise ConnectionError("the server is silent")
                async with self._sending:
                    await self._write(connection, "PING")
                asked = True
                continue
            asked = False
            self._hear(message)

    def _hear(self, message: Any) -> None:
        kind = message[0] if isinstance(message, list) and message else b""
        if kind == b"message":
            self._tell(self._keys.session_of(message[1]), int(message[2]))
        elif kind == b"subscribe":
            channel = message[1].decode()
            heard = self._watched.get(channel)
            if heard is not None:
                heard.set()
            if self._missed and all(event.is_set() for event in self._watched.values()):
                self._missed = False
                self._tell("", 0)

    def _tell(self, session: str, v: int) -> None:
        for callback in self._callbacks:
            try:
                callback(session, v)
            except Exception:
                _log.exception("hint_callback_failed", session=session, v=v)

    # ------------------------------------------------------------------ sending

    async def _send(self, command: str, channel: str) -> None:
        """Tell the server, if there is a connection; a new connection asks for all watched channels anyway."""
        async with self._sending:
            connection = self._connection
            if connection is None:
                return
            try:
                await self._write(connection, command, channel)
            except (RedisError, OSError):
                self._connection = None
                await _drop(connection)  # the listening task notices and starts afresh

    async def _write(self, connection: AbstractConnection, *command: str) -> None:
        if not connection.is_connected:
            raise ConnectionError("the connection was closed")
        async with asyncio.timeout(self._connect_s):
            await connection.send_command(*command, check_health=False)


async def _drop(connection: AbstractConnection) -> None:
    try:
        await connection.disconnect(nowait=True)
    except (RedisError, OSError):
        pass  # it is gone, which is what was wanted
