"""The life of a test, as far as every ruleset shares it: proposed, framed, joined, rolled, done.

A ruleset's own `test.frame`, `test.join` and `test.roll` commands call these with their own typed records.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from engine.rejected import Rejected, unknown
from engine.session import Helper, Test
from engine.zones import concealed

if TYPE_CHECKING:
    from engine.step import Step

MAX_OPEN = 50


def find(step: Step, test_id: str, *allowed: str) -> Test:
    """The test in one of the allowed states. Raises Rejected; one that is hidden is unknown to those who take no part."""
    test = step.tests.get(test_id)
    if test is None or not (step.is_gm or _in_sight(step, test)):
        raise unknown("test", test_id)
    if allowed and test.status not in allowed:
        raise Rejected(
            "not_now", f"That test is {test.status}; this needs it to be {' or '.join(allowed)}.", test=test_id, status=test.status
        )
    return test


def _in_sight(step: Step, test: Test) -> bool:
    by = step.combatants.get(test.by)
    if by is None or not step.visible(by):
        return False
    return not test.hidden or any(step.controls(one) for one in participants(test))


def participants(test: Test) -> tuple[str, ...]:
    return (test.by, *(helper.combatant for helper in test.helpers))


def said(step: Step, test: Test, type: str, text: str, **data: Any) -> None:
    """Say something of a test: to everyone, or, when it is hidden, to the GMs and those who take part.

    Whoever must not see its actor never hears of it.
    """
    to: Iterable[str] | None = None
    by = step.combatants.get(test.by)
    if by is not None and concealed(step, by):
        to = [seat.id for seat in step.seats.values() if seat.role == "gm" or test.by in seat.controls]
    elif test.hidden:
        to = [seat.id for seat in step.seats.values() if seat.role == "gm" or any(c in seat.controls for c in participants(test))]
    step.emit(type, text, to=to, test=test.id, combatant=test.by, **data)


def propose(step: Step, combatant_id: str, label: str, *, hidden: bool = False, frame: Any = None) -> Test:
    """A new test; with `frame` it is framed at once. Raises Rejected (unknown_id, not_yours, limit)."""
    combatant = step.combatant(combatant_id)
    if not step.controls(combatant_id):
        raise Rejected("not_yours", f"{combatant.name} is not yours to command.", combatant=combatant_id)
    if len(step.tests) >= MAX_OPEN:
        raise Rejected("limit", f"{MAX_OPEN} tests are open; finish or withdraw some first.", limit=MAX_OPEN)
    test: Test = step.add(
        "tests",
        Test(
            id=step.ident("t"),
            scene=combatant.scene,
            by=combatant_id,
            label=label,
            hidden=hidden or concealed(step, combatant),
            frame=frame,
            status="proposed" if frame is None else "framed",
        ),
    )
    said(step, test, "test.proposed", f"{combatant.name} wants to attempt: {label or 'a test'}.", label=label)
    return test


def frame(step: Step, test: Test, record: Any, text: str, *, hidden: bool | None = None) -> Test:
    """Set what the test takes (again, as long as it has not rolled)."""
    framed: Test = step.change("tests", test.id, frame=record, status="framed", hidden=test.hidden if hidden is None else hidden)
    said(step, framed, "test.framed", text)
    return framed


def join(step: Step, test: Test, combatant_id: str, how: Any, text: str) -> Test:
    """Add a helper. Raises Rejected when it takes part already or is not the seat's."""
    combatant = step.combatant(combatant_id)
    if not step.controls(combatant_id):
        raise Rejected("not_yours", f"{combatant.name} is not yours to command.", combatant=combatant_id)
    if combatant_id in participants(test):
        raise Rejected("not_now", f"{combatant.name} takes part in that test already.", combatant=combatant_id)
    joined: Test = step.change("tests", test.id, helpers=(*test.helpers, Helper(combatant=combatant_id, how=how)))
    if concealed(step, combatant):
        step.whisper("test.joined", text, combatant_id, test=test.id, combatant=test.by, helper=combatant_id)
    else:
        said(step, joined, "test.joined", text, helper=combatant_id)
    return joined


def withdraw(step: Step, test_id: str) -> None:
    """Take a test back before it was rolled: by who proposed it, or a GM."""
    test = find(step, test_id, "proposed", "framed")
    if not step.controls(test.by):
        raise Rejected("not_yours", "Only who proposed a test, or a GM, can withdraw it.", test=test_id)
    said(step, test, "test.withdrawn", f"{step.name(test.by)} does not attempt it after all.")
    close(step, test_id)


def close(step: Step, test_id: str) -> None:
    """A test is over: it and its open questions leave the tree; the log keeps them."""
    for prompt in list(step.prompts.values()):
        if prompt.owner == ("tests", test_id):
            step.remove("prompts", prompt.id)
    step.remove("tests", test_id)
