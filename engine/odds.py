"""Exact odds: distributions with integer weights, and what a client is told of them. Nothing is sampled, nothing is a float."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from functools import lru_cache
from math import comb, gcd, lcm
from operator import add
from typing import Generic, TypeVar, overload

import msgspec

Outcome = int | tuple[int, ...]
T = TypeVar("T", int, tuple[int, ...])
U = TypeVar("U", int, tuple[int, ...])
V = TypeVar("V", int, tuple[int, ...])


class Dist(Generic[T]):
    """A distribution over integers, or over tuples of integers of one length. Immutable, hashable, in ascending order of outcome.

    Weights are positive integers and stay as they came (a pool of two d20 has total 400), but two distributions are equal when
    their probabilities are. Build one with from_weights, die, constant, pool, keep or mix.
    """

    __slots__ = ("_weights", "total")

    total: int
    """Sum of all weights."""

    def __init__(self, weights: Mapping[T, int]) -> None:
        """Outcome to weight; outcomes of weight 0 are left out. Raises ValueError for a negative or non-integer weight, or no weight."""
        for outcome, weight in weights.items():
            if type(weight) is not int or weight < 0:
                raise ValueError(f"the weight of {outcome} is {weight!r}, not a whole number from 0")
        self._weights: dict[T, int] = {outcome: weights[outcome] for outcome in sorted(weights) if weights[outcome]}
        self.total = sum(self._weights.values())
        if not self.total:
            raise ValueError("a distribution needs an outcome")

    @classmethod
    def from_weights(cls, weights: Mapping[T, int]) -> Dist[T]:
        """The distribution of these integer weights. Raises ValueError like the constructor."""
        return cls(weights)

    def __iter__(self) -> Iterator[tuple[T, int]]:
        """Pairs (outcome, weight), ascending."""
        return iter(self._weights.items())

    def __len__(self) -> int:
        return len(self._weights)

    def __repr__(self) -> str:
        return f"Dist({self._weights})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Dist) and self._reduced() == other._reduced()

    def __hash__(self) -> int:
        return hash(self._reduced())

    def _reduced(self) -> tuple[tuple[T, int], ...]:
        common = gcd(*self._weights.values())
        return tuple((outcome, weight // common) for outcome, weight in self)

    def weight(self, outcome: T) -> int:
        """The weight of an outcome, 0 when it cannot happen."""
        return self._weights.get(outcome, 0)

    def p(self, wanted: Callable[[T], bool]) -> Fraction:
        """The probability that `wanted` holds."""
        return Fraction(sum(weight for outcome, weight in self if wanted(outcome)), self.total)

    def p_at_least(self, least: T) -> Fraction:
        """The probability of `least` or more. For tuples: each part at least its counterpart."""
        if isinstance(least, tuple):
            return self.p(lambda outcome: all(a >= b for a, b in zip(_parts(outcome), least, strict=True)))
        return self.p(lambda outcome: outcome >= least)

    def __add__(self, other: Dist[T]) -> Dist[T]:
        """The sum of two independent draws; tuples add part by part. Raises ValueError for tuples of different lengths."""
        return product(self, other, _plus)

    def map(self, change: Callable[[T], U]) -> Dist[U]:
        """Every outcome changed; outcomes that become equal are merged."""
        found: dict[U, int] = {}
        for outcome, weight in self:
            new = change(outcome)
            found[new] = found.get(new, 0) + weight
        return Dist(found)

    def times(self, n: int) -> Dist[T]:
        """The sum of `n` independent draws, by doubling; 0 draws sum to zero. Raises ValueError for a negative n."""
        if n < 0:
            raise ValueError(f"cannot draw {n} times")
        result: Dist[T] = Dist({_zero(next(iter(self._weights))): 1})
        doubled = self
        while n:
            if n & 1:
                result = result + doubled
            n >>= 1
            if n:
                doubled = doubled + doubled
        return result

    def then(self, branch: Callable[[T], Dist[U]]) -> Dist[U]:
        """The mixture of what follows: for each outcome, the distribution that `branch` gives for it."""
        return mix((weight, branch(outcome)) for outcome, weight in self)


def _parts(outcome: Outcome) -> tuple[int, ...]:
    return outcome if isinstance(outcome, tuple) else (outcome,)


@overload
def _plus(a: int, b: int) -> int: ...
@overload
def _plus(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]: ...
def _plus(a: Outcome, b: Outcome) -> Outcome:
    if isinstance(a, tuple) and isinstance(b, tuple) and len(a) == len(b):
        return tuple(map(add, a, b))
    if isinstance(a, int) and isinstance(b, int):
        return a + b
    raise ValueError(f"cannot add {a} and {b}")


@overload
def _zero(like: int) -> int: ...
@overload
def _zero(like: tuple[int, ...]) -> tuple[int, ...]: ...
def _zero(like: Outcome) -> Outcome:
    return (0,) * len(like) if isinstance(like, tuple) else 0


def constant(outcome: T) -> Dist[T]:
    """What always happens."""
    return Dist({outcome: 1})


@lru_cache(maxsize=64)
def die(sides: int) -> Dist[int]:
    """A fair die: 1..sides. Raises ValueError for less than one side."""
    return Dist(dict.fromkeys(range(1, sides + 1), 1))


def product(a: Dist[T], b: Dist[U], combine: Callable[[T, U], V]) -> Dist[V]:
    """What `combine` makes of two independent draws; `lambda x, y: (x, y)` gives their joint distribution."""
    found: dict[V, int] = {}
    for x, p in a:
        for y, q in b:
            outcome = combine(x, y)
            found[outcome] = found.get(outcome, 0) + p * q
    return Dist(found)


def mix(parts: Iterable[tuple[int, Dist[T]]]) -> Dist[T]:
    """One of several distributions, chosen with these integer weights. Raises ValueError for a negative weight or none."""
    chosen = [(weight, part) for weight, part in parts if weight]
    whole = lcm(*(part.total for _, part in chosen))
    found: dict[T, int] = {}
    for chance, part in chosen:
        scale = chance * (whole // part.total)
        for outcome, weight in part:
            found[outcome] = found.get(outcome, 0) + weight * scale
    return Dist(found)


def pool(n: int, faces: Mapping[int, T]) -> Dist[T]:
    """The sum over `n` dice whose equally likely faces count as `faces` says, as (successes, complications) for example:
    `pool(2, {face: (int(face <= 10), int(face == 20)) for face in range(1, 21)})`. Large pools of pairs take milliseconds: keep them."""
    weights: dict[T, int] = {}
    for worth in faces.values():
        weights[worth] = weights.get(worth, 0) + 1
    return Dist(weights).times(n)


def keep(n: int, one: Dist[int], count: int = 1, *, highest: bool = True) -> Dist[int]:
    """The sum of the `count` highest (or lowest) of `n` independent draws of `one`. Raises ValueError unless 0 <= count <= n."""
    if not 0 <= count <= n:
        raise ValueError(f"cannot keep {count} of {n} dice")
    # Outcomes from the best down; a state is how many dice showed something better and what the kept ones among them sum to.
    states: dict[tuple[int, int], int] = {(0, 0): 1}
    for outcome, weight in sorted(one, reverse=highest):
        after: dict[tuple[int, int], int] = {}
        for (used, total), ways in states.items():
            for showing in range(n - used + 1):
                kept = min(showing, max(count - used, 0))
                state = (used + showing, total + kept * outcome)
                after[state] = after.get(state, 0) + ways * comb(n - used, showing) * weight**showing
        states = after
    return Dist({total: ways for (used, total), ways in states.items() if used == n})


def frac_str(p: Fraction) -> str:
    """A probability as the wire has it: reduced, "13/400", "0/1", "1/1"."""
    return f"{p.numerator}/{p.denominator}"


class OddsPart(msgspec.Struct, frozen=True):
    """One thing that may happen: its name for programs, a sentence for people, its exact probability "a/b"."""

    name: str
    text: str
    p: str


class Amount(msgspec.Struct, frozen=True):
    """One amount of damage and its exact probability "a/b"."""

    value: int
    p: str


class Odds(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a command may come to, shaped as the wire has it. `damage` is in ascending order."""

    type: str
    text: str
    parts: tuple[OddsPart, ...] = ()
    damage: tuple[Amount, ...] = ()


def part(name: str, text: str, p: Fraction) -> OddsPart:
    """An OddsPart from a probability."""
    return OddsPart(name, text, frac_str(p))


def damage_table(dist: Dist[int]) -> tuple[Amount, ...]:
    """A distribution of amounts as Odds.damage has it."""
    return tuple(Amount(value, frac_str(Fraction(weight, dist.total))) for value, weight in dist)
