"""Bringing an exported table back: checked first, written then, and never with dice that anyone has seen before.

An import is a new table. It gets an id of its own unless the host asks for one, an entry that says where it came from, an epoch and dice
of its own, and no person on any seat: a name from another server means nobody here.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable
from typing import Final

from msgspec.structs import replace

import engine
from engine import SYSTEM, Act, Change, Entry, Event, SeededDice, Session
from engine.commands import Extend, NewDice, Upgrade
from server import ids
from server.exports import Export, bodies_of
from server.logs import get_logger
from server.sessions.actor import Actor
from server.sessions.registry import Registry
from server.store import Commit, Store
from server.verify import verify_export

log = get_logger("import")

TOGETHER: Final = 200
"""Entries handed to the store at once."""


class ImportRefused(Exception):
    """An export that is not taken. Nothing was changed. `code` is one of the protocol's, `text` a sentence for people."""

    def __init__(self, text: str, code: str = "bad_command") -> None:
        super().__init__(text)
        self.text: Final = text
        self.code: Final = code


async def import_session(registry: Registry, export: Export, *, session_id: str | None = None) -> Actor:
    """Make a live table of an export, under a fresh id unless `session_id` names one that is free.

    The whole log is executed again first (in a thread). With the host's secret in the export its old dice can still be checked; the new
    ones have a new epoch in any case. Raises ImportRefused, and then nothing was changed, or StoreUnavailable.
    """
    new_id = session_id or ids.session_id()
    if not ids.is_id(new_id):
        raise ImportRefused(f"A table cannot be called {new_id[:64]!a}: use {ids.ALLOWED}.")
    report = await asyncio.to_thread(verify_export, export)
    if report.verdict == "differs":
        raise ImportRefused(f"This export does not hold together: {report.difference}.")
    rules, commits, secret = _written(registry, export, new_id)
    first, rest = commits[0], commits[1:]
    made = await registry.store.create(first, seed=secret)
    if made.status != "ok":
        raise ImportRefused(f"There is a table {new_id} here already; leave the id out to import a copy under a new one.")
    try:
        await _append(registry.store, rest)
    except BaseException:
        # Half a table is none. Should this fail too, it lies under an id that nobody was told.
        await asyncio.shield(registry.store.delete(new_id))
        raise
    actor = await registry.get(new_id)
    await registry.store.set_due(new_id, engine.due(actor.session))
    log.info("session imported", session=new_id, was=export.header.session, ruleset=rules.name, v=actor.session.v)
    return actor


async def _append(store: Store, commits: list[Commit]) -> None:
    for at in range(0, len(commits), TOGETHER):
        for answer in await asyncio.gather(*(store.commit(one) for one in commits[at : at + TOGETHER])):
            if answer.status != "ok":
                raise ImportRefused(f"The store did not take the log ({answer.status}); nothing was kept. Try again.")


def _written(registry: Registry, export: Export, new_id: str) -> tuple[engine.Ruleset, list[Commit], bytes]:
    """Every commit of the import, in order. Raises ImportRefused."""
    now = registry.clock.now_ms()
    try:
        rules = engine.ruleset(export.header.ruleset)
        session = engine.replay(rules, export.entries, epoch=export.epoch)
        if not any(seat.role == "gm" for seat in session.seats.values()):
            raise ImportRefused("The table of this export has no GM.")
        epoch = ids.epoch()
        secret = export.seed or os.urandom(32)
        entries = list(_added(rules, session, export, new_id, epoch, secret, now))
        after = entries[-1][0]
    except engine.Rejected as refusal:
        raise ImportRefused(refusal.text, refusal.code) from None
    except engine.LogError as problem:
        raise ImportRefused(f"The log cannot be followed: {problem}.") from None
    due = engine.due(after)
    meta = (
        ("ruleset", rules.name),
        ("epoch", epoch),
        ("epochs", " ".join(export.header.epochs or (export.epoch,)) if export.seed else ""),
        ("name", export.header.name),
        ("created", str(export.header.created)),
        ("imported", str(now)),
        ("due", "" if due is None else str(due)),
    )
    commits: list[Commit] = []
    base = ""
    raw = [*export.raw, *(engine.encode_entry(entry) for _, entry in entries)]
    for entry, data in zip((*export.entries, *(entry for _, entry in entries)), raw, strict=True):
        client, _, n = entry.id.rpartition(".")
        # The store takes a first entry whose stamp it has already for the same request sent twice, and says yes. With a mark of its own an
        # import is never mistaken for the table it was exported from.
        stamp = entry.stamp if entry.v > 1 else ids.stamp()
        texts = tuple((text_id, stored) for text_id in bodies_of(entry) if (stored := export.stored_text(text_id)) is not None)
        commits.append(
            Commit(
                session=new_id,
                base_v=entry.v - 1,
                base_stamp=base,
                v=entry.v,
                stamp=stamp,
                entry=data,
                client=f"{entry.by}/{client}" if client else None,
                n=int(n) if client else 0,
                snapshot=engine.encode_snapshot(after) if entry.v == after.v else None,
                meta=meta if entry.v == 1 else (),
                texts=texts,
            )
        )
        base = stamp
    return rules, commits, secret


def _added(
    rules: engine.Ruleset, session: Session, export: Export, new_id: str, epoch: str, secret: bytes, now: int
) -> Iterable[tuple[Session, Entry]]:
    """The entries that make an exported log this server's: where it came from, what moves its deadlines, and new dice."""
    header = session.header
    origin = {"session": header.session, "v": session.v, "stamp": session.stamp, "epoch": export.epoch}
    changes = [Change("=", "header", "header", {"session": new_id})]
    changes += [Change("=", "seats", seat.id, {"person": "", "since": session.v + 1}) for seat in session.seats.values()]
    imported = Entry(
        v=session.v + 1,
        at=now,
        by=SYSTEM,
        stamp=ids.stamp(),
        kind="imported",
        command={"type": "system.import", **origin},
        events=(Event("session.imported", f"This table was imported as it was at version {session.v}.", {"from_v": session.v}),),
        changes=tuple(changes),
        schema=(header.schema, header.ruleset_schema),
        version=f"{header.engine}/{header.ruleset_version}",
        sight=True,
    )
    session = replace(engine.evolve(rules, session, imported), epoch=epoch)
    yield session, imported
    commands: list[object] = [Upgrade()] if engine.needs_upgrade(rules, session) else []
    away = now - (export.header.exported or export.entries[-1].at)
    if engine.due(session) is not None and away > 0:
        commands.append(Extend(ms=away))
    commands.append(NewDice(reason="the log was imported"))
    dice = SeededDice(secret, epoch)
    for command in commands:
        act = Act(by=SYSTEM, command=command, stamp=ids.stamp())
        session, entry = engine.apply(rules, session, act, now_ms=now, dice=dice)
        yield session, entry
