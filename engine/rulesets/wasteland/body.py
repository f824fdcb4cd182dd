"""What injuries and states do to a body: who can act at all, which arms hold what, who walks, and what falls out of a hand.

combat_rules_2d20, "Critical Hits and Injuries", "Dying".
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from engine import zones
from engine.rulesets.wasteland.derived import has
from engine.rulesets.wasteland.model import Survivor, Weapon
from engine.rulesets.wasteland.tables import LOCATION_KINDS
from engine.session import Session
from engine.step import Step

MAIN_ARM: Mapping[str, str] = {"person": "armR", "hover_robot": "arm1"}
"""The arm that holds a weapon unless the weapon says otherwise; bodies without arms hold nothing."""
HANDLESS = frozenset({"natural", "ranged_natural"})


def able(s: Survivor) -> bool:
    """Whether somebody can act: neither dead, dying nor unconscious."""
    return not (s.out or s.dying or s.unconscious)


def is_robot(s: Survivor) -> bool:
    return s.kind == "robot" or s.body_type == "hover_robot"


def suffers(s: Survivor, kind: str) -> bool:
    """Whether an untreated injury of a kind (arm, leg, torso, head) hampers."""
    return any(one.kind == kind and not one.treated for one in s.injuries) if s.injuries else False


def lame_arms(s: Survivor) -> frozenset[str]:
    """The arms that cannot be used."""
    return frozenset(one.at for one in s.injuries if one.kind == "arm" and not one.treated)


def arms(s: Survivor) -> tuple[str, ...]:
    """The arms of a body."""
    return tuple(at for at, kind in LOCATION_KINDS[s.body_type].items() if kind == "arm")


def has_free_arm(s: Survivor) -> bool:
    """Whether an arm is left to work with; bodies without arms do what they do anyway."""
    every = arms(s)
    return not every or not s.injuries or any(one not in lame_arms(s) for one in every)


def arm_of(s: Survivor, weapon: Weapon) -> str:
    """The arm that holds a weapon, "" for none."""
    return "" if weapon.kind in HANDLESS else weapon.arm or MAIN_ARM.get(s.body_type, "")


def why_no_arm(s: Survivor, weapon: Weapon, *, one_handed: bool) -> str:
    """Why injured arms keep somebody from using a weapon; "" when they do not."""
    if not s.injuries or weapon.kind in HANDLESS:
        return ""
    lame = lame_arms(s)
    if not lame:
        return ""
    if weapon.kind == "unarmed" and not weapon.arm:
        return "" if has_free_arm(s) else f"{s.name} has no arm to strike with."
    if arm_of(s, weapon) in lame:
        return f"{s.name} cannot use the arm that holds {weapon.name}."
    if has(weapon, "two_handed") and not one_handed:
        return f"{weapon.name} takes two hands, and {s.name} has not two."
    return ""


def dropped(s: Survivor, at: str) -> tuple[Weapon, ...]:
    """What somebody carries after an arm gave way: what it held lies in the zone."""

    def falls(one: Weapon) -> bool:
        if not one.drawn or one.kind == "unarmed" or one.kind in HANDLESS:
            return False
        return arm_of(s, one) == at or has(one, "two_handed") > 0

    return tuple(replace(one, drawn=False, at=s.zone) if falls(one) else one for one in s.weapons)


def may_help(tree: Step | Session, helper: Survivor, ally: Survivor) -> bool:
    """Whether a helper can lend a hand: able, and not concealed beside an ally who is not, since a roll names all who take part."""
    return able(helper) and (not zones.concealed(tree, helper) or zones.concealed(tree, ally))


def stands_by(tree: Step | Session, helper: Survivor, ally_id: str) -> bool:
    """Whether this one promised to assist the ally's next test, and can (Assist)."""
    ally = tree.combatants.get(ally_id)
    return helper.promise is not None and helper.promise.ally == ally_id and ally is not None and may_help(tree, helper, ally)
