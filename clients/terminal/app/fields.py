"""One-line fields for the details of an offer: a value to step through, a number, a text, a list of numbers, JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, ClassVar

from rich.text import Text
from textual import events
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input, Static

from ..ask import read
from ..offers import first_value
from .cells import cut
from .names import Names

MISSING = object()
"""What a field gives that has no value and may have none."""


class Wrong(Exception):
    """What a field holds does not fit; the text says what would."""


class FieldChanged(Message):
    """A field has another value."""


class StepField(Widget, can_focus=True):
    """Steps through listed values, or through ints, with left and right; a letter jumps to the next value that starts with it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,minus", "step(-1)", show=False),
        Binding("right,space,plus", "step(1)", show=False),
        Binding("home", "edge(0)", show=False),
        Binding("end", "edge(-1)", show=False),
    ]

    def __init__(self, param: Mapping[str, Any], names: Names) -> None:
        super().__init__(classes="field")
        self._param = param
        self._names = names
        self._choices: list[tuple[Any, str]] = []
        name = str(param["name"])
        if (param.get("kind") or "choice") == "choice":
            self._choices = [(each.get("value"), names.choice(name, each)) for each in param.get("choices") or []]
            if param.get("optional") and param.get("default") is None:
                self._choices.insert(0, (MISSING, names.texts("form.none")))
        else:
            self._low, self._high = int(param["min"]), int(param["max"])
        start = first_value(param) if not (param.get("optional") and param.get("default") is None and self._choices) else MISSING
        self._at = next((at for at, (value, _) in enumerate(self._choices) if value is start or value == start), 0)
        self._number = start if isinstance(start, int) else 0
        self._typed = ""

    def given(self) -> Any:
        """The value that is shown. Raises Wrong when there is nothing to choose from."""
        if (self._param.get("kind") or "choice") != "choice":
            return self._number
        if not self._choices:
            raise Wrong(self._names.texts("form.nothing"))
        return self._choices[self._at][0]

    def render(self) -> Text:
        text = Text()
        if (self._param.get("kind") or "choice") == "choice":
            said = self._choices[self._at][1] if self._choices else self._names.texts("form.nothing")
            count = f" {self._at + 1}/{len(self._choices)}" if len(self._choices) > 1 else ""
        else:
            said = str(self._number)
            count = f" {self._low}–{self._high}"
        movable = len(self._choices) > 1 or not self._choices
        text.append("◀ " if movable else "  ", "dim")
        text.append(cut(said, max(self.size.width - 5 - len(count), 4)), "bold")
        return text.append(" ▶" if movable else "", "dim").append(count, "dim")

    def action_step(self, step: int) -> None:
        self._typed = ""
        if self._choices:
            self._go(at=(self._at + step) % len(self._choices))
        elif (self._param.get("kind") or "choice") != "choice":
            self._go(number=min(max(self._number + step, self._low), self._high))

    def action_edge(self, at: int) -> None:
        if self._choices:
            self._go(at=at % len(self._choices))
        elif (self._param.get("kind") or "choice") != "choice":
            self._go(number=self._high if at else self._low)

    def on_click(self, event: events.Click) -> None:
        self.action_step(-1 if event.x < 2 else 1)

    def on_key(self, event: events.Key) -> None:
        character = event.character or ""
        if self._choices and character.isalpha():
            order = [*range(self._at + 1, len(self._choices)), *range(self._at + 1)]
            found = next((at for at in order if self._choices[at][1].lower().startswith(character.lower())), None)
            if found is not None:
                event.stop()
                self._go(at=found)
        elif not self._choices and character.isdecimal():
            event.stop()
            self._typed = (self._typed + character)[-9:]
            if int(self._typed) > self._high:
                self._typed = character
            self._go(number=min(max(int(self._typed), self._low), self._high))

    def _go(self, *, at: int | None = None, number: int | None = None) -> None:
        self._at = self._at if at is None else at
        self._number = self._number if number is None else number
        self.refresh()
        self.post_message(FieldChanged())


class TextField(Input):
    """A text, numbers or JSON to be typed."""

    def __init__(self, param: Mapping[str, Any], names: Names) -> None:
        kind = str(param.get("kind"))
        default = param.get("default")
        start = "" if default is None else json.dumps(default, ensure_ascii=False) if kind == "json" else str(default)
        most = param.get("max") if kind == "text" else None
        super().__init__(start, placeholder=_hint(param, names), classes="field", compact=True, max_length=most or 0)
        self._param = param
        self._names = names

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self.post_message(FieldChanged())

    def given(self) -> Any:
        """What was typed, as the value it stands for. Raises Wrong."""
        return value_of(self._param, self.value, self._names)


def value_of(param: Mapping[str, Any], typed: str, names: Names) -> Any:
    """The value that a typed text stands for, MISSING when there is none and need not be. Raises Wrong."""
    kind = str(param.get("kind"))
    if kind != "text":
        typed = typed.strip()
    if not typed:
        if kind == "ints" and param.get("least") == 0:
            return []
        if param.get("optional"):
            return MISSING
        raise Wrong(_hint(param, names))
    if kind == "json":
        try:
            return json.loads(typed)
        except ValueError as error:
            raise Wrong(names.texts("form.json", error=error)) from None
    value = read(kind, typed, param, [])
    if value is None:
        raise Wrong(_hint(param, names))
    return value


def _hint(param: Mapping[str, Any], names: Names) -> str:
    texts = names.texts
    if param.get("kind") == "ints":
        least, most = param.get("least"), param.get("most")
        count = str(least) if least == most else f"{least}–{most}"
        return texts("form.ints", count=count, low=param.get("low"), high=param.get("high"))
    if param.get("kind") == "json":
        return texts("form.json_hint")
    hint = texts("form.text", most=param["max"]) if param.get("max") is not None else texts("form.any_text")
    return hint + (f" {texts('form.optional')}" if param.get("optional") else "")


class FieldRow(Horizontal):
    """A label and its field."""

    def __init__(self, param: Mapping[str, Any], names: Names) -> None:
        super().__init__(classes="field-row")
        self.param = param
        self._label = Static(Text(names.param(param)), classes="field-label")
        self.field: StepField | TextField
        if (param.get("kind") or "choice") in ("choice", "int") and not _typed(param):
            self.field = StepField(param, names)
        else:
            self.field = TextField(param, names)

    def compose(self) -> Any:
        yield self._label
        yield self.field


def _typed(param: Mapping[str, Any]) -> bool:
    """Whether an int is better typed: one without a lower and upper bound."""
    return param.get("kind") == "int" and (param.get("max") is None or param.get("min") is None)
