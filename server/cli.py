"""The command line `dustup`: finds the subcommand, loads only that one, and turns whatever goes wrong into one sentence.

Exit codes: 0 all is well, 1 a check found a difference, 2 it could not be done (the sentence on standard error says why), 130 Ctrl-C.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Final

import click

VERSION: Final = "0.1.0"

COMMANDS: Final[Mapping[str, tuple[str, str]]] = {
    "run": ("server.commands.run:run", "Play a short fight, then serve a table to join: for a first look."),
    "demo": ("server.commands.demo:demo", "Watch pilots play a whole fight, and check every die of it."),
    "play": ("server.commands.play:play", "Join a table in this terminal."),
    "serve": ("server.commands.serve:serve", "Run a server."),
    "session": ("server.commands.session:session", "List, show, create and delete tables; invite people."),
    "token": ("server.commands.token:token", "Make, show and revoke tokens."),
    "export": ("server.commands.export:export", "Write a table with its whole log to a file."),
    "import": ("server.commands.import_:import_", "Read a table from an exported file."),
    "verify": ("server.commands.verify:verify", "Check a table's log and dice."),
    "simulate": ("server.commands.simulate:simulate", "Run a scenario without a server."),
    "schema": ("server.commands.schema:schema", "Print the JSON Schema of the protocol and its commands."),
    "doctor": ("server.commands.doctor:doctor", "Look for what could keep a server from running well."),
}
"""Every subcommand: where it is, and its line in `dustup --help`. Both are here so that help needs to load none of them."""

EPILOG: Final = """\b
Examples:
  dustup run                       a first look
  dustup demo --seed 7             a fight that can be repeated
  dustup serve --port 9000         a server, its tables in your data folder
  dustup play 'http://127.0.0.1:8750/#TABLE.CODE'
  dustup COMMAND --help            what a command can do, with examples
"""


class ReaderLeft(Exception):
    """Whoever read our standard output has gone; there is nobody to tell anything."""


class Root(click.Group):
    """The group of all subcommands. Loads one when it is needed, and shows errors as one sentence."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name][0].partition(":")
        command = getattr(importlib.import_module(module), name)
        assert isinstance(command, click.Command)
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            import difflib

            near = difflib.get_close_matches(args[0], COMMANDS, 1)
            ctx.fail(f"There is no command {args[0][:64]!r}; " + (f"did you mean {near[0]}?" if near else "see dustup --help."))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BaseException as error:
            from server.commands._errors import innermost

            # As itself, click would end it with 1, which here means that a check found a difference.
            if isinstance(innermost(error), BrokenPipeError):
                raise ReaderLeft from None
            raise

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        """As click's, but an exception of any kind ends as a sentence on standard error and an exit code, never as a traceback."""
        argv = list(sys.argv[1:] if args is None else args)
        if not standalone_mode:
            return super().main(argv, prog_name or "dustup", complete_var, standalone_mode=False, **extra)
        try:
            code = super().main(argv, prog_name or "dustup", complete_var, standalone_mode=False, **extra)
        except BaseException as error:
            code = _tell(error, debug="--debug" in argv[:1])
        sys.exit(code if isinstance(code, int) else 0)


def _tell(error: BaseException, *, debug: bool) -> int:
    from server.commands._errors import explain, innermost

    error = innermost(error)
    if isinstance(error, SystemExit):
        raise error
    if isinstance(error, ReaderLeft | BrokenPipeError):
        # Python would complain once more when it flushes on its way out.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    if isinstance(error, KeyboardInterrupt | click.Abort):
        click.echo("dustup: stopped.", err=True)
        return 130
    if debug:
        import traceback

        traceback.print_exception(error)
    sentence, code = explain(error)
    click.echo(f"dustup: {sentence}", err=True)
    return code


@click.group("dustup", cls=Root, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(VERSION, "-V", "--version", prog_name="dustup", message="%(prog)s %(version)s")
@click.option("--debug", is_flag=True, help="When something fails, show where in the program.")
def main(debug: bool) -> None:
    """Dustup: a game server for turn-ordered tabletop combat and skill tests."""


if __name__ == "__main__":
    main()
