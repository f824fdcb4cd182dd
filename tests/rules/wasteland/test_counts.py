"""Small situations in which every outcome of the dice is played and counted, against counts made by hand (counts.yaml)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

import engine
from engine import Act, Session, Setup
from engine.rulesets.wasteland import RULES
from server.commands import plain_yaml
from tests.rules.case_files import merge, own_tables, whole
from tests.unit.wasteland.exhaustive import Counting, outcomes

RECORDS = {one["name"]: one for one in plain_yaml.read((Path(__file__).parent / "counts.yaml").read_text("utf-8"))}


def send(session: Session, line: Mapping[str, Any], dice: engine.Dice) -> Session:
    act = Act(by=line["by"], command=RULES.decode(line["command"]))
    return engine.apply(RULES, session, act, now_ms=0, dice=dice)[0]


def value(found: Any, path: str) -> Any:
    """The value at a path of field names, ids and places."""
    for name in path.split("."):
        if isinstance(found, Mapping):
            found = found[name]
        elif isinstance(found, tuple):
            found = found[int(name)] if name.isdigit() else next(one for one in found if one.id == name)
        else:
            found = getattr(found, name)
    return found


@pytest.mark.parametrize("name", RECORDS)
def test_every_outcome_is_counted_as_by_hand(name: str) -> None:
    record = RECORDS[name]
    raw = merge(whole(own_tables(), record.get("table", "street")), record["setup"])
    session, _ = engine.create(
        RULES, msgspec.convert(raw, Setup), session_id="s" * 16, epoch="0" * 16, now_ms=0, dice=engine.ScriptedDice()
    )
    for line in record.get("before", ()):
        session = send(session, line, engine.ScriptedDice())
    ways = 0
    counted: dict[str, Counter[str]] = {path: Counter() for path in record["facts"]}

    def play(dice: Counting) -> Session:
        return send(session, record["command"], dice)

    for after, _ in outcomes(play, tuple(record["fixed"])):
        ways += 1
        for path, counts in counted.items():
            counts[str(value(after, path)).lower()] += 1
    assert ways == record["ways"]
    expected = {path: {str(key): number for key, number in counts.items()} for path, counts in record["facts"].items()}
    assert {path: dict(counts) for path, counts in counted.items()} == expected
    assert all(sum(counts.values()) == ways for counts in expected.values())
