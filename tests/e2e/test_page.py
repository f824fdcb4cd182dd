"""The small page, served where the browser client is not built, in a real browser against a real server: what a person can see and do."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from server.app import Server
from server.gateway import http_public
from tests.e2e.browser import Page

pytestmark = pytest.mark.browser

ENTER = 13
SLY = "<img src=x onerror=\"document.title='taken'\"><b>Sly</b>"

Table = dict[str, Any]


@pytest.fixture(autouse=True)
def small_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """Serve the small page, whether or not the browser client is built here."""
    monkeypatch.setattr(http_public, "page_folder", lambda: "page")


async def new_table(http: aiohttp.ClientSession, **setup: Any) -> Table:
    async with http.post("/v1/sessions", json={"ruleset": "duel", "sample": "yard", "encounter": "mill", **setup}) as answer:
        assert answer.status == 201, await answer.text()
        return dict(await answer.json())


async def act(http: aiohttp.ClientSession, table: Table, n: int, **command: Any) -> None:
    path, headers = f"/v1/sessions/{table['session']}/commands", {"Authorization": f"Bearer {table['token']}"}
    async with http.post(path, json={"id": f"test.{n}", "command": command}, headers=headers) as answer:
        assert answer.status == 200, await answer.text()


async def sit(page: Page, link: str, name: str = "") -> None:
    await page.go(link)
    await page.until("document.activeElement && document.activeElement.name === 'name'")
    await page.type(name)
    await page.press("Enter", ENTER, "\r")
    await page.until("document.getElementById('state').dataset.state === 'on'")


async def picture(page: Page, name: str) -> None:
    """For people who want to look: PAGE_PICTURES names a folder. Tests run without it."""
    if folder := os.environ.get("PAGE_PICTURES"):
        for dark, width in ((False, 1280), (True, 1280), (False, 420)):
            await page.show(Path(folder) / f"{name}-{'dark' if dark else 'light'}-{width}.png", width=width, dark=dark)


async def test_a_guest_joins_by_invite_sees_the_scene_and_takes_a_legal_option(http: aiohttp.ClientSession, server: Server, page: Page):
    """From the link to the log: seat taken, zones and fighters shown, an option done by keyboard, and everybody reads of it."""
    table = await new_table(http, name="Behind the mill")
    await sit(page, table["seats"]["ann"]["link"], "Anna")

    zones = await page.until("[...document.querySelectorAll('.zone h4')].map((one) => one.textContent)")
    assert zones == ["the gate", "the mill yard", "the loft"]
    place = "[one.dataset.combatant, one.closest('.zone').dataset.zone]"
    where = await page.run(f"Object.fromEntries([...document.querySelectorAll('[data-combatant]')].map((one) => {place}))")
    assert where == {"c1": "yard", "c2": "loft", "c3": "yard", "c4": "gate"}
    assert "You are Anna (player)" in await page.run("document.getElementById('who').textContent")
    assert await page.run("document.querySelector('#order [aria-current]').textContent") == "Reed 13"
    assert await page.run("document.querySelector('[data-combatant=c1] .bar').textContent") == "hp12/12"

    await page.until("document.querySelector('#options [data-type=\"duel.brace\"]')")
    await picture(page, "joined")
    await page.run("document.querySelector('#options [data-type=\"duel.brace\"]').focus()")
    await page.press("Enter", ENTER, "\r")
    assert await page.until("[...document.querySelectorAll('#log li')].map((one) => one.textContent).find((one) => one === 'Reed braces.')")
    # Done: no longer offered, and marked on the card.
    await page.until("!document.querySelector('#options [data-type=\"duel.brace\"]')")
    assert "braced" in await page.run("document.querySelector('[data-combatant=c1] .facts').textContent")

    actor = await server.registry.get(table["session"])
    assert actor.session.combatants["c1"].braced
    assert page.problems == []


async def test_neither_code_nor_token_stays_in_the_address_or_travels_in_one(http: aiohttp.ClientSession, server: Server, page: Page):
    table = await new_table(http)
    await sit(page, table["seats"]["ann"]["link"])
    assert await page.run("location.href") == f"{server.url}/"
    token = json.loads(await page.run("sessionStorage.getItem('dustup.seat')"))["token"]
    code = table["seats"]["ann"]["invite"]
    assert len(page.sent) >= 4
    # The first address is the link itself, whose fragment browsers keep to themselves.
    assert [url for url in page.sent if token in url or code in url.partition("#")[0]] == []


async def test_a_reloaded_page_keeps_its_seat_and_a_token_link_works(http: aiohttp.ClientSession, page: Page):
    table = await new_table(http)
    await page.go(table["link"])
    await page.until("document.getElementById('who').textContent.startsWith('You are')")
    assert "(gm)" in await page.run("document.getElementById('who').textContent")
    await page.reload()
    await page.until("document.getElementById('state').dataset.state === 'on'")
    assert "(gm)" in await page.until("document.getElementById('who').textContent")


async def test_a_strike_shows_exact_odds_asks_the_target_and_shows_the_dice(http: aiohttp.ClientSession, server: Server, page: Page):
    """The GM's page answers the parry it may answer for, and the faces in the log are those of the roll."""
    scene = {"type": "gm.move", "combatant": "c1", "scene": "mill", "zone": "yard", "near": ["c3"]}
    table = await new_table(http)
    await act(http, table, 1, **scene)
    await page.go(table["link"])
    await page.until("document.querySelector('#options [data-type=\"duel.attack\"]')")
    await page.run("document.querySelector('#options [data-type=\"duel.attack\"]').focus()")
    chances = await page.until("document.querySelector('.chances b') && document.querySelector('.chances').textContent")
    actor = await server.registry.get(table["session"])
    command = actor.rules.decode({"type": "attack", "combatant": "c1", "target": "c3", "bold": False})
    exact = actor.rules.odds(actor.session, "gm", command)
    assert all(f"({part.p})" in chances for part in exact.parts)
    await picture(page, "odds")

    await page.press("Enter", ENTER, "\r")
    await page.until("[...document.querySelectorAll('.ask button')].find((one) => one.textContent === 'Save the parry')")
    await picture(page, "prompt")
    await page.run("[...document.querySelectorAll('.ask button')].find((one) => one.textContent === 'Save the parry').click()")
    await page.until("document.querySelector('#log [data-type=\"duel.cross\"] .die')")
    shown = await page.run("[...document.querySelectorAll('#log [data-type=\"duel.cross\"] .die')].map((one) => Number(one.textContent))")
    rolled = [face for item in actor.fanout.ring for roll in item.entry.rolls if roll.purpose in ("strike", "guard") for face in roll.faces]
    assert shown == rolled[:2]
    await picture(page, "dice")
    assert page.problems == []


