"""One command in, one step out: who may send it, whether it may be sent now, and which handler takes it.

The pure functions `create` and `apply` are the engine's whole surface for changing anything.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import msgspec

from engine import commands as c
from engine import dice_epochs, gm, prompts, set_up, talk, testlife, turns, undo
from engine.dice import Dice
from engine.entry import SYSTEM, Act, Entry, plain
from engine.rejected import Rejected, StepLimit
from engine.rulesets import Ruleset
from engine.session import ENGINE_VERSION, SCHEMA, Header, Ints, Prompt, Session, Suspended, Table
from engine.setup import Setup
from engine.step import NeedFaces, Step


class Past(msgspec.Struct, frozen=True):
    """What an undo needs and a session alone does not hold: the session at the version to restore, and the rolls made since."""

    session: Session
    rolls: tuple[Any, ...] = ()


def create(
    rules: Ruleset, setup: Setup, *, session_id: str, epoch: str, now_ms: int, dice: Dice, stamp: str = "", by: str = SYSTEM
) -> tuple[Session, Entry]:
    """A new session and its first entry (v 1). Raises Rejected when the set-up does not hold together."""
    header = Header(
        id="header",
        session=session_id,
        ruleset=rules.name,
        ruleset_version=rules.version,
        variant=setup.variant,
        options=set_up.switches(rules, setup),
        ruleset_schema=rules.schema_number,
        created_ms=now_ms,
    )
    empty = Session(header=header, table=Table(id="table"), epoch=epoch)
    step = Step(rules, empty, dice, now_ms, SYSTEM)
    step.kind = "created"
    try:
        set_up.set_up(step, setup)
        after(step)
    except NeedFaces:
        raise Rejected(
            "bad_command", "A table with physical dice cannot start with a roll; start the encounter after it is made."
        ) from None
    session, entry = step.finish(
        action_id="", command={"type": "system.create", "setup": plain(setup), "header": plain(header)}, stamp=stamp
    )
    return session, entry


def undo_target(session: Session, command: Any) -> int | None:
    """The version whose session `apply` needs as `past` for this command; None for every command but an undo."""
    if isinstance(command, c.GmUndo):
        return command.to or max(session.table.last - 1, 0)
    return None


def apply(rules: Ruleset, session: Session, act: Act, *, now_ms: int, dice: Dice, past: Past | None = None) -> tuple[Session, Entry]:
    """Apply one command. Same inputs, same bytes. Raises Rejected, and then nothing changed and no die was drawn.

    A ruleset that raises anything else, or exceeds a step's caps, is answered as Rejected("internal") with the error as its cause.
    """
    try:
        return _apply(rules, session, act, now_ms, dice, past)
    except Rejected:
        raise
    except StepLimit as problem:
        raise Rejected(
            "internal", f"The ruleset '{rules.name}' let this command grow out of bounds; it was not done: {problem}."
        ) from problem
    except Exception as problem:
        text = f"The ruleset '{rules.name}' failed on this command; nothing was changed. The host's log says more."
        raise Rejected("internal", text) from problem


def _apply(rules: Ruleset, session: Session, act: Act, now_ms: int, dice: Dice, past: Past | None) -> tuple[Session, Entry]:
    step = Step(rules, session, dice, now_ms, act.by)
    permit(step, act.command)
    try:
        dispatch(step, act.command, past)
        after(step)
    except NeedFaces as need:
        tried, step = step, Step(rules, session, dice, now_ms, act.by)
        step.discard(tried)
        _suspend(step, act, need)
    return step.finish(action_id=act.id, command=plain(act.command), stamp=act.stamp)


def after(step: Step) -> None:
    """What follows every command: resume what can go on, pass turns of those who can no longer act."""
    for _ in range(200):
        prompts.settle(step)
        if not turns.settle(step) and not step.settle:
            return
    raise RuntimeError("turns and unfinished actions follow each other without end")


def permit(step: Step, command: Any) -> None:
    """Who may send it, and may it be sent now. Raises Rejected."""
    if step.by == SYSTEM:
        return
    seat = step.seat
    if seat is None:
        raise Rejected("unknown_seat", f"There is no seat '{step.by[:64]}' at this table.", given=step.by[:64])
    needs = command.needs
    if needs == "system" or (needs == "gm" and seat.role != "gm"):
        raise Rejected("forbidden", "Only a GM can do that.", needs=needs)
    if needs == "player" and seat.role == "spectator":
        raise Rejected("forbidden", "Spectators watch; ask the GM for a seat to play.", needs=needs)
    if not command.always:
        if step.table.paused:
            raise Rejected("paused", "The table is paused; the GM resumes it.")
        if step.table.suspended is not None:
            raise Rejected("busy", "Dice are being entered for an action; that comes first.", prompt=step.table.suspended.prompt)
    elif step.table.paused and isinstance(command, c.Answer) and seat.role != "gm":
        raise Rejected("paused", "The table is paused; the GM resumes it.")


def dispatch(step: Step, command: Any, past: Past | None = None) -> None:
    """Hand a permitted command to its handler: the kernel's by type, everything else to the ruleset."""
    step.quiet = command.quiet
    if isinstance(command, c.GmUndo):
        undo.undo(step, command, past)
        return
    handler = HANDLERS.get(type(command))
    if handler is not None:
        handler(step, command)
    else:
        step.rules.apply(step, command)
        combatant = getattr(command, "combatant", None)
        if combatant is not None:
            turns.used(step, combatant)


