"""Names and texts of strangers are text: no escape, no markup, no turned-around line reaches the terminal, and large tables stay usable."""

from __future__ import annotations

import unicodedata

from clients.terminal.app.names import Names
from clients.terminal.app.reading import entity
from clients.terminal.app.texts import Texts
from tests.clients.fake_server import SESSION, TOKEN, FakeServer
from tests.clients.terminal_app.helpers import map_text, picture, rows, screen, seated, until

EVIL = "\x1b]0;owned\x07\x1b[2J[bold red]M[/]arkup[/bold] \u202eback\u202c \u009b31m {name} %s\r\n\x00end"


def printable(text: str) -> bool:
    return all(unicodedata.category(character) not in {"Cc", "Cf", "Cs", "Zl", "Zp"} for character in text)


async def test_no_control_character_of_the_server_reaches_the_screen(server: FakeServer):
    server.view["table"]["table"]["name"] = EVIL
    server.view["combatants"]["c2"].update(name=EVIL, note=EVIL, words=[EVIL, {"name": EVIL}], deep={"a": {"b": EVIL}})
    server.view["scenes"]["yard"].update(name=EVIL)
    server.view["scenes"]["yard"]["zones"][0].update(name=EVIL, covers=[{"id": "x", "name": EVIL}])
    server.view["seats"]["bob"]["name"] = EVIL
    server.view["pools"] = {"p": {"id": "p", "name": EVIL, "value": 3}}
    choices = [{"value": "y", "text": EVIL}, {"value": "n", "text": "No"}]
    prompt = {"id": "q1", "to": "ann", "answered": False, "type": "fake.q", "text": EVIL, "choices": choices, "default": "n"}
    server.view["prompts"] = {"q1": prompt}
    async with seated(server.url, TOKEN, SESSION, size=(110, 40)) as pilot:
        await server.commit({}, EVIL, type="[b]x\x1b")
        await server.say({"t": "reset", **server._where(), "reason": EVIL, "view": server.view})
        await until(pilot, lambda: any("back" in row for row in rows(pilot)))
        await until(pilot, lambda: pilot.app._notifications)
        for keys in (["c", "enter"], ["escape", "g"], ["escape", "ctrl+p"]):
            await pilot.press(*keys)
            await pilot.pause()
            assert all(printable(row) for row in rows(pilot))
        assert "[bold red]M[/]arkup[/bold]" in "\n".join(str(offer.text) for offer in screen(pilot).choices.offers)


def test_nested_fields_of_anything_read_as_plain_text():
    lines = entity({"a": EVIL, EVIL: [EVIL, {"name": EVIL, "b": {EVIL: EVIL}}], "n": None, "l": [], "m": {}}, Names({}, Texts()))
    assert lines
    assert all(printable(line.plain) for line in lines)


async def test_entities_without_their_usual_fields_are_shown_as_far_as_they_go(server: FakeServer):
    """A client ignores what it does not know, and does not count on more than the protocol promises."""
    server.view["combatants"]["c9"] = {}
    server.view["scenes"]["void"] = {
        "zones": ["?", {"name": "no id"}, {"id": "only"}],
        "edges": [7, {"a": "only"}],
        "near": [1],
        "blind": "x",
    }
    server.view["encounters"]["e9"] = {}
    server.view["dreams"] = {"d": {"x": 1}}
    server.options = list  # type: ignore[method-assign]  # those of the fake server read fields that are missing here
    async with seated(server.url, TOKEN, SESSION) as pilot:
        await pilot.press("m", "right_square_bracket")
        await until(pilot, lambda: "only" in picture(pilot))
        await pilot.press("c", "end", "enter")
        await pilot.pause()
        assert "c9" in picture(pilot)


async def test_fifty_combatants_and_namesakes_are_told_apart(server: FakeServer):
    for number in range(50):
        place = {"scene": "yard", "zone": "gate" if number % 2 else "well"}
        server.view["combatants"][f"g{number:02}"] = {"id": f"g{number:02}", "name": "Ghoul", "hp": number, "max_hp": 50, **place}
    server.view["encounters"]["e1"]["order"] += [f"g{number:02}" for number in range(50)]
    async with seated(server.url, TOKEN, SESSION, size=(80, 24)) as pilot:
        shown = map_text(pilot)
        assert [f"Ghoul ·{number}" in shown for number in range(1, 51)] == [True] * 50
        await pilot.press("c", "end")
        await until(pilot, lambda: "Ghoul ·50" in picture(pilot))
        assert {len(row) for row in rows(pilot)} == {80}


async def test_chinese_names_keep_every_row_as_wide_as_the_screen(server: FakeServer):
    from rich.cells import cell_len

    server.view["combatants"]["c2"]["name"] = "沼澤鬼怪，第十二號"
    server.view["scenes"]["yard"]["zones"][0]["name"] = "廢棄的大門"
    async with seated(server.url, TOKEN, SESSION, size=(80, 24), language="zh_TW") as pilot:
        await server.commit({}, "霧" * 60)
        await until(pilot, lambda: "霧霧" in picture(pilot))
        assert {cell_len(row) for row in rows(pilot)} == {80}


async def test_colours_are_never_the_only_sign(server: FakeServer):
    """Without colours it is still told whose turn it is, who is yours, and who is out."""
    server.view["combatants"]["c2"]["out"] = True
    async with seated(server.url, TOKEN, SESSION, environ={"NO_COLOR": "1", "TERM": "xterm"}) as pilot:
        assert pilot.app.theme == "ansi-dark"
        assert "▶Ash*" in picture(pilot)
        assert "✗Boar" in picture(pilot)
        assert "[yours]" in picture(pilot)
