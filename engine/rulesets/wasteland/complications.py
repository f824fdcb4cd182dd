"""Complications: the GM describes each one, takes one from the list, or banks it as 1 AP (core_rules_2d20, "Complications").

They come after the result and after what was bought with it; they never take a success away.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msgspec.structs import replace

from engine.rulesets import Answered
from engine.rulesets.wasteland import pools
from engine.rulesets.wasteland.model import Hindrance, Survivor, Weapon
from engine.rulesets.wasteland.pending import Trouble
from engine.rulesets.wasteland.switches import switch
from engine.step import Step

Owner = tuple[str, str]


def ask(step: Step, owner: Owner, by: str, of: tuple[str, ...], *, skill: str, weapon: str = "", test: str = "") -> bool:
    """Put each complication to the GM (`of`: who rolled it). False when there is none, and nothing waits."""
    gm = next(iter(step.gms()), "")
    if not of:
        return False
    asked = tuple(
        step.ask(
            owner,
            gm or step.by,
            kind="complication",
            type="wasteland.complication?",
            text=f"{step.name(one)} rolled a complication. What happens?",
            choices=choices(step, one, skill, weapon if one == by else ""),
            default="describe",
            always="bank" if _bankable(step, one) else "describe",
            never="describe",
            combatant=one,
        )
        for one in of
        if one in step.combatants
    )
    step.push(owner, Trouble(prompts=asked, by=by, skill=skill, weapon=weapon, test=test, of=of))
    return True


def _bankable(step: Step, combatant_id: str) -> bool:
    s = step.combatants.get(combatant_id)
    return s is not None and pools.pool_of(s) == pools.GROUP and bool(switch(step, "complication_to_gm_ap"))


def choices(step: Step, combatant_id: str, skill: str, weapon_id: str) -> list[tuple[str, str]]:
    """The legal answers for one complication."""
    s: Survivor = step.combatants[combatant_id]
    found = [("describe", "Describe it; the rules change nothing")]
    if _bankable(step, combatant_id):
        found.append(("bank", "Take 1 Action Point for the GM instead"))
    if skill:
        found.append(("harder", f"The next {skill.replace('_', ' ')} test of {s.name} is 1 harder"))
    if not s.prone:
        found.append(("stumble", f"{s.name} falls prone"))
    weapon = next((one for one in s.weapons if one.id == weapon_id), None)
    if weapon is not None and weapon.drawn and weapon.kind not in ("natural", "ranged_natural", "unarmed"):
        found.append(("fumble", f"{weapon.name} slips from the hand"))
        if weapon.ammo and any(one.id == weapon.ammo and one.count for one in s.ammo):
            found.append(("waste", "One more shot is lost"))
    return found


def settled(step: Step, record: Trouble, answers: tuple[Answered, ...]) -> None:
    """The GM has said what each complication does."""
    for answer in answers:
        s = step.combatants.get(answer.combatant)
        if s is None:
            continue
        CONSEQUENCES[answer.choice](step, s, record)


def _tell(step: Step, s: Survivor, what: str, text: str, **data: Any) -> None:
    step.about(s.id, "wasteland.complication", text, combatant=s.id, what=what, **data)


def _describe(step: Step, s: Survivor, record: Trouble) -> None:
    _tell(step, s, "describe", f"Something goes wrong for {s.name}; the GM tells what.")


def _bank(step: Step, s: Survivor, record: Trouble) -> None:
    pools.gain_gm(step, 1)
    _tell(step, s, "bank", f"The GM takes 1 Action Point instead of a complication for {s.name}.", ap=1)


def _harder(step: Step, s: Survivor, record: Trouble) -> None:
    hindrance = Hindrance(id=step.ident("h"), amount=1, skill=record.skill, once=True, text="complication")  # type: ignore[arg-type]
    step.change("combatants", s.id, hindrances=(*s.hindrances, hindrance))
    _tell(step, s, "harder", f"{s.name}'s next {record.skill.replace('_', ' ')} test is 1 harder.", skill=record.skill)


def _stumble(step: Step, s: Survivor, record: Trouble) -> None:
    step.change("combatants", s.id, prone=True)
    _tell(step, s, "stumble", f"{s.name} falls prone.")


def _fumble(step: Step, s: Survivor, record: Trouble) -> None:
    def dropped(weapon: Weapon) -> Weapon:
        return replace(weapon, drawn=False) if weapon.id == record.weapon else weapon

    step.change("combatants", s.id, weapons=tuple(dropped(one) for one in s.weapons))
    _tell(step, s, "fumble", f"A weapon slips from {s.name}'s hand.", weapon=record.weapon)


def _waste(step: Step, s: Survivor, record: Trouble) -> None:
    weapon = next((one for one in s.weapons if one.id == record.weapon), None)
    if weapon is not None:
        step.change(
            "combatants",
            s.id,
            ammo=tuple(replace(one, count=max(one.count - 1, 0)) if one.id == weapon.ammo else one for one in s.ammo),
        )
    _tell(step, s, "waste", f"{s.name} loses one more shot.", weapon=record.weapon)


CONSEQUENCES: Mapping[str, Callable[[Step, Survivor, Trouble], None]] = {
    "describe": _describe,
    "bank": _bank,
    "harder": _harder,
    "stumble": _stumble,
    "fumble": _fumble,
    "waste": _waste,
}
