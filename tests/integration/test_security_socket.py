"""Strangers, forgers, flooders and broken programs at the socket: told off with a code, and nobody else notices."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from server.app import Server
from server.clock import ManualClock
from server.gateway.outbox import BUFFERED
from server.sessions.texts import detach
from tests.integration.conftest import HOUR_MS, Connect, Join, MakeTable, StartNode
from tests.integration.raw import RawClient, eventually

MALFORMED: list[dict[str, Any]] = json.loads((Path(__file__).parents[2] / "protocol/vectors/malformed.json").read_text())


# --- who may come in ---------------------------------------------------------------------------------------------------------


@pytest.fixture
async def doors(node: Server, make_table: MakeTable) -> tuple[Server, str]:
    return node, await make_table(node)


async def refused_hello(client: RawClient, token: str) -> tuple[str, int | None]:
    answer = await client.hello(token)
    assert answer["t"] == "error"
    return answer["code"], await client.ended()


async def test_garbled_and_unsigned_tokens_are_closed_with_4003(doors: tuple[Server, str], connect: Connect) -> None:
    node, session = doors
    good = await node.tokens.seat_token(session, "ann", "ada", HOUR_MS)
    head, body, signature = good.split(".")
    for bad in (
        "x",
        "a.b.c",
        good[:-2] + ("aa" if good[-2:] != "aa" else "bb"),
        f"{head}.{body}.",
        f"{head}.{body[:-1]}A.{signature}",
        "ü" * 20,
    ):
        assert await refused_hello(await connect(node), bad) == ("unauthorized", 4003), bad


async def test_an_expired_token_is_told_so(start_node: StartNode, make_table: MakeTable, connect: Connect) -> None:
    clock = ManualClock(1_750_000_000_000)
    node = await start_node(clock=clock)
    session = await make_table(node)
    token = await node.tokens.seat_token(session, "ann", "ada", 60_000)
    clock.advance(61_000)
    assert await refused_hello(await connect(node), token) == ("expired", 4003)


async def test_a_connection_ends_when_its_token_expires_or_is_withdrawn(
    start_node: StartNode, make_table: MakeTable, connect: Connect
) -> None:
    clock = ManualClock(1_750_000_000_000)
    node = await start_node(clock=clock)
    session = await make_table(node)
    expires = await connect(node, await node.tokens.seat_token(session, "ann", "ada", 60_000))
    token = await node.tokens.seat_token(session, "ben", "bob", HOUR_MS)
    withdrawn, stays = await connect(node, token), await connect(node, await node.tokens.seat_token(session, "ben", "bob", HOUR_MS))
    for client in (expires, withdrawn, stays):
        await client.join(session)
    await node.tokens.revoke(node.tokens.read(token).jti, clock.now_ms() + HOUR_MS)
    assert await withdrawn.ended() == 4003
    assert withdrawn.of("bye")[0]["code"] == "revoked"
    clock.advance(61_000)
    await node.tokens.sweep()
    assert await expires.ended() == 4003
    assert expires.of("bye")[0]["code"] == "expired"
    assert (await stays.do(session, "b.1", {"type": "chat", "text": "alone"}))["t"] == "ack"
    actor = await node.registry.get(session)
    assert list(actor.fanout.viewers) == ["ben"]


async def test_a_withdrawn_join_token_ends_that_table_alone(node: Server, make_table: MakeTable, connect: Connect) -> None:
    first, second = await make_table(node), await make_table(node)
    client = await connect(node, await node.tokens.seat_token(first, "ann", "ada", HOUR_MS))
    await client.join(first)
    await client.join(second, token=await node.tokens.seat_token(second, "ann", "ada", HOUR_MS))
    await node.tokens.revoke_seat(second, "ann")
    told = await client.until(lambda message: message["t"] == "error")
    assert (told["code"], told["session"]) == ("revoked", second)
    for kind in ("options", "history"):
        assert (await client.ask(kind, second))["code"] == "not_joined"
    assert (await client.do(second, "a.1", {"type": "chat", "text": "x"}))["code"] == "not_joined"
    assert (await client.do(first, "a.1", {"type": "chat", "text": "x"}))["t"] == "ack"


async def test_a_token_opens_its_own_seat_at_its_own_table_only(node: Server, make_table: MakeTable, connect: Connect) -> None:
    first, second = await make_table(node), await make_table(node)
    client = await connect(node, await node.tokens.seat_token(first, "ann", "ada", HOUR_MS))
    assert (await client.join(second))["code"] == "unauthorized"
    gone = await node.tokens.seat_token(first, "nobody", "ada", HOUR_MS)
    assert (await client.join(first, token=gone))["code"] == "unauthorized"
    assert (await client.join("k3v9mq2w7rt5xyab"))["code"] == "no_session"
    assert (await client.join("k3v9mq2w7rt5xyab", token=gone))["code"] == "no_session"
    assert (await client.join(first, token="rubbish"))["code"] == "unauthorized"
    assert (await client.join(first))["seat"] == "ann"
    stranger = await connect(node, node.tokens.person_token("eve", HOUR_MS))
    assert (await stranger.join(first))["code"] == "unauthorized"
    admin = await connect(node, node.tokens.admin_token("root", HOUR_MS))
    assert (await admin.join(first))["code"] == "unauthorized"


async def test_tokens_and_codes_in_a_url_are_refused(doors: tuple[Server, str], http: aiohttp.ClientSession) -> None:
    node, session = doors
    token = await node.tokens.seat_token(session, "ann", "ada", HOUR_MS)
    for query in (f"token={token}", "code=abc"):
        async with http.get(f"{node.url}/v1/ws?{query}", headers=_upgrade()) as answer:
            assert answer.status == 400
            assert token not in await answer.text()


def _upgrade(**more: str) -> dict[str, str]:
    return {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "MDEyMzQ1Njc4OWFiY2RlZg==",
        "Sec-WebSocket-Protocol": "dustup.v1.msgpack",
        **more,
    }


@pytest.mark.parametrize(
    ("origin", "allowed"),
    [
        ("{own}", True),
        ("https://table.example", True),
        ("https://evil.example", False),
        ("https://table.example.evil.example", False),
        ("null", False),
        ("http://[", False),
        ("", False),
    ],
)
async def test_only_the_listed_pages_may_connect(start_node: StartNode, http: aiohttp.ClientSession, origin: str, allowed: bool) -> None:
    node = await start_node(origins=["https://table.example"])
    async with http.get(node.url + "/v1/ws", headers=_upgrade(Origin=origin.format(own=node.url))) as answer:
        assert answer.status == (101 if allowed else 403)


async def test_without_a_subprotocol_we_know_there_is_no_connection(node: Server, http: aiohttp.ClientSession) -> None:
    for offered in ((), ("chat", "dustup.v9.msgpack")):
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await http.ws_connect(node.url + "/v1/ws", protocols=offered)
        assert refused.value.status == 400
    socket = await http.ws_connect(node.url + "/v1/ws", protocols=("other", "dustup.v1.json", "dustup.v1.msgpack"))
    assert socket.protocol == "dustup.v1.json"
    await socket.close()


async def test_a_silent_connection_is_closed_with_4014(start_node: StartNode, connect: Connect) -> None:
    node = await start_node(limits__hello_ms=100)
    client = await connect(node)
    assert await client.ended() == 4014
    assert client.seen[0]["code"] == "hello_timeout"


@pytest.mark.parametrize(("low", "high", "old"), [(2, 9, "server"), (9999, 9999, "server")])
async def test_no_version_in_common_says_who_is_too_old(node: Server, connect: Connect, low: int, high: int, old: str) -> None:
    client = await connect(node)
    answer = await client.hello("any", min=low, max=high)
    assert (answer["code"], answer["data"]["too_old"]) == ("unsupported_version", old)
    assert await client.ended() == 4004


async def test_hello_is_said_once_and_first(doors: tuple[Server, str], connect: Connect) -> None:
    node, session = doors
    token = await node.tokens.seat_token(session, "ann", "ada", HOUR_MS)
    client = await connect(node, token)
    assert (await client.hello(token))["code"] == "bad_frame"
    assert await client.ended() == 4002
    early = await connect(node)
    await early.send({"t": "join", "session": session, "id": "r1"})
    assert (await early.receive())["code"] == "bad_frame"
    assert await early.ended() == 4002


async def test_guessing_tokens_is_slowed_down(start_node: StartNode, make_table: MakeTable, connect: Connect) -> None:
    node = await start_node(limits__tries_per_minute=3)
    session = await make_table(node)
    for _ in range(3):
        assert (await refused_hello(await connect(node), "x"))[0] == "unauthorized"
    client = await connect(node)
    answer = await client.hello(await node.tokens.seat_token(session, "ann", "ada", HOUR_MS))
    assert answer["code"] == "rate_limited"
    assert answer["retry_after"] > 0
    assert await client.ended() == 4008


# --- what may be sent ----------------------------------------------------------------------------------------------------------


async def test_malformed_frames_of_every_kind_end_as_the_vectors_say_and_disturb_nobody(
    node: Server, make_table: MakeTable, seat: Join, connect: Connect
) -> None:
    session = await make_table(node)
    bystander = await seat(node, session, "gm")
    token = await node.tokens.seat_token(session, "ann", "ada", HOUR_MS)
    for vector in MALFORMED:
        text = vector["subprotocol"].endswith("json")
        client = await connect(node, text=text)
        if vector["after"] == "welcome":
            assert (await client.hello(token))["t"] == "welcome"
        head, (piece, count), tail = vector["frame"]
        frame = head + piece * count + tail
        if text:
            await client.socket.send_str(frame)
        else:
            await client.socket.send_bytes(bytes.fromhex(frame))
        answer = await client.receive()
        assert (answer["t"], answer["code"], answer.get("id")) == ("error", vector["code"], vector.get("id")), vector["name"]
        if vector["close"] is not None:
            assert await client.ended() == vector["close"], vector["name"]
        else:
            await client.settle()
            await client.close()
    assert (await bystander.do(session, "g.1", {"type": "chat", "text": "all well"}))["t"] == "ack"
    assert [message for message in bystander.seen if message["t"] == "error"] == []


async def test_frames_of_the_wrong_sort_and_far_too_large_ones_close(doors: tuple[Server, str], connect: Connect) -> None:
    node, session = doors
    token = await node.tokens.seat_token(session, "ann", "ada", HOUR_MS)
    client = await connect(node, token)
    await client.socket.send_str("{}")
    assert await client.ended() == 4002
    client = await connect(node, token)
    await client.send_bytes(b"\x00" * 65_537)
    assert await client.ended() == 4013
    client = await connect(node, token)
    await client.send_bytes(b"\x00" * 1_000_000)
    assert await client.ended() in (1009, 1006)  # not even read


async def test_ids_with_a_newline_at_their_end_are_no_ids(doors: tuple[Server, str], connect: Connect) -> None:
    node, session = doors
    client = await connect(node, await node.tokens.seat_token(session, "ann", "ada", HOUR_MS))
    assert (await client.join(session + "\n"))["code"] == "bad_frame"
    await client.join(session)
    assert (await client.do(session, "a.1\n", {"type": "chat", "text": "x"}))["code"] == "bad_frame"
    assert (await client.do(session, "a.1", {"type": "attack", "target": "c3\n"}))["t"] == "error"


async def test_a_reference_in_place_of_a_text_is_refused(doors: tuple[Server, str], connect: Connect) -> None:
    """Else one seat could show another's private words as its own."""
    node, session = doors
    client = await connect(node, await node.tokens.seat_token(session, "ann", "ada", HOUR_MS))
    await client.join(session)
    answer = await client.do(session, "a.1", {"type": "chat", "text": {"id": "0" * 16, "sha256": "0" * 64}})
    assert answer["code"] == "bad_command"


