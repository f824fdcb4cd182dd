"""The faults: each breaks something, keeps it broken for a while under full load, and mends it.

A fault is an async function (Chaos) -> where it happened, in words. Recovery is counted from where it says `mended`, else from its end.
Chances come from `chaos.rng`, so that a seed gives the same plan again.
"""

from __future__ import annotations

import asyncio
import random
import resource
import signal
from collections.abc import Awaitable, Callable
from typing import Any

from tests.chaos.history import History, Loss, Saw, now
from tests.chaos.player import PATIENCE_S
from tests.chaos.world import Node, World, freeze, thaw

COMMIT = b"append"
"""What stands in every request that appends a step, and in no other."""
NOTICE_LIMIT_S = 30.0
"""A server looks at the log of a live table every 20 s even when nobody acts."""
SLACK_S = 1.0
"""Replication is asynchronous: what was acknowledged this long before the cut may not have reached the replica on a busy machine."""


class Chaos:
    """What faults work on. `tables` may be hurt in passing; `doomed` ones lose their keys for good, one for each such fault."""

    def __init__(self, world: World, history: History, tables: list[str], doomed: list[str], rng: random.Random, *, hold_s: float) -> None:
        self.world, self.history, self.tables, self.doomed, self.rng = world, history, tables, doomed, rng
        self.hold_s = hold_s
        self.mended_at = 0.0

    def mended(self) -> None:
        """Nothing is broken any more from now on; what a fault still does is to make ready for the next one."""
        self.mended_at = now()

    async def hold(self, share: float = 1.0) -> None:
        """Let the fault last."""
        await asyncio.sleep(self.rng.uniform(0.5, 1.5) * self.hold_s * share)

    async def noticed(self, since: int) -> None:
        """Wait until every table that lost what a client saw (in the notes from `since` on) has a new epoch. Raises TimeoutError.

        What comes of it when those who knew die before they look is a known limit (docs/faults.md).
        """
        async with asyncio.timeout(NOTICE_LIMIT_S), self.world.ask() as connection:
            asked: Any = connection
            while [one for one in self._seen(since) if not await self._kept(asked, one)]:  # noqa: ASYNC110 - nodes do not tell
                await asyncio.sleep(0.2)

    def _seen(self, since: int) -> list[Saw]:
        """The newest thing seen in each epoch of each table by each client."""
        newest: dict[tuple[str, str, str], Saw] = {}
        for event in self.history.evidence.events[since:]:
            if isinstance(event, Saw) and event.session not in self.history.evidence.gone:
                key = (event.session, event.epoch, event.client)
                if key not in newest or event.v >= newest[key].v:
                    newest[key] = event
        return list(newest.values())

    async def _kept(self, asked: Any, saw: Saw) -> bool:
        base = f"dustup:{{{saw.session}}}:"
        if await asked.hget(base + "meta", "epoch") != saw.epoch.encode():
            return True
        found = await asked.xrange(base + "log", f"{saw.v}-0", f"{saw.v}-0")
        return bool(found) and found[0][1][b"s"] == saw.stamp.encode()

    def node(self) -> Node:
        return self.rng.choice(self.world.nodes)


Fault = Callable[[Chaos], Awaitable[str]]


async def kill_node(chaos: Chaos) -> str:
    node = chaos.node()
    await node.kill9()
    await chaos.hold(0.5)
    await node.start()
    return node.name


async def drain_node(chaos: Chaos) -> str:
    """SIGTERM under load: it finishes what it began, sends its clients away, and ends by itself."""
    node = chaos.node()
    code = await node.drain(within_s=25)
    assert code == 0, f"{node.name} ended with {code} after SIGTERM: {node.tail()}"
    await node.start()
    return node.name


async def stop_node(chaos: Chaos) -> str:
    """SIGSTOP for longer than clients are patient: it wakes up with their commands in its sockets, done elsewhere meanwhile."""
    node = chaos.node()
    freeze(node)
    try:
        await asyncio.sleep(PATIENCE_S)
        await chaos.hold(0.5)
    finally:
        thaw(node)
    return node.name


async def restart_redis(chaos: Chaos) -> str:
    await chaos.world.restart_primary()
    chaos.mended()
    await chaos.world.until_replicated()
    return "primary"


async def stop_redis(chaos: Chaos) -> str:
    chaos.world.primary.pause()
    try:
        await chaos.hold()
    finally:
        chaos.world.primary.resume()
    return "primary"


async def lose_replies(chaos: Chaos) -> str:
    """Every node loses the reply to one commit."""
    before = sum(node.proxy.lost for node in chaos.world.nodes)
    for node in chaos.world.nodes:
        node.proxy.lose_reply(COMMIT)
    await chaos.hold(0.5)
    for node in chaos.world.nodes:
        node.proxy.forgive()
    lost = sum(node.proxy.lost for node in chaos.world.nodes) - before
    return f"{lost} replies"


async def cut_node(chaos: Chaos) -> str:
    """No packet passes between a node and Redis; its clients still reach it."""
    node = chaos.node()
    node.proxy.cut()
    await chaos.hold()
    node.proxy.heal()
    return node.name


