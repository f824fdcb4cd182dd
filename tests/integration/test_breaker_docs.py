"""What the pages tell strangers to run does what they say, from nothing but the page."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from pathlib import Path

import aiohttp

from server.app import Server
from tests.integration.api import Api

PAGE = Path(__file__).parents[2] / "docs" / "dice.md"


async def run(*words: str) -> tuple[int | None, str]:
    """A program in a Python of its own that knows nothing of us; its exit code and all it said."""
    program = await asyncio.create_subprocess_exec(
        sys.executable, "-I", *words, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    said, _ = await program.communicate()
    return program.returncode, said.decode()


async def test_a_stranger_checks_the_dice_of_a_table_by_the_page_alone(node: Server, http: aiohttp.ClientSession, tmp_path: Path) -> None:
    collect, check = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    (tmp_path / "collect.py").write_text(collect, "utf-8")
    (tmp_path / "check.py").write_text(check, "utf-8")
    api = Api(http, node)
    table = await api.table()
    session, gm, ann = table["session"], table["token"], await api.sit(table, "ann")
    n = 0

    async def do(token: str, **command: object) -> None:
        nonlocal n
        n += 1
        reply = await api.do(session, token, f"x.{n}", **command)
        assert reply.status == 200, reply.raw

    await do(ann, type="dice.salt", salt="seven \N{FERRIS WHEEL} bottles")
    await do(ann, type="roll", notation="3d6")
    await do(gm, type="roll", notation="2d1000", hidden=True)
    await do(gm, type="gm.set", kind="combatants", id="c1", field="hp", value=3)
    await do(gm, type="gm.undo", to=n)
    await do(ann, type="roll", notation="5d6")
    for _ in range(230):  # more than a page of history
        await do(ann, type="chat", text="...")
    await do(gm, type="gm.dice", do="reveal")
    await do(ann, type="roll", notation="1d20")

    code, said = await run(str(tmp_path / "collect.py"), node.url, session, ann)
    assert code == 0, said
    (tmp_path / "dice.json").write_text(said, "utf-8")
    code, verdict = await run(str(tmp_path / "check.py"), str(tmp_path / "dice.json"))
    assert (code, verdict.strip()) == (0, "ok: 2 rolls checked, 0 entered by hand, 1 wait for their seed")

    game = json.loads(said)
    game["rolls"][0]["faces"][0] = game["rolls"][0]["faces"][0] % 6 + 1
    (tmp_path / "dice.json").write_text(json.dumps(game), "utf-8")
    code, verdict = await run(str(tmp_path / "check.py"), str(tmp_path / "dice.json"))
    assert code == 1
    assert verdict.startswith("differs: open roll 1")
