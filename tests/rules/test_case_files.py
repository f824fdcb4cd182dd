"""The form of cases: tables and rows come out as told, and a file that cannot be read is named with the case and the reason."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.rules.case_files import CaseProblem, fill, make_case, merge, read_cases, read_tables, whole

ROOT = Path(__file__).resolve().parents[2]
TABLES: dict[str, dict[str, Any]] = {
    "base": {"ruleset": "duel", "seats": [{"id": "ann"}, {"id": "ben"}], "pools": {"group": 1}},
    "more": {"table": "base", "seats": [{"id": "ben", "name": "Ben"}, {"id": "cho"}], "pools": {"gm": 2}},
    "one": {"table": "two"},
    "two": {"table": "one"},
    "lost": {"table": "nowhere"},
}
CASE = {"id": "X-1", "given": "something", "source": "a text", "table": "base", "commands": []}
MINE = """\
- id: MINE-01
  given: A fighter braces.
  source: my own table
  table: pit
  commands:
    - {by: gm, command: {type: gm.encounter, scene: ring}}
    - {by: ann, command: {type: brace}, dice: [], expect: {facts: {combatants.a.braced: <braced>}}}
  rows: [{braced: true}]
"""


def test_a_table_stands_on_another_one() -> None:
    """Maps are merged key by key and lists of things with ids item by item; what is new comes after what was there."""
    assert whole(TABLES, "more") == {
        "ruleset": "duel",
        "seats": [{"id": "ann"}, {"id": "ben", "name": "Ben"}, {"id": "cho"}],
        "pools": {"group": 1, "gm": 2},
    }


def test_lists_without_ids_are_replaced() -> None:
    """An empty list among them: it empties."""
    assert merge({"faces": [1, 2], "x": 1}, {"faces": [3]}) == {"faces": [3], "x": 1}
    assert merge([{"id": "a"}], []) == []


@pytest.mark.parametrize(("name", "says"), [("one", "stand on each other"), ("lost", "no table 'nowhere'"), ("other", "no table 'other'")])
def test_a_table_that_leads_nowhere_is_refused(name: str, says: str) -> None:
    with pytest.raises(CaseProblem, match=says):
        whole(TABLES, name)


def test_rows_fill_values_texts_and_keys() -> None:
    row = {"n": 3, "faces": [1, 2], "who": "ann"}
    assert fill({"a.<who>": ["<n>", "<faces>", "for <who>: <n>"], "b": 7}, row) == {"a.ann": [3, [1, 2], "for ann: 3"], "b": 7}


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"id": ""}, "needs `id`"),
        ({"given": None}, "needs `given`"),
        ({"source": 3}, "needs `source`"),
        ({"table": "nowhere"}, "no table 'nowhere'"),
        ({"rows": []}, "`rows` is a list"),
        ({"rows": [3]}, "`rows` is a list"),
        ({"commands": ["<face>"]}, "no value for <face>"),
    ],
)
def test_a_case_that_is_none_says_what_it_lacks(changed: dict[str, Any], says: str) -> None:
    with pytest.raises(CaseProblem, match=says):
        make_case({**CASE, **changed}, TABLES, "x.yaml")


@pytest.mark.parametrize(
    ("files", "says"),
    [
        ({"a.yaml": "- ["}, "a.yaml: line 1"),
        ({"a.yaml": "id: X"}, "a case file is a list"),
        ({"a.yaml": "- just words"}, "a.yaml, case number 1: a case is a map"),
        ({"a.yaml": "- {id: X}"}, "a.yaml, case X: it needs `given`"),
        ({"a.yaml": "- {id: X, given: g, source: s}", "b.yaml": "- {id: X, given: g, source: s}"}, "b.yaml: the id 'X' stands in a.yaml"),
    ],
)
def test_a_bad_folder_is_refused_with_file_and_case(tmp_path: Path, files: dict[str, str], says: str) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text, "utf-8")
    with pytest.raises(CaseProblem) as caught:
        read_cases(tmp_path, TABLES)
    assert says in str(caught.value)


def test_two_tables_of_one_name_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("pit: {ruleset: duel}", "utf-8")
    (tmp_path / "b.yaml").write_text("pit: {ruleset: duel}", "utf-8")
    with pytest.raises(CaseProblem, match="'pit' exists already"):
        read_tables(tmp_path)


def pytest_with_cases(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "tests/rules/test_cases.py", "-q", "-p", "no:cacheprovider", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=100, check=False)


def test_a_folder_of_further_cases_runs_alone(tmp_path: Path) -> None:
    """With tables of its own beside ours; a case in it that does not hold fails."""
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "mine.yaml").write_text("pit: {table: duel-pair, name: The pit}", "utf-8")
    (tmp_path / "mine.yaml").write_text(MINE, "utf-8")
    good = pytest_with_cases("--cases", str(tmp_path), "-k", "MINE-01")
    assert good.returncode == 0, good.stdout
    assert "1 passed" in good.stdout
    (tmp_path / "mine.yaml").write_text(MINE.replace("braced: true", "braced: false"), "utf-8")
    bad = pytest_with_cases("--cases", str(tmp_path), "-k", "MINE-01")
    assert bad.returncode == 1
    assert "A fighter braces." in bad.stdout
    assert "combatants.a.braced" in bad.stdout


@pytest.mark.parametrize(("text", "says"), [(None, "there is no folder"), ("", "has a case"), ("- {id: X}", "case X: it needs `given`")])
def test_a_folder_that_cannot_be_run_is_an_error_before_any_test(tmp_path: Path, text: str | None, says: str) -> None:
    folder = tmp_path / "cases"
    if text is not None:
        folder.mkdir()
        if text:
            (folder / "x.yaml").write_text(text, "utf-8")
    result = pytest_with_cases("--cases", str(folder))
    assert result.returncode not in (0, 1, 5)
    assert says in result.stdout + result.stderr
