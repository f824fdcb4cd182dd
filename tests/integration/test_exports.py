"""Export, import and verify: a log that was carried out is whole or refused, and what was changed in it is found."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aiohttp
import msgpack  # type: ignore[import-untyped]  # it ships no types
import pytest

import engine
from engine import SYSTEM, SeededDice
from engine.commands import NewDice
from server.app import Server
from server.exports import MAX_OBJECT, Export, ExportError, export_session, load_export
from server.gateway.http_logs import MEDIA
from server.imports import ImportRefused, import_session
from server.store import StoreUnavailable
from server.verify import verify_export, verify_session
from tests.integration.api import HOUR_MS, Answer, Api, refused
from tests.integration.conftest import StartNode


@pytest.fixture
def api(http: aiohttp.ClientSession, node: Server) -> Api:
    return Api(http, node)


async def play(api: Api, *, to_the_end: bool = False) -> Answer:
    """A table with talk, rolls, a strike, an undo and hidden dice behind it; at its end all seeds are revealed."""
    table = await api.table(name="Friday")
    commands: list[dict[str, Any]] = [
        {"type": "chat", "text": "Ready?"},
        {"type": "chat", "text": "only for you", "to": ["ann"]},
        {"type": "dice.salt", "salt": "seven green bottles"},
        {"type": "gm.move", "combatant": "c1", "scene": "mill", "zone": "yard", "near": ["c3"]},
        {"type": "roll", "notation": "3d6"},
        {"type": "roll", "notation": "1d20", "hidden": True},
        {"type": "attack", "combatant": "c1", "target": "c3"},
        {"type": "gm.undo"},
        {"type": "attack", "combatant": "c1", "target": "c3"},
    ]
    if to_the_end:
        commands += [{"type": "gm.dice", "do": "reveal", "stream": stream} for stream in ("open", "hidden")]
    for n, command in enumerate(commands, 1):
        reply = await api.do(table["session"], table["token"], f"gm.{n}", **command)
        assert reply.status == 200, reply
    return table


async def exported(node: Server, session: str, *, seed: bool = False) -> bytes:
    return b"".join([chunk async for chunk in export_session(node.store, session, hidden=True, seed=seed)])


def objects(data: bytes) -> list[Any]:
    """Every object of an export, as anyone with msgpack reads them."""
    unpacker = msgpack.Unpacker()
    unpacker.feed(data)
    return list(unpacker)


def packed(things: list[Any]) -> bytes:
    """An export of these objects with a checksum that fits: what somebody makes who changes a log and knows the format."""
    body = b"".join(msgpack.packb(thing) for thing in things[:-1])
    return body + msgpack.packb(["end", {**things[-1][1], "sha256": hashlib.sha256(body).hexdigest()}])


# --- what an export holds -----------------------------------------------------------------------------------------------------


async def test_an_export_is_the_log_byte_for_byte_with_what_was_said(api: Api):
    table = await play(api)
    export = load_export(await exported(api.node, table["session"]))
    stored = await api.node.store.entries(table["session"], 0)
    assert list(export.raw) == [data for _, data in stored]
    assert list(export.entries) == [engine.decode_entry(data) for _, data in stored]
    assert sorted(export.texts.values()) == ["Ready?", "only for you"]
    header = export.header
    assert (header.session, header.v, header.name, header.ruleset) == (table["session"], len(stored), "Friday", "duel")
    assert (header.epoch, export.seed) == (table["epoch"], None)


async def test_no_export_holds_an_unrevealed_seed_a_token_or_a_code_unless_a_host_moves_the_table(api: Api):
    table = await play(api)
    secret = await api.node.store.seed(table["session"])
    assert secret is not None
    dice = SeededDice(secret, table["epoch"])
    unrevealed = [secret.hex(), *(dice.reveal(stream, 1) for stream in ("open", "hidden"))]
    data = await exported(api.node, table["session"])
    planted = [*unrevealed, table["token"], *(one["invite"].rpartition(".")[2] for one in table["seats"].values())]
    for text in planted:
        assert text.encode() not in data
    assert secret not in data
    moving = load_export(await exported(api.node, table["session"], seed=True))
    assert moving.seed == secret
    assert secret.hex() not in repr(moving)
    assert str(secret) not in repr(moving)


async def test_there_is_no_export_without_what_is_hidden(api: Api):
    table = await api.table()
    with pytest.raises(ExportError, match="hidden"):
        await anext(export_session(api.node.store, table["session"], hidden=False))


@pytest.mark.parametrize("name", ["aaaaaaaaaaaaaaaa", "no such {table}", ""])
async def test_a_table_that_is_not_there_cannot_be_exported_or_verified(api: Api, name: str):
    with pytest.raises(ExportError, match="no table"):
        await anext(export_session(api.node.store, name, hidden=True))
    with pytest.raises(ExportError, match="no table"):
        await verify_session(api.node.store, name)


async def test_an_erased_text_is_not_exported_and_the_rest_still_verifies(api: Api):
    table = await play(api)
    first = load_export(await exported(api.node, table["session"]))
    text_id = next(text_id for text_id, text in first.texts.items() if text == "Ready?")
    await api.good("DELETE", f"/v1/sessions/{table['session']}/texts/{text_id}", table["token"])
    data = await exported(api.node, table["session"])
    assert b"Ready?" not in data
    report = verify_export(load_export(data))
    assert (report.verdict, report.texts_checked, report.texts_erased) == ("unchecked", 1, 1)


# --- reading one --------------------------------------------------------------------------------------------------------------


async def test_an_export_cut_off_anywhere_is_refused_and_says_so(api: Api):
    data = await exported(api.node, (await play(api))["session"])
    for at in (*range(1, 200, 7), *range(200, len(data), 97), len(data) - 1):
        with pytest.raises(ExportError, match=r"cut off|no end|header"):
            load_export(data[:at])
    with pytest.raises(ExportError, match="empty"):
        load_export(b"")


async def test_any_changed_byte_is_refused(api: Api):
    data = await exported(api.node, (await play(api))["session"])
    for at in range(3, len(data), 61):
        changed = bytearray(data)
        changed[at] ^= 1
        with pytest.raises(ExportError):
            load_export(bytes(changed))


async def test_what_follows_the_end_is_refused(api: Api):
    data = await exported(api.node, (await api.table())["session"])
    with pytest.raises(ExportError, match="follows the end"):
        load_export(data + data)


NOT_EXPORTS: dict[str, bytes] = {
    "text": b"hello, this is a diary",
    "another map": msgpack.packb({"format": "something.else", "version": 1}),
    "a list": msgpack.packb([1, 2, 3]),
    "a newer format": msgpack.packb({"format": "dustup.export", "version": 2}),
    "a header with nothing in it": msgpack.packb({"format": "dustup.export", "version": 1}),
    "a claim of four billion items": b"\xdd\xff\xff\xff\xff",
    "a claim of four gigabytes": b"\xc6\xff\xff\xff\xff" + b"a" * 1000,
    "brackets without end": b"\x91" * 100_000,
    "a byte that is nothing": b"\xc1",
}


@pytest.mark.parametrize("name", NOT_EXPORTS)
def test_what_is_no_export_is_refused_with_a_reason(name: str):
    with pytest.raises(ExportError) as refusal:
        load_export(NOT_EXPORTS[name])
    assert refusal.value.text.endswith(".")
    assert ("upgrade" in refusal.value.text) == (name == "a newer format")


def test_an_object_larger_than_any_entry_is_refused_before_it_is_held():
    with pytest.raises(ExportError, match="MiB"):
        load_export(b"\xc6" + (MAX_OBJECT * 2).to_bytes(4, "big") + bytes(MAX_OBJECT + 200_000))


async def test_a_file_above_the_limit_is_refused(api: Api, tmp_path: Path):
    data = await exported(api.node, (await api.table())["session"])
    path = tmp_path / "table.dustup"
    path.write_bytes(data)
    assert load_export(path).header.v == load_export(data).header.v
    for source in (path, str(path), data):
        with pytest.raises(ExportError, match="larger"):
            load_export(source, max_bytes=len(data) - 1)
    with pytest.raises(FileNotFoundError):
        load_export(tmp_path / "none")


# --- verifying ------------------------------------------------------------------------------------------------------------------


async def test_a_log_whose_seeds_are_revealed_verifies_wholly(api: Api):
    table = await play(api, to_the_end=True)
    export = load_export(await exported(api.node, table["session"]))
    report = verify_export(export)
    rolls = [roll for entry in export.entries for roll in entry.rolls]
    assert (report.verdict, report.exit_code, report.difference) == ("ok", 0, "")
    assert (report.entries, report.executed) == (len(export.entries), len(export.entries))
    assert (report.dice_checked, report.dice_waiting) == (len(rolls), 0)
    assert report.texts_checked == 2


async def test_dice_that_wait_for_their_seed_are_said_to_wait_and_are_no_failure(api: Api):
    """To a stranger they wait; the host, who holds the seed, checks them at once."""
    table = await play(api)
    export = load_export(await exported(api.node, table["session"]))
    rolls = [roll for entry in export.entries for roll in entry.rolls]
    report = verify_export(export)
    assert (report.verdict, report.exit_code) == ("unchecked", 0)
    assert (report.dice_checked, report.dice_waiting) == (0, len(rolls))
    assert any(f"{len(rolls)} rolls wait" in line for line in report.lines)
    own = await verify_session(api.node.store, table["session"])
    assert (own.verdict, own.dice_checked, own.dice_waiting) == ("ok", len(rolls), 0)


async def test_progress_is_told_entry_by_entry(api: Api):
    table = await api.table()
    seen: list[int] = []
    verify_export(load_export(await exported(api.node, table["session"])), progress=seen.append)
    assert seen == list(range(len(seen)))
    assert seen


def entry_with(things: list[Any], wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    return next(body for kind, body in things[1:-1] if kind == "entry" and wanted(body))


def _face(things: list[Any]) -> None:
    entry = entry_with(things, lambda one: any(roll.get("purpose") == "free" for roll in one.get("rolls", [])))
    entry["rolls"][0]["faces"][0] = entry["rolls"][0]["faces"][0] % 6 + 1


def _seed(things: list[Any]) -> None:
    entry = entry_with(things, lambda one: any(event["type"] == "dice.revealed" for event in one.get("events", [])))
    for event in entry["events"]:
        if event["type"] == "dice.revealed":
            event["data"]["seed"] = "00" * 32
    for drawn in entry["drawn"]:
        if drawn[0] == "reveal":
            drawn[3] = "00" * 32


def _hit_points(things: list[Any]) -> None:
    entry = entry_with(things, lambda one: one["v"] == 1)
    next(change for change in entry["changes"] if change[1] == "combatants")[3]["hp"] = 500


def _sentence(things: list[Any]) -> None:
    entry_with(things, lambda one: bool(one.get("events")) and one["v"] > 1)["events"][0]["text"] = "Something else happened."


def _by(things: list[Any]) -> None:
    entry_with(things, lambda one: one.get("command", {}).get("type") == "attack")["by"] = "ben"


def _said(things: list[Any]) -> None:
    next(body for kind, body in things[1:-1] if kind == "text")["text"] = "I surrender"


def _version(things: list[Any]) -> None:
    """An entry passed off as another version's, so that nobody executes it again, with a change of its own."""
    entry = entry_with(things, lambda one: one.get("command", {}).get("type") == "attack")
    entry["version"] = "9.9/9"
    entry["changes"] = [["=", "combatants", "nobody", {"hp": 1}]]


