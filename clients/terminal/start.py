"""Chooses how to play: full screen where there is a terminal for it, else in plain lines."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TextIO

import dustup

from . import door, line
from .words import clean


def wants_lines(stdin: TextIO, stdout: TextIO, environ: Mapping[str, str]) -> bool:
    """Whether this is no place for a full-screen app: a pipe, or a terminal that cannot move its cursor."""
    return not (stdin.isatty() and stdout.isatty()) or environ.get("TERM", "") in ("", "dumb")


async def play(
    link: str,
    *,
    seat_token: str | None = None,
    session: str | None = None,
    stdin: TextIO,
    stdout: TextIO,
    plain: bool = False,
    language: str | None = None,
) -> int:
    """Play at a table until its person leaves. Returns an exit status: 0, or 1 with the reason written to `stdout`.

    `plain` asks for lines even on a terminal; `language` is that of the app, by default what the environment says.
    """
    if plain or wants_lines(stdin, stdout, os.environ):
        return await line.play(link, seat_token=seat_token, session=session, stdin=stdin, stdout=stdout)
    # Only here: the app needs Textual, which takes a while to load.
    from . import app
    from .app.texts import language_of

    def say(text: str) -> None:
        print(text, file=stdout, flush=True)

    try:
        found = await door.find(link, token=seat_token, session=session, say=say)
    except door.NoInvite as error:
        say(str(error))
        return 1
    except dustup.DustupError as error:
        say(f"Sorry: {clean(error)}")
        return 1
    return await app.play(found, language_of() if language is None else language_of({"LANG": language}))
