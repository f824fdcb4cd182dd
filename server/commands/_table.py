"""A ready table, pilots on its seats over the real socket, and the check of the dice they rolled: what `demo` and `run` share."""

from __future__ import annotations

import asyncio
import hashlib
import random
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any, Final

import dustup
import engine
from dustup.pilot import FightOver, Pilot
from engine.setup import SeatSetup
from server import ids
from server.app import Server
from server.commands import _stranger
from server.commands._errors import Failure
from server.store import Commit

Message = Mapping[str, Any]
Tell = Callable[[Message], object]

WATCHER: Final = "watcher"
"""The spectator through whose eyes a demo is told: it is sent what any stranger would be sent, and no more."""

DEFAULT_RULESET: Final = "duel"
"""What a first look shows: the smallest one."""
DAY_MS: Final = 24 * 3_600_000
LONGEST_FIGHT_S: Final = 600
LONGEST_FIGHT_V: Final = 20_000
PAGE: Final = 500


def samples(rules: engine.Ruleset) -> dict[str, str]:
    """The ready tables of a ruleset: {name: what it is}."""
    return dict(rules.samples)


def pick(ruleset: str, sample: str = "") -> tuple[engine.Ruleset, str]:
    """A ruleset by name ("": the default) and one of its ready tables ("": the first).

    Raises Rejected, or Failure naming the tables there are.
    """
    rules = engine.ruleset(ruleset or DEFAULT_RULESET)
    known = samples(rules)
    if not known:
        raise Failure(f"The ruleset {ruleset} brings no ready table to play; choose another with --ruleset.")
    if sample and sample not in known:
        raise Failure(f"The ruleset {ruleset} has no ready table {sample[:64]!r}; it has: {', '.join(known)}.")
    return rules, sample or next(iter(known))


def others(ruleset: str) -> list[str]:
    """Every other installed ruleset that brings a ready table."""
    return [name for name in engine.names() if name != ruleset and samples(engine.ruleset(name))]


async def make_table(server: Server, setup: engine.Setup, seed: int | None = None) -> str:
    """A new table; returns its session id. With a `seed` its dice are the same every time. Raises Rejected and StoreUnavailable."""
    if seed is None:
        return (await server.registry.create(setup)).id
    # As Registry.create, but with the secret and the lineage chosen beforehand: the two fix every die.
    rules = engine.ruleset(setup.ruleset)
    secret = hashlib.sha256(f"dustup demo {seed}".encode()).digest()
    epoch = secret.hex()[:16]
    session_id = ids.session_id()
    session, entry = engine.create(
        rules,
        setup,
        session_id=session_id,
        epoch=epoch,
        now_ms=server.clock.now_ms(),
        dice=engine.SeededDice(secret, epoch),
        stamp=ids.stamp(),
    )
    commit = Commit(
        session=session_id,
        base_v=0,
        base_stamp="",
        v=1,
        stamp=session.stamp,
        entry=engine.encode_entry(entry),
        snapshot=engine.encode_snapshot(session),
        meta=(("ruleset", rules.name), ("epoch", epoch), ("name", setup.name), ("created", str(server.clock.now_ms())), ("due", "")),
    )
    await server.store.create(commit, seed=secret)
    return (await server.registry.get(session_id)).id


def with_watcher(ruleset: str, sample: str, variant: str, name: str) -> engine.Setup:
    """The set-up of a ready table with a seat to watch it from."""
    watcher = SeatSetup(id=WATCHER, name="A watcher", role="spectator")
    return engine.Setup(ruleset=ruleset, sample=sample, variant=variant, name=name, seats=(watcher,))


async def sit(stack: AsyncExitStack, server: Server, session_id: str, seat: str, *, history: int = 0) -> dustup.Table:
    """Take a seat over the socket, as any client does, until `stack` closes."""
    token = await server.tokens.seat_token(session_id, seat, seat, DAY_MS)
    client = await stack.enter_async_context(dustup.connect(server.url, token))
    return await client.join(session_id, history=history)


async def start_encounter(gm: dustup.Table) -> None:
    """Have the GM start the fight of the first scene with somebody in it, unless one is on. Raises Failure when there is none."""
    if gm.view.get("encounters"):
        return
    inside = {each.get("scene") for each in gm.view.get("combatants", {}).values()}
    scene = next((scene for scene in gm.view.get("scenes", {}) if scene in inside), None)
    if scene is None:
        raise Failure("This table has no scene with anybody in it, so there is nothing to fight about.")
    await gm.do("gm.encounter", scene=scene)


EAGER: Final = 12.0
"""How much rather a pilot does what has odds (a strike, a test): fights that people watch should get somewhere."""


def eager_but_own(table: dustup.Table) -> Callable[[Message], float | None]:
    """A pilot's taste: eager, and it leaves other seats' characters alone. A GM may act for anybody, but people play their own."""

    def prefer(option: Message) -> float | None:
        theirs = {
            combatant
            for seat_id, seat in table.view.get("seats", {}).items()
            if seat_id != table.seat and seat.get("role") == "player"
            for combatant in seat.get("controls") or []
        }
        if option.get("combatant") in theirs or option["command"].get("combatant") in theirs:
            return 0.0
        return EAGER if option.get("odds") else None

    return prefer


@dataclass
class Fight:
    """A fight that was played: what the watcher was sent (oldest first), and how many actions and answers the pilots gave."""

    session: str
    frames: list[Message] = field(default_factory=list)
    actions: int = 0
    seats: int = 0