def _twice(things: list[Any]) -> None:
    entries = [body for kind, body in things[1:-1] if kind == "entry" and body.get("id")]
    entries[-1]["id"] = entries[0]["id"]


DOCTORED: dict[str, tuple[Callable[[list[Any]], None], str]] = {
    "a face": (_face, "faces"),
    "a seed": (_seed, "commitment"),
    "hit points": (_hit_points, "version 1"),
    "a sentence": (_sentence, "events"),
    "who acted": (_by, "version"),
    "what was said": (_said, "hash"),
    "a change behind a false version": (_version, "changes"),
    "an action done twice": (_twice, "version"),
}


@pytest.mark.parametrize("name", DOCTORED)
async def test_whoever_changes_a_log_and_mends_its_checksum_is_found_out(api: Api, name: str):
    """The first difference is named, the exit code is 1, and an import of it changes nothing."""
    change, says = DOCTORED[name]
    table = await play(api, to_the_end=True)
    things = objects(await exported(api.node, table["session"]))
    assert verify_export(load_export(packed(things))).verdict == "ok", "unchanged, the same packing is fine"
    change(things)
    doctored = load_export(packed(things))
    report = verify_export(doctored)
    assert (report.verdict, report.exit_code) == ("differs", 1)
    assert says in report.difference
    assert report.difference in report.lines[0]
    before = await api.node.store.sessions()
    with pytest.raises(ImportRefused, match="does not hold together"):
        await import_session(api.node.registry, doctored)
    assert await api.node.store.sessions() == before


