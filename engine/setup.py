"""What a session is created from: the body of the create call and the head of a scenario file."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from engine.commands import Id, Label, MaybeId, SettingKey, SettingValue, ZoneSpec
from engine.session import Edge, Role


class Part(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, forbid_unknown_fields=True):
    """Base of the parts of a set-up; a field it does not know is an error, not a surprise later."""


class SeatSetup(Part, frozen=True, kw_only=True):
    id: Id
    name: Label = ""
    role: Role = "player"
    controls: tuple[Id, ...] = ()


class SceneSetup(Part, frozen=True, kw_only=True):
    id: Id
    name: Label = ""
    zones: Annotated[tuple[ZoneSpec, ...], msgspec.Meta(min_length=1, max_length=200)]
    edges: Annotated[tuple[Edge, ...], msgspec.Meta(max_length=2000)] = ()
    blind: tuple[tuple[Id, Id], ...] = ()
    tags: tuple[Label, ...] = ()
    hidden: bool = False


class CombatantSetup(Part, frozen=True, kw_only=True):
    id: Id
    template: Annotated[str, msgspec.Meta(max_length=64)] = ""
    name: Label = ""
    side: Label = ""
    scene: MaybeId = ""
    zone: MaybeId = ""
    hidden: bool = False
    seat: MaybeId = ""
    fields: dict[str, Any] = {}


class Setup(Part, frozen=True, kw_only=True):
    """A new table. `sample` names a ready scene of the ruleset's pack (its combatants, zones and seats), to which the rest is added.

    `encounter` is the id of a scene whose encounter starts at once. `options` are switches of the ruleset by name.
    """

    ruleset: Label
    variant: Label = ""
    options: dict[str, str | int | bool] = {}
    name: Label = ""
    sample: Label = ""
    seats: Annotated[tuple[SeatSetup, ...], msgspec.Meta(max_length=300)] = ()
    scenes: Annotated[tuple[SceneSetup, ...], msgspec.Meta(max_length=50)] = ()
    combatants: Annotated[tuple[CombatantSetup, ...], msgspec.Meta(max_length=500)] = ()
    pools: dict[str, int] = {}
    encounter: MaybeId = ""
    physical: bool = False
    settings: dict[SettingKey, SettingValue] = {}
