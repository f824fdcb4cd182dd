"""Tokens: only ours, unexpired and unrevoked ones let anyone in, and what was revoked is closed where it is in use."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
from collections.abc import Mapping

import pytest

from server.clock import ManualClock
from server.gateway.auth import CACHE_MS, CACHE_SIZE, FULL_SWEEP_MS, MAX_TOKEN, MAX_TTL_MS, AuthError, Claims, Tokens
from server.store.base import StoreUnavailable
from tests.unit.server.memory_values import MemoryValues

NOW = 1_700_000_000_000
HOUR = 3_600_000
SECRET = b"first-secret-of-at-least-32-bytes!"
OTHER = b"second-secret-of-at-least-32-bytes"
SESSION = "abcdefghijklmnop"


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(NOW)


@pytest.fixture
def store(clock: ManualClock) -> MemoryValues:
    return MemoryValues(clock)


@pytest.fixture
def tokens(clock: ManualClock, store: MemoryValues) -> Tokens:
    return Tokens([SECRET], clock, store)


def b64(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def parts_of(token: str) -> tuple[dict[str, object], dict[str, object]]:
    header, body, _ = (base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)) for part in token.split("."))
    return json.loads(header), json.loads(body)


def forge(header: Mapping[str, object], body: Mapping[str, object] | bytes, secret: bytes = SECRET, digest: str = "sha256") -> str:
    """A token built by hand, without the library under test: any header, any body, any key."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    signed = f"{b64(json.dumps(header).encode())}.{b64(raw)}"
    return f"{signed}.{b64(hmac.new(secret, signed.encode(), digest).digest())}"


async def refusal(tokens: Tokens, token: str) -> str:
    with pytest.raises(AuthError) as caught:
        await tokens.check(token)
    assert caught.value.text
    assert caught.value.__cause__ is None
    return caught.value.code


# -- what a token says


async def test_a_seat_token_says_who_where_and_until_when(tokens: Tokens):
    claims = await tokens.check(await tokens.seat_token(SESSION, "ann", "p1", HOUR))
    assert claims == Claims("p1", "seat", SESSION, "ann", claims.jti, NOW + HOUR, 0)
    assert len(claims.jti) == 32


async def test_person_and_admin_tokens_name_no_table(tokens: Tokens):
    person = await tokens.check(tokens.person_token("p1", HOUR))
    assert (person.scope, person.person, person.session, person.seat) == ("person", "p1", "", "")
    admin = await tokens.check(tokens.admin_token("host", HOUR))
    assert (admin.scope, admin.person, admin.session, admin.seat) == ("admin", "host", "", "")


