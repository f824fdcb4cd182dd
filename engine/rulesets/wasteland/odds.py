"""Exact odds of an attack or a test."""

from __future__ import annotations

from typing import Any

from engine.odds import Odds
from engine.rejected import Rejected


def odds(rules: Any, session: Any, seat: str, command: Any) -> Odds:
    raise Rejected("bad_command", "not yet")
