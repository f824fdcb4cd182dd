"""What ids and values are called: names out of a view, words of a ruleset out of the catalogue."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..show import View
from ..words import clean
from .texts import Texts

_PEOPLE = ("combatant", "by", "target", "helper", "seat", "to", "from", "actor", "leader", "for", "after")
_THINGS = ("scene", "zone", "cover", "encounter", "pool", "test", "weapon")
REFERENCES = frozenset((*_PEOPLE, *_THINGS))
"""Fields whose values are ids: shown by name or, when nobody is called that, not at all."""


class Names:
    """Looks names up in one view, which may go on changing."""

    def __init__(self, view: View, texts: Texts) -> None:
        self.view = view
        self.texts = texts
        self._marks: dict[str, str] = {}

    def number(self) -> None:
        """Tell namesakes apart from now on: the second Junk picker is "Junk picker ·2". To be called when the view has changed."""
        called: dict[str, list[str]] = {}
        for id, entity in self.view.get("combatants", {}).items():
            called.setdefault(str(entity.get("name") or id), []).append(id)
        self._marks = {id: f" ·{place}" for ids in called.values() if len(ids) > 1 for place, id in enumerate(ids, 1)}

    def mark(self, id: str) -> str:
        """What tells a combatant from its namesakes, "" when it has none."""
        return self._marks.get(id, "")

    def combatant(self, id: str) -> str:
        """A combatant's name with its mark, its id when the view does not show it."""
        return clean(self.view.get("combatants", {}).get(id, {}).get("name") or id) + self.mark(id)

    def of(self, id: str) -> str | None:
        """The name behind an id of whatever kind, None when there is nothing by that id."""
        for kind in ("combatants", "seats", "scenes", "pools", "tests"):
            entity = self.view.get(kind, {}).get(id)
            if entity is not None:
                return self.combatant(id) if kind == "combatants" else clean(entity.get("name") or entity.get("label") or id)
        for scene in self.view.get("scenes", {}).values():
            for zone in scene.get("zones") or []:
                if isinstance(zone, Mapping) and zone.get("id") == id:
                    return clean(zone.get("name") or id)
                for cover in zone.get("covers") or [] if isinstance(zone, Mapping) else ():
                    if isinstance(cover, Mapping) and cover.get("id") == id:
                        return clean(cover.get("name") or id)
        return self._thing(id)

    def _thing(self, id: str) -> str | None:
        """What somebody carries is called: anything with an id and a name in a list of a combatant."""
        for entity in self.view.get("combatants", {}).values():
            for value in entity.values():
                for each in value if isinstance(value, list) else ():
                    if isinstance(each, Mapping) and each.get("id") == id and each.get("name"):
                        return clean(each["name"])
        return None

    def say(self, field: str, value: Any) -> str | None:
        """One field of an event or a command in words. None when it cannot be said."""
        if isinstance(value, bool):
            return self.texts("yes" if value else "no")
        if isinstance(value, int):
            return str(value)
        if isinstance(value, str):
            word = self.texts.word("value", value)
            if field in REFERENCES:
                return self.of(value) or word
            return word if word is not None else clean(value)
        if isinstance(value, list | tuple):
            said = [self.say(field, each) for each in value]
            return self.texts("list.comma").join(each for each in said if each is not None) if None not in said else None
        return None

    def message(self, kind: str, entity: Mapping[str, Any], data: Mapping[str, Any] | None = None) -> str:
        """The text of an event, option or prompt: translated by its `type` where the catalogue can, else as the server says it."""
        id = str(entity.get("type") or "")
        said = self.texts.message(kind, id, entity if data is None else data, self.say)
        return said if said is not None else clean(entity.get("text") or id)

    def option(self, option: Mapping[str, Any]) -> str:
        return self.message("option", option, {**option.get("command", {}), "combatant": option.get("combatant", "")})

    def prompt(self, prompt: Mapping[str, Any]) -> str:
        return self.message("prompt", prompt, {**(prompt.get("data") or {}), **prompt})

    def choice(self, owner: str, choice: Mapping[str, Any]) -> str:
        """A listed value, of the prompt type or the param called `owner`."""
        value = choice.get("value")
        said = str(value).lower() if isinstance(value, bool) else value
        word = self.texts.word("choice", f"{owner}.{said}") if isinstance(said, str | int) else None
        if word is not None:
            return word
        text = clean(choice.get("text") if choice.get("text") is not None else value)
        who = value[0] if isinstance(value, list) and len(value) == 1 else value
        return text + (self.mark(who) if isinstance(who, str) else "")

    def param(self, param: Mapping[str, Any]) -> str:
        return self.texts.word("param", str(param["name"])) or clean(param.get("text") or param["name"])
