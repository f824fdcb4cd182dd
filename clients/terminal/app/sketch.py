"""A sketch of a scene: zones as boxes in rows, ways as lines between them. Any graph of zones can be drawn.

Rows are distances from the first zone, so a way leads to the next row at most, or stays in its own.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from rich.text import Text

from .canvas import Canvas

Way = tuple[str, str]
Ways = Sequence[Way]
Zones = Mapping[str, tuple[Text, list[Text]]]
"""By id: a title, and lines for the inside."""

NARROWEST = 16
BESIDE = 4
"""Columns between two boxes of a row."""


@dataclass
class _Box:
    x: int
    width: int
    y: int = 0

    def column(self, wanted: int, taken: set[int]) -> int:
        """A free column of its edge, as near to the wanted one as can be."""
        inside = range(self.x + 1, self.x + self.width - 1)
        free = [x for x in inside if x not in taken] or list(inside)
        return min(free, key=lambda x: (abs(x - wanted), x))

    @property
    def middle(self) -> int:
        return self.x + self.width // 2


@dataclass(frozen=True)
class _Line:
    """A way below a row: from column `x` of its upper box to column `to` of another, down to the next row or `around` in the same."""

    x: int
    to: int
    around: bool


def distances(ways: Iterable[Way], start: str) -> dict[str, int]:
    """Zones crossed on the shortest way from `start` to each zone that can be reached."""
    beside: dict[str, list[str]] = defaultdict(list)
    for a, b in ways:
        beside[a].append(b)
        beside[b].append(a)
    found = {start: 0}
    queue = deque([start])
    while queue:
        zone = queue.popleft()
        for other in beside[zone]:
            if other not in found:
                found[other] = found[zone] + 1
                queue.append(other)
    return found


def rows_of(zones: Iterable[str], ways: Ways) -> list[list[str]]:
    """The zones in rows; within a row they stand near those above that they lead to."""
    rows: list[list[str]] = []
    left = list(dict.fromkeys(zones))
    while left:
        away = distances(ways, left[0])
        part: list[list[str]] = [[] for _ in range(max(far for zone, far in away.items() if zone in left) + 1)]
        for zone in left:
            if zone in away:
                part[away[zone]].append(zone)
        for upper, row in pairwise(part):
            row.sort(key=lambda zone: _middle_above(zone, upper, ways))
        rows += part
        left = [zone for zone in left if zone not in away]
    return rows


def _middle_above(zone: str, upper: list[str], ways: Ways) -> float:
    above = [upper.index(b if a == zone else a) for a, b in ways if zone in (a, b) and (b if a == zone else a) in upper]
    return sum(above) / len(above) if above else 0.0


def sketch(zones: Zones, ways: Ways, width: int) -> Canvas:
    """Draw the zones and the ways, at most `width` columns wide where that can be."""
    known = list(dict.fromkeys((a, b) for a, b in ways if a in zones and b in zones and a != b))
    rows = rows_of(zones, known)
    boxes = {zone: box for row in rows for zone, box in _across(row, width).items()}
    canvas = Canvas()
    y = 0
    for at, row in enumerate(rows):
        height = max(len(zones[zone][1]) for zone in row) + 2
        for zone in row:
            boxes[zone].y = y
            _draw(canvas, boxes[zone], *zones[zone], height)
        for left, right in pairwise(row):
            if (left, right) in known or (right, left) in known:
                canvas.horizontal(y + 1, boxes[left].x + boxes[left].width - 1, boxes[right].x)
        edge = y + height - 1
        lines = _lines_below(row, rows[at + 1] if at + 1 < len(rows) else [], known, boxes)
        tracks = _tracks(lines)
        y = edge + len(tracks) + 1
        for line in lines:
            track = next((number for number, on_it in enumerate(tracks, edge + 1) if line in on_it), edge)
            _connect(canvas, line, edge, track, y)
    return canvas


def widths(zones: Iterable[str], ways: Ways, width: int) -> dict[str, int]:
    """How many columns are free inside each zone's box."""
    return {zone: _room(row, width) - 2 for row in rows_of(zones, ways) for zone in row}


def _room(row: list[str], width: int) -> int:
    return max((width - BESIDE * (len(row) - 1)) // len(row), NARROWEST)


def _across(row: list[str], width: int) -> dict[str, _Box]:
    room = _room(row, width)
    return {zone: _Box(place * (room + BESIDE), room) for place, zone in enumerate(row)}


def _draw(canvas: Canvas, box: _Box, title: Text, inside: list[Text], height: int) -> None:
    canvas.box(box.x, box.y, box.width, height)
    for at, (line, room) in enumerate([(title, box.width - 4), *((line, box.width - 2) for line in inside)]):
        short = line.copy()
        short.truncate(room, overflow="ellipsis")
        canvas.write(box.x + (1 if at else 2), box.y + at, short)


def _lines_below(row: list[str], below: list[str], ways: Ways, boxes: Mapping[str, _Box]) -> list[_Line]:
    """The ways between a row and the next one, and those around between boxes of a row that are no neighbours."""
    taken: set[int] = set()
    found = []
    for first, second in ways:
        a, b = (first, second) if first in row else (second, first)
        around = a in row and b in row
        if a not in row or not (b in below or (around and abs(row.index(a) - row.index(b)) > 1)):
            continue
        upper, other = boxes[a], boxes[b]
        narrow = min(upper, other, key=lambda box: box.width)
        both = range(max(upper.x, other.x) + 1, min(upper.x + upper.width, other.x + other.width) - 1)
        straight = [] if around else [x for x in both if x not in taken]
        if straight:
            x = to = min(straight, key=lambda x: abs(x - narrow.middle))
        else:
            x = upper.column(other.middle, taken)
            to = other.column(x, {*taken, x})
        taken |= {x, to}
        found.append(_Line(x, to, around))
    return found


def _tracks(lines: list[_Line]) -> list[list[_Line]]:
    """The lines on rows of their own, as few as can be: lines that share a row never touch. Straight ones need no row."""
    tracks: list[list[_Line]] = []
    for line in sorted((line for line in lines if line.x != line.to), key=lambda each: min(each.x, each.to)):
        for track in tracks:
            if max(max(each.x, each.to) for each in track) < min(line.x, line.to):
                track.append(line)
                break
        else:
            tracks.append([line])
    return tracks


def _connect(canvas: Canvas, line: _Line, edge: int, track: int, next_edge: int) -> None:
    if line.x == line.to:
        canvas.vertical(line.x, edge, next_edge)
        return
    canvas.vertical(line.x, edge, track)
    canvas.horizontal(track, min(line.x, line.to), max(line.x, line.to))
    canvas.vertical(line.to, edge if line.around else track, track if line.around else next_edge)
