"""Growing: experience for foes, rising a level, and making an NPC a greater one than it was (FACTS A11)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from engine.rejected import Rejected
from engine.rulesets.wasteland import derived, perks
from engine.rulesets.wasteland.commands import GmPromote, GmReward, LevelUp
from engine.rulesets.wasteland.model import Perk, Survivor
from engine.step import Step

TIMES: Mapping[str, int] = {"mighty": 2, "notable": 2, "legendary": 3, "major": 3}
MOST_RANK = 6
CREATURES = ("normal", "mighty", "legendary", "minion")
PEOPLE = ("normal", "notable", "major")


def reward_for(foe: Survivor) -> int:
    """Experience for overcoming somebody: by level, times two or three for the great, a third for minions."""
    base = 10 + 7 * (foe.level - 1) if foe.level < 8 else 60 + 7 * (foe.level - 8)
    return base // 3 if foe.tier == "minion" else base * TIMES.get(foe.tier, 1)


def needed(level: int) -> int:
    """Experience in all with which a level is left behind: 100, 300, 600 ..."""
    return level * (level + 1) // 2 * 100


def reward(step: Step, command: GmReward) -> None:
    """The GM gives each of them experience: for these foes, and as much as is said."""
    amount = command.amount + sum(reward_for(step.combatant(one)) for one in command.foes)
    for one in dict.fromkeys(command.combatants):
        s: Survivor = step.combatant(one)
        step.change("combatants", s.id, xp=s.xp + amount)
        step.about(s.id, "wasteland.xp", f"{s.name} gains {amount} experience.", combatant=s.id, amount=amount, xp=s.xp + amount)


def level_up(step: Step, command: LevelUp) -> None:
    """A level more: a hit point (by formula), a skill rank, a perk (or a rank of one). Raises Rejected."""
    s: Survivor = step.combatant(command.combatant)
    if not step.controls(s.id):
        raise Rejected("not_yours", f"{s.name} is not yours to command.", combatant=s.id)
    if s.beast is not None:
        raise Rejected("illegal_choice", f"{s.name} learns nothing.", combatant=s.id)
    wanted = needed(s.level)
    if s.xp < wanted:
        raise Rejected("cannot_pay", f"Level {s.level + 1} takes {wanted} experience.", pool="xp", cost=wanted, value=s.xp)
    rank = derived.rank(s, command.skill)
    if not hasattr(s.skills, command.skill) or rank >= MOST_RANK:
        raise Rejected("limit", f"A skill has at most rank {MOST_RANK}.", field="skill", limit=MOST_RANK)
    fields: dict[str, Any] = {"level": s.level + 1, "skills": replace(s.skills, **{command.skill: rank + 1})}
    if command.perk:
        if command.perk not in perks.PERKS:
            raise Rejected("unknown_id", f"There is no perk '{command.perk}'.", what="perk", given=command.perk, known=sorted(perks.PERKS))
        had = next((one for one in s.perks if one.id == command.perk), None)
        if had is None:
            fields["perks"] = (*s.perks, Perk(id=command.perk))
        else:
            fields["perks"] = tuple(replace(one, rank=one.rank + 1) if one is had else one for one in s.perks)
    before = derived.max_hp(s)
    s = step.change("combatants", s.id, **fields)
    if not s.dying and not s.dead:
        gained = derived.max_hp(s) - before
        s = step.change("combatants", s.id, hp=min(s.hp + max(gained, 0), derived.max_hp(s)))
    step.about(s.id, "wasteland.level", f"{s.name} rises to level {s.level}.", combatant=s.id, level=s.level)


def promote(step: Step, command: GmPromote) -> None:
    """The GM makes an NPC greater: a creature gains 2 body and mind, a person attributes and tag skills; what follows is derived."""
    s: Survivor = step.combatant(command.combatant)
    ladder = CREATURES if s.beast is not None else PEOPLE
    if s.dead or s.tier not in ladder or command.tier not in ladder or s.tier == command.tier:
        raise Rejected("illegal_choice", f"{s.name} cannot be made {command.tier}.", known=list(ladder))
    fields: dict[str, Any] = {"tier": command.tier}
    if s.beast is not None and command.tier == "legendary":
        fields["beast"] = replace(s.beast, body=s.beast.body + 2, mind=s.beast.mind + 2)
    if command.special is not None and s.beast is None:
        fields["special"] = command.special
    if command.tags:
        fields["tags"] = tuple(dict.fromkeys((*s.tags, *command.tags)))
    s = step.change("combatants", s.id, **fields)
    step.change("combatants", s.id, hp=derived.max_hp(s), luck=derived.max_luck(s), dying=False, unconscious=False)
    step.whisper("wasteland.promoted", f"{s.name} is {command.tier} now.", s.id, combatant=s.id, tier=command.tier)