async def failover(chaos: Chaos) -> str:
    """The replica hears nothing for a while, the primary dies, the replica takes over without what was acknowledged meanwhile."""
    world, since = chaos.world, len(chaos.history.evidence.events)
    start = now()
    world.replication.cut()
    await chaos.hold()
    await world.promote()
    chaos.mended()
    chaos.history.evidence.losses.append(Loss(start=start - SLACK_S, end=now() + SLACK_S))
    await world.new_replica()
    await chaos.noticed(since)
    return "replica promoted"


async def failover_outgrown(chaos: Chaos) -> str:
    """As failover, while a node with the lost entries in memory is cut off: the new log outgrows the old one before it looks again."""
    world, node, since = chaos.world, chaos.node(), len(chaos.history.evidence.events)
    start = now()
    world.replication.cut()
    await chaos.hold(0.3)
    node.proxy.cut()
    await world.promote()
    chaos.history.evidence.losses.append(Loss(start=start - SLACK_S, end=now() + SLACK_S))
    await chaos.hold(1.5)
    node.proxy.heal()
    chaos.mended()
    await world.new_replica()
    await chaos.noticed(since)
    return f"{node.name} looked away"


async def failover_split(chaos: Chaos) -> str:
    """The replica takes over while the old primary lives on for one node: for a while there are two truths, then one."""
    world, node, since = chaos.world, chaos.node(), len(chaos.history.evidence.events)
    start = now()
    world.replication.cut()
    await world.promote(left_behind={node.name})
    await chaos.hold(0.7)
    await world.unite()
    chaos.mended()
    chaos.history.evidence.losses.append(Loss(start=start - SLACK_S, end=now() + SLACK_S))
    await world.new_replica()
    await chaos.noticed(since)
    return f"{node.name} left behind"


async def restart_everything(chaos: Chaos) -> str:
    await chaos.world.kill_everything()
    await chaos.world.start_everything()
    return "all"


async def jump_clock(chaos: Chaos) -> str:
    """One node's wall clock is three quarters of a minute ahead for a while, then it is set right."""
    [node] = [node for node in chaos.world.nodes if node.jumping]
    ahead = chaos.rng.random() < 0.5
    node.signal(signal.SIGUSR1 if ahead else signal.SIGUSR2)
    await chaos.hold()
    node.signal(signal.SIGUSR2 if ahead else signal.SIGUSR1)
    return f"{node.name} {'ahead' if ahead else 'behind'}"


async def fill_disk(chaos: Chaos) -> str:
    """Redis has no room: it refuses every change with MISCONF, or dies when it had promised the disk, until there is room again."""
    # A server promoted in this life of its process damages its own file then (docs/faults.md, known limits).
    if hasattr(resource, "prlimit") and not chaos.world.promoted and chaos.rng.random() < 0.6:
        return await _full_log(chaos)
    return await _full_snapshot(chaos)


async def _full_log(chaos: Chaos) -> str:
    """The append-only file may not grow: the very writes that were just done do not fit."""
    world, redis = chaos.world, chaos.world.primary
    largest = max(file.stat().st_size for file in (redis.folder / "appendonlydir").iterdir())
    pid, (_, hard) = redis.pid, resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (largest + chaos.rng.randint(1, 3000), hard))
    await chaos.hold()
    if world.durability == "always":
        await world.restart_primary()  # it has ended itself, if anything was written
        chaos.mended()
        await world.until_replicated()
        return "append-only file, died"
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (hard, hard))
    async with world.ask() as asked:
        await world.until(asked, "aof_last_write_status", "ok")
    return "append-only file"


async def _full_snapshot(chaos: Chaos) -> str:
    """A snapshot that it has to make cannot be written."""
    redis = chaos.world.primary
    obstacle = redis.folder / "dump.rdb"
    obstacle.unlink(missing_ok=True)
    obstacle.mkdir()
    async with chaos.world.ask() as asked:
        await asked.config_set("save", "3600 1000000")
        await asked.bgsave()
        await chaos.world.until(asked, "rdb_last_bgsave_status", "err")
        await chaos.hold(0.7)
        obstacle.rmdir()
        await asked.bgsave()
        await chaos.world.until(asked, "rdb_last_bgsave_status", "ok")
        chaos.mended()
        await asked.config_set("save", "")
    return "snapshot"


async def delete_keys(chaos: Chaos) -> str:
    """A table loses its log, or its meta: refused from then on. Another one loses its snapshot, which costs nothing."""
    async with chaos.world.ask() as asked:
        spared = chaos.rng.choice(chaos.tables)
        await asked.delete(f"dustup:{{{spared}}}:snap")
        if not chaos.doomed:
            return f"snapshot of {spared}"
        session, part = chaos.doomed.pop(), chaos.rng.choice(["log", "meta"])
        await asked.delete(f"dustup:{{{session}}}:{part}")
    chaos.history.evidence.gone[session] = now()
    await chaos.hold(0.2)
    return f"snapshot of {spared}, {part} of {session}"


FAULTS: dict[str, Fault] = {
    one.__name__.replace("_", "-"): one
    for one in (
        kill_node,
        drain_node,
        stop_node,
        restart_redis,
        stop_redis,
        lose_replies,
        cut_node,
        failover,
        failover_outgrown,
        failover_split,
        restart_everything,
        jump_clock,
        fill_disk,
        delete_keys,
    )
}
"""Every fault by its name in the report and in docs/faults.md."""
