"""Buckets let through what their rate says, to the millisecond; limits hold per seat, session and address; memory is bounded."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.clock import ManualClock
from server.config import LimitSettings
from server.gateway.limits import LOCAL, Bucket, Buckets, Limits, address_key, client_address

FREE = {"seat_rate": 0, "session_rate": 0, "address_rate": 0, "tries_per_minute": 0, "address_connections": 0}


def limits(clock: ManualClock, **settings: int) -> Limits:
    return Limits(clock, LimitSettings(**(FREE | settings)))


def test_a_new_bucket_lets_its_burst_through_and_then_says_how_long_to_wait():
    bucket = Bucket(rate=4, burst=3, now_ms=0)
    assert [bucket.take(0) for _ in range(5)] == [0, 0, 0, 250, 250]


def test_waiting_as_told_is_enough_and_a_millisecond_less_is_not():
    bucket = Bucket(rate=3, burst=1, now_ms=0)
    assert bucket.take(0) == 0
    wait = bucket.take(0)
    assert wait == 334  # a third of a second, rounded up
    assert bucket.take(wait - 1) == 1
    assert bucket.take(wait) == 0


def test_a_bucket_never_holds_more_than_its_burst():
    bucket = Bucket(rate=10, burst=2, now_ms=0)
    assert [bucket.take(1_000_000) for _ in range(3)] == [0, 0, 100]


def test_slow_rates_are_exact_too():
    bucket = Bucket(rate=1, burst=1, now_ms=0, per_ms=60_000)
    assert bucket.take(0) == 0
    assert bucket.take(1) == 59_999
    assert bucket.take(60_000) == 0


def test_a_cost_counts_as_many_tokens_and_one_that_never_fits_is_a_mistake():
    bucket = Bucket(rate=1, burst=5, now_ms=0)
    assert bucket.take(0, 4) == 0
    assert bucket.take(0, 3) == 2_000
    assert bucket.take(2_000, 3) == 0
    with pytest.raises(ValueError, match="never"):
        bucket.take(3_000, 6)


@pytest.mark.parametrize(("rate", "burst", "per_ms"), [(0, 1, 1), (1, 0, 1), (1, 1, 0), (-1, 1, 1)])
def test_a_bucket_that_could_never_work_is_refused(rate: int, burst: int, per_ms: int):
    with pytest.raises(ValueError):
        Bucket(rate, burst, 0, per_ms=per_ms)


@given(
    st.integers(1, 50),
    st.integers(1, 20),
    st.lists(st.integers(0, 400), max_size=60),
)
def test_over_any_span_no_more_passes_than_burst_plus_rate(rate: int, burst: int, gaps: list[int]):
    bucket = Bucket(rate, burst, 0)
    now, passed = 0, []
    for gap in gaps:
        now += gap
        if bucket.take(now) == 0:
            passed.append(now)
    for first in range(len(passed)):
        for last in range(first, len(passed)):
            assert (last - first + 1) * 1000 <= burst * 1000 + (passed[last] - passed[first]) * rate


@given(st.integers(1, 50), st.integers(1, 20), st.lists(st.integers(0, 400), min_size=1, max_size=60))
def test_whoever_waits_as_told_always_passes(rate: int, burst: int, gaps: list[int]):
    bucket = Bucket(rate, burst, 0)
    now = 0
    for gap in gaps:
        now += gap
        now += bucket.wait_ms(now)
        assert bucket.take(now) == 0


def test_one_seat_that_floods_leaves_its_table_and_its_house_alone():
    clock = ManualClock(0)
    limit = limits(clock, seat_rate=1, seat_burst=2, session_rate=1, session_burst=4, address_rate=1, address_burst=5)
    assert [limit.message("a", "s", "ann") for _ in range(4)] == [0, 0, 1000, 1000]
    # Refusals used nothing up: the session has 2 left, the address 3.
    assert [limit.message("a", "s", "bob") for _ in range(3)] == [0, 0, 1000]
    assert limit.message("a") == 0
    assert limit.message("a") == 1000


def test_seats_of_the_same_name_at_two_tables_are_two():
    clock = ManualClock(0)
    limit = limits(clock, seat_rate=1, seat_burst=1)
    assert limit.message("a", "s1", "gm") == 0
    assert limit.message("a", "s2", "gm") == 0
    assert limit.message("a", "s1", "gm") == 1000


def test_two_connections_of_one_seat_share_its_bucket_and_time_refills_it():
    clock = ManualClock(0)
    limit = limits(clock, seat_rate=2, seat_burst=1)
    assert limit.message("a", "s", "ann") == 0
    assert limit.message("b", "s", "ann") == 500
    clock.advance(500)
    assert limit.message("b", "s", "ann") == 0


def test_the_answer_is_the_longest_wait_of_all():
    clock = ManualClock(0)
    limit = limits(clock, seat_rate=10, seat_burst=1, session_rate=1, session_burst=1)
    assert limit.message("a", "s", "ann") == 0
    assert limit.message("a", "s", "ann") == 1000


def test_a_wall_clock_that_jumps_changes_no_limit():
    clock = ManualClock(0)
    limit = limits(clock, seat_rate=1, seat_burst=1)
    assert limit.message("a", "s", "ann") == 0
    clock.jump(10**12)
    assert limit.message("a", "s", "ann") == 1000


def test_rate_zero_is_no_limit():
    limit = limits(ManualClock(0))
    assert {limit.message("a", "s", "ann") for _ in range(1_000)} == {0}
    assert {limit.may_try("a") for _ in range(1_000)} == {0}
    assert all(limit.connect("a") for _ in range(1_000))


def test_good_tries_are_free_and_bad_ones_run_out():
    clock = ManualClock(0)
    limit = limits(clock, tries_per_minute=3)
    assert {limit.may_try("a") for _ in range(100)} == {0}
    for _ in range(3):
        assert limit.may_try("a") == 0
        limit.refused("a")
    assert limit.may_try("a") == 20_000
    assert limit.may_try("b") == 0
    clock.advance(20_000)
    assert limit.may_try("a") == 0


def test_connections_are_counted_per_address_and_forgotten_when_gone():
    limit = limits(ManualClock(0), address_connections=2)
    assert [limit.connect("a") for _ in range(3)] == [True, True, False]
    assert limit.connect("b")
    limit.disconnect("a")
    assert limit.connections("a") == 1
    assert limit.connect("a")
    limit.disconnect("a")
    limit.disconnect("a")
    assert limit.connections("a") == 0
    with pytest.raises(KeyError):
        limit.disconnect("a")


def test_a_million_strangers_would_take_no_more_memory_than_the_setting_allows():
    buckets = Buckets(1, 1, capacity=100)
    for stranger in range(1_000):
        buckets.get(f"a{stranger}", 0)
        assert len(buckets) <= 100


def test_a_key_in_use_is_remembered_however_many_strangers_pass():
    buckets = Buckets(1, 1, capacity=100)
    assert buckets.get("busy", 0).take(0) == 0
    for stranger in range(1_000):
        buckets.get(f"a{stranger}", 0)
        if stranger % 10 == 0:
            assert buckets.get("busy", 0).take(0) == 1000


@pytest.mark.parametrize(
    ("host", "key"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2:ffff::1", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("", LOCAL),
        (None, LOCAL),
        ("x" * 500, "x" * 64),
    ],
)
def test_an_address_is_counted_by_what_one_subscriber_owns(host: str | None, key: str):
    assert address_key(host) == key


@pytest.mark.parametrize(
    ("peer", "header", "trusted", "client"),
    [
        ("192.0.2.7", "", [], "192.0.2.7"),
        ("192.0.2.7", "198.51.100.1", [], "192.0.2.7"),
        ("192.0.2.7", "198.51.100.1", ["10.0.0.0/8"], "192.0.2.7"),
        ("10.0.0.1", "198.51.100.1", ["10.0.0.0/8"], "198.51.100.1"),
        ("10.0.0.1", "203.0.113.9, 198.51.100.1", ["10.0.0.0/8"], "198.51.100.1"),
        ("10.0.0.1", "203.0.113.9, 198.51.100.1, 10.0.0.2", ["10.0.0.0/8"], "198.51.100.1"),
        ("::ffff:10.0.0.1", "198.51.100.1", ["10.0.0.0/8"], "198.51.100.1"),
        ("10.0.0.1", "", ["10.0.0.0/8"], "10.0.0.1"),
        ("10.0.0.1", "not an address", ["10.0.0.0/8"], "not an address"),
        (None, "198.51.100.1", ["10.0.0.0/8"], LOCAL),
    ],
)
def test_the_client_behind_proxies_is_the_last_one_a_trusted_proxy_vouches_for(
    peer: str | None, header: str, trusted: list[str], client: str
):
    assert client_address(peer, header, trusted) == client
