"""The command `dustup` as a process of its own: run to its end, or started and watched line by line.

done = dustup("session", "list", "--data", folder)
async with started("serve", "--store", "memory", "--port", "0") as server:
    line = await server.line("listens on")
"""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_S = 90.0
"""Far more than anything here needs: it only keeps a hang from lasting for ever."""


def environment(**more: str) -> dict[str, str]:
    """The environment of this test, with the checkout where Python looks for packages."""
    return {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'clients/python'}", "PYTHONUNBUFFERED": "1", "COLUMNS": "100", **more}


def command(*arguments: str | Path) -> list[str]:
    return [sys.executable, "-m", "server.cli", *map(str, arguments)]


def dustup(*arguments: str | Path, stdin: str = "", **more: str) -> subprocess.CompletedProcess[str]:
    """Run a command to its end; `more` is added to the environment."""
    return subprocess.run(
        command(*arguments), input=stdin, capture_output=True, text=True, env=environment(**more), timeout=PATIENCE_S, check=False, cwd=ROOT
    )


def output(*arguments: str | Path, stdin: str = "", **more: str) -> str:
    """What a command that succeeds writes to standard output, without the last line end."""
    done = dustup(*arguments, stdin=stdin, **more)
    assert done.returncode == 0, (arguments, done.stdout, done.stderr)
    return done.stdout.rstrip("\n")


def refused(done: subprocess.CompletedProcess[str], *words: str) -> str:
    """The one sentence on standard error of a command that could not be done; all `words` must be in it."""
    assert done.returncode == 2, (done.returncode, done.stdout, done.stderr)
    assert "Traceback" not in done.stderr
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("dustup: "), lines
    assert "something unexpected" not in lines[0], lines
    for word in words:
        assert word in lines[0], (word, lines[0])
    return lines[0]


class Running:
    """A started command. Its output is read line by line; `seen` keeps every line."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.seen: list[str] = []

    async def line(self, pattern: str) -> str:
        """The next line that `pattern` (a regular expression) is found in. AssertionError when the output ends before."""
        assert self.process.stdout is not None
        async with asyncio.timeout(PATIENCE_S):
            while True:
                raw = await self.process.stdout.readline()
                assert raw, f"no line with {pattern!r}; seen: {self.seen[-20:]}"
                self.seen.append(raw.decode().rstrip("\n"))
                if re.search(pattern, self.seen[-1]):
                    return self.seen[-1]

    async def rest(self) -> str:
        """Everything until the output ends."""
        assert self.process.stdout is not None
        async with asyncio.timeout(PATIENCE_S):
            return (await self.process.stdout.read()).decode()

    async def say(self, text: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(text.encode() + b"\n")
        await self.process.stdin.drain()

    async def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Send a signal and wait for the exit code."""
        if self.process.returncode is None:
            self.process.send_signal(number)
        async with asyncio.timeout(PATIENCE_S):
            return await self.process.wait()


@asynccontextmanager
async def started(*arguments: str | Path, **more: str) -> AsyncIterator[Running]:
    """Start a command; it is stopped at the end of the block, in good order if it can be."""
    process = await asyncio.create_subprocess_exec(
        *command(*arguments),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=environment(**more),
        cwd=ROOT,
        limit=1024 * 1024,
    )
    running = Running(process)
    try:
        yield running
    finally:
        if process.returncode is None:
            process.terminate()
        # Its output is read to the end, so that a full pipe cannot keep it from ending.
        await asyncio.wait_for(process.communicate(), PATIENCE_S)
