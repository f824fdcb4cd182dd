"""The check of a whole log: versions, changes, commands executed again, every die against its commitment, every text against its hash.

One report for people and programs, whether the log comes from an export file or from the host's own store.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable
from typing import Literal

import msgspec

import engine
from engine import Audit, Entry
from server.exports import Export, bodies_of, header_for, held_reveals, read_pages
from server.sessions.actor import load
from server.store import Store

Progress = Callable[[int], None]
MARKERS = {"imported": {"header", "seats"}, "upgraded": {"header"}}
"""Entries that no command made: what kinds of entities each may change, and so cannot hide anything in."""


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What the check of a log found.

    `verdict`: ok (everything was checked and holds), differs (`difference` is the first thing that does not hold), or unchecked
    (all that can be checked holds, but some dice wait for their seed or some entries come from another version). Counts are of entries,
    rolls and texts; `waiting` rolls have an unrevealed seed, `unproven` ones were entered by players.
    """

    session: str
    verdict: Literal["ok", "differs", "unchecked"]
    lines: tuple[str, ...]
    difference: str = ""
    entries: int = 0
    executed: int = 0
    skipped: int = 0
    dice_checked: int = 0
    dice_unproven: int = 0
    dice_waiting: int = 0
    texts_checked: int = 0
    texts_erased: int = 0

    @property
    def exit_code(self) -> int:
        """1 when something differs, else 0: dice that wait for their seed are no failure, and the lines say so."""
        return 1 if self.verdict == "differs" else 0


def verify_export(export: Export, *, progress: Progress | None = None) -> Report:
    """Check an export with the seeds it reveals (and the secret, when it brings one). Never raises for what the log holds.

    `progress` is called with the number of entries done. Takes about as long as playing the log did; run it in a thread.
    """
    return _report(export, lambda rules: _audit(rules, export, progress))


async def verify_session(store: Store, session_id: str, progress: Progress | None = None) -> Report:
    """Check a session of one's own store, with the seeds the host holds, and the stored state against the log.

    `progress` is called from another thread. Raises ExportError when there is no such session, StoreUnavailable.
    """
    header = await header_for(store, session_id)
    raw: list[bytes] = []
    entries: list[Entry] = []
    texts: dict[str, str] = {}
    salts: dict[str, str] = {}
    async for page, bodies in read_pages(store, header):
        raw += [data for data, _ in page]
        entries += [entry for _, entry in page]
        for text_id, body in bodies.items():
            whole = body.decode("utf-8", "replace")
            salts[text_id], texts[text_id] = whole[:16], whole[16:]
    secret = await store.seed(session_id)
    export = Export(header=header, entries=tuple(entries), raw=tuple(raw), texts=texts, salts=salts, seed=secret)
    report = await asyncio.to_thread(verify_export, export, progress=progress)
    if report.verdict == "differs":
        return report
    stored = await load(None, store, session_id)
    if stored is not None and stored.v == header.v and stored.stamp == header.stamp:
        followed = engine.replay(engine.ruleset(header.ruleset), entries, epoch=stored.epoch)
        if engine.encode_snapshot(followed) != engine.encode_snapshot(stored):
            return _differs(export, f"the stored state at version {stored.v}: it is not what the log leads to")
    return report


def _audit(rules: engine.Ruleset, export: Export, progress: Progress | None) -> Audit:
    reveals = held_reveals(export.entries, export.seed, export.header.epochs) if export.seed else []
    return engine.audit(rules, export.entries, epoch=export.epoch, reveals=reveals, progress=progress)


def _differs(export: Export, what: str, audit: Audit | None = None) -> Report:
    line = f"DIFFERS: {what}."
    return Report(
        session=export.header.session,
        verdict="differs",
        lines=(line,),
        difference=what,
        entries=len(export.entries),
        executed=audit.executed if audit is not None else 0,
    )


