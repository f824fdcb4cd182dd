"""The app at a real table: what a person sees and does, by keys and mouse."""

from __future__ import annotations

from functools import partial

import pytest
from textual.pilot import Pilot
from textual.widgets import Input, OptionList

from clients.terminal.app.screens.form import FormScreen
from clients.terminal.app.screens.pager import PagerScreen
from clients.terminal.app.screens.talk import TalkScreen
from tests.clients.terminal_app.helpers import map_text, pick, picture, rows, screen, seated, shown, until


def shows(pilot: Pilot[int], text: str) -> bool:
    return text in picture(pilot)


@pytest.mark.parametrize("size", [(80, 24), (120, 44)])
async def test_the_first_screen_tells_where_one_is_and_what_one_can_do(host, size):
    async with seated(host.url, await host.token("ann"), size=size) as pilot:
        await until(pilot, lambda: "Reed's turn." in picture(pilot))
        seen = picture(pilot)
        assert "You: Ann, player" in seen
        assert "the mill yard" in seen
        assert "▶ Reed* (yours)" in seen
        assert "next: Wick" in seen
        assert "Brace" in seen
        assert "Your turn: Reed" in shown(pilot, "status")
        assert {len(row) for row in rows(pilot)} == {size[0]}


async def test_an_option_without_details_is_done_with_one_key(host):
    async with seated(host.url, await host.token("ann")) as pilot:
        await pick(pilot, "Brace")
        await until(pilot, lambda: "Reed braces." in picture(pilot))
        assert screen(pilot).seat.table.view["combatants"]["c1"]["braced"]


async def test_an_option_can_be_clicked(host):
    async with seated(host.url, await host.token("ann")) as pilot:
        place = next(number for number, offer in enumerate(screen(pilot).choices.offers) if offer.text == "Brace")
        await pilot.click("#choices", offset=(3, place + 1))
        await until(pilot, lambda: "Reed braces." in picture(pilot))


async def test_details_are_asked_and_sent_as_filled_in(host):
    async with seated(host.url, await host.token("ann")) as pilot:
        await pick(pilot, "Move to the gate")
        await until(pilot, lambda: isinstance(pilot.app.screen, FormScreen))
        await pilot.press("right", "enter")  # up to Stray
        await until(pilot, lambda: "Reed moves to the gate" in picture(pilot))
        view = screen(pilot).seat.table.view
        assert view["combatants"]["c1"]["zone"] == "gate"
        assert view["scenes"]["mill"]["near"] == [["c1", "c4"]]
        await until(pilot, lambda: "Within reach" in map_text(pilot))


async def test_odds_are_exact_and_follow_the_details(host):
    """Each shown chance is what the server says of the very command that the form would send."""
    async with seated(host.url, await host.token("ann"), size=(100, 40)) as pilot:
        await pick(pilot, "Move to the gate")
        await until(pilot, lambda: isinstance(pilot.app.screen, FormScreen))
        await pilot.press("right", "enter")
        await pick(pilot, "Strike with the blade")
        await until(pilot, lambda: isinstance(pilot.app.screen, FormScreen))
        table = screen(pilot).seat.table
        for key in ("down", "right"):
            form = pilot.app.screen
            assert isinstance(form, FormScreen)
            expected = await table.odds(form.command())
            chance = f"({expected['parts'][0]['p']})"
            await until(pilot, partial(shows, pilot, chance), "the chance of a hit")
            await pilot.press(key)
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(pilot.app.screen, FormScreen))
        assert table.view["combatants"]["c1"]["acted"] is False


async def test_a_question_comes_first_and_is_answered_by_its_number(host):
    """Reed strikes; Tollman's parry is asked of the GM, who watches in the app."""
    ann = await host.join("ann")
    try:
        async with seated(host.url, await host.token("gm")) as pilot:
            await ann.do("move", combatant="c1", zone="yard", near=["c3"])
            await ann.do("attack", combatant="c1", target="c3")
            await until(pilot, lambda: "Parry" in picture(pilot))
            assert "The table waits for your answer" in shown(pilot, "status")
            assert screen(pilot).choices.offers[0].prompt is not None
            await pilot.press("2")
            await until(pilot, lambda: not screen(pilot).seat.table.prompts_open)
            await until(pilot, lambda: "Reed rolls" in picture(pilot))
            assert "1d20 [" in picture(pilot)
    finally:
        await ann.client.close()


async def test_others_see_whose_answer_is_waited_for(host):
    gm = await host.join("gm")
    try:
        async with seated(host.url, await host.token("ann")) as pilot:
            await gm.do("gm.move", combatant="c1", scene="mill", zone="yard", near=["c3"])
            await gm.do("attack", combatant="c1", target="c3")
            await until(pilot, lambda: "Waiting for the answer of GM" in shown(pilot, "status"))
    finally:
        await gm.client.close()


async def test_talk_is_said_told_in_private_and_shown_with_who_said_it(host):
    ben = await host.join("ben")
    try:
        async with seated(host.url, await host.token("ann")) as pilot:
            await pilot.press("t", *"hello", "enter")
            await until(pilot, lambda: "Ann: hello" in picture(pilot))
            await pilot.press(*"/to ben psst", "enter")
            await until(pilot, lambda: "private" in picture(pilot) and "psst" in picture(pilot))
            said = [event for frame in ben.recent for event in frame.get("events") or [] if event["type"] == "chat"]
            assert [(event["body"], event["private"]) for event in said] == [("hello", False), ("psst", True)]
            await pilot.press(*"/roll 2d6+1", "enter")
            await until(pilot, lambda: "2d6 [" in picture(pilot))
    finally:
        await ben.client.close()


