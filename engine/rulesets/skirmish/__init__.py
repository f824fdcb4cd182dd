"""Skirmish: d10 pools against S.P.E.C.I.A.L. with luck dice, and small crews that activate in turn.

The dice are seeds/special_d10.txt, whole; the fight on top is added, with the figures of rules/FACTS.md A15 (docs/rules/skirmish.md).
"""

from engine.rulesets.skirmish.rules import Skirmish

RULES = Skirmish()

__all__ = ["RULES", "Skirmish"]
