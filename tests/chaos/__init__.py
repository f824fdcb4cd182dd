"""Chaos: real servers on real Redis processes, clients that never stop, faults by a seeded plan, and a checker that believes nobody.

`make chaos` runs it for minutes (`python -m tests.chaos --help`), test_chaos.py for less than one. Read history.py and checker.py first.
"""
