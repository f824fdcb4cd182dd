"""What was erased is told to nobody again, whichever node they come to."""

from __future__ import annotations

import json

import aiohttp

from server.app import Server
from tests.integration.api import Api
from tests.integration.conftest import Join, MakeTable

SAID = "better unsaid"


async def test_a_text_erased_at_one_node_is_not_told_by_another_to_those_who_resume(
    two_nodes: tuple[Server, Server], make_table: MakeTable, seat: Join, http: aiohttp.ClientSession
) -> None:
    here, there = two_nodes
    session = await make_table(here)
    ann = await seat(here, session, "ann")
    witness = await seat(there, session, "gm")
    start = witness.tables[session].resume
    ack = await ann.do(session, "a.1", {"type": "chat", "text": SAID})
    frame = (await witness.at(session, ack["v"])).frames[-1]
    assert frame["events"][0]["body"] == SAID
    token = await here.tokens.seat_token(session, "ann", "person-ann", 3_600_000)
    await Api(http, here).good("DELETE", f"/v1/sessions/{session}/texts/{frame['events'][0]['body_id']}", token)

    late = await seat(there, session, "ben", resume=start)
    assert late.of("joined")[0]["resumed"] is True
    await late.settle()
    told = late.of("frame")[0]["events"][0]
    assert (told["body"], told["erased"]) == (None, True)
    ben = await there.tokens.seat_token(session, "ben", "person-ben", 3_600_000)
    since = await Api(http, there).good("GET", f"/v1/sessions/{session}?since={start['v']}", ben)
    assert since["frames"][0]["events"][0]["erased"] is True
    assert SAID not in json.dumps([late.seen, since])
