"""Dice pools of d10: luck dice, bonus dice, successes, re-rolls (seeds/special_d10.txt). The one place where a pool is built and thrown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from engine import odds as o
from engine.rejected import Rejected
from engine.rulesets.skirmish.model import Die, Model, Throw
from engine.rulesets.skirmish.switches import switch
from engine.session import Ints, Part
from engine.talk import fact

if TYPE_CHECKING:
    from engine.session import Session
    from engine.step import Step

SIDES = 10


class Pool(Part, frozen=True, kw_only=True):
    """A pool to be thrown: how many of its dice are luck dice and how many regular, against which value."""

    value: int
    luck: int
    regular: int


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """What a throw came to. `critical` is true when a luck die succeeded."""

    hits: int
    luck_hits: int
    told: dict[str, Any]

    @property
    def critical(self) -> bool:
        return self.luck_hits > 0


def build(tree: Step | Session, by: Model, pool: str, *, bonus: int = 0, lucky: bool = True, unlucky: bool = False) -> Pool:
    """The pool of a test like "4P" ("Dice", "Lucky Rolls", "Unlucky Roll").

    Luck dice replace dice of the initial pool, as many as the model's Luck and no more than there are; whether dice added from
    elsewhere belong to it is the switch luck_pool. An unlucky roll has neither luck nor added dice.
    """
    base = int(pool[:-1])
    value = by.special.value(pool[-1])
    if unlucky:
        return Pool(value=value, luck=0, regular=base)
    initial = base + bonus if switch(tree, "luck_pool") == "total" else base
    luck = min(by.special.L, initial) if lucky else 0
    return Pool(value=value, luck=luck, regular=base + bonus - luck)


def throw(step: Step, by: Model, pool: Pool, purpose: str, *, rights: int = 0, hidden: bool = False) -> Throw:
    """Throw a pool: luck dice first, all as one roll."""
    rolled = step.roll(pool.luck + pool.regular, SIDES, purpose=purpose, actor=by.id, hidden=hidden)
    dice = tuple(Die(face=face, luck=i < pool.luck) for i, face in enumerate(rolled.faces))
    thrown = Throw(by=by.id, value=pool.value, dice=dice, rights=rights, roll=rolled.n, hidden=hidden)
    shown = [", ".join(map(str, part)) for part in (rolled.faces[: pool.luck], rolled.faces[pool.luck :])]
    text = f"{by.name} throws {shown[1] or 'nothing'}{f', and with luck dice {shown[0]}' if shown[0] else ''}."
    _say(step, thrown, "skirmish.thrown", text, luck=pool.luck, rolls=[fact(rolled)])
    return thrown if switch(step, "reroll_before_bonus") == "on" else add_bonus(step, thrown)


def add_bonus(step: Step, thrown: Throw) -> Throw:
    """Roll one more regular die for each luck die that succeeded; they earn no more (switch bonus_chain)."""
    luck_hits = sum(die.luck and die.face <= thrown.value for die in thrown.dice)
    dice, more = thrown.dice, luck_hits
    for _ in range(2 if switch(step, "bonus_chain") == "once" else 1):
        if not more:
            break
        rolled = step.roll(more, SIDES, purpose="bonus", actor=thrown.by, hidden=thrown.hidden)
        dice += tuple(Die(face=face, bonus=True) for face in rolled.faces)
        more = sum(face <= thrown.value for face in rolled.faces)
        text = f"{step.name(thrown.by)} earns bonus dice: {', '.join(map(str, rolled.faces))}."
        _say(step, thrown, "skirmish.bonus", text, rolls=[fact(rolled)])
    return replace(thrown, dice=dice, luck_hits=luck_hits)


def _say(step: Step, thrown: Throw, type: str, text: str, **data: Any) -> None:
    """Say something of a throw, to those who may know of it: of a hidden one, the GMs and who threw it."""
    if thrown.hidden:
        step.whisper(type, text, thrown.by, combatant=thrown.by, **data)
    else:
        step.about(thrown.by, type, text, combatant=thrown.by, **data)


def result(step: Step, thrown: Throw) -> Result:
    """Count the successes, once the bonus dice are in."""
    final = thrown if thrown.luck_hits is not None else add_bonus(step, thrown)
    hits = sum(die.face <= final.value for die in final.dice)
    told = {
        "successes": hits,
        "luck": [die.face for die in final.dice if die.luck],
        "regular": [die.face for die in final.dice if not die.luck and not die.bonus],
        "bonus": [die.face for die in final.dice if die.bonus],
    }
    return Result(hits=hits, luck_hits=final.luck_hits or 0, told=told)


# --- re-rolls ------------------------------------------------------------------------------------------------------------------


def open_dice(tree: Step | Session, thrown: Throw) -> list[int]:
    """Positions of the dice that may still be re-rolled; none once the rights are used up."""
    if not thrown.rights:
        return []
    again = switch(tree, "reroll_once") == "off"
    return [i for i, die in enumerate(thrown.dice) if again or not die.again]


def ask_reroll(step: Step, owner: tuple[str, str], thrown: Throw) -> str | None:
    """Ask for a declaration: how many dice, and which. None when there is nothing to re-roll."""
    places = open_dice(step, thrown)
    if not places:
        return None
    most = min(thrown.rights, len(places))
    return step.ask(
        owner,
        step.controller(thrown.by),
        kind="reroll",
        type="skirmish.reroll?",
        text=f"{step.name(thrown.by)} may re-roll up to {most}. Say which, counting from 1 in the list, or keep them.",
        choices=(("yes", "Re-roll these"), ("no", "Keep them")),
        default="no",
        never="no",
        ints=Ints(least=1, most=most, low=1, high=len(places), choice="yes"),
        combatant=thrown.by,
        dice=[{"face": thrown.dice[i].face, "luck": thrown.dice[i].luck} for i in places],
        value=thrown.value,
    )


def reroll(step: Step, thrown: Throw, numbers: tuple[int, ...]) -> Throw:
    """Roll the declared dice again; the new faces stand. Raises Rejected when a die is named twice."""
    if len(set(numbers)) != len(numbers):
        raise Rejected("illegal_choice", "Name each die once: a die is not re-rolled twice.", given=list(numbers))
    places = open_dice(step, thrown)
    chosen = tuple(places[number - 1] for number in numbers)
    rolled = step.roll(len(chosen), SIDES, purpose="reroll", actor=thrown.by, hidden=thrown.hidden, of=thrown.roll, positions=chosen)
    dice = list(thrown.dice)
    old = [dice[place].face for place in chosen]
    for place, face in zip(chosen, rolled.faces, strict=True):
        dice[place] = replace(dice[place], face=face, again=True)
    text = f"{step.name(thrown.by)} re-rolls {len(chosen)}: {', '.join(map(str, old))} become {', '.join(map(str, rolled.faces))}."
    _say(step, thrown, "skirmish.rerolled", text, old=old, new=list(rolled.faces), rolls=[fact(rolled)])
    return replace(thrown, dice=tuple(dice), rights=thrown.rights - len(chosen))


# --- odds ----------------------------------------------------------------------------------------------------------------------


def distribution(tree: Step | Session, pool: Pool) -> o.Dist[tuple[int, ...]]:
    """The exact distribution of (successes, luck dice that succeeded), without re-rolls."""
    hit, miss = min(pool.value, SIDES), SIDES - min(pool.value, SIDES)
    one = {count: weight for count, weight in ((0, miss), (1, hit)) if weight}
    # What one bonus die adds; with chaining, its success earns a last one.
    bonus: o.Dist[int] = o.Dist(one)
    if switch(tree, "bonus_chain") == "once":
        bonus = bonus.then(lambda first: o.Dist(one).map(lambda second: first + second) if first else o.constant(0))
    luck: o.Dist[tuple[int, ...]] = o.Dist(one).then(lambda first: bonus.map(lambda more: (1 + more, 1)) if first else o.constant((0, 0)))
    regular: o.Dist[tuple[int, ...]] = o.Dist({(count, 0): weight for count, weight in one.items()})
    return luck.times(pool.luck) + regular.times(pool.regular)