async def test_what_cannot_be_said_stays_in_the_line(host):
    async with seated(host.url, await host.token("ann")) as pilot:
        await pilot.press("t", *"/dance", "enter")
        await until(pilot, lambda: "There is no /dance" in picture(pilot))
        assert screen(pilot).query_one("#say", Input).value == "/dance"


async def test_a_longer_text_has_a_page_of_its_own(host):
    async with seated(host.url, await host.token("ann")) as pilot:
        await pilot.press("p")
        await until(pilot, lambda: isinstance(pilot.app.screen, TalkScreen))
        await pilot.press(*"Rain", "enter", *"falls", "ctrl+s")
        await until(pilot, lambda: "Ann: Rain" in picture(pilot))
        assert "falls" in picture(pilot)


async def test_a_refusal_is_said_in_words_and_changes_nothing(host):
    async with seated(host.url, await host.token("ann")) as pilot:
        before = screen(pilot).seat.table.v
        await pilot.press("t")
        screen(pilot).query_one("#say", Input).value = '/raw {"type": "brace", "combatant": "c3"}'
        await pilot.press("enter")
        await until(pilot, lambda: any(note.severity == "error" for note in pilot.app._notifications))
        assert screen(pilot).seat.table.v == before


async def test_everything_known_of_somebody_opens_from_their_card(host):
    async with seated(host.url, await host.token("ann")) as pilot:
        await pilot.press("c")
        cards = screen(pilot).query_one("#cards", OptionList)
        await until(pilot, lambda: cards.has_focus and cards.option_count == 4)
        await pilot.press("home", "enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, PagerScreen))
        assert "weapon: blade" in picture(pilot)
        assert "grit" in picture(pilot)


async def test_the_language_changes_at_once_also_for_what_was_said(host):
    async with seated(host.url, await host.token("ann")) as pilot:
        await pick(pilot, "Brace")
        await until(pilot, lambda: "Reed braces." in picture(pilot))
        await pilot.press("ctrl+l")
        await until(pilot, lambda: "Reed 擺好架式。" in picture(pilot))
        await until(pilot, lambda: "結束行動輪" in picture(pilot))
        assert "你：Ann" in shown(pilot, "head")
        await pilot.press("ctrl+l")
        await until(pilot, lambda: "Reed braces." in picture(pilot))


async def test_a_narrow_screen_shows_one_column_at_a_time(host):
    async with seated(host.url, await host.token("ann"), size=(60, 20)) as pilot:
        assert "You can" in picture(pilot)
        assert "Map:" not in picture(pilot)
        await pilot.press("m")
        await until(pilot, lambda: "Map: The old mill" in picture(pilot) and "You can" not in picture(pilot))
        await pilot.press("escape")
        await until(pilot, lambda: "You can" in picture(pilot) and screen(pilot).choices.has_focus)


async def test_a_card_shows_bars_conditions_and_figures(host):
    async with seated(host.url, await host.token("ann"), size=(140, 44)) as pilot:
        await until(pilot, lambda: "12/12" in picture(pilot))
        assert "██████" in picture(pilot)
        assert "weapon blade" in picture(pilot)
        assert "None" not in picture(pilot)


async def test_help_tells_the_keys(host):
    async with seated(host.url, await host.token("ann")) as pilot:
        await pilot.press("question_mark")
        await until(pilot, lambda: "Moving about" in picture(pilot))
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(pilot.app.screen, PagerScreen))


async def test_the_palette_finds_what_can_be_done(host):
    async with seated(host.url, await host.token("ann")) as pilot:
        await pilot.press("ctrl+p")
        await until(pilot, lambda: type(pilot.app.screen).__name__ == "CommandPalette")
        await pilot.press(*"brace")
        await until(pilot, lambda: "Brace" in picture(pilot))
        await pilot.press("down", "enter")
        await until(pilot, lambda: screen(pilot).seat.table.view["combatants"]["c1"]["braced"])


async def test_a_panel_can_fill_the_screen_and_shrink_again(host):
    async with seated(host.url, await host.token("ann")) as pilot:
        await pilot.press("m", "z")
        await until(pilot, lambda: screen(pilot).maximized is not None)
        assert "the loft" in picture(pilot)
        await pilot.press("escape")
        await until(pilot, lambda: screen(pilot).maximized is None)


async def test_the_dice_are_checked_on_request(host):
    gm = await host.join("gm")
    try:
        await gm.do("roll", notation="3d20")
        await gm.do("gm.dice", do="reveal")
        async with seated(host.url, await host.token("ann")) as pilot:
            await pilot.press("v")
            await until(pilot, lambda: "Every roll that can be checked is right: 1" in picture(pilot))
            assert "the seed is the one that was committed to" in picture(pilot)
    finally:
        await gm.client.close()


async def test_a_bell_calls_whose_turn_it_is(host, monkeypatch):
    gm = await host.join("gm")
    try:
        async with seated(host.url, await host.token("ben")) as pilot:
            rung: list[int] = []
            monkeypatch.setattr(pilot.app, "bell", lambda: rung.append(1))
            await gm.do("turn.end", combatant="c1")
            await until(pilot, lambda: "Your turn: Wick" in shown(pilot, "status"))
            await until(pilot, lambda: rung)
    finally:
        await gm.client.close()
