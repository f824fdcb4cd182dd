"""A real, headless Chromium for tests, driven over its DevTools socket. No driver to install, nothing left behind."""

from __future__ import annotations

import asyncio
import base64
import itertools
import json
import os
import shutil
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-dev-shm-usage", "--no-first-run",
    "--disable-extensions", "--disable-sync", "--disable-component-update", "--remote-debugging-port=0", "about:blank",
)  # fmt: skip
PATIENCE_S = 20.0

# Resolves as soon as the expression is true: looked at whenever the page or the focus changes, never on a timer.
_UNTIL = """new Promise((done) => {
  const look = () => { let found; try { found = (%s); } catch { found = false; } if (found) { watch.disconnect(); done(found); } };
  const watch = new MutationObserver(look);
  watch.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
  addEventListener("focusin", look);
  look();
})"""


def find() -> str | None:
    """The path of a Chromium on this machine, if there is one."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Page:
    """One tab. `problems` collects uncaught errors and what the page's security policy refused."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse, session: str) -> None:
        self._socket, self._session = socket, session
        self._numbers = itertools.count(1)
        self._answers: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._loaded = asyncio.Event()
        self.problems: list[str] = []
        self.sent: list[str] = []

    def heard(self, message: dict[str, Any]) -> None:
        if "id" in message and (answer := self._answers.pop(message["id"], None)) is not None:
            answer.set_result(message)
        elif message.get("method") == "Page.loadEventFired":
            self._loaded.set()
        elif message.get("method") == "Runtime.exceptionThrown":
            self.problems.append(str(message["params"]["exceptionDetails"].get("exception", {}).get("description")))
        elif message.get("method") == "Log.entryAdded" and message["params"]["entry"]["level"] == "error":
            self.problems.append(message["params"]["entry"]["text"])
        elif message.get("method") == "Network.requestWillBeSent":
            self.sent.append(message["params"]["request"]["url"])

    async def ask(self, method: str, **params: Any) -> dict[str, Any]:
        number = next(self._numbers)
        answer = self._answers[number] = asyncio.get_running_loop().create_future()
        await self._socket.send_json({"id": number, "method": method, "params": params, "sessionId": self._session})
        message = await asyncio.wait_for(answer, PATIENCE_S)
        assert "error" not in message, f"{method}: {message['error']}"
        return dict(message["result"])

    async def run(self, expression: str) -> Any:
        """The value of a JavaScript expression, awaited if it is a promise."""
        told = await self.ask("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True, userGesture=True)
        assert "exceptionDetails" not in told, told["exceptionDetails"]
        return told["result"].get("value")

    async def until(self, expression: str) -> Any:
        """Wait until an expression over the document is true, and give its value."""
        return await self.run(_UNTIL % expression)

    async def go(self, url: str) -> None:
        """Open an address, or open the present one anew, and wait until it is there."""
        # Through an empty page: a change of the fragment alone would load nothing.
        for address in ("about:blank", url):
            self._loaded.clear()
            await self.ask("Page.navigate", url=address)
            await asyncio.wait_for(self._loaded.wait(), PATIENCE_S)

    async def reload(self) -> None:
        self._loaded.clear()
        await self.ask("Page.reload")
        await asyncio.wait_for(self._loaded.wait(), PATIENCE_S)

    async def press(self, key: str, code: int = 0, text: str = "") -> None:
        """Press and release a key as a person would."""
        for kind in ("keyDown", "keyUp"):
            await self.ask(
                "Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code, **({"text": text} if text else {})
            )

    async def type(self, text: str) -> None:
        await self.ask("Input.insertText", text=text)

    async def show(self, path: Path, *, width: int = 1280, height: int = 860, dark: bool = False) -> None:
        """A picture of the page."""
        await self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        await self.ask("Emulation.setEmulatedMedia", features=[scheme])
        path.write_bytes(base64.b64decode((await self.ask("Page.captureScreenshot", format="png"))["data"]))


@asynccontextmanager
async def opened(profile: Path) -> AsyncIterator[Page]:
    """A fresh browser with one tab; both are gone at the end. Needs `find()` to find one."""
    program = find()
    assert program is not None
    process = await asyncio.create_subprocess_exec(
        program,
        f"--user-data-dir={profile}",
        *FLAGS,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    try:
        async with aiohttp.ClientSession() as http:
            address = await asyncio.wait_for(_address(process), PATIENCE_S)
            async with http.ws_connect(address, max_msg_size=0) as socket:
                await socket.send_json({"id": 1, "method": "Target.createTarget", "params": {"url": "about:blank"}})
                target = (await _answer(socket, 1))["targetId"]
                await socket.send_json({"id": 2, "method": "Target.attachToTarget", "params": {"targetId": target, "flatten": True}})
                page = Page(socket, (await _answer(socket, 2))["sessionId"])
                reading = asyncio.create_task(_read(socket, page))
                for domain in ("Page", "Runtime", "Log", "Network"):
                    await page.ask(f"{domain}.enable")
                try:
                    yield page
                finally:
                    reading.cancel()
                    await asyncio.gather(reading, return_exceptions=True)
    finally:
        # The whole family: its helpers are in a process group of their own.
        os.killpg(process.pid, signal.SIGKILL)
        await process.communicate()


async def _address(process: asyncio.subprocess.Process) -> str:
    assert process.stderr is not None
    async for line in process.stderr:
        if b"DevTools listening on" in line:
            return line.decode().split()[-1]
    raise AssertionError("the browser ended before it was ready")


async def _answer(socket: aiohttp.ClientWebSocketResponse, number: int) -> dict[str, Any]:
    while True:
        message = await socket.receive_json(timeout=PATIENCE_S)
        if message.get("id") == number:
            return dict(message["result"])


async def _read(socket: aiohttp.ClientWebSocketResponse, page: Page) -> None:
    async for message in socket:
        page.heard(json.loads(message.data))
