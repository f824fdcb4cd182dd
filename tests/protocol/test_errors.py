"""The table of codes is complete, and equal to what the architecture promises."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from protocol.errors import CODES, CloseCode, Code, close_code, sentence

ROOT = Path(__file__).parents[2]
ADDED = {"unknown_kind", "hello_timeout", "bye"}
"""Codes SPEC.md adds to the architecture's list, for the wire alone."""


def constants() -> dict[str, str]:
    return {name: value for name, value in vars(Code).items() if name.isupper()}


def architecture() -> str:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    return text.split("## Codes", 1)[1].split("\n## ", 1)[0]


def test_every_constant_is_in_the_table_under_its_own_name():
    assert set(constants().values()) == set(CODES)
    assert all(name.lower() == value for name, value in constants().items())


def test_codes_are_those_of_the_architecture():
    found = re.search(r"Refusals by the rules: `([^`]+)`\. By the server: `([^`]+)`", architecture())
    assert found is not None
    by_rules, by_server = found.groups()
    assert {code for code, info in CODES.items() if info.origin == "rules"} == set(by_rules.split())
    assert {code for code, info in CODES.items() if info.origin == "server"} == set(by_server.split()) | ADDED


def test_close_codes_are_those_of_the_architecture():
    listed = architecture().split("Close codes:", 1)[1]
    assert {int(number): name for number, name in re.findall(r"(\d{4}) ([a-z_]+)", listed)} == {
        code.value: code.name.lower() for code in CloseCode
    }


def test_every_code_is_explained_in_the_spec():
    spec = (ROOT / "protocol" / "SPEC.md").read_text(encoding="utf-8")
    table = spec.split("## 14. Codes", 1)[1].split("## 15.", 1)[0]
    named = {code for row in re.findall(r"^\| (`.*?) \|", table, re.M) for code in re.findall(r"`([a-z_]+)`", row)}
    assert named == set(CODES)


def test_every_close_code_is_explained_in_the_spec():
    spec = (ROOT / "protocol" / "SPEC.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (4\d{3}) \| ([a-z_]+) \|", spec, re.M)
    assert {(int(number), name) for number, name in rows} == {(code.value, code.name.lower()) for code in CloseCode}


@pytest.mark.parametrize("code", sorted(CODES))
def test_every_code_has_a_sentence_for_people(code: str):
    assert re.fullmatch(r"[A-Z][^.]*\.( [A-Z][^.]*\.)?", sentence(code))


@pytest.mark.parametrize("close", [close for close in CloseCode if close is not CloseCode.BYE])
def test_a_code_named_like_a_close_code_closes_with_it(close: CloseCode):
    assert close_code(close.name.lower()) is close


@pytest.mark.parametrize("code", ["expired", "revoked"])
def test_every_token_that_is_not_good_closes_alike(code: str):
    assert close_code(code) is CloseCode.UNAUTHORIZED


def test_a_code_without_a_close_code_of_its_own_closes_with_bye():
    assert close_code("unavailable") is CloseCode.BYE


def test_refusals_by_the_rules_are_never_repeated_blindly():
    assert not [code for code, info in CODES.items() if info.origin == "rules" and info.retry]
