"""A fight as people read it while it happens: with colours on a terminal, plain elsewhere, or as JSON lines."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, TextIO

from clients.terminal.words import clean

Message = Mapping[str, Any]

_STYLES: Final = (("round", "bold cyan"), ("dice", "dim"), ("salt", "dim"), ("turn", "bold"), ("out", "bold red"), ("over", "bold green"))
"""Style by a word in the event's type; the first that fits."""

_COMPACT: Final = frozenset({"seat.added", "combatant.spawned", "scene.set", "dice.opened", "dice.salted", "session.created"})
"""Setting up, which a short transcript leaves out."""


class Transcript:
    """Prints what happens. `compact` leaves out how the table is set up; `colour` needs a terminal."""

    def __init__(self, out: TextIO, *, colour: bool = False, compact: bool = False) -> None:
        self._out = out
        self._compact = compact
        self._console: Any = None
        if colour:
            from rich.console import Console

            self._console = Console(file=out, highlight=False, soft_wrap=True)

    def frame(self, message: Message) -> None:
        """The events of one frame, a line each."""
        for event in message.get("events") or []:
            kind = str(event.get("type", ""))
            text = clean(event.get("text") or kind)
            if self._compact and kind in _COMPACT:
                continue
            self.line(f"{'' if _is_heading(kind) else '  '}{text}", _style(kind))

    def line(self, text: str = "", style: str = "") -> None:
        """One line of our own."""
        if self._console is None:
            self._out.write(text + "\n")
        else:
            from rich.text import Text

            self._console.print(Text(text, style=style))
        self._out.flush()

    def verdict(self, ok: bool, text: str) -> None:
        self.line(text, "bold green" if ok else "bold red")


class JsonLines:
    """The same as JSON: one line per frame, and one for whatever else is told."""

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def frame(self, message: Message) -> None:
        self.object({name: message[name] for name in ("v", "at", "by", "events") if message.get(name) not in (None, [])})

    def object(self, value: Mapping[str, Any]) -> None:
        self._out.write(json.dumps(value, ensure_ascii=True) + "\n")
        self._out.flush()


def _is_heading(kind: str) -> bool:
    return any(word in kind for word in ("round", "encounter"))


def _style(kind: str) -> str:
    return next((style for word, style in _STYLES if word in kind), "")
