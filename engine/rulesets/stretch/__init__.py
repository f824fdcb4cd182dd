"""Stretch: a d20 against the gap between skill and task, one-page combat with fixed damage, and called shots.

From seeds/stretch_d20.txt; what the text leaves open is a switch each (engine.rulesets.stretch.switches, docs/rules/stretch.md).
"""

from engine.rulesets.stretch.rules import Stretch

RULES = Stretch()

__all__ = ["RULES", "Stretch"]
