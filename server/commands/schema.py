"""`dustup schema`: the JSON Schema of the protocol, with the commands of every installed ruleset."""

from __future__ import annotations

from typing import Final

import click

EPILOG: Final = """\b
Examples:
  dustup schema > schema.json
  dustup schema --ruleset duel
"""


@click.command("schema", epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--ruleset", "only", metavar="NAME", multiple=True, help="Only this ruleset's commands; may be given several times. [all]")
def schema(only: tuple[str, ...]) -> None:
    """Print the JSON Schema of the protocol's messages and of the commands of the installed rulesets."""
    import engine
    from protocol.schema import build_schema, dump
    from server.commands._common import know_rulesets

    know_rulesets()
    names = only or tuple(engine.names())
    click.echo(dump(build_schema({name: engine.ruleset(name).commands for name in names})), nl=False)