async def test_system_commands_are_unknown_on_the_wire(doors: tuple[Server, str], connect: Connect) -> None:
    node, session = doors
    client = await connect(node, await node.tokens.seat_token(session, "gm", "ada", HOUR_MS))
    await client.join(session)
    for kind, fields in (("system.hold", {"seat": "ann", "person": "eve"}), ("system.dice", {"reason": "x"}), ("system.extend", {"ms": 1})):
        answer = await client.do(session, client.next_id() + ".1", {"type": kind, **fields})
        assert answer["t"] == "error", kind
        assert answer["code"] in ("bad_command", "unknown_command"), kind
    assert (await node.registry.get(session)).session.v == 1


async def test_more_tables_than_allowed_are_refused_and_the_first_ones_stay(
    start_node: StartNode, make_table: MakeTable, connect: Connect
) -> None:
    node = await start_node(limits__sessions=3)
    tables = [await make_table(node) for _ in range(4)]
    client = await connect(node, await node.tokens.seat_token(tables[0], "ann", "ada", HOUR_MS))
    for number, session in enumerate(tables):
        answer = await client.join(session, token=await node.tokens.seat_token(session, "ann", "ada", HOUR_MS))
        assert answer["t"] == ("joined" if number < 3 else "error"), answer
    assert answer["code"] == "limit"
    await client.ask("leave", tables[0])
    answer = await client.join(tables[3], token=await node.tokens.seat_token(tables[3], "ann", "ada", HOUR_MS))
    assert answer["t"] == "joined"


