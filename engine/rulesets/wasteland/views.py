"""What of a survivor is shown at which grade: `full` to its controllers and the GM, `open` sheets of player characters, `public` else.

Players know of a creature what they see of it: where it is, how it looks, how hard it is to hit (they are told the difficulty before
they buy dice). HP, Damage Resistance, attributes and ammunition are not among it, nor is anything they could be derived from.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import msgspec

from engine.rulesets.wasteland import derived
from engine.rulesets.wasteland.model import Item, Survivor, Weapon
from engine.sight import Sight

SEEN = ("id", "name", "kind", "side", "scene", "zone", "cover", "out", "prone", "dead", "unconscious", "body_type")
OPEN = ("tier", "level", "hp", "luck", "radiation", "dying")


def grade(combatant: Survivor, sight: Sight) -> Hashable | None:
    """How much of a survivor a sight sees; None nothing."""
    if sight.role == "gm" or combatant.id in sight.controls:
        return "full"
    if combatant.hidden:
        return None
    return "open" if combatant.tier == "pc" else "public"


def view(s: Survivor, seen: Hashable) -> dict[str, Any]:
    """The fields shown, in plain form."""
    shown: dict[str, Any] = {name: getattr(s, name) for name in SEEN}
    shown["stunned"] = s.stunned or s.turn.stunned
    shown["frozen"] = s.frozen or s.turn.frozen
    shown["looks"] = derived.condition(s)
    shown["defense"] = derived.defense(s)
    # A concealed weapon is found by a search alone (FACTS A14).
    known = seen != "public"
    shown["held"] = [
        {"id": one.id, "name": one.name, "kind": one.kind}
        for one in s.weapons
        if one.drawn and (known or not derived.has(one, "concealed"))
    ]
    things: tuple[Weapon | Item, ...] = (*s.weapons, *s.items)
    dropped = [{"id": one.id, "name": one.name, "zone": one.at} for one in things if one.at]
    if dropped:
        shown["dropped"] = dropped
    if s.burns:
        shown["burning"] = True
    shown["injuries"] = [{"at": one.at, "kind": one.kind, "treated": one.treated} for one in s.injuries]
    if seen == "public":
        return shown
    for name in OPEN:
        shown[name] = getattr(s, name)
    shown["max_hp"] = derived.max_hp(s)
    shown["max_luck"] = derived.max_luck(s)
    if seen == "open":
        return shown
    shown.update(
        hidden=s.hidden,
        reach=s.reach,
        initiative=derived.initiative(s),
        unaware=s.unaware,
        turn=msgspec.structs.asdict(s.turn),
        tags=list(s.tags),
        timing=s.timing,
        xp=s.xp,
    )
    for name in ("leader", "mark", "ready", "promise", "slept", "trap"):
        value = getattr(s, name)
        if value not in ("", None):
            shown[name] = msgspec.to_builtins(value)
    if s.beast is None:
        shown["special"] = msgspec.structs.asdict(s.special)
        shown["skills"] = msgspec.to_builtins(s.skills)
    else:
        shown["beast"] = msgspec.structs.asdict(s.beast)
    for name in (
        "weapons",
        "ammo",
        "apparel",
        "dr",
        "broken",
        "perks",
        "hindrances",
        "immune",
        "items",
        "burns",
        "boosts",
        "ailments",
        "used",
    ):
        values = getattr(s, name)
        if values:
            shown[name] = msgspec.to_builtins(values)
    return shown
