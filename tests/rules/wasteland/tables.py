"""What wasteland's own tests are set up from."""

from __future__ import annotations

from engine import ScriptedDice, Setup
from engine.commands import ZoneSpec
from engine.session import Edge
from engine.setup import CombatantSetup, SceneSetup, SeatSetup
from tests.support.table import Table

VARIANTS = ("", "zh")
QUIET = ("luck", "damage_luck", "damage_ap", "aim", "spend")


def scrapyard(variant: str = "", *, fight: bool = True, **options: str | int | bool) -> Table:
    """The sample table."""
    return Table(
        "wasteland",
        Setup(ruleset="wasteland", sample="scrapyard", variant=variant, options=options, encounter="scrapyard" if fight else ""),
    )


def quiet(table: Table, *kinds: str) -> None:
    """Every seat answers these kinds of questions with no, so that a test asks only what it is about."""
    for seat in list(table.session.seats):
        for kind in kinds or QUIET:
            table.do(seat, "seat.prefs", kind=kind, value="never")


def camp(*dice: int, zones: int = 2, luck: int = 0, **options: str | int | bool) -> Table:
    """Ann's Vera and Ben's Otto, and the GM's Wolf and Crow, in the first of some zones in a row; target number 10 with anything but SNEAK.

    `dice` are the faces that will be rolled, in order.
    """
    skilled = {"small_guns": 5, "melee_weapons": 5, "lockpick": 5, "athletics": 5, "survival": 5, "speech": 5}
    arms = {
        "weapons": [
            {"id": "gun", "name": "Gun", "kind": "small_guns", "dice": 2, "fire_rate": 1, "ammo": "slugs"},
            {"id": "club", "name": "Club", "kind": "melee_weapons", "dice": 2},
        ],
        "ammo": [{"id": "slugs", "count": 9}],
        "skills": skilled,
    }
    people = (
        ("vera", "ann", "pc", "us", 12),
        ("otto", "ben", "pc", "us", 10),
        ("wolf", "", "normal", "them", 11),
        ("crow", "", "normal", "them", 9),
    )
    setup = Setup(
        ruleset="wasteland",
        seats=(SeatSetup(id="gm", role="gm"), SeatSetup(id="ann"), SeatSetup(id="ben")),
        scenes=(
            SceneSetup(
                id="camp",
                name="The camp",
                zones=tuple(ZoneSpec(id=f"z{n}", name=f"place {n}") for n in range(zones)),
                edges=tuple(Edge(a=f"z{n}", b=f"z{n + 1}") for n in range(zones - 1)),
            ),
        ),
        combatants=tuple(
            CombatantSetup(
                id=one,
                name=one.capitalize(),
                side=side,
                scene="camp",
                zone="z0",
                seat=seat,
                fields={**arms, "tier": tier, "initiative": initiative, "luck": luck if tier == "pc" else 0, "max_hp": 12},
            )
            for one, seat, tier, side, initiative in people
        ),
        options=dict(options),
    )
    return Table("wasteland", setup, dice=ScriptedDice(dice))
