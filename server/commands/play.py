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
Keep the quotes: a shell may take # for a comment. Numbers do what the list shows
under them, ? helps, quit leaves; your seat stays yours.
"""


@click.command("play", epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("link", metavar="LINK")
@click.option("--token", metavar="TOKEN", envvar="DUSTUP_TOKEN", default=None, help="A seat or person token; better in DUSTUP_TOKEN.")
@click.option("--token-file", type=click.File("r", encoding="utf-8"), default=None, help="A file with the token; - is standard input.")
@click.option("--session", metavar="TABLE", default=None, help="Which table, when the token opens several.")
def play(link: str, token: str | None, token_file: TextIO | None, session: str | None) -> int:
    """Join the table of LINK in plain lines of text, good for pipes and screen readers.

    LINK is what the host sent you, or the address of a server together with a token.
    """
    import asyncio

    import dustup
    from clients.terminal import play as play_lines

    if token_file is not None:
        token = token_file.read(4096).strip()
    where = dustup.parse_link(link)
    if where.code is None and where.token is None and token is None:
        raise click.UsageError("This address has no invite after its #: give a whole join link, or a token with --token-file.")
    return asyncio.run(play_lines(link, seat_token=token, session=session, stdin=sys.stdin, stdout=sys.stdout))
