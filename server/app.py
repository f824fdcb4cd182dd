"""The composition root: makes every part of a server, starts and stops them in order."""

from __future__ import annotations

import asyncio
import gc
import signal
from collections.abc import Callable, Coroutine
from typing import Any

from aiohttp import web

from protocol.errors import CODES
from server.clock import Clock, SystemClock
from server.config import Config, signing_secrets
from server.deadlines.sweeper import Sweeper
from server.gateway import http, websocket
from server.gateway.auth import Tokens
from server.gateway.invites import Invites
from server.gateway.limits import Limits
from server.logs import get_logger
from server.metrics import Metrics
from server.sessions.odds import OddsDesk
from server.sessions.registry import SWEEP_SECONDS, Registry
from server.sessions.watchdog import WATCHDOG
from server.store import Store, StoreUnavailable, open_store

log = get_logger("server")

HOUSEKEEPING_SECONDS = 5
REPAIR_SECONDS = 600
"""Between two comparisons of the deadline index with the sessions it is derived from; the first comes at the start."""


class Server:
    """One server process. `await start()`, then `url` tells where; `await stop()` drains and closes.

    Tests and the demo hand in their own `store` (and close it) and `clock`; otherwise the config names them.
    """

    def __init__(self, config: Config, *, store: Store | None = None, clock: Clock | None = None) -> None:
        self.config = config
        self.clock = clock or SystemClock()
        self.metrics = Metrics(CODES)
        self.store = store or open_store(config.store, config.data_dir, durability=config.durability)
        self._own_store = store is None
        self.tokens = Tokens(signing_secrets(config), self.clock, self.store)
        self.invites = Invites(self.clock, self.store)
        self.limits = Limits(self.clock, config.limits)
        self.registry = Registry(self.store, self.clock, config, self.metrics)
        self.odds = OddsDesk()
        self.sweeper = Sweeper(self.registry, self.store, self.clock, self.metrics)
        self.sockets: set[websocket.Socket] = set()
        self.draining = False
        self._runner: web.AppRunner | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._port = config.port
        self._watching = False

    @property
    def url(self) -> str:
        """Where people reach this server."""
        if self.config.public_url:
            return self.config.public_url.rstrip("/")
        host = "127.0.0.1" if self.config.host in ("0.0.0.0", "::") else self.config.host
        return f"http://{f'[{host}]' if ':' in host else host}:{self._port}"

    async def start(self) -> None:
        """Open the store, listen, and begin the housekeeping. Raises StoreUnavailable, or OSError when the port is taken."""
        await self.store.start()
        try:
            await self.sweeper.start()
            WATCHDOG.start()
            self._watching = True
            app = web.Application(client_max_size=http.MAX_UPLOAD)
            websocket.add_routes(app, self)
            http.add_routes(app, self)
            self._runner = web.AppRunner(app, access_log=None, handle_signals=False, shutdown_timeout=2)
            await self._runner.setup()
            site = web.TCPSite(self._runner, self.config.host, self.config.port, backlog=1024)
            await site.start()
        except BaseException:
            await self._let_go()
            raise
        sockets = site._server.sockets if site._server is not None else ()  # type: ignore[attr-defined]  # aiohttp tells the bound port nowhere else
        self._port = sockets[0].getsockname()[1] if sockets else self.config.port
        self._every(self.config.deadline_sweep_seconds, self.sweeper.sweep)
        self._every(HOUSEKEEPING_SECONDS, self._housekeeping)
        self._every(SWEEP_SECONDS, self.registry.look_around)
        self._every(REPAIR_SECONDS, self.store.repair_due, at_once=True)
        log.info("listening", url=self.url, store=self.store.name)

    def _every(self, seconds: int, work: Callable[[], Coroutine[Any, Any, Any]], *, at_once: bool = False) -> None:
        async def loop() -> None:
            wait = 0 if at_once else seconds
            # Asked each time: a client library may swallow the cancellation that `stop` sends.
            while not self.draining:
                await asyncio.sleep(wait)
                wait = seconds
                try:
                    await work()
                except StoreUnavailable as problem:
                    log.warning("store unavailable", problem=problem.text)
                except Exception:
                    log.exception("housekeeping failed")

        self._tasks.append(asyncio.get_running_loop().create_task(loop()))

    async def _housekeeping(self) -> None:
        await self.registry.sweep()
        await self.tokens.sweep()

    async def stop(self) -> None:
        """Finish what was begun, tell clients when to come back, and close everything. Bounded by `drain_seconds`."""
        if self.draining:
            return
        self.draining = True
        log.info("draining", connections=len(self.sockets))
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        try:
            async with asyncio.timeout(self.config.drain_seconds or 0.01):
                await self.registry.close()
        except TimeoutError:
            log.warning("some commands did not finish in time; their clients send them again")
        await asyncio.gather(*(socket.bye() for socket in list(self.sockets)), return_exceptions=True)
        await self._let_go()
        log.info("stopped")

    async def _let_go(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()
        self.odds.close()
        if self._watching:
            self._watching = False
            WATCHDOG.stop()
        if self._own_store:
            await self.store.close()

    async def run(self, ready: Callable[[Server], Coroutine[Any, Any, None]] | None = None) -> None:
        """Start, serve until SIGTERM or SIGINT, stop."""
        loop = asyncio.get_running_loop()
        over = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, over.set)
        await self.start()
        calm_collector()
        try:
            if ready is not None:
                task = loop.create_task(ready(self))
                waiting = loop.create_task(over.wait())
                await asyncio.wait({task, waiting}, return_when=asyncio.FIRST_COMPLETED)
                if not task.done():
                    task.cancel()
                    await asyncio.gather(task, return_exceptions=True)
                else:
                    await task
                waiting.cancel()
            await over.wait()
        finally:
            await self.stop()


def calm_collector() -> None:
    """Have Python look for reference cycles seldom and not among what is here for good. For a process that only serves.

    Sessions are trees without cycles, freed as soon as nobody holds them; each full look at all live ones is a pause for everybody.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