async def test_a_marker_entry_cannot_smuggle_a_change(api: Api):
    """Entries that no command made are not executed again; so only what a marker may change counts as checked."""
    table = await play(api, to_the_end=True)
    things = objects(await exported(api.node, table["session"]))
    last = things[-2][1]
    smuggled = {**last, "v": last["v"] + 1, "stamp": "f" * 16, "kind": "imported", "id": "", "rolls": [], "drawn": [], "events": []}
    smuggled["changes"] = [["=", "combatants", "c1", {"hp": 500}]]
    things.insert(-1, ["entry", smuggled])
    things[0].update(v=smuggled["v"], stamp=smuggled["stamp"])
    things[-1][1]["entries"] += 1
    report = verify_export(load_export(packed(things)))
    assert (report.verdict, report.skipped) == ("unchecked", 1)


@pytest.mark.parametrize("junk", [None, 5, {"type": "dice.opened"}, [["x"]], {"stream": []}])
async def test_a_log_that_holds_nonsense_is_reported_not_raised(api: Api, junk: Any):
    table = await api.table()
    things = objects(await exported(api.node, table["session"]))
    things[1][1]["events"] = [{"type": "dice.opened", "text": "x", "data": {"data": junk}}]
    things[1][1]["command"] = junk
    report = verify_export(load_export(packed(things)))
    assert report.verdict == "differs"
    with pytest.raises(ImportRefused):
        await import_session(api.node.registry, load_export(packed(things)))