async def test_more_connections_than_an_address_may_have_are_refused(start_node: StartNode, connect: Connect) -> None:
    node = await start_node(limits__address_connections=2)
    first, _ = await connect(node), await connect(node)
    with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
        await connect(node)
    assert refused.value.status == 429
    await first.close()
    await eventually(lambda: node.limits.connections("127.0.0.1") == 1)
    await connect(node)


# --- how fast ------------------------------------------------------------------------------------------------------------------


async def test_a_flood_is_refused_with_a_time_to_wait_and_its_table_plays_on(
    start_node: StartNode, make_table: MakeTable, seat: Join
) -> None:
    clock = ManualClock(1_750_000_000_000)
    node = await start_node(clock=clock, limits__seat_rate=10, limits__seat_burst=20)
    session = await make_table(node)
    flooder, gm = await seat(node, session, "ann"), await seat(node, session, "gm")
    for n in range(1, 101):
        await flooder.send({"t": "do", "id": f"f.{n}", "session": session, "command": {"type": "chat", "text": str(n)}})
    for n in range(1, 101):
        await flooder.answer(f"f.{n}")
    acked = flooder.of("ack")
    refused = flooder.of("error")
    assert len(acked) == 20
    assert {(answer["code"], answer["retry_after"]) for answer in refused} == {("rate_limited", 100)}
    assert len(refused) == 80
    assert (await gm.do(session, "g.1", {"type": "chat", "text": "my own rate"}))["t"] == "ack"
    clock.advance(100)
    assert (await flooder.do(session, "f.100", {"type": "chat", "text": "at last"}))["t"] == "ack"


