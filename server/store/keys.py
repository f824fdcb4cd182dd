"""Where everything lives: the names of a store's keys and channels, and the one way a Commit becomes script arguments."""

from __future__ import annotations

import re
from binascii import crc32
from collections.abc import Sequence
from typing import Final, NamedTuple

from server.store.base import Commit

DUE_BUCKETS: Final = 16
RESERVED_META: Final = frozenset({"v", "stamp", "snap"})

_ID = re.compile(r"[A-Za-z0-9_.:-]{1,64}", re.ASCII)
_PREFIX = re.compile(r"[A-Za-z0-9_.:-]{1,32}", re.ASCII)
_KEPT: Final = 4096

Argument = str | bytes | int


class SessionKeys(NamedTuple):
    """The keys of one session, all in one slot, in the order the scripts take them; `channel` carries its hints."""

    log: str
    snap: str
    meta: str
    ids: str
    text: str
    seed: str
    channel: str


class Keys:
    """The key space below one prefix ("dustup" unless a store is shared by several installations)."""

    def __init__(self, prefix: str = "dustup") -> None:
        if not _PREFIX.fullmatch(prefix):
            raise ValueError(f"the key prefix {prefix!r} is not allowed: use 1 to 32 of A-Z a-z 0-9 _ . : -")
        self.prefix = prefix
        self.meta_pattern = f"{prefix}:{{*}}:meta"
        self.ping = f"{prefix}:ping"
        self.listener = f"{prefix}:listener"
        self.due = tuple(f"{prefix}:due:{bucket}" for bucket in range(DUE_BUCKETS))
        self._sessions: dict[str, SessionKeys] = {}

    def session(self, session: str) -> SessionKeys:
        """The keys of a session. Raises ValueError for a name that could reach into another session's slot."""
        keys = self._sessions.get(session)
        if keys is None:
            if not _ID.fullmatch(session):
                raise ValueError(f"session id {session[:64]!a} is not allowed: use 1 to 64 of A-Z a-z 0-9 _ . : -")
            base = f"{self.prefix}:{{{session}}}:"
            keys = SessionKeys(*(base + part for part in ("log", "snap", "meta", "ids", "text", "seed", "v")))
            if len(self._sessions) >= _KEPT:
                self._sessions.clear()
            self._sessions[session] = keys
        return keys

    def session_of(self, key: bytes) -> str:
        """The session a session key or channel belongs to."""
        return key[len(self.prefix) + 2 : key.rindex(b"}")].decode()

    def due_bucket(self, session: str) -> str:
        return self.due[crc32(session.encode()) % DUE_BUCKETS]

    def value(self, key: str) -> str:
        return f"{self.prefix}:kv:{key}"


def check_meta(fields: Sequence[tuple[str, str]]) -> None:
    """Raises ValueError when a caller would overwrite what the commit script keeps itself."""
    for name, _ in fields:
        if name in RESERVED_META:
            raise ValueError(f"meta field {name!r} is kept by the store itself")


def commit_arguments(keys: SessionKeys, commit: Commit, seed: bytes | None = None) -> list[Argument]:
    """The keys and arguments of commit.lua, in its order; `seed` makes it a creation. Raises ValueError for a malformed Commit."""
    if commit.v != commit.base_v + 1 or commit.base_v < 0:
        raise ValueError(f"versions are gapless: v {commit.v} cannot follow {commit.base_v}")
    if (commit.base_v == 0) != (seed is not None):
        raise ValueError("the first entry, and only the first, is made by create()")
    if not commit.stamp or not commit.entry:
        raise ValueError("a commit needs a stamp and an entry")
    if commit.client == "" or commit.n < 0:
        raise ValueError("an action id needs a client and a number from 0")
    arguments: list[Argument] = [
        *keys[:6],
        "append" if seed is None else "create",
        keys.channel,
        commit.base_v,
        commit.base_stamp,
        commit.v,
        commit.stamp,
        commit.entry,
        commit.client or "",
        commit.n,
        commit.snapshot or b"",
        seed or b"",
        2 * len(commit.meta),
    ]
    if commit.meta:
        check_meta(commit.meta)
        for pair in commit.meta:
            arguments += pair
    for text_id, body in commit.texts:
        arguments += (text_id, body)
    return arguments
