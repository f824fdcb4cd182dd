"""The same inputs give the same bytes in another process, under another hash seed: the audit of random logs agrees with them there."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import msgspec
import pytest

import engine
from tests.support import junk, tutorial
from tests.support.table import Table, state

ROOT = Path(__file__).parents[2]

THERE = """
import hashlib, json, sys
import msgspec
import engine
from tests.support.table import EPOCH, state

found = []
for ruleset, log in msgspec.msgpack.decode(sys.stdin.buffer.read()):
    rules = engine.ruleset(ruleset)
    entries = [engine.decode_entry(one) for one in log]
    audit = engine.audit(rules, entries, epoch=EPOCH)
    session = engine.replay(rules, entries, epoch=EPOCH)
    views = [engine.view(rules, session, engine.sight_of(session, seat)) for seat in session.seats]
    options = [engine.options_of(rules, session, seat) for seat in session.seats]
    told = hashlib.sha256(msgspec.msgpack.encode([views, options])).hexdigest()
    found.append([audit.verdict, audit.executed, hashlib.sha256(state(session)).hexdigest(), told])
print(json.dumps([hash("a text"), found]))
"""


def random_game(ruleset: str, seed: int) -> Table:
    """A fight with junk in between, cut off somewhere, all its dice revealed."""
    table, rnd = Table(ruleset, watched=False), random.Random(seed)
    for _ in range(rnd.randint(20, 80)):
        chosen = junk.open_answer(table, rnd) or junk.open_option(table, rnd, group="turn")
        if chosen is not None:
            junk.attempt(table, *chosen)
        if rnd.random() < 0.3:
            command = rnd.choice(table.rules.commands)
            junk.attempt(table, "gm", junk.from_form(command, rnd, junk.Ids(table)))
        if table.session.table.paused:
            table.do("gm", "gm.pause", on=False)
    for stream in ("open", "hidden"):
        junk.attempt(table, "gm", {"type": "gm.dice", "do": "reveal", "stream": stream})
    return table


@pytest.mark.parametrize("hash_seed", ["1", "4242"])
def test_an_audit_in_another_process_under_another_hash_seed_agrees_with_the_log(ruleset: str, hash_seed: str, tmp_path: Path) -> None:
    seeds = [random.randrange(2**32) for _ in range(12)]
    tables = [random_game(ruleset, seed) for seed in seeds]
    logs = [(ruleset, [engine.encode_entry(entry) for entry in table.entries]) for table in tables]
    path = os.pathsep.join([str(ROOT), str(tutorial.install(tmp_path)), *sys.path])
    there = subprocess.run(
        [sys.executable, "-c", THERE],
        input=msgspec.msgpack.encode(logs),
        capture_output=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": path},
        timeout=100,
        check=False,
    )
    assert there.returncode == 0, there.stderr.decode()
    hashed, found = json.loads(there.stdout)
    assert hashed != hash("a text"), "the other process hashes like this one, so this proves nothing"
    for seed, table, (verdict, executed, reached, told) in zip(seeds, tables, found, strict=True):
        about = f"the game of seed {seed}"
        assert verdict in ("ok", "unchecked"), about
        assert executed == len(table.entries), about
        assert reached == sha256(state(table.session)).hexdigest(), about
        views = [table.view(seat) for seat in table.session.seats]
        options = [engine.options_of(table.rules, table.session, seat) for seat in table.session.seats]
        assert told == sha256(msgspec.msgpack.encode([views, options])).hexdigest(), about
