"""The golden vectors are current, complete, and read alike by two independent msgpack implementations."""

from __future__ import annotations

import json
from typing import Any

import msgpack  # type: ignore[import-untyped]  # it ships no types
import msgspec
import pytest

from protocol.codec import JSON, MSGPACK, choose
from protocol.connection import Connection, Fault, State
from protocol.messages import CLIENT_TYPES, SERVER_TYPES, Hello, Limits, ServerInfo, Welcome
from protocol.vectors import FILES, HERE, build, dump, frame_of, load

MESSAGES = load("messages.json")
MALFORMED = load("malformed.json")
WELCOME = Welcome(1, ServerInfo("dustup", "0"), "ann", 0, Limits(1, 1, 1, 1, 1), [])


def named(vectors: list[dict[str, Any]]) -> list[Any]:
    return [pytest.param(vector, id=vector["name"]) for vector in vectors]


def decode(vector: dict[str, Any], frame: bytes | str) -> Any:
    return (MSGPACK.decode_client if vector["from"] == "client" else MSGPACK.decode_server)(frame)


@pytest.mark.parametrize("name", FILES)
def test_the_committed_file_is_what_the_generator_writes(name: str):
    assert (HERE / name).read_text(encoding="utf-8") == dump(build(name))


def test_every_kind_of_message_has_a_vector():
    have = {(vector["from"], vector["message"]["t"]) for vector in MESSAGES}
    kinds = {("client", kind.__struct_config__.tag) for kind in CLIENT_TYPES} | {
        ("server", kind.__struct_config__.tag) for kind in SERVER_TYPES
    }
    assert have == kinds


@pytest.mark.parametrize("vector", named(MESSAGES))
def test_the_msgpack_package_writes_the_same_bytes(vector: dict[str, Any]):
    assert msgpack.packb(vector["message"]).hex() == vector["msgpack"]


@pytest.mark.parametrize("vector", named(MESSAGES))
def test_the_msgpack_package_reads_the_same_message(vector: dict[str, Any]):
    assert msgpack.unpackb(bytes.fromhex(vector["msgpack"])) == vector["message"]


@pytest.mark.parametrize("vector", named(MESSAGES))
def test_the_codec_reads_and_writes_the_bytes(vector: dict[str, Any]):
    frame = bytes.fromhex(vector["msgpack"])
    message = decode(vector, frame)
    again = MSGPACK.encode(message)
    # Fields that hold their default may be left out, so the bytes may be fewer but not the message another.
    assert decode(vector, again) == message
    assert msgpack.unpackb(again).items() <= vector["message"].items()
    assert set(vector["message"]) - set(msgpack.unpackb(again)) <= {"history", "limit"}


@pytest.mark.parametrize("vector", named([vector for vector in MESSAGES if vector["from"] == "client"]))
def test_json_and_msgpack_give_the_same_message_from_a_client(vector: dict[str, Any]):
    assert JSON.decode_client(json.dumps(vector["message"])) == decode(vector, bytes.fromhex(vector["msgpack"]))


@pytest.mark.parametrize("vector", named([vector for vector in MESSAGES if vector["from"] == "server"]))
def test_a_message_to_clients_survives_json(vector: dict[str, Any]):
    text = JSON.encode(msgspec.convert(vector["message"], type(decode(vector, bytes.fromhex(vector["msgpack"])))))
    assert json.loads(text) == vector["message"]


@pytest.mark.parametrize("vector", named(MALFORMED))
def test_a_broken_frame_gets_the_right_answer(vector: dict[str, Any]):
    codec = choose([vector["subprotocol"]])
    assert codec is not None
    connection = Connection(codec)
    if vector["after"] == "welcome":
        connection.receive(codec.encode(Hello("token", 1, 1)))
        connection.accept(WELCOME)
    (fault,) = connection.receive(frame_of(vector))
    assert isinstance(fault, Fault)
    assert (fault.error.code, fault.close, fault.error.id) == (vector["code"], vector["close"], vector.get("id"))
    assert connection.state is (State.READY if vector["close"] is None else State.CLOSING)
    assert codec.decode_server(fault.reply) == fault.error
    assert len(fault.error.text) < 400
