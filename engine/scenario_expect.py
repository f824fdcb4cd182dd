"""What a scenario says about ids it cannot know, and how what it expects is compared with what came out.

References, in commands and in paths: "$prompt" (the open question to the seat that acts; of several of one kind the oldest),
"$prompt:KIND", "$prompt/SEAT", "$prompt:KIND/SEAT"; "$test" (the newest), "$test:LABEL"; "$encounter" (the only one),
"$encounter:SCENE"; "$again" (whatever the reference before stood for, also when it is gone by now).

Paths lead into the session by field names, ids and positions: "combatants.c1.hp", "pools.group.value", "encounters.$encounter.round".
Where a list holds things with an id, or pairs, the id or the pair's first part picks one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from engine.entry import Event, plain
from engine.session import Encounter, Prompt, Session, Test


class Difference(msgspec.Struct, frozen=True):
    """Something that is not as expected: where, what was expected, what was found."""

    where: str
    expected: Any
    found: Any


class ReferenceProblem(Exception):
    """A reference that stands for nothing, or for several things."""


class Absent:
    """What a path finds when nothing is there. `near` says how far it came and what there is instead."""

    def __init__(self, near: str) -> None:
        self.near = near


class References:
    """Looks references up; remembers the last one for "$again"."""

    def __init__(self) -> None:
        self._last = ""

    def resolve(self, session: Session, by: str, value: Any) -> Any:
        """`value` with every text that is a reference replaced by the id it stands for. Raises ReferenceProblem."""
        if isinstance(value, str):
            return self.look_up(session, by, value) if value.startswith("$") else value
        if isinstance(value, Mapping):
            return {key: self.resolve(session, by, item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.resolve(session, by, item) for item in value]
        return value

    def look_up(self, session: Session, by: str, reference: str) -> str:
        if reference == "$again":
            if not self._last:
                raise ReferenceProblem("'$again' repeats the reference before it, and there is none.")
            return self._last
        body, _, seat = reference[1:].partition("/")
        what, _, detail = body.partition(":")
        if what == "prompt":
            self._last = _prompt(session, by, reference, detail, seat).id
        elif what == "test":
            self._last = _test(session, reference, detail).id
        elif what == "encounter":
            self._last = _encounter(session, reference, detail).id
        else:
            raise ReferenceProblem(f"'{reference}' is no reference; there are $prompt, $test, $encounter and $again.")
        return self._last


def _prompt(session: Session, by: str, reference: str, kind: str, to: str) -> Prompt:
    still_open = [one for one in session.prompts.values() if one.answer is None]
    fitting = [one for one in still_open if kind in ("", one.kind)]
    seat = session.seats.get(by)
    if to:
        fitting = [one for one in fitting if one.to == to]
    elif seat is not None:
        mine = [one for one in fitting if one.to == by]
        fitting = fitting if seat.role == "gm" and not mine else mine
    if len({(one.kind, one.to) for one in fitting}) != 1:
        told = ", ".join(f"{one.kind} to {one.to}" for one in still_open) or "none"
        number = "none" if not fitting else str(len(fitting))
        raise ReferenceProblem(f"'{reference}' should name one kind of open question to one seat, {number} fit. Open: {told}.")
    return fitting[0]


def _test(session: Session, reference: str, label: str) -> Test:
    fitting = [one for one in session.tests.values() if label in ("", one.label)]
    if not fitting:
        told = ", ".join(repr(one.label) for one in session.tests.values()) or "none"
        raise ReferenceProblem(f"'{reference}' names no open test. Open: {told}.")
    return fitting[-1]


def _encounter(session: Session, reference: str, scene: str) -> Encounter:
    fitting = [one for one in session.encounters.values() if scene in ("", one.scene)]
    if len(fitting) != 1:
        told = ", ".join(one.scene for one in session.encounters.values()) or "none"
        raise ReferenceProblem(f"'{reference}' should name one running encounter. Running in: {told}.")
    return fitting[0]


# --- paths -------------------------------------------------------------------------------------------------------------


def compare_facts(facts: Mapping[str, Any], session: Session, references: References, where: str) -> tuple[Difference, ...]:
    """How the session differs from the facts. Raises ReferenceProblem for a path whose reference stands for nothing."""
    differs = []
    for path, expected in facts.items():
        found = look(session, path, references)
        if not fits(expected, found):
            shown = f"nothing: {found.near}" if isinstance(found, Absent) else _plain(found)
            differs.append(Difference(where=f"{where}.{path}", expected=expected, found=shown))
    return tuple(differs)


def look(session: Session, path: str, references: References) -> Any:
    """What a path leads to, or an Absent. Raises ReferenceProblem."""
    found: Any = session
    walked = "the session"
    for part in path.split("."):
        key = references.look_up(session, "", part) if part.startswith("$") else part
        step = _step(found, key)
        if isinstance(step, Absent):
            return Absent(f"{walked} has no '{key}'{step.near}")
        found, walked = step, key if walked == "the session" else f"{walked}.{key}"
    return found


def _step(value: Any, key: str) -> Any:
    if isinstance(value, msgspec.Struct):
        if key in value.__struct_fields__:
            return getattr(value, key)
        return Absent(f" (it has {', '.join(value.__struct_fields__)})")
    if isinstance(value, Mapping):
        return value[key] if key in value else Absent(f" (it has {', '.join(map(str, value)) or 'nothing'})")
    if isinstance(value, (tuple, list)):
        for item in value:
            if _names(item, key):
                return item[1] if isinstance(item, (tuple, list)) and len(item) == 2 else item
        if key.isascii() and key.isdecimal() and int(key) < len(value):
            return value[int(key)]
        return Absent(f" (a list of {len(value)})")
    return Absent(f" (it is {_plain(value)!r})")


def _plain(value: Any) -> Any:
    return plain(dict(value) if isinstance(value, Mapping) else value)


def _names(item: Any, key: str) -> bool:
    if isinstance(item, (tuple, list)):
        return len(item) > 1 and bool(item[0] == key)
    if isinstance(item, Mapping):
        return bool(item.get("id", item.get("name")) == key)
    return isinstance(item, msgspec.Struct) and bool(getattr(item, "id", getattr(item, "name", None)) == key)


# --- comparing -----------------------------------------------------------------------------------------------------------


def fits(expected: Any, found: Any) -> bool:
    """Whether a value is as expected.

    A map fits when every key it lists fits; a list fits item by item. Maps with one key that begins with "$" ask instead:
    `$size: 2`, `$has: x` (some item fits), `$lacks: x`, `$among: [x, y]`, `$not: x`, `$least: 3`, `$most: 5`. "$absent" fits where
    nothing is. true and 1 are different things.
    """
    if isinstance(found, Absent):
        return bool(expected == "$absent")
    if expected == "$absent":
        return False
    if isinstance(expected, Mapping):
        if len(expected) == 1 and next(iter(expected)).startswith("$"):
            (question, wanted), *_ = expected.items()
            return _asked(question, wanted, found)
        return all(fits(wanted, _step(found, key)) for key, wanted in expected.items())
    if isinstance(expected, (list, tuple)):
        if not isinstance(found, (list, tuple)) or len(found) != len(expected):
            return False
        return all(fits(one, other) for one, other in zip(expected, found, strict=True))
    value = _plain(found)
    return isinstance(expected, bool) == isinstance(value, bool) and bool(expected == value)


def _asked(question: str, wanted: Any, found: Any) -> bool:
    if question == "$not":
        return not fits(wanted, found)
    if question == "$among":
        return isinstance(wanted, (list, tuple)) and any(fits(one, found) for one in wanted)
    if question in ("$least", "$most"):
        if isinstance(found, bool) or not isinstance(found, int) or not isinstance(wanted, int):
            return False
        return found >= wanted if question == "$least" else found <= wanted
    if not isinstance(found, (list, tuple, Mapping)):
        return False
    if question == "$size":
        return len(found) == wanted and not isinstance(wanted, bool)
    items: Iterable[Any] = found.values() if isinstance(found, Mapping) else found
    if question in ("$has", "$lacks"):
        there = any(fits(wanted, item) for item in items)
        return there if question == "$has" else not there
    raise ReferenceProblem(f"'{question}' is no question; there are $size, $has, $lacks, $among, $not, $least and $most.")


def find_events(
    wanted: Iterable[Mapping[str, Any]], without: Iterable[str], events: tuple[Event, ...], where: str
) -> tuple[Difference, ...]:
    """How an entry's events differ from the ones that should be among them, in this order, and the types that should not."""
    told = [{"type": one.type, "text": one.text, **one.data} for one in events]
    differs: list[Difference] = []
    place = 0
    for n, one in enumerate(wanted):
        at = next((i for i in range(place, len(told)) if fits(one, told[i])), None)
        if at is None:
            alike = [event for event in told[place:] if event["type"] == one.get("type")] or [event["type"] for event in told[place:]]
            differs.append(Difference(where=f"{where}.events[{n}]", expected=dict(one), found=plain(alike)))
        else:
            place = at + 1
    for kind in without:
        unwanted = [event for event in told if event["type"] == kind]
        if unwanted:
            differs.append(Difference(where=f"{where}.without", expected=f"no {kind}", found=plain(unwanted)))
    return tuple(differs)
