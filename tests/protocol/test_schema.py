"""schema.json is current, whole, and takes the commands of rulesets beside the messages."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from protocol.messages import CLIENT_TYPES, SERVER_TYPES
from protocol.schema import PATH, build_schema, dump, protocol_part, refresh


class Attack(msgspec.Struct, tag="attack", tag_field="type", forbid_unknown_fields=True):
    """Hit somebody."""

    target: str


class Wait(msgspec.Struct, tag="wait", tag_field="type"):
    """Do nothing."""


def references(node: Any) -> set[str]:
    return set(re.findall(r'"\$ref": "([^"]+)"', json.dumps(node)))


def test_the_committed_protocol_part_is_current():
    committed = json.loads(PATH.read_text(encoding="utf-8"))
    assert protocol_part(committed) == protocol_part(build_schema({}))


@pytest.mark.parametrize("commands", [{}, {"duel": [Attack, Wait], "stretch": [Attack]}], ids=["none", "two rulesets"])
def test_every_reference_leads_somewhere(commands: dict[str, list[type]]):
    schema = build_schema(commands)
    assert references(schema) <= {f"#/$defs/{name}" for name in schema["$defs"]}


def test_every_message_is_described_with_its_tag():
    defs = build_schema({})["$defs"]
    for side, kinds in (("ClientMessage", CLIENT_TYPES), ("ServerMessage", SERVER_TYPES)):
        assert references(defs[side]) == {f"#/$defs/{kind.__name__}" for kind in kinds}
        for kind in kinds:
            assert defs[kind.__name__]["properties"]["t"]["enum"] == [kind.__struct_config__.tag]


def test_only_messages_from_clients_refuse_unknown_fields():
    defs = build_schema({})["$defs"]
    assert all(defs[kind.__name__]["additionalProperties"] is False for kind in CLIENT_TYPES)
    assert not any("additionalProperties" in defs[kind.__name__] for kind in SERVER_TYPES)


def test_patterns_are_readable_by_any_language():
    assert "(?" not in json.dumps(build_schema({}))


def test_commands_of_rulesets_stand_beside_each_other():
    defs = build_schema({"duel": [Attack, Wait], "stretch": [Attack]})["$defs"]
    assert references(defs["Command"]) == {"#/$defs/duel", "#/$defs/stretch"}
    assert references(defs["duel"]) == {"#/$defs/duel.Attack", "#/$defs/duel.Wait"}
    assert defs["duel.Attack"]["properties"]["type"]["enum"] == ["attack"]
    assert defs["Do"]["properties"]["command"] == {"$ref": "#/$defs/Command"}


def test_refreshing_keeps_the_commands_a_file_has(tmp_path: Path):
    path = tmp_path / "schema.json"
    whole = build_schema({"duel": [Attack, Wait]})
    stale = json.loads(dump(whole))
    del stale["$defs"]["Ping"]
    stale["$defs"]["Gone"] = {"type": "object"}
    path.write_text(dump(stale), encoding="utf-8")
    refresh(path)
    assert json.loads(path.read_text(encoding="utf-8")) == json.loads(dump(whole))


def test_refreshing_makes_a_file_that_is_not_there(tmp_path: Path):
    refresh(tmp_path / "schema.json")
    assert json.loads((tmp_path / "schema.json").read_text(encoding="utf-8")) == build_schema({})
