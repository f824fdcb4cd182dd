"""Dice notation for free rolls, such as `3d6+2`, `2d20kh1` and `4dC6`: text to an expression, an expression and a source to a result.

    expression  [+ or -] product { (+ or -) product }
    product     factor { * factor }                 at most one factor holds dice
    factor      integer | pool | ( expression )
    pool        [count] d (sides | % | C6 | F) { modifier }
    modifier    kh[n] kl[n] dh[n] dl[n]             keep or drop the n highest or lowest, 1 unless said
                !                                   a die that shows its highest face adds a die, again and again
                rN r<=N                             dice that show N (or N and less) are rolled again, once

Each modifier kind once per pool, on plain dice only; dice are rolled again first, then they explode, then some are kept. C6 are
combat dice (1, 2, blank, blank, 1 and an effect, 1 and an effect), F are fate dice (-1, -1, 0, 0, +1, +1). Case does not matter,
blanks may stand between words; digits and signs are ASCII, so that one text has one spelling.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal, NoReturn

import msgspec
from msgspec.structs import replace

MAX_TEXT = 120
MAX_DICE = 200
MAX_SIDES = 1_000_000
MAX_CONSTANT = 1_000_000
MAX_EXTRA_ROUNDS = 100
MAX_TOTAL = 2**53 - 1
"""A total beyond this could not be told on the wire."""

EXAMPLE = "2d20kh1 + 3"

Roll = Callable[[int, int], tuple[int, ...]]
"""(count, sides) -> that many faces, 1..sides, drawn as one roll."""
Again = Callable[[tuple[int, ...], int], tuple[int, ...]]
"""(positions, sides) -> new faces for these dice of the roll drawn just before."""
Kind = Literal["plain", "combat", "fate"]

_COMBAT = {1: (1, 0), 2: (2, 0), 3: (0, 0), 4: (0, 0), 5: (1, 1), 6: (1, 1)}
_FATE = {1: (-1, 0), 2: (-1, 0), 3: (0, 0), 4: (0, 0), 5: (1, 0), 6: (1, 0)}


class NotationError(ValueError):
    """A text that is no dice notation. `text` is what was given, `position` the index in it where reading stopped.

    Its message is for people: what is wrong, at which character (counted from 1), and an example that works.
    """

    def __init__(self, text: str, position: int, problem: str = "this is not dice notation") -> None:
        super().__init__(f"At character {position + 1}: {problem}. An example that works: {EXAMPLE}")
        self.text = text
        self.position = position


class Pool(msgspec.Struct, frozen=True):
    """Dice rolled together. `keep` is how many of them count, from the highest (`highest`) or the lowest; None: all.

    Dice showing a face in `reroll_from`..`reroll_to` are rolled again once (0, 0: none).
    """

    text: str
    count: int
    sides: int
    kind: Kind = "plain"
    drop: bool = False
    highest: bool = True
    select: int = 0
    explode: bool = False
    reroll_from: int = 0
    reroll_to: int = 0


class Term(msgspec.Struct, frozen=True):
    """A pool or a number, times `factor`. A number is its factor alone."""

    factor: int
    pool: Pool | None = None


class Expression(msgspec.Struct, frozen=True):
    """The sum of `terms`, as read from `text`."""

    text: str
    terms: tuple[Term, ...]


class Die(msgspec.Struct, frozen=True, omit_defaults=True):
    """One die on the table: its face, what it is worth, whether it counts, and why it is there when it was not in the first roll."""

    face: int
    value: int
    kept: bool = True
    effect: bool = False
    cause: Literal["", "reroll", "explosion"] = ""


class Group(msgspec.Struct, frozen=True, omit_defaults=True):
    """One pool as it fell: every die that was rolled, those that do not count included. `total` is before the factor."""

    text: str
    kind: Kind
    sides: int
    factor: int
    dice: tuple[Die, ...]
    total: int
    effects: int = 0


class Result(msgspec.Struct, frozen=True, omit_defaults=True):
    """What an expression came to. `effects` counts the effect faces of combat dice (factors do not multiply them)."""

    text: str
    total: int
    effects: int = 0
    groups: tuple[Group, ...] = ()


def parse(text: str) -> Expression:
    """Read dice notation. Raises NotationError for anything else, and beyond 120 characters, 200 dice, 1,000,000 sides,
    constants of 1,000,000, or totals that could pass 2**53 - 1."""
    if len(text) > MAX_TEXT:
        raise NotationError(text, MAX_TEXT, f"a roll takes at most {MAX_TEXT} characters")
    return _Parser(text).expression()


def evaluate(expression: Expression, roll: Roll, again: Again | None = None) -> Result:
    """Roll an expression. Pools roll left to right, each with one call of `roll`; dice rolled again and each round of explosions
    are further rolls. Dice rolled again come from `again` when it is given, so that the new roll can name the old one."""
    total = 0
    groups: list[Group] = []
    for term in expression.terms:
        if term.pool is None:
            total += term.factor
            continue
        group = _fall(term.pool, term.factor, roll, again)
        total += group.total * term.factor
        groups.append(group)
    return Result(expression.text, total, sum(group.effects for group in groups), tuple(groups))


def _fall(pool: Pool, factor: int, roll: Roll, again: Again | None) -> Group:
    if pool.kind != "plain":
        worth = _COMBAT if pool.kind == "combat" else _FATE
        dice = [Die(face, worth[face][0], effect=worth[face][1] > 0) for face in roll(pool.count, pool.sides)]
    else:
        dice = [Die(face, face) for face in roll(pool.count, pool.sides)]
        dice = _rolled_again(pool, dice, roll, again)
        if pool.explode:
            dice += _explosions(pool, dice, roll)
        dice = _selected(pool, dice)
    total = sum(die.value for die in dice if die.kept)
    return Group(pool.text, pool.kind, pool.sides, factor, tuple(dice), total, sum(die.effect for die in dice))


def _rolled_again(pool: Pool, dice: list[Die], roll: Roll, again: Again | None) -> list[Die]:
    positions = tuple(i for i, die in enumerate(dice) if pool.reroll_from <= die.face <= pool.reroll_to)
    if not positions:
        return dice
    faces = again(positions, pool.sides) if again is not None else roll(len(positions), pool.sides)
    shown = [Die(die.face, die.value, kept=i not in positions) for i, die in enumerate(dice)]
    return shown + [Die(face, face, cause="reroll") for face in faces]


def _explosions(pool: Pool, dice: list[Die], roll: Roll) -> list[Die]:
    extra: list[Die] = []
    bursting = sum(die.kept and die.face == pool.sides for die in dice)
    for _ in range(MAX_EXTRA_ROUNDS):
        if not bursting:
            break
        faces = roll(bursting, pool.sides)
        extra += [Die(face, face, cause="explosion") for face in faces]
        bursting = faces.count(pool.sides)
    return extra


def _selected(pool: Pool, dice: list[Die]) -> list[Die]:
    """Keep or drop. Among equal dice the earlier one counts as the higher, so that the same faces always show the same dice."""
    if not pool.select:
        return dice
    live = [i for i, die in enumerate(dice) if die.kept]
    ranked = sorted(live, key=lambda i: (-dice[i].face, i))
    chosen = ranked[: pool.select] if pool.highest else ranked[-pool.select :]
    return [Die(die.face, die.value, kept=die.kept and (i in chosen) != pool.drop, cause=die.cause) for i, die in enumerate(dice)]


_WORD = re.compile(r"[0-9]+|[()+*!%-]|<=|kh|kl|dh|dl|c6|[drf]", re.IGNORECASE | re.ASCII)
_BLANK = re.compile(r"[ \t]*")


class _Parser:
    """Recursive descent over words; every sum is a flat tuple of terms, so that a product with brackets just scales them."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._dice = 0
        self._place = 0
        self._start = 0
        self._end = 0
        self._word = ""
        self._next()

    def expression(self) -> Expression:
        terms = self._sum()
        if self._word:
            self._fail(f"did not expect '{self._word}' here")
        most = sum(abs(term.factor) * _most(term.pool) for term in terms)
        if most > MAX_TOTAL:
            self._fail("the total could become too large", 0)
        return Expression(self._text.strip(), terms)

    def _fail(self, problem: str, position: int | None = None) -> NoReturn:
        raise NotationError(self._text, self._start if position is None else position, problem)

    def _next(self) -> None:
        """Step to the next word; the empty word is the end."""
        self._end = self._place
        blank = _BLANK.match(self._text, self._place)
        self._start = blank.end() if blank else self._place
        found = _WORD.match(self._text, self._start)
        if found is None and self._start < len(self._text):
            self._fail(f"cannot read {self._text[self._start]!a}")
        self._word = found.group().lower() if found else ""
        self._place = found.end() if found else self._start

    def _took(self, *words: str) -> str:
        word = self._word
        if word not in words:
            return ""
        self._next()
        return word

    def _sum(self) -> tuple[Term, ...]:
        sign = self._took("+", "-") or "+"
        terms: tuple[Term, ...] = ()
        while sign:
            terms += _scaled(self._product(), -1 if sign == "-" else 1)
            sign = self._took("+", "-")
        return terms

    def _product(self) -> tuple[Term, ...]:
        terms = self._factor()
        while self._word == "*":
            position = self._start
            self._next()
            other = self._factor()
            if any(term.pool for term in terms) and any(term.pool for term in other):
                self._fail("dice can be multiplied by a number, not by dice", position)
            if any(term.pool for term in other):
                terms, other = other, terms
            terms = _scaled(terms, sum(term.factor for term in other))
            if any(abs(term.factor) > MAX_TOTAL for term in terms):
                self._fail("the total could become too large", position)
        return terms

    def _factor(self) -> tuple[Term, ...]:
        position = self._start
        if self._took("("):
            terms = self._sum()
            if not self._took(")"):
                self._fail("a ')' is missing")
            return terms
        if self._word.isdigit():
            number = self._number(MAX_CONSTANT, "number")
            return (self._pool(number, position),) if self._word == "d" else (Term(number),)
        if self._word == "d":
            return (self._pool(1, position),)
        self._fail(f"expected a number, dice or '(', not '{self._word}'" if self._word else "expected a number, dice or '(' next")

    def _number(self, most: int, what: str) -> int:
        digits = self._word.lstrip("0")
        if len(digits) > len(str(most)) or int(digits or "0") > most:
            self._fail(f"the largest {what} is {most}")
        self._next()
        return int(digits or "0")

    def _pool(self, count: int, position: int) -> Term:
        self._dice += count
        if count < 1:
            self._fail("roll at least one die", position)
        if self._dice > MAX_DICE:
            self._fail(f"a roll has at most {MAX_DICE} dice in all", position)
        self._next()
        kind: Kind = "plain"
        if self._took("%"):
            sides = 100
        elif special := self._took("c6", "f"):
            kind, sides = ("combat" if special == "c6" else "fate"), 6
        elif self._word.isdigit():
            at = self._start
            sides = self._number(MAX_SIDES, "number of sides")
            if sides < 2:
                self._fail("a die has at least 2 sides", at)
        else:
            self._fail("after 'd' comes a number of sides, % or C6 or F")
        pool = Pool("", count, sides, kind)
        given: set[str] = set()
        while self._word in _MODIFIERS:
            family = _MODIFIERS[self._word]
            if kind != "plain":
                self._fail(f"{kind} dice cannot {family}")
            if family in given:
                self._fail(f"these dice already {family}")
            given.add(family)
            pool = self._modified(pool)
        return Term(1, replace(pool, text="".join(self._text[position : self._end].split())))

    def _modified(self, pool: Pool) -> Pool:
        word = self._took(*_MODIFIERS)
        at = self._start
        if word == "!":
            return replace(pool, explode=True)
        if word == "r":
            upto = self._took("<=")
            at = self._start
            if not self._word.isdigit():
                self._fail("after 'r' comes the face to roll again, as in r1 or r<=2")
            face = self._number(MAX_SIDES, "face")
            if not 1 <= face <= pool.sides:
                self._fail(f"a d{pool.sides} never shows {face}", at)
            return replace(pool, reroll_from=1 if upto else face, reroll_to=face)
        select = self._number(MAX_DICE, "number of dice") if self._word.isdigit() else 1
        drop = word[0] == "d"
        if not 1 <= select <= pool.count - drop:
            self._fail(f"cannot {'drop' if drop else 'keep'} {select} of {pool.count} dice", at)
        return replace(pool, drop=drop, highest=word[1] == "h", select=select)


_MODIFIERS = {"kh": "keep or drop", "kl": "keep or drop", "dh": "keep or drop", "dl": "keep or drop", "!": "explode", "r": "roll again"}


def _scaled(terms: tuple[Term, ...], factor: int) -> tuple[Term, ...]:
    return tuple(Term(term.factor * factor, term.pool) for term in terms)


def _most(pool: Pool | None) -> int:
    """The largest value a pool can come to, 1 for a number."""
    if pool is None:
        return 1
    return pool.count * pool.sides * (1 + MAX_EXTRA_ROUNDS if pool.explode else 1)
