"""The pictures of docs/browser.md, made from tables of our own: `DOC_PICTURES=docs/pictures pytest tests/e2e/test_browser_pictures.py`.

Without DOC_PICTURES they are made and thrown away, so that a change which breaks them is noticed.
"""

from __future__ import annotations

import base64
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import aiohttp
import pytest

import engine
from engine.rulesets import stretch, wasteland
from server.gateway import http_public
from tests.e2e import browser

for each in (stretch, wasteland):
    engine.register(each.RULES)

pytestmark = [pytest.mark.browser, pytest.mark.timeout(120)]

ROOT = Path(__file__).resolve().parents[2]

Act = dict[str, Any]


async def shoot(page: browser.Page, path: Path, width: int, height: int, dark: bool) -> None:
    await page.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500)
    await page.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
    await page.run("new Promise((done) => setTimeout(done, 500))")
    shot = await page.ask("Page.captureScreenshot", format="webp", quality=82)
    path.write_bytes(base64.b64decode(shot["data"]))


class Maker:
    """One table and what its GM does there, by HTTP."""

    def __init__(self, http: aiohttp.ClientSession) -> None:
        self.http, self.n = http, 0
        self.table: Act = {}

    async def make(self, **setup: Any) -> str:
        async with self.http.post("/v1/sessions", json=setup) as answer:
            self.table = await answer.json()
        return str(self.table["link"])

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.table['token']}"}

    async def view(self) -> Act:
        async with self.http.get(f"/v1/sessions/{self.table['session']}", headers=self.headers) as answer:
            return dict((await answer.json())["view"])

    async def act(self, **command: Any) -> None:
        self.n += 1
        body = {"id": f"picture.{self.n}", "command": command}
        async with self.http.post(f"/v1/sessions/{self.table['session']}/commands", json=body, headers=self.headers) as answer:
            assert answer.status == 200, await answer.text()

    async def start(self, scene: str, first: str) -> None:
        """A fight in which `first` has the turn, with every question on the way answered as usual."""
        await self.act(type="gm.encounter", scene=scene)
        while asked := [one for one in (await self.view()).get("prompts", {}).values() if not one["answered"]]:
            await self.act(type="answer", prompt=asked[0]["id"], choice=asked[0]["default"])
        await self.act(type="gm.turn", encounter=next(iter((await self.view())["encounters"])), combatant=first)
        await self.act(type="post", text="Rain begins to drum on the tin.")


async def test_the_pictures_of_the_manual_can_be_made(http: aiohttp.ClientSession, page: browser.Page, tmp_path: Path):
    """A GM's wide table, odds on a dark desk, and a phone: each an image of a table in play."""
    if shutil.which("npm") is None:
        pytest.skip("there is no npm here to build the browser client with")
    subprocess.run(["bash", "clients/browser/build.sh"], cwd=ROOT, check=True, timeout=110, capture_output=True)
    http_public.page_folder.cache_clear()
    http_public._file.cache_clear()
    if http_public.page_folder() != "app":
        pytest.skip("the browser client could not be built here")
    folder = ROOT / os.environ["DOC_PICTURES"] if "DOC_PICTURES" in os.environ else tmp_path
    maker = Maker(http)
    await page.ask("Emulation.setDeviceMetricsOverride", width=1280, height=800, deviceScaleFactor=1, mobile=False)
    link = await maker.make(ruleset="wasteland", sample="scrapyard", name="Low Ferry, second night")
    await maker.start("scrapyard", "tess")
    await page.go(link)
    await page.until("document.querySelector('.token') && document.querySelector('.order')")
    await shoot(page, folder / "gm.webp", 1600, 1000, dark=False)
    link = await maker.make(ruleset="stretch", sample="culvert", name="Into the culvert")
    await maker.start("culvert", "tamsin")
    await page.go(link)
    await page.until("document.querySelector('.order[data-type=\"stretch.attack\"]')")
    await page.run("document.querySelector('.order[data-type=\"stretch.attack\"]').click()")
    await page.until("document.querySelector('.chance')")
    await shoot(page, folder / "odds.webp", 1280, 800, dark=True)
    await shoot(page, folder / "phone.webp", 390, 844, dark=False)
    for name in ("gm", "odds", "phone"):
        assert (folder / f"{name}.webp").read_bytes()[8:12] == b"WEBP"
    assert page.problems == []
