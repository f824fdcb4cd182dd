"""How playing starts: full screen on a terminal that can do it, plain lines everywhere else."""

from __future__ import annotations

import io
from typing import Any

import pytest
from click.testing import CliRunner

from clients.terminal import app as app_package
from clients.terminal.app.app import plain_colours
from clients.terminal.start import play, wants_lines
from server.commands.play import play as command
from tests.clients.fake_server import TOKEN, FakeServer


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stdin", "stdout", "environ", "lines"),
    [
        (Terminal(), Terminal(), {"TERM": "xterm"}, False),
        (io.StringIO(), Terminal(), {"TERM": "xterm"}, True),
        (Terminal(), io.StringIO(), {"TERM": "xterm"}, True),
        (Terminal(), Terminal(), {"TERM": "dumb"}, True),
        (Terminal(), Terminal(), {}, True),
    ],
)
def test_lines_are_for_pipes_and_for_terminals_that_cannot_move_their_cursor(stdin, stdout, environ, lines):
    assert wants_lines(stdin, stdout, environ) is lines


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Doors that the full-screen app was opened with, and its language; it ends at once."""
    found: list[Any] = []

    async def play_app(door: Any, language: str) -> int:
        found.append((door, language))
        return 0

    monkeypatch.setattr(app_package, "play", play_app)
    monkeypatch.setenv("TERM", "xterm")
    return found


async def test_a_terminal_gets_the_app_with_the_seat_of_the_link(server: FakeServer, opened):
    status = await play(f"{server.url}/#token={TOKEN}", stdin=Terminal(), stdout=Terminal(), language="zh_TW")
    (door, language) = opened[0]
    assert status == 0
    assert (door.url, door.token, language) == (server.url, TOKEN, "zh_TW")


async def test_who_asks_for_plain_lines_gets_them_on_a_terminal_too(server: FakeServer, opened):
    out = Terminal()
    assert await play(f"{server.url}/#token={TOKEN}", stdin=Terminal("quit\n"), stdout=out, plain=True) == 0
    assert "You are Ann" in out.getvalue()
    assert not opened


async def test_an_address_without_a_seat_is_said_before_any_screen_opens(server: FakeServer, opened):
    out = Terminal()
    assert await play(server.url, stdin=Terminal(), stdout=out) == 1
    assert "no invite in it" in out.getvalue()
    assert not opened


async def test_a_broken_link_is_said_before_any_screen_opens(opened):
    out = Terminal()
    assert await play("gopher://nowhere/#x.y", stdin=Terminal(), stdout=out) == 1
    assert "Sorry" in out.getvalue()
    assert not opened


def test_the_command_says_how_to_get_plain_lines():
    text = CliRunner().invoke(command, ["--help"]).output
    assert "--plain" in text
    assert "--language" in text


@pytest.mark.parametrize(
    ("environ", "plain"),
    [
        ({"TERM": "xterm-256color"}, False),
        ({"TERM": "xterm", "COLORTERM": "truecolor"}, False),
        ({"TERM": "xterm"}, True),
        ({"TERM": "linux"}, True),
        ({"TERM": "xterm-256color", "NO_COLOR": "1"}, True),
    ],
)
def test_sixteen_colours_are_used_where_there_are_no_more(environ, plain):
    assert plain_colours(environ) is plain
