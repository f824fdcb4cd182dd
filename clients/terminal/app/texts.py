"""The message catalogue: every text of the app in the language chosen, and translations of what the server says by its message ids.

One JSON file a language and purpose in `catalogue/`: `ui.<language>.json` holds the app's own texts, `messages.<language>.json` those of
rulesets. Both are flat maps from key to text; `{name}` stands for a named value. Message keys are `<kind>:<id>` (`event:duel.hit`,
`option:duel.move`, `prompt:...`, `param:target`, `choice:<prompt or param>.<value>`, `field:hp`, `value:unhurt`, `code:stale`); a key may
end in `?<field>=<value>` for a text that serves only then.
"""

from __future__ import annotations

import json
import os
import string
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib import resources
from typing import Any

LANGUAGES = {"en": "English", "zh_TW": "繁體中文"}
FALLBACK = "en"

Resolve = Callable[[str, Any], str | None]
"""Says a field's value for people: the name behind an id. None when that cannot be said, so the server's own text is shown."""

_UNITS = ((86_400, "day"), (3600, "hour"), (60, "minute"), (1, "second"))


@cache
def catalogue(name: str, language: str) -> Mapping[str, str]:
    """One file of the catalogue; empty when there is none for this language."""
    file = resources.files(__package__) / "catalogue" / f"{name}.{language}.json"
    found: dict[str, str] = json.loads(file.read_text("utf-8")) if file.is_file() else {}
    return found


def language_of(environ: Mapping[str, str] | None = None) -> str:
    """The language that the environment asks for, English when there is no catalogue for it."""
    given = os.environ if environ is None else environ
    wanted = next((given[name] for name in ("DUSTUP_LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG") if given.get(name)), "")
    name = wanted.split(".")[0].replace("-", "_")
    if name in LANGUAGES:
        return name
    return "zh_TW" if name.split("_")[0] == "zh" else FALLBACK


class Texts:
    """Texts in one language, which may be changed at any time."""

    def __init__(self, language: str = FALLBACK) -> None:
        self.language = language

    def __call__(self, key: str, **named: object) -> str:
        """One of the app's own texts. A key without a text in this language is said in English."""
        text = catalogue("ui", self.language).get(key) or catalogue("ui", FALLBACK).get(key)
        if text is None:
            return key.rpartition(".")[2]  # a role, a stream: a word of a newer server
        return text.format_map({name: str(value) for name, value in named.items()})

    def message(self, kind: str, id: str, data: Mapping[str, Any], resolve: Resolve) -> str | None:
        """The translation of something the server says, None when there is none, or when it needs what `data` does not have."""
        known = catalogue("messages", self.language)
        template = next((known[key] for key in _keys(kind, id, data) if key in known), None)
        return None if template is None else _filled(template, data, resolve)

    def word(self, kind: str, id: str) -> str | None:
        """The translation of one word of a ruleset (`field`, `value`, `choice`, `param`), None when there is none."""
        return catalogue("messages", self.language).get(f"{kind}:{id}")

    def field(self, name: str) -> str:
        """A field's name for people."""
        return self.word("field", name) or name.replace("_", " ")

    def span(self, milliseconds: int) -> str:
        """How long from now, in the largest fitting unit."""
        seconds = milliseconds // 1000
        for size, unit in _UNITS:
            if seconds >= size:
                count = seconds // size
                return self(f"span.{unit}" if count == 1 else f"span.{unit}s", n=count)
        return self("span.now")

    def countdown(self, milliseconds: int) -> str:
        """Time left as a clock while it is less than an hour ("4:09"), else as `span`."""
        seconds = max(milliseconds // 1000, 0)
        return f"{seconds // 60}:{seconds % 60:02}" if seconds < 3600 else self.span(milliseconds)


def _keys(kind: str, id: str, data: Mapping[str, Any]) -> Iterator[str]:
    for name, value in data.items():
        if isinstance(value, bool | int | str):
            said = str(value).lower() if isinstance(value, bool) else value
            yield f"{kind}:{id}?{name}={said}"
    yield f"{kind}:{id}"


def _filled(template: str, data: Mapping[str, Any], resolve: Resolve) -> str | None:
    values = {}
    for _, name, _, _ in string.Formatter().parse(template):
        if name is None:
            continue
        value = resolve(name, data[name]) if name in data else None
        if value is None:
            return None
        values[name] = value
    return template.format_map(values)
