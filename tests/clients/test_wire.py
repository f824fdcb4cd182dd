"""The SDK's codec against the golden vectors, its links, and what it imports."""

from __future__ import annotations

import ast
import json
import sys
from pathlib import Path
from typing import Any

import pytest

import dustup
from dustup import _codec
from dustup.links import http_url, socket_url

ROOT = Path(__file__).parents[2]
VECTORS = ROOT / "protocol" / "vectors"
SDK = ROOT / "clients" / "python" / "dustup"


def vectors(name: str) -> list[Any]:
    path = VECTORS / name
    if not path.exists():
        return []
    found: list[Any] = json.loads(path.read_text("utf-8"))
    return found


def test_the_golden_vectors_are_there() -> None:
    """Without them the tests below would pass by having nothing to check."""
    if not any(VECTORS.glob("*.json")):
        pytest.skip("protocol/vectors holds no vectors yet")
    assert {vector["from"] for vector in vectors("messages.json")} == {"client", "server"}
    assert vectors("malformed.json")


@pytest.mark.parametrize("vector", vectors("messages.json"), ids=lambda vector: vector["name"])
def test_golden_messages_read_and_write_as_written_down(vector: dict[str, Any]) -> None:
    raw = bytes.fromhex(vector["msgpack"])
    assert _codec.decode(raw) == vector["message"]
    assert _codec.decode(_codec.encode(vector["message"], _codec.FRAME_OUT)) == vector["message"]
    assert _codec.encode(vector["message"], _codec.FRAME_OUT) == raw


def unreadable() -> list[Any]:
    """Malformed frames that are no map of the protocol's values, whoever sends them.

    The others are well-formed and wrong only as messages to a server, or at that moment (a second hello).
    """
    return [
        vector
        for vector in vectors("malformed.json")
        if vector["subprotocol"] == "dustup.v1.msgpack"
        and (vector["after"], vector["code"], vector["close"]) == ("welcome", "bad_frame", 4002)
        and "hello" not in vector["name"]
    ]


@pytest.mark.parametrize("vector", unreadable(), ids=lambda vector: vector["name"])
def test_golden_garbage_is_refused(vector: dict[str, Any]) -> None:
    head, (piece, count), tail = vector["frame"]
    raw = bytes.fromhex(head) + bytes.fromhex(piece) * count + bytes.fromhex(tail)
    with pytest.raises(dustup.BadMessage):
        _codec.decode(raw)


NEVER_READ = {
    "empty": b"",
    "cut off": b"\x82\xa1t",
    "two messages": b"\x81\xa1t\xa4ping\xc0",
    "a list": b"\x91\xa4ping",
    "no tag": b"\x81\xa1x\x01",
    "float": b"\x82\xa1t\xa4ping\xa1x\xcb" + b"\x00" * 8,
    "NaN": b"\x82\xa1t\xa4ping\xa1x\xcb\x7f\xf8" + b"\x00" * 6,
    "binary": b"\x82\xa1t\xa4ping\xa1x\xc4\x01a",
    "extension": b"\x82\xa1t\xa4ping\xa1x\xd4\x05a",
    "timestamp": b"\x82\xa1t\xa4ping\xa1x\xd6\xff\x00\x00\x00\x01",
    "number as key": b"\x82\xa1t\xa4ping\x01\x02",
    "binary key": b"\x82\xa1t\xa4ping\xc4\x01a\x02",
    "number past 2^53": b"\x82\xa1t\xa4ping\xa1x\xcf\x00\x20\x00\x00\x00\x00\x00\x00",
    "not UTF-8": b"\x82\xa1t\xa4ping\xa1x\xa1\xff",
    "deep": b"\x82\xa1t\xa4ping\xa1x" + b"\x91" * 100 + b"\xc0",
    "very deep": b"\x82\xa1t\xa4ping\xa1x" + b"\x91" * 60_000 + b"\xc0",
    "claims 4 GiB": b"\x82\xa1t\xa4ping\xa1x\xdd\xff\xff\xff\xff",
}


