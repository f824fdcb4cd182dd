"""Asks for the details of an option one by one, from what the option lists."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from .words import clean, odds_line

MOST_ODDS = 12
"""Choices of one detail for which the chances are asked and shown beside them."""


class Cancelled(Exception):
    """The person gave up filling in details."""


class EndOfInput(Exception):
    """There will be no more lines."""


NextLine = Callable[[], Awaitable[str]]
Odds = Callable[[Mapping[str, Any], Mapping[str, Any]], Awaitable[dict[str, Any] | None]]


class Asker:
    """`next_line` gives what is typed, `say` shows a line, `odds` tells the chances of an option's command or None."""

    def __init__(self, next_line: NextLine, say: Callable[[str], object], odds: Odds) -> None:
        self._next_line = next_line
        self._say = say
        self._odds = odds

    async def fill(self, option: Mapping[str, Any]) -> dict[str, Any]:
        """The option's command, complete. Raises Cancelled at `back`, EndOfInput."""
        command = dict(option["command"])
        for param in option.get("params") or []:
            value = await self._ask(option, command, param)
            if value is not None:
                command[param["name"]] = value
        return command

    async def _ask(self, option: Mapping[str, Any], command: Mapping[str, Any], param: Mapping[str, Any]) -> Any:
        kind = param.get("kind") or "choice"
        choices = param.get("choices") or []
        if kind == "choice":
            await self._list(option, command, param, choices)
        else:
            self._say(f"{clean(param.get('text') or param['name'])}{_bounds(param)}{_hint(param, choices)}")
        while True:
            typed = await self._next_line()
            if typed == "back":
                raise Cancelled
            if not typed and (param.get("default") is not None or param.get("optional")):
                return param.get("default")
            value = read(kind, typed, param, choices)
            if value is not None:
                return value
            one_of = f" Say a number from 1 to {len(choices)}." if choices else ""
            self._say(f"That does not fit.{_bounds(param)}{one_of} `back` gives up.")

    async def _list(self, option: Mapping[str, Any], command: Mapping[str, Any], param: Mapping[str, Any], choices: list[Any]) -> None:
        self._say(f"{clean(param.get('text') or param['name']).rstrip('?')}?{_hint(param, choices)}")
        if not choices:
            self._say("  There is nothing to choose from.")
        for number, choice in enumerate(choices, 1):
            odds = None
            if len(choices) <= MOST_ODDS:
                odds = await self._odds(option, {**command, param["name"]: choice["value"]})
            self._say(f"  {number}. {clean(choice.get('text') or choice['value'])}" + (f"; {odds_line(odds)}" if odds else ""))


def read(kind: str, typed: str, param: Mapping[str, Any], choices: list[Any]) -> Any:
    """What was typed as a value, or None when it does not fit."""
    if kind == "choice":
        if typed.isdecimal() and 1 <= int(typed[:9]) <= len(choices):
            return choices[int(typed[:9]) - 1]["value"]
        return None
    if kind == "text":
        most = param.get("max")
        return typed if typed and (most is None or len(typed) <= most) else None
    numbers = [int(each) for each in typed.split() if each.lstrip("-").isdecimal() and len(each) <= 16]
    if len(numbers) != len(typed.split()) or not numbers:
        return None
    if kind == "ints":
        enough = within(len(numbers), param.get("least"), param.get("most"))
        return numbers if enough and all(within(each, param.get("low"), param.get("high")) for each in numbers) else None
    return numbers[0] if len(numbers) == 1 and within(numbers[0], param.get("min"), param.get("max")) else None


def within(value: int, low: int | None, high: int | None) -> bool:
    return (low is None or low <= value) and (high is None or value <= high)


def _bounds(param: Mapping[str, Any]) -> str:
    if param.get("kind") == "ints":
        least, most = param.get("least"), param.get("most")
        count = f"{least}" if least == most else f"{least} to {most}"
        return f" ({count} numbers from {param.get('low')} to {param.get('high')}, with spaces between)"
    low, high = param.get("min"), param.get("max")
    if param.get("kind") == "text":
        return f" (at most {high} characters)" if high is not None else ""
    if low is not None and high is not None:
        return f" ({low} to {high})"
    if low is not None:
        return f" (at least {low})"
    return f" (at most {high})" if high is not None else ""


def _hint(param: Mapping[str, Any], choices: list[Any]) -> str:
    default = param.get("default")
    if default is not None:
        said = next((each.get("text") for each in choices if each.get("value") == default), default)
        return f" [empty: {clean(said)}]"
    return " [empty: none]" if param.get("optional") else ""
