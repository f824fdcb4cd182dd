"""The browser client, built and served as people get it, in a real Chromium against a real server: what a person can see and do."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

import engine
from engine.rulesets import skirmish, stretch, wasteland
from server.app import Server
from server.gateway import http_public
from tests.e2e.browser import Page

for each in (skirmish, stretch, wasteland):
    engine.register(each.RULES)

pytestmark = [pytest.mark.browser, pytest.mark.timeout(120)]

ROOT = Path(__file__).resolve().parents[2]
ENTER, ESCAPE, RIGHT = 13, 27, 39
SLY = "<img src=x onerror=\"document.title='taken'\"><b>Sly</b>"
WORDLESS = r"/^[a-z]+(\.[a-z_]+)+$/"

Table = dict[str, Any]


@pytest.fixture(scope="module", autouse=True)
def built() -> Iterator[None]:
    """The client as `make browser` builds it; skips where there is no Node to build it with."""
    if shutil.which("npm") is None:
        pytest.skip("there is no npm here to build the browser client with")
    told = subprocess.run(["bash", "clients/browser/build.sh"], cwd=ROOT, check=True, timeout=110, capture_output=True, text=True)
    http_public.page_folder.cache_clear()
    http_public._file.cache_clear()
    if http_public.page_folder() != "app":
        pytest.skip(f"the browser client could not be built here: {told.stdout.strip()}")
    yield
    http_public.page_folder.cache_clear()


@pytest.fixture
async def page(page: Page) -> Page:
    """A window as large as a desk has."""
    await page.ask("Emulation.setDeviceMetricsOverride", width=1280, height=860, deviceScaleFactor=1, mobile=False)
    return page


async def new_table(http: aiohttp.ClientSession, ruleset: str = "duel", sample: str = "yard", **setup: Any) -> Table:
    begun = {"encounter": "mill"} if ruleset == "duel" else {}
    async with http.post("/v1/sessions", json={"ruleset": ruleset, "sample": sample, **begun, **setup}) as answer:
        assert answer.status == 201, await answer.text()
        return dict(await answer.json())


async def act(http: aiohttp.ClientSession, table: Table, n: int, **command: Any) -> None:
    path, headers = f"/v1/sessions/{table['session']}/commands", {"Authorization": f"Bearer {table['token']}"}
    async with http.post(path, json={"id": f"test.{n}", "command": command}, headers=headers) as answer:
        assert answer.status == 200, await answer.text()


async def sit(page: Page, link: str, name: str = "") -> None:
    """Through the door by an invite, as a guest does."""
    await page.go(link)
    await page.until("document.activeElement && document.activeElement.name === 'name'")
    await page.type(name)
    await page.press("Enter", ENTER, "\r")
    await at_table(page)


async def at_table(page: Page) -> None:
    await page.until("document.querySelector('.link-state')?.dataset.state === 'on' && document.querySelector('.token')")


async def picture(page: Page, name: str) -> None:
    """For people who want to look: PAGE_PICTURES names a folder. Tests run without it."""
    if folder := os.environ.get("PAGE_PICTURES"):
        for dark, width in ((False, 1280), (True, 1280), (False, 820), (False, 390), (True, 390)):
            await page.show(Path(folder) / f"client-{name}-{'dark' if dark else 'light'}-{width}.png", width=width, dark=dark)
        await page.ask("Emulation.setDeviceMetricsOverride", width=1280, height=860, deviceScaleFactor=1, mobile=False)


async def press_on(page: Page, selector: str, key: str = "Enter", code: int = ENTER, text: str = "\r") -> None:
    await page.until(f"document.querySelector({json.dumps(selector)})")
    await page.run(f"document.querySelector({json.dumps(selector)}).focus()")
    await page.press(key, code, text)


async def test_a_guest_joins_by_invite_sees_the_scene_and_acts_by_keyboard_alone(http: aiohttp.ClientSession, server: Server, page: Page):
    """From the link to the log: seat taken, everybody where they are, an option done by its number, and everybody reads of it."""
    table = await new_table(http, name="Behind the mill")
    await sit(page, table["seats"]["ann"]["link"], "Anna")
    zones = await page.run("[...document.querySelectorAll('.zone-name')].map((one) => one.textContent)")
    assert sorted(zones) == ["the gate", "the loft", "the mill yard"]
    said = "[one.dataset.combatant, one.querySelector('[role=button]').ariaLabel]"
    where = await page.run(f"Object.fromEntries([...document.querySelectorAll('[data-combatant]')].map((one) => {said}))")
    assert {who: text.split(", ")[:2] for who, text in where.items()} == {
        "c1": ["Reed", "the mill yard"],
        "c2": ["Wick", "the loft"],
        "c3": ["Tollman", "the mill yard"],
        "c4": ["Stray", "the gate"],
    }
    assert "yours" in where["c1"]
    assert await page.run("document.querySelector('.turns [aria-current]').dataset.turn") == "c1"
    assert "Anna" in await page.run("document.querySelector('.self').textContent")
    assert await page.run("document.querySelector('[data-card=c1] .bar b').textContent") == "12/12"
    await picture(page, "joined")

    number = await page.until("document.querySelector('.order[data-type=\"duel.brace\"]')?.dataset.number")
    await page.press(number, ord(number), number)
    await page.until("[...document.querySelectorAll('.event p')].some((one) => one.textContent === 'Reed braces.')")
    await page.until("!document.querySelector('.order[data-type=\"duel.brace\"]')")
    assert (await server.registry.get(table["session"])).session.combatants["c1"].braced
    assert page.problems == []


async def test_neither_code_nor_token_stays_in_the_address_or_travels_in_one(http: aiohttp.ClientSession, server: Server, page: Page):
    """And nothing is fetched from anywhere but this server."""
    table = await new_table(http)
    await sit(page, table["seats"]["ann"]["link"])
    assert await page.run("location.href") == f"{server.url}/"
    token = json.loads(await page.run("sessionStorage.getItem('dustup.seat')"))["token"]
    code = table["seats"]["ann"]["invite"]
    assert len(page.sent) >= 4
    assert [url for url in page.sent if token in url or code in url.partition("#")[0]] == []
    assert [url for url in page.sent if not url.startswith((server.url, "about:", "data:"))] == []


async def test_a_strike_shows_exact_odds_takes_its_target_from_the_map_and_shows_its_dice(
    http: aiohttp.ClientSession, server: Server, page: Page
):
    """The fractions are those the engine computes; the GM answers for whoever is asked; the faces are those of the roll."""
    table = await new_table(http)
    await act(http, table, 1, type="gm.move", combatant="c4", scene="mill", zone="yard", near=["c1"])
    await act(http, table, 2, type="gm.move", combatant="c1", scene="mill", zone="yard", near=["c3", "c4"])
    await page.go(table["link"])
    await at_table(page)
    await press_on(page, ".order[data-type='duel.attack']")
    await page.until("document.querySelector('.token.wanted[data-combatant=c4], .token.chosen[data-combatant=c4]')")
    await press_on(page, "[data-combatant=c4] [role=button]")
    await page.until("document.querySelector('.token.chosen[data-combatant=c4]')")
    shown = await page.until("document.querySelector('.chance .exact') && document.querySelector('.chances dl').textContent")
    actor = await server.registry.get(table["session"])
    exact = actor.rules.odds(actor.session, "gm", actor.rules.decode({"type": "attack", "combatant": "c1", "target": "c4", "bold": False}))
    assert all(part.p in shown for part in exact.parts)
    amounts = await page.run(
        "[...document.querySelectorAll('.amount title')].map((one) => one.textContent.match(/^(\\d+):.*\\((.*)\\)/).slice(1))"
    )
    assert amounts == [[str(one.value), one.p] for one in exact.damage]
    await picture(page, "odds")

    await press_on(page, ".sheet button.main")
    await page.until("[...document.querySelectorAll('.answer')].find((one) => one.textContent === 'Save the parry')")
    await picture(page, "prompt")
    await page.run("[...document.querySelectorAll('.answer')].find((one) => one.textContent === 'Save the parry').click()")
    await page.until("document.querySelector('[data-type=\"duel.cross\"] .die')")
    faces = await page.run("[...document.querySelectorAll('[data-type=\"duel.cross\"] .die text')].map((one) => Number(one.textContent))")
    rolled = [face for item in actor.fanout.ring for roll in item.entry.rolls if roll.purpose in ("strike", "guard") for face in roll.faces]
    assert faces == rolled[:2]
    await picture(page, "dice")
    assert page.problems == []


async def test_what_people_write_is_shown_and_never_run(http: aiohttp.ClientSession, page: Page):
    table = await new_table(http, name=SLY)
    await act(http, table, 1, type="gm.spawn", id="sly", name=SLY, scene="mill", zone="yard")
    await act(http, table, 2, type="chat", text=SLY)
    await sit(page, table["seats"]["ann"]["link"], SLY)
    await page.until("document.querySelector('.said')")
    assert await page.run("document.querySelector('.said .words').textContent") == SLY
    assert await page.run("document.querySelector('[data-card=sly] b').textContent") == SLY
    assert await page.run("document.querySelectorAll('#app img, b b').length") == 0
    assert "taken" not in (await page.run("document.title")).split()
    assert page.problems == []


async def test_a_page_that_lost_its_connection_comes_back_and_catches_up(http: aiohttp.ClientSession, server: Server, page: Page):
    """Cut off, things happen, and the page has them in order, once, without asking its person for anything; so has a reloaded one."""
    table = await new_table(http)
    await sit(page, table["seats"]["ann"]["link"])
    await page.run("window.was = performance.timeOrigin")
    for socket in list(server.sockets):
        await socket.bye()
    await act(http, table, 1, type="chat", text="while you were away")
    said = "[...document.querySelectorAll('.said .words')].filter((one) => one.textContent === 'while you were away').length"
    await page.until(f"{said} && document.querySelector('.link-state').dataset.state === 'on'")
    assert await page.run("window.was === performance.timeOrigin"), "it came back without loading anew"
    assert await page.run(said) == 1
    await page.reload()
    await at_table(page)
    assert await page.until(said) == 1


async def test_a_seat_taken_away_says_so_and_forgets_the_token(http: aiohttp.ClientSession, server: Server, page: Page):
    table = await new_table(http)
    await sit(page, table["seats"]["ann"]["link"])
    path = f"/v1/sessions/{table['session']}/seats/ann/revoke"
    async with http.post(path, headers={"Authorization": f"Bearer {table['token']}"}) as answer:
        assert answer.status == 200
    assert "withdrawn" in await page.until("document.querySelector('.door .notice')?.textContent")
    assert await page.run("sessionStorage.getItem('dustup.seat')") is None


async def test_the_language_changes_at_once_and_no_text_is_missing(http: aiohttp.ClientSession, page: Page):
    """In Chinese and back, at the table: turn, options and events are said in it, and nowhere stands a bare key."""
    table = await new_table(http)
    await page.go(table["link"])
    await at_table(page)
    menu = "document.querySelector('[name=language]')"
    choose = f"{menu}.value = '%s', {menu}.dispatchEvent(new Event('change', {{bubbles: true}}))"
    await page.run(choose % "zh-TW")
    await page.until("document.documentElement.lang === 'zh-TW' && document.querySelector('.round').textContent === '第 1 輪'")
    assert await page.until("[...document.querySelectorAll('.event p')].some((one) => one.textContent === '輪到 Reed。')")
    bare = (
        "(() => { const walk = document.createTreeWalker(document.getElementById('app'), NodeFilter.SHOW_TEXT); const found = [];"
        f" while (walk.nextNode()) if ({WORDLESS}.test(walk.currentNode.data)) found.push(walk.currentNode.data); return found; }})()"
    )
    assert await page.run(bare) == []
    await picture(page, "chinese")
    await page.run(choose % "en")
    await page.until("document.querySelector('.round').textContent === 'Round 1'")
    assert await page.run(bare) == []


async def test_a_long_log_scrolls_back_to_the_first_entry_and_only_what_is_in_sight_is_in_the_page(http: aiohttp.ClientSession, page: Page):
    table = await new_table(http)
    for n in range(1, 421):
        await act(http, table, n, type="chat", text=f"line {n}")
    await page.go(table["link"])
    await page.until("[...document.querySelectorAll('.said .words')].some((one) => one.textContent === 'line 420')")
    assert await page.run("document.querySelectorAll('.entry').length") < 80
    back = """(async () => {
      const log = document.querySelector('.log');
      for (let turn = 0; turn < 400; turn++) {
        log.scrollTop = 0;
        await new Promise((done) => requestAnimationFrame(() => setTimeout(done, 10)));
        if (document.querySelector('.entry[data-v="1"]') && log.ariaBusy !== 'true') break;
      }
      return [document.querySelector('.entry').dataset.v, document.querySelectorAll('.entry').length, log.scrollHeight];
    })()"""
    first, rows, height = await page.run(back)
    assert first == "1"
    assert rows < 80
    assert height > 420 * 20
    await page.run("document.querySelector('.log-now').click()")
    await page.until("[...document.querySelectorAll('.said .words')].some((one) => one.textContent === 'line 420')")
    assert page.problems == []


async def test_the_dice_are_verified_in_the_page(http: aiohttp.ClientSession, page: Page):
    """Before the seed is revealed nothing can be checked, and it says so; afterwards every roll is, and is right."""
    table = await new_table(http)
    for n in range(1, 4):
        await act(http, table, n, type="roll", notation="3d20")
    await page.go(table["link"])
    await at_table(page)
    await press_on(page, "[data-check]")
    assert "No seed has been revealed" in await page.until("document.querySelector('.verdict')?.textContent")
    await page.press("Escape", ESCAPE)
    await page.until("!document.querySelector('dialog')")
    await act(http, table, 9, type="gm.dice", do="reveal", stream="open")
    await press_on(page, "[data-check]")
    assert "3" in await page.until("document.querySelector('.verdict.good')?.textContent")
    await picture(page, "verified")
    assert page.problems == []


async def test_somebody_makes_a_table_from_the_door_and_starts_its_fight(server: Server, page: Page):
    """From nothing to a running fight of the wasteland: rules, sample, name, then the fight, and the links are there to hand out."""
    await page.go(server.url + "/")
    await page.until("document.querySelector('.choice-card')")
    await picture(page, "door")
    await page.run("[...document.querySelectorAll('.choice-card')].find((one) => one.textContent.includes('Wasteland')).click()")
    await page.run("document.querySelector('.panel form [name=name]').focus()")
    await page.type("Second night")
    await page.press("Enter", ENTER, "\r")
    await at_table(page)
    assert await page.run("document.querySelector('h1').textContent") == "Second night"
    await press_on(page, "[data-tool='gm.encounter']")
    await press_on(page, ".sheet button.main")
    await page.until("document.querySelector('.turn')")
    await picture(page, "wasteland")
    await page.run("document.getElementById('gm-tab-seats').click()")
    link = await page.until("document.querySelector('[data-seat=ann] .link input')?.value")
    assert link.startswith(server.url + "/#")
    await page.run("document.querySelector('[data-seat=ann] details').open = true")
    assert await page.until("document.querySelector('[data-seat=ann] .qr path').getAttribute('d').length > 1000")
    assert page.problems == []


async def test_a_gm_hides_undoes_and_draws_a_scene(http: aiohttp.ClientSession, server: Server, page: Page):
    table = await new_table(http)
    await page.go(table["link"])
    await at_table(page)
    await press_on(page, "[data-tool='gm.hide']")
    await press_on(page, ".sheet button.main")
    actor = await server.registry.get(table["session"])
    await page.until("document.querySelector('.token.hidden')")
    hidden = await page.run("document.querySelector('.token.hidden').dataset.combatant")
    assert actor.session.combatants[hidden].hidden
    await press_on(page, "[data-tool='gm.undo']")
    await press_on(page, ".sheet button.main")
    await page.until("!document.querySelector('.token.hidden')")

    await page.run("document.getElementById('gm-tab-scenes').click()")
    await press_on(page, "[data-tool='scene.new']")
    await page.until("document.querySelector('.editor [name=scene]')")
    await page.run("document.querySelector('.editor [name=scene]').focus()")
    await page.type("The cellar")
    await page.run("[...document.querySelectorAll('.editor button')].find((one) => one.textContent === 'Another zone').click()")
    await page.until("document.querySelectorAll('.zone-form').length === 2")
    await page.run("document.querySelector('.editor button.main').click()")
    await page.until("!document.querySelector('.editor')")
    made = next(scene for scene in actor.session.scenes.values() if scene.name == "The cellar")
    assert len(made.zones) == 2
    assert len(made.edges) == 1
    assert page.problems == []


@pytest.mark.parametrize(("ruleset", "sample"), [("skirmish", "ferry"), ("stretch", "culvert"), ("wasteland", "scrapyard")])
async def test_every_ruleset_is_shown_and_offered_with_no_change_to_the_page(
    ruleset: str, sample: str, http: aiohttp.ClientSession, server: Server, page: Page
):
    table = await new_table(http, ruleset, sample)
    actor = await server.registry.get(table["session"])
    await act(http, table, 1, type="gm.encounter", scene=sample)
    await page.go(table["link"])
    await at_table(page)
    assert await page.run("document.querySelectorAll('.token').length") == len(actor.session.combatants)
    assert await page.run("document.querySelectorAll('.card').length") == len(actor.session.combatants)
    assert await page.until("document.querySelectorAll('.order, .waits, .ask').length")
    await picture(page, ruleset)
    assert page.problems == []


async def test_a_spectator_finds_nothing_hidden_anywhere_in_the_page(http: aiohttp.ClientSession, page: Page):
    table = await new_table(http)
    await act(http, table, 1, type="gm.spawn", id="lurker", name="Planted Secret", scene="mill", zone="loft", hidden=True)
    await act(http, table, 2, type="chat", text="planted whisper", to=["ann"])
    headers = {"Authorization": f"Bearer {table['token']}"}
    async with http.post(f"/v1/sessions/{table['session']}/invites", json={"role": "spectator"}, headers=headers) as answer:
        invite = await answer.json()
    await sit(page, invite["link"], "Watcher")
    await page.until("document.querySelector('.entry')")
    whole = (await page.run("document.documentElement.outerHTML")).lower()
    assert "reed" in whole
    assert "planted" not in whole
    assert await page.run("document.querySelectorAll('.order').length") == 0
    assert page.problems == []


SERIOUS = """(async () => {
  const found = await axe.run(document, { resultTypes: ['violations'] });
  return found.violations.filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => id + ': ' + nodes.slice(0, 3).map((one) => one.html.slice(0, 160) + ' ' + one.failureSummary).join(' | '));
})()"""


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
async def test_axe_finds_nothing_serious_at_the_door_and_at_the_table(dark: bool, http: aiohttp.ClientSession, server: Server, page: Page):
    """Labels, roles and contrast, on a phone and on a desk, with an order half given and a question open."""
    axe = (ROOT / "clients/browser/node_modules/axe-core/axe.min.js").read_text("utf-8")
    await page.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
    await page.go(server.url + "/")
    await page.until("document.querySelector('.choice-card')")
    await page.run(axe)
    assert await page.run(SERIOUS) == []

    table = await new_table(http)
    await act(http, table, 1, type="gm.move", combatant="c1", scene="mill", zone="yard", near=["c3"])
    await act(http, table, 2, type="chat", text="hush", to=["ann"])
    await page.go(table["link"])
    await at_table(page)
    await page.run(axe)
    await press_on(page, ".order[data-type='duel.attack']")
    await page.until("document.querySelector('.chance')")
    for width in (1280, 390):
        await page.ask("Emulation.setDeviceMetricsOverride", width=width, height=844, deviceScaleFactor=1, mobile=False)
        for tab in ("play", "who", "log", "gm") if width < 700 else ("play",):
            at = ("play", "who", "log", "gm").index(tab)
            await page.run(f"document.querySelectorAll('.tab-bar button')[{at}].click()")
            await page.until(f"document.querySelector('.table').dataset.tab === '{tab}'")
            assert await page.run(SERIOUS) == [], (width, tab)


async def test_on_a_phone_nothing_is_wider_than_the_screen(http: aiohttp.ClientSession, page: Page):
    table = await new_table(http, "wasteland", "scrapyard")
    await page.ask("Emulation.setDeviceMetricsOverride", width=390, height=844, deviceScaleFactor=1, mobile=True)
    await page.go(table["link"])
    await at_table(page)
    for at in range(4):
        await page.run(f"document.querySelectorAll('.tab-bar button')[{at}].click()")
        assert await page.run("document.documentElement.scrollWidth") == 390
        assert await page.run("document.querySelector('.boards').scrollWidth <= document.querySelector('.boards').clientWidth")


async def test_a_frame_draws_anew_only_what_it_changed(http: aiohttp.ClientSession, page: Page):
    """With fifty combatants, a blow to one leaves the cards of the others untouched: not one change in the page below them."""
    table = await new_table(http)
    for n in range(1, 47):
        await act(http, table, n, type="gm.spawn", id=f"m{n}", name=f"Extra {n}", side="tollmen", scene="mill", zone="gate")
    await page.go(table["link"])
    await page.until("document.querySelectorAll('.card').length === 50 && document.querySelectorAll('.token').length === 50")
    await page.until("document.querySelector('.order')")
    # Until the page has found its sizes.
    await page.run("new Promise((done) => setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(done)), 0))")
    await page.run(
        "window.touched = new Set(); new MutationObserver((all) => all.forEach(({ target }) => {"
        " const card = (target.nodeType === 1 ? target : target.parentElement).closest('[data-card], [data-combatant]');"
        " if (card) touched.add(card.dataset.card ?? card.dataset.combatant); }))"
        ".observe(document.querySelector('.boards'), { subtree: true, childList: true, attributes: true, characterData: true })"
    )
    await act(http, table, 99, type="gm.set", kind="combatants", id="c1", field="hp", value=5)
    await page.until("document.querySelector('[data-card=c1] .bar b').textContent === '5/12'")
    await page.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert await page.run("[...touched]") == ["c1"]
    assert page.problems == []


async def test_a_question_outlives_a_reload_and_is_answered_by_keyboard(http: aiohttp.ClientSession, server: Server, page: Page):
    """Ann's fighter is struck at; she is asked, loads the page anew, is asked still, answers, and the table goes on."""
    table = await new_table(http)
    actor = await server.registry.get(table["session"])
    await act(http, table, 1, type="gm.move", combatant="c3", scene="mill", zone="yard", near=["c1"])
    await sit(page, table["seats"]["ann"]["link"], "Anna")
    await act(http, table, 2, type="gm.turn", encounter=next(iter(actor.session.encounters)), combatant="c3")
    await act(http, table, 3, type="attack", combatant="c3", target="c1", bold=False)
    await page.until("document.querySelector('.order-board > .ask[data-type=\"duel.parry?\"]')")
    await page.until("document.title.startsWith('●')")
    await page.reload()
    await at_table(page)
    await press_on(page, ".order-board > .ask .answer:not(.usual)")
    await page.until(
        "!document.querySelector('.ask[data-type=\"duel.parry?\"]') && document.querySelector('[data-type=\"duel.cross\"] .die')"
    )
    assert actor.session.combatants["c1"].parried
    assert page.problems == []