async def test_a_log_of_rules_nobody_has_is_not_checked_and_not_imported(api: Api):
    table = await api.table()
    things = objects(await exported(api.node, table["session"]))
    things[0]["ruleset"] = "chess"
    export = load_export(packed(things))
    report = verify_export(export)
    assert (report.verdict, report.exit_code) == ("unchecked", 0)
    assert "chess" in report.lines[0]
    with pytest.raises(ImportRefused, match="chess"):
        await import_session(api.node.registry, export)


async def test_a_stored_state_that_is_not_what_the_log_leads_to_is_found(http: aiohttp.ClientSession, start_node: StartNode):
    api = Api(http, await start_node(snapshot_every=1))
    table = await play(api)
    assert (await verify_session(api.node.store, table["session"])).verdict == "ok"
    actor = await api.node.registry.get(table["session"])
    snapshot = engine.encode_snapshot(actor.session).replace(b"Tollman", b"Tallman")
    key = api.node.store._keys.session(table["session"]).snap  # type: ignore[attr-defined]
    await api.node.store._redis.set(key, snapshot)  # type: ignore[attr-defined]
    report = await verify_session(api.node.store, table["session"])
    assert report.verdict == "differs"
    assert "stored state" in report.difference


# --- importing --------------------------------------------------------------------------------------------------------------------


