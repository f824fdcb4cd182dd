"""The two sizes of a run, each decided by its seed: a minute for `make test`, some minutes of many clients for `make chaos`."""

from __future__ import annotations

import random

from tests.chaos.faults import FAULTS
from tests.chaos.run import Plan


def _faults(seed: int, named: str) -> tuple[str, ...]:
    """Those named, else every fault once, in an order of the seed's own."""
    if named:
        return tuple(named.split(","))
    order = list(FAULTS)
    random.Random(f"{seed} order").shuffle(order)
    return tuple(order)


def short_plan(seed: int, mode: str, faults: str = "") -> Plan:
    """As many faults as fit into about half a minute of play."""
    return Plan(seed=seed, mode=mode, faults=_faults(seed, faults), seconds=20, nodes=3, tables=6, hold_s=0.8, rest_s=0.4)


def long_plan(seed: int, mode: str, faults: str = "") -> Plan:
    """Every fault twice, dozens of tables, some two hundred clients."""
    chosen = _faults(seed, faults)
    twice = chosen if faults else chosen + _faults(seed + 10**6, "")
    return Plan(
        seed=seed, mode=mode, faults=twice, nodes=4, tables=24, doomed=2, clients=8, libraries=2, pace_s=2.0, hold_s=2.0, rest_s=1.0
    )
