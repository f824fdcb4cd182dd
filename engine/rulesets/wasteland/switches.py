"""Reading a session's switches: the readings of the rules that its set-up chose (tables.SWITCHES)."""

from __future__ import annotations

from typing import Any

from engine.rulesets.wasteland.tables import SWITCHES
from engine.session import Session
from engine.step import Step


def switch(tree: Step | Session, name: str) -> Any:
    """The value of a switch: the set-up's, else the default."""
    for key, value in tree.header.options:
        if key == name:
            return value
    return SWITCHES[name][0]
