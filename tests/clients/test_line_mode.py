"""Line mode driven by scripted input against a server that behaves."""

from __future__ import annotations

import asyncio
import io
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from clients.terminal import play
from clients.terminal.ask import Asker, Cancelled
from clients.terminal.words import clean, clean_lines, percent, span
from tests.clients.fake_server import NOW, SESSION, TOKEN, FakeServer

GOLDEN = Path(__file__).parent / "golden" / "line_mode.txt"


class Typist:
    """Standard input from a script: each line is echoed to the transcript behind a `>` at the moment it is read."""

    def __init__(self, script: list[str], transcript: io.StringIO) -> None:
        self._script = iter(script)
        self._transcript = transcript

    def readline(self) -> str:
        line = next(self._script, None)
        if line is None:
            return ""
        self._transcript.write(f"> {line}\n")
        return line + "\n"


async def transcript_of(server: FakeServer, script: list[str], link: str | None = None) -> tuple[int, str]:
    out = io.StringIO()
    status = await play(link or f"{server.url}/#token={TOKEN}", stdin=Typist(script, out), stdout=out)
    return status, out.getvalue()


async def test_a_whole_game_reads_as_written_down(server: FakeServer) -> None:
    """What is typed comes from the golden transcript itself: its lines behind `>`."""
    golden = GOLDEN.read_text("utf-8")
    await server.commit({}, "The boar snorts.")
    script = [line[2:] for line in golden.splitlines() if line.startswith("> ")]
    status, transcript = await transcript_of(server, script)
    assert transcript == golden
    assert status == 0


async def test_the_end_of_input_ends_the_game_cleanly(server: FakeServer) -> None:
    for script in ([], ["1"], ["chat hi"]):
        status, _ = await transcript_of(server, script)
        assert status == 0


async def test_wait_lets_a_script_sleep_until_it_has_something_to_decide(server: FakeServer) -> None:
    encounter = {"encounters": {"e1": server.view.pop("encounters")["e1"]}}
    out = io.StringIO()
    game = asyncio.create_task(play(server.url, seat_token=TOKEN, stdin=Typist(["wait", "2", "quit"], out), stdout=out))
    await server.wait_sent("options")
    await server.commit({"table": server.view["table"]}, "Nothing to do with you.")
    await server.commit(encounter, "A fight begins.")
    assert await game == 0
    assert server.executed == [server.sent("do")[0]["id"]]
    assert server.sent("do")[0]["command"] == {"type": "turn.end"}
    assert "Nothing to do with you" in out.getvalue()


async def test_a_choice_names_the_version_it_was_made_at(server: FakeServer) -> None:
    """The server can then refuse it as stale instead of acting on a table that has changed."""
    await transcript_of(server, ["2", "quit"])
    assert server.sent("do")[0]["at"] == 1


async def test_a_question_is_shown_with_its_deadline_and_answered_by_number(server: FakeServer) -> None:
    choices = [{"value": "y", "text": "Yes, again"}, {"value": "n", "text": "No"}]
    prompt = {"id": "q1", "to": "ann", "kind": "k", "type": "fake.q", "text": "Roll again?", "choices": choices, "default": "n"}
    await server.commit({"prompts": {"q1": {**prompt, "deadline": NOW + 2 * 86_400_000 + 60_000}}}, "Hm.")
    status, transcript = await transcript_of(server, ["1", "quit"])
    assert status == 0
    lines = transcript.splitlines()
    place = lines.index("Question: Roll again?")
    assert lines[place + 1 : place + 5] == ["  Without an answer in 2 days: No.", "  1. Yes, again", "  2. No", "You can:"]
    assert lines[place + 5].startswith("  3. Hit somebody")
    assert server.sent("do")[0]["command"] == {"type": "answer", "prompt": "q1", "choice": "y"}


async def test_numbers_that_an_answer_needs_are_asked_for(server: FakeServer) -> None:
    ints = {"least": 2, "most": 2, "low": 1, "high": 6}
    await server.commit({"prompts": {"q1": {"id": "q1", "to": "ann", "text": "Your dice?", "choices": [], "ints": ints}}}, "")
    server.view["encounters"] = {}
    _, transcript = await transcript_of(server, ["1", "3", "3 7", "3 6", "quit"])
    assert transcript.count("That does not fit.") == 2
    assert server.sent("do")[0]["command"] == {"type": "answer", "prompt": "q1", "choice": "", "ints": [3, 6]}


async def test_nothing_of_the_server_reaches_the_terminal_as_a_control_sequence(server: FakeServer) -> None:
    evil = "\x1b[2J\x1b]0;owned\x07\x9b31m\u202eback\r\x08\x7f\u2028end"
    server.view["combatants"]["c2"] |= {"name": evil, "mood": evil, evil: evil}
    server.view["table"]["table"]["name"] = evil
    server.view["scenes"]["yard"]["zones"][0]["name"] = evil
    await server.commit({}, evil, events=[{"type": "chat", "text": "", "body": f"one\n> 1\n{evil}", "by": evil}])
    status, transcript = await transcript_of(server, ["1", "1", "s", "l", "quit"])
    assert status == 0
    assert "owned" in transcript
    bad = {character for character in transcript if character != "\n" and (ord(character) < 32 or 127 <= ord(character) < 160)}
    assert bad == set()
    assert not set("\u202e\u2028") & set(transcript)
    assert "\n> 1\n" not in transcript.split("You can:")[0], "a message of two lines cannot pass for typed input"


