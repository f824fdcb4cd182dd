"""Writes something longer than a line, or something private: chat or a piece of the story, to everyone or to one seat."""

from __future__ import annotations

from typing import Any, ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import ModalScreen
from textual.widgets import Button, Static, TextArea

from ...words import clean
from ..fields import MISSING, FieldRow
from ..names import Names


class TalkScreen(ModalScreen[dict[str, Any] | None]):
    """Gives the `chat` or `post` command, or None."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "cancel", show=False), Binding("ctrl+s", "send", show=False)]

    def __init__(self, names: Names, seat: str, *, kind: str = "post", combatants: list[str]) -> None:
        super().__init__(classes="dialog")
        texts = names.texts
        self._names = names
        kinds = [{"value": each, "text": texts(f"talk.{each}")} for each in ("chat", "post")]
        others = [{"value": [id], "text": clean(each.get("name") or id)} for id, each in names.view.get("seats", {}).items() if id != seat]
        everyone = {"value": [], "text": texts("talk.everyone")}
        self._kind = FieldRow({"name": "talk-kind", "text": texts("talk.kind"), "choices": kinds, "default": kind}, names)
        self._to = FieldRow({"name": "talk-to", "text": texts("talk.to"), "choices": [everyone, *others], "default": []}, names)
        voices = [{"value": id, "text": names.of(id) or id} for id in combatants]
        self._as = FieldRow({"name": "talk-as", "text": texts("talk.as"), "choices": voices, "optional": True}, names)
        self._text = TextArea(soft_wrap=True, compact=True, tab_behavior="focus", id="talk-text")

    def compose(self) -> ComposeResult:
        texts = self._names.texts
        with Vertical(classes="dialog-box tall") as box:
            box.border_title = Text(texts("talk.title"))
            yield self._kind
            yield self._to
            yield self._as
            yield self._text
            with Horizontal(classes="dialog-buttons"):
                yield Button(texts("talk.send"), id="send", variant="primary", compact=True)
                yield Button(texts("form.cancel"), id="cancel", compact=True)
            yield Static(Text(texts("talk.keys"), "dim"))

    def on_mount(self) -> None:
        self._text.focus()

    def on_button_pressed(self, event: Button.Pressed) -> None:
        event.stop()
        if event.button.id == "send":
            self.action_send()
        else:
            self.dismiss(None)

    def action_send(self) -> None:
        text = self._text.text.strip()
        if not text:
            return
        command: dict[str, Any] = {"type": self._kind.field.given(), "text": text}
        if to := self._to.field.given():
            command["to"] = to
        voice = self._as.field.given()
        if command["type"] == "post" and voice is not MISSING:
            command["combatant"] = voice
        self.dismiss(command)

    def action_cancel(self) -> None:
        self.dismiss(None)
