"""Small texts: strings of the server made safe to print, exact chances as percentages, times as people say them."""

from __future__ import annotations

import unicodedata
from fractions import Fraction
from typing import Any

_CATEGORIES = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}
_JOINERS = {"\u200c", "\u200d"}
"""Zero-width (non-)joiners are part of how some scripts and emoji are written; they move no cursor and turn no text around."""


def clean(value: Any) -> str:
    """A value of the server as one line of printable text: no control or escape characters, nothing that turns text around."""
    text = value if isinstance(value, str) else str(value)
    if text.isascii() and text.isprintable():
        return text
    kept = []
    for character in text:
        if character in "\n\r\t\v\f\u0085\u2028\u2029":
            kept.append(" ")
        elif character in _JOINERS or unicodedata.category(character) not in _CATEGORIES:
            kept.append(character)
    return "".join(kept)


def clean_lines(value: Any) -> list[str]:
    """A longer text of the server as printable lines."""
    text = value if isinstance(value, str) else str(value)
    return [clean(line) for line in text.splitlines()] or [""]


def percent(p: Any) -> str:
    """An exact chance "a/b" as a percentage with one decimal at most: "65%", "12.3%", "<0.1%". "?" for what is no chance."""
    try:
        chance = Fraction(p)
    except (TypeError, ValueError, ZeroDivisionError):
        return "?"
    if not 0 <= chance <= 1:
        return "?"
    if 0 < chance < Fraction(1, 1000):
        return "<0.1%"
    if Fraction(999, 1000) < chance < 1:
        return ">99.9%"
    whole, tenth = divmod(int(chance * 1000 + Fraction(1, 2)), 10)
    return f"{whole}.{tenth}%" if tenth else f"{whole}%"


def odds_line(odds: dict[str, Any]) -> str:
    """Odds in one line: "hit 65%, hit in the head 3.3%"."""
    return ", ".join(f"{clean(part.get('text') or part.get('name', ''))} {percent(part.get('p'))}" for part in odds.get("parts") or [])


def damage_line(odds: dict[str, Any]) -> str:
    """The chances of each amount of damage in one line, or ""."""
    return ", ".join(f"{clean(each.get('value'))}: {percent(each.get('p'))}" for each in odds.get("damage") or [])


def span(milliseconds: int) -> str:
    """How long from now: "in 5 minutes", "in 2 days", "now"."""
    seconds = milliseconds // 1000
    if seconds <= 0:
        return "now"
    for size, unit in ((86_400, "day"), (3600, "hour"), (60, "minute"), (1, "second")):
        if seconds >= size:
            count = seconds // size
            return f"in {count} {unit}{'' if count == 1 else 's'}"
    return "now"
