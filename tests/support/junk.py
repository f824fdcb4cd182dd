"""Random commands for tests: legal ones from options and prompts, and anything at all that fits (or nearly fits) a command's form."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import product
from typing import Any

from msgspec import inspect

from engine import Option, Rejected
from engine.commands import Command, GmCommand
from engine.session import KINDS
from tests.support.table import Table

JUNK_TEXT = ("", "x", "nobody", "c1", "\N{SNOWMAN}", "a" * 64, "2d6+1", "d20", "high", "yes")
JUNK_INTS = (-(2**53) + 1, -1, 0, 1, 2, 3, 7, 20, 1000, 1_000_001, 2**53 - 1)
JUNK_VALUES: tuple[Any, ...] = (None, True, False, -1, 0, 1, 5, "x", "", [], ["c1"], {}, {"a": 1}, 2**53 - 1)
MAX_COMBINATIONS = 400


class Ids:
    """Every id in a session by what it names, so that most junk is nearly right. `without` leaves out ids that contain it."""

    def __init__(self, table: Table, without: str = "") -> None:
        session = table.session
        self.schema = table.rules.schema
        zones = [zone for scene in session.scenes.values() for zone in scene.zones]
        found: dict[str, list[str]] = {kind: list(getattr(session, kind)) for kind in KINDS}
        found["zones"] = [zone.id for zone in zones]
        found["covers"] = [cover.id for zone in zones for cover in zone.covers]
        found["fields"] = [name for kind in ("combatants", "pools", "scenes", "tests") for name in table.rules.schema.fields[kind]]
        for combatant in session.combatants.values():  # what it carries has ids as well
            for name in combatant.__struct_fields__:
                parts = getattr(combatant, name)
                if isinstance(parts, tuple) and parts and hasattr(parts[0], "id"):
                    found[name] = list(dict.fromkeys([*found.get(name, []), *(one.id for one in parts)]))
        self.by_kind = {kind: [one for one in ids if not without or without not in one] for kind, ids in found.items()}
        self.all = [one for kind, ids in self.by_kind.items() if kind != "fields" for one in ids]

    def pick(self, name: str, rnd: random.Random) -> str:
        """An id for a field of this name: mostly one of the kind it asks for."""
        fitting = self.by_kind.get(KIND_OF.get(name, f"{name}s"), [])
        if fitting and rnd.random() < 0.9:
            return rnd.choice(fitting)
        return rnd.choice(self.all) if rnd.random() < 0.7 else rnd.choice(JUNK_TEXT)


KIND_OF = {
    **dict.fromkeys(
        ["combatant", "combatants", "target", "near", "controls", "first", "after", "helper", "supporters", "by"], "combatants"
    ),
    **dict.fromkeys(("seat", "to", "owner"), "seats"),
    **{name: f"{name}s" for name in ("scene", "zone", "prompt", "test", "encounter", "pool", "cover", "field")},
    **dict.fromkeys(("a", "b", "blind"), "zones"),
}
"""What a command's field of this name names, as far as the name tells."""

PLURAL = {"zone": "zones", "edge": "zones"}


def value_for(kind: inspect.Type, name: str, rnd: random.Random, ids: Ids) -> Any:
    """A value that fits a type of a command's field most of the time; `name` is the field's."""
    if isinstance(kind, inspect.Metadata):
        return value_for(kind.type, name, rnd, ids)
    if isinstance(kind, inspect.UnionType):
        return value_for(rnd.choice(kind.types), name, rnd, ids)
    if isinstance(kind, inspect.LiteralType):
        return rnd.choice(kind.values) if rnd.random() < 0.97 else "junk"
    if isinstance(kind, inspect.BoolType):
        return rnd.random() < 0.5
    if isinstance(kind, inspect.IntType):
        return rnd.choice(JUNK_INTS)
    if isinstance(kind, inspect.StrType):
        named = (kind.pattern or "").startswith("^[A-Za-z0-9_.:-]") or name == "field"
        return ids.pick(name, rnd) if named else rnd.choice(JUNK_TEXT)
    if isinstance(kind, (inspect.VarTupleType, inspect.ListType)):
        return [value_for(kind.item_type, name, rnd, ids) for _ in range(rnd.choice((0, 1, 1, 2)))]
    if isinstance(kind, inspect.TupleType):
        return [value_for(item, name, rnd, ids) for item in kind.item_types]
    if isinstance(kind, inspect.StructType):
        return _fields(kind, rnd, ids, 0.4)
    if isinstance(kind, inspect.DictType):
        return {rnd.choice(ids.by_kind["fields"]): rnd.choice(JUNK_VALUES) for _ in range(rnd.choice((0, 0, 1, 2)))}
    if isinstance(kind, inspect.NoneType):
        return None
    return rnd.choice(JUNK_VALUES)


def _fields(form: inspect.StructType, rnd: random.Random, ids: Ids, optional: float) -> dict[str, Any]:
    raw: dict[str, Any] = {}
    for field in form.fields:
        if field.required or rnd.random() < optional:
            raw[field.encode_name] = value_for(field.type, field.encode_name, rnd, ids)
    if "id" in raw and "kind" in raw and rnd.random() < 0.9:  # gm.set and its like: `id` names one of `kind`
        kinds = [kind for kind in (*KINDS, "zone") if kind not in ("seats", "prompts") and ids.by_kind.get(PLURAL.get(kind, kind))]
        raw["kind"] = kind = rnd.choice(kinds)
        raw["id"] = rnd.choice(ids.by_kind[PLURAL.get(kind, kind)])
        if "field" in raw and kind in ids.schema.fields:
            raw["field"] = name = rnd.choice(list(ids.schema.fields[kind]))
            if rnd.random() < 0.7:
                raw["value"] = value_for(inspect.type_info(ids.schema.fields[kind][name]), name, rnd, ids)
    return raw


