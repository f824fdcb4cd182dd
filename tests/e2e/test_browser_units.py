"""The browser client's own tests and checks, run by Node: its parts without a page, its catalogues, its types and its layout."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CLIENT = ROOT / "clients" / "browser"

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120), pytest.mark.xdist_group("browser-client")]


@pytest.fixture(scope="module")
def npm() -> str:
    program = shutil.which("npm")
    if program is None:
        pytest.skip("there is no npm here to test the browser client with")
    subprocess.run(["bash", "clients/browser/build.sh"], cwd=ROOT, check=True, timeout=100, capture_output=True)
    if not (CLIENT / "node_modules" / ".bin" / "tsc").exists():
        pytest.skip("the browser client's packages could not be installed here")
    return program


def run(npm: str, script: str) -> None:
    done = subprocess.run([npm, "run", "-s", script], cwd=CLIENT, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]


def test_the_parts_without_a_page_hold_what_their_tests_say(npm: str):
    run(npm, "test")


def test_types_and_layout_of_the_sources_are_right(npm: str):
    run(npm, "check")


def test_the_lock_file_names_no_registry():
    text = (CLIENT / "package-lock.json").read_text("utf-8")
    assert '"resolved"' not in text
    assert '"integrity"' in text
