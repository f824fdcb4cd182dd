"""The table: map, combatants, log, what can be done, and a line to talk; drawn from the view, at most a few times a second."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from rich.style import Style
from rich.text import Text
from textual import events, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import Screen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

import dustup

from ...words import clean
from .. import gm_tools, look, pages, reading, status
from ..choices import Choices, Offer
from ..log_view import LogView
from ..map_view import MapView
from ..seat import SHAKEN, Seat
from ..talk_line import Unknown, command_of
from .form import FormScreen
from .pager import PagerScreen
from .pick import PickScreen
from .talk import TalkScreen

if TYPE_CHECKING:
    from ..app import TableApp

DRAW_EVERY = 0.05
TICK = 0.25
CONSIDER_AFTER = 0.15
KEYS = {
    "help": "screen.help",
    "say": "screen.go('say')",
    "options": "screen.go('choices')",
    "log": "screen.go('log')",
    "cards": "screen.go('cards')",
    "map": "screen.go('map')",
    "zoom": "screen.zoom",
    "post": "screen.post",
    "tools": "screen.tools",
    "dice": "screen.dice",
    "palette": "app.command_palette",
    "quit": "app.quit",
}
"""The bar at the bottom: what a click on each does. Its texts start with the key."""


class TableScreen(Screen[None]):
    """One seat at one table. Ends the app's wait by `app.table_lost` when the table has ended."""

    app: TableApp

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("o", "go('choices')", show=False),
        Binding("l", "go('log')", show=False),
        Binding("c", "go('cards')", show=False),
        Binding("m", "go('map')", show=False),
        Binding("t,slash", "go('say')", show=False),
        Binding("p", "post", show=False),
        Binding("g", "tools", show=False),
        Binding("v", "dice", show=False),
        Binding("z", "zoom", show=False),
        Binding("question_mark,f1", "help", show=False),
        Binding("escape", "back", show=False),
    ]
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (72, "-normal"), (120, "-wide")]  # noqa: RUF012  # an instance variable in Screen
    VERTICAL_BREAKPOINTS = [(0, "-low"), (32, "-high")]  # noqa: RUF012  # likewise

    def __init__(self, seat: Seat) -> None:
        super().__init__()
        self.seat = seat
        self._dirty = True
        self._news = asyncio.Event()
        self._unread: list[Mapping[str, Any]] = []
        self._stop: Any = None
        self._turns: tuple[str, ...] = ()
        self._asked: set[str] = set()

    # ---- the parts

    def compose(self) -> ComposeResult:
        yield Static(id="head", markup=False)
        yield Static(id="turns", markup=False)
        with Horizontal(id="main"):
            with Vertical(id="left"):
                yield MapView(id="map")
                yield OptionList(id="cards", markup=False)
            with Vertical(id="right"):
                yield LogView(id="log")
                yield Choices(id="choices")
                yield Static(id="detail", markup=False)
        yield Static(id="status", markup=False)
        yield Input(id="say", compact=True)
        yield Static(id="keys")

    def on_mount(self) -> None:
        table = self.seat.table
        self.log_view.use(self.seat.names)
        self._stop = table.on_frame(self._on_frame)
        self._say_texts()
        self.query_one("#choices").focus()
        self.set_interval(TICK, self._tick)
        self.set_interval(DRAW_EVERY, self._draw_if_dirty)
        self.call_after_refresh(self._first_page)
        self._follow()

    def on_unmount(self) -> None:
        if self._stop is not None:
            self._stop()

    @property
    def log_view(self) -> LogView:
        return self.query_one("#log", LogView)

    @property
    def choices(self) -> Choices:
        return self.query_one("#choices", Choices)

    # ---- what arrives

    def _first_page(self) -> None:
        recent = self.seat.table.recent
        self.log_view.start(recent, more=not recent or recent[0]["v"] > 1)
        if not recent:
            self._page("last", 0)

    def _on_frame(self, message: Mapping[str, Any]) -> None:
        self._unread.append(message)
        self.seat.stir(message)
        self._dirty = True
        self._news.set()

    @work(exclusive=True, group="follow")
    async def _follow(self) -> None:
        """Keep the options fresh until the table ends."""
        try:
            while True:
                self._news.clear()
                if await self.seat.refresh():
                    self._dirty = True
                    if self.seat.trouble:
                        self.notify(clean(self.seat.trouble), severity="warning", markup=False)
                if self.seat.table.lost is not None:
                    raise self.seat.table.lost
                seen = self.seat.table.changes
                news = asyncio.create_task(self._news.wait())
                change = asyncio.create_task(self.seat.table.changed(seen))
                try:
                    await asyncio.wait({news, change}, return_when=asyncio.FIRST_COMPLETED)
                    if change.done():
                        change.result()
                        self._dirty = True
                finally:
                    news.cancel()
                    change.cancel()
                    await asyncio.gather(news, change, return_exceptions=True)
        except dustup.DustupError as error:
            self.app.table_lost(error)

    def _tick(self) -> None:
        if self.seat.link.look():
            self._dirty = True
        self.choices.tick(self.seat.client.now())
        self._draw_status()

    # ---- drawing

    def draw_soon(self) -> None:
        self._dirty = True

    def say_anew(self) -> None:
        """Everything once more, in another language."""
        self.seat.list_offers()
        self.log_view.use(self.seat.names)
        self._say_texts()
        self._dirty = True

    def _say_texts(self) -> None:
        texts = self.seat.texts
        self.query_one("#say", Input).placeholder = texts("say.hint")
        self.query_one("#cards").border_title = Text(texts("panel.cards"))
        bar = Text(texts("say.keys") if self.focused is not None and self.focused.id == "say" else "")
        for key in () if bar else KEYS:
            said, _, what = texts(f"key.{key}").partition(" ")
            click = Style(meta={"@click": KEYS[key]})
            bar.append(f"{said}", Style(bold=True, reverse=True) + click).append(f" {what} ", click)
        self.query_one("#keys", Static).update(bar)

    def _draw_if_dirty(self) -> None:
        if not self._dirty or not self.is_active:
            return
        self._dirty = False
        unread, self._unread = self._unread, []
        for message in unread:
            if message.get("t") in SHAKEN:
                reason = clean(message.get("reason") or "")
                self.notify(self.seat.texts("log.anew", reason=reason), severity="warning", markup=False)
                self._page("last", 0)
            else:
                self.log_view.follow(message)
        self._draw()

    def _draw(self) -> None:
        seat = self.seat
        names, view = seat.names, seat.table.view
        own = look.own_of(names, seat.table.seat)
        self._draw_status()
        turns = [look.turn_line(names, each, own) for each in view.get("encounters", {}).values()]
        pools = look.pools_line(names)
        strip = Text("\n").join([*turns, *([pools] if pools is not None else [])])
        self.query_one("#turns", Static).update(strip)
        self.query_one("#turns").display = bool(strip)
        self.query_one("#map", MapView).look_at(names, seat.table.seat)
        self._draw_cards(own)
        self.choices.show(seat.offers, names, seat.client.now())
        self._ring(own)

    def _draw_status(self) -> None:
        seat, table = self.seat, self.seat.table
        self.query_one("#head", Static).update(
            status.head(seat.names, table.seat, table.role, table.ruleset, table.v, table.presence, seat.link)
        )
        self.query_one("#status", Static).update(status.waiting(seat.names, table.seat, seat.client.now(), seat.busy, seat.link))

    def _draw_cards(self, own: set[str]) -> None:
        names = self.seat.names
        cards = self.query_one("#cards", OptionList)
        current = {str(each.get("current")) for each in names.view.get("encounters", {}).values()}
        width = max(cards.size.width - 3, 20)
        people = names.view.get("combatants", {})
        order = sorted(people, key=lambda id: (id not in current, id not in own, bool(people[id].get("out"))))
        kept = cards.highlighted_option.id if cards.highlighted_option is not None else None
        top = cards.scroll_offset.y
        cards.set_options([Option(look.card(id, people[id], names, own, current, width), id=id) for id in order])
        if kept is not None and kept in people:
            cards.highlighted = order.index(kept)
        cards.scroll_to(y=top, animate=False)

    def _ring(self, own: set[str]) -> None:
        """A bell when it becomes one's turn, or one is asked something."""
        turns = tuple(
            str(each.get("current")) for each in self.seat.table.view.get("encounters", {}).values() if each.get("current") in own
        )
        asked = {prompt["id"] for prompt in self.seat.table.prompts_open}
        if (turns and turns != self._turns) or asked - self._asked:
            self.app.bell()
        self._turns, self._asked = turns, asked

    # ---- what is picked

    def on_choices_considered(self, event: Choices.Considered) -> None:
        event.stop()
        self._consider(event.offer)

    @work(exclusive=True, group="consider")
    async def _consider(self, offer: Offer | None) -> None:
        """Show what an offer costs and how likely it is; the odds are asked for once it stays in focus."""
        detail = self.query_one("#detail", Static)
        names = self.seat.names
        if offer is None:
            detail.update("")
            return
        head = Text()
        if cost := look.cost_text(offer.option, names):
            head.append(f"{cost} ", "yellow")
        if (who := names.of(str(offer.option.get("combatant") or ""))) is not None:
            head.append(who, "cyan")
        detail.update(head)
        if not offer.option.get("odds"):
            return
        await asyncio.sleep(CONSIDER_AFTER)
        found = await self.seat.likely_odds(offer)
        if found is None:
            return
        odds, said = found
        head.append(f"  {said}" if said else "", "dim")
        if self.has_class("-high"):
            lines = [head, *look.odds_lines(odds, names, max(detail.size.width - 2, 20))]
        else:
            brief = look.odds_brief(odds, names)
            lines = [brief[0].append("  ").append_text(head), *brief[1:]]
        detail.update(Text("\n").join(lines))

    def on_choices_picked(self, event: Choices.Picked) -> None:
        event.stop()
        self.take(event.offer)

    @work(group="do")
    async def take(self, offer: Offer) -> None:
        """Ask for the details of an offer if it has any, then do it."""
        command: Mapping[str, Any] | None = offer.option["command"]
        if offer.option.get("params"):
            odds = self.seat.odds if offer.option.get("odds") else None
            command = await self.app.push_screen_wait(FormScreen(offer.option, offer.text, self.seat.names, odds))
        if command is not None:
            await self._do(command, offer.text, offer.at)

    async def _do(self, command: Mapping[str, Any], text: str, at: int | None = None) -> bool:
        try:
            await self.seat.do(command, text=text, at=at, changed=self.draw_soon)
        except dustup.Refused as error:
            said = self.seat.texts.word("code", error.code)
            self.notify(clean(f"{said}: {error.text}" if said else error.text), severity="error", markup=False)
        except dustup.DustupError as error:
            self.notify(clean(error), severity="error", markup=False)
        else:
            return True
        finally:
            self._news.set()
        return False

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        line = event.value.strip()
        if not line:
            return
        try:
            command = command_of(line, self.seat.names)
        except Unknown as problem:
            self.notify(str(problem), severity="error", markup=False)
            return
        event.input.value = ""
        self._talk(command, line)

    @work(group="do")
    async def _talk(self, command: Mapping[str, Any], line: str) -> None:
        if not await self._do(command, self.seat.texts("wait.talk")):
            say = self.query_one("#say", Input)
            say.value = say.value or line  # what was refused is not lost

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        id = event.option.id or ""
        entity = self.seat.names.view.get("combatants", {}).get(id)
        if event.option_list.id == "cards" and entity is not None:
            self.app.push_screen(PagerScreen(self.seat.names.combatant(id), reading.entity(entity, self.seat.names)))

    # ---- pages of history

    def on_log_view_wanted(self, event: LogView.Wanted) -> None:
        event.stop()
        self._page(event.which, event.v)

    @work(group="pages", exclusive=True)
    async def _page(self, which: str, v: int) -> None:
        try:
            await pages.fetch(self.seat.table, self.log_view, which, v)
        except dustup.DustupError as error:
            self.log_view.failed()
            self.notify(clean(error), severity="error", markup=False)

    # ---- keys

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        self._say_texts()

    def action_go(self, id: str) -> None:
        if self.has_class("-narrow"):
            # One column at a time: what was asked for takes the place of the other.
            self.set_class(id in ("map", "cards"), "-left")
            self.call_after_refresh(self.set_focus, self.query_one(f"#{id}"))
            return
        # At once: `focus()` waits for a moment in which the next keys would still go elsewhere.
        self.set_focus(self.query_one(f"#{id}"))

    def action_back(self) -> None:
        if self.maximized is not None:
            self.minimize()
        else:
            self.action_go("choices")

    def action_zoom(self) -> None:
        if self.maximized is not None:
            self.minimize()
        elif self.focused is not None:
            self.maximize(self.focused)

    def action_help(self) -> None:
        self.app.push_screen(PagerScreen(self.seat.texts("help.title"), reading.help_lines(self.seat.texts)))

    @work(group="do")
    async def action_post(self) -> None:
        own = sorted(look.own_of(self.seat.names, self.seat.table.seat))
        command = await self.app.push_screen_wait(TalkScreen(self.seat.names, self.seat.table.seat, combatants=own))
        if command is not None:
            await self._do(command, self.seat.texts("wait.talk"))

    @work(group="do")
    async def action_tools(self) -> None:
        texts, names = self.seat.texts, self.seat.names
        offered = gm_tools.tools(names) if self.seat.table.role == "gm" else [gm_tools.raw(names)]
        place = await self.app.push_screen_wait(
            PickScreen(texts("tools.title"), [each["text"] for each in offered], hint=texts("pick.hint"))
        )
        if place is not None:
            self.take(Offer(offered[place], offered[place]["text"]))

    def action_dice(self) -> None:
        self.app.push_screen(
            PagerScreen(self.seat.texts("check.title"), [Text(self.seat.texts("check.reading", n=0))], opened=self._check_dice)
        )

    @work(group="dice", exclusive=True)
    async def _check_dice(self, screen: PagerScreen) -> None:
        try:
            async for paragraphs in reading.dice(self.seat.table, self.seat.names):
                if not screen.is_attached:
                    return
                screen.show(paragraphs)
        except dustup.DustupError as error:
            screen.show([Text(clean(error), "bold red")])

    def on_resize(self, event: events.Resize) -> None:
        self._dirty = True
