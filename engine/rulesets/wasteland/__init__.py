"""Wasteland: 2d20 skill tests, Action Points, Luck, and combat with hit locations and combat dice.

Its data are in model.py, what a seat can ask for in commands.py, figures and switches in tables.py; rules.py wires the parts.
"""

from engine.rulesets.wasteland.rules import RULES, Wasteland

__all__ = ["RULES", "Wasteland"]