def _report(export: Export, run: Callable[[engine.Ruleset], Audit]) -> Report:
    try:
        rules = engine.ruleset(export.header.ruleset)
    except engine.Rejected as refusal:
        return _unknown_rules(export, refusal.text)
    try:
        if engine.header_of(export.entries[0]).ruleset != export.header.ruleset:
            return _differs(export, "the ruleset: header and first entry name different ones")
        audit = run(rules)
    except Exception as problem:
        # A log made by somebody else may hold anything; whatever breaks the check is what differs.
        return _differs(export, f"the log cannot be followed ({type(problem).__name__}: {str(problem)[:200]})")
    if audit.difference is not None:
        one = audit.difference
        return _differs(export, f"version {one.v}, {one.what}: expected {one.expected}, found {one.found}", audit)
    if audit.dice is not None and audit.dice.difference is not None:
        die = audit.dice.difference
        return _differs(export, f"roll {die.n} of the {die.stream} dice, {die.what}: expected {die.expected}, found {die.found}", audit)
    twice = _done_twice(export.entries)
    if twice:
        return _differs(export, twice, audit)
    checked, erased, wrong = _texts(export)
    if wrong:
        return _differs(export, wrong, audit)
    return _agrees(export, audit, checked, erased)


def _agrees(export: Export, audit: Audit, texts: int, erased: int) -> Report:
    dice = audit.dice
    counts = (dice.checked, dice.unproven, dice.waiting) if dice is not None else (0, 0, 0)
    skipped = [
        export.entries[v - 1] for first, last in audit.skipped for v in range(first, last + 1) if not _is_marker(export.entries[v - 1])
    ]
    lines = [f"{len(export.entries)} entries follow one another without a gap; {audit.executed} were executed again, byte for byte."]
    if skipped:
        versions = ", ".join(sorted({entry.version or "an unnamed version" for entry in skipped})[:5])
        lines.append(f"{len(skipped)} entries were written by {versions}: their changes were followed, their commands not executed again.")
    lines.append(f"{counts[0]} rolls recomputed from seeds committed to beforehand.")
    if counts[1]:
        lines.append(f"{counts[1]} rolls were entered by players, so nothing can prove them.")
    if counts[2]:
        lines.append(f"{counts[2]} rolls wait for their seed: it is revealed at the encounter's end or at the GM's word; check again then.")
    if texts or erased:
        lines.append(f"{texts} texts fit their hashes; {erased} were erased.")
    unchecked = bool(skipped or counts[2])
    lines.append("NOT ALL CHECKED YET: nothing differs." if unchecked else "OK: everything holds.")
    return Report(
        session=export.header.session,
        verdict="unchecked" if unchecked else "ok",
        lines=tuple(lines),
        entries=len(export.entries),
        executed=audit.executed,
        skipped=len(skipped),
        dice_checked=counts[0],
        dice_unproven=counts[1],
        dice_waiting=counts[2],
        texts_checked=texts,
        texts_erased=erased,
    )


def _unknown_rules(export: Export, text: str) -> Report:
    return Report(
        session=export.header.session,
        verdict="unchecked",
        lines=(f"NOT CHECKED: {text} Install it to check this log.",),
        entries=len(export.entries),
        skipped=len(export.entries),
    )


def _is_marker(entry: Entry) -> bool:
    allowed = MARKERS.get(entry.kind)
    if allowed is None or entry.rolls:
        return False
    freed = ({"person": "", "since": entry.v}, {"person": ""})
    return all(
        change.op == "=" and change.kind in allowed and (change.kind != "seats" or change.fields in freed) for change in entry.changes
    )


def _done_twice(entries: tuple[Entry, ...]) -> str:
    """Action ids of one client rise; one that does not was done twice, or put in later."""
    last: dict[tuple[str, str], int] = {}
    for entry in entries:
        if not entry.id:
            continue
        client, _, n = entry.id.rpartition(".")
        if not client or not n.isdecimal() or len(n) > 15 or int(n) <= last.get((entry.by, client), 0):
            return f"version {entry.v}, action id: {entry.id[:64]} does not follow those before it"
        last[entry.by, client] = int(n)
    return ""


def _texts(export: Export) -> tuple[int, int, str]:
    checked = erased = 0
    for entry in export.entries:
        for event in entry.events:
            if not event.body:
                continue
            stored = export.stored_text(event.body)
            if stored is None:
                erased += 1
            elif hashlib.sha256(stored).hexdigest() != event.data.get("sha256"):
                return checked, erased, f"version {entry.v}, text {event.body[:64]}: it does not fit its hash"
            else:
                checked += 1
    cited = {body for entry in export.entries for body in bodies_of(entry)}
    stray = next((text_id for text_id in export.texts if text_id not in cited), None)
    return checked, erased, "" if stray is None else f"text {stray}: no entry refers to it"
