"""SPEC.md is a contract, so its examples are checked as such."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from protocol import shapes
from protocol.codec import JSON
from protocol.messages import CLIENT_TYPES, SERVER_TYPES, ClientMessage, ServerMessage
from protocol.vectors import load

SPEC = (Path(__file__).parents[2] / "protocol" / "SPEC.md").read_text(encoding="utf-8")
CLIENT_TAGS = {kind.__struct_config__.tag for kind in CLIENT_TYPES}
SERVER_PART = SPEC.index("## 6. Messages from the server")


def examples() -> list[tuple[str, dict[str, Any]]]:
    """(side, message) of every example that is a message."""
    found = []
    for block in re.finditer(r"```json\n(.*?)```", SPEC, re.S):
        message = json.loads(block.group(1))
        side = "client" if message["t"] in ("do", "salt") or (block.start() < SERVER_PART and message["t"] in CLIENT_TAGS) else "server"
        found.append((side, message))
    return found


def transcript() -> list[tuple[str, dict[str, Any]]]:
    lines = [line for block in re.findall(r"```transcript\n(.*?)```", SPEC, re.S) for line in block.splitlines()]
    return [({"C": "client", "S": "server"}[line[0]], json.loads(line[2:])) for line in lines]


def typed(side: str, message: dict[str, Any]) -> ClientMessage | ServerMessage:
    text = json.dumps(message)
    return JSON.decode_client(text) if side == "client" else JSON.decode_server(text)


@pytest.mark.parametrize(("side", "message"), [*examples(), *transcript()])
def test_every_example_is_a_valid_message_without_unknown_fields(side: str, message: dict[str, Any]):
    decoded = typed(side, message)
    assert set(message) - {"t"} <= set(decoded.__struct_fields__)


def test_every_kind_of_message_has_an_example():
    shown = {(side, message["t"]) for side, message in examples()}
    assert shown >= {("client", tag) for tag in CLIENT_TAGS} | {("server", kind.__struct_config__.tag) for kind in SERVER_TYPES}


def test_every_field_of_a_message_is_named_in_its_section():
    for kinds, part in ((CLIENT_TYPES, SPEC[:SERVER_PART]), (SERVER_TYPES, SPEC[SERVER_PART:])):
        for kind in kinds:
            section = re.search(rf"### {kind.__struct_config__.tag}\n(.*?)(?:\n##|\Z)", part, re.S)
            assert section is not None, kind
            # The optional ones are those that may be left out.
            for field in msgspec.structs.fields(kind):
                mark = f"`{field.name}?`" if not field.required else f"`{field.name}`"
                assert mark in section.group(1), (kind, mark)


def test_the_transcript_keeps_the_order_the_spec_promises():
    """Frames gapless from the joined view, each ack after its frame, each request answered once or asked again after a reconnect."""
    v, stamp = 0, ""
    waiting: dict[str, str] = {}
    for side, message in transcript():
        if side == "client":
            if message["t"] == "hello":
                waiting = {}
            elif "id" in message:
                assert message["id"] not in waiting
                waiting[message["id"]] = message["t"]
            continue
        if "id" in message:
            kind = waiting.pop(message["id"])
            assert message["t"] == {"join": "joined", "do": "ack", "leave": "ack"}.get(kind, kind)
        if message["t"] == "joined" and not message["resumed"]:
            v, stamp = message["v"], message["stamp"]
        elif message["t"] == "frame":
            assert message["v"] == v + 1
            v, stamp = message["v"], message["stamp"]
        elif message["t"] in ("prompt", "ack"):
            assert message.get("v", v) <= v
    assert not waiting
    assert (v, len(stamp)) == (43, 16)


def bodies() -> list[Any]:
    """(shape, body) of every body in the spec's examples and the vectors."""
    from_vectors = [("server", vector["message"]) for vector in load("messages.json") if vector["from"] == "server"]
    found: list[Any] = []
    for side, message in [*examples(), *transcript(), *from_vectors]:
        if side == "server":
            found += [(shapes.ViewBody, message[field]) for field in ("view", "views") if field in message]
            found += [(list[shapes.Event], message["events"])] if "events" in message else []
            found += [(list[shapes.PastEntry], message[field]) for field in ("frames", "history") if field in message]
            found += [(shapes.Question, message["prompt"])] if "prompt" in message else []
            found += [(list[shapes.Option], message["options"])] if "options" in message else []
            found += [(shapes.Chances, message["odds"])] if "odds" in message else []
    return found


@pytest.mark.parametrize(("shape", "body"), bodies())
def test_every_body_has_its_shape(shape: Any, body: Any):
    assert msgspec.convert(body, shape) is not None


def test_links_inside_the_spec_lead_somewhere():
    anchors = {re.sub(r"[^a-z0-9 -]", "", title.lower()).replace(" ", "-") for title in re.findall(r"^#+ (.+)$", SPEC, re.M)}
    anchors |= {"options-1"}  # the second heading of that name
    assert set(re.findall(r"\]\(#([^)]+)\)", SPEC)) <= anchors
