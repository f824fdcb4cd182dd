"""The map panel: one scene as a sketch, with who is where, cover, reach, and how far it is from whoever acts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from rich.text import Text
from textual import events
from textual.binding import Binding, BindingType

from ..show import mine
from ..words import clean
from .cells import wrap
from .lines import LinesView
from .names import Names
from .sketch import distances, sketch, widths

Scene = Mapping[str, Any]


def acting(names: Names, seat: str, scene_id: str) -> str:
    """Whose eyes the distances are measured with: whose turn it is in the scene, else one's own first combatant there; "" nobody."""
    people = names.view.get("combatants", {})
    for encounter in names.view.get("encounters", {}).values():
        if encounter.get("scene") == scene_id and encounter.get("current") in people:
            return str(encounter["current"])
    own = [id for id in people if id in mine(names.view, seat) and people[id].get("scene") == scene_id]
    return own[0] if own else ""


def _ways(scene: Scene) -> list[tuple[str, str]]:
    return [(str(each.get("a")), str(each.get("b"))) for each in scene.get("edges") or [] if isinstance(each, Mapping)]


def _pairs(value: Any) -> list[tuple[str, str]]:
    return [(str(each[0]), str(each[1])) for each in value or [] if isinstance(each, list) and len(each) == 2]


def scene_lines(names: Names, seat: str, scene_id: str, width: int) -> list[Text]:
    """A scene as rows of text, wrapped or cut to `width` cells where it can be."""
    scene = names.view.get("scenes", {}).get(scene_id)
    if scene is None:
        return []
    texts = names.texts
    zones = {str(zone["id"]): zone for zone in scene.get("zones") or [] if isinstance(zone, Mapping) and "id" in zone}
    ways = _ways(scene)
    person = acting(names, seat, scene_id)
    here = str(names.view.get("combatants", {}).get(person, {}).get("zone") or "")
    away = distances(ways, here) if here in zones else {}
    unseen = {b if a == here else a for a, b in _pairs(scene.get("blind")) if here in (a, b)}
    boxes = {}
    room = widths(zones, [(a, b) for a, b in ways if a in zones and b in zones and a != b], width)
    for id, zone in zones.items():
        title, far = _title(id, zone, here), _far(id, zone, names, away, unseen, here)
        inside = _inside(id, zone, scene_id, names, seat, room[id])
        if title.cell_len + far.cell_len <= room[id] - 2:
            title.append_text(far)
        elif far:
            inside.insert(0, far)
        boxes[id] = (title, inside)
    rows = sketch(boxes, ways, width).text()
    rows += [line for note in _notes(scene, zones, person, names) for line in wrap(note, width)]
    elsewhere = [
        _person(id, each, names, seat)
        for id, each in names.view.get("combatants", {}).items()
        if each.get("scene") == scene_id and str(each.get("zone")) not in zones
    ]
    if elsewhere:
        rows += wrap(Text(texts("map.elsewhere") + " ").append_text(Text("  ").join(elsewhere)), width)
    return rows


def _title(id: str, zone: Scene, here: str) -> Text:
    return Text().append(f" {clean(zone.get('name') or id)} ", "bold" + (" reverse" if id == here else ""))


def _far(id: str, zone: Scene, names: Names, away: Mapping[str, int], unseen: set[str], here: str) -> Text:
    """How far a zone is and whether it can be seen from where somebody acts; "" for the place itself."""
    texts = names.texts
    line = Text()
    if here and id != here:
        far = away.get(id)
        line.append(f"{texts('map.far', n=far) if far is not None else texts('map.no_way')} ", "cyan")
        if id in unseen:
            line.append(f"{texts('map.unseen')} ", "yellow")
    if zone.get("hidden"):
        line.append(f"[{texts('card.hidden')}] ", "yellow")
    return line


def _inside(id: str, zone: Scene, scene_id: str, names: Names, seat: str, width: int) -> list[Text]:
    here = [
        (who, each) for who, each in names.view.get("combatants", {}).items() if each.get("scene") == scene_id and each.get("zone") == id
    ]
    lines: list[Text] = []
    for who, each in here:
        word = _person(who, each, names, seat)
        if lines and lines[-1].cell_len + 2 + word.cell_len <= width:
            lines[-1].append("  ").append_text(word)
        else:
            lines.append(word)
    covers = [clean(each.get("name") or each.get("id")) for each in zone.get("covers") or [] if isinstance(each, Mapping)]
    if covers:
        lines.append(Text(names.texts("map.cover", what=names.texts("list.comma").join(covers)), "dim"))
    if zone.get("cost"):
        lines.append(Text(names.texts("map.cost", n=clean(zone["cost"])), "dim"))
    return lines or [Text("")]


