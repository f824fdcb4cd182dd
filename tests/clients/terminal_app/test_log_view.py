"""The log panel: a bounded window into the whole history, which reaches the first entry and comes back to now without holes."""

from __future__ import annotations

import re
from typing import Any

from textual.app import App, ComposeResult

from clients.terminal.app import pages
from clients.terminal.app.log_view import LogView
from clients.terminal.app.names import Names
from clients.terminal.app.texts import Texts
from tests.clients.terminal_app.helpers import until

MOST = 60


def frame(v: int, *, told: bool = True) -> dict[str, Any]:
    return {"v": v, "events": [{"type": "note", "text": f"Entry {v}."}] if told else []}


class Page(list[dict[str, Any]]):
    more = False


class History:
    """A table's past of `v` entries, given out by pages as a server does: shorter ones than asked for, now and then."""

    def __init__(self, v: int, *, silent: range = range(0)) -> None:
        self.v = v
        self.silent = silent
        self.asked = 0

    async def history(self, before: int | None = None, limit: int = 50) -> Page:
        self.asked += 1
        last = self.v if before is None else min(before - 1, self.v)
        size = max(limit - 3, 1) if self.asked % 2 else limit
        first = max(last - size + 1, 1)
        page = Page(frame(v, told=v not in self.silent) for v in range(first, last + 1))
        page.more = first > 1
        return page


class LogApp(App[None]):
    def __init__(self, table: History, most: int) -> None:
        super().__init__()
        self.table = table
        self.log_view = LogView(id="log", most=most)

    def compose(self) -> ComposeResult:
        yield self.log_view

    def on_mount(self) -> None:
        self.log_view.use(Names({}, Texts()))
        self.log_view.focus()

    async def on_log_view_wanted(self, event: LogView.Wanted) -> None:
        await pages.fetch(self.table, self.log_view, event.which, event.v)  # type: ignore[arg-type]


def entries(log: LogView) -> list[int]:
    """The versions shown, top to bottom."""
    return [int(found[1]) for line in log.lines if (found := re.match(r"Entry (\d+)\.", line.plain))]


def gapless(log: LogView) -> bool:
    shown = entries(log)
    return shown == list(range(shown[0], shown[-1] + 1)) if shown else True


async def test_what_happens_is_followed_and_the_oldest_lines_go():
    app = LogApp(History(1000), MOST)
    async with app.run_test(size=(60, 12)) as pilot:
        app.log_view.start([], more=False)
        for v in range(1, 1001):
            app.log_view.follow(frame(v))
        await pilot.pause()
        assert entries(app.log_view) == list(range(1000 - MOST + 1, 1001))
        assert app.log_view.at_end
        assert not app.log_view.complete


async def test_a_reader_who_looks_back_is_not_moved_by_what_happens():
    app = LogApp(History(40), MOST)
    async with app.run_test(size=(60, 12)) as pilot:
        app.log_view.start([frame(v) for v in range(1, 41)], more=False)
        await pilot.pause()
        app.log_view.scroll_to(y=5, animate=False)
        await pilot.pause()
        app.log_view.follow(frame(41))
        await pilot.pause()
        assert app.log_view.scroll_offset.y == 5
        assert entries(app.log_view)[-1] == 41


async def test_paging_back_reaches_the_first_entry_and_memory_stays_bounded():
    app = LogApp(History(400, silent=range(100, 260)), MOST)
    async with app.run_test(size=(60, 12)) as pilot:
        app.log_view.start(await app.table.history(limit=50), more=True)
        await pilot.pause()
        for _ in range(400):
            if app.log_view.complete and app.log_view.scroll_offset.y == 0:
                break
            await pilot.press("pageup")
            await until(pilot, lambda: not app.log_view.wanting)
            # A whole page may stand above what was in sight, never more than that beyond the bound.
            assert len(app.log_view.lines) <= MOST + pages.PAGE
        assert entries(app.log_view)[0] == 1
        assert not app.log_view.attached


async def test_paging_forward_again_leaves_no_hole_and_arrives_at_now():
    app = LogApp(History(400), MOST)
    async with app.run_test(size=(60, 12)) as pilot:
        app.log_view.start(await app.table.history(limit=50), more=True)
        await pilot.press("home")
        await until(pilot, lambda: app.log_view.complete)
        assert entries(app.log_view)[0] == 1
        app.log_view.follow(frame(401))  # somebody acts while we read the past
        app.table.v = 401
        for _ in range(400):
            if app.log_view.attached and app.log_view.at_end:
                break
            await pilot.press("pagedown")
            await until(pilot, lambda: not app.log_view.wanting)
            assert gapless(app.log_view)
        assert entries(app.log_view)[-1] == 401


async def test_end_comes_back_to_now_at_once():
    app = LogApp(History(400), MOST)
    async with app.run_test(size=(60, 12)) as pilot:
        app.log_view.start([], more=True)
        await pilot.press("home")
        await until(pilot, lambda: app.log_view.complete)
        assert not app.log_view.attached
        await pilot.press("end")
        await until(pilot, lambda: app.log_view.attached)
        assert entries(app.log_view)[-1] == 400


async def test_only_what_is_in_sight_is_rendered():
    """Five thousand lines cost no more to show than a screenful."""
    app = LogApp(History(5000), 5000)
    async with app.run_test(size=(60, 12)) as pilot:
        app.log_view.start([frame(v) for v in range(1, 5001)], more=False)
        await pilot.pause()
        assert len(app.log_view.lines) == 5000
        assert sum(strip is not None for strip in app.log_view._strips) < 100


async def test_a_narrower_screen_wraps_the_same_entries():
    app = LogApp(History(3), MOST)
    async with app.run_test(size=(80, 12)) as pilot:
        app.log_view.start([{"v": 1, "events": [{"type": "note", "text": "word " * 30}]}], more=False)
        await pilot.pause()
        wide = len(app.log_view.lines)
        await pilot.resize_terminal(40, 12)
        await pilot.pause()
        assert len(app.log_view.lines) > wide
        assert all(line.cell_len <= 40 for line in app.log_view.lines)
