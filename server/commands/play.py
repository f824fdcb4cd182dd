"""`dustup play`: join a table in this terminal."""

from __future__ import annotations

import sys
from typing import Final, TextIO

import click

EPILOG: Final = """\b
Examples:
  dustup play 'http://127.0.0.1:8750/#TABLE.CODE'       with an invite
  dustup play http://127.0.0.1:8750 --token-file seat.txt
  DUSTUP_TOKEN=... dustup play http://127.0.0.1:8750 --session TABLE

\b
Keep the quotes: a shell may take # for a comment. ? helps in both ways of playing.
In plain lines numbers do what the list shows under them, and quit leaves; in the
full-screen app Ctrl+Q leaves. Your seat stays yours.
"""


@click.command("play", epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("link", metavar="LINK")
@click.option("--token", metavar="TOKEN", envvar="DUSTUP_TOKEN", default=None, help="A seat or person token; better in DUSTUP_TOKEN.")
@click.option("--token-file", type=click.File("r", encoding="utf-8"), default=None, help="A file with the token; - is standard input.")
@click.option("--session", metavar="TABLE", default=None, help="Which table, when the token opens several.")
@click.option("--plain", is_flag=True, help="Plain lines of text, for screen readers; pipes get them anyway.")
@click.option("--language", metavar="LANG", default=None, help="en or zh_TW, for the app; else as LANG says.")
def play(link: str, token: str | None, token_file: TextIO | None, session: str | None, plain: bool, language: str | None) -> int:
    """Join the table of LINK: full screen on a terminal, else in plain lines of text.

    LINK is what the host sent you, or the address of a server together with a token.
    """
    import asyncio

    import dustup
    from clients.terminal.start import play as play_table

    if token_file is not None:
        token = token_file.read(4096).strip()
    where = dustup.parse_link(link)
    if where.code is None and where.token is None and token is None:
        raise click.UsageError("This address has no invite after its #: give a whole join link, or a token with --token-file.")
    return asyncio.run(
        play_table(link, seat_token=token, session=session, stdin=sys.stdin, stdout=sys.stdout, plain=plain, language=language)
    )
