"""The GM's tools: each makes a command the engine understands, and the ones used most do at a real table what they say."""

from __future__ import annotations

from typing import Any

import pytest
from textual.app import App

import engine
from clients.terminal.app import gm_tools
from clients.terminal.app.fields import MISSING, FieldRow, Wrong, value_of
from clients.terminal.app.names import Names
from clients.terminal.app.screens.form import FormScreen
from clients.terminal.app.screens.pick import PickScreen
from clients.terminal.app.texts import LANGUAGES, Texts
from engine.rulesets.duel import RULES
from tests.clients.terminal_app.helpers import pick, picture, screen, seated, until
from tests.support.table import Table

TYPED = {"field": "hp", "value": "3", "seat": "zoe", "name": "Zoe", "key": "deadline.turn", "controls": '["c1"]', "to": "1"}
"""What a person would type into the fields that have to be typed."""


def filled(tool: dict[str, Any], names: Names) -> dict[str, Any]:
    """The command that the form of a tool gives when it is left as it opens, but for what must be typed."""
    command = dict(tool["command"])
    for param in tool["params"]:
        try:
            value = FieldRow(param, names).field.given()
        except Wrong:
            value = value_of(param, TYPED[param["name"]], names)
        if value is MISSING:
            continue
        if param.get("merge"):
            command.update(value)
        else:
            command[param["name"]] = value
    return command


@pytest.mark.parametrize("language", LANGUAGES)
async def test_every_tool_makes_a_command_that_the_engine_understands(language):
    """At a table with a fight, a question, something hidden and somebody to come."""
    table = Table("duel")
    table.do("gm", "gm.spawn", id="late", name="Late", scene="mill", zone="gate", hidden=True)
    table.do("gm", "gm.move", combatant="c1", scene="mill", zone="yard", near=["c3"])
    table.do("ann", "attack", combatant="c1", target="c3")
    names = Names(table.view("gm"), Texts(language))
    made = [tool for tool in gm_tools.tools(names) if tool["type"] != "raw"]
    assert {tool["type"] for tool in made} >= {"gm.undo", "gm.pause", "gm.reveal", "gm.hide", "gm.spawn", "gm.prompt", "gm.encounter.join"}
    async with App[None]().run_test():  # fields are widgets: they need an app around them
        for tool in made:
            assert RULES.decode(filled(tool, names)) is not None
            assert "{" not in tool["text"]


def test_every_command_of_a_gm_has_a_tool_or_the_free_form():
    """A new command of the kernel shows up here, so that somebody decides about it."""
    table = Table("duel", engine.Setup(ruleset="duel", sample="yard"))
    table.do("gm", "gm.hide", kind="combatants", id="c4")
    offered = {tool["type"] for tool in gm_tools.tools(Names(table.view("gm"), Texts()))}
    table.do("gm", "gm.encounter", scene="mill", combatants=["c1", "c3"])
    table.do("gm", "gm.move", combatant="c1", scene="mill", zone="yard", near=["c3"])
    table.do("ann", "attack", combatant="c1", target="c3")
    offered |= {tool["type"] for tool in gm_tools.tools(Names(table.view("gm"), Texts()))}
    kernel = {str(command.__struct_config__.tag) for command in engine.commands.PLAYER_COMMANDS}
    left_to_the_free_form = {"gm.scene", "gm.scene.remove"}
    assert {kind for kind in kernel if kind.startswith("gm.")} - offered == left_to_the_free_form


async def use(pilot: Any, tool: str) -> None:
    """Open the list of tools, type a part of a name, take the first."""
    await pilot.press("g")
    await until(pilot, lambda: isinstance(pilot.app.screen, PickScreen))
    await pilot.press(*tool, "enter")
    await until(pilot, lambda: not isinstance(pilot.app.screen, PickScreen))


async def test_a_gm_pauses_and_everybody_reads_it(host):
    async with seated(host.url, await host.token("gm")) as pilot:
        await use(pilot, "pause")
        await until(pilot, lambda: "The GM pauses the table." in picture(pilot))
        assert "PAUSED" in picture(pilot)
        await use(pilot, "resume")
        await until(pilot, lambda: "The table goes on." in picture(pilot))


async def test_a_gm_undoes_a_step(host):
    async with seated(host.url, await host.token("gm")) as pilot:
        await pick(pilot, "Brace")
        await until(pilot, lambda: screen(pilot).seat.table.view["combatants"]["c1"]["braced"])
        await use(pilot, "undo")
        await until(pilot, lambda: isinstance(pilot.app.screen, FormScreen))
        await pilot.press("enter")
        await until(pilot, lambda: not screen(pilot).seat.table.view["combatants"]["c1"]["braced"])


async def test_a_gm_hides_somebody_and_shows_them_again(host):
    ann = await host.join("ann")
    try:
        async with seated(host.url, await host.token("gm")) as pilot:
            await use(pilot, "hide")
            await until(pilot, lambda: isinstance(pilot.app.screen, FormScreen))
            await pilot.press("t", "enter")  # the letter jumps to Tollman
            await until(pilot, lambda: "c3" not in ann.view["combatants"])
            assert "hidden" in picture(pilot)
            await use(pilot, "show")
            await until(pilot, lambda: isinstance(pilot.app.screen, FormScreen))
            await pilot.press("enter")
            await until(pilot, lambda: "c3" in ann.view["combatants"])
    finally:
        await ann.client.close()


async def test_a_gm_brings_somebody_into_play(host):
    async with seated(host.url, await host.token("gm")) as pilot:
        await use(pilot, "bring")
        await until(pilot, lambda: isinstance(pilot.app.screen, FormScreen))
        await pilot.press("down", *"Zoe", "down", "down", "right", "enter")
        await until(pilot, lambda: "Zoe enters play." in picture(pilot))
        found = [each for each in screen(pilot).seat.table.view["combatants"].values() if each["name"] == "Zoe"]
        assert [each["zone"] for each in found] == ["gate"]


async def test_any_command_can_be_sent_as_json(host):
    async with seated(host.url, await host.token("gm")) as pilot:
        await use(pilot, "json")
        await until(pilot, lambda: isinstance(pilot.app.screen, FormScreen))
        form = pilot.app.screen
        assert isinstance(form, FormScreen)
        form.query_one("TextField").value = '{"type": "gm.clock", "minutes": 90'  # type: ignore[attr-defined]
        await pilot.press("enter")
        await until(pilot, lambda: "That is not JSON" in picture(pilot))
        form.query_one("TextField").value += "}"  # type: ignore[attr-defined]
        await pilot.press("enter")
        await until(pilot, lambda: "90 minutes pass." in picture(pilot))


async def test_a_player_has_the_free_form_alone(host):
    async with seated(host.url, await host.token("ann")) as pilot:
        await pilot.press("g")
        await until(pilot, lambda: isinstance(pilot.app.screen, PickScreen))
        assert "Undo" not in picture(pilot)
        assert "JSON" in picture(pilot)


async def test_a_fight_is_started_and_ended_from_the_list(quiet_host):
    async with seated(quiet_host.url, await quiet_host.token("gm")) as pilot:
        await pick(pilot, "Start a fight in The old mill")
        await until(pilot, lambda: "A fight begins" in picture(pilot))
        await pick(pilot, "End the fight")
        await until(pilot, lambda: not screen(pilot).seat.table.view.get("encounters"))
