"""The pilot: plays to the end from options and prompts alone, the same way for the same seed."""

from __future__ import annotations

import ast
import asyncio
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import dustup
from dustup.pilot import FightOver
from tests.clients.fake_server import SESSION, TOKEN, FakeServer, running


async def commands_of_a_run(seed: int, boar: int = 8) -> list[dict[str, Any]]:
    async with running() as server:
        server.view["combatants"]["c2"]["hp"] = boar
        async with dustup.connect(server.url, TOKEN) as client:
            table = await client.join(SESSION)
            report = await dustup.Pilot(table, seed).run()
            assert report.why == "over"
            assert "encounters" not in table.view
            assert report.actions == len(server.executed)
        return [message["command"] for message in server.sent("do")]


async def test_a_fight_is_played_to_its_end_the_same_way_for_the_same_seed() -> None:
    runs = [await commands_of_a_run(seed) for seed in (1, 1, 2, 3, 4)]
    assert runs[0] == runs[1]
    assert len({str(run) for run in runs}) > 1, "seeds matter"
    for run in runs:
        assert sum(command["type"] == "hit" for command in run) == 8
        assert all(command["target"] == "c2" for command in run if command["type"] == "hit")


async def test_it_stops_at_its_limit_and_at_any_condition(server: FakeServer) -> None:
    server.view["combatants"]["c2"]["hp"] = 50
    async with dustup.connect(server.url, TOKEN) as client:
        table = await client.join(SESSION)
        report = await dustup.Pilot(table, 1).run(max_actions=3)
        assert (report.actions, report.why) == (3, "max_actions")
        report = await dustup.Pilot(table, 1).run(until=lambda view: view["combatants"]["c2"]["hp"] <= 40)
        assert report.why == "over"
        assert table.view["combatants"]["c2"]["hp"] == 40


async def test_prompts_are_answered_before_anything_else(server: FakeServer) -> None:
    choices = [{"value": "a", "text": "A"}, {"value": "b", "text": "B"}]
    ours = {"id": "q1", "to": "ann", "text": "?", "choices": choices, "ints": {"least": 2, "most": 2, "low": 1, "high": 6, "choice": "a"}}
    await server.commit({"prompts": {"q0": {"id": "q0", "to": "bob"}, "q1": ours}}, "")
    async with dustup.connect(server.url, TOKEN) as client:
        table = await client.join(SESSION)
        report = await dustup.Pilot(table, 3).run()
        assert report.answers == 1
    command = server.sent("do")[0]["command"]
    assert (command["type"], command["prompt"]) == ("answer", "q1")
    assert command["choice"] in ("a", "b")
    faces = command.get("ints", [])
    assert len(faces) == (2 if command["choice"] == "a" else 0)
    assert all(1 <= face <= 6 for face in faces)


async def test_it_waits_for_frames_and_asks_nothing_while_nothing_changes(server: FakeServer) -> None:
    encounter = server.view.pop("encounters")["e1"]
    async with dustup.connect(server.url, TOKEN) as client, dustup.connect(server.url, TOKEN) as other:
        table, elsewhere = await client.join(SESSION), await other.join(SESSION)
        run = asyncio.create_task(dustup.Pilot(table, 1).run())
        for _ in range(3):
            await elsewhere.chat("talk changes no options")
        assert len(server.sent("options")) == 1
        await server.commit({"encounters": {"e1": encounter}}, "A fight begins.")
        assert (await run).why == "over"


