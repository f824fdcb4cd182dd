"""Weighs what clients saw against the logs that are left, and names everything that should not be. It trusts nothing it can work out.

The promises, each with the kind of `Wrong` that its breach gives:

lost         an acknowledged action is in the log, unless its primary was lost and its ack promised less than that (Loss, `replicas:n`)
doubled      no action is in the log twice, acknowledged or not; no deadline fires twice
moved        an acknowledged action is at the version that was said, every time it was said
invented     nothing is in the log that no client sent; nothing that was sent once and refused
reordered    what was acknowledged, or seen, before another action was sent comes before it in the log
forked       everything a client saw in the log's final epoch is in the log, with the same stamp
gap          versions go 1, 2, 3 without a gap; clients get every one, in order, none twice; resuming never leads back
untold       on one connection the frame of an action comes before its ack
view         every client ends with exactly the view that the log leads to, in the log's epoch
audit        the log re-executes, and its dice fit their commitments
undead       a table whose keys were deleted acknowledges nothing new
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

import engine
from tests.chaos.history import Acked, Broken, Event, Evidence, Log, Refused, Saw, Sent, Unsure, View

SETTLE_S = 1.0
"""A command that was under way when keys were deleted may still be acknowledged for so long."""


class Wrong(msgspec.Struct, frozen=True):
    """One broken promise."""

    kind: str
    session: str
    text: str

    def __str__(self) -> str:
        return f"{self.kind}: table {self.session}: {self.text}"


class Verdict(msgspec.Struct, kw_only=True):
    """What the checker found. `excused`: acknowledged actions that a lost primary took with it and that had not been promised more,
    by durability label. `exposed`: rolls made on a log that had lost entries before any node noticed, with dice that the lost entries may
    have shown. The other figures are counts of actions."""

    wrong: list[Wrong] = []
    sent: int = 0
    acked: int = 0
    again: int = 0
    refused: int = 0
    unsure: int = 0
    entries: int = 0
    rolls: int = 0
    epochs: int = 0
    exposed: int = 0
    excused: dict[str, int] = {}
    durability: dict[str, int] = {}

    def of(self, kind: str) -> list[Wrong]:
        return [one for one in self.wrong if one.kind == kind]


def check(evidence: Evidence) -> Verdict:
    """Weigh all the evidence of a run."""
    verdict = Verdict()
    by_session: dict[str, list[Event]] = defaultdict(list)
    for event in evidence.events:
        by_session[event.session].append(event)
    views: dict[str, list[View]] = defaultdict(list)
    for view in evidence.views:
        views[view.session].append(view)
    _count(evidence, verdict)
    for session, events in by_session.items():
        if session in evidence.gone:
            verdict.wrong += _undead(session, events, evidence.gone[session])
            continue
        log = evidence.logs.get(session)
        if log is None:
            verdict.wrong.append(Wrong("lost", session, "the whole table is gone"))
            continue
        verdict.wrong += _Table(session, log, events, views[session], evidence, verdict).wrong()
    verdict.wrong += [Wrong("audit", session, said) for session, said in evidence.audits.items() if said]
    return verdict


def _count(evidence: Evidence, verdict: Verdict) -> None:
    sent, acked, refused = set(), set(), set()
    labels: Counter[str] = Counter()
    for event in evidence.events:
        if isinstance(event, Sent):
            sent.add((event.session, event.client, event.id))
        elif isinstance(event, Acked):
            acked.add((event.session, event.client, event.id, event.v))
            labels[event.durability or "again"] += 1
            verdict.again += event.again
        elif isinstance(event, Refused):
            refused.add((event.session, event.client, event.id))
        elif isinstance(event, Unsure):
            verdict.unsure += event.final
    verdict.sent, verdict.acked, verdict.refused = len(sent), len(acked), len(refused)
    verdict.durability = dict(sorted(labels.items()))


def _undead(session: str, events: list[Event], gone_at: float) -> Iterator[Wrong]:
    first: dict[str, float] = {}
    for event in events:
        if isinstance(event, Sent):
            first.setdefault(event.id, event.at)
        elif isinstance(event, Acked) and first.get(event.id, 0.0) > gone_at + SETTLE_S:
            yield Wrong("undead", session, f"{event.id} was acknowledged after the keys were deleted")


class _Table:
    """The evidence about one table."""

    def __init__(
        self, session: str, log: Log, events: list[Event], views: list[View], evidence: Evidence, verdict: Verdict
    ) -> None:  # fmt: skip
        self.session, self.log, self.events, self.views, self.evidence, self.verdict = session, log, events, views, evidence, verdict
        self.entries = [engine.decode_entry(data) for _, _, data in log.rows]
        self.stamps = {v: stamp for v, stamp, _ in log.rows}
        self.place: dict[tuple[str, str], int] = {}
        """(seat, action id) -> version, of everything in the log."""
        for entry in self.entries:
            if entry.id:
                self.place.setdefault((entry.by, entry.id), entry.v)
        verdict.entries += len(self.entries)
        verdict.rolls += sum(len(entry.rolls) for entry in self.entries)
        verdict.epochs += 1 + sum(entry.kind == "dice" for entry in self.entries)

    def wrong(self) -> Iterator[Wrong]:
        for kind, text in (
            *self._log_alone(),
            *self._acknowledged(),
            *self._sent(),
            *self._in_order(),
            *self._seen(),
            *self._connections(),
            *self._final(),
        ):
            yield Wrong(kind, self.session, text)

    # --- the log alone ----------------------------------------------------------------------------------------------------

    def _log_alone(self) -> Iterator[tuple[str, str]]:
        done: set[tuple[str, str]] = set()
        fired: set[str] = set()
        for expected, ((v, stamp, _), entry) in enumerate(zip(self.log.rows, self.entries, strict=True), 1):
            if v != expected or entry.v != v:
                yield "gap", f"version {v} (its entry says {entry.v}) stands where {expected} belongs"
            if entry.stamp != stamp:
                yield "forked", f"version {v} has stamp {stamp} in the stream and {entry.stamp} in the entry"
            if entry.id and (entry.by, entry.id) in done:
                yield "doubled", f"{entry.id} of {entry.by} is in the log again at {v}"
            done.add((entry.by, entry.id))
            for event in entry.events:
                if event.type == "deadline.passed" and (prompt := event.data.get("prompt")):
                    if prompt in fired:
                        yield "doubled", f"the deadline of {prompt} passed again at {v}"
                    fired.add(prompt)

    # --- acknowledged, and the rest that was sent -------------------------------------------------------------------------

    def _acknowledged(self) -> Iterator[tuple[str, str]]:
        promised: dict[tuple[str, str], set[str]] = defaultdict(set)
        for ack in self._of(Acked):
            promised[ack.seat, ack.id].add(ack.durability)
        excused: dict[tuple[str, str, int], str] = {}
        for ack in self._of(Acked):
            where = self._where(ack)
            if where == ack.v:
                continue
            # Lost with a primary and then done anew by a re-send, or lost for good.
            labels = promised[ack.seat, ack.id]
            if self._excusable(ack) and not any(label.startswith("replicas:") for label in labels):
                excused[ack.seat, ack.id, ack.v] = ack.durability or "again"
            elif where is None:
                yield "lost", f"{ack.id} of {ack.seat}, acknowledged as {ack.v} ({ack.durability or 'again'}), is not in the log"
            else:
                yield "moved", f"{ack.id} of {ack.seat} was acknowledged as {ack.v} and is at {where}"
        for label in excused.values():
            self.verdict.excused[label] = self.verdict.excused.get(label, 0) + 1

    def _where(self, ack: Acked) -> int | None:
        """The version of an acknowledged action, if the log has it."""
        if not ack.id.endswith("."):
            return self.place.get((ack.seat, ack.id))
        entry = self.entries[ack.v - 1] if 0 < ack.v <= len(self.entries) else None
        return ack.v if entry is not None and entry.by == ack.seat and entry.id.startswith(ack.id) else None

    def _sent(self) -> Iterator[tuple[str, str]]:
        times = Counter((event.seat, event.id) for event in self._of(Sent))
        kinds = {(event.seat, event.id): event.kind for event in self._of(Sent)}
        refused = {(event.seat, event.id) for event in self._of(Refused)}
        libraries = tuple(event.id for event in self._of(Acked) if event.id.endswith("."))
        for entry in self.entries:
            if not entry.id or (libraries and entry.id.startswith(libraries)):
                continue
            key = (entry.by, entry.id)
            if key not in times:
                yield "invented", f"version {entry.v}: nobody sent {entry.id} as {entry.by}"
            elif key in refused and times[key] == 1:
                yield "invented", f"version {entry.v}: {entry.id} was refused, and is done"
            elif isinstance(entry.command, dict) and entry.command.get("type", kinds[key]) != kinds[key]:
                yield "invented", f"version {entry.v}: {entry.id} was sent as {kinds[key]} and done as {entry.command['type']}"

    # --- order ------------------------------------------------------------------------------------------------------------

    def _in_order(self) -> Iterator[tuple[str, str]]:
        """Real time: the newest version anybody knew of when an action was first sent lies below that action."""
        known, first = 0, dict[tuple[str, str], int]()
        for event in self.events:
            if isinstance(event, Sent):
                key = (event.seat, event.id)
                if key in first:
                    continue
                first[key] = known
                v = self.place.get(key)
                if v is not None and v <= known:
                    yield "reordered", f"{event.id} of {event.seat} is at {v}, though {known} was known before it was sent"
            elif isinstance(event, Acked) and not self._excusable(event):
                known = max(known, self._where(event) or 0)
            elif isinstance(event, Saw) and self.stamps.get(event.v) == event.stamp:
                known = max(known, event.v)

    def _excusable(self, event: Acked | Saw) -> bool:
        """Whether a primary was being lost while this was told."""
        since = event.since if isinstance(event, Acked) and event.since is not None else event.at
        return any(loss.session in ("", self.session) and loss.start <= event.at and since <= loss.end for loss in self.evidence.losses)

    def _seen(self) -> Iterator[tuple[str, str]]:
        told: set[tuple[int, str]] = set()
        forks: dict[str, int] = {}
        for saw in self._of(Saw):
            if saw.epoch != self.log.epoch and self.stamps.get(saw.v) != saw.stamp:
                forks[saw.epoch] = min(saw.v, forks.get(saw.epoch, saw.v))
            if saw.epoch == self.log.epoch and self.stamps.get(saw.v) != saw.stamp and (saw.v, saw.stamp) not in told:
                told.add((saw.v, saw.stamp))
                there = self.stamps.get(saw.v, "nothing")
                yield "forked", f"{saw.client} saw {saw.v} as {saw.stamp} in the final epoch; the log has {there}"
        for fork in forks.values():
            for entry in self.entries[fork - 1 :]:
                if entry.kind == "dice":
                    break
                self.verdict.exposed += len(entry.rolls)

    def _connections(self) -> Iterator[tuple[str, str]]:
        """What one client was told, in the order it was told."""
        stands: dict[str, Saw] = {}
        for event in self.events:
            before = stands.get(event.client)
            if isinstance(event, Broken):
                yield "gap", f"{event.client}: {event.what}"
            elif isinstance(event, Saw):
                if before is not None and event.epoch == before.epoch:
                    if event.how == "frame" and event.v != before.v + 1:
                        yield "gap", f"{event.client} got {event.v} after {before.v}"
                    elif event.how != "frame" and event.v < before.v and not self._two_truths(event, before):
                        yield "gap", f"{event.client} was led back from {before.v} to {event.v} within one epoch"
                stands[event.client] = event
            elif isinstance(event, Acked) and not event.id.endswith(".") and (before is None or before.v < event.v):
                yield from self._untold(event, before)

    def _untold(self, ack: Acked, stood: Saw | None) -> Iterator[tuple[str, str]]:
        # While primaries are lost, a reset may lead back below an action that went with one of them.
        if not self._excusable(ack):
            yield "untold", f"{ack.client} got the ack of {ack.v} while it stood at {stood.v if stood else 'nothing'}"

    def _two_truths(self, saw: Saw, stood: Saw) -> bool:
        """Whether a client was led back because there were two logs at that time, or because it stood on an entry that a lost primary took
        with it: a node that never had it leads the client back, and the new epoch comes when a node that did looks at the log."""
        if self._excusable(saw):
            return True
        return bool(self.evidence.losses) and stood.epoch != self.log.epoch and self.stamps.get(stood.v) != stood.stamp

    # --- the end ----------------------------------------------------------------------------------------------------------

    def _final(self) -> Iterator[tuple[str, str]]:
        if not self.entries:
            yield "lost", "the log is empty"
            return
        rules = engine.ruleset(engine.header_of(self.entries[0]).ruleset)
        try:
            session = engine.replay(rules, self.entries, epoch=self.log.epoch)
        except Exception as problem:
            yield "audit", f"the log cannot be followed: {type(problem).__name__}: {problem}"
            return
        for final in self.views:
            if (final.epoch, final.v, final.stamp) != (self.log.epoch, session.v, session.stamp):
                stands = f"{final.epoch}, {final.v}, {final.stamp}"
                yield "view", f"{final.client} ended at {stands}; the log at {self.log.epoch}, {session.v}, {session.stamp}"
                continue
            shown = _plain(engine.view(rules, session, engine.sight_of(session, final.seat)))
            mine = _plain(final.view)
            if shown != mine:
                yield "view", f"{final.client} on {final.seat} shows {_first_difference(mine, shown)}"

    def _of(self, kind: type[Any]) -> Iterable[Any]:
        return (event for event in self.events if isinstance(event, kind))


def _plain(view: Any) -> dict[str, Any]:
    """A view as it comes over the wire, without kinds that hold nothing."""
    return {kind: entities for kind, entities in msgspec.msgpack.decode(msgspec.msgpack.encode(view)).items() if entities}


def _first_difference(mine: dict[str, Any], shown: dict[str, Any]) -> str:
    for kind in sorted({*mine, *shown}):
        here, there = mine.get(kind, {}), shown.get(kind, {})
        for id in sorted({*here, *there}):
            if here.get(id) != there.get(id):
                return f"{kind} {id}: {here.get(id)!r:.200} instead of {there.get(id)!r:.200}"
    return "nothing different"
