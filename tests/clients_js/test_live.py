"""The TypeScript client at a live server, beside the Python one."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest

import dustup
import engine
from server.app import Server
from tests.clients_js.conftest import StartServer
from tests.clients_js.node import Node

pytestmark = [pytest.mark.slow, pytest.mark.timeout(60)]


async def token(server: Server, session: str, seat: str) -> str:
    return await server.tokens.seat_token(session, seat, seat, 3_600_000)


async def by_python(server: Server, session: str, seat: str, seed: int) -> tuple[int, Any]:
    async with dustup.connect(server.url, await token(server, session, seat)) as client:
        table = await client.join(session)
        report = await dustup.Pilot(table, seed).run()
        assert report.why == "over"
        return table.v, {**table.view}


async def by_typescript(node: Node, server: Server, session: str, seat: str, seed: int) -> tuple[int, Any]:
    given = {"url": server.url, "token": await token(server, session, seat), "session": session, "seed": seed}
    found = await node.ask("seat.mjs", given)
    assert (found["seat"], found["report"]["why"]) == (seat, "over")
    return found["v"], found["view"]


@pytest.mark.parametrize("typescript", [("ann",), ("gm", "ben")], ids="+".join)
async def test_a_fight_is_played_to_its_end_by_pilots_of_both_languages(
    node: Node, start_server: StartServer, typescript: tuple[str, ...]
) -> None:
    """Some seats in one language, the others in the other; each ends with the view a fresh join gives its seat."""
    server = await start_server()
    setup = engine.Setup(ruleset="duel", sample="yard", encounter="mill", seats=(engine.setup.SeatSetup(id="gm", role="gm"),))
    session = (await server.registry.create(setup)).id
    seats = ("gm", "ann", "ben")
    async with asyncio.TaskGroup() as group:
        runs = {
            seat: group.create_task(
                by_typescript(node, server, session, seat, seed) if seat in typescript else by_python(server, session, seat, seed)
            )
            for seed, seat in enumerate(seats)
        }
    for seat, run in runs.items():
        v, view = run.result()
        async with dustup.connect(server.url, await token(server, session, seat)) as client:
            table = await client.join(session)
            assert (table.v, table.view) == (v, view), seat


SEEDS = [0, 1, 7, -7, 2**31, 2**32 - 1, 2**32, 123456789012345, 2**53 - 1]
NUMBERS = [1, 2, 3, 10, 100, 2**31, 2**32, 2**40, 2**53 - 1]
WEIGHTS = [1, 6, 1, 10, 0.5, 3, 2]


async def test_the_pilots_chance_is_pythons(node: Node) -> None:
    """The same seed gives the same numbers in both languages, whatever is asked for."""
    wanted = []
    for seed in SEEDS:
        rng = random.Random(seed)
        wanted.append(
            [
                [rng.random(), rng.randint(-3, NUMBERS[turn % 9] - 4), rng.choice("abcdefg"), rng.choices("abcdefg", WEIGHTS)[0]]
                for turn in range(300)
            ]
        )
    assert await node.ask("numbers.mjs", SEEDS) == wanted
