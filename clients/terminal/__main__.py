"""`python -m clients.terminal LINK`: play at a table, full screen or in plain lines."""

from __future__ import annotations

import argparse
import asyncio
import sys

from .start import play


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m clients.terminal",
        description="Play at a Dustup table: full screen on a terminal, in plain lines in pipes or when asked.",
        epilog="A join link holds an invite or a token after its #. The address of a server alone needs --token.",
    )
    parser.add_argument("link", help="join link (https://host/#table.code) or server address (http://host:port)")
    parser.add_argument("--token", help="seat or person token, when the link holds none")
    parser.add_argument("--session", help="id of the table, when the token opens several")
    parser.add_argument("--plain", action="store_true", help="plain lines of text, also on a terminal")
    parser.add_argument("--language", help="en or zh_TW, for the app; else as LANG says")
    given = parser.parse_args()
    how = {"plain": given.plain, "language": given.language}
    try:
        return asyncio.run(play(given.link, seat_token=given.token, session=given.session, stdin=sys.stdin, stdout=sys.stdout, **how))
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # Whoever read our lines has gone; there is nobody to tell.
        sys.stderr.close()
        return 141


if __name__ == "__main__":
    raise SystemExit(main())
