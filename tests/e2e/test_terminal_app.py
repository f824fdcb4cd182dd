"""`dustup play LINK` in a real terminal: a person takes an invite, acts, talks and leaves, all through tmux."""

from __future__ import annotations

import asyncio
import os
import secrets
import shlex
import shutil
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from rich.cells import cell_len

from engine import Setup
from server.app import Server

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="there is no tmux here to play in")


class Tmux:
    """One detached terminal of its own tmux server, 80 by 24 unless said otherwise."""

    def __init__(self, folder: Path) -> None:
        self._tmux = ["tmux", "-S", str(folder / f"tmux-{secrets.token_hex(4)}"), "-f", "/dev/null"]

    async def run(self, *words: str) -> str:
        process = await asyncio.create_subprocess_exec(
            *self._tmux, *words, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
        )
        out, _ = await process.communicate()
        return out.decode(errors="replace")

    async def open(self, command: list[str], *, term: str = "xterm-256color", **environ: str) -> None:
        given = {"TERM": term, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'clients' / 'python'}", "LC_ALL": "C.UTF-8", **environ}
        words = ["env", *(f"{name}={value}" for name, value in given.items()), *command]
        # A shell around it stays when the app is over, so that what it leaves behind can be read.
        script = f'{shlex.join(words)}; echo "status $?"; read _'
        await self.run("new-session", "-d", "-x", "80", "-y", "24", "sh", "-c", script)

    async def screen(self) -> str:
        return await self.run("capture-pane", "-p")

    async def keys(self, *keys: str) -> None:
        await self.run("send-keys", *keys)

    async def until(self, true: Callable[[str], bool]) -> str:
        seen = ""
        for _ in range(600):
            seen = await self.screen()
            if true(seen):
                return seen
            await asyncio.sleep(0.05)
        raise AssertionError(f"it never came to that; the screen:\n{seen}")


@pytest.fixture
async def tmux(tmp_path: Path) -> AsyncIterator[Tmux]:
    terminal = Tmux(tmp_path)
    yield terminal
    await terminal.run("kill-server")


async def invite(server: Server, seat: str) -> str:
    actor = await server.registry.create(Setup(ruleset="duel", sample="yard", encounter="mill"))
    token = await server.tokens.seat_token(actor.id, seat, seat, 3_600_000)
    return f"{server.url}/#token={token}&session={actor.id}"


def play(link: str, *more: str) -> list[str]:
    return [sys.executable, "-m", "server.cli", "play", link, *more]


async def test_a_person_plays_talks_and_leaves(server: Server, tmux: Tmux):
    await tmux.open(play(await invite(server, "ann")))
    await tmux.until(lambda seen: "Your turn: Reed" in seen and "Brace" in seen)
    await tmux.keys("1")
    await tmux.until(lambda seen: "Reed braces." in seen)
    await tmux.keys("t")
    await tmux.until(lambda seen: "Enter says it" in seen)
    await tmux.keys("-l", "well met")
    await tmux.keys("Enter")
    await tmux.until(lambda seen: "Ann: well met" in seen)
    await tmux.keys("C-q")
    seen = await tmux.until(lambda seen: "status 0" in seen)
    assert "Your turn" not in seen, "the screen of before is back"


async def test_sixteen_colours_and_chinese_keep_the_panels_straight(server: Server, tmux: Tmux):
    await tmux.open(play(await invite(server, "ann"), "--language", "zh_TW"), term="screen", NO_COLOR="1")
    seen = await tmux.until(lambda seen: "輪到你：Reed" in seen and "結束行動輪" in seen)
    assert "地圖" in seen
    borders = {cell_len(row[: row.index("▏")]) for row in seen.splitlines() if row.count("▏") == 1}
    assert borders == {40}, "the right column begins in the same cell in every row, whatever stands left of it"
    coloured = await tmux.run("capture-pane", "-p", "-e")
    assert not [code for code in ("38;2;", "48;2;", "38;5;", "48;5;") if code in coloured]


async def test_plain_lines_when_asked_for(server: Server, tmux: Tmux):
    await tmux.open(play(await invite(server, "ann"), "--plain"))
    await tmux.until(lambda seen: "You can:" in seen)
    await tmux.keys("-l", "quit")
    await tmux.keys("Enter")
    await tmux.until(lambda seen: "status 0" in seen)
