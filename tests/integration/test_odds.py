"""Odds are worked out off the loop, once for everybody who sees the same, and never stale."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

import engine
from engine import Odds, Rejected
from engine.odds import OddsPart
from server.sessions.odds import WAITING, OddsDesk
from tests.support.table import Table


class Held:
    """Rules whose odds wait until they are let go, and that count how often they were asked."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.asked = 0

    def odds(self, session: Any, seat: str, command: Any) -> Odds:
        self.asked += 1
        self.go.wait(10)
        return Odds("held", "", (OddsPart("one", "one", "1/1"),))


@pytest.fixture
def desk():
    desk = OddsDesk()
    yield desk
    desk.close()


async def test_the_loop_goes_on_while_odds_are_worked_out_and_all_who_ask_share_one_answer(desk: OddsDesk):
    table, held = Table(watched=False), Held()
    rules: Any = held
    command = table.rules.decode({"type": "brace"})
    asked = [asyncio.create_task(desk.ask(rules, table.session, "ann", command)) for _ in range(5)]
    await asyncio.sleep(0)  # the questions are put; the loop is free while none is answered
    assert not any(task.done() for task in asked)
    held.go.set()
    answers = await asyncio.gather(*asked)
    assert len({id(answer) for answer in answers}) == 1
    assert (held.asked, desk.worked_out) == (1, 1)


async def test_another_version_or_another_sight_is_another_question(desk: OddsDesk):
    table = Table(watched=False)
    table.do("gm", "gm.move", combatant="c1", scene="mill", zone="yard", near=["c3"])
    command = table.rules.decode({"type": "attack", "combatant": "c1", "target": "c3"})
    seen = await desk.ask(table.rules, table.session, "ann", command)
    whole = await desk.ask(table.rules, table.session, "gm", command)
    # Only the GM's count the armor that nobody else sees.
    assert seen.damage != whole.damage
    table.do("gm", "gm.set", kind="combatants", id="c3", field="guard", value=9)
    assert await desk.ask(table.rules, table.session, "ann", command) != seen
    assert desk.worked_out == 3


async def test_a_refused_question_is_refused_again_and_not_remembered_as_an_answer(desk: OddsDesk):
    table = Table(watched=False)
    for _ in range(2):
        with pytest.raises(Rejected) as refusal:
            await desk.ask(table.rules, table.session, "ann", table.rules.decode({"type": "brace"}))
        assert refusal.value.code == "bad_command"
    assert desk.worked_out == 2


async def test_a_crowd_of_questions_is_told_to_wait(desk: OddsDesk):
    table, held = Table(watched=False), Held()
    rules: Any = held
    asked = []
    for n in range(WAITING + 1):
        command = table.rules.decode({"type": "roll", "notation": f"{n + 1}d6"})
        asked.append(asyncio.create_task(desk.ask(rules, table.session, "ann", command)))
    await asyncio.wait({asked[-1]})
    with pytest.raises(engine.Rejected) as refusal:
        await asked[-1]
    assert refusal.value.code == "rate_limited"
    held.go.set()
    assert len(await asyncio.gather(*asked[:-1])) == WAITING
