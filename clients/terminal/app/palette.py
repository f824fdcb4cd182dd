"""What the command palette finds: keys of the app, what can be done now, tools of the GM, languages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.content import Content

from . import gm_tools
from .choices import Offer
from .screens.table import KEYS, TableScreen
from .texts import LANGUAGES

if TYPE_CHECKING:
    from .app import TableApp


class TableCommands(Provider):
    """Searched by typing; everything stands in the list at first. Texts are text, never markup."""

    def _all(self) -> Iterator[tuple[str, Callable[[], object]]]:
        app: TableApp = self.app  # type: ignore[assignment]  # the palette of this app
        screen = self.screen
        texts = app.texts
        if isinstance(screen, TableScreen):
            for offer in screen.seat.offers:
                yield offer.text, partial(screen.take, offer)
            for key, action in KEYS.items():
                if key not in ("palette", "quit"):
                    yield texts(f"key.{key}").partition(" ")[2], partial(app.run_action, action, screen)
            if screen.seat.table.role == "gm":
                for tool in gm_tools.tools(screen.seat.names):
                    yield f"{texts('palette.gm')}: {tool['text']}", partial(screen.take, Offer(tool, tool["text"]))
        for language, name in LANGUAGES.items():
            yield f"{texts('palette.language')}: {name}", partial(app.speak, language)
        yield texts("palette.quit"), app.exit

    async def discover(self) -> Hits:
        for text, command in self._all():
            yield DiscoveryHit(Content(text), command, text=text)

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for text, command in self._all():
            if (score := matcher.match(text)) > 0:
                yield Hit(score, Content(text), command, text=text)
