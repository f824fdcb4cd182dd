"""Drives the app by keys and clicks, and waits for what it shows instead of sleeping."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from textual.pilot import Pilot
from textual.widgets import Static

from clients.terminal.app.app import TableApp
from clients.terminal.app.map_view import MapView
from clients.terminal.app.screens.table import TableScreen
from clients.terminal.door import Door

COLOURFUL = {"COLORTERM": "truecolor", "TERM": "xterm-256color"}


@asynccontextmanager
async def running(
    url: str,
    token: str,
    session: str | None = None,
    *,
    language: str = "en",
    size: tuple[int, int] = (100, 30),
    environ: dict[str, str] | None = None,
) -> AsyncIterator[Pilot[int]]:
    """The app in a terminal of `size` that exists in memory only."""
    app = TableApp(Door(url, token, session), language, environ=COLOURFUL if environ is None else environ)
    async with app.run_test(size=size, notifications=True) as pilot:
        yield pilot


@asynccontextmanager
async def seated(url: str, token: str, session: str | None = None, **how: Any) -> AsyncIterator[Pilot[int]]:
    """The app, once it shows its table with what can be done."""
    async with running(url, token, session, **how) as pilot:
        await until(pilot, lambda: isinstance(pilot.app.screen, TableScreen) and screen(pilot).seat.options_v > 0)
        await until(pilot, lambda: bool(shown(pilot, "head")) and screen(pilot).choices.offers == screen(pilot).seat.offers)
        yield pilot


async def until(pilot: Pilot[Any], true: Callable[[], object], what: str = "") -> None:
    """Let the app work until something holds."""
    for _ in range(1000):
        if true():
            return
        await pilot.pause(0.01)
    raise AssertionError(f"it never came true: {what or true}; the screen:\n{picture(pilot)}")


def screen(pilot: Pilot[int]) -> TableScreen:
    """The table's screen, also while something is open above it."""
    return next(each for each in pilot.app.screen_stack if isinstance(each, TableScreen))


def shown(pilot: Pilot[int], id: str) -> str:
    """The text of a line or a panel of the table's screen."""
    return str(screen(pilot).query_one(f"#{id}", Static).render())


def rows(pilot: Pilot[Any]) -> list[str]:
    """What the terminal shows now, row by row, as plain text."""
    compositor = pilot.app.screen._compositor
    return ["".join(segment.text for segment in strip) for strip in compositor.render_strips()]


def picture(pilot: Pilot[Any]) -> str:
    return "\n".join(rows(pilot))


def map_text(pilot: Pilot[int]) -> str:
    """The whole map, also what is scrolled out of sight."""
    return "\n".join(line.plain for line in screen(pilot).query_one("#map", MapView).lines)


async def pick(pilot: Pilot[int], text: str) -> None:
    """Move to the offer with this text in it and take it, as a person would."""
    table = screen(pilot)
    await until(pilot, lambda: any(text in offer.text for offer in table.choices.offers), f"an offer {text!r}")
    table.choices.focus()
    for _ in range(len(table.choices.offers) + 1):
        considered = table.choices.considered
        if considered is not None and text in considered.text:
            await pilot.press("enter")
            return
        await pilot.press("down")
    raise AssertionError(f"{text!r} cannot be reached by arrows")