async def test_an_import_is_the_same_table_under_a_new_name_with_new_dice(api: Api):
    table = await play(api)
    export = load_export(await exported(api.node, table["session"]))
    actor = await import_session(api.node.registry, export)
    before = engine.replay(actor.rules, export.entries, epoch=export.epoch)
    assert actor.id not in ("", table["session"])
    assert actor.session.header.session == actor.id
    assert actor.session.epoch != export.epoch
    for kind in ("combatants", "scenes", "encounters", "pools", "prompts"):
        assert getattr(actor.session, kind) == getattr(before, kind)
    stored = await api.node.store.entries(actor.id, 0)
    assert [data for _, data in stored[: len(export.raw)]] == list(export.raw), "what came stays byte for byte"
    added = [engine.decode_entry(data) for _, data in stored[len(export.raw) :]]
    assert [entry.kind for entry in added] == ["imported", "dice"]
    assert isinstance(actor.rules.decode(added[-1].command, system=True), NewDice)
    assert all(entry.by == SYSTEM for entry in added)
    # The old seeds serve no roll any more: new indexes, commitments nobody has seen.
    for stream in ("open", "hidden"):
        was, now = getattr(before.table, stream), getattr(actor.session.table, stream)
        assert (now.index, now.n, now.first) == (was.index + 1, was.n, was.n + 1)
        assert now.commitment != was.commitment
    assert (await verify_session(api.node.store, actor.id)).verdict == "unchecked"


async def test_a_table_moved_with_its_seed_can_have_its_old_dice_checked(api: Api, http: aiohttp.ClientSession, start_node: StartNode):
    table = await play(api)
    moved = Api(http, await start_node())
    export = load_export(await exported(api.node, table["session"], seed=True))
    actor = await import_session(moved.node.registry, export, session_id=table["session"])
    assert actor.id == table["session"]
    reply = await moved.do(actor.id, await moved.node.tokens.seat_token(actor.id, "gm", "gm", HOUR_MS), "z.1", type="roll", notation="2d6")
    assert reply.status == 200
    report = await verify_session(moved.node.store, actor.id)
    assert (report.verdict, report.dice_waiting) == ("ok", 0)
    assert report.dice_checked == sum(len(entry.rolls) for entry in export.entries) + 1
    # And once more: the second server's dice are known to the third.
    third = await start_node()
    again = load_export(await exported(moved.node, actor.id, seed=True))
    assert (await verify_session(third.store, (await import_session(third.registry, again)).id)).verdict == "ok"


async def test_an_import_seats_nobody_and_keeps_private_lines_from_the_next_holder(api: Api):
    table = await play(api)
    await api.sit(table, "ann")
    data = await exported(api.node, table["session"])
    told = (await api.call("POST", "/v1/sessions/import", data=data, headers={"Content-Type": MEDIA})).told
    assert told["session"] != table["session"]
    seen = await api.good("GET", f"/v1/sessions/{told['session']}", told["token"])
    assert [seat for seat, one in seen["view"]["seats"].items() if one.get("person")] == ["gm"]
    ann = await api.sit(told, "ann")
    history = await api.call("GET", f"/v1/sessions/{told['session']}/history?limit=200", ann)
    assert b"Ready?" in history.raw
    assert b"only for you" not in history.raw
    refused(await api.call("GET", f"/v1/sessions/{told['session']}", table["token"]), 401, "unauthorized")


