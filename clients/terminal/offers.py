"""Options and questions as one kind of offer, and a first guess at their details. Knows no rules: it reads what is listed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Offer = Mapping[str, Any]


def answers(prompt: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The answers to a prompt in the form of options; numbers that an answer needs become a param of kind `ints`."""
    wanted = prompt.get("ints") or {}
    found = []
    for choice in prompt.get("choices") or [{"value": "", "text": "Give the numbers"}]:
        answer: dict[str, Any] = {
            "text": choice.get("text") or choice.get("value"),
            "command": {"type": "answer", "prompt": prompt["id"], "choice": choice["value"]},
        }
        if wanted and wanted.get("choice", "") in ("", choice["value"]):
            answer["params"] = [{**wanted, "name": "ints", "kind": "ints", "text": "Numbers"}]
        found.append(answer)
    return found


def with_defaults(option: Offer, command: Mapping[str, Any], *, guess: bool = False) -> dict[str, Any] | None:
    """A command of this option, its missing details filled with their defaults; optional ones may stay away.

    With `guess` a detail without a default takes the first of its listed values. None when one is still missing.
    """
    whole = dict(command)
    for param in option.get("params") or []:
        if param["name"] in whole or param.get("optional"):
            continue
        value = param.get("default")
        if value is None and guess:
            value = first_value(param)
        if value is None:
            return None
        whole[param["name"]] = value
    return whole


def first_value(param: Mapping[str, Any]) -> Any:
    """What a person most likely starts from: the default, the first choice, the least number; None when there is no such thing."""
    if param.get("default") is not None:
        return param["default"]
    kind = param.get("kind") or "choice"
    if kind == "choice":
        choices = param.get("choices") or []
        return choices[0]["value"] if choices else None
    if kind == "int":
        return param.get("min")
    return None
