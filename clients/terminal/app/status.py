"""One line each: who and where one is with the state of the connection, and what the table is waiting for."""

from __future__ import annotations

from rich.text import Text

from ..show import mine
from ..words import clean
from .link_state import LinkState
from .names import Names


def head(names: Names, seat: str, role: str, ruleset: str, v: int, presence: dict[str, int], link: LinkState) -> Text:
    """The table's name, who one is, who is here, and the connection."""
    texts = names.texts
    table = names.view.get("table", {}).get("table", {})
    you = clean(names.view.get("seats", {}).get(seat, {}).get("name") or seat)
    line = Text()
    if link.connected:
        line.append("● ", "green").append(texts("link.on"))
    else:
        line.append("○ " + lost(names, link), "bold reverse")
    line.append(f"  {clean(table.get('name') or texts('head.table'))} ({clean(ruleset)})", "bold")
    line.append("  " + texts("head.you", name=you, role=texts(f"role.{clean(role)}")))
    if table.get("paused"):
        line.append(f"  {texts('head.paused')}", "reverse bold")
    here = [clean(each.get("name") or id) for id, each in names.view.get("seats", {}).items() if id != seat and presence.get(id)]
    if here:
        line.append("  " + texts("head.here", who=texts("list.comma").join(here)), "dim")
    return line.append(f"  v{v}", "dim")


def lost(names: Names, link: LinkState) -> str:
    """What is done about a lost connection."""
    seconds = link.seconds
    return names.texts("link.retry", n=seconds) if seconds is not None else names.texts("link.trying")


def waiting(names: Names, seat: str, now: int, busy: tuple[str, int] | None, link: LinkState) -> Text:
    """What is waited for: the server, one's own answer or turn, somebody else's. `busy` is what was sent, and since when (ms)."""
    texts, view = names.texts, names.view
    if not link.connected:
        return Text(lost(names, link), "bold reverse")
    if busy is not None:
        what, since = busy
        since_then = f" ({texts.countdown(now - since)})" if now - since > 1000 else ""
        return Text().append(texts("wait.sent", what=what), "bold").append(since_then)
    if view.get("table", {}).get("table", {}).get("paused"):
        return Text(texts("head.paused"), "bold")
    asked = [each for each in view.get("prompts", {}).values() if not each.get("answered")]
    if any(each.get("to") == seat for each in asked):
        return Text(texts("wait.you_answer"), "bold reverse")
    if asked:
        who = list(dict.fromkeys(clean(view.get("seats", {}).get(str(each.get("to")), {}).get("name") or each.get("to")) for each in asked))
        line = Text(texts("wait.answer", who=texts("list.comma").join(who)))
        due = min((each["deadline"] for each in asked if isinstance(each.get("deadline"), int)), default=None)
        return line if due is None else line.append(f" ({texts('wait.until', left=texts.countdown(due - now))})", "dim")
    own = mine(view, seat)
    for fight in view.get("encounters", {}).values():
        current = str(fight.get("current") or "")
        if current in own:
            return Text(texts("wait.your_turn", who=names.of(current) or current), "bold reverse")
        if current:
            players = [
                clean(each.get("name") or id) for id, each in view.get("seats", {}).items() if current in (each.get("controls") or [])
            ]
            called = names.of(current) or current
            said = texts("wait.turn_of", who=called, seat=texts("list.comma").join(players)) if players else texts("wait.turn", who=called)
            line = Text(said)
            if isinstance(fight.get("deadline"), int):
                line.append(f" ({texts('wait.until', left=texts.countdown(fight['deadline'] - now))})", "dim")
            return line
    return Text(texts("wait.nothing"), "dim")
