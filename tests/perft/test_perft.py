"""Each ruleset allows from a small position exactly as much as its file says; the first step of each is counted by hand in the file."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec
import pytest

import engine
from engine import Setup
from tests.support import every_die, perft

FILES = {path.stem: path for path in sorted(Path(__file__).parent.glob("*.json"))}


def read(name: str) -> dict[str, Any]:
    return msgspec.json.decode(FILES[name].read_bytes())


@pytest.mark.parametrize("ruleset", FILES)
def test_the_tree_of_what_may_happen_has_the_size_it_had(ruleset: str) -> None:
    """A rule that changes without meaning to changes one of these numbers."""
    told = read(ruleset)
    rules: engine.Ruleset = import_module(f"engine.rulesets.{ruleset}").RULES
    start = every_die.created(rules, msgspec.convert({"ruleset": ruleset, **told["setup"]}, Setup))
    if "start" in told:
        ((_, start, _),) = every_die.outcomes(rules, start, "gm", told["start"])
    counted = perft.count(rules, start, len(told["depths"]))
    assert [{"nodes": nodes, "states": states} for nodes, states in counted] == told["depths"]


@pytest.mark.parametrize("ruleset", FILES)
def test_the_first_step_is_what_a_hand_counts(ruleset: str) -> None:
    """The file adds up, move by move, how many ways the first one can go."""
    told = read(ruleset)
    assert sum(told["by_hand"].values()) == told["depths"][0]["nodes"]
