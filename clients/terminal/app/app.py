"""The app: connects, seats its person, keeps the screen of the table, and says what it waits for meanwhile."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from typing import Any, ClassVar

from textual import work
from textual.app import App
from textual.binding import Binding, BindingType
from textual.command import CommandPalette

import dustup

from ..door import Door
from ..words import clean
from .palette import TableCommands
from .screens.connect import ConnectScreen
from .screens.pick import PickScreen
from .screens.table import TableScreen
from .seat import Seat
from .texts import LANGUAGES, Texts

LONGEST_PAUSE = 15
HISTORY = 100


def plain_colours(environ: Mapping[str, str]) -> bool:
    """Whether the terminal says that it has no more than 16 colours, or wants none."""
    if "NO_COLOR" in environ:
        return True
    return environ.get("COLORTERM", "") not in ("truecolor", "24bit") and "256" not in environ.get("TERM", "")


class TableApp(App[int]):
    """Plays at the table that a door leads to. Its exit status is 0, or 1 when there was no way in."""

    CSS_PATH = "app.tcss"
    TITLE = "Dustup"
    COMMANDS: ClassVar[set[Any]] = {TableCommands}
    ENABLE_COMMAND_PALETTE = True
    COMMAND_PALETTE_BINDING = "ctrl+p"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+q", "quit", show=False, priority=True),
        Binding("ctrl+l", "language", show=False, priority=True),
    ]

    def __init__(self, door: Door, language: str, *, environ: Mapping[str, str] | None = None) -> None:
        plain = plain_colours(os.environ if environ is None else environ)
        super().__init__()
        if plain:
            self.theme = "ansi-dark"
        self.door = door
        self.texts = Texts(language)
        self.client: dustup.Client | None = None
        self.seat: Seat | None = None
        self._connecting = ConnectScreen(self.texts)
        self._retry = asyncio.Event()

    def on_mount(self) -> None:
        self.push_screen(self._connecting)
        self.enter()

    async def on_unmount(self) -> None:
        await self._close()

    # ---- getting in

    @work(exclusive=True, group="enter")
    async def enter(self) -> None:
        """Connect and sit down; tries again for as long as that can help."""
        pause = 1
        told = ""
        host = clean(self.door.url)
        while True:
            trouble: dustup.DustupError | None = None
            try:
                self._connecting.say(self.texts("connect.server", host=host), trouble=told)
                self.client = await dustup.connect(self.door.url, self.door.token)
                session = self.door.session or await self._choose(self.client.sessions)
                if session is None:
                    self.exit(0)
                    return
                self._connecting.say(self.texts("connect.table", table=clean(session)))
                table = await self.client.join(session, history=HISTORY)
            except dustup.Unavailable as error:
                trouble = error
            except dustup.DustupError as error:
                await self._close()
                self._connecting.fail(clean(error))
                await self._wait(None)
                continue
            if trouble is None:
                break
            await self._close()
            told = clean(trouble)
            self._connecting.say(self.texts("connect.server", host=host), trouble=told, seconds_left=pause)
            await self._wait(pause)
            pause = min(pause * 2, LONGEST_PAUSE)
        assert self.client is not None
        self.seat = Seat(self.client, table, self.texts)
        await self.push_screen(TableScreen(self.seat))

    async def _choose(self, sessions: list[dict[str, Any]]) -> str | None:
        """Which table, when the token opens several. Raises BadLink when it opens none."""
        if not sessions:
            raise dustup.BadLink(self.texts("connect.no_table"))
        if len(sessions) == 1:
            return str(sessions[0]["session"])
        entries = []
        for each in sessions:
            role = self.texts("role." + clean(each.get("role")))
            entries.append(f"{clean(each['session'])}  {clean(each.get('seat', ''))} ({role})")
        place = await self.push_screen_wait(PickScreen(self.texts("connect.which"), entries, hint=self.texts("pick.hint")))
        return None if place is None else str(sessions[place]["session"])

    async def _wait(self, seconds: float | None) -> None:
        """Until the time is up, or the person wants it now."""
        self._retry.clear()
        try:
            async with asyncio.timeout(seconds):
                await self._retry.wait()
        except TimeoutError:
            pass

    async def _close(self) -> None:
        client, self.client = self.client, None
        if client is not None:
            await client.close()

    def table_lost(self, error: dustup.DustupError) -> None:
        """The table has ended: say why, and offer to try again."""
        if self.is_running:
            self._back(error)

    @work(exclusive=True, group="enter")
    async def _back(self, error: dustup.DustupError) -> None:
        await self._close()
        self.seat = None
        while self.screen is not self._connecting:
            await self.pop_screen()
        self._connecting.fail(self.texts("connect.lost", why=clean(error)))
        await self._wait(None)
        self.enter()

    def action_retry(self) -> None:
        self._retry.set()

    def action_command_palette(self) -> None:
        if not isinstance(self.screen, CommandPalette):
            self.push_screen(CommandPalette(placeholder=self.texts("pick.hint"), id="--command-palette"))

    # ---- languages

    def speak(self, language: str) -> None:
        """Another language, at once."""
        self.texts.language = language
        for screen in self.screen_stack:
            if isinstance(screen, TableScreen):
                screen.say_anew()

    def action_language(self) -> None:
        known = list(LANGUAGES)
        self.speak(known[(known.index(self.texts.language) + 1) % len(known)])


async def play(door: Door, language: str) -> int:
    """Run the app in this terminal until its person leaves. Returns an exit status."""
    return await TableApp(door, language).run_async() or 0