async def play_fight(server: Server, session_id: str, *, seed: int, think: float, tell: Tell) -> Fight:
    """Seat a pilot everywhere, play the fight to its end, and have the GM reveal every seed that was rolled with.

    `tell` gets each frame the watcher gets. Raises Failure when the fight does not end, and what the SDK raises.
    """
    fight = Fight(session_id)
    broken: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def heard(message: Message) -> None:
        fight.frames.append(message)
        if not broken.done():
            try:
                tell(message)
            except Exception as problem:  # kept for the one who waits: the SDK would only log what a callback raises
                broken.set_exception(problem)

    actor = await server.registry.get(session_id)
    roles = {seat.id: seat.role for seat in actor.session.seats.values()}
    async with AsyncExitStack() as stack:
        watcher = await sit(stack, server, session_id, WATCHER, history=200)
        for message in watcher.recent:
            heard(message)
        watcher.on_frame(heard)
        # Everybody sits down before anybody acts, so that a seeded fight goes the same way every time.
        tables = {seat: await sit(stack, server, session_id, seat) for seat, role in roles.items() if role != "spectator"}
        gm = next(tables[seat] for seat in tables if roles[seat] == "gm")
        fight.seats = len(tables)
        rng = random.Random(seed)
        for seat, table in tables.items():
            if roles[seat] == "player":
                # With a salt of each player in them, not even the host could have chosen these dice.
                await table.salt(f"{rng.getrandbits(64):016x}")
        await start_encounter(gm)
        await _let_pilots_play(tables, seed, think, fight, broken)
        for stream in ("open", "hidden"):
            try:
                await gm.do("gm.dice", do="reveal", stream=stream)
            except dustup.Refused as refusal:
                if refusal.code != "not_now":  # nothing was rolled with these dice: there is no seed to reveal
                    raise
        await watcher.wait_for(lambda _: watcher.v >= gm.v, timeout=30)
    if broken.done():
        broken.result()
    return fight


async def _let_pilots_play(tables: Mapping[str, dustup.Table], seed: int, think: float, fight: Fight, broken: asyncio.Future[None]) -> None:
    """Until every pilot sees the end of the fight. Raises what `broken` holds as soon as it holds something."""

    async def watch() -> None:
        await asyncio.shield(broken)

    async def play(number: int, table: dustup.Table) -> None:
        over = FightOver()
        pilot = Pilot(table, seed=seed * 1000 + number, think=think, prefer=eager_but_own(table))
        report = await pilot.run(until=lambda view: over(view) or table.v > LONGEST_FIGHT_V)
        fight.actions += report.actions + report.answers
        if table.view.get("encounters"):
            raise Failure(f"The fight did not end within {LONGEST_FIGHT_V} entries: the pilots do not get anywhere.")

    try:
        async with asyncio.timeout(LONGEST_FIGHT_S if think == 0 else None), asyncio.TaskGroup() as group:
            watching = group.create_task(watch())
            await asyncio.wait([group.create_task(play(number, table)) for number, table in enumerate(tables.values())])
            watching.cancel()
    except TimeoutError:
        raise Failure(f"The fight did not end within {LONGEST_FIGHT_S} seconds.") from None


@dataclass(frozen=True)
class Verdict:
    """What the check of a fight found. `ok` means: every die recomputed twice, every entry of the log executed again."""

    ok: bool
    line: str
    counts: dict[str, int]


async def verify_fight(server: Server, fight: Fight) -> Verdict:
    """Check the fight's whole log as `dustup verify` does, and its dice once more from what the watcher was sent."""
    actor = await server.registry.get(fight.session)
    entries: list[engine.Entry] = []
    while page := await server.store.entries(fight.session, len(entries), PAGE):
        entries += [engine.decode_entry(data) for _, data in page]
    return judge(actor.rules, entries, actor.session.epoch, _stranger.check(fight.frames))


def judge(rules: engine.Ruleset, entries: list[engine.Entry], epoch: str, seen: _stranger.Checked) -> Verdict:
    """One verdict from the log's audit and from what a stranger found."""
    audit = engine.audit(rules, entries, epoch=epoch)
    rolled = sum(len(entry.rolls) for entry in entries)
    in_the_open = sum(roll.stream == "open" for entry in entries for roll in entry.rolls)
    recomputed = audit.dice.checked if audit.dice is not None else 0
    counts = {
        "entries": len(entries),
        "executed": audit.executed,
        "rolls": rolled,
        "rolls_audited": recomputed,
        "rolls_seen_and_recomputed": seen.rolls,
        "dice_recomputed": seen.dice,
    }
    if audit.difference is not None:
        one = audit.difference
        return Verdict(False, f"DIFFERS at entry {one.v}, {one.what}: expected {one.expected}, found {one.found}.", counts)
    if audit.dice is not None and audit.dice.difference is not None:
        die = audit.dice.difference
        where = f"roll {die.n} of the {die.stream} dice" if die.n else f"the {die.stream} dice"
        return Verdict(False, f"DIFFERS at {where}, {die.what}: expected {die.expected}, found {die.found}.", counts)
    if seen.difference:
        return Verdict(False, f"DIFFERS for a stranger: {seen.difference}.", counts)
    if audit.verdict != "ok" or seen.waiting or recomputed != rolled or seen.rolls < in_the_open:
        return Verdict(
            False,
            f"NOT FULLY CHECKED: {recomputed} of {rolled} rolls audited, {seen.rolls} of {in_the_open} open ones recomputed from what "
            f"a spectator saw ({seen.waiting} wait for a seed), {audit.executed} of {len(entries)} entries executed again.",
            counts,
        )
    return Verdict(
        True,
        f"Dice verified: all {rolled} rolls fit the seeds committed to beforehand, and {seen.rolls} of them ({seen.dice} dice) were "
        f"recomputed a second time from what a spectator saw; all {audit.executed} log entries executed again, byte for byte.",
        counts,
    )
