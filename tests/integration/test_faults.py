"""Kill, cut off, pause and roll back real stores and servers while people play: nothing acknowledged is lost, nothing happens twice."""

from __future__ import annotations

import asyncio
import os
import random
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

import dustup
import engine
from dustup.pilot import Pilot
from server.app import Server
from server.sessions.jobs import Done
from server.store.redis import RedisStore
from tests.integration.conftest import HOUR_MS, SECRET, Join, MakeTable, StartNode
from tests.integration.raw import RawClient, eventually
from tests.support.redis_server import RedisProcess

pytestmark = pytest.mark.chaos

PLAYERS = ("gm", "ann", "ben")


class Witness:
    """An SDK client that plays and remembers every ack, as a person would."""

    def __init__(self, table: dustup.Table) -> None:
        self.table = table
        self.acks: list[tuple[int, str]] = []
        self.over = False

    async def play(self, seed: int) -> None:
        await Pilot(self.table, seed=seed).run()
        self.over = True

    async def chatter(self, enough: Callable[[], bool]) -> None:
        """Say numbered lines, one after the other, until it is enough."""
        n = 0
        while not enough():
            n += 1
            line = f"{self.table.seat} {n}"
            ack = await self.table.chat(line)
            assert ack.v is not None
            self.acks.append((ack.v, line))


@asynccontextmanager
async def players(nodes: list[str], tokens: dict[str, str], session: str) -> AsyncIterator[list[Witness]]:
    """Three SDK clients, one per seat, spread over the nodes."""
    clients: list[dustup.Client] = []
    try:
        tables = []
        for i, seat in enumerate(PLAYERS):
            client = await dustup.Client(nodes[i % len(nodes)], tokens[seat], first_delay=0.02, longest_delay=0.3, wait=20).open()
            clients.append(client)
            tables.append(Witness(await client.join(session)))
        yield tables
    finally:
        await asyncio.gather(*(client.close() for client in clients))


async def tokens_of(node: Server, session: str) -> dict[str, str]:
    return {seat: await node.tokens.seat_token(session, seat, seat, HOUR_MS) for seat in PLAYERS}


async def check_log(store: RedisStore, session: str, witnesses: list[Witness], *, duel_over: bool = True) -> list[engine.Entry]:
    """Gapless, audited, every acknowledged line there once at the version it was acknowledged for, and none twice."""
    log = [engine.decode_entry(data) for _, data in await store.entries(session, 0, 100_000)]
    assert [entry.v for entry in log] == list(range(1, len(log) + 1))
    ids = [(entry.by, entry.id) for entry in log if entry.id]
    assert len(set(ids)) == len(ids)
    loaded = await store.load(session)
    assert loaded is not None
    rules = engine.ruleset("duel")
    assert engine.audit(rules, log, epoch=loaded.meta["epoch"]).verdict != "differs"
    said = {}
    for entry in log:
        for event in entry.events:
            if event.type == "chat":
                body = (await store.texts(session, [event.body]))[event.body]
                assert body is not None
                said[entry.v] = body[16:].decode()
    assert len(set(said.values())) == len(said)
    for witness in witnesses:
        for v, line in witness.acks:
            assert said[v] == line
    if duel_over:
        assert any(event.type == "encounter.ended" or event.type == "dice.revealed" for entry in log for event in entry.events)
    return log


async def through_trouble(witnesses: list[Witness], trouble: Callable[[], Awaitable[None]]) -> None:
    """Pilots and chatter at every seat, while `trouble` happens; everything must come to its end."""
    done = asyncio.Event()

    def acked() -> int:
        return sum(len(one.acks) for one in witnesses)

    async def disturb() -> None:
        async with asyncio.timeout(60):
            await eventually(lambda: acked() >= 10, 60)
            await trouble()
            before = acked()
            await eventually(lambda: acked() >= before + 10, 60)
        done.set()

    async with asyncio.timeout(100), asyncio.TaskGroup() as group:
        group.create_task(disturb())
        for seed, witness in enumerate(witnesses):
            group.create_task(witness.play(seed))
            group.create_task(witness.chatter(done.is_set))