@pytest.mark.parametrize("raw", NEVER_READ.values(), ids=NEVER_READ.keys())
def test_what_the_protocol_does_not_carry_is_never_read(raw: bytes) -> None:
    with pytest.raises(dustup.BadMessage):
        _codec.decode(raw)


def test_sixteen_levels_go_out_and_no_more() -> None:
    """The message itself is the first level."""

    def nested(levels: int) -> dict[str, Any]:
        value: Any = []
        for _ in range(levels - 2):
            value = [value]
        return {"t": value}

    _codec.encode(nested(16))
    with pytest.raises(dustup.BadMessage, match="deeper than 16"):
        _codec.encode(nested(17))


@pytest.mark.parametrize(
    ("text", "link"),
    [
        ("https://play.example/#k3v9mq2w.s3cr-et_1", ("https://play.example", "k3v9mq2w", "k3v9mq2w.s3cr-et_1", None)),
        ("  http://127.0.0.1:8080/#abc.def\n", ("http://127.0.0.1:8080", "abc", "abc.def", None)),
        ("wss://play.example/v1/ws#abc.def", ("https://play.example", "abc", "abc.def", None)),
        ("https://h/tables/#token=aaa.bbb.ccc", ("https://h/tables", None, None, "aaa.bbb.ccc")),
        ("https://h/#token=aaa.bbb.ccc&session=s1", ("https://h", "s1", None, "aaa.bbb.ccc")),
        ("ws://[::1]:9000", ("http://[::1]:9000", None, None, None)),
        ("HTTPS://h/", ("https://h", None, None, None)),
    ],
)
def test_links_are_taken_apart(text: str, link: tuple[str | None, ...]) -> None:
    found = dustup.parse_link(text)
    assert (found.url, found.session, found.code, found.token) == link


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "empty"),
        ("play.example/#abc.def", "starts with http"),
        ("ftp://h/#abc.def", "starts with http"),
        ("https:///#abc.def", "names no server"),
        ("https://h:port/#abc.def", "not a link"),
        ("https://me:secret@h/#abc.def", "no user name"),
        ("https://h/#abcdef", "cut off"),
        ("https://h/#abc.", "cut off"),
        ("https://h/#abc.de f", "cut off"),
        ("https://h/#token=", "holds no token"),
        ("https://h/#token=a b", "holds no token"),
        ("https://h/#token=abc&mood=1", "unknown: mood"),
        ("https://h/#session=abc", "holds no token"),
        ("https://h/#token=abc&session=a/b", "no"),
    ],
)
def test_a_bad_link_says_what_is_wrong(text: str, why: str) -> None:
    with pytest.raises(dustup.BadLink, match=why):
        dustup.parse_link(text)


def test_addresses_of_a_server_are_all_the_same_server() -> None:
    for url in ("http://h:1", "ws://h:1/", "http://h:1/v1/ws", "ws://h:1/v1/ws/", "http://h:1/#abc.def"):
        assert socket_url(url) == "ws://h:1/v1/ws"
        assert http_url(url) == "http://h:1"
    assert socket_url("https://h/base?near=abc") == "wss://h/base/v1/ws?near=abc"
    with pytest.raises(dustup.BadLink):
        dustup.connect("h:1", "token")


def imports(path: Path) -> set[str]:
    """Top-level names of the packages a file imports absolutely."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            found.add(node.module.split(".")[0])
    return found


def test_the_sdk_imports_aiohttp_msgpack_and_the_standard_library_alone() -> None:
    files = sorted(SDK.rglob("*.py"))
    assert len(files) > 5
    foreign = {name for path in files for name in imports(path)} - set(sys.stdlib_module_names)
    assert foreign == {"aiohttp", "msgpack"}


def test_the_terminal_imports_the_sdk_and_the_standard_library_alone() -> None:
    foreign = {name for path in (ROOT / "clients" / "terminal").rglob("*.py") for name in imports(path)} - set(sys.stdlib_module_names)
    assert foreign <= {"dustup", "rich", "textual"}