async def test_actions_done_before_the_move_are_not_done_again_after_it(api: Api):
    table = await play(api)
    actor = await import_session(api.node.registry, load_export(await exported(api.node, table["session"])))
    gm = await api.node.tokens.seat_token(actor.id, "gm", "gm", HOUR_MS)
    v = actor.session.v
    reply = await api.do(actor.id, gm, "gm.5", type="roll", notation="3d6")
    assert reply.told["again"] is True
    assert actor.session.v == v


async def test_an_imported_table_is_played_on_undone_and_exported_again(api: Api):
    table = await play(api)
    actor = await import_session(api.node.registry, load_export(await exported(api.node, table["session"])))
    gm = await api.node.tokens.seat_token(actor.id, "gm", "gm", HOUR_MS)
    prompt = next(iter(actor.session.prompts.values()))
    for n, command in enumerate(
        ({"type": "answer", "prompt": prompt.id, "choice": "yes"}, {"type": "gm.undo"}, {"type": "chat", "text": "again"}), 1
    ):
        assert (await api.do(actor.id, gm, f"new.{n}", **command)).status == 200
    again = load_export(await exported(api.node, actor.id))
    assert again.header.session == actor.id
    assert verify_export(again).verdict == "unchecked"
    second = await import_session(api.node.registry, again)
    assert second.session.combatants == actor.session.combatants


async def test_an_id_that_is_taken_or_none_is_refused_and_the_table_there_is_untouched(api: Api):
    table = await play(api)
    export = load_export(await exported(api.node, table["session"]))
    before = await api.node.store.top(table["session"])
    with pytest.raises(ImportRefused, match="already"):
        await import_session(api.node.registry, export, session_id=table["session"])
    with pytest.raises(ImportRefused, match="cannot be called"):
        await import_session(api.node.registry, export, session_id="a b")
    assert await api.node.store.top(table["session"]) == before


async def test_of_two_imports_under_one_id_one_wins_and_is_whole(api: Api):
    """The loser must not take the winner's table with it."""
    table = await play(api)
    export = load_export(await exported(api.node, table["session"]))
    outcomes = await asyncio.gather(
        *(import_session(api.node.registry, export, session_id="abcdefghijklmnop") for _ in range(3)), return_exceptions=True
    )
    assert sorted(type(one).__name__ for one in outcomes) == ["Actor", "ImportRefused", "ImportRefused"]
    assert (await verify_session(api.node.store, "abcdefghijklmnop")).entries == export.header.v + 2


async def test_an_import_that_breaks_off_leaves_nothing(api: Api, monkeypatch: pytest.MonkeyPatch):
    table = await play(api)
    export = load_export(await exported(api.node, table["session"]))
    before = await api.node.store.sessions()

    async def away(commit: Any) -> Any:
        raise StoreUnavailable("It went away.")

    monkeypatch.setattr(api.node.store, "commit", away)
    with pytest.raises(StoreUnavailable):
        await import_session(api.node.registry, export)
    assert await api.node.store.sessions() == before


async def test_deadlines_of_an_imported_table_are_moved_by_the_time_it_lay(http: aiohttp.ClientSession, start_node: StartNode):
    """A question with an hour left has an hour left when its table is brought back a month later."""
    from server.clock import ManualClock

    clock = ManualClock(1_750_000_000_000)
    api = Api(http, await start_node(clock=clock))
    table = await api.table(settings={"deadline.prompt": 60})
    commands: tuple[dict[str, Any], ...] = (
        {"type": "gm.move", "combatant": "c1", "scene": "mill", "zone": "yard", "near": ["c3"]},
        {"type": "attack", "combatant": "c1", "target": "c3"},
    )
    for n, command in enumerate(commands, 1):
        assert (await api.do(table["session"], table["token"], f"a.{n}", **command)).status == 200
    data = (await api.call("GET", f"/v1/sessions/{table['session']}/export", table["token"])).raw
    clock.advance(30 * 24 * HOUR_MS)
    actor = await import_session(api.node.registry, load_export(data))
    assert engine.due(actor.session) == clock.now_ms() + HOUR_MS
    assert actor.id in await api.node.store.due(clock.now_ms() + HOUR_MS)


