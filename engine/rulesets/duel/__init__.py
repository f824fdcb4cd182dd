"""Duel: the smallest whole ruleset. Opposed d20 fights with a weapon, a hit location, a parry that interrupts and a re-roll that asks.

It is the example for ruleset authors, the test bed for every feature of the kernel, and the benchmark's lightest load. Its own rules are
in docs/rules/duel.md.
"""

from engine.rulesets.duel.rules import Duel

RULES = Duel()

__all__ = ["RULES", "Duel"]