async def test_a_store_killed_in_the_middle_of_a_fight_loses_and_doubles_nothing(
    valkey: RedisProcess, valkey_node: Server, make_table: MakeTable
) -> None:
    session = await make_table(valkey_node)

    async def trouble() -> None:
        for _ in range(3):
            await asyncio.to_thread(valkey.restart)
            await asyncio.sleep(0.05)

    async with players([valkey_node.url], await tokens_of(valkey_node, session), session) as witnesses:
        await through_trouble(witnesses, trouble)
        assert all(witness.over for witness in witnesses)
        top = await valkey_node.store.top(session)
        assert top is not None
        for witness in witnesses:
            await witness.table.wait_for(lambda _, table=witness.table: table.v >= top[0], 20)  # type: ignore[misc]
            expected = engine.view(
                engine.ruleset("duel"), (await valkey_node.registry.get(session)).session, engine.sight_of(
                    (await valkey_node.registry.get(session)).session, witness.table.seat)
            )  # fmt: skip
            assert set(witness.table.view["combatants"]) == set(expected["combatants"])
            assert {one: c["hp"] for one, c in witness.table.view["combatants"].items()} == {
                one: c["hp"] for one, c in expected["combatants"].items()
            }
    await check_log(valkey_node.store, session, witnesses)  # type: ignore[arg-type]


class NodeProcess:
    """A server in its own process, on a port that stays the same."""

    def __init__(self, store: str) -> None:
        self.store, self.port, self.url = store, 0, ""
        self.process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        script = Path(__file__).with_name("node_process.py")
        root = Path(__file__).parents[2]
        self.process = await asyncio.create_subprocess_exec(
            sys.executable, str(script), self.store, str(self.port),
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            env={**os.environ, "DUSTUP_SECRET": SECRET, "PYTHONPATH": str(root)},
        )  # fmt: skip
        assert self.process.stdout is not None
        async with asyncio.timeout(30):
            while not self.url or not self.process.stdout.at_eof():
                line = (await self.process.stdout.readline()).decode().strip()
                if line.startswith("http"):
                    self.url = line
                    self.port = int(line.rpartition(":")[2])
                    return
        raise AssertionError("the server did not start")

    async def kill9(self) -> None:
        assert self.process is not None
        self.process.kill()
        await self.process.wait()

    async def stop(self) -> int:
        assert self.process is not None
        if self.process.returncode is None:
            self.process.terminate()
        async with asyncio.timeout(30):
            return await self.process.wait()


@pytest.fixture
async def node_process(valkey: RedisProcess) -> AsyncIterator[NodeProcess]:
    node = NodeProcess(valkey.unix_url)
    await node.start()
    yield node
    await node.stop()


async def test_a_server_killed_in_the_middle_of_a_fight_loses_and_doubles_nothing(
    valkey: RedisProcess, valkey_node: Server, node_process: NodeProcess, make_table: MakeTable
) -> None:
    """kill -9 of one of two servers, twice; its clients wait for it or find it again, with the same ids."""
    session = await make_table(valkey_node)

    async def trouble() -> None:
        for _ in range(2):
            await node_process.kill9()
            await node_process.start()

    async with players([node_process.url, valkey_node.url], await tokens_of(valkey_node, session), session) as witnesses:
        await through_trouble(witnesses, trouble)
        assert all(witness.over for witness in witnesses)
    await check_log(valkey_node.store, session, witnesses)  # type: ignore[arg-type]


