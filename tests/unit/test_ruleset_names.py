"""No ruleset is known by name outside its own folder: code that tests a name would be a rule in the wrong place, and a third party's
ruleset would lack it. Texts are free: docstrings and examples in help name rulesets, and so do translations, which are data."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NAMES = sorted(tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["entry-points"]["dustup.rulesets"])
A_NAME = re.compile(rf"({'|'.join(NAMES)})(\.[A-Za-z_.?]*)?")
"""A ruleset's name, or one of its message ids."""
QUOTED = re.compile(rf"""(["'`])({A_NAME.pattern})\1""")
EXAMPLES = {"protocol/vectors/samples.py"}
"""Messages as examples for those who write a client."""
ALLOWED = {("server/commands/_table.py", "DEFAULT_RULESET")}
"""The one place that says which ruleset a command takes when none is named."""
NOT_OURS = {"node_modules", "dist", "build", "test", "tests", "catalogue"}


def files(*suffixes: str) -> Iterator[Path]:
    for folder in ("engine", "server", "protocol", "clients"):
        for path in sorted((ROOT / folder).rglob("*")):
            parts = path.relative_to(ROOT).parts
            in_its_own = parts[:2] == ("engine", "rulesets") and len(parts) > 3 and parts[2] in NAMES
            if path.suffix in suffixes and not in_its_own and not NOT_OURS & set(parts) and "/".join(parts) not in EXAMPLES:
                yield path


def named_in(source: str) -> list[tuple[int, str, str]]:
    """Where Python code names a ruleset: (line, what, the constant it is assigned to or ""); docstrings are texts."""
    tree = ast.parse(source)
    texts = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    constants = {id(node.value): ast.unparse(node.target) for node in ast.walk(tree) if isinstance(node, ast.AnnAssign) and node.value}
    found: list[tuple[int, str, str]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in texts and A_NAME.fullmatch(node.value):
            found.append((node.lineno, node.value, constants.get(id(node), "")))
        if not isinstance(node, (ast.Import, ast.ImportFrom)):
            continue
        modules = [one.name for one in node.names]
        if isinstance(node, ast.ImportFrom):
            modules = [f"{node.module}.{name}" for name in modules]
        found += [(node.lineno, one, "") for one in modules if one.startswith("engine.rulesets.") and one.split(".")[2] in NAMES]
    return found


def test_no_python_code_names_a_ruleset_outside_its_folder() -> None:
    looked, found = 0, []
    for path in files(".py"):
        looked += 1
        where = str(path.relative_to(ROOT))
        found += [
            f"{where}:{line} {what}" for line, what, constant in named_in(path.read_text("utf-8")) if (where, constant) not in ALLOWED
        ]
    assert looked > 100
    assert not found


def test_no_client_code_names_a_ruleset() -> None:
    looked, found = 0, []
    for path in files(".ts", ".tsx", ".js", ".mjs"):
        if path.is_relative_to(ROOT / "server"):
            continue  # built from the clients' own
        looked += 1
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
            if QUOTED.search(line) and not line.lstrip().startswith(("*", "//")):
                found.append(f"{path.relative_to(ROOT)}:{number} {line.strip()[:80]}")
    assert looked > 5
    assert not found


@pytest.mark.parametrize(
    "source",
    [
        'if name == "duel":\n    pass',
        "from engine.rulesets.stretch import RULES",
        "from engine.rulesets import duel",
        'said = {"duel.hit"}',
    ],
)
def test_the_search_finds_what_it_is_for(source: str) -> None:
    assert named_in(source)


def test_the_search_leaves_texts_alone() -> None:
    assert not named_in('"""duel"""\nHELP = "dustup demo --ruleset duel"')


def test_the_default_is_a_ruleset() -> None:
    for where, constant in ALLOWED:
        named = [what for _, what, assigned in named_in((ROOT / where).read_text("utf-8")) if assigned == constant]
        assert named
        assert set(named) <= set(NAMES)