async def test_a_refused_command_is_not_tried_again_until_something_changes(server: FakeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    bad = {"type": "bad", "text": "Bad", "command": {"type": "nonsense"}}
    monkeypatch.setattr(server, "options", lambda: [bad])
    async with dustup.connect(server.url, TOKEN) as client:
        table = await client.join(SESSION)
        run = asyncio.create_task(dustup.Pilot(table, 1).run())
        await server.wait_sent("options", 2)
        for _ in range(3):
            await client.ping()  # whatever the pilot still had to send has been sent by then
        assert len(server.sent("do")) == 1
        await server.commit({"pools": {"p": {"id": "p", "value": 1}}}, "Something changed.")
        await server.wait_sent("options", 4)
        for _ in range(3):
            await client.ping()
        assert len(server.sent("do")) == 2
        await server.commit({}, "The end.", gone={"encounters": ["e1"]})
        assert (await run).refused == 2


OPTION = {"type": "x.strike", "text": "", "command": {"type": "strike"}}
END = {"type": "turn.end", "text": "", "command": {"type": "turn.end"}}


async def seated(server: FakeServer, client: dustup.Client, prefer: Any = None, seed: int = 1) -> dustup.Pilot:
    return dustup.Pilot(await client.join(SESSION), seed, prefer=prefer)


async def test_it_acts_before_it_ends_the_turn_and_ends_it_at_last(server: FakeServer) -> None:
    async with dustup.connect(server.url, TOKEN) as client:
        pilot = await seated(server, client)
        first = Counter(str((pilot.choose([END, OPTION]) or {})["type"]) for _ in range(400))
        assert first["strike"] > first["turn.end"] > 0
        pilot._this_turn = 6
        assert {str((pilot.choose([END, OPTION]) or {})["type"]) for _ in range(100)} == {"turn.end"}
        server.view["encounters"]["e1"]["current"] = "c2"
        await server.commit({"encounters": {"e1": {**server.view["encounters"]["e1"], "current": "c2"}}}, "Next.")
        await pilot.table.wait_for(lambda view: view["encounters"]["e1"]["current"] == "c2")
        assert "strike" in {str((pilot.choose([END, OPTION]) or {})["type"]) for _ in range(20)}, "a new turn starts anew"


async def test_talk_and_the_gms_tools_are_left_alone_unless_preferred(server: FakeServer) -> None:
    kinds = ("gm.undo", "chat", "seat.leave", "roll", "test.propose", "turn.delay")
    gm = [{"type": kind, "text": "", "command": {"type": kind}} for kind in kinds]

    def undo(option: Mapping[str, Any]) -> float | None:
        return 1.0 if option["type"] == "gm.undo" else None

    async with dustup.connect(server.url, TOKEN) as client:
        assert (await seated(server, client)).choose(gm) is None
        assert (await seated(server, client, undo)).choose(gm) == {"type": "gm.undo"}
        liked = await seated(server, client, ["chat"])
        assert liked.choose(gm) == {"type": "chat"}
        never = await seated(server, client, lambda option: 0.0)
        assert never.choose([OPTION, END]) is None


async def test_what_another_seat_plays_is_left_to_it_while_it_is_here(server: FakeServer) -> None:
    """A GM is offered everybody's options; it plays those that nobody else is there to play."""
    bobs = {**OPTION, "combatant": "c2"}
    async with dustup.connect(server.url, TOKEN) as client:
        pilot = await seated(server, client)
        assert pilot.choose([bobs]) is None, "who is here was not told yet"
        await server.say({"t": "presence", "session": SESSION, "seats": {"ann": 1}})
        await client.ping()
        assert pilot.choose([bobs]) is not None
        await server.say({"t": "presence", "session": SESSION, "seats": {"ann": 1, "bob": 1}})
        await client.ping()
        assert pilot.choose([bobs]) is None
        run = asyncio.create_task(pilot.run())
        await server.wait_sent("options")
        await server.say({"t": "presence", "session": SESSION, "seats": {"ann": 1}})
        await server.wait_sent("options", 2)
        run.cancel()
        await asyncio.gather(run, return_exceptions=True)


async def test_details_are_filled_within_what_is_listed(server: FakeServer) -> None:
    choices = [{"value": "a", "text": ""}, {"value": "b", "text": ""}]
    params = [
        {"name": "target", "kind": "choice", "choices": choices},
        {"name": "dice", "kind": "int", "min": 1, "max": 3},
        {"name": "luck", "kind": "int", "optional": True, "min": 0, "max": 1},
        {"name": "note", "kind": "text", "optional": True},
    ]
    async with dustup.connect(server.url, TOKEN) as client:
        pilot = await seated(server, client)
        found = [pilot.choose([{**OPTION, "params": params}]) or {} for _ in range(200)]
        assert {command["target"] for command in found} == {"a", "b"}
        assert {command["dice"] for command in found} == {1, 2, 3}
        assert {command.get("luck") for command in found} == {None, 0, 1}
        assert all("note" not in command for command in found)
        empty = [{"name": "target", "kind": "choice", "choices": []}]
        assert pilot.choose([{**OPTION, "params": empty}]) is None, "a detail that cannot be filled"


def test_a_fight_is_over_only_after_it_was_on() -> None:
    over = FightOver()
    assert not over({})
    assert not over({"encounters": {"e1": {}}})
    assert over({"encounters": {}})


async def test_the_readme_example_works(server: FakeServer, capsys: pytest.CaptureFixture[str]) -> None:
    """The code of the first block, run as it stands but for address and token."""
    readme = (Path(__file__).parents[2] / "clients" / "python" / "README.md").read_text("utf-8")
    first, second = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    code, call = first.rstrip().rsplit("\n", 1)
    assert call == 'asyncio.run(main("http://localhost:8750", "YOUR-TOKEN"))'
    assert len([line for line in code.splitlines() if line.strip()]) <= 10
    space: dict[str, Any] = {}
    exec(compile(code, "README.md", "exec"), space)
    await space["main"](server.url, TOKEN)
    assert "ann did" in capsys.readouterr().out
    assert "encounters" not in server.view
    compile(second, "README.md", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
