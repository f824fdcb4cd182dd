"""The exact distribution of what a hit does: lost HP, whether it is critical, and radiation, for a given number of combat dice and target.

It follows engine.rulesets.wasteland.effects effect by effect; a test plays every face of small pools through both and compares.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from engine import odds as o
from engine.odds import Dist
from engine.rulesets.wasteland import checks
from engine.rulesets.wasteland.model import Effect

Count = tuple[int, ...]
MOST_DICE = 40
MOST_SPREAD_DICE = 12
"""Beyond these the outcomes are too many to be told while somebody waits."""
NOTHING: Count = (0, 0, 0)


class Place(NamedTuple):
    """A hit location: how many d20 faces hit it, its resistances, the cover dice that hide it, and whether the shot was called at it."""

    weight: int
    dr: int
    radiation_dr: int
    cover: int
    radiation_cover: int
    called: bool


class Target(NamedTuple):
    """What of a target and of the table's switches decides what gets through."""

    places: tuple[Place, ...]
    cover: int
    immune: bool
    radiation_immune: bool
    critical: int
    after_dr: bool
    radiation_can_crit: bool
    cover_total: bool
    breaking: str
    """"per_effect", "flat", or "" when breaking comes after the hit."""
    carry: bool
    prone: bool = False
    """Cover dice that show nothing are rolled once more."""
    spread_up: bool = False
    spread_pierces: bool = False


@lru_cache(maxsize=256)
def dice(n: int, face_damage: int) -> Dist[Count]:
    """(damage, effects) of `n` combat dice."""
    return o.pool(n, {face: checks.damage((face,), face_damage) for face in range(1, 7)})


@lru_cache(maxsize=64)
def cover_roll(n: int, total: bool, face_damage: int, prone: bool = False) -> Dist[int]:
    """What `n` cover dice add to DR."""
    added = dice(n, face_damage).map(lambda one: one[0] if total else one[1])
    if not prone or not n:
        return added
    once = dice(1, face_damage).map(lambda one: one[0] if total else one[1])
    # A blank is told by what the die shows, whatever an effect face hurts here.
    shown = dice(1, 1).map(lambda one: one[0] if total else one[1])
    if face_damage != 1 and total:
        outcomes = {face: checks.damage((face,)) for face in range(1, 7)}
        again = o.mix((1, once if not outcomes[face][0] else o.constant(checks.damage((face,), face_damage)[0])) for face in range(1, 7))
    else:
        again = shown.then(lambda one: once if not one else o.constant(one))
    return again.times(n)


def _rating(effects: tuple[Effect, ...], name: str) -> int:
    return sum(one.x for one in effects if one.id == name)


def _times(effects: tuple[Effect, ...], name: str) -> int:
    return sum(1 for one in effects if one.id == name)


@lru_cache(maxsize=256)
def raw(n: int, effects: tuple[Effect, ...], vicious: bool, face_damage: int) -> Dist[int]:
    """Damage of a hit before any resistance."""
    more = _times(effects, "vicious") + vicious
    return dice(n, face_damage).map(lambda one: one[0] + more * one[1])


@lru_cache(maxsize=256)
def hurt(n: int, kind: str, effects: tuple[Effect, ...], vicious: bool, face_damage: int, target: Target) -> Dist[Count]:
    """(HP lost, whether critical, maximum HP lost) of a hit with `n` combat dice, over the location die unless the shot was called."""
    called = any(place.called for place in target.places)
    chosen = [(1 if called else place.weight, i) for i, place in enumerate(target.places) if place.called or not called]
    return o.mix(
        (weight * amount, _one(total, symbols, kind, effects, vicious, face_damage, target, i))
        for weight, i in chosen
        for (total, symbols), amount in dice(n, face_damage)
    )


def _one(
    total: int, symbols: int, kind: str, effects: tuple[Effect, ...], vicious: bool, face_damage: int, target: Target, at: int
) -> Dist[Count]:
    """What these dice do to this location."""
    amount = total + symbols * (_times(effects, "vicious") + vicious)
    ignore = _rating(effects, "piercing") * symbols
    if symbols and _times(effects, "breaking") and target.breaking:
        for _ in range(_times(effects, "breaking")):
            target = _broken(target, at, symbols if target.breaking == "per_effect" else 1)
    found = _hit(amount, kind, ignore, target.places[at], target, face_damage)
    spread = _times(effects, "spread") * symbols
    if spread:
        half = -(-amount // 2) if target.spread_up else amount // 2
        found = o.product(found, _spread(spread, half, kind, ignore if target.spread_pierces else 0, target, face_damage), _both)
    for _ in range(_times(effects, "radioactive") if symbols else 0):
        found = o.product(found, _hit(symbols, "radiation", 0, target.places[at], target, face_damage), _both)
    return found


def _both(a: Count, b: Count) -> Count:
    """Two hits together; that one was critical is all that is kept of how many were."""
    return (a[0] + b[0], a[1] | b[1], a[2] + b[2])


@lru_cache(maxsize=2048)
def _spread(hits: int, amount: int, kind: str, ignore: int, target: Target, face_damage: int) -> Dist[Count]:
    """That many more hits of `amount`, each with a location of its own."""
    if hits > 1:
        rest = _spread(hits - 1, amount, kind, ignore, target, face_damage)
        return o.product(rest, _spread(1, amount, kind, ignore, target, face_damage), _both)
    return o.mix((place.weight, _hit(amount, kind, ignore, place, target, face_damage)) for place in target.places)


def _broken(target: Target, at: int, amount: int) -> Target:
    """Cover loses dice for good; without cover the place loses DR."""
    if target.cover:
        gone = min(amount, target.cover)
        left = target.cover - gone
        places = tuple(
            place._replace(cover=min(place.cover, left), radiation_cover=min(place.radiation_cover, left)) for place in target.places
        )
        target = target._replace(cover=left, places=places)
        if not target.carry:
            return target
        amount -= gone
    places = tuple(place._replace(dr=max(place.dr - amount, 0)) if i == at else place for i, place in enumerate(target.places))
    return target._replace(places=places)


def _hit(amount: int, kind: str, ignore: int, place: Place, target: Target, face_damage: int) -> Dist[Count]:
    radiation = kind == "radiation"
    if not amount or (target.radiation_immune if radiation else target.immune):
        return o.constant(NOTHING)
    resisted = place.radiation_dr if radiation else place.dr
    covered = place.radiation_cover if radiation else place.cover

    def suffered(cover: int) -> Count:
        through = max(amount - max(resisted + cover - ignore, 0), 0)
        counted = through if target.after_dr else amount
        critical = through > 0 and counted >= target.critical and (not radiation or target.radiation_can_crit)
        return (0, int(critical), through) if radiation else (through, int(critical), 0)

    if not covered:
        return o.constant(suffered(0))
    return cover_roll(covered, target.cover_total, face_damage, target.prone).map(suffered)
