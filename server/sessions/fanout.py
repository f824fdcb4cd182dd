"""Telling viewers of a committed entry: one frame per distinct sight, encoded once per subprotocol, however many watch."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, Protocol

import msgspec

from engine import Entry, Renderer, Ruleset, Session, Sight, sight_of, view
from engine.session import KINDS
from engine.sight import tell, view_entity
from protocol.codec import Codec, Wire
from protocol.messages import Frame, Presence, Prompt, Reset
from protocol.parts import encode_parts
from server.logs import get_logger
from server.metrics import Metrics
from server.sessions.texts import Bodies

log = get_logger("fanout")

RING_BYTES = 2 * 1024 * 1024
"""About how many bytes of log entries a session keeps for those who resume; many small ones, or few large ones."""
LARGE = 32 * 1024
"""Bytes of an entry from which on its entities are weighed: no smaller step makes one outgrow a message unnoticed."""
MAX_ENTITY = 512 * 1024
"""Bytes of one entity. A view is cut between entities, so one that exceeds a message could be shown to nobody any more."""


class Viewer(Protocol):
    """One seat at one connection."""

    seat: str
    codec: Codec

    def push(self, wires: Sequence[Wire]) -> None:
        """Queue encoded frames; never blocks and never raises. A full queue closes the connection, not the table."""
        ...

    def entitled(self, session: Session) -> bool:
        """Whether it may still sit there at this state of the table: the seat is there and was given to nobody else."""
        ...

    def evict(self, code: str, text: str) -> None:
        """The seat is gone: tell the client why and close."""
        ...


class Item(msgspec.Struct):
    """A committed entry with the sessions around it, as long as somebody may resume from it."""

    before: Session | None
    after: Session
    entry: Entry
    size: int = 0
    """Bytes of the entry in the log."""
    data: bytes = b""
    """The entry as the log keeps it, until it is committed."""


def too_large(session: Session, entry: Entry) -> str:
    """The entity that this entry made larger than may be shown, in words; "" when there is none."""
    for change in entry.changes:
        entity = getattr(session, change.kind).get(change.id) if change.kind in KINDS else None
        if entity is not None and len(msgspec.json.encode(entity)) > MAX_ENTITY:
            return f"{change.kind.rstrip('s')} '{change.id}'"
    return ""


class Fanout:
    """The viewers of one session and the ring of its latest entries, at most `ring` of them and about RING_BYTES."""

    def __init__(self, rules: Ruleset, session_id: str, bodies: Bodies, ring: int, metrics: Metrics) -> None:
        self.rules = rules
        self.session_id = session_id
        self.bodies = bodies
        self.metrics = metrics
        self.viewers: dict[str, list[Viewer]] = {}
        self.ring: deque[Item] = deque()
        self._most = ring
        self._ring_bytes = 0

    def __len__(self) -> int:
        return sum(len(viewers) for viewers in self.viewers.values())

    def add(self, viewer: Viewer) -> None:
        self.viewers.setdefault(viewer.seat, []).append(viewer)

    def remove(self, viewer: Viewer) -> None:
        viewers = self.viewers.get(viewer.seat, [])
        if viewer in viewers:
            viewers.remove(viewer)
            if not viewers:
                del self.viewers[viewer.seat]

    def presence(self) -> Presence:
        return Presence(self.session_id, {seat: len(viewers) for seat, viewers in self.viewers.items()})

    def announce(self, message: Any) -> None:
        """Send the same message to every viewer, encoded once per subprotocol."""
        encoded: dict[bool, Wire] = {}
        for viewers in list(self.viewers.values()):
            for viewer in list(viewers):
                wire = encoded.get(viewer.codec.text)
                if wire is None:
                    wire = encoded[viewer.codec.text] = viewer.codec.encode(message)
                viewer.push((wire,))

    def keep(self, item: Item) -> None:
        """Keep an entry for those who resume, and let go of what is too old."""
        ring = self.ring
        ring.append(item)
        self._ring_bytes += item.size
        while len(ring) > self._most or (self._ring_bytes > RING_BYTES and ring):
            self._ring_bytes -= ring.popleft().size

    def publish(self, item: Item) -> None:
        """Keep an entry and send its frames. Never raises: a seat whose frame cannot be made loses its place, nobody else notices."""
        self.keep(item)
        if not self.viewers:
            return
        renderer = Renderer(self.rules, item.before, item.after, item.entry, self.bodies.get)
        encoded: dict[tuple[Hashable, bool], list[Wire]] = {}
        questions = self._questions(item)
        out: list[tuple[list[Viewer], str, str]] = []
        sent = size = 0
        moved = item.before is None or item.before.seats is not item.after.seats
        for seat, viewers in self.viewers.items():
            if moved:
                viewers = self._stay(item.after, seat, viewers, out)
                if not viewers:
                    continue
            try:
                key, parts = renderer.frame(sight_of(item.after, seat))
                asked = questions.get(seat)
                for viewer in viewers:
                    codec = viewer.codec
                    wires = encoded.get((key, codec.text))
                    if wires is None:
                        wires = encoded[key, codec.text] = self.encode(item, parts, codec)
                    if asked:
                        wires = [*wires, *map(codec.encode, asked)]
                    viewer.push(wires)
                    sent += len(wires)
                    for wire in wires:
                        size += len(wire)
            except Exception:
                self.metrics.engine_errors.inc()
                log.exception("an entry could not be shown", session=self.session_id, v=item.entry.v, seat=seat)
                out.append((list(viewers), "internal", "The server could not show you what happened. Join the table again."))
        self.metrics.frames.inc(sent)
        self.metrics.bytes_out.inc(size)
        for viewers, code, text in out:
            for viewer in viewers:
                viewer.evict(code, text)

    @staticmethod
    def _stay(session: Session, seat: str, viewers: list[Viewer], out: list[tuple[list[Viewer], str, str]]) -> list[Viewer]:
        """Those of a seat's viewers who may stay; the others go to `out`, with what to tell them."""
        if all(viewer.entitled(session) for viewer in viewers):
            return viewers
        text = "Your seat was given to somebody else." if seat in session.seats else "Your seat was removed from this table."
        out.append(([viewer for viewer in viewers if not viewer.entitled(session)], "revoked", text))
        return [viewer for viewer in viewers if viewer.entitled(session)]

    def _questions(self, item: Item) -> dict[str, list[Prompt]]:
        """The questions that an entry opened, by the seat that is asked: new ones, and those that found a new addressee."""
        found: dict[str, list[Prompt]] = {}
        for change in item.entry.changes:
            if change.kind != "prompts" or not (change.op == "+" or "to" in change.fields):
                continue
            prompt = item.after.prompts.get(change.id)
            if prompt is not None and prompt.answer is None:
                found.setdefault(prompt.to, []).append(self._question(item.after, prompt))
        return found

    def _question(self, session: Session, prompt: Any) -> Prompt:
        return Prompt(self.session_id, session.v, view_entity(self.rules, session, "prompts", prompt, "asked"))

    def open_questions(self, session: Session, seat: str) -> list[Prompt]:
        """The questions that wait for a seat now: what somebody who joins is asked."""
        return [self._question(session, prompt) for prompt in session.prompts.values() if prompt.to == seat and prompt.answer is None]

    def encode(self, item: Item, parts: dict[str, Any], codec: Codec) -> list[Wire]:
        """The frames of an entry for one sight, in as many parts as it needs."""
        entry = item.entry
        if not parts:
            return [codec.encode(Frame(self.session_id, entry.v, entry.stamp))]
        frame = Frame(
            self.session_id,
            entry.v,
            entry.stamp,
            at=entry.at,
            by=entry.by,
            events=parts.get("events"),
            views=parts.get("views"),
            gone=parts.get("gone"),
            view=parts.get("view"),
        )
        return encode_parts(frame, codec) if frame.view is not None or frame.views is not None else [codec.encode(frame)]

    def missed(self, v: int, stamp: str, seat: str, codec: Codec) -> list[Wire] | None:
        """Every frame after (v, stamp) for a seat, or None when the ring does not hold them all, texts included."""
        items = [item for item in self.ring if item.entry.v > v]
        before = items[0].before if items else None
        # Each item knows the session before it, so the ring reaches back to one version more than it holds.
        if before is None or (before.v, before.stamp) != (v, stamp):
            return None
        if self.bodies.missing([event.body for item in items for event in item.entry.events if event.body]):
            return None
        if sight_of(before, seat).since != sight_of(items[-1].after, seat).since:
            return None  # the seat changed hands meanwhile: what was for the former holder is not for this one
        wires: list[Wire] = []
        for item in items:
            _, parts = Renderer(self.rules, item.before, item.after, item.entry, self.bodies.get).frame(sight_of(item.after, seat))
            wires += self.encode(item, parts, codec)
        return wires

    def reset(self, session: Session, reason: str) -> None:
        """The lineage changed: everybody starts from a whole view."""
        self.ring.clear()
        self._ring_bytes = 0
        out: list[tuple[list[Viewer], str, str]] = []
        for seat, viewers in self.viewers.items():
            viewers = self._stay(session, seat, viewers, out)
            if not viewers:
                continue
            try:
                whole = view(self.rules, session, sight_of(session, seat))
                message = Reset(self.session_id, session.epoch, session.v, session.stamp, reason, whole)
                asked = self.open_questions(session, seat)
                for viewer in viewers:
                    viewer.push([*encode_parts(message, viewer.codec), *map(viewer.codec.encode, asked)])
            except Exception:
                self.metrics.engine_errors.inc()
                log.exception("a view could not be made", session=self.session_id, seat=seat)
                out.append((list(viewers), "internal", "The server could not show you the table. Join it again."))
        for viewers, code, text in out:
            for viewer in viewers:
                viewer.evict(code, text)

    def past(self, entries: Sequence[Entry], sight: Sight, bodies: Callable[[str], str | None]) -> Iterator[dict[str, Any]]:
        """Entries as history shows them: their events, as this sight may read them."""
        for entry in entries:
            told = [one for event in entry.events if (one := tell(event, sight, entry.v, bodies)) is not None]
            shown: dict[str, Any] = {"v": entry.v, "stamp": entry.stamp}
            if told:
                shown.update(at=entry.at, by=entry.by, events=told)
            yield shown
