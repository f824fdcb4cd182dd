"""The message catalogue: nothing is missing in any language, nothing is left over, and placeholders agree."""

from __future__ import annotations

import ast
import re
import string
from pathlib import Path
from typing import Any

import pytest

from clients.terminal.app import texts as module
from clients.terminal.app.texts import LANGUAGES, Texts, catalogue, language_of

APP = Path(module.__file__).parent
OTHERS = sorted(set(LANGUAGES) - {"en"})


def placeholders(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}


def asked_for() -> tuple[set[str], list[re.Pattern[str]]]:
    """Keys that the code asks for, and patterns of those it puts together. Every call of a `texts` counts, whatever holds it."""
    keys: set[str] = set()
    patterns = []
    for path in APP.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not (isinstance(node, ast.Call) and node.args):
                continue
            name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id if isinstance(node.func, ast.Name) else ""
            if name not in ("texts", "_texts", "self"):
                continue
            for key in _branches(node.args[0]):
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    keys.add(key.value)
                elif isinstance(key, ast.JoinedStr):
                    parts = [re.escape(str(part.value)) if isinstance(part, ast.Constant) else r"[\w.]+" for part in key.values]
                    patterns.append(re.compile("".join(parts)))
    return keys, patterns


def _branches(node: ast.expr) -> list[ast.expr]:
    return [*_branches(node.body), *_branches(node.orelse)] if isinstance(node, ast.IfExp) else [node]


def test_every_text_the_app_asks_for_is_in_the_catalogue():
    keys, patterns = asked_for()
    assert len(keys) > 80, "the search for keys finds too little to mean anything"
    assert not {key for key in keys if key not in catalogue("ui", "en")}
    assert not [pattern.pattern for pattern in patterns if not any(pattern.fullmatch(key) for key in catalogue("ui", "en"))]


def test_the_catalogue_holds_no_text_that_nobody_asks_for():
    keys, patterns = asked_for()
    nodes = [node for path in APP.rglob("*.py") for node in ast.walk(ast.parse(path.read_text("utf-8")))]
    strings = {node.value for node in nodes if isinstance(node, ast.Constant)}
    used = keys | {key for key in catalogue("ui", "en") if key in strings or any(pattern.fullmatch(key) for pattern in patterns)}
    assert not set(catalogue("ui", "en")) - used


@pytest.mark.parametrize("language", OTHERS)
def test_every_language_says_all_that_english_says(language: str):
    assert set(catalogue("ui", language)) == set(catalogue("ui", "en"))


@pytest.mark.parametrize("language", OTHERS)
def test_a_translation_uses_the_placeholders_of_the_english_text(language: str):
    english = catalogue("ui", "en")
    wrong = {key for key, text in catalogue("ui", language).items() if placeholders(text) != placeholders(english[key])}
    assert not wrong


@pytest.mark.parametrize("language", OTHERS)
def test_keys_of_ruleset_messages_are_of_a_known_kind(language: str):
    kinds = {"event", "option", "prompt", "param", "choice", "field", "value", "pool", "odds", "code"}
    assert catalogue("messages", language)
    assert {key.split(":")[0] for key in catalogue("messages", language)} <= kinds


def say(field: str, value: Any) -> str | None:
    return {"c1": "Reed", "c2": "Wick"}.get(value, str(value))


def test_a_message_is_said_with_names_for_ids_and_the_text_that_fits_its_data():
    texts = Texts("zh_TW")
    bold = texts.message("event", "duel.attack", {"by": "c1", "target": "c2", "bold": True}, say)
    plain = texts.message("event", "duel.attack", {"by": "c1", "target": "c2", "bold": False}, say)
    assert bold is not None
    assert plain is not None
    assert "Reed" in bold
    assert "Wick" in bold
    assert bold != plain


def test_a_message_that_lacks_something_is_left_to_the_server():
    texts = Texts("zh_TW")
    assert texts.message("event", "duel.attack", {"by": "c1"}, say) is None
    assert texts.message("event", "duel.attack", {"by": "c1", "target": "c9", "bold": False}, lambda field, value: None) is None
    assert texts.message("event", "nobody.knows", {}, say) is None
    assert Texts("en").message("event", "duel.attack", {"by": "c1", "target": "c2", "bold": False}, say) is None


def test_data_with_braces_in_it_is_data():
    """A hostile name must not become a placeholder of its own."""
    said = Texts("zh_TW").message("event", "duel.out", {"combatant": "x"}, lambda field, value: "{by.__class__} {0}")
    assert said is not None
    assert "{by.__class__} {0}" in said


def test_the_language_comes_from_the_environment():
    assert language_of({"LANG": "zh_TW.UTF-8"}) == "zh_TW"
    assert language_of({"LANG": "zh_HK.UTF-8"}) == "zh_TW"
    assert language_of({"LANG": "de_DE.UTF-8"}) == "en"
    assert language_of({"LANG": "zh_TW.UTF-8", "LC_ALL": "C.UTF-8"}) == "en"
    assert language_of({"DUSTUP_LANGUAGE": "zh_TW", "LC_ALL": "en_US.UTF-8"}) == "zh_TW"
    assert language_of({}) == "en"


def test_a_word_that_only_a_newer_server_knows_is_shown_as_it_is():
    assert Texts("zh_TW")("role.{0}witness") == "{0}witness"


def test_times_read_as_people_say_them():
    texts = Texts()
    assert texts.span(2 * 86_400_000) == "2 days"
    assert texts.span(3_600_000) == "1 hour"
    assert texts.span(-5) == "now"
    assert texts.countdown(249_000) == "4:09"
    assert texts.countdown(-1) == "0:00"
    assert texts.countdown(7_200_000) == "2 hours"
