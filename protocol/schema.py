"""The JSON Schema of the wire, generated from the types: messages, bodies, and the commands of the rulesets it is given.

`python -m protocol.schema` brings the protocol's part of schema.json up to date and leaves the commands as they are;
the server's command line, which knows the rulesets, writes the whole file.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from protocol.messages import CLIENT_TYPES, SERVER_TYPES
from protocol.shapes import SHAPES
from protocol.versions import PROTOCOL_VERSION

PATH: Final = Path(__file__).with_name("schema.json")


def build_schema(commands: Mapping[str, Sequence[type]]) -> dict[str, Any]:
    """The schema as a JSON-ready dict. `commands` holds the command types of each ruleset by the ruleset's name.

    `$defs.ClientMessage` and `$defs.ServerMessage` describe the messages of each direction, `$defs.Command` any command
    of any ruleset, `$defs.<ruleset>` the commands of one, `$defs.<ruleset>.<Type>` each of their types.
    """
    defs = _components((*CLIENT_TYPES, *SERVER_TYPES, *SHAPES), prefix="")
    # A command is opaque to the protocol (msgspec.Raw); in JSON it is simply a map.
    command = {"$ref": "#/$defs/Command"}
    defs["Do"]["properties"]["command"] = command
    defs["Odds"]["properties"]["command"] = command
    defs["ClientMessage"] = _union(CLIENT_TYPES)
    defs["ServerMessage"] = _union(SERVER_TYPES)
    for ruleset, types in sorted(commands.items()):
        defs.update(_components(types, prefix=f"{ruleset}."))
        defs[ruleset] = {"anyOf": [{"$ref": f"#/$defs/{ruleset}.{kind.__name__}"} for kind in types]}
    loose = {"type": "object", "properties": {"type": {"type": "string"}}, "required": ["type"]}
    defs["Command"] = {"anyOf": [{"$ref": f"#/$defs/{name}"} for name in sorted(commands)]} if commands else loose
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"Dustup protocol, version {PROTOCOL_VERSION}",
        "description": "Generated; SPEC.md says what the messages mean.",
        "anyOf": [{"$ref": "#/$defs/ClientMessage"}, {"$ref": "#/$defs/ServerMessage"}],
        "$defs": dict(sorted(defs.items())),
    }


def protocol_part(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The definitions of `schema` that do not depend on any ruleset."""
    ours = build_schema({})["$defs"].keys() - {"Command"}
    return {name: definition for name, definition in schema["$defs"].items() if name in ours}


def dump(schema: Mapping[str, Any]) -> str:
    """The text of schema.json for `schema`."""
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def refresh(path: Path = PATH) -> None:
    """Bring the protocol's part of the file at `path` up to date, keeping the commands it already has."""
    fresh = build_schema({})
    if path.exists():
        old = json.loads(path.read_text(encoding="utf-8"))["$defs"]
        kept = {name: definition for name, definition in old.items() if name == "Command" or _is_ruleset(name, old)}
        fresh["$defs"] = dict(sorted((fresh["$defs"] | kept).items()))
    path.write_text(dump(fresh), encoding="utf-8")


def _is_ruleset(name: str, defs: Mapping[str, Any]) -> bool:
    return "." in name or any(other.startswith(f"{name}.") for other in defs)


def _components(types: Sequence[type], *, prefix: str) -> dict[str, Any]:
    _, found = msgspec.json.schema_components(types, ref_template=f"#/$defs/{prefix}{{name}}")
    # Python needs the look-ahead after `$`; other languages do not, and some cannot read it.
    portable: dict[str, Any] = json.loads(json.dumps(found).replace(r"$(?!\\n)", "$"))
    return {f"{prefix}{name}": schema for name, schema in portable.items()}


def _union(types: Sequence[type]) -> dict[str, Any]:
    return {"anyOf": [{"$ref": f"#/$defs/{kind.__name__}"} for kind in types]}


if __name__ == "__main__":
    refresh()
    sys.stdout.write(f"{PATH.name} is up to date\n")