async def test_an_action_cut_off_by_the_death_of_its_server_is_done_once_by_another(
    valkey: RedisProcess, valkey_node: Server, node_process: NodeProcess, make_table: MakeTable, http
) -> None:
    """Actions sent without waiting, the server killed at once: sent again to another node by the same ids, each is there exactly once."""
    session = await make_table(valkey_node)
    token = (await tokens_of(valkey_node, session))["ann"]
    socket = await http.ws_connect(node_process.url + "/v1/ws", protocols=("dustup.v1.msgpack",))
    client = RawClient(socket, text=False)
    await client.hello(token)
    await client.join(session)
    commands = {f"a.{n}": {"type": "chat", "text": f"line {n}"} for n in range(1, 41)}
    for id, command in commands.items():
        await client.send({"t": "do", "id": id, "session": session, "command": command})
    await client.until(lambda message: message["t"] == "ack")
    await node_process.kill9()
    socket = await http.ws_connect(valkey_node.url + "/v1/ws", protocols=("dustup.v1.msgpack",))
    again = RawClient(socket, text=False)
    await again.hello(token)
    await again.join(session)
    acks = [await again.do(session, id, command) for id, command in commands.items()]
    assert {ack["t"] for ack in acks} == {"ack"}
    assert [ack["v"] for ack in acks] == sorted(ack["v"] for ack in acks)
    told = {message["id"]: message["v"] for message in client.seen if message["t"] == "ack"}
    assert told
    assert all(next(ack for ack in acks if ack["id"] == id)["v"] == v for id, v in told.items())
    log = [engine.decode_entry(data) for _, data in await valkey_node.store.entries(session, 0)]
    assert [entry.id for entry in log if entry.id] == list(commands)


async def test_an_unreachable_store_is_unavailable_and_the_same_id_works_afterwards(
    valkey: RedisProcess, start_node: StartNode, make_table: MakeTable, seat: Join
) -> None:
    node = await start_node(RedisStore(valkey.unix_url, bound_s=0.5))
    session = await make_table(node)
    ann, ben = await seat(node, session, "ann"), await seat(node, session, "ben")
    before = ann.tables[session].v
    valkey.kill9()
    refused = await ann.do(session, "a.1", {"type": "chat", "text": "anyone?"})
    assert (refused["code"], refused["v"]) == ("unavailable", before)
    assert refused["retry_after"] > 0
    assert "Is it running?" in refused["text"]
    # Even what the rules would refuse: nobody can know whether another node has done it.
    assert (await ann.do(session, "a.2", {"type": "attack", "combatant": "c1", "target": "c3"}))["code"] == "unavailable"
    assert (await ann.ask("history", session))["code"] == "unavailable"
    # What needs no store goes on.
    assert (await ann.ask("options", session))["t"] == "options"
    valkey.start()
    done = await ann.do(session, "a.1", {"type": "chat", "text": "anyone?"})
    assert (done["t"], done["v"]) == ("ack", before + 1)
    await ben.at(session, done["v"])
    assert (await ann.do(session, "a.2", {"type": "attack", "combatant": "c1", "target": "c3"}))["code"] == "out_of_range"


async def test_a_commit_whose_answer_never_came_is_told_to_everyone_once_it_is_known(
    valkey: RedisProcess, start_node: StartNode, make_table: MakeTable, seat: Join
) -> None:
    """The store stalls: the outcome is unknown. Whatever it turns out to be, log, views and the second answer agree."""
    node = await start_node(RedisStore(valkey.unix_url, bound_s=0.5))
    session = await make_table(node)
    ann, ben = await seat(node, session, "ann"), await seat(node, session, "ben")
    valkey.pause()
    try:
        assert (await ann.do(session, "a.1", {"type": "chat", "text": "hm"}))["code"] == "unavailable"
    finally:
        valkey.resume()
    answer = await ann.do(session, "a.1", {"type": "chat", "text": "hm"})
    assert answer["t"] == "ack"
    log = [engine.decode_entry(data) for _, data in await node.store.entries(session, 0)]
    assert [(entry.v, entry.id) for entry in log if entry.id] == [(answer["v"], "a.1")]
    await ben.at(session, answer["v"])
    assert ben.tables[session].frames[-1]["events"][0]["body"] == "hm"


