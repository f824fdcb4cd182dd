"""Golden vectors: messages with their bytes, and broken frames with what the server must answer.

Implementations in any language check themselves against messages.json and malformed.json; README.md says how.
`python -m protocol.vectors` writes both files from `samples` and `malformed`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import msgspec

from protocol.vectors.malformed import MALFORMED
from protocol.vectors.samples import FROM_CLIENT, FROM_SERVER

HERE: Final = Path(__file__).parent
FILES: Final = ("messages.json", "malformed.json")


def build(name: str) -> list[dict[str, Any]]:
    """The vectors that the file `name` must hold, freshly made."""
    if name == "malformed.json":
        return MALFORMED
    return [
        {"name": label, "from": side, "message": message, "msgpack": msgspec.msgpack.encode(message).hex()}
        for side, samples in (("client", FROM_CLIENT), ("server", FROM_SERVER))
        for label, message in samples.items()
    ]


def load(name: str) -> list[dict[str, Any]]:
    """The vectors in the committed file `name`."""
    vectors: list[dict[str, Any]] = json.loads((HERE / name).read_text(encoding="utf-8"))
    return vectors


def dump(vectors: list[dict[str, Any]]) -> str:
    """The text of a vector file."""
    return json.dumps(vectors, indent=1, ensure_ascii=False) + "\n"


def frame_of(vector: dict[str, Any]) -> bytes | str:
    """The broken frame of a vector of malformed.json, as it goes through the socket."""
    head, repeat, tail = vector["frame"]
    if vector["subprotocol"] == "dustup.v1.json":
        text: str = head + repeat[0] * repeat[1] + tail
        return text
    return bytes.fromhex(head + repeat[0] * repeat[1] + tail)
