"""While there is no table: what is waited for, what went wrong, and when it is tried again."""

from __future__ import annotations

from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import Screen
from textual.widgets import Static

from ..texts import Texts


class ConnectScreen(Screen[None]):
    """`say` shows what is waited for, with the seconds it has taken; `fail` what went wrong for good."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("r", "app.retry", show=False),
        Binding("q,escape", "app.quit", show=False),
    ]

    def __init__(self, texts: Texts) -> None:
        super().__init__()
        self._texts = texts
        self._text = ""
        self._trouble = ""
        self._over = False
        self._seconds = 0
        self._left: int | None = None

    def compose(self) -> ComposeResult:
        with Vertical(id="connect-box"):
            yield Static(Text("D U S T U P", "bold"), id="connect-name")
            yield Static(id="connect-text", markup=False)

    def on_mount(self) -> None:
        self.set_interval(1.0, self._tick)
        self._draw()

    def say(self, text: str, *, trouble: str = "", seconds_left: int | None = None) -> None:
        self._text, self._trouble, self._over = text, trouble, False
        self._seconds, self._left = 0, seconds_left
        self._draw()

    def fail(self, trouble: str) -> None:
        self._text, self._trouble, self._over = "", trouble, True
        self._draw()

    def _tick(self) -> None:
        self._seconds += 1
        if self._left:
            self._left -= 1
        self._draw()

    def _draw(self) -> None:
        if not self.is_mounted:
            return
        lines = []
        if self._trouble:
            lines.append(Text(self._trouble, "bold red"))
        if self._text:
            told = (
                self._texts("connect.again", n=self._left)
                if self._left
                else self._texts("connect.since", n=self._seconds)
                if self._seconds > 1
                else ""
            )
            lines.append(Text(f"{self._text} {told}".rstrip()))
        lines.append(Text(self._texts("connect.keys_over" if self._over else "connect.keys"), "dim"))
        self.query_one("#connect-text", Static).update(Text("\n\n").join(lines))
