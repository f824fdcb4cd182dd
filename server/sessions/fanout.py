"""Telling viewers of a committed entry: one frame per distinct sight, encoded once per subprotocol, however many watch."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Hashable, Iterator, Sequence
from typing import Any, Protocol

import msgspec

from engine import Entry, Renderer, Ruleset, Session, Sight, sight_of, view
from engine.sight import tell, view_entity
from protocol.codec import Codec, Wire
from protocol.messages import Frame, Presence, Prompt, Reset
from protocol.parts import encode_parts
from server.metrics import Metrics
from server.sessions.texts import Bodies


class Viewer(Protocol):
    """One seat at one connection."""

    seat: str
    codec: Codec

    def push(self, wires: Sequence[Wire]) -> None:
        """Queue encoded frames; never blocks and never raises. A full queue closes the connection, not the table."""
        ...

    def evict(self, code: str, text: str) -> None:
        """The seat is gone: tell the client why and close."""
        ...


class Item(msgspec.Struct, frozen=True):
    """A committed entry with the sessions around it, as long as somebody may resume from it."""

    before: Session | None
    after: Session
    entry: Entry


class Fanout:
    """The viewers of one session and the ring of its latest entries."""

    def __init__(self, rules: Ruleset, session_id: str, bodies: Bodies, ring: int, metrics: Metrics) -> None:
        self.rules = rules
        self.session_id = session_id
        self.bodies = bodies
        self.metrics = metrics
        self.viewers: dict[str, list[Viewer]] = {}
        self.ring: deque[Item] = deque(maxlen=max(ring, 1))

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
        for viewers in self.viewers.values():
            for viewer in viewers:
                wire = encoded.get(viewer.codec.text)
                if wire is None:
                    wire = encoded[viewer.codec.text] = viewer.codec.encode(message)
                viewer.push((wire,))

    def publish(self, item: Item) -> None:
        """Keep an entry for those who resume, and send its frames."""
        self.ring.append(item)
        if not self.viewers:
            return
        renderer = Renderer(self.rules, item.before, item.after, item.entry, self.bodies.get)
        encoded: dict[Hashable, list[Wire]] = {}
        asked = Counter(
            prompt.to
            for change in item.entry.changes
            if change.kind == "prompts" and change.op == "+" and (prompt := item.after.prompts.get(change.id)) is not None
        )
        gone: list[Viewer] = []
        sent = size = 0
        for seat, viewers in self.viewers.items():
            if seat not in item.after.seats:
                gone += viewers
                continue
            sight = sight_of(item.after, seat)
            key, parts = renderer.frame(sight)
            questions = self._questions(item, sight) if asked[seat] else ()
            for viewer in viewers:
                codec = viewer.codec
                wires = encoded.get((key, codec.text))
                if wires is None:
                    wires = encoded[key, codec.text] = self.encode(item, parts, codec)
                if questions:
                    wires = [*wires, *(codec.encode(question) for question in questions)]
                viewer.push(wires)
                sent += len(wires)
                size += sum(map(len, wires))
        self.metrics.frames.inc(sent)
        self.metrics.bytes_out.inc(size)
        for viewer in gone:
            viewer.evict("revoked", "Your seat was removed from this table.")

    def _questions(self, item: Item, sight: Sight) -> tuple[Prompt, ...]:
        return tuple(
            Prompt(self.session_id, item.entry.v, view_entity(self.rules, item.after, "prompts", prompt, "asked"))
            for change in item.entry.changes
            if change.kind == "prompts" and change.op == "+"
            if (prompt := item.after.prompts.get(change.id)) is not None and prompt.to == sight.seat and prompt.answer is None
        )

    def open_questions(self, session: Session, seat: str) -> list[Prompt]:
        """The questions that wait for a seat now: what somebody who joins is asked."""
        return [
            Prompt(self.session_id, session.v, view_entity(self.rules, session, "prompts", prompt, "asked"))
            for prompt in session.prompts.values()
            if prompt.to == seat and prompt.answer is None
        ]

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
        """Every frame after (v, stamp) for a seat, or None when the ring does not hold them all."""
        items = list(self.ring)
        place = next((i for i, item in enumerate(items) if item.entry.v == v), None)
        if place is not None:
            if items[place].entry.stamp != stamp:
                return None
            items = items[place + 1 :]
        elif not items or items[0].entry.v != v + 1 or items[0].before is None or items[0].before.stamp != stamp:
            return None
        wires: list[Wire] = []
        for item in items:
            _, parts = Renderer(self.rules, item.before, item.after, item.entry, self.bodies.get).frame(sight_of(item.after, seat))
            wires += self.encode(item, parts, codec)
        return wires

    def reset(self, session: Session, reason: str) -> None:
        """The lineage changed: everybody starts from a whole view."""
        self.ring.clear()
        for seat, viewers in list(self.viewers.items()):
            if seat not in session.seats:
                for viewer in list(viewers):
                    viewer.evict("revoked", "Your seat is not at this table any more.")
                continue
            whole = view(self.rules, session, sight_of(session, seat))
            message = Reset(self.session_id, session.epoch, session.v, session.stamp, reason, whole)
            for viewer in viewers:
                viewer.push(encode_parts(message, viewer.codec))

    def past(self, entries: Sequence[Entry], sight: Sight) -> Iterator[dict[str, Any]]:
        """Entries as history shows them: their events, as this sight may read them."""
        for entry in entries:
            told = [one for event in entry.events if (one := tell(event, sight, entry.v, self.bodies.get)) is not None]
            shown: dict[str, Any] = {"v": entry.v, "stamp": entry.stamp}
            if told:
                shown.update(at=entry.at, by=entry.by, events=told)
            yield shown
