"""The way of one action, seen by clients on real sockets."""

from __future__ import annotations

from server.app import Server
from tests.integration.conftest import Join, MakeTable


async def test_frame_comes_before_its_ack(node: Server, make_table: MakeTable, seat: Join) -> None:
    session = await make_table(node)
    ann = await seat(node, session, "ann")
    ack = await ann.do(session, "a.1", {"type": "chat", "text": "hello"})
    assert ack["t"] == "ack"
    kinds = [(message["t"], message.get("v")) for message in ann.seen if message["t"] in ("frame", "ack")]
    assert kinds == [("frame", ack["v"]), ("ack", ack["v"])]
