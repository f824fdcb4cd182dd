"""Text is measured in cells: wide characters never make a line wider than the screen, and no letter is lost."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.text import Text

from clients.terminal.app.cells import bar, cut, pad, wrap

MIXED = st.text(st.sampled_from("ab c 你好，。é-「」"), max_size=120)


@given(MIXED, st.integers(4, 40))
def test_wrapped_lines_fit_and_hold_every_letter(text: str, width: int):
    lines = wrap(Text(text), width)
    assert all(line.cell_len <= width for line in lines)
    assert "".join(line.plain for line in lines).replace(" ", "") == text.replace(" ", "")


@given(MIXED, st.integers(1, 40))
def test_cut_and_padded_text_has_the_width_asked_for(text: str, width: int):
    assert cell_len(cut(text, width)) <= width
    assert cell_len(pad(text, width)) == width


def test_words_stay_whole_where_they_can():
    assert [line.plain for line in wrap(Text("one two three four"), 9)] == ["one two", "  three", "  four"]


def test_chinese_breaks_between_any_two_characters():
    assert [line.plain for line in wrap(Text("你好世界大家好"), 8, 0)] == ["你好世界", "大家好"]


def test_styles_survive_wrapping():
    lines = wrap(Text.assemble("plain words ", ("bold words here", "bold")), 14)
    assert [span.style for line in lines for span in line.spans] == ["bold"] * len([line for line in lines if line.spans])
    assert sum(len(line.spans) for line in lines) >= 2


def test_a_bar_is_full_empty_or_between_and_never_hides_a_last_point():
    assert bar(8, 8) == "████████"
    assert bar(0, 8) == "░░░░░░░░"
    assert bar(1, 1000).startswith("█")
    assert bar(-3, 8) == bar(0, 8)
    assert bar(20, 8) == bar(8, 8)
    assert bar(1, 0) == ""
