"""The page of rules tells the truth: what it names exists, and no switch, effect, quality or perk is left out of it."""

from __future__ import annotations

import re
from pathlib import Path

from engine.rulesets.wasteland import effects, perks, tables
from tests.rules.case_files import own_cases

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs/rules/wasteland.md").read_text("utf-8")
CASE = re.compile(r"\b([A-Z]+-\d\d)\b")
FILE = re.compile(r"`([a-z_/]+\.py)`")


def test_every_case_named_on_the_page_exists() -> None:
    named = set(CASE.findall(PAGE))
    assert len(named) > 150
    assert named - {case.id for case in own_cases()} == set()


def test_every_file_named_on_the_page_exists() -> None:
    named = set(FILE.findall(PAGE))
    assert len(named) > 20
    homes = (ROOT, ROOT / "engine/rulesets/wasteland")
    assert [one for one in sorted(named) if not any((home / one).is_file() for home in homes)] == []


def test_every_required_wasteland_case_is_on_the_page() -> None:
    """Cases of the list that hold a wasteland rule: their ids begin with these letters."""
    ids = {case.id for case in own_cases() if re.fullmatch(r"[TALOCDIHEN]-\d\d", case.id) and case.file.startswith("wasteland")}
    assert ids - set(CASE.findall(PAGE)) == set()


def test_every_switch_effect_and_perk_is_on_the_page() -> None:
    assert [one for one in tables.SWITCHES if f"`{one}`" not in PAGE] == []
    assert [one for one in effects.EFFECTS if one.capitalize() not in PAGE] == []
    assert [one for one in perks.PERKS if one not in PAGE] == []
