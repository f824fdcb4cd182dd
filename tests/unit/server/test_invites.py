"""Invites: whoever redeems a code first gets it, alone; nobody learns from a refusal whether a code was ever real."""

from __future__ import annotations

import asyncio
import hashlib

import fakeredis
import pytest

from server.clock import ManualClock
from server.gateway import SmallValues
from server.gateway.invites import MAX_OPEN, MAX_TTL_MS, Invite, InviteError, Invites
from server.store.base import StoreUnavailable
from tests.unit.server.memory_values import MemoryValues

NOW = 1_700_000_000_000
HOUR = 3_600_000
SESSION = "abcdefghijklmnop"


def _bytes(found: bytes | str | None) -> bytes | None:
    assert not isinstance(found, str)
    return found


class RedisValues:
    """The same contract on the commands a Redis store would use."""

    def __init__(self) -> None:
        self.redis = fakeredis.FakeAsyncRedis()

    async def put(self, key: str, value: bytes, *, ttl_ms: int | None = None) -> None:
        await self.redis.set(key, value, px=ttl_ms)

    async def get(self, key: str) -> bytes | None:
        return _bytes(await self.redis.get(key))

    async def take(self, key: str) -> bytes | None:
        return _bytes(await self.redis.getdel(key))

    async def drop(self, key: str) -> bool:
        return bool(await self.redis.delete(key))


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(NOW)


@pytest.fixture
def store(clock: ManualClock) -> MemoryValues:
    return MemoryValues(clock)


@pytest.fixture
def invites(clock: ManualClock, store: MemoryValues) -> Invites:
    return Invites(clock, store)


async def refusal(invites: Invites, typed: str) -> InviteError:
    with pytest.raises(InviteError) as caught:
        await invites.redeem(typed)
    return caught.value


async def test_a_code_is_good_for_what_it_was_made_for(invites: Invites):
    typed = await invites.create(SESSION, seat="ann", ttl_ms=HOUR, by="gm")
    assert typed.startswith(SESSION + ".")
    invite = await invites.redeem(typed)
    assert (invite.session, invite.seat, invite.role, invite.by) == (SESSION, "ann", "", "gm")
    assert (invite.created_ms, invite.expires_ms) == (NOW, NOW + HOUR)
    role = await invites.redeem(await invites.create(SESSION, role="player", ttl_ms=HOUR, by="gm"))
    assert (role.seat, role.role) == ("", "player")


@pytest.mark.parametrize("kind", ["memory", "redis"])
async def test_of_many_who_redeem_at_once_on_several_nodes_exactly_one_wins(clock: ManualClock, kind: str):
    store: SmallValues = MemoryValues(clock) if kind == "memory" else RedisValues()
    nodes = [Invites(clock, store) for _ in range(4)]
    for _ in range(5):
        typed = await nodes[0].create(SESSION, role="player", ttl_ms=HOUR, by="gm")
        outcomes = await asyncio.gather(*(nodes[n % 4].redeem(typed) for n in range(20)), return_exceptions=True)
        assert sum(isinstance(outcome, Invite) for outcome in outcomes) == 1
        assert sum(isinstance(outcome, InviteError) for outcome in outcomes) == 19


async def test_used_expired_withdrawn_unknown_and_mistyped_codes_are_told_the_very_same(invites: Invites, clock: ManualClock):
    used = await invites.create(SESSION, role="player", ttl_ms=2 * HOUR, by="gm")
    await invites.redeem(used)
    withdrawn = await invites.create(SESSION, role="player", ttl_ms=2 * HOUR, by="gm")
    assert await invites.revoke(SESSION, (await invites.open(SESSION))[0].id)
    expired = await invites.create(SESSION, role="player", ttl_ms=HOUR, by="gm")
    clock.advance(HOUR)
    refusals = [await refusal(invites, typed) for typed in (used, withdrawn, expired, f"{SESSION}.0000-0000-0000-0000", "nonsense")]
    assert {(error.code, error.text) for error in refusals} == {("unauthorized", refusals[0].text)}