@pytest.mark.parametrize(
    ("link", "why"),
    [
        ("nonsense", "starts with http"),
        ("{url}", "no invite in it"),
        ("{url}/#token=wrong", "does not give access"),
        ("{url}/#abc.def", "404"),
        ("{url}/#token=" + TOKEN + "&session=nosuch", "There is no such table."),
    ],
)
async def test_a_game_that_cannot_begin_says_why(server: FakeServer, link: str, why: str) -> None:
    status, transcript = await transcript_of(server, [], link.format(url=server.url))
    assert status == 1
    assert why in transcript


async def test_a_table_lost_in_play_ends_with_the_reason(server: FakeServer) -> None:
    server.faults.append("cut before")
    out = io.StringIO()

    class Script(Typist):
        def readline(self) -> str:
            server.welcome_error = {"code": "revoked", "text": "Your access has been withdrawn.", "close": 4003}
            return super().readline()

    assert await play(server.url, seat_token=TOKEN, stdin=Script(["chat hi", "chat ho"], out), stdout=out) == 1
    assert "Your access has been withdrawn." in out.getvalue()


async def test_it_runs_as_a_program_in_a_pipe_without_colours(server: FakeServer) -> None:
    root = Path(__file__).parents[2]
    path = os.pathsep.join([str(root), str(root / "clients" / "python")])
    program = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "clients.terminal",
        server.url,
        "--token",
        TOKEN,
        "--session",
        SESSION,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": path, "PYTHONWARNINGS": "error"},
    )
    out, errors = await program.communicate(b"chat from a pipe\n")
    assert (program.returncode, errors) == (0, b"")
    assert b"- Ann: from a pipe" in out
    assert b"\x1b" not in out


@pytest.mark.parametrize(
    ("param", "typed", "value"),
    [
        ({"kind": "choice", "choices": [{"value": 7, "text": "Seven"}]}, ["0", "1"], 7),
        ({"kind": "choice", "choices": [{"value": "a", "text": "A"}], "default": "a"}, [""], "a"),
        ({"kind": "choice", "choices": [{"value": "a", "text": "A"}], "optional": True}, [""], None),
        ({"kind": "int", "min": 1, "max": 3}, ["", "x", "4", "-1", "3"], 3),
        ({"kind": "int", "min": -2}, ["-2"], -2),
        ({"kind": "int", "default": 0}, [""], 0),
        ({"kind": "text"}, ["", "some words"], "some words"),
        ({"kind": "ints", "least": 1, "most": 3, "low": 1, "high": 6}, ["", "1 2 3 4", "0", "6 1"], [6, 1]),
    ],
)
async def test_details_are_asked_until_they_fit(param: dict[str, Any], typed: list[str], value: Any) -> None:
    lines = iter(typed)
    said: list[str] = []

    async def next_line() -> str:
        return next(lines)

    async def odds(*_: Any) -> None:
        return None

    option = {"command": {"type": "x"}, "params": [{"name": "p", "text": "P", **param}]}
    command = await Asker(next_line, said.append, odds).fill(option)
    assert command == {"type": "x"} | ({} if value is None else {"p": value})
    assert sum("does not fit" in line for line in said) == len(typed) - 1
    assert next(lines, None) is None


async def test_back_gives_up() -> None:
    async def next_line() -> str:
        return "back"

    async def odds(*_: Any) -> None:
        return None

    with pytest.raises(Cancelled):
        await Asker(next_line, lambda _: None, odds).fill({"command": {}, "params": [{"name": "p", "kind": "text", "text": "P"}]})


@pytest.mark.parametrize(
    ("p", "text"),
    [
        ("0", "0%"),
        ("1", "100%"),
        ("13/20", "65%"),
        ("1/3", "33.3%"),
        ("2/3", "66.7%"),
        ("1/8", "12.5%"),
        ("1/2000", "<0.1%"),
        ("1999/2000", ">99.9%"),
        ("1999/4000", "50%"),
        ("3/2", "?"),
        ("1/0", "?"),
        ("often", "?"),
        (None, "?"),
    ],
)
def test_exact_chances_become_percentages(p: Any, text: str) -> None:
    assert percent(p) == text


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [(-5, "now"), (999, "now"), (1000, "in 1 second"), (90_000, "in 1 minute"), (7_200_000, "in 2 hours"), (86_400_000, "in 1 day")],
)
def test_times_are_told_from_now(milliseconds: int, text: str) -> None:
    assert span(milliseconds) == text


def test_scripts_of_all_the_world_stay_readable() -> None:
    for text in ("Zoë", "Łódź", "日本", "नमस्ते", "مرحبا", "👩‍🚀", "e\u0301"):
        assert clean(text) == text
    assert clean("a\tb\nc") == "a b c"
    assert clean(7) == "7"
    assert clean_lines("one\r\ntwo\u2028three") == ["one", "two", "three"]
    assert clean_lines("") == [""]