def _person(id: str, entity: Scene, names: Names, seat: str) -> Text:
    current = any(each.get("current") == id for each in names.view.get("encounters", {}).values())
    out = bool(entity.get("out"))
    style = "reverse bold" if current else "dim strike" if out else "cyan" if id in mine(names.view, seat) else ""
    mark = "▶" if current else "✗" if out else ""
    text = Text().append(f"{mark}{names.combatant(id)}{'*' if id in mine(names.view, seat) else ''}", style)
    if entity.get("hidden"):
        text.append(f"[{names.texts('card.hidden')}]", "yellow")
    if entity.get("cover"):
        text.append("◖", "yellow")
    return text


def _notes(scene: Scene, zones: Mapping[str, Scene], person: str, names: Names) -> list[Text]:
    """What boxes and lines cannot show: reach, cover taken, ways that cost, zones that cannot see each other."""
    texts = names.texts
    people = names.view.get("combatants", {})

    def called(id: str) -> str:
        return names.combatant(id) if id in people else clean(zones.get(id, {}).get("name") or id)

    notes = []
    near = [f"{called(a)} ↔ {called(b)}" for a, b in _pairs(scene.get("near"))]
    if near:
        notes.append(Text().append(texts("map.reach") + " ", "bold").append(texts("list.comma").join(near)))
    behind = [
        texts("map.behind", who=called(id), what=_cover(zones.get(str(each.get("zone")), {}), str(each["cover"])))
        for id, each in people.items()
        if each.get("cover") and each.get("scene") == scene.get("id")
    ]
    if behind:
        notes.append(Text().append("◖ ", "yellow").append(texts("list.comma").join(behind)))
    dear = [
        f"{called(str(each.get('a')))}–{called(str(each.get('b')))} "
        + ("" if not each.get("cost") else texts("map.cost", n=clean(each["cost"])))
        + (f" [{texts('card.hidden')}]" if each.get("hidden") else "")
        for each in scene.get("edges") or []
        if isinstance(each, Mapping) and (each.get("cost") or each.get("hidden"))
    ]
    if dear:
        notes.append(Text().append(texts("map.ways") + " ", "bold").append(texts("list.comma").join(dear)))
    blind = [f"{called(a)} | {called(b)}" for a, b in _pairs(scene.get("blind"))]
    if blind:
        notes.append(Text().append(texts("map.blind") + " ", "bold").append(texts("list.comma").join(blind)))
    return notes


def _cover(zone: Scene, id: str) -> str:
    found = next((each for each in zone.get("covers") or [] if isinstance(each, Mapping) and each.get("id") == id), {})
    return clean(found.get("name") or id)


class MapView(LinesView):
    """Shows one scene; the brackets and a click on the title row change to the next one."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left_square_bracket", "scene(-1)", show=False),
        Binding("right_square_bracket", "scene(1)", show=False),
    ]

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self._names: Names | None = None
        self._seat = ""
        self.scene = ""

    def look_at(self, names: Names, seat: str) -> None:
        """Draw the scene anew; the first time the one with the fight or with one's own people."""
        self._names, self._seat = names, seat
        scenes = list(names.view.get("scenes", {}))
        if self.scene not in scenes:
            self.scene = _first_scene(names, seat, scenes)
        self._draw()

    def on_resize(self, event: events.Resize) -> None:
        self._draw()

    def action_scene(self, step: int) -> None:
        scenes = list(self._names.view.get("scenes", {})) if self._names else []
        if self.scene in scenes:
            self.scene = scenes[(scenes.index(self.scene) + step) % len(scenes)]
            self._draw()

    def _draw(self) -> None:
        if self._names is None or not self.size.width:
            return
        texts = self._names.texts
        scenes = self._names.view.get("scenes", {})
        title = clean(scenes.get(self.scene, {}).get("name") or texts("map.none"))
        who = acting(self._names, self._seat, self.scene)
        if who:
            title += f" · {texts('map.from', who=self._names.of(who) or who)}"
        if len(scenes) > 1:
            title += f" · {list(scenes).index(self.scene) + 1}/{len(scenes)} [ ]"
        self.border_title = Text(f"{texts('panel.map')}: {title}")
        self.set_lines(scene_lines(self._names, self._seat, self.scene, self.size.width - 1))


def _first_scene(names: Names, seat: str, scenes: list[str]) -> str:
    own = mine(names.view, seat)
    people = names.view.get("combatants", {})
    likely = [str(people[id].get("scene")) for id in people if id in own]
    likely += [str(each.get("scene")) for each in names.view.get("encounters", {}).values()]
    return next((id for id in [*likely, *scenes] if id in scenes), "")
