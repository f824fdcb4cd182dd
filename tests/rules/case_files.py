"""Case and table files: reads them, merges tables and set-ups, fills rows in. README.md tells the form; nothing here runs a case."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from server.commands import plain_yaml

HERE = Path(__file__).parent
CASES = HERE / "cases"
TABLES = HERE / "tables"
ABOUT = ("id", "given", "source", "table", "rows")
"""What a case has beside the fields of a scenario."""
SLOT = re.compile(r"<([a-z_]+)>")


class CaseProblem(Exception):
    """A case or table that cannot be read. Names the file, and the case where it knows it."""


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """One rule case: where it stands, its id, what it is about in words, and its scenario as plain data (tables merged in).

    A case with rows has one scenario per row.
    """

    id: str
    given: str
    source: str
    scenarios: tuple[dict[str, Any], ...]
    file: str


def read_file(path: Path) -> Any:
    """A YAML file as plain data. Raises CaseProblem."""
    try:
        return plain_yaml.read(path.read_text("utf-8"))
    except (plain_yaml.PlainYamlError, UnicodeDecodeError, OSError) as problem:
        raise CaseProblem(f"{path.name}: {problem}") from None


def read_tables(folder: Path) -> dict[str, dict[str, Any]]:
    """Named tables from every file of a folder; a table may stand on another one (`table`). Raises CaseProblem."""
    found: dict[str, dict[str, Any]] = {}
    for path in sorted(folder.glob("*.yaml")):
        content = read_file(path)
        if not isinstance(content, Mapping):
            raise CaseProblem(f"{path.name}: a table file is a map from names to tables")
        for name, table in content.items():
            if name in found:
                raise CaseProblem(f"{path.name}: the table '{name}' exists already")
            if not isinstance(table, Mapping):
                raise CaseProblem(f"{path.name}: the table '{name}' is a map like a scenario's setup")
            found[name] = dict(table)
    return found


def whole(tables: Mapping[str, dict[str, Any]], name: str, seen: tuple[str, ...] = ()) -> dict[str, Any]:
    """A table with the one it stands on merged in. Raises CaseProblem for unknown names and circles."""
    if name in seen:
        raise CaseProblem(f"the tables {' -> '.join((*seen, name))} stand on each other")
    if name not in tables:
        raise CaseProblem(f"there is no table '{name}'; there are: {', '.join(sorted(tables)) or 'none'}")
    own = dict(tables[name])
    base = own.pop("table", None)
    return own if base is None else merge(whole(tables, base, (*seen, name)), own)


def merge(base: Any, over: Any) -> Any:
    """`over` laid over `base`: maps key by key, lists whose items all have an `id` item by item (new ids are added), else replaced."""
    if isinstance(base, Mapping) and isinstance(over, Mapping):
        return {**base, **{key: merge(base[key], value) if key in base else value for key, value in over.items()}}
    if isinstance(base, list) and isinstance(over, list) and _named(base) and _named(over):
        found = {item["id"]: item for item in base}
        for item in over:
            found[item["id"]] = merge(found[item["id"]], item) if item["id"] in found else item
        return list(found.values())
    return over


def _named(items: list[Any]) -> bool:
    return bool(items) and all(isinstance(item, Mapping) and "id" in item for item in items)


def read_cases(folder: Path, tables: Mapping[str, dict[str, Any]]) -> list[Case]:
    """Every case of a folder, in the order of files and lines. Raises CaseProblem."""
    found: dict[str, Case] = {}
    for path in sorted(folder.glob("*.yaml")):
        content = read_file(path)
        if not isinstance(content, list):
            raise CaseProblem(f"{path.name}: a case file is a list of cases")
        for number, raw in enumerate(content, 1):
            try:
                case = make_case(raw, tables, path.name)
            except CaseProblem as problem:
                named = raw["id"] if isinstance(raw, Mapping) and "id" in raw else f"number {number}"
                raise CaseProblem(f"{path.name}, case {named}: {problem}") from None
            if case.id in found:
                raise CaseProblem(f"{path.name}: the id '{case.id}' stands in {found[case.id].file} already")
            found[case.id] = case
    return list(found.values())


def make_case(raw: Any, tables: Mapping[str, dict[str, Any]], file: str) -> Case:
    """One case from its plain form. Raises CaseProblem."""
    if not isinstance(raw, Mapping):
        raise CaseProblem("a case is a map")
    for name in ("id", "given", "source"):
        if not isinstance(raw.get(name), str) or not raw[name]:
            raise CaseProblem(f"it needs `{name}`, as text")
    scenario = {key: value for key, value in raw.items() if key not in ABOUT}
    if "table" in raw:
        scenario["setup"] = merge(whole(tables, raw["table"]), scenario.get("setup", {}))
    if "options" in scenario:
        scenario["setup"] = merge(scenario.get("setup", {}), {"options": scenario.pop("options")})
    rows = raw.get("rows", [{}])
    if not isinstance(rows, list) or not rows or not all(isinstance(row, Mapping) for row in rows):
        raise CaseProblem("`rows` is a list of maps from names to values")
    filled = tuple(fill(scenario, row) for row in rows)
    return Case(id=raw["id"], given=raw["given"], source=raw["source"], scenarios=filled, file=file)


def fill(value: Any, row: Mapping[str, Any]) -> Any:
    """`value` with every <name> replaced by the row's value: as it is where it stands alone, as text inside a text. Raises CaseProblem."""
    if isinstance(value, Mapping):
        return {fill(key, row): fill(item, row) for key, item in value.items()}
    if isinstance(value, list):
        return [fill(item, row) for item in value]
    if not isinstance(value, str):
        return value
    names = SLOT.findall(value)
    unknown = [name for name in names if name not in row]
    if unknown:
        raise CaseProblem(f"a row has no value for <{unknown[0]}>")
    if len(names) == 1 and value == f"<{names[0]}>":
        return row[names[0]]
    return SLOT.sub(lambda found: str(row[found[1]]), value)


@cache
def own_tables() -> dict[str, dict[str, Any]]:
    """The tables of this repository."""
    return read_tables(TABLES)


@cache
def own_cases() -> tuple[Case, ...]:
    """The cases of this repository."""
    return tuple(read_cases(CASES, own_tables()))