# --- physical dice -----------------------------------------------------------------------------------------------------


def _suspend(step: Step, act: Act, need: NeedFaces, *, command: Any = None, by: str = "", faces: tuple[tuple[int, ...], ...] = ()) -> None:
    """Ask a seat for faces and keep the command; it runs again from its start when they are entered."""
    table = step.table
    if table.suspended is not None and not faces:
        raise Rejected("busy", "Dice are being entered for an action; that comes first.", prompt=table.suspended.prompt)
    prompt = Prompt(
        id=step.ident("p"),
        to=need.seat,
        owner=("table", "table"),
        kind="dice",
        type="dice.enter",
        text=f"Roll {need.count}d{need.sides}{'' if need.purpose == 'free' else f' for {need.purpose}'} and enter the faces.",
        ints=Ints(least=need.count, most=need.count, low=1, high=need.sides),
        deadline=step.deadline("deadline.dice", "deadline.prompt"),
        combatant=need.actor if need.actor in step.combatants else "",
    )
    step.add("prompts", prompt)
    step.change(
        "table",
        "",
        suspended=Suspended(by=by or act.by, command=plain(act.command if command is None else command), prompt=prompt.id, faces=faces),
    )


def _answer(step: Step, command: c.Answer) -> None:
    prompt = prompts.find(step, command.prompt)
    if prompt.owner[0] == "table":
        _enter_faces(step, prompt, command.ints)
        return
    prompts.answer(step, prompt, command.choice, command.ints)


def _enter_faces(step: Step, prompt: Prompt, ints: tuple[int, ...]) -> None:
    suspended = step.table.suspended
    wanted = prompt.ints
    if suspended is None or wanted is None:
        raise Rejected("unknown_id", "No dice are waited for.", what="prompt", given=prompt.id)
    if len(ints) != wanted.least or not all(wanted.low <= face <= wanted.high for face in ints):
        raise Rejected("illegal_choice", f"Enter {wanted.least} faces from 1 to {wanted.high}.", least=wanted.least, high=wanted.high)
    faces = (*suspended.faces, ints)
    step.remove("prompts", prompt.id)
    step.change("table", "", suspended=None)
    again = step.rules.decode(suspended.command, system=True)
    trial = Step(step.rules, step.before, step.dice, step.now_ms, suspended.by, supplied=faces)
    trial.remove("prompts", prompt.id)
    trial.change("table", "", suspended=None)
    try:
        permit(trial, again)
        dispatch(trial, again)
        after(trial)
    except NeedFaces as need:
        step.discard(trial)
        _suspend(step, Act(by=suspended.by, command=again), need, faces=faces)
        return
    except Rejected as refusal:
        step.discard(trial)
        # The table changed while the dice rolled: the action is off, and who asked for it is told why. Nobody else is told
        # the faces: the roll may have been a secret one.
        told = dict.fromkeys((suspended.by, prompt.to, *step.gms()))
        public: tuple[str, str, dict[str, Any]] = ("dice.refused", "The action is off: the table changed while the dice rolled.", {})
        step.emit("dice.refused", f"The action is off: {refusal.text}", to=told, public=public, code=refusal.code, faces=list(ints))
        return
    step.take_over(trial)


# --- deadlines and seats ---------------------------------------------------------------------------------------------------


def _deadline(step: Step, command: c.Deadline) -> None:
    if command.prompt:
        prompt = step.prompts.get(command.prompt)
        if prompt is None or prompt.answer is not None or prompt.deadline is None:
            raise Rejected("already_answered", "That question is settled.", prompt=command.prompt)
        if prompt.deadline > step.now_ms or step.table.paused:
            raise Rejected("not_now", "That question still has time.", prompt=command.prompt, deadline=prompt.deadline)
        if _held_up(step, prompt):
            raise Rejected("busy", "Dice are being entered for an action; that comes first.", prompt=prompt.id)
        if prompt.owner[0] == "table":
            prompts.void(step, prompt)
            step.emit("deadline.passed", "No dice were entered in time; the action is off.", to=None, prompt=prompt.id, seat=prompt.to)
            return
        text = f"{step.seats[prompt.to].name if prompt.to in step.seats else prompt.to} did not answer in time."
        step.emit("deadline.passed", text, prompt=prompt.id, seat=prompt.to)
        prompts.by_default(step, prompt)
        return
    encounter = step.encounters.get(command.encounter)
    if encounter is None or encounter.turn != command.turn or encounter.deadline is None:
        raise Rejected("already_answered", "That turn is over.", encounter=command.encounter)
    if encounter.deadline > step.now_ms or step.table.paused:
        raise Rejected("not_now", "That turn still has time.", encounter=command.encounter, deadline=encounter.deadline)
    if encounter.pending or step.table.suspended is not None:
        # Somebody else holds the turn up, and their question has its own deadline; the turn gets a fresh one after it (turns.settle).
        step.change("encounters", encounter.id, deadline=None)
        return
    step.in_scene(encounter.scene, "turn.timeout", "The turn's time is up.", encounter=encounter.id)
    turns.end(step, encounter.id)