def form_of(command: type[Command]) -> inspect.StructType:
    form = inspect.type_info(command)
    assert isinstance(form, inspect.StructType)
    return form


def from_form(command: type[Command], rnd: random.Random, ids: Ids) -> dict[str, Any]:
    """A command of this type with random values; half of the optional fields are there."""
    raw = {"type": command.__struct_config__.tag, **_fields(form_of(command), rnd, ids, 0.5)}
    if raw["type"] in ("chat", "post"):
        raw["text"] = "something said"
    if raw["type"] == "roll":
        raw["notation"] = rnd.choice(("2d6+1", "d20", "3d20kh1", "0d6", "d", "2d6!", "4dC6", "1000000d6"))
    return raw


def commands_of(table: Table, *, gm: bool) -> list[type[Command]]:
    return [one for one in table.rules.commands if (issubclass(one, GmCommand) or one.needs == "gm") == gm]


def filled(option: Option, rnd: random.Random) -> dict[str, Any]:
    """An option's command with a random listed value for each parameter; optional ones may stay out."""
    raw = dict(option.command)
    for param in option.params:
        if param.optional and rnd.random() < 0.3:
            continue
        if param.kind == "choice":
            raw[param.name] = rnd.choice(param.choices).value
        elif param.kind == "int":
            raw[param.name] = rnd.randint(param.min or 0, param.max if param.max is not None else (param.min or 0) + 3)
        else:
            raw[param.name] = "text"
    return raw


def combinations(option: Option) -> Iterator[dict[str, Any]]:
    """Every combination of an option's listed values, those that leave optional parameters out included; bounded."""
    spans: list[list[tuple[tuple[str, Any], ...]]] = []
    for param in option.params:
        if param.kind == "choice":
            values: list[Any] = [one.value for one in param.choices]
        elif param.kind == "int":
            values = sorted({param.min or 0, param.max if param.max is not None else (param.min or 0) + 3})
        else:
            values = ["text"]
        span: list[tuple[tuple[str, Any], ...]] = [((param.name, value),) for value in values]
        spans.append([(), *span] if param.optional else span)
    for count, chosen in enumerate(product(*spans)):
        if count >= MAX_COMBINATIONS:
            return
        yield {**option.command, **{name: value for part in chosen for name, value in part}}


def open_answer(table: Table, rnd: random.Random) -> tuple[str, dict[str, Any]] | None:
    """A legal answer to one of the open prompts, by the seat that is asked."""
    prompts = table.prompts()
    if not prompts:
        return None
    prompt = rnd.choice(prompts)
    raw: dict[str, Any] = {"type": "answer", "prompt": prompt.id}
    choice = rnd.choice(prompt.choices).value if prompt.choices else ""
    if choice:
        raw["choice"] = choice
    if prompt.ints is not None and prompt.ints.choice in ("", choice):
        count = rnd.randint(prompt.ints.least, prompt.ints.most)
        # Where only some numbers may be given (dice that can still be re-rolled), the question lists them.
        legal = dict(prompt.data).get("positions") or range(prompt.ints.low, prompt.ints.high + 1)
        raw["ints"] = rnd.sample(legal, min(count, len(legal)))
        if prompt.kind == "dice":
            raw["ints"] = [rnd.randint(prompt.ints.low, prompt.ints.high) for _ in range(count)]
    return prompt.to, raw


EAGER = 12
"""How much rather an eager pilot does what has odds, as those of `dustup demo` do: fights in which anything goes may go on for ever."""


def open_option(table: Table, rnd: random.Random, *, group: str = "", eager: bool = False) -> tuple[str, dict[str, Any]] | None:
    """A filled-in option of some seat."""
    seats = list(table.session.seats)
    rnd.shuffle(seats)
    for seat in seats:
        found = [option for option in table.options(seat) if group in ("", option.group)]
        if found:
            weights = [EAGER if eager and option.odds else 1 for option in found]
            return seat, filled(rnd.choices(found, weights)[0], rnd)
    return None


def attempt(table: Table, by: str, raw: dict[str, Any]) -> bool:
    """Send something that may well be refused, but never as `internal`: that would be a bug in the rules. Whether it was accepted."""
    try:
        table.send(by, raw)
    except Rejected as refusal:
        if refusal.code == "internal":
            raise AssertionError(f"{by} broke the rules with {raw}: {refusal.__cause__!r}") from refusal
        return False
    return True


def play_pilots(table: Table, rnd: random.Random, *, most: int = 5000) -> int:
    """Play as pilots do, from prompts and options of the group "turn" alone, until no encounter runs. Returns the number of commands."""
    for count in range(most):
        if not table.session.encounters:
            return count
        chosen = open_answer(table, rnd) or open_option(table, rnd, group="turn", eager=True)
        assert chosen is not None, "an encounter runs and nobody can do anything"
        table.send(*chosen)
    raise AssertionError(f"{most} commands did not end the fight")
