"""Makes vectors_dice.json, from a second reading of the dice scheme that shares no line with the engine.

It works on hexadecimal text and whole integers instead of bytes and packed layouts. Run it and keep its output:
`python tests/unit/engine/make_vectors_dice.py > tests/unit/engine/vectors_dice.json`
"""

from __future__ import annotations

import hashlib
import json
import sys
from typing import Any


def sha256_of_hex(text: str) -> str:
    return hashlib.sha256(bytes.fromhex(text)).hexdigest()


def hex_with_length(text: str) -> str:
    inner = text.encode("utf-8").hex()
    return f"{len(inner) // 2:08x}{inner}"


def key_of(seed: str, salts: dict[str, str]) -> str:
    joined = "".join(hex_with_length(seat) + hex_with_length(salts[seat]) for seat in sorted(salts, key=str.encode))
    return sha256_of_hex(seed + (sha256_of_hex(joined) if salts else "00" * 32))


def faces_of(key: str, n: int, count: int, sides: int) -> list[int]:
    digits = 2 if sides <= 256 else 8
    usable = 16**digits // sides * sides
    stream, block = "", 0
    while True:
        values = [int(stream[at : at + digits], 16) for at in range(0, len(stream), digits)]
        good = [1 + value % sides for value in values if value < usable]
        if len(good) >= count:
            return good[:count]
        stream += sha256_of_hex(f"{key}{n:016x}{block:08x}")
        block += 1


# Seat ids in an order that sorts differently by character, by byte and by UTF-16 unit.
EPOCHS: list[tuple[str, int, dict[str, str]]] = [
    ("open", 0, {}),
    ("open", 1, {"gm": "rain on the window"}),
    ("open", 2, {"zoe": "7", "Bo": "", "ann": "Würfel", "\U0001f3b2": "骰子", "\uff21": "x" * 64}),
    ("hidden", 0, {"gm": "nobody peeks"}),
]
# (epoch, n, count, sides): every kind of die, several blocks, numbers around each power that a layout could get wrong.
ROLLS: list[tuple[int, int, int, int]] = [
    (0, 1, 1, 20),
    (0, 2, 2, 20),
    (0, 3, 32, 256),
    (0, 4, 33, 256),
    (0, 5, 40, 6),
    (0, 255, 3, 2),
    (0, 256, 100, 129),
    (1, 257, 8, 257),
    (1, 65535, 9, 257),
    (1, 65536, 5, 1000),
    (1, 4294967295, 12, 10),
    (1, 4294967296, 20, 1_000_000_000),
    (2, 4294967297, 1000, 3),
    (2, 9007199254740991, 4, 100),
    (3, 1, 5, 6),
    (3, 2, 3, 255),
]


def vectors() -> dict[str, Any]:
    epochs, keys = [], []
    for number, (stream, index, salts) in enumerate(EPOCHS):
        seed = sha256_of_hex(f"{number:02x}")
        keys.append(key_of(seed, salts))
        epochs.append(
            {
                "stream": stream,
                "index": index,
                "commitment": sha256_of_hex(seed),
                "seed": seed,
                "salts": [list(pair) for pair in salts.items()],
                "key": keys[-1],
            }
        )
    rolls = [
        {
            "stream": EPOCHS[at][0],
            "index": EPOCHS[at][1],
            "n": n,
            "sides": sides,
            "faces": faces_of(keys[at], n, count, sides),
            "purpose": "test",
        }
        for at, n, count, sides in ROLLS
    ]
    return {"scheme": "sha256-ctr-1", "epochs": epochs, "rolls": rolls}


if __name__ == "__main__":
    found = vectors()
    lines = [",\n    ".join(json.dumps(item) for item in found[part]) for part in ("epochs", "rolls")]
    sys.stdout.write(f'{{\n  "scheme": "{found["scheme"]}",\n  "epochs": [\n    {lines[0]}\n  ],\n  "rolls": [\n    {lines[1]}\n  ]\n}}\n')
