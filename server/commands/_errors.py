"""What went wrong, as one sentence that says what to try."""

from __future__ import annotations

import sys
from typing import Final

import click

_KNOWN: Final = (
    ("server.config", "ConfigError"),
    ("server.store.base", "StoreUnavailable"),
    ("server.sessions.actor", "SessionGone"),
    ("server.gateway.auth", "AuthError"),
    ("server.gateway.invites", "InviteError"),
    ("server.exports", "ExportError"),
    ("server.imports", "ImportRefused"),
    ("engine.rejected", "Rejected"),
    ("engine.replay", "LogError"),
    ("dustup.errors", "DustupError"),
)
"""Errors whose own text is written for people, by module: one whose module was never loaded cannot have been raised."""


class Failure(click.ClickException):
    """It cannot be done; the sentence says why and what to try."""

    exit_code = 2


def explain(error: BaseException) -> tuple[str, int]:
    """(one sentence, exit code) for any error."""
    error = innermost(error)
    if isinstance(error, click.UsageError):
        where = f" Try: {error.ctx.command_path} --help" if error.ctx is not None else ""
        return one_line(error.format_message()) + where, 2
    if isinstance(error, click.ClickException):
        return one_line(error.format_message()), 2
    for module, name in _KNOWN:
        kind = getattr(sys.modules.get(module), name, None)
        if kind is not None and isinstance(error, kind):
            return one_line(getattr(error, "text", "") or str(error)), 2
    if isinstance(error, OSError) and error.strerror:
        return one_line(f"{error.filename}: {error.strerror}." if error.filename else f"{error.strerror}."), 2
    return one_line(
        f"something unexpected happened ({type(error).__name__}: {error}). `dustup --debug ...` shows where; please report it."
    ), 2


def innermost(error: BaseException) -> BaseException:
    """What went wrong first, out of a group."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def one_line(text: str) -> str:
    """`text` without line ends and control characters, so that nothing a stranger wrote can fake a second line."""
    return "".join(c if c.isprintable() else " " for c in " ".join(text.split()))
