"""Promises of engine.odds: exact, equal to counting every case, and told as reduced fractions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from itertools import product as every
from typing import Any

import icepool
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.odds import Amount, Dist, Odds, constant, damage_table, die, frac_str, keep, mix, part, pool, product

COMBAT = {1: (1, 0), 2: (2, 0), 3: (0, 0), 4: (0, 0), 5: (1, 1), 6: (1, 1)}
"""Combat dice: face to (damage, effects)."""


def counted(outcomes: Iterable[Any]) -> Dist[Any]:
    """The slow way: every case written out, each equally likely."""
    return Dist(Counter(outcomes))


def from_icepool(theirs: Any) -> Dist[Any]:
    return Dist({tuple(outcome) if isinstance(outcome, icepool.Vector) else outcome: weight for outcome, weight in theirs.items()})


def test_two_d20_under_10_with_two_critical_faces_give_the_weights_counted_by_hand():
    """Ten faces fail, eight give one success, two give two: 10*10, 2*10*8, 8*8+2*10*2, 2*8*2, 2*2 of 400."""
    successes = pool(2, {face: (face <= 10) + (face <= 2) for face in range(1, 21)})
    assert list(successes) == [(0, 100), (1, 160), (2, 104), (3, 32), (4, 4)]
    assert successes.total == 400
    assert successes.p_at_least(2) == Fraction(7, 20)


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize(("target", "critical", "complication"), [(10, 1, 20), (14, 4, 19), (1, 1, 20)])
def test_successes_and_complications_together_equal_counting_every_case(n: int, target: int, critical: int, complication: int):
    worth = {face: ((face <= target) + (face <= critical), int(face >= complication)) for face in range(1, 21)}
    slow = counted(
        tuple(sum(parts) for parts in zip(*(worth[face] for face in dice), strict=True)) for dice in every(range(1, 21), repeat=n)
    )
    fast = pool(n, worth)
    assert fast == slow
    assert fast.total == 20**n
    assert list(fast) == list(slow)


@pytest.mark.parametrize("n", [2, 5, 9])
def test_success_pools_equal_icepool(n: int):
    worth = {face: (int(face <= 12) + int(face == 1), int(face == 20)) for face in range(1, 21)}
    theirs = n @ icepool.d20.map(lambda face: icepool.vectorize(*worth[face]))
    assert pool(n, worth) == from_icepool(theirs)


@pytest.mark.parametrize("n", [0, 1, 4, 5])
def test_combat_dice_pools_equal_counting_every_case(n: int):
    slow = counted((sum(COMBAT[face][0] for face in dice), sum(COMBAT[face][1] for face in dice)) for dice in every(COMBAT, repeat=n))
    assert pool(n, COMBAT) == slow


def test_a_large_combat_pool_equals_icepool():
    damage = pool(20, COMBAT).map(lambda outcome: outcome[0])
    assert damage == from_icepool(20 @ icepool.Die([1, 2, 0, 0, 1, 1]))
    assert damage.total == 6**20


@pytest.mark.parametrize(("n", "count", "sides"), [(2, 1, 20), (4, 3, 6), (3, 2, 4), (5, 5, 3), (4, 0, 6), (1, 1, 8)])
@pytest.mark.parametrize("highest", [True, False])
def test_keeping_equals_counting_every_case(n: int, count: int, sides: int, highest: bool):
    slow = counted(sum(sorted(dice, reverse=highest)[:count]) for dice in every(range(1, sides + 1), repeat=n))
    fast = keep(n, die(sides), count, highest=highest)
    assert fast == slow
    assert fast.total == sides**n


def test_keeping_works_for_uneven_dice_and_equals_icepool():
    ours = keep(6, Dist({-2: 3, 0: 1, 5: 2}), 4, highest=False)
    theirs = icepool.lowest(*[icepool.Die({-2: 3, 0: 1, 5: 2})] * 6, keep=4)
    assert ours == from_icepool(theirs)
    assert keep(4, die(6), 3) == from_icepool(icepool.d6.highest(4, 3))


@pytest.mark.parametrize(("n", "count"), [(2, 3), (2, -1)])
def test_more_kept_than_rolled_is_refused(n: int, count: int):
    with pytest.raises(ValueError, match="keep"):
        keep(n, die(6), count)


_dists = st.dictionaries(st.integers(-20, 20), st.integers(1, 9), min_size=1, max_size=5).map(Dist)


@given(_dists, _dists, _dists)
@settings(max_examples=60)
def test_adding_is_orderless_and_equals_counting(a: Dist[int], b: Dist[int], c: Dist[int]):
    assert a + b == b + a
    assert (a + b) + c == a + (b + c)
    assert a + constant(0) == a
    slow: Counter[int] = Counter()
    for (x, p), (y, q) in every(a, b):
        slow[x + y] += p * q
    assert dict(a + b) == slow


@given(_dists, st.integers(0, 9))
@settings(max_examples=60)
def test_times_by_doubling_equals_adding_one_by_one(dist: Dist[int], n: int):
    slow = constant(0)
    for _ in range(n):
        slow = slow + dist
    fast = dist.times(n)
    assert dict(fast) == dict(slow)
    assert fast.total == dist.total**n


@given(_dists, st.integers(-25, 25))
@settings(max_examples=60)
def test_probabilities_add_up_to_one(dist: Dist[int], least: int):
    assert dist.p(lambda _: True) == 1
    assert dist.p_at_least(least) + dist.p(lambda outcome: outcome < least) == 1
    assert sum(Fraction(weight, dist.total) for _, weight in dist) == 1


def test_mapping_merges_outcomes_that_become_equal():
    assert dict(die(6).map(lambda face: face % 2)) == {0: 3, 1: 3}


def test_the_joint_distribution_keeps_both_draws():
    assert dict(product(die(2), die(3), lambda x, y: (x, y))) == dict.fromkeys(every((1, 2), (1, 2, 3)), 1)


def test_a_mixture_weighs_parts_of_different_totals_rightly():
    """One in four a d6, three in four a d4: 1/24 + 3/16 = 11/48 for a face both have, 1/24 for a 6."""
    mixed = mix([(1, die(6)), (3, die(4))])
    assert mixed.p(lambda face: face == 1) == Fraction(11, 48)
    assert mixed.p(lambda face: face == 6) == Fraction(1, 24)


def test_then_follows_each_outcome_with_its_own_distribution():
    """Attack hits on 11 or more of d20 for 2d6, else no damage; an exact 20 adds 1d4 more. Against counting all cases."""

    def damage(face: int) -> Dist[int]:
        if face < 11:
            return constant(0)
        return die(6).times(2) + (die(4) if face == 20 else constant(0))

    slow = counted(
        0 if face < 11 else a + b + (c if face == 20 else 0) for face, a, b, c in every(range(1, 21), range(1, 7), range(1, 7), range(1, 5))
    )
    assert die(20).then(damage) == slow


def test_an_opposed_roll_equals_counting():
    margin = product(keep(2, die(20)), die(20), lambda mine, theirs: mine - theirs)
    slow = counted(max(a, b) - c for a, b, c in every(range(1, 21), repeat=3))
    assert margin == slow
    assert margin.p_at_least(1) == slow.p(lambda outcome: outcome > 0)


def test_at_least_for_tuples_asks_every_part():
    pair = product(die(6), die(6), lambda x, y: (x, y))
    assert pair.p_at_least((5, 4)) == Fraction(2 * 3, 36)


def test_equal_probabilities_make_equal_distributions_whatever_the_weights():
    assert Dist({1: 1, 2: 3}) == Dist({2: 6, 1: 2})
    assert hash(Dist({1: 1, 2: 3})) == hash(Dist({2: 6, 1: 2}))
    assert Dist({1: 1, 2: 3}) != Dist({1: 1, 2: 2})
    assert Dist({1: 1}) != 1


def test_outcomes_are_listed_in_ascending_order_and_impossible_ones_left_out():
    dist = Dist.from_weights({5: 1, -3: 2, 4: 0})
    assert list(dist) == [(-3, 2), (5, 1)]
    assert (len(dist), dist.weight(5), dist.weight(4), dist.total) == (2, 1, 0, 3)


def test_a_distribution_does_not_change_when_what_it_was_made_of_does():
    weights = {1: 1}
    dist = Dist(weights)
    weights[2] = 5
    assert dict(dist) == {1: 1}


@pytest.mark.parametrize("weights", [{1: -1}, {1: 0.5}, {1: 1.0}, {1: True}, {1: "1"}, {}, {1: 0}])
def test_weights_are_whole_numbers_and_not_all_nought(weights: dict[int, Any]):
    with pytest.raises(ValueError, match=r"weight|outcome"):
        Dist(weights)


def test_impossible_requests_are_refused():
    with pytest.raises(ValueError, match="outcome"):
        die(0)
    with pytest.raises(ValueError, match="times"):
        die(6).times(-1)
    with pytest.raises(ValueError, match="cannot add"):
        constant((1, 2)) + constant((1,))
    with pytest.raises(ValueError, match="outcome"):
        mix([(0, die(6))])
    with pytest.raises(ValueError, match="weight"):
        mix([(-1, die(6))])


@pytest.mark.parametrize(
    ("p", "text"),
    [(Fraction(26, 800), "13/400"), (Fraction(0), "0/1"), (Fraction(1), "1/1"), (Fraction(2, 4), "1/2")],
)
def test_probabilities_are_told_as_reduced_fractions(p: Fraction, text: str):
    assert frac_str(p) == text


def test_odds_have_the_shape_of_the_wire():
    odds = Odds(
        "duel.odds", "Hit on 11 or more.", (part("hit", "You hit.", Fraction(10, 20)),), damage_table(die(4).map(lambda face: face // 2))
    )
    assert msgspec.json.decode(msgspec.json.encode(odds)) == {
        "type": "duel.odds",
        "text": "Hit on 11 or more.",
        "parts": [{"name": "hit", "text": "You hit.", "p": "1/2"}],
        "damage": [{"value": 0, "p": "1/4"}, {"value": 1, "p": "1/2"}, {"value": 2, "p": "1/4"}],
    }
    assert "damage" not in msgspec.to_builtins(Odds("x", "y"))
    assert odds.damage[0] == Amount(0, "1/4")