async def test_who_floods_on_and_on_is_closed_with_4008(start_node: StartNode, make_table: MakeTable, seat: Join) -> None:
    clock = ManualClock(1_750_000_000_000)
    node = await start_node(clock=clock, limits__address_rate=1, limits__address_burst=10)
    session = await make_table(node)
    client = await seat(node, session, "ann")

    async def flood() -> None:
        for _ in range(2000):
            await client.send({"t": "ping"})

    sending = asyncio.create_task(flood())
    code = await client.ended()
    await asyncio.gather(sending, return_exceptions=True)
    assert code == 4008
    assert client.of("bye")[0]["code"] == "rate_limited"
    assert len(client.of("error")) <= 501


async def test_a_flood_of_bad_frames_counts_as_one(start_node: StartNode, make_table: MakeTable, seat: Join) -> None:
    clock = ManualClock(1_750_000_000_000)
    node = await start_node(clock=clock, limits__address_rate=1, limits__address_burst=10)
    session = await make_table(node)
    client = await seat(node, session, "ann")

    async def flood() -> None:
        for _ in range(2000):
            await client.send({"t": "nonsense"})

    sending = asyncio.create_task(flood())
    code = await client.ended()
    await asyncio.gather(sending, return_exceptions=True)
    assert code == 4008


