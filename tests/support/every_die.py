"""Every outcome of a command: the same step taken once for each way that its dice can fall."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import engine
from engine import Act, Entry, Session
from engine.dice import ScriptedDice

START_MS = 1_000_000


class Need(Exception):
    """The step asks for faces that the path taken so far does not hold."""

    def __init__(self, count: int, sides: int) -> None:
        super().__init__(f"{count}d{sides}")
        self.count, self.sides = count, sides


class Path(ScriptedDice):
    """Faces in order; where they end, the step stops with what it needs."""

    def faces(self, stream: str, index: int, salts: Any, n: int, count: int, sides: int) -> tuple[int, ...]:
        if len(self.left) < count:
            raise Need(count, sides)
        return super().faces(stream, index, salts, n, count, sides)


def outcomes(rules: engine.Ruleset, session: Session, seat: str, command: dict[str, Any]) -> Iterator[tuple[int, Session, Entry]]:
    """Each outcome as (its weight: one over it is its probability, the session after, the entry). Raises Rejected."""
    act = Act(by=seat, command=rules.decode(command), id="every", stamp="f" * 16)
    paths: list[tuple[int, tuple[int, ...]]] = [(1, ())]
    while paths:
        weight, faces = paths.pop()
        try:
            after, entry = engine.apply(rules, session, act, now_ms=START_MS, dice=Path(faces))
        except engine.Rejected as refusal:
            need = refusal.__cause__
            if not isinstance(need, Need):
                raise
            more = product(range(1, need.sides + 1), repeat=need.count)
            paths += [(weight * need.sides**need.count, (*faces, *one)) for one in more]
            continue
        yield weight, after, entry


def created(rules: engine.Ruleset, setup: engine.Setup) -> Session:
    """A fresh session; its creation must not roll."""
    session, _ = engine.create(
        rules, setup, session_id="everydieeverydie", epoch="0" * 16, now_ms=START_MS, dice=ScriptedDice(), stamp="0" * 16
    )
    return session
