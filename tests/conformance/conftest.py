"""The conformance suite: what is promised of every ruleset, held for the built-in ones, the tutorial's, and any that is installed.

    python -m pytest tests/conformance --ruleset NAME

runs it for one ruleset; of an installed one nothing but its name is needed: it needs a ready table (`samples`) with somebody to fight.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import engine
from engine import rulesets
from tests.support import tutorial
from tests.support.table import RULESETS

UNFINISHED = {"test_what_is_accepted_is_an_instance_of_what_is_listed": {"wasteland"}}
"""Tests that a ruleset does not stand yet: wasteland's options are a selection of all that its commands can say."""


@pytest.fixture(autouse=True, scope="module")
def _tutorial_is_known() -> Iterator[None]:
    """For these tests alone: others ask which rulesets there are."""
    engine.register(tutorial.load())
    yield
    rulesets._found.pop(tutorial.NAME)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "ruleset" in metafunc.fixturenames:
        asked: list[str] = metafunc.config.getoption("--ruleset")
        known = dict.fromkeys([*RULESETS, tutorial.NAME, *asked])
        left_out = UNFINISHED.get(metafunc.function.__name__, set())
        metafunc.parametrize("ruleset", [name for name in known if name not in left_out])