async def test_expiry_holds_even_if_the_store_has_not_forgotten_yet(invites: Invites, clock: ManualClock, store: MemoryValues):
    typed = await invites.create(SESSION, role="player", ttl_ms=HOUR, by="gm")
    store.values = {key: (value, None) for key, (value, _) in store.values.items()}
    clock.advance(HOUR)
    assert (await refusal(invites, typed)).code == "unauthorized"


@pytest.mark.parametrize(
    "typed",
    ["", ".", SESSION, SESSION + ".", ".k7pw-3m2x-9abc-defg", "a/b.k7pw-3m2x-9abc-defg", "é.k7pw-3m2x-9abc-defg", "\ud800", "x" * 100_000],
)
async def test_nonsense_is_refused_without_asking_the_store(invites: Invites, store: MemoryValues, typed: str):
    assert (await refusal(invites, typed)).code == "unauthorized"
    assert store.reads == 0


async def test_a_code_opens_only_the_table_it_names(invites: Invites):
    typed = await invites.create(SESSION, role="player", ttl_ms=HOUR, by="gm")
    code = typed.partition(".")[2]
    await refusal(invites, f"ponmlkjihgfedcba.{code}")
    assert (await invites.redeem(typed)).session == SESSION


async def test_a_carelessly_typed_code_works(invites: Invites):
    session, _, code = (await invites.create(SESSION, role="player", ttl_ms=HOUR, by="gm")).partition(".")
    assert (await invites.redeem(f"  {session}.{code.upper().replace('-', ' ')}\n")).session == SESSION


async def test_the_store_holds_the_hash_and_never_the_code(invites: Invites, store: MemoryValues):
    typed = await invites.create(SESSION, role="player", ttl_ms=HOUR, by="gm")
    code = typed.partition(".")[2]
    plain = code.replace("-", "")
    everything = repr(store.values)
    assert code not in everything
    assert plain not in everything
    assert f"invite:{hashlib.sha256(f'{SESSION}.{plain}'.encode()).hexdigest()}" in store.values


async def test_every_key_about_an_invite_goes_with_it(invites: Invites, store: MemoryValues):
    await invites.create(SESSION, role="player", ttl_ms=HOUR, by="gm")
    assert store.values
    assert all(until is not None and until <= NOW + HOUR for _, until in store.values.values())


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"seat": "ann", "role": "player"},
        {"role": "king"},
        {"seat": "a b"},
        {"seat": "ann", "ttl_ms": 0},
        {"seat": "ann", "ttl_ms": MAX_TTL_MS + 1},
        {"seat": "ann", "by": ""},
        {"seat": "ann", "session": "a/b"},
    ],
)
async def test_an_invite_that_makes_no_sense_is_not_made(invites: Invites, store: MemoryValues, wrong: dict[str, object]):
    arguments: dict[str, object] = {"session": SESSION, "ttl_ms": HOUR, "by": "gm"} | wrong
    with pytest.raises(InviteError) as caught:
        await invites.create(arguments.pop("session"), **arguments)  # type: ignore[arg-type]
    assert caught.value.code == "bad_command"
    assert store.values == {}


async def test_open_lists_what_can_still_be_redeemed_oldest_first(invites: Invites, clock: ManualClock):
    first = await invites.create(SESSION, seat="ann", ttl_ms=2 * HOUR, by="gm")
    await invites.create(SESSION, seat="bob", ttl_ms=HOUR, by="gm")
    await invites.create(SESSION, seat="cid", ttl_ms=2 * HOUR, by="gm")
    await invites.create("ponmlkjihgfedcba", seat="eve", ttl_ms=2 * HOUR, by="gm")
    assert [invite.seat for invite in await invites.open(SESSION)] == ["ann", "bob", "cid"]
    await invites.redeem(first)
    assert [invite.seat for invite in await invites.open(SESSION)] == ["bob", "cid"]
    clock.advance(HOUR)
    assert [invite.seat for invite in await invites.open(SESSION)] == ["cid"]


