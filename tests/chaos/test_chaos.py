"""The short form of `make chaos`: real servers broken under load by a plan of the seed's own, and every promise checked afterwards."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from tests.chaos.plans import short_plan
from tests.chaos.report import repeat_line
from tests.chaos.run import MODES, run
from tests.support.redis_server import available_servers


@pytest.mark.chaos
@pytest.mark.slow
@pytest.mark.timeout(240)
@pytest.mark.skipif(not available_servers(), reason="no Redis or Valkey program here")
async def test_nothing_is_lost_doubled_or_reordered_while_servers_and_redis_break(tmp_path: Path) -> None:
    """Set CHAOS_SEED to run one plan again; every run draws another."""
    seed = int(os.environ.get("CHAOS_SEED") or random.SystemRandom().randrange(10**6))
    plan = short_plan(seed, MODES[seed % len(MODES)])
    result = await run(plan, tmp_path / "world")
    again = repeat_line(plan, short=True)
    assert not result.failures, "\n".join([f"{len(result.failures)} broken promises; again: {again}", *result.failures[:20]])
    # A run in which nothing happened would prove nothing.
    assert len(result.faults) >= 3, again
    assert result.verdict.acked > 50, again
