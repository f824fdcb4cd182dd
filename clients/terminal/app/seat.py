"""One seat at a table as the app uses it: what may be done, its odds, what is under way. Knows nothing of screens."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import dustup

from ..offers import with_defaults
from .choices import Offer, offers_of
from .link_state import LinkState
from .names import Names
from .texts import Texts

MOST_ODDS = 500
"""Answers kept until the table changes."""

SHAKEN = frozenset({"reset", "joined"})


class Seat:
    """Wraps a joined table. `changed` is called when something arrives, at most once until `settle` is awaited."""

    def __init__(self, client: dustup.Client, table: dustup.Table, texts: Texts) -> None:
        self.client = client
        self.table = table
        self.texts = texts
        self.names = Names(table.view, texts)
        self.names.number()
        self.link = LinkState(client)
        self.offers: list[Offer] = []
        self.options: list[dict[str, Any]] = []
        self.options_v = 0
        self.trouble = ""
        """Why there are no options, "" when there is no trouble."""
        self.busy: tuple[str, int] | None = None
        self._odds: dict[str, Mapping[str, Any] | None] = {}
        self._stale = True

    def stir(self, message: Mapping[str, Any]) -> bool:
        """Take note of a frame; True when what can be done may have changed."""
        if message.get("t") in SHAKEN or message.get("views") or message.get("gone") or message.get("view") is not None:
            self._stale = True
            self.names.number()
        return self._stale

    async def refresh(self) -> bool:
        """Ask for the options if they may have changed. False when they are as before. Raises what ends the table."""
        if not self._stale:
            return False
        self._stale = False
        try:
            options = await self.table.options()
        except dustup.Refused as error:
            self.options, self.trouble = [], error.text
        except dustup.Unavailable as error:
            self._stale, self.trouble = True, error.text
            return True
        else:
            self.options, self.options_v, self.trouble = list(options), options.v, ""
        self._odds.clear()
        self.list_offers()
        return True

    def list_offers(self) -> None:
        """Say the offers anew (another language, other names)."""
        self.offers = offers_of(list(self.table.prompts_open), self.options, self.options_v, self.names)

    async def odds(self, command: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Exact odds of a command, asked once until the table changes; None when the server tells none."""
        key = json.dumps(command, sort_keys=True)
        if key not in self._odds:
            try:
                found: Mapping[str, Any] | None = await self.table.odds(command)
            except (dustup.Refused, dustup.Unavailable, dustup.BadMessage):
                found = None
            if len(self._odds) >= MOST_ODDS:
                self._odds.clear()
            self._odds[key] = found
        return self._odds[key]

    async def likely_odds(self, offer: Offer) -> tuple[Mapping[str, Any], str] | None:
        """Odds of an offer with its likeliest details, and those details in words. None when it has none."""
        if not offer.option.get("odds"):
            return None
        command = with_defaults(offer.option, offer.option["command"], guess=True)
        odds = await self.odds(command) if command is not None else None
        if odds is None or command is None:
            return None
        said = []
        for param in offer.option.get("params") or []:
            if param.get("optional") or param["name"] not in command:
                continue
            label = self.names.param(param).rstrip("?？ ")
            chosen = [each for each in param.get("choices") or [] if each.get("value") == command[param["name"]]]
            said += [f"{label}: {self.names.choice(str(param['name']), choice)}" for choice in chosen]
        return odds, self.texts("list.dot").join(said)

    async def do(self, command: Mapping[str, Any], *, text: str, at: int | None, changed: Callable[[], object]) -> dustup.Ack:
        """Do a command; `busy` tells of it meanwhile. Raises Refused, Unavailable, BadMessage, Closed."""
        self.busy = (text, self.client.now())
        changed()
        try:
            return await self.table.do(command, at=at)
        except dustup.Refused as error:
            self._stale = self._stale or error.code == "stale"
            raise
        finally:
            self.busy = None
            changed()
