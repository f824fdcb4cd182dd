"""Whether a command is an instance of what options and prompts list: the other half of "whatever is offered is accepted".

A command is listed when some option of the seat has its type and agrees with it in every field: a parameter's value is among the listed
ones (or left out, where it may be), any other field has the option's value or, where the option says nothing, the form's default. An
empty id stands for the one the rules take in its place (whose turn it is, the only weapon). What a ruleset declares `unlisted`, with
its reason, is taken as listed: a whole command by its name, further values of a list by "command.field": any of what the
options list for it may come together.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

import engine
from engine import Option, kernel_options
from engine.commands import Command
from engine.session import Prompt, Session


def turn_commands(rules: engine.Ruleset) -> list[type[Command]]:
    """Every command a player plays with: what a seat does to the table, talk and free dice are declared by the kernel."""
    declared = {**kernel_options.UNLISTED, **rules.unlisted}
    return [one for one in rules.commands if one.needs == "player" and one.__struct_config__.tag not in declared]


def is_listed(rules: engine.Ruleset, session: Session, options: Iterable[Option], raw: Mapping[str, Any]) -> bool:
    command = rules.decode(raw)
    given = {**_defaults(type(command)), **msgspec.to_builtins(command)}
    return any(_agrees(rules, session, option, given, type(command)) for option in options)


def _agrees(rules: engine.Ruleset, session: Session, option: Option, given: Mapping[str, Any], form: type[Command]) -> bool:
    kind = given["type"]
    if option.command["type"] != kind:
        return False
    params = {param.name: param for param in option.params}
    for name, default in _defaults(form).items():
        value = given[name]
        listed = [option.command.get(name, default)]
        if name in params:
            param = params[name]
            if param.kind == "int" and isinstance(value, int):
                listed = [value] if (param.min is None or value >= param.min) and (param.max is None or value <= param.max) else []
            elif param.kind == "text":
                listed = [value]
            else:
                listed = [one.value for one in param.choices]
            if param.optional:
                listed.append(option.command.get(name, default))
        if value in listed:
            continue
        if f"{kind}.{name}" in rules.unlisted and all(any(item in one for one in listed) for item in value):
            continue
        if name == "combatant" and value == "" and any(one.current in listed for one in session.encounters.values()):
            continue
        if name != "combatant" and value == "" == default:
            continue
        return False
    return True


def _defaults(form: type[Command]) -> dict[str, Any]:
    """A command's fields with their defaults in plain form; None for those that must be given."""
    found: dict[str, Any] = {}
    for field in msgspec.structs.fields(form):
        made = field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory()
        found[field.encode_name] = None if made is msgspec.NODEFAULT else msgspec.to_builtins(made)
    return found


def is_answer_listed(prompt: Prompt, raw: Mapping[str, Any]) -> bool:
    """Whether an answer is one of the prompt's choices, with as many numbers as it asks for, within its bounds."""
    choice = raw.get("choice", "")
    if prompt.choices and choice not in [one.value for one in prompt.choices]:
        return False
    numbers, ints = raw.get("ints", []), prompt.ints
    if ints is None or ints.choice not in ("", choice):
        return True  # numbers that nobody asked for are not read
    return ints.least <= len(numbers) <= ints.most and all(ints.low <= one <= ints.high for one in numbers)


def any_answers(prompt: Prompt, rnd: random.Random) -> Iterator[dict[str, Any]]:
    """Answers of every kind, right ones and wrong ones: its own choices and others' words, too few, too many and impossible numbers."""
    words = ["", "yes", "no", "nobody", *(one.value for one in prompt.choices)]
    for word in dict.fromkeys(words):
        yield {"type": "answer", "prompt": prompt.id, "choice": word}
        for _ in range(4):
            numbers = [rnd.choice((0, 1, 1, 2, 3, 4, 5, 20, -1)) for _ in range(rnd.choice((0, 1, 1, 2, 3)))]
            yield {"type": "answer", "prompt": prompt.id, "choice": word, "ints": numbers}
