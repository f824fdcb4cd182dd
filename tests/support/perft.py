"""Counting what a ruleset allows, as chess programs count moves: from one position, how many ways lead how far.

An edge of the tree is something a seat may do (every option of the group "turn" with every combination of its listed values, every
answer to an open prompt) together with one way that its dice fall. `nodes` counts the paths of a length, `states` the different
positions at their ends. Numbers that change are rules that changed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import combinations as choose
from typing import Any

import msgspec

import engine
from engine import Session
from engine.session import Prompt
from tests.support import every_die, junk

_encode = msgspec.msgpack.Encoder(order="deterministic").encode
VOLATILE = frozenset({"deadline", "turn", "prompts", "roll", "last"})
"""Fields that number things or name what an id named: they differ between equal positions."""


def count(rules: engine.Ruleset, start: Session, depth: int) -> list[tuple[int, int]]:
    """(nodes, states) for each depth from 1."""
    here: dict[bytes, Session] = {position(start): start}
    ways = Counter(dict.fromkeys(here, 1))
    found: list[tuple[int, int]] = []
    for _ in range(depth):
        there: dict[bytes, Session] = {}
        many: Counter[bytes] = Counter()
        for key, session in here.items():
            for seat, command in moves(rules, session):
                for _, after, _ in every_die.outcomes(rules, session, seat, command):
                    reached = position(after)
                    there.setdefault(reached, after)
                    many[reached] += ways[key]
        here, ways = there, many
        found.append((sum(ways.values()), len(here)))
    return found


def moves(rules: engine.Ruleset, session: Session) -> Iterator[tuple[str, dict[str, Any]]]:
    """All that may be done now, each command once, by the first seat that may."""
    waiting = [prompt for prompt in session.prompts.values() if prompt.answer is None]
    for prompt in waiting:
        for command in answers(prompt):
            yield prompt.to, command
    told: set[bytes] = set()
    for seat in session.seats:
        for option in rules.options(session, seat):
            if option.group != "turn":
                continue
            for command in junk.combinations(option):
                key = _encode(command)
                if key not in told:
                    told.add(key)
                    yield seat, command


def answers(prompt: Prompt) -> Iterator[dict[str, Any]]:
    for choice in [one.value for one in prompt.choices] or [""]:
        command: dict[str, Any] = {"type": "answer", "prompt": prompt.id, "choice": choice}
        ints = prompt.ints
        if ints is None or ints.choice not in ("", choice):
            yield command
            continue
        for size in range(ints.least, ints.most + 1):
            for numbers in choose(range(ints.low, ints.high + 1), size):
                yield {**command, "ints": list(numbers)}


def position(session: Session) -> bytes:
    """What makes two sessions the same position: everything but ids that were drawn, counters and deadlines."""
    told: dict[str, Any] = {"combatants": dict(session.combatants), "scenes": dict(session.scenes), "pools": dict(session.pools)}
    for kind in ("encounters", "tests", "prompts"):
        told[kind] = [_without(msgspec.to_builtins(one), VOLATILE | {"id", "owner"}) for one in getattr(session, kind).values()]
    return _encode(told)


def _without(value: Any, names: frozenset[str]) -> Any:
    if isinstance(value, dict):
        return {key: _without(item, names) for key, item in value.items() if key not in names}
    if isinstance(value, list):
        return [_without(item, names) for item in value]
    return value
