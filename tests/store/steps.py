"""A pretend table for store tests: makes the commits a session actor would make, and remembers what must be in the log."""

from __future__ import annotations

import itertools

from server.store.base import Commit, Committed, Store

_marks = itertools.count(1)


def mark() -> str:
    """A stamp no other step has."""
    return f"{next(_marks):016x}"


class Table:
    """One session as its writer knows it: the top it would build on, and every entry that was confirmed."""

    def __init__(self, store: Store, session: str) -> None:
        self.store = store
        self.session = session
        self.v = 0
        self.stamp = ""
        self.log: list[tuple[int, bytes]] = []

    def next(
        self,
        *,
        client: str | None = None,
        n: int = 0,
        snapshot: bytes | None = None,
        meta: tuple[tuple[str, str], ...] = (),
        texts: tuple[tuple[str, bytes], ...] = (),
        entry: bytes | None = None,
    ) -> Commit:
        """The commit that would follow what this table knows."""
        v, stamp = self.v + 1, mark()
        entry = entry if entry is not None else f"{self.session} {v} {stamp}".encode()
        return Commit(self.session, self.v, self.stamp, v, stamp, entry, client, n, snapshot, meta, texts)

    def took(self, commit: Commit) -> None:
        self.v, self.stamp = commit.v, commit.stamp
        self.log.append((commit.v, commit.entry))

    async def create(self, *, seed: bytes = b"seed", meta: tuple[tuple[str, str], ...] = (("epoch", "e0"),)) -> Committed:
        commit = self.next(snapshot=b"snapshot 1", meta=meta)
        answer = await self.store.create(commit, seed=seed)
        assert answer.status == "ok"
        self.took(commit)
        return answer

    async def add(
        self,
        *,
        client: str | None = None,
        n: int = 0,
        snapshot: bytes | None = None,
        meta: tuple[tuple[str, str], ...] = (),
        texts: tuple[tuple[str, bytes], ...] = (),
        entry: bytes | None = None,
    ) -> Committed:
        """Commit one more step, which must be taken."""
        commit = self.next(client=client, n=n, snapshot=snapshot, meta=meta, texts=texts, entry=entry)
        answer = await self.store.commit(commit)
        assert (answer.status, answer.v) == ("ok", commit.v)
        self.took(commit)
        return answer
