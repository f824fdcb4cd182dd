"""What can be done now: answers to open questions first, then options, in one list that keeps its place when it changes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from rich.text import Text
from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from ..offers import answers
from ..words import clean
from .look import cost_text
from .names import Names

SOON_MS = 60_000


@dataclass(frozen=True, slots=True)
class Offer:
    """Something to pick. `prompt` is the question it answers, if any; `at` the version it was offered at."""

    option: Mapping[str, Any]
    text: str
    prompt: Mapping[str, Any] | None = None
    at: int | None = None

    @property
    def key(self) -> str:
        return json.dumps([self.option.get("type"), self.option["command"]], sort_keys=True)


def offers_of(prompts: Sequence[Mapping[str, Any]], options: Sequence[Mapping[str, Any]], at: int, names: Names) -> list[Offer]:
    """Answers to the open questions, then the options that are no answers to them, then what is done to the table itself."""
    asked = {prompt["id"] for prompt in prompts}
    found = []
    for prompt in prompts:
        kind = str(prompt.get("type") or "")
        said = {str(choice.get("value")): names.choice(kind, choice) for choice in prompt.get("choices") or []}
        found += [Offer(each, said.get(str(each["command"]["choice"]), clean(each["text"])), prompt) for each in answers(prompt)]
    open_ = [each for each in options if each.get("prompt") is None or each["prompt"] not in asked]
    open_.sort(key=lambda each: each.get("group") == "table")
    return found + [Offer(each, names.option(each), at=at) for each in open_]


class Choices(OptionList):
    """`show` takes offers; picking one posts `Picked`, moving to one posts `Considered`."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding(str(n), f"number({n})", show=False) for n in range(1, 10)]

    class Picked(Message):
        def __init__(self, offer: Offer) -> None:
            super().__init__()
            self.offer = offer

    class Considered(Message):
        """`offer` is None when there is nothing to consider."""

        def __init__(self, offer: Offer | None) -> None:
            super().__init__()
            self.offer = offer

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id, markup=False)
        self.offers: list[Offer] = []
        self._names: Names | None = None
        self._heads: dict[str, Mapping[str, Any]] = {}
        self._now = 0
        self._several = False
        """Whether the offers are those of more than one combatant, so that each must say whose it is."""

    def show(self, offers: list[Offer], names: Names, now: int) -> None:
        """Replace the list. The same offer stays highlighted, else the first one is."""
        kept = self.considered.key if self.considered else None
        self._names, self._now, self.offers = names, now, offers
        self._heads = {}
        entries: list[Option] = []
        grouped = False
        self._several = len({offer.option.get("combatant") for offer in offers if offer.option.get("combatant")}) > 1
        for number, offer in enumerate(offers, 1):
            if offer.prompt is not None and offer.prompt["id"] not in self._heads:
                self._heads[offer.prompt["id"]] = offer.prompt
                entries.append(Option(self._question(offer.prompt), id=f"?{offer.prompt['id']}", disabled=True))
            elif offer.prompt is None and not grouped:
                grouped = True
                if self._heads:
                    entries.append(Option(Text(names.texts("choices.else"), "bold"), disabled=True))
            entries.append(Option(self._line(number, offer), id=str(number)))
        if not offers:
            entries.append(Option(Text(names.texts("choices.none"), "italic dim"), disabled=True))
        self.set_options(entries)
        self.border_title = Text(names.texts("panel.choices") + (f" · {len(offers)}" if offers else ""))
        place = next((number for number, offer in enumerate(offers, 1) if offer.key == kept), 1 if offers else None)
        self.highlighted = None if place is None else self.get_option_index(str(place))
        self.post_message(self.Considered(self.considered))

    def tick(self, now: int) -> None:
        """Let the deadlines run."""
        self._now = now
        for id, prompt in self._heads.items():
            if isinstance(prompt.get("deadline"), int):
                self.replace_option_prompt(f"?{id}", self._question(prompt))

    @property
    def considered(self) -> Offer | None:
        option = self.highlighted_option
        number = int(option.id) if option is not None and option.id is not None and option.id.isdecimal() else 0
        return self.offers[number - 1] if 0 < number <= len(self.offers) else None

    def _question(self, prompt: Mapping[str, Any]) -> Text:
        assert self._names is not None
        texts = self._names.texts
        line = Text().append("? ", "bold yellow").append(self._names.prompt(prompt), "bold")
        deadline = prompt.get("deadline")
        if isinstance(deadline, int):
            left = deadline - self._now
            said = texts("prompt.deadline", left=texts.countdown(left), default=self._default(prompt)) if left > 0 else texts("prompt.over")
            line.append(f" ({said})", "bold reverse" if left < SOON_MS else "yellow")
        return line

    def _default(self, prompt: Mapping[str, Any]) -> str:
        assert self._names is not None
        for choice in prompt.get("choices") or []:
            if choice.get("value") == prompt.get("default"):
                return self._names.choice(str(prompt.get("type") or ""), choice)
        return clean(prompt.get("default") or "")

    def _line(self, number: int, offer: Offer) -> Text:
        assert self._names is not None
        line = Text().append(f"{number}" if number < 10 else "·", "dim").append(f" {offer.text}")
        who = self._names.of(str(offer.option.get("combatant") or "")) if offer.prompt is None else None
        if who and self._several and who not in offer.text:
            line.append(f" ({who})", "cyan")
        if offer.prompt is not None and offer.option["command"].get("choice") == offer.prompt.get("default"):
            line.append(f" ({self._names.texts('prompt.default')})", "dim")
        if cost := cost_text(offer.option, self._names):
            line.append(f" {cost}", "yellow")
        if offer.option.get("params"):
            line.append(" …", "dim")
        return line

    def action_number(self, number: int) -> None:
        if number <= len(self.offers):
            self.highlighted = self.get_option_index(str(number))
            self.action_select()

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        event.stop()
        self.post_message(self.Considered(self.considered))

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        if (offer := self.considered) is not None:
            self.post_message(self.Picked(offer))

    def on_focus(self, event: events.Focus) -> None:
        if self.highlighted is None and self.offers:
            self.highlighted = self.get_option_index("1")