async def test_a_store_that_refuses_writes_says_what_to_try_and_keeps_the_table(
    valkey: RedisProcess, start_node: StartNode, make_table: MakeTable, seat: Join, tmp_path: Path
) -> None:
    """A primary that became a replica."""
    node = await start_node(RedisStore(valkey.unix_url, bound_s=2.0))
    session = await make_table(node)
    ann = await seat(node, session, "ann")
    actor = await node.registry.get(session)
    before = actor.session
    with RedisProcess(tmp_path / "other") as other:
        valkey.command("REPLICAOF", "127.0.0.1", str(other.port))
        refused = await ann.do(session, "a.1", {"type": "chat", "text": "x"})
        assert refused["code"] == "read_only"
        assert "primary" in refused["text"]
        assert refused["retry_after"] > 0
        assert actor.session == before
        valkey.command("REPLICAOF", "NO", "ONE")
    # The replica may have taken the other's (empty) data: then the table is gone from this store, and that is said.
    answer = await ann.do(session, "a.1", {"type": "chat", "text": "x"})
    assert (answer["t"] == "ack") == (await node.store.top(session) is not None)


async def test_a_full_store_is_read_only_and_then_works_again(
    valkey: RedisProcess, valkey_node: Server, make_table: MakeTable, seat: Join
) -> None:
    session = await make_table(valkey_node)
    ann = await seat(valkey_node, session, "ann")
    valkey.command("CONFIG", "SET", "maxmemory", "1")
    refused = await ann.do(session, "a.1", {"type": "chat", "text": "x"})
    assert (refused["code"], "maxmemory" in refused["text"]) == ("read_only", True)
    valkey.command("CONFIG", "SET", "maxmemory", "0")
    assert (await ann.do(session, "a.1", {"type": "chat", "text": "x"}))["t"] == "ack"


# --- forks ---------------------------------------------------------------------------------------------------------------------


async def roll_back(store: RedisStore, session: str, copies: dict[str, bytes]) -> None:
    """Put a session's keys back as they were when `copies` was made."""
    redis = store._redis
    for key, value in copies.items():
        await redis.restore(key, 0, value, replace=True)


async def copy(store: RedisStore, session: str) -> dict[str, bytes]:
    keys = store._keys.session(session)
    return {key: dump for key in keys[:6] if (dump := await store._redis.dump(key)) is not None}


@pytest.mark.parametrize("seed", range(3))
async def test_a_log_that_went_back_is_noticed_by_every_node_and_every_client(
    valkey: RedisProcess, start_node: StartNode, make_table: MakeTable, seat: Join, seed: int
) -> None:
    """As after a failover that lost writes: a new epoch, whole views, new dice, and what was only in the lost part is gone for all."""
    rng = random.Random(seed)
    nodes = [await start_node(RedisStore(valkey.unix_url)) for _ in range(2)]
    store = nodes[0].store
    assert isinstance(store, RedisStore)
    session = await make_table(nodes[0])
    clients = [await seat(nodes[i], session, place) for i, place in enumerate(("ann", "ben"))]
    ann = clients[0]
    for n in range(1, rng.randint(2, 6)):
        kept = await ann.do(session, f"a.{n}", {"type": "chat", "text": f"kept {n}"})
    epoch = ann.tables[session].epoch
    backup = await copy(store, session)
    for n in range(10, 10 + rng.randint(1, 6)):
        lost = await ann.do(session, f"a.{n}", {"type": "roll", "notation": "3d20"})
    for client in clients:
        await client.at(session, lost["v"])
    lost_faces = [r["faces"] for f in ann.tables[session].frames for e in f.get("events", ()) for r in e.get("rolls", ())]
    await roll_back(store, session, backup)
    # Whoever acts next finds out; its command is judged on what is really there.
    actor = await nodes[rng.randrange(2)].registry.get(session)
    outcome = await actor.act("gm", actor.rules.decode({"type": "roll", "notation": "3d20"}), client="g", n=1)
    assert isinstance(outcome, Done)
    assert outcome.v == kept["v"] + 2  # new dice, then the roll
    for node in nodes:
        await node.registry.look_around()
    for client in clients:
        reset = client.of("reset")[0] if client.of("reset") else await client.until(lambda message: message["t"] == "reset")
        assert reset["epoch"] != epoch
        await client.at(session, outcome.v)
        fresh = await seat(nodes[0], session, client.tables[session].seat)
        assert client.tables[session].shown == fresh.tables[session].shown
        assert client.tables[session].epoch == fresh.tables[session].epoch
    log = [engine.decode_entry(data) for _, data in await store.entries(session, 0)]
    assert [entry.v for entry in log] == list(range(1, outcome.v + 1))
    assert log[-2].kind == "dice"
    new_faces = [list(roll.faces) for entry in log[-1:] for roll in entry.rolls]
    assert new_faces
    assert new_faces[0] != lost_faces[0]
    # An action of the lost part may be done again: it is not in the log.
    again = await ann.do(session, "a.10", {"type": "chat", "text": "once more"})
    assert (again["t"], again.get("again")) == ("ack", None)
    # One of the kept part may not.
    assert (await ann.do(session, "a.1", {"type": "chat", "text": "no"}))["again"] is True


