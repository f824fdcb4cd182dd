"""The map sketch: any scene can be drawn, each zone and each way can be found in it."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.text import Text

from clients.terminal.app.canvas import EAST, NORTH, SOUTH, WEST, Canvas
from clients.terminal.app.sketch import distances, rows_of, sketch

ZONES = [f"z{n}" for n in range(8)]
WAYS = st.lists(st.tuples(st.sampled_from(ZONES), st.sampled_from(ZONES)).filter(lambda way: way[0] != way[1]), max_size=14)


def drawn(zones: list[str], ways: list[tuple[str, str]], width: int = 40) -> Canvas:
    return sketch({zone: (Text(f" {zone} "), [Text(f"in {zone}")]) for zone in zones}, ways, width)


@given(WAYS)
def test_a_way_joins_rows_that_touch(ways: list[tuple[str, str]]):
    """What the drawing rests on: no line ever has to pass a row of boxes."""
    row = {zone: number for number, zones in enumerate(rows_of(ZONES, ways)) for zone in zones}
    assert set(row) == set(ZONES)
    assert all(abs(row[a] - row[b]) <= 1 for a, b in ways)


@given(WAYS, st.integers(20, 100))
def test_every_zone_is_on_the_map_with_what_is_in_it(ways: list[tuple[str, str]], width: int):
    text = "\n".join(row.plain for row in drawn(ZONES, ways, width).text())
    assert all(f" {zone} " in text for zone in ZONES)
    assert all(f"in {zone}" in text for zone in ZONES)


@given(WAYS)
def test_lines_never_end_in_nothing(ways: list[tuple[str, str]]):
    canvas = drawn(ZONES, ways)
    steps = {NORTH: (0, -1, SOUTH), SOUTH: (0, 1, NORTH), EAST: (1, 0, WEST), WEST: (-1, 0, EAST)}
    for y in range(canvas.height):
        for x in range(canvas.width):
            for side, (dx, dy, back) in steps.items():
                if canvas.joined(x, y) & side:
                    assert canvas.joined(x + dx, y + dy) & back, f"a line runs into nothing at {x}, {y}"


def test_lines_can_be_followed_from_box_to_box():
    """A ring of four: each way is one line that starts at one box and ends at the next."""
    text = [row.plain for row in drawn(list("abcd"), [("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")]).text()]
    assert sum(row.count("┬") for row in text) == 4
    assert sum(row.count("┴") for row in text) == 4


def test_boxes_without_ways_have_no_lines_between_them():
    text = "\n".join(row.plain for row in drawn(["a", "b"], []).text())
    assert "┬" not in text
    assert "┴" not in text


def test_a_row_of_neighbours_is_joined_side_by_side():
    text = "\n".join(row.plain for row in drawn(["a", "b", "c"], [("a", "b"), ("a", "c"), ("b", "c")]).text())
    assert "├────┤" in text


def test_a_chain_needs_no_free_rows():
    rows = [row.plain for row in drawn(["a", "b"], [("a", "b")]).text()]
    assert any("┬" in upper and "┴" in lower and upper.index("┬") == lower.index("┴") for upper, lower in pairwise(rows))


def test_wide_characters_keep_the_frame_straight():
    canvas = sketch({"a": (Text(" 磨坊 "), [Text("你好 Reed")])}, [], 24)
    assert {row.cell_len for row in canvas.text()} == {24}


@pytest.mark.parametrize(("start", "expected"), [("a", {"a": 0, "b": 1, "c": 2}), ("d", {"d": 0})])
def test_distances_count_zones_on_the_shortest_way(start: str, expected: dict[str, int]):
    assert distances([("a", "b"), ("b", "c"), ("c", "b")], start) == expected
