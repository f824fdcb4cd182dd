"""What has to be asked after a roll or a hurt, one question after the other: effects, complications, falls, ghouls, breaking points.

The queue waits on the running fight, or, outside one, on a short-lived test of its own, which blocks nobody else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from engine import turns
from engine.rulesets.stretch import body
from engine.rulesets.stretch.model import Asking, Question, Wanderer
from engine.rulesets.stretch.switches import switch
from engine.session import Test
from engine.zones import concealed

if TYPE_CHECKING:
    from engine.rulesets import Answered
    from engine.step import Step

Owner = tuple[str, str]
NOTHING = ("none", "Nothing more")
IN_WORDS = ("words", "Something else; I tell it in words")

EFFECTS = (
    NOTHING,
    ("knocked_down", "Knocked down"),
    ("off_balance", "Off balance"),
    ("disarmed", "Disarmed"),
    ("pushed_back", "Pushed back"),
    ("shaken", "Shaken"),
    IN_WORDS,
)
CALLED = (NOTHING, ("disarmed", "The weapon is lost"), ("hobbled", "Hobbled"), ("dazed", "Dazed"), IN_WORDS)
FUMBLES = (NOTHING, ("jam", "The weapon jams"), ("bad_position", "A bad position"), ("noise", "Unwanted noise"), IN_WORDS)
BREAKS = (
    ("own", "In my own way; I tell it in words"),
    ("flee", "Run"),
    ("freeze", "Freeze"),
    ("yield", "Give up"),
    ("rage", "Lash out"),
    ("shut_down", "Shut everybody out"),
)
"""Every one of them is the player's to play out; none moves the character for them."""


def owner_of(step: Step, who: Wanderer) -> Owner:
    """Where questions about somebody wait: their fight, else nowhere yet."""
    encounter = turns.encounter_of(step, who)
    return ("encounters", encounter.id) if encounter is not None else ("", who.id)


def go_on(step: Step, owner: Owner, queue: Sequence[Question]) -> None:
    """Ask the first question that still needs asking; with none left the action is over."""
    for place, question in enumerate(queue):
        if settled(step, question):
            continue
        if owner[0] == "":
            owner = _place_for(step, owner[1])
        prompt = _ask(step, owner, question)
        step.push(owner, Asking(prompts=(prompt,), queue=tuple(queue[place:])))
        return
    if owner[0] == "tests":
        step.remove("tests", owner[1])
    elif owner[0] == "encounters":
        fight_over(step, owner[1])


def _place_for(step: Step, who_id: str) -> Owner:
    """A test outside any fight that only waits. Ones whose questions a GM voided are swept away first."""
    for old in list(step.tests.values()):
        if old.status == "done" and not old.pending:
            step.remove("tests", old.id)
    who = step.combatants[who_id]
    hidden = concealed(step, who)
    made = Test(id=step.ident("t"), scene=who.scene, by=who_id, label="what comes of it", status="done", hidden=hidden)
    step.add("tests", made)
    return ("tests", made.id)


def resume(step: Step, owner: Owner, record: Asking, answers: Sequence[Answered]) -> None:
    """One question is answered: do as it says and ask the next."""
    question, rest = record.queue[0], list(record.queue[1:])
    if answers and not _gone(step, question):
        rest = [*take(step, question, answers[0].choice), *rest]
    go_on(step, owner, rest)


def _gone(step: Step, question: Question) -> bool:
    """Whether the one it is about is no longer there, or no longer in the state that raised the question."""
    who = step.combatants.get(question.combatant)
    if who is None:
        return True
    if question.kind in ("fall", "ghoul"):
        return bool(who.health) or who.state != "down"
    if question.kind == "break":
        return bool(who.resolve)
    return False


def settled(step: Step, question: Question) -> bool:
    """Whether there is nothing to ask: it is moot, or a switch answers it."""
    if _gone(step, question):
        return True
    if question.kind == "fall" and (state := switch(step, "zero_health")) != "gm":
        body.meet(step, question.combatant, state)
        return True
    return False


def take(step: Step, question: Question, choice: str) -> list[Question]:
    """What an answer does. Returns what it leads to asking."""
    who_id, kind = question.combatant, question.kind
    name = step.name(who_id)
    if kind == "fall":
        body.meet(step, who_id, choice)
    elif kind == "ghoul":
        if choice == "yes":
            body.turn_ghoul(step, who_id)
        else:
            step.about(who_id, "stretch.ghoul_refused", f"{name} refuses the change.", combatant=who_id)
            return [replace(question, kind="fall")]
    elif kind == "break":
        body.change(step, who_id, broken=choice)
        step.about(who_id, "stretch.broken", f"{name} breaks under the pressure: {dict(BREAKS)[choice]}.", combatant=who_id, how=choice)
    elif kind == "fumble" and choice == "jam":
        who: Wanderer = step.combatants[who_id]
        weapons = tuple(replace(one, jammed=one.jammed or one.id == question.weapon) for one in who.weapons)
        body.change(step, who_id, weapons=weapons)
        step.about(who_id, "stretch.jammed", f"{name}'s weapon jams.", combatant=who_id, weapon=question.weapon)
    elif choice not in ("none", "words"):
        body.put_mark(step, who_id, choice)
    elif choice == "words":
        step.about(who_id, "stretch.told", f"What happens to {name} is told in words.", combatant=who_id, of=kind)
    return []


def _ask(step: Step, owner: Owner, question: Question) -> str:
    name, by = step.name(question.combatant), step.name(question.by)
    gm = next(iter(step.gms()), "")
    texts: dict[str, tuple[str, tuple[tuple[str, str], ...], str, str, str]] = {
        "effect": (f"{by}'s critical on {name}: a fitting effect?", EFFECTS, "none", "words", "none"),
        "called": (f"{by} hit {name}'s {question.place}: what comes of it?", CALLED, "none", "words", "none"),
        "fumble": (f"{name} rolled a natural 1: which complication?", FUMBLES, "none", "jam", "none"),
        "fall": (
            f"{name} is at 0 Health. Incapacitated or dying?",
            (("incapacitated", "Incapacitated"), ("dying", "Dying")),
            "incapacitated",
            "dying",
            "incapacitated",
        ),
        "ghoul": (
            f"Radiation takes {name}'s last Health at 1000 Rads. The Ghoul Protocol, rather than ordinary death?",
            (("yes", "Become a ghoul"), ("no", "No: what comes, comes")),
            "no",
            "yes",
            "no",
        ),
        "break": (f"{name} has no Resolve left and breaks. How is yours to say.", BREAKS, "own", "own", "own"),
    }
    text, choices, default, always, never = texts[question.kind]
    return step.ask(
        owner,
        step.controller(question.combatant) if question.kind in ("ghoul", "break") else gm,
        kind=question.kind,
        type=f"stretch.{question.kind}?",
        text=text,
        choices=choices,
        default=default,
        always=always,
        never=never,
        combatant=question.combatant,
    )


def fight_over(step: Step, encounter_id: str) -> None:
    """End a fight in which somebody is out and at most one side can go on, once nothing is left to ask."""
    encounter = step.encounters.get(encounter_id)
    if encounter is None or encounter.pending:
        return
    able = [one for one in encounter.order if turns.can_act(step, one)]
    if len(able) == len(encounter.order):
        return
    sides = sorted({step.combatants[one].side for one in able})
    if len(sides) < 2:
        stands = sides[0] if sides else ""
        text = f"The fight is over: {stands or 'one side'} stands." if sides else "The fight is over: nobody stands."
        turns.finish(step, encounter_id, text, side=stands)
