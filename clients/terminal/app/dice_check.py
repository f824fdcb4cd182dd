"""Checks the dice of a table from its events alone, by docs/dice.md: seeds against their commitments, faces against their seeds."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from .look import rolls_of

SCHEME = "sha256-ctr-1"


@dataclass
class Epoch:
    """One dice epoch of a stream and how its rolls fared. `commitment` is what was published before, "" when that was not seen."""

    stream: str
    index: int
    commitment: str = ""
    seed: str = ""
    seed_fits: bool | None = None
    """Whether the seed is the one committed to; None while it is not revealed, or when no commitment was seen."""
    right: int = 0
    wrong: list[int] = field(default_factory=list)
    """Numbers of rolls whose faces are not those of the seed."""
    entered: int = 0
    """Rolls with physical dice: nothing to compute."""
    waiting: int = 0
    """Rolls that can be checked once the seed is revealed."""
    key: bytes = b""

    @property
    def good(self) -> bool:
        return self.seed_fits is not False and not self.wrong


def _prefixed(text: str) -> bytes:
    data = text.encode()
    return struct.pack(">I", len(data)) + data


def key_of(seed: str, salts: Iterable[Any]) -> bytes:
    """The key of a dice epoch from its seed (hex) and the pairs [seat, salt]."""
    pairs = sorted(((str(seat), str(salt)) for seat, salt in salts), key=lambda pair: pair[0].encode())
    table = sha256(b"".join(_prefixed(text) for pair in pairs for text in pair)).digest() if pairs else bytes(32)
    return sha256(bytes.fromhex(seed) + table).digest()


def draw(key: bytes, n: int, count: int, sides: int) -> list[int]:
    """The `count` faces of roll `n`, each from 1 to `sides`."""
    size, values = (1, 256) if sides <= 256 else (4, 2**32)
    limit = values - values % sides
    faces: list[int] = []
    block = 0
    while len(faces) < count:
        data = sha256(key + struct.pack(">QI", n, block)).digest()
        for at in range(0, 32, size):
            value = int.from_bytes(data[at : at + size], "big")
            if value < limit:
                faces.append(value % sides + 1)
        block += 1
    return faces[:count]


class Check:
    """Takes frames oldest first, then `epochs()` gives what came out. Unknown or broken events are counted in `unread`."""

    def __init__(self) -> None:
        self._epochs: dict[tuple[str, int], Epoch] = {}
        self._rolls: list[tuple[str, int, int, int, list[int], list[tuple[int, int]], bool]] = []
        self.unread = 0

    def take(self, frames: Iterable[Mapping[str, Any]]) -> None:
        for frame in frames:
            for event in frame.get("events") or []:
                try:
                    self._event(event)
                except (KeyError, TypeError, ValueError):
                    self.unread += 1

    def _event(self, event: Mapping[str, Any]) -> None:
        kind = event.get("type")
        if kind == "dice.opened":
            if event.get("scheme", SCHEME) != SCHEME:
                raise ValueError("another scheme")
            self._epoch(event["stream"], event["index"]).commitment = str(event["commitment"])
        elif kind == "dice.revealed":
            epoch = self._epoch(event["stream"], event["index"])
            epoch.seed = str(event["seed"])
            epoch.key = key_of(epoch.seed, event.get("salts") or [])
            if epoch.commitment:
                epoch.seed_fits = sha256(bytes.fromhex(epoch.seed)).hexdigest() == epoch.commitment
        for roll in rolls_of(event):
            faces = [int(face) for face in roll["faces"]]
            known = (str(roll["stream"]), int(roll["index"]), int(roll["n"]), int(roll["sides"]))
            kept = [(int(voided), int(count)) for voided, count in roll.get("kept") or []]
            self._rolls.append((*known, faces, kept, roll.get("proven") is not False))

    def _epoch(self, stream: Any, index: Any) -> Epoch:
        return self._epochs.setdefault((str(stream), int(index)), Epoch(str(stream), int(index)))

    def epochs(self) -> list[Epoch]:
        """Every dice epoch seen, in order of stream and number, with its rolls counted."""
        for epoch in self._epochs.values():
            epoch.right = epoch.entered = epoch.waiting = 0
            epoch.wrong = []
        left: dict[tuple[str, int], list[int]] = {}
        for stream, index, n, sides, faces, kept, proven in self._rolls:
            epoch = self._epoch(stream, index)
            fresh, fits = list(faces), True
            for voided, count in kept:
                old = left.get((stream, voided))
                if old is not None:  # a roll that was never shown to this seat cannot be compared
                    fits = fits and old[:count] == fresh[:count]
                    left[stream, voided] = old[count:]
                fresh = fresh[count:]
            left[stream, n] = list(faces)
            if not fits:
                epoch.wrong.append(n)
            elif fresh and not proven:
                epoch.entered += 1
            elif fresh and not epoch.key:
                epoch.waiting += 1
            elif fresh and draw(epoch.key, n, len(fresh), sides) != fresh:
                epoch.wrong.append(n)
            else:
                epoch.right += 1
        return [self._epochs[key] for key in sorted(self._epochs)]
