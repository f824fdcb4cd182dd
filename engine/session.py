"""The session tree: frozen Structs for everything a table holds, and the schema that reads them back from a log.

A session is never changed in place: engine.step writes a new one that shares all that stayed the same. Lists of
entities are read-only mappings by id, everything inside an entity is a scalar, a tuple or another frozen Struct.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, Literal, get_type_hints

import msgspec

ENGINE_VERSION = "0.1.0"
SCHEMA = 1
"""Number of the shape of the kernel's entities; raised, with an upcaster in engine.replay, when a field changes meaning."""

Role = Literal["gm", "player", "spectator"]
Pairs = tuple[tuple[str, str], ...]


class Part(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Base of every frozen value inside an entity."""


class Entity(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Base of everything with an id in the tree."""

    id: str


class Header(Entity, frozen=True, kw_only=True):
    """What a log was written with. Never changes but by an `upgraded` entry."""

    session: str
    ruleset: str
    ruleset_version: str
    variant: str = ""
    options: tuple[tuple[str, str | int | bool], ...] = ()
    packs: tuple[str, ...] = ()
    protocol: int = 1
    engine: str = ENGINE_VERSION
    schema: int = SCHEMA
    ruleset_schema: int = 1
    scheme: str = "sha256-ctr-1"
    created_ms: int = 0


class Stream(Part, frozen=True, kw_only=True):
    """One dice stream in its present dice epoch: `n` rolls were taken so far in all, `first` is the first n of this epoch."""

    index: int = 0
    commitment: str = ""
    n: int = 0
    first: int = 1
    salts: Pairs = ()

    @property
    def closed(self) -> bool:
        """True once a roll was taken in this epoch: no more salt."""
        return self.n >= self.first


class Kept(Part, frozen=True, kw_only=True):
    """Faces of a roll that an undo voided; they serve the same actor's next roll of the same purpose and sides."""

    stream: str
    n: int
    actor: str
    purpose: str
    sides: int
    faces: tuple[int, ...]


class Suspended(Part, frozen=True, kw_only=True):
    """A command that waits for a player to enter physical dice: run again from its start with the faces given so far."""

    by: str
    command: Any
    prompt: str
    faces: tuple[tuple[int, ...], ...] = ()


class Table(Entity, frozen=True, kw_only=True):
    """What belongs to the session as a whole."""

    name: str = ""
    paused: bool = False
    paused_ms: int = 0
    sitting: int = 0
    clock: int = 0
    """Fiction clock, in minutes of the story."""
    physical: bool = False
    open: Stream = Stream()
    hidden: Stream = Stream()
    idents: int = 0
    """How many ids were drawn; ids derive from a secret and this counter, so they tell neither order nor count."""
    kept: tuple[Kept, ...] = ()
    dropped: tuple[tuple[str, int, int], ...] = ()
    """Rolls that an undo with new dice threw away, as (stream, first, last): no later undo brings their faces back."""
    suspended: Suspended | None = None
    settings: Pairs = ()
    """Session settings, for example ("deadline.prompt", "1440") in minutes."""
    last: int = 0
    """The newest version that changed what an undo restores."""

    def setting(self, key: str, default: int = 0) -> int:
        for name, value in self.settings:
            if name == key:
                return int(value)
        return default


class Seat(Entity, frozen=True, kw_only=True):
    """A place at the table. `since` is the version at which its present holder took it: private lines before it stay private."""

    name: str
    role: Role = "player"
    person: str = ""
    since: int = 0
    controls: tuple[str, ...] = ()
    prefs: Pairs = ()

    def preference(self, kind: str) -> str:
        for name, value in self.prefs:
            if name == kind:
                return value
        return "ask"


class Combatant(Entity, frozen=True, kw_only=True):
    """A character, creature, robot, model or targetable object. Rulesets add their own fields in a subclass."""

    name: str
    kind: str = "character"
    side: str = ""
    scene: str = ""
    zone: str = ""
    cover: str = ""
    """Id of the cover of its zone it stands behind, or ""."""
    hidden: bool = False
    out: bool = False
    """Out of the fight: takes no turns."""
    reach: int = 1
    """Zones away it can touch: 0 nothing, 1 only what is near it in its own zone."""
    template: str = ""


class Cover(Part, frozen=True, kw_only=True):
    """Something to stand behind. `hides` lists the hit locations it hides ("*" for all: the target cannot be chosen at all)."""

    id: str
    name: str
    hides: tuple[str, ...] = ()
    value: int = 0


class Zone(Part, frozen=True, kw_only=True):
    """A place in a scene, as wide as a spear's throw; `cost` is what leaving it takes, in the ruleset's own unit."""

    id: str
    name: str
    covers: tuple[Cover, ...] = ()
    cost: int = 0
    tags: tuple[str, ...] = ()
    hidden: bool = False


class Edge(Part, frozen=True, kw_only=True):
    """A way between two zones. A hidden one is known to the GM alone; `cost` is what crossing it takes."""

    a: str
    b: str
    cost: int = 0
    hidden: bool = False


class Scene(Entity, frozen=True, kw_only=True):
    """Zones and the ways between them. `blind` lists pairs of zones that cannot see each other; `near` pairs of combatants in reach."""

    name: str
    zones: tuple[Zone, ...] = ()
    edges: tuple[Edge, ...] = ()
    blind: tuple[tuple[str, str], ...] = ()
    near: tuple[tuple[str, str], ...] = ()
    tags: tuple[str, ...] = ()
    hidden: bool = False

    def zone(self, zone_id: str) -> Zone | None:
        for zone in self.zones:
            if zone.id == zone_id:
                return zone
        return None


class Encounter(Entity, frozen=True, kw_only=True):
    """A fight in a scene. The ring points at combatants by id, never by position (engine.turns)."""

    scene: str
    round: int = 1
    order: tuple[str, ...] = ()
    """Who takes turns, in the order of this round."""
    initiative: tuple[tuple[str, int], ...] = ()
    current: str = ""
    acted: tuple[str, ...] = ()
    """Who had a turn this round, or gave it up."""
    turn: int = 0
    """Counts turns from 1; a deadline names the turn it is for."""
    begun: bool = False
    """True once the current combatant did something in its turn: then it can no longer be delayed."""
    deadline: int | None = None
    pending: tuple[Any, ...] = ()


class Helper(Part, frozen=True, kw_only=True):
    """Somebody who helps with a test, and how (the ruleset's own record)."""

    combatant: str
    how: Any = None


class Test(Entity, frozen=True, kw_only=True):
    """A test with a life: proposed, framed, joined, rolled, spent. `frame` and `result` are the ruleset's own records."""

    __test__ = False  # pytest would otherwise try to collect it

    scene: str = ""
    by: str = ""
    label: str = ""
    status: Literal["proposed", "framed", "rolled", "done"] = "proposed"
    hidden: bool = False
    helpers: tuple[Helper, ...] = ()
    frame: Any = None
    result: Any = None
    pending: tuple[Any, ...] = ()


class Pool(Entity, frozen=True, kw_only=True):
    """Points that a group shares. `owner` is "group" or "gm"; `cap` None is no cap."""

    name: str
    owner: str = "group"
    value: int = 0
    cap: int | None = None
    hidden: bool = False


class Choice(Part, frozen=True, kw_only=True):
    """A legal answer."""

    value: str
    text: str


class Ints(Part, frozen=True, kw_only=True):
    """Numbers that go with an answer: how many, and between which bounds. `choice` names the answer that needs them ("" every one)."""

    least: int
    most: int
    low: int
    high: int
    choice: str = ""


class Prompt(Entity, frozen=True, kw_only=True):
    """A question the engine waits on. `owner` is the (kind, id) of the entity whose pending stack it belongs to."""

    to: str
    owner: tuple[str, str]
    kind: str
    """Preference key: a seat may answer every prompt of a kind in advance."""
    type: str
    text: str
    choices: tuple[Choice, ...] = ()
    ints: Ints | None = None
    default: str = ""
    deadline: int | None = None
    group: str = ""
    secret: bool = False
    """Answered unseen: others learn that there is an answer, not which, until the group is complete."""
    combatant: str = ""
    data: tuple[tuple[str, Any], ...] = ()
    answer: str | None = None
    given: tuple[int, ...] = ()


class Session(msgspec.Struct, frozen=True, kw_only=True):
    """A table at one version. Read-only all the way down."""

    header: Header
    table: Table
    epoch: str = ""
    v: int = 0
    stamp: str = ""
    seats: Mapping[str, Seat] = MappingProxyType({})
    combatants: Mapping[str, Any] = MappingProxyType({})
    scenes: Mapping[str, Scene] = MappingProxyType({})
    encounters: Mapping[str, Encounter] = MappingProxyType({})
    pools: Mapping[str, Pool] = MappingProxyType({})
    tests: Mapping[str, Test] = MappingProxyType({})
    prompts: Mapping[str, Prompt] = MappingProxyType({})


KINDS = ("seats", "combatants", "scenes", "encounters", "pools", "tests", "prompts")
"""The kinds that hold many entities by id. `table` and `header` hold one each."""

RESTORED = frozenset({"combatants", "scenes", "encounters", "pools", "tests", "prompts"})
"""The kinds an undo restores (with the fiction clock)."""

KERNEL_TYPES: dict[str, type[Entity]] = {
    "header": Header,
    "table": Table,
    "seats": Seat,
    "combatants": Combatant,
    "scenes": Scene,
    "encounters": Encounter,
    "pools": Pool,
    "tests": Test,
    "prompts": Prompt,
}


class Schema:
    """How one ruleset's entities are read back from plain maps: a type per field, the ruleset's own records included.

    `types` replaces entity types (usually "combatants"); `records` gives the type of fields the kernel leaves open, by
    (kind, field): ("encounters", "pending"), ("tests", "pending"), ("tests", "frame"), ("tests", "result").
    """

    def __init__(self, types: Mapping[str, type[Entity]], records: Mapping[tuple[str, str], Any]) -> None:
        self.types: dict[str, type[Entity]] = {**KERNEL_TYPES, **types}
        self.fields: dict[str, dict[str, Any]] = {}
        for kind, entity_type in self.types.items():
            hints = get_type_hints(entity_type, include_extras=True)  # with the bounds of numbers and texts
            fields = {name: hints[name] for name in entity_type.__struct_fields__}
            for (of, name), record in records.items():
                if of == kind:
                    fields[name] = record
            self.fields[kind] = fields

    def convert(self, kind: str, name: str, raw: Any) -> Any:
        """One field's value from its plain form. Raises msgspec.ValidationError, or KeyError for an unknown field."""
        return msgspec.convert(raw, self.fields[kind][name])

    def values(self, kind: str, raw: Mapping[str, Any]) -> dict[str, Any]:
        fields = self.fields[kind]
        convert = msgspec.convert
        return {name: convert(value, fields[name]) for name, value in raw.items()}

    def build(self, kind: str, raw: Mapping[str, Any]) -> Any:
        """A whole entity from its plain form."""
        return self.types[kind](**self.values(kind, raw))

    def patch(self, kind: str, entity: Any, raw: Mapping[str, Any]) -> Any:
        """`entity` with some fields replaced from their plain form."""
        return msgspec.structs.replace(entity, **self.values(kind, raw))


def freeze(entities: Mapping[str, Any] | Iterable[tuple[str, Any]]) -> Mapping[str, Any]:
    """A read-only mapping by id."""
    return MappingProxyType(dict(entities))
