"""A seeded pilot: plays any table to its end from options and prompts alone, knowing no rules.

Given the same seed and the same sequence of frames it does the same things. It waits for frames, never polls.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ._replica import View
from .errors import Refused
from .table import Table

Until = Callable[[View], object]
Prefer = Callable[[Mapping[str, Any]], float | None] | Sequence[str]

ENDS_TURN = re.compile(r"(^|[._])(end|pass|skip|done)($|[._])")
NOT_PLAY = re.compile(r"^(gm|seat|dice)\.|(^|\.)(chat|post|roll|propose|withdraw|delay)$")
"""Commands that talk, tidy up or wait: legal at nearly any time, and none brings a fight nearer to its end."""

END_FIRST = 0.1
END_GROWTH = 0.15
ODDS_WEIGHT = 6.0
"""An option with odds is a test or an attack: more likely to decide something than a step aside."""
PREFERRED_WEIGHT = 10.0

MOST_REFUSALS = 20
"""Different commands refused with nothing changing in between: then it waits for a change."""


@dataclass(slots=True)
class Report:
    """What a run did: commands and answers acknowledged, refusals met, and why it stopped (`over`, `max_actions`)."""

    actions: int = 0
    answers: int = 0
    refused: int = 0
    why: str = ""


class FightOver:
    """True once an encounter was running and none is any more: the usual end of a run."""

    def __init__(self) -> None:
        self._seen = False

    def __call__(self, view: View) -> bool:
        running = bool(view.get("encounters"))
        self._seen = self._seen or running
        return self._seen and not running


class Pilot:
    """Plays one seat. `think`: seconds of pause before each action. `prefer`: which options to like.

    `prefer` is a list of option or command types, or a function from an option to its weight (None: the pilot's own, 0: never).
    """

    def __init__(self, table: Table, seed: int, think: float = 0.0, prefer: Prefer | None = None) -> None:
        self.table = table
        self.think = think
        self.prefer = prefer
        self._rng = random.Random(seed)
        self._turn: Any = None
        self._this_turn = 0
        self._refused_here: set[str] = set()
        self._present: dict[str, int] = {}
        self._stirred = True

    async def run(self, until: Until | None = None, max_actions: int | None = None) -> Report:
        """Play until `until(view)` is true (default: the fight is over) or `max_actions` commands and answers were acknowledged.

        Raises what the table raises when it ends or stays unavailable.
        """
        over = until if until is not None else FightOver()
        report = Report()
        stop = self.table.on_frame(self._stir)
        self._stirred = True
        try:
            while True:
                seen = self.table.changes
                if over(self.table.view):
                    report.why = "over"
                    return report
                if max_actions is not None and report.actions + report.answers >= max_actions:
                    report.why = "max_actions"
                    return report
                if not await self._act(report):
                    await self.table.changed(seen)
        finally:
            stop()

    def _stir(self, message: Mapping[str, Any]) -> None:
        """A frame that changes entities makes it worth looking again; talk does not."""
        if message.get("views") or message.get("gone") or message.get("view") is not None:
            self._stirred = True
            self._refused_here.clear()

    async def _act(self, report: Report) -> bool:
        """Do one thing if there is one. False when there is nothing to do until something changes."""
        command = self._answer()
        if command is not None:
            if await self._send(command, report):
                report.answers += 1
            return True
        if self._present != self.table.presence:
            self._present = dict(self.table.presence)
            self._stirred = True
        if not self._stirred or len(self._refused_here) >= MOST_REFUSALS:
            return False
        self._stirred = False
        command = self.choose(await self.table.options())
        if command is None:
            return self._stirred
        if await self._send(command, report):
            report.actions += 1
            self._this_turn = 0 if _ends_turn(command) else self._this_turn + 1
        self._stirred = True
        return True

    async def _send(self, command: dict[str, Any], report: Report) -> bool:
        if self.think > 0:
            await asyncio.sleep(self.think)
        try:
            await self.table.do(command)
        except Refused:
            # Somebody was faster, or the offer was not good after all: not again before something changes.
            report.refused += 1
            self._refused_here.add(_key(command))
            return False
        return True

    def _answer(self) -> dict[str, Any] | None:
        for prompt in self.table.prompts_open:
            command: dict[str, Any] = {"type": "answer", "prompt": prompt["id"]}
            choices = [each["value"] for each in prompt.get("choices") or []]
            legal = [value for value in choices if _key({**command, "choice": value}) not in self._refused_here]
            if choices and not legal:
                continue
            if legal:
                command["choice"] = self._rng.choice(legal)
            if (ints := self._ints(prompt.get("ints"), command.get("choice", ""))) is not None:
                command["ints"] = ints
            if _key(command) not in self._refused_here:
                return command
        return None

    def _ints(self, wanted: Mapping[str, Any] | None, choice: Any) -> list[int] | None:
        if wanted is None or wanted.get("choice", "") not in ("", choice):
            return None
        least, most = wanted.get("least", 0), wanted.get("most", 0)
        return [self._rng.randint(wanted.get("low", 0), wanted.get("high", 0)) for _ in range(self._rng.randint(least, most))]

    def choose(self, options: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
        """One command made from the options, its params filled in; None when none of them is for this pilot."""
        encounters = self.table.view.get("encounters", {}).items()
        turn = [(id, each.get("round"), each.get("turn"), each.get("current")) for id, each in encounters]
        if turn != self._turn:
            self._turn, self._this_turn = turn, 0
        others = self._in_other_hands()
        acts: list[tuple[float, dict[str, Any]]] = []
        ends: list[tuple[float, dict[str, Any]]] = []
        for option in options:
            weight = self._weight(option)
            if option.get("combatant") in others:
                continue
            if weight <= 0 or (command := self._fill(option)) is None or _key(command) in self._refused_here:
                continue
            (ends if _ends_turn(command) else acts).append((weight, command))
        if ends and (not acts or self._rng.random() < END_FIRST + END_GROWTH * self._this_turn):
            acts = ends
        if not acts:
            return None
        return self._rng.choices([command for _, command in acts], [weight for weight, _ in acts])[0]

    def _in_other_hands(self) -> set[str]:
        """Combatants that somebody else controls who is here to play them: a GM may, and leaves it to them.

        Until the server has told who is here, everybody may be.
        """
        seats, presence = self.table.view.get("seats", {}), self.table.presence
        own = set(seats.get(self.table.seat, {}).get("controls") or [])
        here = [seat for id, seat in seats.items() if id != self.table.seat and (not presence or presence.get(id))]
        return {combatant for seat in here for combatant in seat.get("controls") or []} - own

    def _weight(self, option: Mapping[str, Any]) -> float:
        names = {str(option.get("type", "")), str(option["command"].get("type", ""))}
        if callable(self.prefer):
            weight = self.prefer(option)
            if weight is not None:
                return weight
        elif self.prefer is not None and names & set(self.prefer):
            return PREFERRED_WEIGHT
        if option.get("group", "turn") != "turn" or any(NOT_PLAY.search(name) for name in names):
            return 0.0
        return ODDS_WEIGHT if option.get("odds") else 1.0

    def _fill(self, option: Mapping[str, Any]) -> dict[str, Any] | None:
        """The option's command with every param filled from what the option lists; None when one cannot be."""
        command = dict(option["command"])
        for param in option.get("params") or []:
            optional = bool(param.get("optional"))
            if optional and self._rng.random() < 0.5:
                continue
            value = self._value(param)
            if value is not None:
                command[param["name"]] = value
            elif not optional:
                return None
        return command

    def _value(self, param: Mapping[str, Any]) -> Any:
        default = param.get("default")
        kind = param.get("kind") or "choice"
        if kind == "choice":
            choices = param.get("choices") or []
            return self._rng.choice(choices)["value"] if choices else default
        if kind == "int":
            low, high = param.get("min"), param.get("max")
            if low is None:
                low = default if default is not None else min(high or 0, 0)
            return self._rng.randint(low, max(low, low if high is None else high))
        return default


def _ends_turn(command: Mapping[str, Any]) -> bool:
    return ENDS_TURN.search(str(command.get("type", ""))) is not None


def _key(command: Mapping[str, Any]) -> str:
    return json.dumps(command, sort_keys=True)
