"""`dustup demo`: a whole fight over the socket with every die checked twice, and a check that would notice if one were not right."""

from __future__ import annotations

import hashlib
import json
import subprocess
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

import engine
from engine import dice
from engine.rulesets.duel import RULES
from server.app import Server
from server.commands import _stranger
from server.commands._table import Fight, judge, make_table, play_fight, verify_fight, with_watcher
from tests.support.command_line import PATIENCE_S, command, dustup, environment

engine.register(RULES)


@pytest.mark.parametrize("store", ["memory", "embedded"])
def test_the_demo_plays_a_fight_to_its_end_and_verifies_every_die(store):
    done = dustup("demo", "--seed", "3", "--store", store)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert any("A fight begins" in line for line in lines)
    assert any("The fight is over" in line for line in lines)
    assert any("seed of the open dice, number 1, is revealed" in line for line in lines)
    assert lines[-1].startswith("Dice verified: all ")


def test_the_demo_as_json_can_be_checked_by_a_stranger():
    """Everything needed to recompute each die is in the lines: nothing but docs/dice.md is used here."""
    done = dustup("demo", "--seed", "3", "--json")
    assert done.returncode == 0, done.stderr
    *frames, verdict = map(json.loads, done.stdout.splitlines())
    assert verdict["verified"] is True
    rolled = {}
    seeds = {}
    for event in (event for frame in frames for event in frame.get("events", [])):
        if event["type"] == "dice.revealed":
            pairs = sorted(event["salts"])
            texts = b"".join(len(text.encode()).to_bytes(4, "big") + text.encode() for pair in pairs for text in pair)
            seeds[event["stream"], event["index"]] = hashlib.sha256(bytes.fromhex(event["seed"]) + hashlib.sha256(texts).digest()).digest()
        for roll in event.get("rolls", []):
            rolled[roll["stream"], roll["n"]] = roll
    assert len(rolled) == verdict["rolls"] > 0
    for (stream, n), roll in rolled.items():
        bytes_ = hashlib.sha256(seeds[stream, roll["index"]] + n.to_bytes(8, "big") + bytes(4)).digest()
        sides = roll["sides"]
        drawn = [byte % sides + 1 for byte in bytes_ if byte < 256 - 256 % sides]
        assert roll["faces"] == drawn[: len(roll["faces"])]


def told(output: str) -> list[Any]:
    """What happened in a demo told as JSON, without when it happened."""
    return [json.loads(line).get("events") for line in output.splitlines()]


def test_a_seed_gives_the_same_fight_and_another_seed_another():
    first, again, other = (dustup("demo", "--seed", seed, "--json").stdout for seed in ("3", "3", "8"))
    assert told(first) == told(again)
    assert told(first) != told(other)


def test_a_reader_who_leaves_early_ends_the_demo_without_a_traceback():
    process = subprocess.Popen(command("demo", "--seed", "3"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(), text=True)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    said = process.stderr.read()
    process.stderr.close()
    assert process.wait(PATIENCE_S) == 141
    assert said == ""


# --- the check itself --------------------------------------------------------------------------------------------------------


@pytest.fixture
async def fought(node: Server) -> tuple[Server, Fight, list[engine.Entry]]:
    """A fight that was played on a server, and its log."""
    session = await make_table(node, with_watcher("duel", "yard", "", "Demo"), 3)
    fight = await play_fight(node, session, seed=3, think=0, tell=lambda message: None)
    entries = [engine.decode_entry(data) for _, data in await node.store.entries(session, 0, 10_000)]
    return node, fight, entries


async def test_the_check_passes_what_was_played_and_counts_it(fought):
    node, fight, entries = fought
    verdict = await verify_fight(node, fight)
    rolls = sum(len(entry.rolls) for entry in entries)
    assert verdict.ok, verdict.line
    assert verdict.counts["rolls"] == verdict.counts["rolls_audited"] == verdict.counts["rolls_seen_and_recomputed"] == rolls > 0
    assert f"all {rolls} rolls" in verdict.line
    assert verdict.counts["executed"] == len(entries)


async def test_the_check_names_a_die_that_was_changed_in_the_log(fought):
    node, fight, entries = fought
    at = next(place for place, entry in enumerate(entries) if entry.rolls)
    roll = entries[at].rolls[0]
    changed = replace(roll, faces=(roll.faces[0] % roll.sides + 1, *roll.faces[1:]))
    entries[at] = replace(entries[at], rolls=(changed, *entries[at].rolls[1:]))
    verdict = judge(RULES, entries, (await node.registry.get(fight.session)).session.epoch, _stranger.check(fight.frames))
    assert not verdict.ok
    assert verdict.line.startswith("DIFFERS at ")
    assert str(entries[at].v) in verdict.line or f"roll {roll.n}" in verdict.line


def events(frames: list[Any], kind: str) -> list[dict[str, Any]]:
    return [event for frame in frames for event in frame.get("events") or [] if event["type"] == kind]


def first_roll(frames: list[Any]) -> dict[str, Any]:
    found: dict[str, Any] = next(event["rolls"][0] for frame in frames for event in frame.get("events") or [] if event.get("rolls"))
    return found


async def test_a_stranger_finds_a_face_a_seed_a_salt_and_a_commitment_that_do_not_fit(fought):
    _, fight, _ = fought
    assert _stranger.check(fight.frames).difference == ""

    frames = deepcopy(fight.frames)
    roll = first_roll(frames)
    roll["faces"][0] = roll["faces"][0] % roll["sides"] + 1
    assert f"roll {roll['n']} of the open dice" in _stranger.check(frames).difference

    frames = deepcopy(fight.frames)
    events(frames, "dice.revealed")[0]["seed"] = "00" * 32
    assert "not the one committed to" in _stranger.check(frames).difference

    frames = deepcopy(fight.frames)
    # A host who swaps seed and commitment together after the rolls: what was published before play is what counts.
    swapped = events(frames, "dice.revealed")[0]
    swapped["seed"], swapped["commitment"] = "00" * 32, hashlib.sha256(bytes(32)).hexdigest()
    assert "not the one committed to" in _stranger.check(frames).difference

    frames = deepcopy(fight.frames)
    events(frames, "dice.revealed")[0]["salts"][0][1] += "!"
    assert "the seed gives" in _stranger.check(frames).difference


async def test_rolls_whose_seed_is_not_revealed_are_never_called_verified(fought):
    node, fight, entries = fought
    frames = deepcopy(fight.frames)
    for frame in frames:
        frame["events"] = [event for event in frame.get("events") or [] if event["type"] != "dice.revealed"]
    seen = _stranger.check(frames)
    assert (seen.rolls, seen.difference) == (0, "")
    assert seen.waiting > 0
    verdict = judge(RULES, entries, (await node.registry.get(fight.session)).session.epoch, seen)
    assert not verdict.ok
    assert verdict.line.startswith("NOT FULLY CHECKED")


@given(
    seed=st.binary(min_size=32, max_size=32),
    salts=st.dictionaries(st.text("abc", min_size=1, max_size=4), st.text(max_size=8).filter(str.isprintable), max_size=4),
    n=st.integers(1, 2**40),
    count=st.integers(1, 60),
    sides=st.integers(2, 2_000),
)
def test_the_strangers_arithmetic_and_the_engines_agree(seed, salts, n, count, sides):
    """Two programs written apart from the same page give the same dice."""
    key = _stranger.key_of(seed, salts.items())
    assert key == dice.stream_key(seed, salts.items())
    assert tuple(_stranger.draw(key, n, count, sides)) == dice.faces(key, n, count, sides)
