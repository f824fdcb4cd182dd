"""One table as this client knows it: the view kept by frames, where it stands in the log, and how it was joined."""

from __future__ import annotations

from collections import deque
from typing import Any, Literal

from ._codec import Message

Outcome = Literal["applied", "old", "gap"]
State = Literal["out", "joining", "joined"]

RECENT = 200

View = dict[str, dict[str, dict[str, Any]]]


class Replica:
    """State of one joined table. `view` is one dict for life: frames change it in place, a new view refills it.

    `view`: {kind: {id: {field: value}}}. `v`, `stamp`, `epoch`: the last entry applied and the lineage of the log; v is 0 before
    the first join. `recent`: the last frames seen, oldest first, at most 200. `asked`: prompts told to this seat, by id.
    """

    def __init__(self, session: str, token: str | None, history: int) -> None:
        self.session = session
        self.token = token
        self.history = history
        self.seat: str | None = None
        self.role: str | None = None
        self.epoch = ""
        self.v = 0
        self.stamp = ""
        self.ruleset: str | None = None
        self.variant: str | None = None
        self.view: View = {}
        self.recent: deque[Message] = deque(maxlen=RECENT)
        self.asked: dict[str, Message] = {}
        self.presence: dict[str, int] = {}
        self.state: State = "out"
        self.fresh = True
        self._parts: list[Message] = []

    def join_message(self, id: str) -> Message:
        """The `join` to send now: with a resume point when the view can be continued, for a whole view otherwise."""
        message: Message = {"t": "join", "session": self.session, "id": id}
        if self.token is not None:
            message["token"] = self.token
        if not self.fresh:
            message["resume"] = {"epoch": self.epoch, "v": self.v, "stamp": self.stamp}
        if self.history:
            message["history"] = self.history
        return message

    def out(self) -> None:
        """The connection is gone: forget half-received messages, keep the rest to resume from."""
        self.state = "out"
        self._parts.clear()

    def gather(self, message: Message) -> Message | None:
        """The whole message that `message` completes, or None while parts are missing. Raises ValueError for parts out of order.

        Parts of one message follow one another; the first carries all but the rest of the view.
        """
        part, parts = message.get("part"), message.get("parts")
        if parts is None:
            if self._parts:
                raise ValueError("a part is missing")
            return message
        head = self._parts[0] if self._parts else message
        if part != len(self._parts) + 1 or any(message.get(key) != head.get(key) for key in ("t", "v", "stamp", "parts")):
            raise ValueError("a part is out of order")
        self._parts.append(message)
        if part < parts:
            return None
        field = "views" if head.get("views") is not None else "view"
        view: View = {}
        for each in self._parts:
            for kind, entities in (each.get(field) or {}).items():
                view.setdefault(kind, {}).update(entities)
        self._parts.clear()
        whole = {**head, field: view}
        del whole["part"], whole["parts"]
        return whole

    def joined(self, message: Message) -> None:
        """Take a whole `joined` message."""
        for field in ("seat", "role", "ruleset", "variant"):
            if field in message:
                setattr(self, field, message[field])
        if not message.get("resumed"):
            self._replace(message.get("view") or {})
            if message.get("history"):
                self.recent.clear()
                self.recent.extend(message["history"])
            self._stand_at(message)
        self.state = "joined"
        self.fresh = False

    def reset(self, message: Message) -> None:
        """Take a whole `reset` message."""
        self._replace(message["view"])
        self._stand_at(message)

    def frame(self, message: Message) -> Outcome:
        """Apply one whole frame. `gap` means a frame is missing (or the log forked) and the whole view must be fetched anew."""
        v = message["v"]
        if v == self.v and message.get("stamp") != self.stamp:
            return "gap"
        if v <= self.v:
            return "old"
        if v != self.v + 1:
            return "gap"
        if message.get("view") is not None:
            self._replace(message["view"])
        for kind, entities in (message.get("views") or {}).items():
            self.view.setdefault(kind, {}).update(entities)
        for kind, ids in (message.get("gone") or {}).items():
            known = self.view.get(kind, {})
            for id in ids:
                known.pop(id, None)
            if not known:
                self.view.pop(kind, None)  # a view names no kind that it shows nothing of
        self.v = v
        self.stamp = message.get("stamp", "")
        self.recent.append(message)
        if self.asked:
            self._forget_closed_prompts()
        return "applied"

    def open_prompts(self) -> list[Message]:
        """Prompts that this seat may answer now, in the view's order, each with its `id`."""
        found: dict[str, Message] = {}
        for id, prompt in self.view.get("prompts", {}).items():
            if prompt.get("answered"):
                continue
            whole = {**prompt, **self.asked.get(id, {}), "id": id}
            if whole.get("to", self.seat) == self.seat and (id in self.asked or whole.get("choices") is not None):
                found[id] = whole
        return list(found.values())

    def _replace(self, view: View) -> None:
        self.view.clear()
        self.view.update(view)
        self._forget_closed_prompts()

    def _stand_at(self, message: Message) -> None:
        self.epoch = message.get("epoch", self.epoch)
        self.v = message["v"]
        self.stamp = message.get("stamp", "")

    def _forget_closed_prompts(self) -> None:
        known = self.view.get("prompts", {})
        self.asked = {id: prompt for id, prompt in self.asked.items() if id in known}
