"""One run: a world, its tables and clients, a seeded plan of faults, and at the end the evidence, the verdict and the figures."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aiohttp
import msgspec

import engine
from engine.rulesets.duel import RULES
from server.store.redis import RedisStore
from server.verify import verify_session
from tests.chaos.balancer import Balancer
from tests.chaos.checker import Verdict, check
from tests.chaos.faults import FAULTS, Chaos
from tests.chaos.history import Acked, Evidence, History, Log, now
from tests.chaos.library import LibraryPlayer
from tests.chaos.player import Player
from tests.chaos.world import World

MODES = ("everysec", "always", "replicas=1")
RECOVERY_LIMIT_S = 20.0
CATCH_UP_S = 40.0
"""A lost hint costs 20 s; then a view must have caught up."""

SETUP: dict[str, Any] = {
    "ruleset": "duel",
    "seats": [{"id": "gm", "role": "gm"}, {"id": "ann"}, {"id": "ben"}],
    "scenes": [{"id": "ring", "zones": [{"id": "z", "name": "the ring"}]}],
    "combatants": [
        {
            "id": f"f{n}",
            "side": "xy"[n % 2],
            "scene": "ring",
            "zone": "z",
            "seat": seat,
            "fields": {"hp": 1000, "max_hp": 1000, "armor": 20, "weapon": "sling", "speed": 20 - n, "grit": 5},
        }
        for n, seat in enumerate(("ann", "ben", "", "ann"))
    ],
    "encounter": "ring",
    "settings": {"deadline.prompt": 1, "deadline.turn": 1},
}
"""A duel that lasts: everybody in reach, more HP than a run can take away, and a minute for every answer and turn."""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What a run is. `faults`: names in order, as many as begin within `seconds` of play; `hold_s`: how long a fault lasts on average;
    `doomed` tables are there to lose their keys; at `libraries` tables the SDK plays. `seed` decides all the rest."""

    seed: int
    mode: str
    faults: tuple[str, ...]
    seconds: float = 3600.0
    nodes: int = 3
    tables: int = 8
    doomed: int = 1
    clients: int = 4
    libraries: int = 1
    pace_s: float = 0.6
    hold_s: float = 1.5
    rest_s: float = 0.8


class Happened(msgspec.Struct, kw_only=True):
    """One fault: when it began, was mended and ended (seconds since the run began), and where.

    `recovered_s`: from mended to the next acknowledgement of anything; `all_s`: until every table had one, None when the
    next fault came before that; `silence_s`: the longest time without any while it lasted.
    """

    fault: str
    began: float
    mended: float = 0.0
    ended: float = 0.0
    where: str = ""
    recovered_s: float | None = None
    all_s: float | None = None
    silence_s: float = 0.0


class Result(msgspec.Struct, kw_only=True):
    """A run's figures. `failures`: everything that should not have been, faults that did not end included."""

    plan: Plan
    verdict: Verdict
    faults: list[Happened]
    failures: list[str]
    seconds: float


Say = Callable[[str], None]


