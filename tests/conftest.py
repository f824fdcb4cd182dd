"""What every test shares: hypothesis profiles, command line options, a clean environment, a watch on leaked processes."""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from collections import Counter
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Examples are random on purpose: a run that always draws the same ones finds nothing new. A failure prints what repeats it.
# Machines that run other work beside the tests are slow at times, which says nothing about the code: no deadline, no "too slow".
_SHARED = settings(deadline=None, derandomize=False, print_blob=True, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("dev", _SHARED, max_examples=40)
settings.register_profile("ci", _SHARED, max_examples=60)
settings.register_profile("soak", _SHARED, max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "dev"))


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("dustup")
    group.addoption(
        "--ruleset", action="append", default=[], metavar="NAME", help="of the tests made for each ruleset, run only this one's"
    )
    group.addoption(
        "--cases", action="append", default=[], metavar="DIR", help="run the rule cases in DIR instead of our own (tests/rules/README.md)"
    )


def _parameter(item: pytest.Item, name: str) -> str | None:
    """The value of a parametrized argument as text: its `id` or `name` if it has one; None when the test has no such argument."""
    callspec = getattr(item, "callspec", None)
    if callspec is None or name not in callspec.params:
        return None
    value = callspec.params[name]
    return str(getattr(value, "id", None) or getattr(value, "name", None) or value)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    rulesets: list[str] = config.getoption("--ruleset")
    soak_asked_for = "soak" in config.getoption("-m")

    def wanted(item: pytest.Item) -> bool:
        if item.get_closest_marker("soak") and not soak_asked_for:
            return False
        ruleset = _parameter(item, "ruleset")
        return not rulesets or ruleset is None or ruleset in rulesets

    left_out = [item for item in items if not wanted(item)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if wanted(item)]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A failure that shows half a surrogate pair could not be sent by a worker, and would end the whole run unexplained."""
    report = yield
    shown = str(report.longrepr or "")
    if not isinstance(report.longrepr, tuple) and any("\ud800" <= one <= "\udfff" for one in shown):
        report.longrepr = shown.encode("utf-8", "backslashreplace").decode()
    report.sections = [(title, text.encode("utf-8", "backslashreplace").decode()) for title, text in report.sections]
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what was not run here and why, one line a reason, so that a skip is never overlooked."""
    reasons: Counter[str] = Counter()
    for report in terminalreporter.stats.get("skipped", []):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        reasons[reason.removeprefix("Skipped: ")] += 1
    if reasons:
        terminalreporter.section("not run here")
        for reason, count in reasons.most_common():
            terminalreporter.write_line(f"{count:5} x {reason}")


@pytest.fixture(scope="session", autouse=True)
def _own_folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep tests, and all they start, away from the data and the settings of whoever runs them."""
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("DUSTUP_")]:
            patch.delenv(name)
        for name in ("DATA", "CONFIG", "STATE", "CACHE"):
            patch.setenv(f"XDG_{name}_HOME", str(tmp_path_factory.mktemp(name.lower())))
        yield


@pytest.fixture(scope="session", autouse=True)
def _no_process_left_behind(_own_folders: None) -> Iterator[None]:
    """Fail, naming them, if processes that tests started still run when all tests of this worker are over; and end them.

    A mark in the environment finds also those whose parent was killed. Linux only: elsewhere it checks nothing.
    """
    if not sys.platform.startswith("linux"):
        yield
        return
    mark = f"DUSTUP_TESTED_BY={os.getpid()}"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(*mark.split("="))
        yield
    left = _still_running(mark.encode(), patience=5.0)
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert not left, f"tests left these processes running: {left}"


def _still_running(mark: bytes, patience: float) -> dict[int, str]:
    """Processes that carry the mark, by pid with their command lines, once each had up to `patience` seconds to end."""
    until = time.monotonic() + patience
    left: dict[int, str] = {}
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit() or int(folder.name) == os.getpid():
            continue
        try:
            if mark not in (folder / "environ").read_bytes().split(b"\0"):
                continue
            command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
            handle = os.pidfd_open(int(folder.name))
        except OSError:  # it ended meanwhile, or belongs to someone else
            continue
        ended, _, _ = select.select([handle], [], [], max(0.0, until - time.monotonic()))
        os.close(handle)
        # Python's own helper for shared memory ends with the process that uses it.
        if not ended and "multiprocessing.resource_tracker" not in command:
            left[int(folder.name)] = command
    return left
