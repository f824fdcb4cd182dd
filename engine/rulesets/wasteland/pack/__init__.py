"""The starter pack: three original scenes, six ready characters, people, beasts and machines to meet, and what they carry, as data.

The file (starter.json) is part of the package and is read once. Every entry is checked against the types it is made for.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files
from typing import Any

import msgspec

from engine.commands import ZoneSpec
from engine.rejected import unknown
from engine.session import Edge


class Plain(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Base of what the file holds."""


class Template(Plain, frozen=True):
    """A combatant to spawn: the ids of what it carries, and its own fields."""

    fields: dict[str, Any]
    weapons: tuple[str, ...] = ()
    apparel: tuple[str, ...] = ()
    items: tuple[str, ...] = ()


class Placed(Plain, frozen=True):
    id: str
    template: str
    zone: str
    cover: str = ""
    side: str = ""


class SampleSeat(Plain, frozen=True):
    id: str
    name: str
    controls: tuple[str, ...] = ()


class Sample(Plain, frozen=True):
    """A ready table: a scene, who sits at it, and who stands where."""

    scene: str
    name: str
    zones: tuple[ZoneSpec, ...]
    edges: tuple[Edge, ...]
    seats: tuple[SampleSeat, ...]
    combatants: tuple[Placed, ...]
    blind: tuple[tuple[str, str], ...] = ()
    tags: tuple[str, ...] = ()


class Pack(Plain, frozen=True):
    weapons: dict[str, dict[str, Any]]
    apparel: dict[str, dict[str, Any]]
    items: dict[str, dict[str, Any]]
    templates: dict[str, Template]
    samples: dict[str, Sample]


@lru_cache(maxsize=1)
def starter() -> Pack:
    """The pack. Raises msgspec.ValidationError when the file does not hold together (a test loads every entry)."""
    return msgspec.json.decode(files(__package__).joinpath("starter.json").read_bytes(), type=Pack)


def template(name: str) -> Mapping[str, Any]:
    """The fields of a template, with what it carries written out. Raises Rejected("unknown_id")."""
    pack = starter()
    found = pack.templates.get(name)
    if found is None:
        raise unknown("template", name, sorted(pack.templates))
    return {
        **found.fields,
        "weapons": [{"id": one, **pack.weapons[one]} for one in found.weapons],
        "apparel": [{"id": one, **pack.apparel[one]} for one in found.apparel],
        "items": [{"id": one, **pack.items[one]} for one in found.items],
        "template": name,
    }


def sample(name: str) -> Sample:
    """A ready table. Raises Rejected("unknown_id")."""
    pack = starter()
    if name not in pack.samples:
        raise unknown("sample", name, sorted(pack.samples))
    return pack.samples[name]