async def run(plan: Plan, folder: Path, say: Say = print) -> Result:
    """Play, break, mend, settle, judge. What clients saw and the servers' logs stay in `folder`."""
    engine.register(RULES)
    rng = random.Random(f"{plan.seed} faults")
    history = History()
    began = now()
    faults: list[Happened] = []
    failures: list[str] = []
    async with World(folder, nodes=plan.nodes, durability=plan.mode) as world, contextlib.AsyncExitStack() as stack:
        http = await stack.enter_async_context(aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)))
        balancer = await stack.enter_async_context(Balancer(world.urls))
        stage = Stage(plan, world, history, http, balancer)
        await stage.set_up()
        say(f"{now() - began:6.1f} s  {plan.nodes} nodes, {len(stage.tables)} tables, {len(stage.players)} clients, {plan.mode}")
        over, playing_since = asyncio.Event(), now()
        playing = [asyncio.create_task(player.play(over)) for player in stage.players]
        await asyncio.sleep(plan.rest_s)
        spared = stage.tables[: len(stage.tables) - plan.doomed]
        chaos = Chaos(world, history, spared, stage.tables[len(spared) :], rng, hold_s=plan.hold_s)
        for name in plan.faults:
            if now() - playing_since > plan.seconds:
                break
            happened = Happened(fault=name, began=now() - began)
            faults.append(happened)
            chaos.mended_at = 0.0
            try:
                happened.where = await FAULTS[name](chaos)
                happened.ended = now() - began
                happened.mended = (chaos.mended_at or now()) - began
                await stage.recovered(began + happened.mended)
            except Exception as problem:
                failures.append(f"{name} at {happened.began:.1f} s: {type(problem).__name__}: {problem}")
                say(f"{happened.began:6.1f} s  {name} FAILED: {type(problem).__name__}: {problem}")
                break
            say(f"{happened.began:6.1f} s  {name}: {happened.where}, {happened.mended - happened.began:.1f} s")
            await asyncio.sleep(rng.uniform(0.5, 1.5) * plan.rest_s)
        over.set()
        failures += await ended(playing)
        if not failures:
            failures += await stage.settle()
        try:
            await stage.gather_evidence()
        except Exception as problem:
            failures.append(f"the logs cannot be read: {type(problem).__name__}: {problem}")
    measure(faults, history.evidence, began)
    verdict = check(history.evidence)
    failures += [str(one) for one in verdict.wrong]
    if failures:
        (folder / "history.json").write_bytes(msgspec.json.encode(history.evidence.events))
        (folder / "failures.txt").write_text("\n".join(failures) + "\n")
    return Result(plan=plan, verdict=verdict, faults=faults, failures=failures, seconds=round(now() - began, 1))


async def ended(playing: list[asyncio.Task[None]]) -> list[str]:
    """Let every client finish the action it is at. What went wrong with any."""
    _, late = await asyncio.wait(playing, timeout=CATCH_UP_S)
    for task in late:
        task.cancel()
    outcomes = await asyncio.gather(*playing, return_exceptions=True)
    wrong = [f"a client failed: {type(one).__name__}: {one}" for one in outcomes if isinstance(one, Exception)]
    return [*wrong, f"{len(late)} clients got no answer to their last action within {CATCH_UP_S:.0f} s"] if late else wrong


