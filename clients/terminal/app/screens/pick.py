"""Picks one of a list by arrows, mouse or typing a part of its name: tables, scenes, tools of the GM."""

from __future__ import annotations

from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option


class PickScreen(ModalScreen[int | None]):
    """Gives the place of the picked entry in `entries`, or None."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", show=False),
        Binding("down", "move('cursor_down')", show=False),
        Binding("up", "move('cursor_up')", show=False),
        Binding("pagedown", "move('page_down')", show=False),
        Binding("pageup", "move('page_up')", show=False),
    ]

    def __init__(self, title: str, entries: list[str], *, hint: str) -> None:
        super().__init__(classes="dialog")
        self._title = title
        self._entries = entries
        self._filter = Input(placeholder=hint, compact=True)
        self._list = OptionList(markup=False, compact=True)
        self._list.can_focus = False

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog-box tall") as box:
            box.border_title = Text(self._title)
            yield self._filter
            yield self._list

    def on_mount(self) -> None:
        self._filter.focus()
        self._fill("")

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self._fill(event.value)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        if self._list.highlighted is not None:
            self._list.action_select()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.dismiss(int(event.option.id or 0))

    def action_move(self, how: str) -> None:
        getattr(self._list, f"action_{how}")()

    def action_cancel(self) -> None:
        self.dismiss(None)

    def _fill(self, part: str) -> None:
        wanted = part.casefold().split()
        self._list.set_options(
            Option(Text(text), id=str(place)) for place, text in enumerate(self._entries) if all(word in text.casefold() for word in wanted)
        )
        self._list.highlighted = 0 if self._list.option_count else None