# --- over HTTP ----------------------------------------------------------------------------------------------------------------------


async def test_export_import_and_verify_go_over_http(api: Api):
    table = await play(api)
    at = f"/v1/sessions/{table['session']}"
    reply = await api.call("GET", f"{at}/export", table["token"])
    assert reply.headers["Content-Disposition"] == f'attachment; filename="{table["session"]}.dustup"'
    assert isinstance(load_export(reply.raw), Export)
    assert load_export(reply.raw).seed is None
    verified = await api.good("GET", f"{at}/verify", table["token"])
    assert (verified["verdict"], verified["entries"]) == ("ok", load_export(reply.raw).header.v)
    made = await api.call("POST", "/v1/sessions/import", data=reply.raw, headers={"Content-Type": MEDIA})
    assert made.status == 201
    assert set(made.told) == set(table)


@pytest.mark.parametrize(
    "spoil", [lambda data: data[:-20], lambda data: b"", lambda data: data[:50] + b"x" + data[51:], lambda data: b"hello"]
)
async def test_a_spoilt_upload_is_refused_and_changes_nothing(api: Api, spoil: Callable[[bytes], bytes]):
    table = await play(api)
    before = await api.node.store.sessions()
    data = spoil(await exported(api.node, table["session"]))
    refused(await api.call("POST", "/v1/sessions/import", data=data, headers={"Content-Type": MEDIA}), 400, "bad_command")
    assert await api.node.store.sessions() == before


async def test_an_upload_above_the_limit_of_another_kind_or_with_a_chosen_id_is_refused(api: Api, monkeypatch: pytest.MonkeyPatch):
    table = await api.table()
    data = await exported(api.node, table["session"])
    typed = {"Content-Type": MEDIA}
    refused(await api.call("POST", "/v1/sessions/import", data=data, headers={"Content-Type": "text/plain"}), 415, "bad_frame")
    refused(await api.call("POST", "/v1/sessions/import?session=abcdefghijklmnop", data=data, headers=typed), 403, "forbidden")
    chosen = await api.call("POST", "/v1/sessions/import?session=abcdefghijklmnop", await api.admin(), data=data, headers=typed)
    assert (chosen.status, chosen.told["session"]) == (201, "abcdefghijklmnop")
    monkeypatch.setattr("server.gateway.http_logs.MAX_IMPORT", len(data) - 1)
    refused(await api.call("POST", "/v1/sessions/import", data=data, headers=typed), 413, "too_large")


async def test_an_export_that_breaks_off_on_its_way_is_not_taken_for_whole(api: Api, monkeypatch: pytest.MonkeyPatch):
    """The store goes away in the middle: the line is cut, and what came is refused when read."""
    table = await play(api)
    monkeypatch.setattr("server.exports.PAGE", 2)
    monkeypatch.setattr("server.exports.CHUNK", 1)
    entries, calls = api.node.store.entries, 0

    async def then_away(*args: Any, **kwargs: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls > 3:
            raise StoreUnavailable("It went away.")
        return await entries(*args, **kwargs)

    monkeypatch.setattr(api.node.store, "entries", then_away)
    came = bytearray()
    headers = {"Authorization": f"Bearer {table['token']}"}

    async def fetch() -> None:
        async with api.http.get(f"{api.node.url}/v1/sessions/{table['session']}/export", headers=headers) as answer:
            assert answer.status == 200
            async for chunk in answer.content.iter_any():
                came.extend(chunk)

    with pytest.raises(aiohttp.ClientError):
        await fetch()
    assert came
    with pytest.raises(ExportError):
        load_export(bytes(came))
