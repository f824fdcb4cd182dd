"""docs/faults.md says what is true: every test it names exists, and every fault of the chaos suite has its line."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from tests.chaos import checker
from tests.chaos.faults import FAULTS

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "faults.md").read_text("utf-8")


def test_every_test_it_names_exists() -> None:
    named = re.findall(r"(tests/[a-z_/]+\.py)::([a-z0-9_]+)", TEXT)
    assert len(named) > 20
    missing = [f"{path}::{name}" for path, name in named if name not in _functions(ROOT / path)]
    assert missing == []


def test_every_line_names_a_test() -> None:
    table = TEXT.partition("## The table")[2].partition("\n## ")[0]
    lines = [line for line in table.splitlines() if line.startswith("|")][2:]
    assert len(lines) > 15
    assert [line for line in lines if "::test_" not in line] == []


def test_every_fault_of_the_chaos_suite_has_its_line() -> None:
    cells = {word.strip() for line in TEXT.splitlines() if line.startswith("|") for word in line.rsplit("|", 2)[1].split(",")}
    assert set(FAULTS) - cells == set()


def test_every_promise_of_the_checker_is_told() -> None:
    promises = re.findall(r"^([a-z]+) {2,}\S", checker.__doc__ or "", re.MULTILINE)
    assert len(promises) > 8
    assert [one for one in promises if f"| {one} |" not in TEXT] == []


def _functions(path: Path) -> set[str]:
    if not path.exists():
        return set()
    return {node.name for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
