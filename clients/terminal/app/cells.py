"""Text measured in terminal cells, where a Chinese character takes two: wrapping, cutting to width, bars."""

from __future__ import annotations

from rich.cells import cell_len, set_cell_size
from rich.text import Text


def breaks(plain: str, width: int, indent: int = 0) -> list[int]:
    """Where to cut a line so that no piece is wider than `width` cells; pieces after the first have `indent` cells less.

    Cuts after spaces, else before or after a wide character, else anywhere.
    """
    cuts: list[int] = []
    used = start = 0
    room = max(width, 2)
    last = 0
    """The latest place where a cut reads well."""
    for at, character in enumerate(plain):
        size = cell_len(character)
        if size == 2 and at > start:
            last = at
        while used + size > room and character != " ":
            cut = last if last > start else at
            if cut == start:
                cut = at
            cuts.append(cut)
            used = cell_len(plain[cut:at])  # what was carried over may itself be too wide for the shorter line
            start = last = cut
            room = max(width - indent, 2)
        used += size
        if character == " " or size == 2:
            last = at + 1
    return [cut for cut in cuts if 0 < cut < len(plain)]


def wrap(text: Text, width: int, indent: int = 2) -> list[Text]:
    """A text as lines of at most `width` cells, those after the first indented."""
    if cell_len(text.plain) <= width:
        return [text]
    pieces = list(text.divide(breaks(text.plain, width, indent)))
    for piece in pieces:
        piece.rstrip()
    return [pieces[0], *(Text(" " * indent).append_text(piece) for piece in pieces[1:])]


def cut(text: str, width: int) -> str:
    """A text of at most `width` cells, with an ellipsis where it was longer."""
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, max(width - 1, 0)).rstrip() + "…" if width > 0 else ""


def pad(text: str, width: int) -> str:
    """A text of exactly `width` cells."""
    return set_cell_size(cut(text, width), width)


def bar(value: int, most: int, width: int = 8) -> str:
    """How much of `most` is left, as a bar of `width` cells: "████░░░░". Anything above 0 shows at least one full cell."""
    if most <= 0:
        return ""
    full = min(max(value * width // most, 1 if value > 0 else 0), width)
    return "█" * full + "░" * (width - full)
