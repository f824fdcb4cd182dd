"""A drawing of boxes, lines and words in terminal cells. Lines that meet become the right corner, tee or crossing by themselves."""

from __future__ import annotations

from rich.cells import cell_len
from rich.text import Text

NORTH, EAST, SOUTH, WEST = 1, 2, 4, 8
_GLYPHS = {
    0: " ", 1: "│", 2: "─", 3: "└", 4: "│", 5: "│", 6: "┌", 7: "├", 8: "─", 9: "┘", 10: "─", 11: "┴", 12: "┐", 13: "┤", 14: "┬", 15: "┼",
}  # fmt: skip


class Canvas:
    """Grows as needed. Words lie above lines; `text()` gives the rows."""

    def __init__(self) -> None:
        self._lines: dict[tuple[int, int], int] = {}
        self._words: dict[tuple[int, int], tuple[str, str]] = {}
        self.width = 0
        self.height = 0

    def vertical(self, x: int, top: int, bottom: int) -> None:
        """A line down column x from row `top` to row `bottom`."""
        for y in range(top, bottom + 1):
            self._join(x, y, (SOUTH if y < bottom else 0) | (NORTH if y > top else 0))

    def horizontal(self, y: int, left: int, right: int) -> None:
        """A line along row y from column `left` to column `right`."""
        for x in range(left, right + 1):
            self._join(x, y, (EAST if x < right else 0) | (WEST if x > left else 0))

    def box(self, x: int, y: int, width: int, height: int) -> None:
        self.horizontal(y, x, x + width - 1)
        self.horizontal(y + height - 1, x, x + width - 1)
        self.vertical(x, y, y + height - 1)
        self.vertical(x + width - 1, y, y + height - 1)

    def write(self, x: int, y: int, text: Text) -> None:
        """Words from column x on; a wide character takes two columns."""
        for piece in text.divide(sorted({span.start for span in text.spans} | {span.end for span in text.spans})) if text.spans else [text]:
            style = str(piece.spans[0].style) if piece.spans else str(piece.style)
            for character in piece.plain:
                size = cell_len(character)
                if size == 0:
                    before, old = self._words.get((x - 1, y), ("", style))
                    self._words[x - 1, y] = (before + character, old)
                    continue
                self._words[x, y] = (character, style)
                if size == 2:
                    self._words[x + 1, y] = ("", style)
                x += size
                self._seen(x - 1, y)

    def joined(self, x: int, y: int) -> int:
        """Which sides of a cell its lines lead to, as a sum of NORTH, EAST, SOUTH and WEST."""
        return self._lines.get((x, y), 0)

    def text(self) -> list[Text]:
        rows = []
        for y in range(self.height):
            row = Text()
            for x in range(self.width):
                word = self._words.get((x, y))
                if word is None:
                    row.append(_GLYPHS[self._lines.get((x, y), 0)], "dim")
                elif word[0]:
                    row.append(word[0], word[1])
            row.rstrip()
            rows.append(row)
        return rows

    def _join(self, x: int, y: int, sides: int) -> None:
        self._lines[x, y] = self._lines.get((x, y), 0) | sides
        self._seen(x, y)

    def _seen(self, x: int, y: int) -> None:
        self.width, self.height = max(self.width, x + 1), max(self.height, y + 1)