async def test_what_people_write_is_shown_and_never_run(http: aiohttp.ClientSession, page: Page):
    table = await new_table(http, name=SLY)
    await act(http, table, 1, type="gm.spawn", id="sly", name=SLY, scene="mill", zone="yard")
    await act(http, table, 2, type="chat", text=SLY)
    await sit(page, table["seats"]["ann"]["link"], SLY)
    await page.until("document.querySelector('#log .said')")
    assert SLY in await page.run("document.querySelector('#log .said').textContent")
    assert await page.run("document.querySelector('[data-combatant=sly] b').textContent") == SLY
    assert await page.run("document.querySelectorAll('main img, header img, main b b').length") == 0
    assert await page.run("document.title") != "taken"
    assert page.problems == []


async def test_a_page_that_lost_its_connection_comes_back_and_catches_up(http: aiohttp.ClientSession, server: Server, page: Page):
    """Cut off, things happen, and the page has them in order, without asking its person for anything."""
    table = await new_table(http)
    await sit(page, table["seats"]["ann"]["link"])
    await page.run("window.was = performance.timeOrigin")
    for socket in list(server.sockets):
        await socket.bye()
    await act(http, table, 1, type="chat", text="while you were away")
    await page.until("[...document.querySelectorAll('#log .said')].some((one) => one.textContent.includes('while you were away'))")
    await page.until("document.getElementById('state').dataset.state === 'on'")
    assert await page.run("window.was === performance.timeOrigin"), "it came back without loading anew"
    said = await page.run("[...document.querySelectorAll('#log .said')].length")
    assert said == 1, "and shows nothing twice"


async def test_a_seat_taken_away_says_so(http: aiohttp.ClientSession, server: Server, page: Page):
    table = await new_table(http)
    await sit(page, table["seats"]["ann"]["link"])
    path = f"/v1/sessions/{table['session']}/seats/ann/revoke"
    async with http.post(path, headers={"Authorization": f"Bearer {table['token']}"}) as answer:
        assert answer.status == 200
    text = await page.until("!document.getElementById('door').hidden && document.getElementById('join-text').textContent")
    assert "withdrawn" in text
    assert await page.run("sessionStorage.getItem('dustup.seat')") is None
