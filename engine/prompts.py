"""Prompts: answering, resuming what waited for the answer, and settling them without one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.rejected import Rejected
from engine.rulesets import Answered

if TYPE_CHECKING:
    from engine.session import Prompt
    from engine.step import Step


def find(step: Step, prompt_id: str) -> Prompt:
    """The open prompt. Raises Rejected: unknown_id (never was, or is settled), already_answered, not_yours."""
    prompt = step.prompts.get(prompt_id)
    if prompt is None:
        raise Rejected(
            "unknown_id", "That question is not open: it was answered, withdrawn, or never asked.", what="prompt", given=prompt_id
        )
    if not step.is_gm and prompt.to != step.by:
        # To anyone else a prompt's id tells nothing, but the view shows that somebody is asked, so this leaks nothing either.
        raise Rejected("not_yours", "That question is for another seat.", prompt=prompt_id, to=prompt.to)
    if prompt.answer is not None:
        raise Rejected("already_answered", "You have answered that question; the others have not yet.", prompt=prompt_id)
    return prompt


def answer(step: Step, prompt: Prompt, choice: str, ints: tuple[int, ...]) -> None:
    """Record a checked answer. Raises Rejected("illegal_choice") that lists the legal ones."""
    legal = [one.value for one in prompt.choices]
    if choice and not legal:
        raise Rejected("illegal_choice", "This question takes numbers only.", prompt=prompt.id)
    if not choice and len(legal) == 1:
        choice = legal[0]
    if legal and choice not in legal:
        raise Rejected("illegal_choice", f"Answer one of: {', '.join(legal)}.", prompt=prompt.id, known=legal)
    wanted = prompt.ints
    if wanted is not None and wanted.choice in ("", choice):
        if not wanted.least <= len(ints) <= wanted.most or not all(wanted.low <= value <= wanted.high for value in ints):
            count = str(wanted.least) if wanted.least == wanted.most else f"{wanted.least} to {wanted.most}"
            raise Rejected(
                "illegal_choice",
                f"Give {count} numbers from {wanted.low} to {wanted.high}.",
                prompt=prompt.id,
                least=wanted.least,
                most=wanted.most,
            )
    elif ints:
        raise Rejected("illegal_choice", "This answer takes no numbers.", prompt=prompt.id)
    step.change("prompts", prompt.id, answer=choice, given=ints)
    step.settle.append(prompt.owner)


def by_default(step: Step, prompt: Prompt) -> None:
    """Take the prompt's default, at its deadline or at the GM's word."""
    ints: tuple[int, ...] = ()
    if prompt.ints is not None and prompt.ints.choice in ("", prompt.default):
        ints = (prompt.ints.low,) * prompt.ints.least
    answer(step, prompt, prompt.default, ints)


def settle(step: Step) -> None:
    """Resume every unfinished action whose questions are all answered, until each stack waits or is empty."""
    for _ in range(200):
        if not step.settle:
            return
        kind, owner_id = owner = step.settle.pop(0)
        entity = getattr(step, kind).get(owner_id)
        if entity is None or not entity.pending:
            continue
        record = entity.pending[-1]
        asked = [step.prompts.get(prompt_id) for prompt_id in record.prompts]
        if any(prompt is not None and prompt.answer is None for prompt in asked):
            continue
        answers = tuple(
            Answered(prompt.id, prompt.to, prompt.kind, prompt.answer or "", prompt.given, prompt.combatant)
            for prompt in asked
            if prompt is not None
        )
        for prompt_id in record.prompts:
            step.remove("prompts", prompt_id)
        step.change(kind, owner_id, pending=entity.pending[:-1])
        step.settle.append(owner)
        step.rules.resume(step, owner, record, answers)
    raise RuntimeError("unfinished actions resume each other without end")


def void(step: Step, prompt: Prompt) -> None:
    """Drop the unfinished action that a prompt belongs to, with everything stacked on top of it."""
    kind, owner_id = prompt.owner
    if kind == "table":
        step.change("table", "", suspended=None)
        step.remove("prompts", prompt.id)
        return
    entity = getattr(step, kind).get(owner_id)
    pending = () if entity is None else entity.pending
    place = next((i for i, record in enumerate(pending) if prompt.id in record.prompts), len(pending))
    step.remove("prompts", prompt.id)
    if place == len(pending):
        return  # nothing waits for it any more
    for record in pending[place:]:
        for prompt_id in record.prompts:
            step.remove("prompts", prompt_id)
    step.change(kind, owner_id, pending=pending[:place])
    step.settle.append(prompt.owner)
