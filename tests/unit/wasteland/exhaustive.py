"""Every outcome of a few dice, each once: dice that count through all faces, one run of the code under test for each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import TypeVar

from engine.dice import Salts, ScriptedDice

T = TypeVar("T")


class Counting(ScriptedDice):
    """Dice that show `fixed` first, then the faces of `wanted`, then 1s; `sides` tells which dice were rolled after the fixed ones."""

    def __init__(self, fixed: tuple[int, ...], wanted: list[int]) -> None:
        super().__init__()
        self._fixed = list(fixed)
        self._wanted = wanted
        self.sides: list[int] = []

    def faces(self, stream: str, index: int, salts: Salts, n: int, count: int, sides: int) -> tuple[int, ...]:
        found = []
        for _ in range(count):
            if self._fixed:
                found.append(self._fixed.pop(0))
                continue
            place = len(self.sides)
            self.sides.append(sides)
            found.append(self._wanted[place] if place < len(self._wanted) else 1)
        return tuple(found)


def outcomes(play: Callable[[Counting], T], fixed: tuple[int, ...] = ()) -> Iterator[tuple[T, Fraction]]:
    """What `play` gives for every outcome of the dice it rolls, with that outcome's probability. How many it rolls may depend on them."""
    wanted: list[int] = []
    while True:
        dice = Counting(fixed, wanted)
        result = play(dice)
        faces = [wanted[i] if i < len(wanted) else 1 for i in range(len(dice.sides))]
        chance = Fraction(1)
        for sides in dice.sides:
            chance /= sides
        yield result, chance
        place = len(faces) - 1
        while place >= 0 and faces[place] == dice.sides[place]:
            place -= 1
        if place < 0:
            return
        wanted = [*faces[:place], faces[place] + 1]
