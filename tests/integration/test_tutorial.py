"""The tutorial's ruleset is a third party's: a package with an entry point, and nothing of Dustup is touched. It is there by itself."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import dustup as sdk
import engine
from clients.terminal.line import play
from engine import rulesets
from server.app import Server
from tests.integration.conftest import HOUR_MS, MakeTable
from tests.support import tutorial
from tests.support.command_line import ROOT, dustup


@pytest.fixture
def installed(tmp_path: Path) -> dict[str, str]:
    """The environment of a Python in which the page's package is installed."""
    return {"PYTHONPATH": os.pathsep.join(map(str, (ROOT, ROOT / "clients/python", tutorial.install(tmp_path))))}


@pytest.fixture
def found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[engine.Ruleset]:
    """The installed package as this process finds it, by its entry point alone."""
    monkeypatch.syspath_prepend(str(tutorial.install(tmp_path)))
    before = {name: sys.modules.pop(name) for name in [tutorial.entry_point()[1]] if name in sys.modules}
    yield engine.ruleset(tutorial.NAME)
    del rulesets._found[tutorial.NAME]
    sys.modules.pop(tutorial.entry_point()[1])
    sys.modules.update(before)


def test_the_page_is_a_whole_ruleset_in_under_150_lines() -> None:
    lines = sum(len(block.splitlines()) for block in tutorial.blocks("python"))
    assert lines < 150
    assert tutorial.entry_point()[0] == tutorial.NAME == tutorial.load().name
    assert list(tutorial.project()["project"]["entry-points"]) == ["dustup.rulesets"]


def test_a_demo_of_it_plays_to_its_end_and_every_die_is_checked(installed: dict[str, str]) -> None:
    done = dustup("demo", "--ruleset", tutorial.NAME, "--seed", "5", **installed)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == "Brawl: Two regulars against two sailors."
    assert any("swings at" in line for line in lines)
    assert any("The brawl is over" in line for line in lines)
    assert lines[-1].startswith("Dice verified: all ")


def test_its_commands_are_in_the_schema_beside_the_others(installed: dict[str, str]) -> None:
    told = dustup("schema", **installed)
    assert told.returncode == 0, told.stderr
    assert "punch" in json.dumps(json.loads(told.stdout))
    only = dustup("schema", "--ruleset", tutorial.NAME, **installed)
    assert '"punch"' in only.stdout
    assert len(only.stdout) < len(told.stdout)


class Typist:
    """Standard input from a script."""

    def __init__(self, *script: str) -> None:
        self._script = iter(script)

    def readline(self) -> str:
        return f"{next(self._script)}\n"


async def test_a_person_plays_it_in_a_terminal_that_shows_its_odds(node: Server, make_table: MakeTable, found: engine.Ruleset) -> None:
    session = await make_table(node, ruleset=found.name, sample="tavern", encounter="tavern")
    token = await node.tokens.seat_token(session, "ann", "person-ann", HOUR_MS)
    out = io.StringIO()
    assert await play(node.url, seat_token=token, stdin=Typist("1", "1", "quit"), stdout=out) == 0
    assert "Throw a punch" in out.getvalue()
    assert "swings at Salt" in out.getvalue()
    assert "50%" in out.getvalue(), out.getvalue()


async def test_its_odds_go_over_the_wire(node: Server, make_table: MakeTable, found: engine.Ruleset) -> None:
    session = await make_table(node, ruleset=found.name, sample="tavern", encounter="tavern")
    token = await node.tokens.seat_token(session, "ann", "person-ann", HOUR_MS)
    async with sdk.connect(node.url, token) as client:
        table = await client.join(session)
        told = await table.odds({"type": "punch", "target": "salt"})
    assert [(part["name"], part["p"]) for part in told["parts"]] == [("hit", "1/2")]