async def test_invites_made_at_once_on_one_node_are_all_listed(invites: Invites):
    await asyncio.gather(*(invites.create(SESSION, seat=f"s{n}", ttl_ms=HOUR, by="gm") for n in range(20)))
    assert {invite.seat for invite in await invites.open(SESSION)} == {f"s{n}" for n in range(20)}


async def test_a_list_entry_cannot_be_redeemed(invites: Invites):
    await invites.create(SESSION, seat="ann", ttl_ms=HOUR, by="gm")
    entry = (await invites.open(SESSION))[0]
    for guess in (entry.id, f"{SESSION}.{entry.id}", f"{SESSION}.{entry.id[:16]}"):
        await refusal(invites, guess)
    assert len(await invites.open(SESSION)) == 1


async def test_a_withdrawn_invite_is_dead_and_another_tables_gm_cannot_withdraw_it(invites: Invites):
    typed = await invites.create(SESSION, seat="ann", ttl_ms=HOUR, by="gm")
    invite_id = (await invites.open(SESSION))[0].id
    assert not await invites.revoke("ponmlkjihgfedcba", invite_id)
    assert await invites.revoke(SESSION, invite_id)
    assert not await invites.revoke(SESSION, invite_id)
    assert (await refusal(invites, typed)).code == "unauthorized"


async def test_withdrawing_all_ends_unlisted_ones_too_and_later_ones_are_good(invites: Invites, store: MemoryValues):
    listed = await invites.create(SESSION, seat="ann", ttl_ms=HOUR, by="gm")
    unlisted = await invites.create(SESSION, seat="bob", ttl_ms=HOUR, by="gm")
    elsewhere = await invites.create("ponmlkjihgfedcba", seat="eve", ttl_ms=HOUR, by="gm")
    await store.drop(f"invites:{SESSION}")
    await invites.revoke_all(SESSION)
    assert await invites.open(SESSION) == []
    for typed in (listed, unlisted):
        await refusal(invites, typed)
    assert (await invites.redeem(elsewhere)).seat == "eve"
    assert (await invites.redeem(await invites.create(SESSION, seat="cid", ttl_ms=HOUR, by="gm"))).seat == "cid"


async def test_a_redeemed_invite_can_be_given_back_for_what_is_left_of_its_time(invites: Invites, clock: ManualClock):
    typed = await invites.create(SESSION, seat="ann", ttl_ms=HOUR, by="gm")
    invite = await invites.redeem(typed)
    clock.advance(HOUR // 2)
    await invites.give_back(invite)
    assert await invites.redeem(typed) == invite
    await invites.give_back(invite)
    clock.advance(HOUR // 2)
    await refusal(invites, typed)


async def test_an_invite_given_back_late_stays_dead(invites: Invites, clock: ManualClock, store: MemoryValues):
    invite = await invites.redeem(await invites.create(SESSION, seat="ann", ttl_ms=HOUR, by="gm"))
    clock.advance(HOUR)
    await invites.give_back(invite)
    assert await store.get(f"invite:{invite.id}") is None


async def test_a_table_has_a_bounded_number_of_open_invites(invites: Invites):
    made = [await invites.create(SESSION, role="spectator", ttl_ms=HOUR, by="gm") for _ in range(MAX_OPEN)]
    with pytest.raises(InviteError) as caught:
        await invites.create(SESSION, role="spectator", ttl_ms=HOUR, by="gm")
    assert caught.value.code == "limit"
    await invites.redeem(made[0])
    assert await invites.create(SESSION, role="spectator", ttl_ms=HOUR, by="gm")


async def test_when_the_store_is_away_a_code_is_neither_refused_nor_spent(invites: Invites, store: MemoryValues):
    typed = await invites.create(SESSION, seat="ann", ttl_ms=HOUR, by="gm")
    store.down = True
    with pytest.raises(StoreUnavailable):
        await invites.redeem(typed)
    store.down = False
    assert (await invites.redeem(typed)).seat == "ann"
