"""Syncs the embedded Valkey's append-only file to disk once a second, from outside.

With `appendfsync everysec` Valkey holds writes back in its memory while a sync is running (up to 2 s) and acknowledges them
all the same: measured with a disk that takes 0.7 s to sync, kill -9 lost the last 180 to 280 acknowledged writes. With
`appendfsync no` every acknowledged write has been handed to the operating system, and syncing is our job: a power cut costs
about a second, the death of any process nothing.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

import structlog

EVERY_S: Final = 1.0

_log = structlog.get_logger(__name__)


class AofSync:
    """Syncs what has grown below `folder`. `sync` is os.fsync but in tests."""

    def __init__(self, folder: Path, *, sync: Callable[[int], None] = os.fsync) -> None:
        self._folder = folder
        self._sync = sync
        self._synced: dict[str, tuple[int, int]] = {}
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.create_task(self._run(), name="store-aof-sync")

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(EVERY_S)
            try:
                await asyncio.to_thread(self.sync_grown)
            except OSError as error:
                _log.error("aof_sync_failed", said=str(error), folder=str(self._folder))

    def sync_grown(self) -> int:
        """Sync the log files that changed since the last call; returns how many. Blocks; raises OSError."""
        synced: dict[str, tuple[int, int]] = {}
        count = 0
        for path in sorted(self._folder.glob("*.aof")):
            try:
                handle = os.open(path, os.O_RDONLY)
            except FileNotFoundError:
                continue  # a rewrite replaced it
            try:
                state = os.fstat(handle)
                mark = (state.st_ino, state.st_size)
                if self._synced.get(path.name) != mark:
                    self._sync(handle)
                    count += 1
                synced[path.name] = mark
            finally:
                os.close(handle)
        self._synced = synced
        return count
