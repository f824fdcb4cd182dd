"""Action Points: the group's pool and the GM's, what is paid from which, and what is left over when a turn ends.

core_rules_2d20, "Action Points", "Buying Dice Without Action Points", "Saving Action Points"; FACTS A9. The group saves up to 6;
what it gained beyond may be used until the turn (outside a fight: the test) ends, so the pool's value may stand above its cap until then.
"""

from __future__ import annotations

from typing import Any

from engine.rejected import Rejected
from engine.rulesets.wasteland import checks
from engine.rulesets.wasteland.model import Survivor
from engine.rulesets.wasteland.tables import GROUP_CAP, MAX_BONUS_DICE
from engine.session import Pool, Session
from engine.step import Step

GROUP = "group"
GM = "gm"


def create(step: Step) -> None:
    """The two pools of a new table: the group's empty, the GM's with 1 AP for each player."""
    step.add("pools", Pool(id=GROUP, name="Action Points", owner=GROUP, cap=GROUP_CAP))
    step.add("pools", Pool(id=GM, name="GM's Action Points", owner=GM, value=players(step)))


def players(step: Step) -> int:
    return sum(1 for seat in step.seats.values() if seat.role == "player")


def refresh(step: Step) -> None:
    """A sitting begins: 1 AP for each player in the GM's pool, none in the group's."""
    _set(step, GROUP, 0)
    _set(step, GM, players(step))


def pool_of(s: Survivor) -> str:
    """Whose Action Points a survivor uses."""
    return s.pool or (GROUP if s.tier == "pc" else GM)


def value(tree: Step | Session, pool: str) -> int:
    found = tree.pools.get(pool)
    return found.value if found is not None else 0


def _set(step: Step, pool: str, amount: int) -> None:
    if pool in step.pools and step.pools[pool].value != amount:
        step.change("pools", pool, value=amount)


def gain(step: Step, s: Survivor, amount: int) -> None:
    """AP for a survivor's side. Above the cap they last until the turn ends (`trim`)."""
    if amount:
        pool = pool_of(s)
        _set(step, pool, value(step, pool) + amount)


def gain_gm(step: Step, amount: int) -> None:
    if amount:
        _set(step, GM, value(step, GM) + amount)


def trim(step: Step) -> None:
    """The turn or test is over: what the group could not save is lost. While another turn runs, the excess waits for its end."""
    pool = step.pools.get(GROUP)
    cap = None if pool is None or pool.cap is None else max(pool.cap, 0)
    if pool is None or cap is None or pool.value <= cap:
        return
    lost = pool.value - cap
    _set(step, GROUP, cap)
    step.emit("wasteland.ap.lost", f"{lost} Action Points beyond {cap} are lost.", lost=lost, value=cap)


def pay(step: Step, s: Survivor, amount: int, what: str, *, gm_ap: bool = False, sealed: bool = False) -> None:
    """Take `amount` AP from a survivor's pool; with `gm_ap` a player's character gives the GM what it lacks. Raises Rejected("cannot_pay").

    `sealed`: the group pool may not be used (two player characters oppose each other, FACTS A9).
    """
    if not amount:
        return
    pool = pool_of(s)
    usable = 0 if sealed and pool == GROUP else value(step, pool)
    taken = min(usable, amount)
    short = amount - taken
    if short and not (gm_ap and pool == GROUP):
        raise Rejected(
            "cannot_pay",
            f"{what} costs {amount} Action Points and the pool has {usable}.",
            pool=pool,
            cost=amount,
            value=usable,
        )
    if taken:
        _set(step, pool, value(step, pool) - taken)
    if short:
        gain_gm(step, short)
    text = f"{s.name}: {amount} Action Points for {what}."
    step.about(s.id, "wasteland.ap.paid", text, combatant=s.id, pool=pool, amount=taken, to_gm=short)


def buy_dice(step: Step, s: Survivor, dice: int, free: int, *, gm_ap: bool, sealed: bool, cap_includes_perks: bool) -> int:
    """Buy d20s and return how many are rolled beyond the two. Raises Rejected (limit, cannot_pay).

    Free ones from perks count against the three (switch `bonus_cap_includes_perks`) but do not raise the price of bought ones.
    """
    most = MAX_BONUS_DICE - free if cap_includes_perks else MAX_BONUS_DICE
    if dice > max(most, 0):
        raise Rejected(
            "limit", f"At most {MAX_BONUS_DICE} bonus d20s may be rolled, so {max(most, 0)} can be bought.", limit=max(most, 0), free=free
        )
    if dice:
        pay(step, s, checks.dice_price(dice), f"{dice} more d20{'s' if dice > 1 else ''}", gm_ap=gm_ap, sealed=sealed)
    return dice + min(free, MAX_BONUS_DICE)


def affordable_dice(tree: Step | Session, s: Survivor, free: int, cap_includes_perks: bool, *, less: int = 0) -> int:
    """How many d20s the pool pays for now, after `less` AP are spent on something else."""
    left = value(tree, pool_of(s)) - less
    most = max(MAX_BONUS_DICE - free, 0) if cap_includes_perks else MAX_BONUS_DICE
    return max((n for n in range(most + 1) if checks.dice_price(n) <= left), default=0)


def refuse_gm_ap(scope: Any, gm_ap: bool, dice: int) -> None:
    """Giving the GM AP buys d20s and nothing else (switch `gm_ap_scope`). Raises Rejected when it is asked for where it buys none."""
    if gm_ap and scope == "d20_only" and not dice:
        raise Rejected("illegal_choice", "Giving the GM Action Points buys d20s and nothing else.", field="gm_ap")