async def test_a_client_of_the_lost_part_that_comes_back_gets_a_whole_view(
    valkey: RedisProcess, start_node: StartNode, make_table: MakeTable, seat: Join
) -> None:
    node = await start_node(RedisStore(valkey.unix_url))
    store = node.store
    assert isinstance(store, RedisStore)
    session = await make_table(node)
    ann = await seat(node, session, "ann")
    backup = await copy(store, session)
    await ann.do(session, "a.1", {"type": "chat", "text": "lost"})
    place = ann.tables[session].resume
    await ann.close()
    await roll_back(store, session, backup)
    fresh_node = await start_node(RedisStore(valkey.unix_url))
    back = await seat(fresh_node, session, "ann", resume=place)
    assert back.of("joined")[0]["resumed"] is False
    assert back.tables[session].v < place["v"]


# --- the end ---------------------------------------------------------------------------------------------------------------------


async def test_a_stopping_server_answers_what_it_took_says_when_to_come_back_and_loses_nobody(
    valkey: RedisProcess, start_node: StartNode, make_table: MakeTable, seat: Join
) -> None:
    node = await start_node(RedisStore(valkey.unix_url))
    session = await make_table(node)
    ann = await seat(node, session, "ann")
    for n in range(1, 51):
        await ann.send({"t": "do", "id": f"a.{n}", "session": session, "command": {"type": "chat", "text": str(n)}})
    await ann.until(lambda message: message["t"] == "ack")
    stopping = asyncio.create_task(node.stop())
    assert await ann.ended() == 4001
    await stopping
    bye = ann.seen[-1]
    assert (bye["t"], bye["code"]) == ("bye", "shutting_down")
    assert bye["retry_after"] > 0
    acked = [message["id"] for message in ann.of("ack")]
    other = await start_node(RedisStore(valkey.unix_url))
    log = [engine.decode_entry(data) for _, data in await other.store.entries(session, 0)]
    assert [entry.id for entry in log if entry.id][: len(acked)] == acked
    back = await seat(other, session, "ann", resume=ann.tables[session].resume)
    for n in range(1, 51):
        assert (await back.do(session, f"a.{n}", {"type": "chat", "text": str(n)}))["t"] == "ack"
    log = [engine.decode_entry(data) for _, data in await other.store.entries(session, 0)]
    assert [entry.id for entry in log if entry.id] == [f"a.{n}" for n in range(1, 51)]


async def test_clients_of_a_server_that_is_restarted_in_good_order_come_back_by_themselves(
    valkey: RedisProcess, valkey_node: Server, node_process: NodeProcess, make_table: MakeTable
) -> None:
    session = await make_table(valkey_node)

    async def trouble() -> None:
        assert await node_process.stop() == 0
        await node_process.start()

    async with players([node_process.url], await tokens_of(valkey_node, session), session) as witnesses:
        await through_trouble(witnesses, trouble)
        assert all(witness.over for witness in witnesses)
    await check_log(valkey_node.store, session, witnesses)  # type: ignore[arg-type]