class Stage:
    """The tables of a run and who plays at them."""

    def __init__(self, plan: Plan, world: World, history: History, http: aiohttp.ClientSession, balancer: Balancer) -> None:
        self.plan, self.world, self.history, self._http, self._balancer = plan, world, history, http, balancer
        self.tables: list[str] = []
        self.players: list[Player | LibraryPlayer] = []
        self._acks: list[float] = []
        self._acked = asyncio.Event()
        history.on_ack.append(self._heard)

    async def set_up(self) -> None:
        """Make the tables and everybody who plays: raw clients at most tables; at the first ones the library's, through a balancer."""
        for number in range(self.plan.tables + self.plan.doomed):
            made = await self._post("/v1/sessions", SETUP)
            session = made["session"]
            self.tables.append(session)
            tokens = {"gm": made["token"]}
            for seat in ("ann", "ben"):
                tokens[seat] = (await self._post("/v1/invites/redeem", {"code": made["seats"][seat]["invite"]}))["token"]
            if number < self.plan.libraries:
                self.players += [
                    LibraryPlayer(self.history, self._balancer.url, session, seat, token, f"{self.plan.seed} {number} {seat}")
                    for seat, token in tokens.items()
                ]
            else:
                self._seat(session, number, tokens)

    def _seat(self, session: str, number: int, tokens: dict[str, str]) -> None:
        at_seat: dict[str, Player] = {}
        for place in range(self.plan.clients):
            seat = ("ann", "ben", "gm")[place % 3]
            name = f"t{number}c{place}"
            player = Player(self._http, self.history, self.world.urls, session, seat, tokens[seat], name, f"{self.plan.seed} {name}")
            player.pace_s = self.plan.pace_s
            if seat in at_seat:
                player.twin, at_seat[seat].twin = at_seat[seat], player
            at_seat[seat] = player
            self.players.append(player)

    async def _post(self, path: str, body: Any) -> dict[str, Any]:
        async with self._http.post(self.world.urls[0] + path, json=body) as answer:
            told: dict[str, Any] = await answer.json()
            assert answer.status in (200, 201), told
            return told

    def _heard(self, ack: Acked) -> None:
        self._acks.append(ack.at)
        self._acked.set()

    async def recovered(self, mended: float) -> None:
        """Wait for an acknowledgement after `mended`. Raises TimeoutError when play does not go on."""
        async with asyncio.timeout(RECOVERY_LIMIT_S):
            while not self._acks or self._acks[-1] < mended:
                self._acked.clear()
                await self._acked.wait()

    async def settle(self) -> list[str]:
        """Everything is mended: one last word at every table, then every client must catch up with it. What did not."""
        gone = self.history.evidence.gone
        rest = [session for session in self.tables if session not in gone]
        first = {session: next(player for player in self.players if player.session == session) for session in rest}
        async with asyncio.timeout(CATCH_UP_S):
            last = dict(zip(rest, await asyncio.gather(*(first[session].say("the end") for session in rest)), strict=True))

        async def catch_up(player: Player | LibraryPlayer) -> str:
            try:
                await player.catch_up(last[player.session], CATCH_UP_S)
            except TimeoutError:
                return f"view: {player.name} at {player.session} stayed at {player.v}, the log is at {last[player.session]}"
            return ""

        staying = [player for player in self.players if player.session in last]
        return [said for said in await asyncio.gather(*map(catch_up, staying)) if said]

    async def gather_evidence(self) -> None:
        """Read the logs, the views, and what the audit says; then everybody leaves."""
        evidence = self.history.evidence
        evidence.views = [player.final() for player in self.players if player.session not in evidence.gone]
        for player in self.players:
            await player.hang_up()
        store = RedisStore(self.world.primary.unix_url)
        await store.start()
        try:
            async with self.world.ask() as connection:
                asked: Any = connection  # redis-py annotates every answer as anything it might be with other settings
                for session in self.tables:
                    if session in evidence.gone:
                        continue
                    rows = await asked.xrange(f"dustup:{{{session}}}:log")
                    epoch = await asked.hget(f"dustup:{{{session}}}:meta", "epoch")
                    evidence.logs[session] = Log(
                        epoch=(epoch or b"").decode(), rows=[(int(id.split(b"-")[0]), row[b"s"].decode(), row[b"e"]) for id, row in rows]
                    )
                    try:
                        evidence.audits[session] = (await verify_session(store, session)).difference
                    except Exception as problem:
                        evidence.audits[session] = f"it cannot be made: {type(problem).__name__}: {problem}"
        finally:
            await store.close()


def measure(faults: list[Happened], evidence: Evidence, began: float) -> None:
    """Work out from the evidence how long each fault was felt."""
    acks = [(event.at - began, event.session) for event in evidence.events if isinstance(event, Acked) and not event.again]
    living = {session for _, session in acks} - set(evidence.gone)
    for happened, following in zip(faults, [*faults[1:], None], strict=True):
        if not happened.mended:
            continue
        after: dict[str, float] = {}
        last = happened.began
        for at, session in acks:
            if at >= happened.mended and (following is None or at < following.began):
                after.setdefault(session, at - happened.mended)
            if happened.began <= at and last <= happened.mended:
                happened.silence_s = round(max(happened.silence_s, at - last), 2)
                last = at
        took = [after[session] for session in living if session in after]
        happened.recovered_s = round(min(took), 2) if took else None
        happened.all_s = round(max(took), 2) if len(took) == len(living) else None
