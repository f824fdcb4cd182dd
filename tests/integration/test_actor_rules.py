"""Rules that break: the command is refused as internal, the table is as it was and plays on, and other tables never notice."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import pytest

import engine
from engine import rulesets
from engine.commands import Command
from engine.odds import Odds
from engine.options import Option
from engine.rulesets import BaseRuleset
from engine.session import Session
from engine.step import Step
from server.app import Server
from server.sessions.watchdog import LIMIT_MS, TooSlow, watched
from tests.integration.conftest import Join, MakeTable


class Break(Command, frozen=True, kw_only=True, tag="break"):
    """Fail in one of the ways rules can fail."""

    how: str
    always = True


def _loop_forever() -> None:
    while True:
        pass


def _loop_and_catch() -> None:
    while True:
        try:
            _loop_forever()
        except Exception:  # rules that catch everything must not survive
            continue


def _make_noise(step: Step) -> None:
    while True:
        step.emit("noise", "noise")


def _long_but_ends() -> None:
    """More processor time than is allowed, in one call that cannot be interrupted."""
    sum(range(60_000_000))


class Broken(BaseRuleset):
    """A ruleset whose every part can be made to fail."""

    name = "broken"
    version = "1"
    own_commands: ClassVar[tuple[type[Command], ...]] = (Break,)
    view_fails = False

    def new(self, step: Step, setup: Any) -> None:
        """Nothing of its own."""

    def apply(self, step: Step, command: Any) -> None:
        # Something is written before each failure: none of it may remain.
        step.change("table", "", clock=step.table.clock + 1)
        step.roll(1, 20, purpose="lost")
        hows: dict[str, Callable[[], object]] = {
            "raise": lambda: 1 // 0,
            "recursion": lambda: self.apply(step, command),
            "events": lambda: _make_noise(step),
            "forever": _loop_forever,
            "forever-catching": _loop_and_catch,
            "slow": _long_but_ends,
            "unserialisable": lambda: step.change("table", "", name=object()),
            "well": lambda: None,
        }
        hows[command.how]()

    def options(self, session: Session, seat: str) -> list[Option]:
        if session.table.name == "no options":
            raise ZeroDivisionError
        if session.table.name == "endless options":
            _loop_forever()
        return []

    def odds(self, session: Session, seat: str, command: Any) -> Odds:
        raise KeyError("odds")

    def view_combatant(self, session: Session, combatant: Any, grade: Any) -> dict[str, Any]:
        if self.view_fails and grade == "public":
            raise RuntimeError("cannot be shown")
        return {"id": combatant.id, "name": combatant.name}


@pytest.fixture
def broken() -> Iterator[Broken]:
    rules = Broken()
    engine.register(rules)
    yield rules
    rulesets._found.pop(rules.name)


SEATS = (engine.setup.SeatSetup(id="gm", role="gm"), engine.setup.SeatSetup(id="ann"), engine.setup.SeatSetup(id="ben"))


@pytest.mark.parametrize("how", ["raise", "recursion", "events", "forever", "forever-catching", "slow", "unserialisable"])
async def test_a_command_that_breaks_the_rules_code_changes_nothing(
    node: Server, make_table: MakeTable, seat: Join, broken: Broken, how: str
) -> None:
    session = await make_table(node, ruleset="broken", sample="", encounter="", seats=SEATS)
    elsewhere = await make_table(node)
    ann, other = await seat(node, session, "ann"), await seat(node, elsewhere, "ann")
    actor = await node.registry.get(session)
    before = actor.session
    refused = await ann.do(session, "a.1", {"type": "break", "how": how})
    assert (refused["t"], refused["code"], refused["v"]) == ("error", "internal", before.v)
    assert "'broken'" in refused["text"], "the error names the ruleset"
    assert actor.session == before
    assert await node.store.top(session) == (before.v, before.stamp)
    assert (await other.do(elsewhere, "o.1", {"type": "chat", "text": "nothing noticed"}))["t"] == "ack"
    # The very same id may be used for something that works; the first die of the table is still the first.
    done = await ann.do(session, "a.1", {"type": "break", "how": "well"})
    assert done["t"] == "ack"
    assert actor.session.table.open.n == before.table.open.n + 1
    log = [engine.decode_entry(data) for _, data in await node.store.entries(session, 0)]
    assert engine.audit(actor.rules, log, epoch=actor.session.epoch).verdict != "differs"


async def test_options_and_odds_that_fail_are_an_error_not_the_end_of_the_connection(
    node: Server, make_table: MakeTable, seat: Join, broken: Broken
) -> None:
    for name in ("no options", "endless options"):
        session = await make_table(node, ruleset="broken", sample="", encounter="", seats=SEATS, name=name)
        ann = await seat(node, session, "ann")
        assert (await ann.ask("options", session))["code"] == "internal"
        assert (await ann.ask("odds", session, command={"type": "break", "how": "well"}))["code"] == "internal"
        assert (await ann.do(session, "a.1", {"type": "break", "how": "well"}))["t"] == "ack"


async def test_a_seat_that_cannot_be_shown_something_loses_its_place_and_nobody_else_does(
    node: Server, make_table: MakeTable, seat: Join, broken: Broken
) -> None:
    session = await make_table(node, ruleset="broken", sample="", encounter="", seats=SEATS)
    gm, ann = await seat(node, session, "gm"), await seat(node, session, "ann")
    broken.view_fails = True
    ack = await gm.do(session, "g.1", {"type": "gm.spawn", "id": "x", "name": "X"})
    assert ack["t"] == "ack"
    told = await ann.until(lambda message: message["t"] == "error")
    assert (told["code"], told["session"]) == ("internal", session)
    assert (await ann.join(session))["code"] == "internal"
    assert (await gm.do(session, "g.2", {"type": "chat", "text": "going on"}))["t"] == "ack"
    broken.view_fails = False
    assert (await ann.join(session))["t"] == "joined"
    assert (await ann.do(session, "a.1", {"type": "chat", "text": "back"}))["t"] == "ack"


# --- the watchdog ----------------------------------------------------------------------------------------------------------------


async def test_an_endless_loop_is_interrupted_and_work_in_time_is_not(node: Server) -> None:
    """`node` runs the watchdog."""
    with pytest.raises(TooSlow) as slow, watched():
        _loop_forever()
    assert slow.value.ms > LIMIT_MS
    with watched():
        pass
    ended = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_soon(ended.set_result, True)
    assert await ended  # nothing is thrown into the loop afterwards


async def test_work_outside_a_watched_block_is_never_interrupted(node: Server) -> None:
    sum(range(60_000_000))
    _long_but_ends()
    assert node.registry.live == []


async def test_work_that_took_too_long_is_found_out_at_its_end() -> None:
    with pytest.raises(TooSlow), watched():
        _long_but_ends()
