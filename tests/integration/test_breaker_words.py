"""Refusals that people read: no program's insides in them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import dustup
from server.app import Server
from server.config import ConfigError, load, signing_secrets
from tests.integration.conftest import Join, MakeTable
from tests.support.command_line import output


@pytest.mark.parametrize(
    "command",
    [
        {"type": "gm.seat.add", "seat": "@x", "name": "x"},
        {"type": "gm.spawn", "id": "a b"},
        {"type": "attack", "target": ""},
        {"type": "move", "zone": "yard", "near": ["c3", "\x1b[31m"]},
    ],
)
async def test_an_id_that_is_none_is_told_without_a_pattern(
    node: Server, make_table: MakeTable, seat: Join, command: dict[str, Any]
) -> None:
    session = await make_table(node)
    answer = await (await seat(node, session, "gm")).do(session, "g.1", command)
    assert answer["code"] == "bad_command"
    assert "an id (1 to 64 letters, digits or _.:-)" in answer["text"]
    assert not set(answer["text"]) & set("^{}\\\x1b")


async def test_a_server_that_is_not_there_is_told_in_words(unused_tcp_port: int) -> None:
    url = f"http://127.0.0.1:{unused_tcp_port}"
    with pytest.raises(dustup.Unavailable) as problem:
        await dustup.http.redeem(url, "a.b")
    assert str(problem.value) == f"cannot reach {url}/v1/invites/redeem: nothing answers there"


async def test_dice_to_enter_for_a_free_roll_are_asked_for_plainly(node: Server, make_table: MakeTable, seat: Join) -> None:
    session = await make_table(node, encounter="", physical=True)
    ann = await seat(node, session, "ann")
    await ann.do(session, "a.1", {"type": "roll", "notation": "3d6"})
    (prompt,) = ann.tables[session].view["prompts"].values()
    assert prompt["text"] == "Roll 3d6 and enter the faces."


def test_a_data_folder_that_is_a_file_is_called_one(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("not a folder")
    config = load(env={}, overrides={"data_dir": str(tmp_path / "data")})
    with pytest.raises(ConfigError, match="data is not a folder"):
        signing_secrets(config)


def test_names_reach_the_hosts_terminal_without_their_tricks(tmp_path: Path) -> None:
    """Escape sequences, text that turns around, null bytes: whoever names a table must not steer the host's terminal."""
    name = "\x1b[31mred\x1b]0;owned\x07 \u202eback\x00wards"
    setup: dict[str, Any] = {"ruleset": "duel", "sample": "yard", "encounter": "mill", "name": name}
    setup["seats"] = [{"id": "eve", "name": name}]
    setup["combatants"] = [{"id": "q", "template": "reed", "name": name, "scene": "mill", "zone": "gate"}]
    (tmp_path / "setup.json").write_text(json.dumps(setup))
    there = ("--data", tmp_path / "data")
    session = output("session", "create", "--setup", tmp_path / "setup.json", *there)
    told = [output("session", "list", *there), *(output("session", what, session, *there) for what in ("show", "seats"))]
    assert "wards" in told[0]
    assert not {one for one in "".join(told) if not one.isprintable() and one != "\n"}
