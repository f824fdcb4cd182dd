"""What the reading screens say: help, one combatant in full, the check of the dice."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any

from rich.text import Text

import dustup

from ..words import clean
from .dice_check import Check, Epoch
from .names import Names
from .texts import Texts

HELP = ("move", "panels", "choices", "form", "talk", "log", "gm", "dice", "marks", "rest")
PAGE = 200


def help_lines(texts: Texts) -> list[Text]:
    """The help screen: for each matter a heading and a paragraph."""
    lines: list[Text] = []
    for part in HELP:
        lines.append(Text(texts(f"help.{part}.head"), "bold"))
        lines += [Text(f"  {line}") for line in texts(f"help.{part}").split("\n")]
        lines.append(Text(""))
    return lines


def entity(fields: Mapping[str, Any], names: Names) -> list[Text]:
    """Every field that the view shows of an entity, nested ones indented."""
    return list(_fields(fields, names, 0))


def _fields(value: Any, names: Names, depth: int) -> Any:
    indent = "  " * depth
    if isinstance(value, Mapping):
        for field, inner in value.items():
            label = clean(names.texts.field(str(field)))
            if isinstance(inner, Mapping | list) and inner:
                yield Text(f"{indent}{label}", "bold")
                yield from _fields(inner, names, depth + 1)
            elif not isinstance(inner, Mapping | list):
                yield Text(f"{indent}{label}: ").append(_said(str(field), inner, names), "bold")
    elif isinstance(value, list):
        for inner in value:
            if isinstance(inner, Mapping):
                title = clean(inner.get("name") or inner.get("id") or "·")
                plain = {k: v for k, v in inner.items() if k not in ("name", "id")}
                yield Text(f"{indent}{title}", "bold cyan")
                yield from _fields(plain, names, depth + 1)
            else:
                yield Text(f"{indent}{_said('', inner, names)}")


def _said(field: str, value: Any, names: Names) -> str:
    return names.say(field, value) or clean("–" if value in (None, "") else value)


async def dice(table: dustup.Table, names: Names) -> AsyncIterator[list[Text]]:
    """The check of all dice of the table: first how much of the log was read, then what came out. Raises what `history` raises."""
    pages: list[list[Mapping[str, Any]]] = []
    before: int | None = None
    read = 0
    while True:
        page = await table.history(before=before, limit=PAGE)
        # Only what rolls and seeds need is kept: the log may be long.
        pages.append([{"events": [_slim(event) for event in frame.get("events") or []]} for frame in page])
        read += len(page)
        yield [Text(names.texts("check.reading", n=read))]
        if not page or not page.more:
            break
        before = page[0]["v"]
    check = Check()
    for kept in reversed(pages):
        check.take(kept)
    yield list(_outcome(check, names.texts))


_KEPT = frozenset({"type", "rolls", "stream", "index", "n", "sides", "faces", "kept", "proven", "seed", "commitment", "salts", "scheme"})


def _slim(event: Mapping[str, Any]) -> dict[str, Any]:
    return {field: value for field, value in event.items() if field in _KEPT}


def _outcome(check: Check, texts: Texts) -> Any:
    epochs = check.epochs()
    wrong = [epoch for epoch in epochs if not epoch.good]
    checked = sum(epoch.right for epoch in epochs)
    waiting = sum(epoch.waiting for epoch in epochs)
    if wrong:
        yield Text("✗ " + texts("check.bad"), "bold red")
    elif checked:
        yield Text("✓ " + texts("check.good", n=checked), "bold green")
    else:
        yield Text(texts("check.none"), "bold")
    if waiting:
        yield Text(texts("check.waiting", n=waiting))
    if check.unread:
        yield Text(texts("check.unread", n=check.unread), "yellow")
    yield Text("")
    for epoch in epochs:
        yield from _epoch(epoch, texts)
    yield Text(texts("check.how"), "dim")


def _epoch(epoch: Epoch, texts: Texts) -> Any:
    stream = texts(f"dice.{epoch.stream}") if epoch.stream in ("open", "hidden") else clean(epoch.stream)
    yield Text(texts("check.epoch", stream=stream, index=epoch.index), "bold")
    if not epoch.seed:
        seed = "check.secret"
    elif epoch.seed_fits is None:
        seed = "check.unseen"
    else:
        seed = "check.fits" if epoch.seed_fits else "check.other_seed"
    yield Text("  " + texts(seed), "bold red" if epoch.seed_fits is False else "")
    yield Text("  " + texts("check.counts", right=epoch.right, entered=epoch.entered, waiting=epoch.waiting))
    if epoch.wrong:
        yield Text("  " + texts("check.wrong", which=texts("list.comma").join(f"#{n}" for n in epoch.wrong[:50])), "bold red")
    if epoch.commitment:
        yield Text("  " + texts("check.commitment", hash=clean(epoch.commitment)), "dim")
    if epoch.seed:
        yield Text("  " + texts("check.seed", seed=clean(epoch.seed)), "dim")
