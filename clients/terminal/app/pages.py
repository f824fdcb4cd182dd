"""Pages of a table's history for the log panel, joined without holes."""

from __future__ import annotations

from typing import Any

import dustup

PAGE = 100


async def fetch(table: dustup.Table, log: Any, which: str, v: int) -> None:
    """Get the page that the log panel wants and hand it over. Raises what `Table.history` raises."""
    if which == "older":
        page = await table.history(before=v, limit=PAGE)
        log.prepend(page, more=page.more)
    elif which == "first":
        begun = await whole(table, 1, PAGE)
        log.start(begun, more=False, attached=bool(begun) and begun[-1]["v"] >= table.v)
    elif which == "newer":
        later = await whole(table, v + 1, v + PAGE)
        log.append(later, attached=not later or later[-1]["v"] >= table.v)
    else:
        newest = await table.history(limit=PAGE)
        log.start(newest, more=newest.more)


async def whole(table: dustup.Table, first: int, last: int) -> list[dict[str, Any]]:
    """Every entry from version `first` to `last`, those that exist: a page may be shorter than asked, so it may take several."""
    found: list[dict[str, Any]] = []
    before = last + 1
    while before > first:
        page = await table.history(before=before, limit=min(before - first, PAGE))
        if not page:
            break
        found[:0] = [frame for frame in page if frame["v"] >= first]
        before = page[0]["v"]
        if not page.more:
            break
    return found
