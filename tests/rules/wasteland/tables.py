"""What wasteland's own tests are set up from."""

from __future__ import annotations

import engine
from engine import Setup
from engine.rulesets.wasteland import RULES
from tests.support.secrets import HIDDEN_FIELDS
from tests.support.table import STARTS, Table

engine.register(RULES)
STARTS.setdefault("wasteland", lambda: Setup(ruleset="wasteland", sample="scrapyard", encounter="scrapyard"))
HIDDEN_FIELDS.setdefault("wasteland", {"max_hp": 977, "hp": 911})

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
