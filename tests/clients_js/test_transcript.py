"""The same script in Python and in TypeScript gives the same transcript, at servers with the same seed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import engine
from server import ids
from server.app import Server
from server.clock import ManualClock
from tests.clients_js.conftest import StartServer
from tests.clients_js.node import Node
from tests.clients_js.transcript.play import play

pytestmark = [pytest.mark.slow, pytest.mark.timeout(60)]

SCRIPT: list[Any] = json.loads((Path(__file__).parent / "transcript" / "script.json").read_text("utf-8"))
SESSION = "samesamesamesame"
NOW = 1_800_000_000_000


async def table(start_server: StartServer, monkeypatch: pytest.MonkeyPatch, seed: int) -> tuple[Server, str]:
    """A server whose clock stands still, with a table whose dice and ids follow from `seed`; the GM's token."""
    monkeypatch.setattr(ids, "epoch", lambda: "00000000000000e1")
    server = await start_server(ManualClock(NOW))
    setup = engine.Setup(ruleset="duel", sample="yard", encounter="mill", seats=(engine.setup.SeatSetup(id="gm", role="gm"),))
    await server.registry.create(setup, session_id=SESSION, secret=seed.to_bytes(32, "big"))
    return server, await server.tokens.seat_token(SESSION, "gm", "gail", 3_600_000)


@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_both_clients_see_and_do_the_same(node: Node, start_server: StartServer, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """Acks, refusals, options, odds, history, every frame and every choice of the pilot: entry by entry."""
    server, token = await table(start_server, monkeypatch, seed)
    python = await play(server.url, token, SESSION, SCRIPT)
    server, token = await table(start_server, monkeypatch, seed)
    script = {"url": server.url, "token": token, "session": SESSION, "script": SCRIPT}
    typescript: list[Any] = await node.ask("transcript/play.mjs", script)
    for step, ours, theirs in zip([*SCRIPT, "what came"], python, typescript, strict=True):
        assert theirs == ours, step


async def test_the_script_is_worth_playing(start_server: StartServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is refused, answers prompts, and fights to an end: two empty transcripts would be equal as well."""
    server, token = await table(start_server, monkeypatch, 1)
    *written, came = await play(server.url, token, SESSION, SCRIPT)
    steps = [step for step in written if step is not None]
    errors = {step.get("error") for step in steps}
    assert {"Refused", "BadMessage"} <= errors
    assert {"unknown_command", "bad_command", "stale"} <= {step.get("code") for step in steps}
    assert any(step.get("parts") for step in steps), "odds were told"
    reports = [step["report"] for step in steps if "report" in step]
    assert reports[-1]["why"] == "over"
    assert sum(report["answers"] for report in reports) > 0
    kinds = {event["type"] for frame in came for event in frame.get("events") or []}
    assert {"chat", "post", "duel.hit", "encounter.ended", "dice.revealed"} <= kinds
