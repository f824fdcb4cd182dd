"""Checks dice as a stranger would: from the frames a spectator was sent and docs/dice.md, with nothing of the engine.

Kept apart from engine.dice on purpose: a mistake there must not excuse itself here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Epoch = tuple[str, int]


@dataclass(slots=True)
class Checked:
    """`rolls` and `dice` recomputed from a revealed seed, rolls that `waiting` for one, and the first `difference` ("" for none)."""

    rolls: int = 0
    dice: int = 0
    entered: int = 0
    waiting: int = 0
    difference: str = ""


def check(frames: Iterable[Mapping[str, Any]]) -> Checked:
    """Check every roll that these frames (oldest first) tell of. Raises nothing: a roll that makes no sense is a difference."""
    commitments: dict[Epoch, str] = {}
    keys: dict[Epoch, bytes] = {}
    rolls: list[Mapping[str, Any]] = []
    checked = Checked()
    try:
        for frame in frames:
            for event in frame.get("events") or []:
                data = event.get("data") or event
                if event.get("type") == "dice.opened":
                    commitments.setdefault((data["stream"], data["index"]), data["commitment"])
                elif event.get("type") == "dice.revealed":
                    epoch = (data["stream"], data["index"])
                    seed = bytes.fromhex(data["seed"])
                    # The commitment counts that was published beforehand, not the one that comes with the seed.
                    if hashlib.sha256(seed).hexdigest() != commitments.get(epoch):
                        checked.difference = f"the seed of the {epoch[0]} dice, number {epoch[1]}, is not the one committed to"
                        return checked
                    keys[epoch] = key_of(seed, data["salts"])
                else:
                    rolls.extend(_rolls_in(data))
        _compare(rolls, keys, checked)
    except (KeyError, TypeError, ValueError, AttributeError) as problem:
        checked.difference = f"something about the dice cannot be read: {problem!r}"
    return checked


def _rolls_in(value: Any) -> Iterator[Mapping[str, Any]]:
    """Every roll told anywhere inside an event."""
    if isinstance(value, Mapping):
        if {"stream", "index", "n", "sides", "faces"} <= value.keys():
            yield value
        else:
            for inner in value.values():
                yield from _rolls_in(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _rolls_in(inner)


def _compare(rolls: list[Mapping[str, Any]], keys: Mapping[Epoch, bytes], checked: Checked) -> None:
    last: dict[str, int] = {}
    faces_of: dict[tuple[str, int], list[int]] = {}
    for roll in rolls:
        stream, n, faces = roll["stream"], roll["n"], list(roll["faces"])
        if faces_of.get((stream, n)) == faces:
            continue  # told of twice, in two events
        where = f"roll {n} of the {stream} dice"
        if n <= last.get(stream, 0):
            checked.difference = f"{where} comes after roll {last[stream]}"
            return
        last[stream] = n
        faces_of[stream, n] = faces
        fresh = faces[sum(count for _, count in roll.get("kept") or []) :]
        key = keys.get((stream, roll["index"]))
        if fresh and not roll.get("proven", True):
            checked.entered += 1
        elif fresh and key is None:
            checked.waiting += 1
        else:
            expected = draw(key, n, len(fresh), roll["sides"]) if fresh and key is not None else []
            if expected != fresh:
                checked.difference = f"{where}: the seed gives {expected}, the table showed {fresh}"
                return
            checked.rolls += 1
            checked.dice += len(fresh)


def key_of(seed: bytes, salts: Iterable[tuple[str, str]]) -> bytes:
    """The key of a dice epoch from its seed and the (seat, salt) pairs."""
    pairs = sorted((seat.encode(), salt.encode()) for seat, salt in salts)
    lengths_and_texts = b"".join(len(text).to_bytes(4, "big") + text for pair in pairs for text in pair)
    return hashlib.sha256(seed + (hashlib.sha256(lengths_and_texts).digest() if pairs else bytes(32))).digest()


def draw(key: bytes, n: int, count: int, sides: int) -> list[int]:
    """The faces of roll `n`."""
    width = 1 if sides <= 256 else 4
    values = 256**width
    faces: list[int] = []
    block = 0
    while len(faces) < count:
        data = hashlib.sha256(key + n.to_bytes(8, "big") + block.to_bytes(4, "big")).digest()
        numbers = (int.from_bytes(data[at : at + width], "big") for at in range(0, 32, width))
        faces += [number % sides + 1 for number in numbers if number < values - values % sides]
        block += 1
    return faces[:count]
