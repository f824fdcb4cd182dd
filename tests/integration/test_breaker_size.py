"""Nothing that can be done at a table makes it too large to be shown to those who sit there."""

from __future__ import annotations

from typing import Any

import pytest

from server.app import Server
from tests.integration.conftest import Join, MakeTable
from tests.integration.raw import RawClient


@pytest.fixture
async def gm(node: Server, make_table: MakeTable, seat: Join) -> tuple[RawClient, str]:
    session = await make_table(node)
    return await seat(node, session, "gm"), session


async def test_a_crowd_in_reach_of_each_other_is_stopped_before_it_outgrows_a_message(
    gm: tuple[RawClient, str], node: Server, seat: Join
) -> None:
    """The scene keeps every pair in arm's reach, so a crowd makes one entity grow with its square."""
    client, session = gm
    crowd = [f"c{n:03}".ljust(64, "x") for n in range(140)]
    for n, one in enumerate(crowd):
        await client.do(session, f"s.{n + 1}", {"type": "gm.spawn", "id": one, "scene": "mill", "zone": "gate"})
    refusal: dict[str, Any] | None = None
    for n, one in enumerate(crowd[1:]):
        near = crowd[max(0, n - 62) : n + 1]
        answer = await client.do(
            session, f"m.{n + 1}", {"type": "gm.move", "combatant": one, "scene": "mill", "zone": "gate", "near": near}
        )
        if answer["t"] == "error":
            refusal = answer
            break
    assert refusal is not None
    assert refusal["code"] == "limit"
    assert "mill" in refusal["text"]
    other = await seat(node, session, "ann")
    assert other.tables[session].shown == (await seat(node, session, "ann")).tables[session].shown
    assert (await client.do(session, "c.1", {"type": "chat", "text": "All still here?"}))["t"] == "ack"


@pytest.mark.parametrize("field", ["name", "kind", "side", "template", "cover"])
async def test_a_field_takes_no_book(gm: tuple[RawClient, str], field: str) -> None:
    client, session = gm
    v = client.tables[session].v
    book = "N" * 60_000
    answer = await client.do(session, "g.1", {"type": "gm.set", "kind": "combatants", "id": "c1", "field": field, "value": book})
    assert (answer["code"], answer["v"]) == ("bad_command", v)
    answer = await client.do(session, "g.2", {"type": "gm.spawn", "fields": {field: book}})
    assert (answer["code"], answer["v"]) == ("bad_command", v)


@pytest.mark.parametrize("name", ["", "N" * 121])
async def test_a_name_is_there_and_short(gm: tuple[RawClient, str], name: str) -> None:
    client, session = gm
    answer = await client.do(session, "g.1", {"type": "gm.set", "kind": "combatants", "id": "c1", "field": "name", "value": name})
    assert (answer["code"], answer["text"]) == ("bad_command", "A name has 1 to 120 characters.")
