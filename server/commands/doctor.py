"""`dustup doctor`: look at everything a server needs, and say of each what to try when it is not as it should be."""

from __future__ import annotations

import json
import sys
from typing import Any, Final

import click

from server.commands._settings import SettingsCommand, config_of, settings

EPILOG: Final = """\b
Examples:
  dustup doctor
  dustup doctor --redis redis://db.example:6379/0
  dustup doctor --config dustup.toml --json

\b
Give it the settings the server is to run with. Nothing is changed, and it may
run beside a server. Exit codes: 0 nothing fails (warnings may remain),
1 something fails, 2 the settings themselves cannot be used.
"""

MARKS: Final = {"ok": ("ok  ", "green"), "warn": ("warn", "yellow"), "fail": ("FAIL", "red")}


@click.command("doctor", cls=SettingsCommand, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--json", "as_json", is_flag=True, help="The findings as JSON.")
@settings()
def doctor(as_json: bool, **given: Any) -> int:
    """Look for what could keep a server from running well."""
    from server.commands._checks import look
    from server.commands._common import know_rulesets, quiet_logs, run_async

    config = config_of(given)
    quiet_logs("critical")
    know_rulesets()
    findings = run_async(look(config))
    failed = sum(one.state == "fail" for one in findings)
    if as_json:
        click.echo(json.dumps([{"check": one.check, "state": one.state, "found": one.found, "try": one.advice} for one in findings]))
        return 1 if failed else 0
    for one in findings:
        mark, colour = MARKS[one.state]
        click.echo(f"{click.style(mark, fg=colour) if sys.stdout.isatty() else mark}  {one.check}: {one.found}")
        if one.advice:
            click.echo(f"      try: {one.advice}")
    warned = sum(one.state == "warn" for one in findings)
    click.echo(f"{len(findings) - failed - warned} ok, {warned} warnings, {failed} failures.")
    return 1 if failed else 0
