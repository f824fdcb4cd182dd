"""The line at the bottom: plain words are said to everyone, a slash asks for something else."""

from __future__ import annotations

import json
from typing import Any

from .names import Names


class Unknown(Exception):
    """What was typed cannot be sent; the text says why."""


def command_of(line: str, names: Names) -> dict[str, Any]:
    """The command of a typed line: chat, `/post TEXT`, `/roll NOTATION`, `/to SEAT TEXT`, `/raw {JSON}`; `//` says a slash.

    Raises Unknown.
    """
    texts = names.texts
    if not line.startswith("/"):
        return {"type": "chat", "text": line}
    if line.startswith("//"):
        return {"type": "chat", "text": line[1:]}
    word, _, rest = line[1:].partition(" ")
    rest = rest.strip()
    if word in ("post", "roll", "raw", "to") and not rest:
        raise Unknown(texts("say.more", word=word))
    if word == "post":
        return {"type": "post", "text": rest}
    if word == "roll":
        return {"type": "roll", "notation": rest}
    if word == "to":
        return _private(rest, names)
    if word == "raw":
        return _raw(rest, names)
    raise Unknown(texts("say.unknown", word=word))


def _private(rest: str, names: Names) -> dict[str, Any]:
    """`/to ann see you there`: the seat by id or by name, the longest name that fits."""
    seats = names.view.get("seats", {})
    called = sorted(((str(name), id) for id, each in seats.items() for name in (id, each.get("name") or id)), key=lambda one: -len(one[0]))
    for name, id in called:
        text = rest[len(name) :]
        if rest.casefold().startswith(name.casefold()) and text.startswith((" ", ":", ",")) and text.strip(" :,"):
            return {"type": "chat", "text": text.lstrip(" :,"), "to": [id]}
    raise Unknown(names.texts("say.nobody"))


def _raw(rest: str, names: Names) -> dict[str, Any]:
    try:
        command = json.loads(rest)
    except ValueError as error:
        raise Unknown(names.texts("form.json", error=error)) from None
    if not isinstance(command, dict) or not isinstance(command.get("type"), str):
        raise Unknown(names.texts("form.json_hint"))
    return command
