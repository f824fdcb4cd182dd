"""How things look as styled text: events with their dice, options, costs, odds, initiative. Colour never says anything alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.text import Text

from ..show import mine, next_up
from ..words import clean, clean_lines, percent
from .cells import bar, cut, wrap
from .names import Names

TALK = frozenset({"chat", "post"})
PLAIN = frozenset(
    {"type", "text", "body", "body_id", "sha256", "private", "erased", "rolls", "faces", "sides", "stream", "index", "n", "of"}
)
"""Fields of an event that are shown in another way, or say nothing to people."""


def rolls_of(event: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The rolls that an event tells of: its list of them, or the event itself when it is one."""
    listed = event.get("rolls")
    found = [each for each in listed if isinstance(each, Mapping)] if isinstance(listed, list) else []
    return [event] if not found and isinstance(event.get("faces"), list) and isinstance(event.get("sides"), int) else found


def roll_text(roll: Mapping[str, Any], names: Names) -> Text:
    """One roll as dice: `2d20 [12] [7]  re-rolls #20`."""
    texts = names.texts
    faces = [each for each in roll.get("faces") or [] if isinstance(each, int)]
    line = Text().append(f"{len(faces)}d{clean(roll.get('sides', '?'))} ", "dim")
    kept = sum(each[1] for each in roll.get("kept") or [] if isinstance(each, list) and len(each) == 2 and isinstance(each[1], int))
    for place, face in enumerate(faces):
        line.append(f"[{face}]", "bold underline" if place < kept else "bold")
        line.append(" ")
    notes = []
    if isinstance(roll.get("of"), int) and roll["of"]:
        notes.append(texts("dice.reroll", n=roll["of"]))
    if kept:
        notes.append(texts("dice.kept", n=kept))
    if roll.get("proven") is False:
        notes.append(texts("dice.entered"))
    if isinstance(roll.get("n"), int):
        notes.append(f"#{roll['n']}" + (f" {texts('dice.hidden')}" if roll.get("stream") == "hidden" else ""))
    return line.append(" " + texts("list.dot").join(notes), "dim")


def facts(event: Mapping[str, Any], names: Names) -> str:
    """What an event with dice says beside its sentence: its plain numbers and yes-or-nos by name."""
    found = []
    for field, value in event.items():
        if field in PLAIN or isinstance(value, str):
            continue
        if isinstance(value, bool):
            if value:
                found.append(names.texts.field(field))
        elif isinstance(value, int):
            found.append(f"{names.texts.field(field)} {value}")
    return names.texts("list.dot").join(clean(each) for each in found)


def event_lines(event: Mapping[str, Any], names: Names) -> list[Text]:
    """An event as paragraphs: what happened, then its dice and what they meant; talk with who said it."""
    if "body" in event or event.get("erased"):
        return _talk(event, names)
    kind = str(event.get("type") or "")
    said = names.message("event", event) or f"({clean(kind)})"
    style = "bold" if kind in ("turn.started", "round.started", "encounter.started", "encounter.ended") else ""
    lines = [Text(said, style)]
    rolls = rolls_of(event)
    lines += [Text("  ").append_text(roll_text(roll, names)) for roll in rolls]
    if rolls and (told := facts(event, names)):
        lines.append(Text(f"    {told}", "dim"))
    return lines


def _talk(event: Mapping[str, Any], names: Names) -> list[Text]:
    seat = event.get("by") or ""
    speaker = clean(event.get("name") or names.view.get("seats", {}).get(seat, {}).get("name") or seat)
    head = Text()
    if event.get("private"):
        head.append(names.texts("talk.private") + " ", "magenta reverse")
    head.append(f"{speaker}: " if speaker else "", "bold cyan")
    if event.get("body") is None:
        return [head.append(names.texts("talk.erased"), "italic dim")]
    first, *more = clean_lines(event["body"])
    style = "italic" if event.get("type") == "post" else ""
    return [head.append(first, style), *(Text(f"  {line}", style) for line in more)]


def cost_text(option: Mapping[str, Any], names: Names) -> str:
    """What an option costs, "" when it is free."""
    costs = []
    for each in option.get("cost") or []:
        pool = str(each.get("pool"))
        label = names.of(pool) or names.texts.field(pool)
        costs.append(f"{clean(each.get('amount'))} {clean(label)}")
    return names.texts("cost", what=names.texts("list.comma").join(costs)) if costs else ""


def odds_lines(odds: Mapping[str, Any], names: Names, width: int) -> list[Text]:
    """Exact chances as bars with percentages, then the chances of each amount of damage."""
    lines = []
    for part in odds.get("parts") or []:
        label = names.texts.word("odds", str(part.get("name"))) or clean(part.get("text") or part.get("name") or "")
        told = cut(f"{label}  ({clean(part.get('p'))})", max(width - 7, 8))
        lines.append(Text().append(f"{percent(part.get('p')):>6} ", "bold").append(told))
    damage = odds.get("damage") or []
    if damage:
        told = "  ".join(f"{clean(each.get('value'))}: {percent(each.get('p'))}" for each in damage)
        lines += wrap(Text(f"{names.texts('odds.damage')} {told}"), width)
    if note := clean(odds.get("text") or ""):
        lines.append(Text(cut(note, width), "dim"))
    return lines


