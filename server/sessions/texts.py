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
MAX_CHARS = 1_000_000


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
    """The texts of a session's latest entries, in memory; older ones are fetched before they are needed.

    At most MAX_KEPT of them and about MAX_CHARS characters in all. An erased text is kept as None.
    """

    def __init__(self) -> None:
        self._kept: OrderedDict[str, str | None] = OrderedDict()
        self._chars = 0

    def __len__(self) -> int:
        return len(self._kept)

    def put(self, text_id: str, body: str | None) -> None:
        self._chars += len(body or "") - len(self._kept.pop(text_id, None) or "")
        self._kept[text_id] = body
        # The newest stays whatever its size: it is about to be shown.
        while len(self._kept) > 1 and (len(self._kept) > MAX_KEPT or self._chars > MAX_CHARS):
            _, old = self._kept.popitem(last=False)
            self._chars -= len(old or "")

    def get(self, text_id: str) -> str | None:
        return self._kept.get(text_id)

    def missing(self, wanted: list[str]) -> list[str]:
        return [one for one in wanted if one not in self._kept]
