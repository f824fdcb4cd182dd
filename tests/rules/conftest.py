"""Makes one test of each rule case, named by its id, from this repository's case files or from the folders given with --cases."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import engine
import engine.rulesets
from tests.rules.case_files import Case, CaseProblem, own_cases, own_tables, read_cases, read_tables


def _register_uninstalled() -> None:
    """Make the rulesets of this checkout known also where the package is not installed and has no entry points."""
    for module in pkgutil.iter_modules(engine.rulesets.__path__):
        if module.name in engine.names():
            continue
        try:
            rules = getattr(importlib.import_module(f"engine.rulesets.{module.name}"), "RULES", None)
        except ImportError:
            continue  # its cases say that it is unknown; those of the others still run
        if rules is not None:
            engine.register(rules)


_register_uninstalled()


def cases_of(config: pytest.Config) -> Iterator[Case]:
    """The cases to run: of the folders given with --cases, else this repository's. A folder may bring tables of its own in `tables/`."""
    folders: list[str] = config.getoption("--cases")
    if not folders:
        yield from own_cases()
    for name in folders:
        folder = Path(name)
        if not folder.is_dir():
            raise pytest.UsageError(f"--cases: there is no folder '{name}'")
        tables = {**own_tables(), **(read_tables(folder / "tables") if (folder / "tables").is_dir() else {})}
        found = read_cases(folder, tables)
        if not found:
            raise pytest.UsageError(f"--cases: no *.yaml file in '{name}' has a case")
        yield from found


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "case" in metafunc.fixturenames:
        try:
            found = list(cases_of(metafunc.config))
        except CaseProblem as problem:
            raise pytest.UsageError(f"rule cases: {problem}") from None
        metafunc.parametrize("case", [pytest.param(case, id=case.id) for case in found])


@pytest.fixture
def own_ids() -> set[str]:
    """The ids of this repository's cases, whatever --cases says."""
    return {case.id for case in own_cases()}


@pytest.fixture
def own_scenarios() -> dict[str, tuple[dict[str, Any], ...]]:
    """The scenarios of this repository's cases by id."""
    return {case.id: case.scenarios for case in own_cases()}
