"""Random play for tests: what some seat might send next, seeded, from options and open questions, with a GM who meddles."""

from __future__ import annotations

import random
from typing import Any

import engine

Command = dict[str, Any]


def next_command(rules: engine.Ruleset, session: engine.Session, rng: random.Random, *, meddle: float = 0.4) -> tuple[str, Command]:
    """A seat and a command that is probably legal. `meddle`: how often the GM or somebody's chatter comes in between."""
    if rng.random() < meddle:
        return _meddling(session, rng)
    waiting = [prompt for prompt in session.prompts.values() if prompt.answer is None]
    if waiting:
        prompt = rng.choice(waiting)
        return prompt.to, {"type": "answer", "prompt": prompt.id, "choice": rng.choice(prompt.choices).value}
    seats = list(session.seats)
    rng.shuffle(seats)
    for seat in seats:
        options = [one for one in rules.options(session, seat) if not one.command["type"].startswith(("gm.", "seat.", "dice.", "test."))]
        if options:
            option = rng.choice(options)
            command = dict(option.command)
            for param in option.params:
                if param.choices:
                    command[param.name] = rng.choice(param.choices).value
                elif not param.optional:
                    command[param.name] = param.default if param.default is not None else param.min
            return seat, command
    return "gm", {"type": "chat", "text": "Nothing left to do."}


def _meddling(session: engine.Session, rng: random.Random) -> tuple[str, Command]:
    one = rng.choice([combatant.id for combatant in session.combatants.values()])
    return rng.choice(
        [
            ("gm", {"type": "gm.hide", "kind": "combatants", "id": one}),
            ("gm", {"type": "gm.reveal", "kind": "combatants", "id": one}),
            ("gm", {"type": "gm.set", "kind": "combatants", "id": one, "field": "hp", "value": rng.randint(5, 12)}),
            ("gm", {"type": "gm.seat", "seat": "ben", "controls": rng.choice([["c2"], ["c2", "c3"], []])}),
            ("gm", {"type": "roll", "notation": "2d6", "hidden": True}),
            ("gm", {"type": "gm.undo"}),
            ("gm", {"type": "gm.clock", "minutes": 5}),
            ("ann", {"type": "chat", "text": f"a word {rng.randint(0, 99)}"}),
            ("ann", {"type": "chat", "text": "between us", "to": ["gm"]}),
            ("ben", {"type": "seat.prefs", "kind": "parry", "value": rng.choice(["always", "never", "ask"])}),
        ]
    )
