"""The log panel: a window of bounded size into the table's whole history, which can be moved back to the first entry.

While the window holds the newest entry it follows what happens; moved back, it lets go of the newer end, and `End` takes it up again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from rich.text import Text
from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message

from .cells import wrap
from .lines import LinesView
from .look import event_lines
from .names import Names

Frame = Mapping[str, Any]

MOST_LINES = 5000
"""Lines kept; the other end is let go of above that. It can be asked for again."""


@dataclass(slots=True)
class _Entry:
    v: int
    events: list[Mapping[str, Any]]
    rows: int


class LogView(LinesView):
    """`follow` a new frame, `prepend` or `append` a page of history, `start` anew. Asks for pages by the message `Wanted`."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("pageup", "older", show=False),
        Binding("pagedown", "newer", show=False),
        Binding("home", "first", show=False),
        Binding("end", "last", show=False),
    ]

    class Wanted(Message):
        """A page is wanted: `older` than `v`, `newer` than `v`, the `first` or the `last` one."""

        def __init__(self, which: str, v: int) -> None:
            super().__init__()
            self.which = which
            self.v = v

    def __init__(self, *, id: str | None = None, most: int = MOST_LINES) -> None:
        super().__init__(id=id)
        self._most = most
        self._entries: deque[_Entry] = deque()
        self._names: Names | None = None
        self.oldest = 0
        """Every entry from this version on is in the window (those that show nothing have no lines); 0 before there is any."""
        self.newest = 0
        self.attached = True
        """Whether the window holds the newest entry and follows what happens."""
        self.complete = False
        """Whether the window reaches back to the first entry."""
        self.wanting = ""

    def use(self, names: Names) -> None:
        """Say what things are called from now on, and tell everything anew (another language)."""
        self._names = names
        self._redraw()

    # ---- what comes

    def start(self, frames: Iterable[Frame], *, more: bool, attached: bool = True) -> None:
        """Begin anew with a page. `more`: earlier entries exist."""
        self._entries.clear()
        self.set_lines([])
        self.oldest = self.newest = 0
        self.attached = attached
        self.complete = not more
        self.wanting = ""
        self._take(frames)
        self._title()
        if attached:
            self.scroll_end(animate=False)
        else:
            self.scroll_home(animate=False)

    def follow(self, frame: Frame) -> None:
        """Something happened. Stays where the reader is, unless that is the end."""
        v = int(frame.get("v") or 0)
        if not self.attached or (self.newest and v <= self.newest):
            return
        at_end = self.at_end
        self._take([frame])
        gone = self._let_go_of_oldest()
        if at_end:
            self.scroll_end(animate=False)
        elif gone:
            self.scroll_to(y=max(self.scroll_offset.y - gone, 0), animate=False)

    def prepend(self, frames: Iterable[Frame], *, more: bool) -> None:
        """A page of older entries, oldest first. The newer end goes when the window is full."""
        page = list(frames)
        self.wanting = ""
        self.complete = not more
        rows = 0
        lines: list[Text] = []
        for frame in reversed(page):
            entry, told = self._told(frame)
            self.oldest = entry.v
            if told:
                self._entries.appendleft(entry)
                lines[:0] = told
                rows += len(told)
        self.set_lines([*lines, *self.lines])
        while page and len(self.lines) > self._most and len(self._entries) > 1 and self._entries[-1].v > page[-1]["v"]:
            entry = self._entries.pop()
            self.drop_lines(len(self.lines) - entry.rows, len(self.lines))
            self.newest = self._entries[-1].v
            self.attached = False
        self._title()
        self.scroll_to(y=0 if self.complete else max(rows - 1, 0), animate=False)
        if not rows:
            self._want("older", self.oldest)  # a page of entries that show nothing

    def append(self, frames: Iterable[Frame], *, attached: bool) -> None:
        """A page of newer entries, which join on to the window. The older end goes when the window is full."""
        self.wanting = ""
        here = self.scroll_offset.y
        self._take(frame for frame in frames if frame["v"] > self.newest)
        self.attached = attached
        gone = self._let_go_of_oldest()
        self._title()
        self.scroll_to(y=max(here - gone + self.size.height - 1, 0), animate=False)

    def failed(self) -> None:
        """The page that was wanted will not come."""
        self.wanting = ""
        self._title()

    # ---- keys and wheel

    def action_older(self) -> None:
        if self.scroll_offset.y > 0:
            self.action_page_up()
        else:
            self._want("older", self.oldest)

    def action_newer(self) -> None:
        if not self.at_end:
            self.action_page_down()
        elif not self.attached:
            self._want("newer", self.newest)

    def action_first(self) -> None:
        if self.complete:
            self.scroll_home(animate=False)
        else:
            self._want("first", 0)

    def action_last(self) -> None:
        if self.attached:
            self.scroll_end(animate=False)
        else:
            self._want("last", 0)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        if self.scroll_offset.y == 0:
            self._want("older", self.oldest)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        if self.at_end and not self.attached:
            self._want("newer", self.newest)

    def on_resize(self, event: events.Resize) -> None:
        if event.size.width:
            self._redraw()

    # ---- inner workings

    def _want(self, which: str, v: int) -> None:
        if self.wanting or (which == "older" and (self.complete or not v)):
            return
        self.wanting = which
        self._title()
        self.post_message(self.Wanted(which, v))

    def _take(self, frames: Iterable[Frame]) -> None:
        lines: list[Text] = []
        for frame in frames:
            entry, told = self._told(frame)
            self.newest = entry.v
            self.oldest = self.oldest or entry.v
            if told:
                self._entries.append(entry)
                lines += told
        self.add_lines(lines)

    def _told(self, frame: Frame) -> tuple[_Entry, list[Text]]:
        events = [each for each in frame.get("events") or [] if isinstance(each, Mapping)]
        lines = self._paragraphs(events)
        return _Entry(int(frame.get("v") or 0), events, len(lines)), lines

    def _paragraphs(self, events: list[Mapping[str, Any]]) -> list[Text]:
        if self._names is None:
            return []
        width = max(self.size.width - 2, 20)
        return [line for event in events for paragraph in event_lines(event, self._names) for line in wrap(paragraph, width)]

    def _let_go_of_oldest(self) -> int:
        """How many lines went from the top."""
        gone = 0
        while len(self.lines) - gone > self._most and len(self._entries) > 1:
            gone += self._entries.popleft().rows
            self.complete = False
            self.oldest = self._entries[0].v
        if gone:
            self.drop_lines(0, gone)
        return gone

    def _redraw(self) -> None:
        at_end = self.at_end
        lines: list[Text] = []
        for entry in self._entries:
            told = self._paragraphs(entry.events)
            entry.rows = len(told)
            lines += told
        self.set_lines(lines)
        self._title()
        if at_end:
            self.scroll_end(animate=False)

    def _title(self) -> None:
        if self._names is None:
            return
        texts = self._names.texts
        title = texts("panel.log")
        if self.wanting:
            title += f" · {texts('log.loading')}"
        elif not self.attached:
            title += f" · {texts('log.past', first=self.oldest, last=self.newest)}"
        elif self.complete:
            title += f" · {texts('log.whole')}"
        self.border_title = Text(title)
