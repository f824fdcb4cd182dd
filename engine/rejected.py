"""How the rules say no: a code from the shared list, a sentence for a person, and data for a client."""

from __future__ import annotations

from typing import Any


class Rejected(Exception):
    """A command the rules refuse. Nothing changed and no die was drawn.

    `code` is stable and listed in protocol/errors.py; `text` says in a sentence what to do instead; `data` holds the facts.
    """

    def __init__(self, code: str, text: str, **data: Any) -> None:
        super().__init__(f"{code}: {text}")
        self.code = code
        self.text = text
        self.data = data


class StepLimit(Exception):
    """A step exceeded the caps on events, changes, rolls or prompts: a bug in a ruleset, answered as `internal`."""


def unknown(what: str, given: object, known: object = None) -> Rejected:
    """The refusal for an id that names nothing here; `known` lists what would have been accepted, when it may be told."""
    shown = str(given)[:64]
    data: dict[str, Any] = {"what": what, "given": shown}
    text = f"There is no {what} '{shown}' here."
    if known is not None:
        names = [str(item) for item in known][:20] if isinstance(known, (list, tuple)) else []
        if names:
            data["known"] = names
            text += f" Known: {', '.join(names)}."
    return Rejected("unknown_id", text, **data)
