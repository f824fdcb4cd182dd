"""`dustup play --plain` in a real terminal: what a person sees on the screen, and that a key they press is done at the table."""

from __future__ import annotations

import asyncio
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import engine
from server.app import Server
from server.commands._table import DAY_MS
from tests.support.command_line import PATIENCE_S, command, environment

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="there is no tmux here to be the terminal")

ROWS, COLUMNS = 60, 120


class Terminal:
    """A tmux of its own with one window that runs a command. Nothing of the tester's own tmux is touched."""

    def __init__(self, folder: Path) -> None:
        self._socket = folder / "t"

    def _tmux(self, *words: str) -> str:
        done = subprocess.run(
            ["tmux", "-S", str(self._socket), "-f", "/dev/null", *words],
            capture_output=True,
            text=True,
            check=True,
            timeout=30,
            env=environment(),
        )
        return done.stdout

    def start(self, words: list[str]) -> None:
        # The shell keeps the window open when the command has ended, so that its last screen can still be read.
        # It ignores Ctrl-C itself, which reaches every program in the window; a program sets its own way again.
        line = f"trap : INT; {shlex.join(words)}; echo ended with $?; cat"
        self._tmux("new-session", "-d", "-x", str(COLUMNS), "-y", str(ROWS), line)

    def type(self, text: str) -> None:
        self._tmux("send-keys", "-l", text)
        self._tmux("send-keys", "Enter")

    def press(self, key: str) -> None:
        self._tmux("send-keys", key)

    def screen(self) -> str:
        return self._tmux("capture-pane", "-p", "-S", "-200")

    async def shows(self, pattern: str) -> str:
        """The screen, once `pattern` is found on it. AssertionError with the screen when it never is."""
        screen = ""
        try:
            async with asyncio.timeout(PATIENCE_S):
                # A terminal tells nobody that its screen has changed.
                while not re.search(pattern, screen := await asyncio.to_thread(self.screen), re.MULTILINE):  # noqa: ASYNC110
                    await asyncio.sleep(0.05)
        except TimeoutError:
            pytest.fail(f"the screen never showed {pattern!r}:\n{screen}")
        return screen

    def close(self) -> None:
        subprocess.run(["tmux", "-S", str(self._socket), "kill-server"], capture_output=True, check=False, timeout=30)


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    # A socket's path must be short, and test folders have long names.
    with tempfile.TemporaryDirectory(prefix="dt-") as folder:
        made = Terminal(Path(folder))
        yield made
        made.close()


async def test_a_person_joins_sees_the_scene_and_acts(server: Server, terminal: Terminal):
    actor = await server.registry.create(engine.Setup(ruleset="duel", sample="yard", encounter="mill"))
    code = await server.invites.create(actor.id, seat="ann", ttl_ms=DAY_MS, by="host")
    terminal.start(command("play", "--plain", f"{server.url}/#{code}"))

    screen = await terminal.shows(r"^You can:")
    assert "You are Ann, player" in screen
    assert "the mill yard:" in screen
    assert "Reed (yours)" in screen
    assert re.search(r"^ +1\. \S+", screen.partition("You can:")[2], re.MULTILINE)
    assert "armor 2" not in screen, "Tollman's armor is his own business"

    before = actor.session.v
    terminal.type("1")
    await terminal.shows(r"^- Reed \w+s")
    assert actor.session.v == before + 1

    terminal.type("chat Well met.")
    await terminal.shows(r"^- Ann: Well met\.")

    terminal.type("nonsense")
    await terminal.shows(r"I do not know `nonsense`")

    terminal.type("quit")
    await terminal.shows(r"^ended with 0")


async def sit_down(server: Server, terminal: Terminal) -> str:
    """A duel with ann at it in the terminal, by a token; gives the table's id."""
    actor = await server.registry.create(engine.Setup(ruleset="duel", sample="yard", encounter="mill"))
    token = await server.tokens.seat_token(actor.id, "ann", "ann", DAY_MS)
    terminal.start(["env", f"DUSTUP_TOKEN={token}", *command("play", "--plain", server.url, "--session", actor.id)])
    await terminal.shows(r"^You can:")
    return actor.id


async def test_a_table_that_is_deleted_ends_the_game_with_a_sentence(server: Server, terminal: Terminal):
    session = await sit_down(server, terminal)
    await server.store.delete(session)
    terminal.type("chat Anybody there?")
    screen = await terminal.shows(r"^ended with 1")
    assert re.search(r"^Sorry: .*table", screen, re.MULTILINE), screen
    assert "Traceback" not in screen


async def test_ctrl_c_leaves_without_a_traceback(server: Server, terminal: Terminal):
    await sit_down(server, terminal)
    terminal.press("C-c")
    screen = await terminal.shows(r"^ended with 130")
    assert "Traceback" not in screen