def odds_brief(odds: Mapping[str, Any], names: Names) -> list[Text]:
    """Exact chances in at most three lines, for where there is little room."""
    line = Text()
    for part in odds.get("parts") or []:
        label = names.texts.word("odds", str(part.get("name"))) or clean(part.get("text") or part.get("name") or "")
        line.append("  " if line else "").append(percent(part.get("p")), "bold").append(f" {label}")
    return [line, *odds_lines({**odds, "parts": []}, names, 10_000)]


def turn_line(names: Names, encounter: Mapping[str, Any], own: set[str]) -> Text:
    """The order of a fight from whose turn it is: `Round 2  ▶ Reed (yours) → Wick → ✓ Stray`."""
    view, texts = names.view, names.texts
    line = Text().append(texts("turns.round", n=clean(encounter.get("round", "?"))) + "  ", "bold")
    current = str(encounter.get("current") or "")
    following = next_up(view, encounter)
    if not current:
        line.append(texts("turns.nobody"), "italic")
    for place, id in enumerate(_from(encounter, current)):
        if place or not current:
            line.append(" → " if place else " ", "dim")
        name = names.combatant(id) + ("*" if id in own else "")
        if id == current:
            line.append(f"▶ {name}" + (f" ({texts('turns.yours')})" if id in own else ""), "reverse bold")
        elif view.get("combatants", {}).get(id, {}).get("out"):
            line.append(f"✗ {name}", "dim strike")
        elif id in (encounter.get("acted") or []):
            line.append(f"✓ {name}", "dim")
        elif id == following:
            line.append(f"{texts('turns.next')} {name}", "bold underline")
        else:
            line.append(name)
    return line


def _from(encounter: Mapping[str, Any], current: str) -> list[str]:
    """The order, starting with whose turn it is: those still to act, then those who have acted."""
    order = [str(id) for id in encounter.get("order") or []]
    if current in order:
        place = order.index(current)
        order = [*order[place:], *order[:place]]
    elif current:
        order = [current, *order]
    acted = set(encounter.get("acted") or [])
    return [*(id for id in order if id == current or id not in acted), *(id for id in order if id != current and id in acted)]


def pools_line(names: Names) -> Text | None:
    """Every pool of the table with its value, None when there is none."""
    pools = names.view.get("pools", {})
    if not pools:
        return None
    line = Text()
    for id, pool in pools.items():
        value, cap = pool.get("value"), pool.get("cap")
        if line:
            line.append("  ")
        line.append(f"{names.texts.word('pool', id) or clean(pool.get('name') or id)} ", "bold")
        line.append(clean(value if value is not None else "?") + (f"/{clean(cap)}" if cap is not None else ""))
    return line


def card(id: str, entity: Mapping[str, Any], names: Names, own: set[str], current: set[str], width: int) -> Text:
    """A combatant in a few lines: name and marks, bars, then whatever else the view shows of it."""
    texts = names.texts
    head = Text("▶ " if id in current else "  ")
    head.append(names.combatant(id), "bold" + (" reverse" if id in current else ""))
    for mark, on in (("card.yours", id in own), ("card.out", entity.get("out")), ("card.hidden", entity.get("hidden"))):
        if on:
            head.append(f" [{texts(mark)}]", "cyan" if mark == "card.yours" else "yellow")
    place = [names.say("zone", entity.get("zone")) or "", names.say("side", entity.get("side") or "") or ""]
    if any(place):
        head.append("  " + texts("list.dot").join(each for each in place if each), "dim")
    lines = [head, *(Text("  ").append_text(line) for line in _figures(entity, texts, names, width - 2))]
    return Text("\n").join(lines)


def _figures(entity: Mapping[str, Any], texts: Any, names: Names, width: int) -> Iterator[Text]:
    bars, words, rest = Text(), [], []
    for field, value in entity.items():
        nothing = value is False or (not value and not isinstance(value, int))
        if nothing or field in STRUCTURE or (field.startswith("max_") and field[4:] in entity):
            continue
        label = clean(texts.field(field))
        most = entity.get(f"max_{field}")
        if value is True:
            words.append(label)
        elif isinstance(value, int) and isinstance(most, int):
            low = value * 3 <= most
            bars.append("  " if bars else "").append(f"{label} ")
            bars.append(bar(value, most), "red" if low else "green").append(f" {value}/{most}", "bold" if low else "")
        elif isinstance(value, int):
            rest.append(f"{label} {value}")
        elif isinstance(value, str):
            rest.append(f"{label} {names.say(field, value) or clean(value)}")
        elif isinstance(value, list):
            inner = [
                clean(each.get("name") or each.get("at") or each.get("id") or "?") if isinstance(each, Mapping) else clean(each)
                for each in value
            ]
            rest.append(f"{label} {texts('list.comma').join(inner)}")
    if bars:
        yield bars
    if words:
        yield Text(texts("list.dot").join(words), "yellow bold")
    if rest:
        yield Text(cut(texts("list.dot").join(rest), max(width, 10)), "dim")


STRUCTURE = frozenset({"id", "name", "scene", "zone", "kind", "template", "reach", "hidden", "out", "side"})
"""Fields of a combatant that stand elsewhere on its card."""


def own_of(names: Names, seat: str) -> set[str]:
    return mine(names.view, seat)
