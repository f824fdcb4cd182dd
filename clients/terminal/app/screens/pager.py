"""A screen of lines to read: help, one combatant in full, the check of the dice."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen

from ..cells import wrap
from ..lines import LinesView


class PagerScreen(ModalScreen[None]):
    """Shows paragraphs, wrapped. `show` may replace them while it is open."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,enter,question_mark", "close", show=False)]

    def __init__(self, title: str, paragraphs: list[Text], *, opened: Callable[[PagerScreen], object] | None = None) -> None:
        super().__init__(classes="dialog")
        self._title = title
        self._paragraphs = paragraphs
        self._opened = opened
        self.lines = LinesView(id="pager")

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog-box tall") as box:
            box.border_title = Text(self._title)
            yield self.lines

    def on_mount(self) -> None:
        self.lines.focus()
        if self._opened is not None:
            self._opened(self)

    def on_resize(self, event: events.Resize) -> None:
        self.call_after_refresh(self._draw)

    def show(self, paragraphs: list[Text]) -> None:
        self._paragraphs = paragraphs
        self._draw()

    def action_close(self) -> None:
        self.dismiss(None)

    def _draw(self) -> None:
        width = max(self.lines.size.width - 1, 20)
        self.lines.set_lines(line for paragraph in self._paragraphs for line in wrap(paragraph, width))
