"""Dice epochs inside a session: open one with a commitment, take salt until its first roll, reveal its seed and go on with a fresh one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from engine.rejected import Rejected
from engine.session import Stream

if TYPE_CHECKING:
    from engine.step import Step


def begin(step: Step, name: str, index: int, n: int) -> None:
    """Open dice epoch `index` of a stream: publish the commitment of its seed; its first roll will be n + 1."""
    commitment = step.commitment(name, index)
    stream = Stream(index=index, commitment=commitment, n=n, first=n + 1)
    if name == "open":
        step.change("table", "", open=stream)
    else:
        step.change("table", "", hidden=stream)
    step.emit(
        "dice.opened",
        f"New {name} dice, number {index}: the server has committed to their seed.",
        stream=name,
        index=index,
        commitment=commitment,
        scheme=step.header.scheme,
    )


def rotate(step: Step, name: str) -> None:
    """Reveal a stream's seed and open the next epoch. An epoch that never rolled, or physical dice, need no new one."""
    stream: Stream = step.table.open if name == "open" else step.table.hidden
    if not stream.closed or step.table.physical:
        return
    seed = step.reveal(name, stream.index)
    step.emit(
        "dice.revealed",
        f"The seed of the {name} dice, number {stream.index}, is revealed: every roll from {stream.first} to {stream.n} can be checked.",
        stream=name,
        index=stream.index,
        seed=seed,
        commitment=stream.commitment,
        salts=[list(one) for one in stream.salts],
        first=stream.first,
        last=stream.n,
    )
    begin(step, name, stream.index + 1, stream.n)


def renew(step: Step, reason: str) -> None:
    """Open new epochs on both streams without revealing: the log was forked, restored or imported, so lost rolls must not repeat."""
    step.change("table", "", kept=())
    for name, stream in (("open", step.table.open), ("hidden", step.table.hidden)):
        step.emit(
            "dice.dropped",
            f"The {name} dice, number {stream.index}, are dropped: {reason}.",
            stream=name,
            index=stream.index,
            reason=reason,
        )
        begin(step, name, stream.index + 1, stream.n)


def salt(step: Step, seat: str, text: str) -> None:
    """Add a seat's salt to every epoch that has not rolled yet. Raises Rejected when both have."""
    added = []
    for name in ("open", "hidden"):
        stream: Stream = step.table.open if name == "open" else step.table.hidden
        if not stream.closed:
            salts = tuple(sorted({**dict(stream.salts), seat: text}.items()))
            changed = replace(stream, salts=salts)
            if name == "open":
                step.change("table", "", open=changed)
            else:
                step.change("table", "", hidden=changed)
            added.append(name)
    if "open" not in added:
        raise Rejected("not_now", "These dice have rolled already; salt goes in before the first roll of a dice epoch.")
    step.emit("dice.salted", f"{step.seats[seat].name} added salt to the dice.", seat=seat, salt=text, streams=["open"])
