"""A scrolling view of lines that renders only what is on the screen, however many there are."""

from __future__ import annotations

from collections.abc import Iterable

from rich.text import Text
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip


class LinesView(ScrollView, can_focus=True):
    """Lines of styled text, one row each: `set_lines` replaces them all, `add_lines` appends. Wrapping is the caller's."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._texts: list[Text] = []
        self._strips: list[Strip | None] = []
        self._widest = 0

    @property
    def lines(self) -> list[Text]:
        """What is shown, top to bottom. Not to be changed."""
        return self._texts

    def set_lines(self, lines: Iterable[Text]) -> None:
        self._texts = list(lines)
        self._strips = [None] * len(self._texts)
        self._widest = 0
        self._measure(self._texts)

    def add_lines(self, lines: Iterable[Text]) -> None:
        new = list(lines)
        self._texts += new
        self._strips += [None] * len(new)
        self._measure(new)

    def drop_lines(self, first: int, last: int) -> None:
        """Take away lines `first` up to but not including `last`."""
        del self._texts[first:last]
        del self._strips[first:last]
        self._measure(())

    @property
    def at_end(self) -> bool:
        """Whether the last line is in sight."""
        return self.scroll_offset.y >= self.max_scroll_y

    def render_line(self, y: int) -> Strip:
        left, top = self.scroll_offset
        width, row = self.scrollable_content_region.width, top + y
        style = self.rich_style
        if row >= len(self._texts):
            return Strip.blank(width, style)
        strip = self._strips[row]
        if strip is None:
            text = self._texts[row]
            strip = self._strips[row] = Strip(text.render(self.app.console))
        return strip.crop_extend(left, left + width, style).apply_style(style)

    def _measure(self, new: Iterable[Text]) -> None:
        self._widest = max(self._widest, max((line.cell_len for line in new), default=0))
        self.virtual_size = Size(self._widest, len(self._texts))
        self.refresh()
