"""Dustup's rules engine: pure functions from a session and a command to the next session and a log entry.

No I/O, no clock, no randomness of its own: time, identity and dice come in as arguments, so the same inputs give the same bytes.
"""

from engine.dice import Dice, Reveal, RolledFact, ScriptedDice, SeededDice
from engine.entry import SYSTEM, Act, Change, Entry, Event, decode_entry, encode_entry
from engine.frames import Renderer
from engine.kernel import Past, apply, create, due, needs_upgrade, overdue, undo_target
from engine.kernel_options import options_of
from engine.odds import Odds, OddsPart
from engine.options import Cost, Option, Param, Value
from engine.rejected import Rejected
from engine.replay import Audit, LogError, audit, decode_snapshot, encode_snapshot, evolve, header_of, replay, reveals_of
from engine.rulesets import BaseRuleset, Ruleset, names, register, ruleset
from engine.session import ENGINE_VERSION, SCHEMA, Session
from engine.setup import Setup
from engine.sight import GM, SPECTATOR, Sight, sight_of, view

__all__ = [
    "ENGINE_VERSION",
    "GM",
    "SCHEMA",
    "SPECTATOR",
    "SYSTEM",
    "Act",
    "Audit",
    "BaseRuleset",
    "Change",
    "Cost",
    "Dice",
    "Entry",
    "Event",
    "LogError",
    "Odds",
    "OddsPart",
    "Option",
    "Param",
    "Past",
    "Rejected",
    "Renderer",
    "Reveal",
    "RolledFact",
    "Ruleset",
    "ScriptedDice",
    "SeededDice",
    "Session",
    "Setup",
    "Sight",
    "Value",
    "apply",
    "audit",
    "create",
    "decode_entry",
    "decode_snapshot",
    "due",
    "encode_entry",
    "encode_snapshot",
    "evolve",
    "header_of",
    "names",
    "needs_upgrade",
    "options_of",
    "overdue",
    "register",
    "replay",
    "reveals_of",
    "ruleset",
    "sight_of",
    "undo_target",
    "view",
]