async def test_websocket_pings_are_answered_within_the_rate_and_ignored_beyond(
    start_node: StartNode, make_table: MakeTable, http: aiohttp.ClientSession
) -> None:
    clock = ManualClock(1_750_000_000_000)
    node = await start_node(clock=clock, limits__address_rate=1, limits__address_burst=50)
    session = await make_table(node)
    token = await node.tokens.seat_token(session, "ann", "ada", HOUR_MS)
    socket = await http.ws_connect(node.url + "/v1/ws", protocols=("dustup.v1.msgpack",), autoping=False)
    client = RawClient(socket, text=False)
    await client.hello(token)
    await client.join(session)  # costs one
    for _ in range(500):
        await socket.ping(b"x")
    await client.send({"t": "options", "id": "last", "session": session})
    pongs = 0
    while True:
        frame = await socket.receive()
        if frame.type is aiohttp.WSMsgType.PONG:
            pongs += 1
        elif frame.type is aiohttp.WSMsgType.BINARY and b"last" in frame.data:
            break
        else:
            assert frame.type is aiohttp.WSMsgType.BINARY, frame
    assert pongs == 49
    assert b"rate_limited" in frame.data
    clock.advance(1000)
    assert (await client.ask("options", session))["t"] == "options"
    await socket.close()


async def test_a_reader_too_slow_is_closed_with_4009_while_others_get_every_frame(
    start_node: StartNode, make_table: MakeTable, seat: Join
) -> None:
    """What waits for it is bounded; it comes back, resumes or starts from a whole view, and is level again."""
    node = await start_node(limits__queue_bytes=1_048_576)
    session = await make_table(node)
    slow, good = await seat(node, session, "ann"), await seat(node, session, "gm")
    [slow_socket] = [one for one in node.sockets if one._claims is not None and one._claims.seat == "ann"]
    transport = slow.socket._conn.transport  # type: ignore[union-attr]
    assert transport is not None
    transport.pause_reading()
    most = 0
    text = "x" * 15_000
    n = 0
    while slow_socket in node.sockets and slow_socket._close is None:
        n += 1
        assert n < 5000
        assert (await good.do(session, f"g.{n}", {"type": "post", "text": text}))["t"] == "ack"
        most = max(most, slow_socket._outbox.waiting)
    assert most <= 1_048_576 + 2 * 16_000 + BUFFERED
    transport.resume_reading()
    assert await slow.ended() in (4009, 1006)  # 1006 when it took longer to wake than it was given
    assert [frame["v"] for frame in good.tables[session].frames] == list(
        range(good.tables[session].frames[0]["v"], good.tables[session].v + 1)
    )
    assert len(good.tables[session].frames) == n
    back = await seat(node, session, "ann", resume=slow.tables[session].resume)
    if back.of("joined")[0]["resumed"]:
        back.tables[session] = slow.tables[session]
    await back.at(session, good.tables[session].v)
    fresh = await seat(node, session, "ann")
    assert back.tables[session].shown == fresh.tables[session].shown


async def test_who_asks_without_reading_the_answers_is_not_read_any_further(
    start_node: StartNode, make_table: MakeTable, connect: Connect
) -> None:
    """Asking for large answers again and again and taking none of them costs a bounded amount of memory."""
    node = await start_node(limits__queue_bytes=1_048_576)
    session = await make_table(node)
    actor = await node.registry.get(session)
    for _ in range(60):
        command, texts = detach(actor.rules.decode({"type": "post", "text": "y" * 15_000}))
        await actor.act("ann", command, texts=texts)
    client = await connect(node, await node.tokens.seat_token(session, "ann", "ada", HOUR_MS))
    await client.join(session)
    [socket] = node.sockets
    transport = client.socket._conn.transport  # type: ignore[union-attr]
    assert transport is not None
    transport.pause_reading()

    async def ask() -> None:
        for n in range(200):
            await client.send({"t": "history", "session": session, "id": f"h{n}", "limit": 60})

    asking = asyncio.create_task(ask())
    most = 0
    await eventually(lambda: socket._outbox.waiting)
    for _ in range(2000):
        most = max(most, socket._outbox.waiting)
        await asyncio.sleep(0)
    assert 0 < most <= 2 * 1_048_576
    transport.resume_reading()
    await asyncio.gather(asking, return_exceptions=True)
    await client.close()