def _held_up(tree: Session | Step, prompt: Prompt) -> bool:
    """Whether a question cannot be settled yet, because dice that are being entered come first."""
    return tree.table.suspended is not None and prompt.owner[0] != "table"


def due(session: Session) -> int | None:
    """The earliest deadline of a session, in ms; None when nothing waits or the table is paused."""
    if session.table.paused:
        return None
    times = [p.deadline for p in session.prompts.values() if p.deadline is not None and p.answer is None and not _held_up(session, p)]
    times += [e.deadline for e in session.encounters.values() if e.deadline is not None]
    return min(times) if times else None


def overdue(session: Session, now_ms: int) -> list[c.Deadline]:
    """The deadline commands that are due now, each naming what it is for."""
    if session.table.paused:
        return []
    found = [
        c.Deadline(prompt=p.id)
        for p in session.prompts.values()
        if p.answer is None and p.deadline is not None and p.deadline <= now_ms and not _held_up(session, p)
    ]
    found += [
        c.Deadline(encounter=e.id, turn=e.turn) for e in session.encounters.values() if e.deadline is not None and e.deadline <= now_ms
    ]
    return found


def _end_turn(step: Step, command: c.EndTurn) -> None:
    _, encounter = turns.acting(step, command.combatant)
    if encounter is None:
        raise Rejected("not_now", "There are no turns outside an encounter.")
    turns.end(step, encounter.id)


def _delay_turn(step: Step, command: c.DelayTurn) -> None:
    _, encounter = turns.acting(step, command.combatant)
    if encounter is None:
        raise Rejected("not_now", "There are no turns outside an encounter.")
    turns.delay(step, encounter.id, command.after)


def _propose(step: Step, command: c.ProposeTest) -> None:
    testlife.propose(step, command.combatant, command.label)


def _withdraw(step: Step, command: c.WithdrawTest) -> None:
    testlife.withdraw(step, command.test)


def _salt(step: Step, command: c.Salt) -> None:
    dice_epochs.salt(step, step.by, command.salt)


def _new_dice(step: Step, command: c.NewDice) -> None:
    step.kind = "dice"
    dice_epochs.renew(step, command.reason)


def _upgrade(step: Step, command: c.Upgrade) -> None:
    rules = step.rules
    if not needs_upgrade(rules, step.before):
        raise Rejected("not_now", "This session is up to date.")
    step.kind = "upgraded"
    was = f"{step.header.engine}/{step.header.ruleset_version}"
    step.change("header", "", engine=ENGINE_VERSION, schema=SCHEMA, ruleset_version=rules.version, ruleset_schema=rules.schema_number)
    step.emit("session.upgraded", "The server was upgraded.", was=was, now=f"{ENGINE_VERSION}/{rules.version}")


def needs_upgrade(rules: Ruleset, session: Session) -> bool:
    """True when this code is newer than what the log was last written with. Raises Rejected("read_only") when it is older."""
    header = session.header
    theirs = (header.schema, header.ruleset_schema)
    ours = (SCHEMA, rules.schema_number)
    their_code, our_code = _numbers(header.engine, header.ruleset_version), _numbers(ENGINE_VERSION, rules.version)
    older_than_shape = any(their > our for their, our in zip(theirs, ours, strict=True))
    older_than_code = any(their > our for their, our in zip(their_code, our_code, strict=True))
    if older_than_shape or older_than_code:
        raise Rejected(
            "read_only",
            "A newer server has taken this session over; this one is too old to write to it.",
            theirs=list(theirs),
            ours=list(ours),
        )
    return theirs != ours or their_code != our_code


def _numbers(*versions: str) -> tuple[tuple[int, ...], ...]:
    """Versions as they are ordered: "0.10.2" comes after "0.9"."""
    return tuple(tuple(int(part) for part in re.findall(r"\d+", version)) for version in versions)


HANDLERS: dict[type, Callable[[Step, Any], None]] = {
    c.Answer: _answer,
    c.EndTurn: _end_turn,
    c.DelayTurn: _delay_turn,
    c.ProposeTest: _propose,
    c.WithdrawTest: _withdraw,
    c.Salt: _salt,
    c.Deadline: _deadline,
    c.NewDice: _new_dice,
    c.Upgrade: _upgrade,
    **talk.HANDLERS,
    **gm.HANDLERS,
}