async def test_the_token_on_the_wire_is_the_jwt_the_architecture_describes(tokens: Tokens):
    header, body = parts_of(await tokens.seat_token(SESSION, "ann", "p1", HOUR))
    assert header["alg"] == "HS256"
    jti = body.pop("jti")
    expected = {"iss": "dustup", "sub": "p1", "ses": SESSION, "seat": "ann", "gen": 0, "iat": NOW // 1000, "exp": (NOW + HOUR) // 1000}
    assert body == expected
    assert isinstance(jti, str)
    _, body = parts_of(tokens.person_token("p1", HOUR))
    assert (body["scope"], "ses" in body, "seat" in body) == ("person", False, False)


async def test_the_signature_is_plain_hmac_sha256(tokens: Tokens):
    token = tokens.person_token("p1", HOUR)
    signed, _, signature = token.rpartition(".")
    assert signature == b64(hmac.new(SECRET, signed.encode(), hashlib.sha256).digest())


async def test_two_tokens_never_share_an_id(tokens: Tokens):
    made = [tokens.read(tokens.person_token("p1", HOUR)).jti for _ in range(50)]
    assert len(set(made)) == 50


@pytest.mark.parametrize("ttl_ms", [0, -1, MAX_TTL_MS + 1])
async def test_a_token_for_ever_or_for_no_time_is_not_made(tokens: Tokens, ttl_ms: int):
    with pytest.raises(ValueError, match="400 days"):
        tokens.person_token("p1", ttl_ms)


async def test_bad_names_are_not_signed(tokens: Tokens):
    with pytest.raises(ValueError, match="person"):
        tokens.person_token("a b", HOUR)
    with pytest.raises(ValueError, match="seat"):
        await tokens.seat_token(SESSION, "a/b", "p1", HOUR)
    with pytest.raises(ValueError, match="session"):
        await tokens.seat_token("", "ann", "p1", HOUR)


# -- time


async def test_a_token_is_good_until_its_moment_and_not_a_millisecond_longer(tokens: Tokens, clock: ManualClock):
    token = tokens.person_token("p1", HOUR)
    clock.advance(HOUR - 1)
    assert (await tokens.check(token)).expires_ms == NOW + HOUR
    clock.advance(1)
    assert await refusal(tokens, token) == "expired"


async def test_a_token_lives_at_least_as_long_as_asked(tokens: Tokens, clock: ManualClock):
    clock.advance(1)
    claims = tokens.read(tokens.person_token("p1", 1_500))
    assert NOW + 1 + 1_500 <= claims.expires_ms < NOW + 1 + 1_500 + 1_000


async def test_a_token_of_a_node_whose_clock_is_ahead_is_good(clock: ManualClock, store: MemoryValues):
    ahead = Tokens([SECRET], ManualClock(NOW + 60_000), store)
    assert (await Tokens([SECRET], clock, store).check(ahead.person_token("p1", HOUR))).person == "p1"


# -- forgeries


@pytest.fixture
def good(tokens: Tokens) -> tuple[dict[str, object], dict[str, object]]:
    header, body = parts_of(tokens.person_token("p1", HOUR))
    return header, body


async def test_a_hand_made_copy_of_a_good_token_passes_so_the_forgeries_below_fail_for_their_own_reason(tokens: Tokens, good):
    header, body = good
    assert (await tokens.check(forge(header, body))).person == "p1"


async def test_a_foreign_signature_is_refused(tokens: Tokens, good):
    header, body = good
    assert await refusal(tokens, forge(header, body, OTHER)) == "unauthorized"


async def test_an_expired_forgery_is_told_nothing_but_that_it_is_a_forgery(tokens: Tokens, good):
    header, body = good
    assert await refusal(tokens, forge(header, body | {"exp": 1}, OTHER)) == "unauthorized"


@pytest.mark.parametrize("alg", ["none", "None", "NONE", ""])
async def test_an_unsigned_token_is_refused(tokens: Tokens, good, alg: str):
    header, body = good
    signed = forge(header | {"alg": alg}, body).rpartition(".")[0]
    assert await refusal(tokens, signed + ".") == "unauthorized"
    assert await refusal(tokens, signed) == "unauthorized"


@pytest.mark.parametrize(
    ("alg", "digest"), [("HS512", "sha512"), ("HS384", "sha384"), ("RS256", "sha256"), ("ES256", "sha256"), ("hs256", "sha256")]
)
async def test_any_other_algorithm_is_refused_even_when_the_signature_fits(tokens: Tokens, good, alg: str, digest: str):
    header, body = good
    assert await refusal(tokens, forge(header | {"alg": alg}, body, digest=digest)) == "unauthorized"


@pytest.mark.parametrize(
    "extra",
    [
        {"crit": ["b64"], "b64": False},
        {"jwk": {"kty": "oct", "k": "AAAA"}},
        {"jku": "https://evil.example/keys"},
        {"x5u": "https://evil.example/"},
        {"kid": "unknown"},
        {"kid": 1},
        {"kid": "../../etc/passwd"},
        {"typ": "JWE"},
    ],
)
async def test_a_header_with_anything_unexpected_is_refused(tokens: Tokens, good, extra: dict[str, object]):
    header, body = good
    assert await refusal(tokens, forge(header | extra, body)) == "unauthorized"


@pytest.mark.parametrize(
    "change",
    [
        {"iss": "someone"},
        {"iss": ["dustup"]},
        {"exp": "tomorrow"},
        {"exp": True},
        {"exp": None},
        {"sub": 7},
        {"jti": None},
        {"scope": "root"},
        {"scope": "seat"},
        {"scope": "person", "ses": SESSION, "seat": "ann"},
        {"scope": "seat", "ses": SESSION},
        {"scope": "seat", "ses": SESSION, "seat": "ann", "gen": "0"},
    ],
)
async def test_a_signed_body_that_is_not_one_of_ours_is_refused(tokens: Tokens, good, change: dict[str, object]):
    header, body = good
    assert await refusal(tokens, forge(header, body | change)) == "unauthorized"


@pytest.mark.parametrize("missing", ["iss", "sub", "jti", "iat", "exp"])
async def test_a_signed_body_without_a_needed_claim_is_refused(tokens: Tokens, good, missing: str):
    header, body = good
    del body[missing]
    assert await refusal(tokens, forge(header, body)) == "unauthorized"


@pytest.mark.parametrize("body", [b"[]", b"null", b"{", b"\xff\xfe", b"1", b""])
async def test_a_signed_body_that_is_no_object_is_refused(tokens: Tokens, good, body: bytes):
    assert await refusal(tokens, forge(good[0], body)) == "unauthorized"


@pytest.mark.parametrize(
    "garbled",
    [
        "",
        ".",
        "..",
        "...",
        "a.b.c",
        "a" * 100,
        "é.é.é",
        "\ud800",
        "\x00",
        "e30.e30.e30",
        "W1tbW1tb.e30.e30",
        "=.=.=",
        b64(b"[" * 1_000) + ".e30.",
    ],
)
async def test_garbage_is_refused_like_any_other_stranger(tokens: Tokens, garbled: str):
    assert await refusal(tokens, garbled) == "unauthorized"


async def test_a_token_with_any_character_changed_is_refused(tokens: Tokens):
    token = tokens.person_token("p1", HOUR)
    for place in range(len(token)):
        changed = "A" if token[place] != "A" else "B"
        assert await refusal(tokens, token[:place] + changed + token[place + 1 :]) == "unauthorized"


async def test_an_oversized_token_is_refused_however_well_it_is_signed(tokens: Tokens, good):
    header, body = good

    def padded(size: int) -> str:
        return forge(header, body | {"pad": "x" * size})

    size = 1
    while len(padded(size + 1)) <= MAX_TOKEN:
        size += 1
    assert (await tokens.check(padded(size))).person == "p1"
    assert await refusal(tokens, padded(size + 3)) == "unauthorized"


async def test_strangers_cost_the_store_nothing(tokens: Tokens, store: MemoryValues, good):
    for token in ("garbage", forge(good[0], good[1], OTHER), forge(good[0], good[1] | {"exp": 1})):
        await refusal(tokens, token)
    assert store.reads == 0


async def test_no_refusal_shows_the_token(tokens: Tokens, good):
    for token in (forge(good[0], good[1], OTHER), forge(good[0], good[1] | {"exp": 1}), "secret-garbage"):
        with pytest.raises(AuthError) as caught:
            await tokens.check(token)
        assert token not in f"{caught.value!r} {caught.value} {tokens!r}"


# -- keys


async def test_after_rotation_old_tokens_pass_and_new_ones_are_signed_with_the_new_key(clock: ManualClock, store: MemoryValues):
    before, after = Tokens([SECRET], clock, store), Tokens([OTHER, SECRET], clock, store)
    old, new = before.person_token("old", HOUR), after.person_token("new", HOUR)
    assert (await after.check(old)).person == "old"
    assert (await after.check(new)).person == "new"
    finished = Tokens([OTHER], clock, store)
    assert (await finished.check(new)).person == "new"
    assert await refusal(finished, old) == "unauthorized"
    assert await refusal(before, new) == "unauthorized"


async def test_a_key_id_does_not_let_one_key_pass_for_another(clock: ManualClock, store: MemoryValues):
    tokens = Tokens([OTHER, SECRET], clock, store)
    header, body = parts_of(tokens.person_token("p1", HOUR))
    assert await refusal(tokens, forge(header, body, SECRET)) == "unauthorized"


@pytest.mark.parametrize(
    "secrets",
    [[], [b""], [b"x" * 31], [SECRET, b"short"], [b"-----BEGIN PUBLIC KEY-----\nMFwwDQYJKoZIhvcNAQEBBQ\n-----END PUBLIC KEY-----"]],
)
def test_a_key_too_weak_to_sign_with_is_refused_and_not_shown(clock: ManualClock, store: MemoryValues, secrets: list[bytes]):
    with pytest.raises(ValueError, match="secret") as caught:
        Tokens(secrets, clock, store)
    assert "short" not in str(caught.value)


# -- revocation


async def test_a_revoked_token_is_refused_and_others_of_the_same_person_are_not(tokens: Tokens):
    one, two = tokens.person_token("p1", HOUR), tokens.person_token("p1", HOUR)
    claims = await tokens.check(one)
    await tokens.revoke(claims.jti, claims.expires_ms)
    assert await refusal(tokens, one) == "revoked"
    assert (await tokens.check(two)).person == "p1"


async def test_a_revocation_is_kept_exactly_as_long_as_the_token_would_live(tokens: Tokens, store: MemoryValues, clock: ManualClock):
    claims = tokens.read(tokens.person_token("p1", HOUR))
    clock.advance(1_000)
    await tokens.revoke(claims.jti, claims.expires_ms)
    assert store.values[f"revoked:{claims.jti}"][1] == claims.expires_ms


async def test_revoking_what_has_expired_stores_nothing(tokens: Tokens, store: MemoryValues):
    await tokens.revoke("a" * 32, NOW)
    assert store.values == {}


async def test_another_node_learns_of_a_revocation_within_the_promised_time(tokens: Tokens, store: MemoryValues, clock: ManualClock):
    elsewhere = Tokens([SECRET], clock, store)
    token = tokens.person_token("p1", HOUR)
    claims = await elsewhere.check(token)
    await tokens.revoke(claims.jti, claims.expires_ms)
    clock.advance(CACHE_MS)
    assert await refusal(elsewhere, token) == "revoked"


async def test_checking_the_same_token_again_at_once_asks_the_store_nothing(tokens: Tokens, store: MemoryValues, clock: ManualClock):
    token = await tokens.seat_token(SESSION, "ann", "p1", HOUR)
    await tokens.check(token)
    reads = store.reads
    for _ in range(10):
        await tokens.check(token)
    assert store.reads == reads
    clock.advance(CACHE_MS)
    await tokens.check(token)
    assert store.reads > reads


async def test_remembered_answers_are_bounded(tokens: Tokens, clock: ManualClock, store: MemoryValues):
    for n in range(CACHE_SIZE + 50):
        tokens._remember(f"revoked:{n}", 0, None)
    assert len(tokens._cache) == CACHE_SIZE
    assert f"revoked:{CACHE_SIZE + 49}" in tokens._cache


async def test_a_seats_tokens_die_together_and_later_ones_live(tokens: Tokens):
    first, second = await tokens.seat_token(SESSION, "ann", "p1", HOUR), await tokens.seat_token(SESSION, "ann", "p2", HOUR)
    neighbour = await tokens.seat_token(SESSION, "bob", "p1", HOUR)
    elsewhere = await tokens.seat_token("ponmlkjihgfedcba", "ann", "p1", HOUR)
    person = tokens.person_token("p1", HOUR)
    await tokens.revoke_seat(SESSION, "ann")
    assert await refusal(tokens, first) == "revoked"
    assert await refusal(tokens, second) == "revoked"
    for living in (neighbour, elsewhere, person):
        assert (await tokens.check(living)).person == "p1"
    later = await tokens.seat_token(SESSION, "ann", "p3", HOUR)
    assert (await tokens.check(later)).person == "p3"
    await tokens.revoke_seat(SESSION, "ann")
    assert await refusal(tokens, later) == "revoked"
    assert await refusal(tokens, first) == "revoked"


async def test_a_seat_and_a_session_whose_names_run_together_are_not_confused(tokens: Tokens):
    token = await tokens.seat_token("a:b", "c", "p1", HOUR)
    await tokens.revoke_seat("a", "b:c")
    assert (await tokens.check(token)).seat == "c"


async def test_a_fresh_token_of_another_node_is_good_though_the_old_generation_is_remembered(
    tokens: Tokens, clock: ManualClock, store: MemoryValues
):
    elsewhere = Tokens([SECRET], clock, store)
    await elsewhere.check(await elsewhere.seat_token(SESSION, "ann", "p1", HOUR))
    await tokens.revoke_seat(SESSION, "ann")
    assert (await elsewhere.check(await tokens.seat_token(SESSION, "ann", "p2", HOUR))).person == "p2"


async def test_two_nodes_that_revoke_a_seat_from_the_same_state_write_different_generations(clock: ManualClock):
    """Were generations counted, both would write the same number, and a token made between the two writes would survive the second."""
    written = set()
    for _ in range(2):
        store = MemoryValues(clock)
        await Tokens([SECRET], clock, store).revoke_seat(SESSION, "ann")
        written.add(store.values[f"gen:{SESSION}/ann"][0])
    assert len(written) == 2


async def test_a_check_whose_answer_was_overtaken_by_a_revocation_does_not_say_yes(tokens: Tokens, store: MemoryValues):
    token = tokens.person_token("p1", HOUR)
    claims = tokens.read(token)
    answer = store.delay_next_answer()
    checking = asyncio.create_task(refusal(tokens, token))
    await answer.asked.wait()
    await tokens.revoke(claims.jti, claims.expires_ms)
    answer.deliver.set()
    assert await checking == "revoked"
    assert await refusal(tokens, token) == "revoked"


async def test_a_check_overtaken_by_a_sweep_that_saw_another_nodes_revocation_does_not_say_yes(
    tokens: Tokens, clock: ManualClock, store: MemoryValues
):
    token = tokens.person_token("p1", HOUR)
    claims = tokens.read(token)
    answer = store.delay_next_answer()
    checking = asyncio.create_task(refusal(tokens, token))
    await answer.asked.wait()
    await Tokens([SECRET], clock, store).revoke(claims.jti, claims.expires_ms)
    await tokens.sweep()
    answer.deliver.set()
    assert await checking == "revoked"


async def test_when_the_store_cannot_be_asked_nobody_is_let_in(tokens: Tokens, store: MemoryValues):
    token = tokens.person_token("p1", HOUR)
    store.down = True
    with pytest.raises(StoreUnavailable):
        await tokens.check(token)
    store.down = False
    assert (await tokens.check(token)).person == "p1"


async def test_a_revocation_that_failed_says_so_and_can_be_repeated(tokens: Tokens, store: MemoryValues):
    token = tokens.person_token("p1", HOUR)
    claims = await tokens.check(token)
    store.down = True
    with pytest.raises(StoreUnavailable):
        await tokens.revoke(claims.jti, claims.expires_ms)
    store.down = False
    await tokens.revoke(claims.jti, claims.expires_ms)
    assert await refusal(tokens, token) == "revoked"


# -- live connections


class Connection:
    def __init__(self) -> None:
        self.closed: list[str] = []

    def close(self, error: AuthError) -> None:
        self.closed.append(error.code)


async def held(tokens: Tokens, token: str) -> Connection:
    connection = Connection()
    tokens.hold(await tokens.check(token), connection.close)
    return connection


async def test_revoking_closes_the_connections_of_that_token_at_once_and_no_others(tokens: Tokens):
    token = tokens.person_token("p1", HOUR)
    one, two = await held(tokens, token), await held(tokens, token)
    other = await held(tokens, tokens.person_token("p1", HOUR))
    claims = tokens.read(token)
    await tokens.revoke(claims.jti, claims.expires_ms)
    assert (one.closed, two.closed, other.closed) == (["revoked"], ["revoked"], [])


async def test_revoking_a_seat_closes_its_connections_and_spares_the_neighbours(tokens: Tokens):
    ann = await held(tokens, await tokens.seat_token(SESSION, "ann", "p1", HOUR))
    bob = await held(tokens, await tokens.seat_token(SESSION, "bob", "p2", HOUR))
    await tokens.revoke_seat(SESSION, "ann")
    assert (ann.closed, bob.closed) == (["revoked"], [])


async def test_a_released_connection_is_left_alone(tokens: Tokens):
    connection = Connection()
    claims = await tokens.check(tokens.person_token("p1", HOUR))
    watch = tokens.hold(claims, connection.close)
    tokens.release(watch)
    tokens.release(watch)
    await tokens.revoke(claims.jti, claims.expires_ms)
    assert connection.closed == []


async def test_a_connection_that_cannot_be_closed_does_not_save_the_next(tokens: Tokens):
    token = tokens.person_token("p1", HOUR)
    claims = await tokens.check(token)

    def broken(error: AuthError) -> None:
        raise RuntimeError("already gone")

    tokens.hold(claims, broken)
    after = await held(tokens, token)
    await tokens.revoke(claims.jti, claims.expires_ms)
    assert after.closed == ["revoked"]


async def test_a_sweep_closes_what_has_expired_once(tokens: Tokens, clock: ManualClock):
    short, long = await held(tokens, tokens.person_token("p1", 1_000)), await held(tokens, tokens.person_token("p1", HOUR))
    assert await tokens.sweep() == 0
    clock.advance(1_000)
    assert await tokens.sweep() == 1
    assert await tokens.sweep() == 0
    assert (short.closed, long.closed) == (["expired"], [])


async def test_a_sweep_closes_what_another_node_revoked(tokens: Tokens, clock: ManualClock, store: MemoryValues):
    elsewhere = Tokens([SECRET], clock, store)
    token, seat_token = tokens.person_token("p1", HOUR), await tokens.seat_token(SESSION, "ann", "p2", HOUR)
    person, seat = await held(tokens, token), await held(tokens, seat_token)
    spared = await held(tokens, tokens.person_token("p3", HOUR))
    await tokens.sweep()
    claims = elsewhere.read(token)
    await elsewhere.revoke(claims.jti, claims.expires_ms)
    assert await tokens.sweep() == 1
    await elsewhere.revoke_seat(SESSION, "ann")
    assert await tokens.sweep() == 1
    assert (person.closed, seat.closed, spared.closed) == (["revoked"], ["revoked"], [])


async def test_a_sweep_with_nothing_revoked_asks_one_question_however_many_are_connected(tokens: Tokens, store: MemoryValues):
    for n in range(20):
        await held(tokens, await tokens.seat_token(SESSION, f"s{n}", "p1", HOUR))
    await tokens.sweep()
    reads = store.reads
    await tokens.sweep()
    assert store.reads == reads + 1


async def test_a_revocation_whose_node_died_before_saying_so_is_found_in_the_end(tokens: Tokens, clock: ManualClock, store: MemoryValues):
    token = tokens.person_token("p1", HOUR)
    connection = await held(tokens, token)
    await tokens.sweep()
    await store.put(f"revoked:{tokens.read(token).jti}", b"1", ttl_ms=HOUR)
    clock.advance(FULL_SWEEP_MS)
    assert await tokens.sweep() == 1
    assert connection.closed == ["revoked"]


async def test_a_sweep_that_failed_is_made_up_for_by_the_next(tokens: Tokens, clock: ManualClock, store: MemoryValues):
    token = tokens.person_token("p1", HOUR)
    connection = await held(tokens, token)
    claims = tokens.read(token)
    await Tokens([SECRET], clock, store).revoke(claims.jti, claims.expires_ms)
    store.down = True
    with pytest.raises(StoreUnavailable):
        await tokens.sweep()
    store.down = False
    assert await tokens.sweep() == 1
    assert connection.closed == ["revoked"]
