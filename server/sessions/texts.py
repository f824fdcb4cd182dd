"""Chat and post texts stay outside the log: commands carry a reference and a hash, so a text can be erased and the audit still passes."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from typing import Any

import msgspec

from engine import Rejected
from engine.commands import TextRef
from server import ids

MAX_KEPT = 2000


def detach(command: Any) -> tuple[Any, tuple[tuple[str, bytes], ...]]:
    """A command without its text, and the text to store by id. Raises Rejected when a client sent a reference of its own."""
    text = getattr(command, "text", None)
    if text is None or not hasattr(command, "to"):
        return command, ()
    if isinstance(text, TextRef):
        raise Rejected("bad_command", "A text is a string.")
    text_id = ids.text_id()
    salt = ids.stamp()
    body = text.encode()
    # The salt is stored with the text and erased with it: a bare hash of a short line could be guessed for ever.
    digest = hashlib.sha256(salt.encode() + body).hexdigest()
    return msgspec.structs.replace(command, text=TextRef(id=text_id, sha256=digest)), ((text_id, salt.encode() + body),)


def read(stored: bytes) -> str:
    """The text of a stored body."""
    return stored[16:].decode("utf-8", "replace")


class Bodies:
    """The texts of a session's latest entries, in memory; older ones are fetched before they are needed."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, str | None] = OrderedDict()

    def put(self, text_id: str, body: str | None) -> None:
        self._kept[text_id] = body
        self._kept.move_to_end(text_id)
        if len(self._kept) > MAX_KEPT:
            self._kept.popitem(last=False)

    def get(self, text_id: str) -> str | None:
        return self._kept.get(text_id)

    def missing(self, wanted: list[str]) -> list[str]:
        return [one for one in wanted if one not in self._kept]
