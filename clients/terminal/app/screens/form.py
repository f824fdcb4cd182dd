"""The details of an offer, one line each, with the exact odds of what is filled in; and whatever else is a few fields to fill."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Button, Input, Static

from ..fields import MISSING, FieldChanged, FieldRow, Wrong
from ..look import cost_text, odds_lines
from ..names import Names

ODDS_AFTER = 0.15
"""Seconds without a change before odds are asked for."""

Odds = Callable[[Mapping[str, Any]], Awaitable[Mapping[str, Any] | None]]


class FormScreen(ModalScreen[dict[str, Any] | None]):
    """Gives the whole command, or None when the person gave up. `odds` tells the chances of a command, None when nobody can."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", show=False),
        Binding("down", "app.focus_next", show=False),
        Binding("up", "app.focus_previous", show=False),
        Binding("enter,ctrl+s", "submit", show=False),
    ]

    def __init__(self, option: Mapping[str, Any], title: str, names: Names, odds: Odds | None = None) -> None:
        super().__init__(classes="dialog")
        self._option = option
        self._title = title
        self._names = names
        self._odds = odds
        self._rows = [FieldRow(param, names) for param in option.get("params") or []]
        self._told = Static("", id="form-told", markup=False)

    def compose(self) -> ComposeResult:
        texts = self._names.texts
        with Vertical(classes="dialog-box") as box:
            box.border_title = Text(self._title)
            if cost := cost_text(self._option, self._names):
                yield Static(Text(cost, "yellow"))
            with VerticalScroll(id="form-rows", can_focus=False):
                yield from self._rows
            yield self._told
            with Horizontal(classes="dialog-buttons"):
                yield Button(texts("form.do"), id="do", variant="primary", compact=True)
                yield Button(texts("form.cancel"), id="cancel", compact=True)
            yield Static(Text(texts("form.keys"), "dim"))

    def on_mount(self) -> None:
        if self._rows:
            self._rows[0].field.focus()
        self._ask_odds()

    def command(self) -> dict[str, Any]:
        """The command as filled in so far. Raises Wrong, with the field that is wrong in focus."""
        command = dict(self._option["command"])
        for row in self._rows:
            try:
                value = row.field.given()
            except Wrong:
                row.field.focus()
                raise
            if value is MISSING:
                continue
            if row.param.get("merge"):
                command.update(value)
            else:
                command[str(row.param["name"])] = value
        return command

    def action_submit(self) -> None:
        if isinstance(self.focused, Button) and self.focused.id == "cancel":
            self.dismiss(None)
            return
        try:
            command = self.command()
        except Wrong as wrong:
            self._told.update(Text(str(wrong), "bold red"))
            return
        self.dismiss(command)

    def action_cancel(self) -> None:
        self.dismiss(None)

    def on_button_pressed(self, event: Button.Pressed) -> None:
        event.stop()
        if event.button.id == "do":
            self.action_submit()
        else:
            self.dismiss(None)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_submit()

    def on_field_changed(self, event: FieldChanged) -> None:
        event.stop()
        self._ask_odds()

    def _ask_odds(self) -> None:
        if self._odds is not None:
            self.set_timer(ODDS_AFTER, lambda: self.run_worker(self._show_odds(), exclusive=True, group="odds"))

    async def _show_odds(self) -> None:
        assert self._odds is not None
        command = dict(self._option["command"])
        try:
            for row in self._rows:
                if (value := row.field.given()) is not MISSING:
                    command[str(row.param["name"])] = value
        except Wrong:
            self._told.update("")
            return
        odds = await self._odds(command)
        lines = odds_lines(odds, self._names, max(self._told.size.width, 30)) if odds is not None else []
        self._told.update(Text("\n").join(lines))
