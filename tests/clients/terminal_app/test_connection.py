"""What the app says while there is no connection, and how it comes back."""

from __future__ import annotations

import socket
from types import SimpleNamespace

from textual.widgets import Static

from clients.terminal.app.screens.connect import ConnectScreen
from clients.terminal.app.screens.pick import PickScreen
from tests.clients.fake_server import SESSION, TOKEN, FakeServer
from tests.clients.terminal_app.helpers import pick, picture, running, screen, seated, shown, until


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


async def test_a_lost_connection_is_told_and_mended_by_itself(server: FakeServer):
    async with seated(server.url, TOKEN, SESSION) as pilot:
        link = screen(pilot).seat.link
        server.drop_all()
        await until(pilot, lambda: not link.connected or server.connections > 1)
        await until(pilot, lambda: server.connections > 1 and screen(pilot).seat.client.connected)
        await server.commit({}, "The boar is back.")
        await until(pilot, lambda: "The boar is back." in picture(pilot))
        await until(pilot, lambda: "connected" in shown(pilot, "head"))


async def test_while_it_is_lost_the_seconds_to_the_next_try_are_shown(server: FakeServer):
    async with seated(server.url, TOKEN, SESSION) as pilot:
        table = screen(pilot)
        lost = SimpleNamespace(connected=False, reconnect_in=7.2)
        table.seat.link.client = lost  # type: ignore[assignment]
        await until(pilot, lambda: "trying again in 7 s" in shown(pilot, "head"))
        assert "trying again in" in shown(pilot, "status")
        lost.reconnect_in = 0.01  # the next wait is over at once: a try is under way
        await until(pilot, lambda: "trying again now" in shown(pilot, "head"))


async def test_an_action_under_way_is_named_until_its_answer_comes(server: FakeServer):
    server.faults.append("slow")
    async with seated(server.url, TOKEN, SESSION) as pilot:
        offer = screen(pilot).choices.offers[-1]
        await pick(pilot, offer.text)
        await until(pilot, lambda: f"Waiting for the server: {offer.text}" in shown(pilot, "status"))
        server.release.set()
        await until(pilot, lambda: screen(pilot).seat.busy is None and server.executed)


async def test_a_server_that_is_not_there_is_tried_again_with_the_time_told():
    url = f"http://127.0.0.1:{free_port()}"
    async with running(url, TOKEN, SESSION) as pilot:
        await until(pilot, lambda: isinstance(pilot.app.screen, ConnectScreen))
        await until(pilot, lambda: f"Connecting to {url}" in str(pilot.app.screen.query_one("#connect-text", Static).render()))
        await until(pilot, lambda: "cannot reach" in picture(pilot), "why it failed, once the first try is over")
        await until(pilot, lambda: "Trying again in" in picture(pilot))


async def test_a_refused_token_is_said_and_tried_again_only_when_asked(server: FakeServer):
    server.welcome_error = {"t": "error", "code": "unauthorized", "text": "This token is no good."}
    async with running(server.url, TOKEN, SESSION) as pilot:
        await until(pilot, lambda: "no good" in picture(pilot))
        server.welcome_error = None
        await pilot.press("r")
        await until(pilot, lambda: "Ash" in picture(pilot))


async def test_a_reset_is_told_and_the_view_taken_anew(server: FakeServer):
    async with seated(server.url, TOKEN, SESSION) as pilot:
        await server.reset("The store lost its latest writes.")
        await until(pilot, lambda: any("lost its latest writes" in note.message for note in pilot.app._notifications))
        assert screen(pilot).seat.table.v == 1


async def test_a_table_that_ends_is_told_and_can_be_tried_again(server: FakeServer):
    async with seated(server.url, TOKEN, SESSION) as pilot:
        await server.say({"t": "error", "session": SESSION, "code": "revoked", "text": "Your seat was taken back."})
        await until(pilot, lambda: "taken back" in picture(pilot))
        await pilot.press("r")
        await until(pilot, lambda: "Ash" in picture(pilot))


async def test_a_token_for_several_tables_lets_one_choose(server: FakeServer, monkeypatch):
    import dustup

    both = [{"session": SESSION, "seat": "ann", "role": "player"}, {"session": "other", "seat": "ann", "role": "gm"}]
    monkeypatch.setattr(dustup.Client, "sessions", property(lambda self: both))
    async with running(server.url, TOKEN) as pilot:
        await until(pilot, lambda: isinstance(pilot.app.screen, PickScreen))
        await until(pilot, lambda: "other" in picture(pilot))
        await pilot.press("enter")
        await until(pilot, lambda: "Ash" in picture(pilot))


async def test_a_deadline_runs_and_the_default_is_named(server: FakeServer):
    choices = [{"value": "y", "text": "Yes, again"}, {"value": "n", "text": "No"}]
    prompt = {"id": "q1", "to": "ann", "answered": False, "type": "fake.q", "text": "Roll again?", "choices": choices, "default": "n"}
    async with seated(server.url, TOKEN, SESSION) as pilot:
        now = screen(pilot).seat.client.now()
        await server.commit({"prompts": {"q1": {**prompt, "deadline": now + 125_900}}}, "A question.")
        await until(pilot, lambda: "Roll again? (2:05 left, then: No)" in " ".join(picture(pilot).split()) or "2:04 left" in picture(pilot))
        first = picture(pilot)
        await until(pilot, lambda: picture(pilot) != first and "left, then: No" in " ".join(picture(pilot).split()))


async def test_numbers_that_an_answer_needs_are_typed_and_checked(server: FakeServer):
    choices = [{"value": "no", "text": "Keep them"}, {"value": "yes", "text": "Re-roll"}]
    ints = {"least": 1, "most": 2, "low": 0, "high": 3, "choice": "yes"}
    prompt = {
        "id": "q1",
        "to": "ann",
        "answered": False,
        "type": "fake.q",
        "text": "Which?",
        "choices": choices,
        "default": "no",
        "ints": ints,
    }
    async with seated(server.url, TOKEN, SESSION) as pilot:
        await server.commit({"prompts": {"q1": prompt}}, "A question.")
        await pick(pilot, "Re-roll")
        await until(pilot, lambda: "1–2 numbers from 0 to 3" in picture(pilot))
        await pilot.press(*"1 7", "enter")
        await until(pilot, lambda: picture(pilot).count("1–2 numbers from 0 to 3") >= 1)
        assert not server.sent("do")
        await pilot.press("backspace", "3", "enter")
        await server.wait_sent("do")
        assert server.sent("do")[0]["command"] == {"type": "answer", "prompt": "q1", "choice": "yes", "ints": [1, 3]}
