"""Where sessions live. `open_store` picks the implementation; `base` says what each of them promises."""

from __future__ import annotations

from pathlib import Path

from server.store.base import Commit, Committed, Loaded, Status, Store, StoreReadOnly, StoreUnavailable

__all__ = ["Commit", "Committed", "Loaded", "Status", "Store", "StoreReadOnly", "StoreUnavailable", "open_store"]


def open_store(where: str, data_dir: Path | str | None = None, *, durability: str = "everysec") -> Store:
    """The store `where` names, not started yet: "embedded" (needs `data_dir`), "memory", or a redis://, rediss:// or unix:// URL.

    `durability` is "everysec", "always" or "replicas=N"; "memory" promises nothing and takes only "everysec". Raises ValueError
    with a sentence for people when the combination makes no sense.
    """
    # Imported here, so that a server on Redis loads no fakeredis and one on Windows no process control.
    if where == "memory":
        from server.store.memory import MemoryStore

        if durability != "everysec":
            raise ValueError(f"--store memory cannot promise durability {durability!r}: use the embedded store or --redis URL")
        return MemoryStore()
    if where == "embedded":
        if data_dir is None:
            raise ValueError("the embedded store needs a data folder: give one with --data")
        try:
            from server.store.embedded import EmbeddedStore
        except ImportError as error:
            raise ValueError(f"the embedded store does not run on this platform ({error}): use --redis URL or --store memory") from error
        return EmbeddedStore(data_dir, durability)
    from server.store.redis import RedisStore

    return RedisStore(where, durability)
