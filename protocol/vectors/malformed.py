"""Frames that no correct client sends, each with what the server must do. Written by hand, byte by byte."""

from __future__ import annotations

from typing import Any, Final

_HELLO_JSON: Final = '{"t":"hello","token":"x","min":1,"max":1'


def _str(text: str) -> str:
    """A short string (at most 31 bytes) in msgpack, as hex."""
    data = text.encode()
    assert len(data) <= 31
    return bytes([0xA0 | len(data)]).hex() + data.hex()


def _do(command: str, *, extra: str = "", fields: int = 4) -> str:
    """A `do` in msgpack, as hex, around the hex of a command."""
    head = f"{0x80 | fields:02x}{_str('t')}{_str('do')}{_str('id')}{_str('w.1')}{_str('session')}{_str('s')}"
    return head + _str("command") + command + extra


def _command(value: str) -> str:
    """The command {"type": "x", "a": <value>} as hex."""
    return f"82{_str('type')}{_str('x')}{_str('a')}{value}"


def _case(
    name: str,
    head: str,
    code: str = "bad_frame",
    close: int | None = 4002,
    *,
    json: bool = False,
    after: str = "welcome",
    repeat: tuple[str, int] = ("", 0),
    tail: str = "",
    id: str | None = None,
) -> dict[str, Any]:
    subprotocol = "dustup.v1.json" if json else "dustup.v1.msgpack"
    case: dict[str, Any] = {"name": name, "subprotocol": subprotocol, "after": after, "frame": [head, list(repeat), tail]}
    case |= {"code": code, "close": close}
    return case if id is None else case | {"id": id}


def _kept(
    name: str, head: str, code: str = "bad_frame", *, json: bool = False, repeat: tuple[str, int] = ("", 0), tail: str = ""
) -> dict[str, Any]:
    """A `do` with the id w.1 that is refused while the connection stays."""
    return _case(name, head, code, None, json=json, repeat=repeat, tail=tail, id="w.1")


_DO_JSON: Final = '{"t":"do","id":"w.1","session":"s","command":{"type":"x","a":'

MALFORMED: Final[list[dict[str, Any]]] = [
    # Not one well-formed map: the connection ends.
    _case("empty", ""),
    _case("truncated map", "82a174"),
    _case("truncated string", "81a174a570696e"),
    _case("trailing bytes", f"81{_str('t')}{_str('ping')}c0"),
    _case("two messages in one frame", f"81{_str('t')}{_str('ping')}81{_str('t')}{_str('ping')}"),
    _case("the byte that msgpack never uses", "c1"),
    _case("an int", "01"),
    _case("a string", _str("ping")),
    _case("null", "c0"),
    _case("an array", f"91{_str('ping')}"),
    _case("an empty map", "80"),
    _case("a tag that is no string", f"81{_str('t')}01"),
    _case("no tag", f"81{_str('id')}{_str('r1')}"),
    _case("a map that claims four billion pairs", "dfffffffff"),
    _case("an array that claims four billion items", f"81{_str('t')}ddffffffff"),
    _case("a string that claims four gigabytes", f"81{_str('t')}dbffffffff"),
    _case("a key that is not UTF-8", f"81a1ff{_str('ping')}"),
    _case("a string that is not UTF-8", f"81{_str('t')}a2c328"),
    _case("a surrogate encoded as UTF-8", f"81{_str('t')}a3eda080"),
    _case("a string in a command that is not UTF-8", _do(_command("a1ff"))),
    _case("five thousand nested arrays", _do("", fields=4), repeat=("91", 5000), tail="01"),
    _case("arrays nested as deep as a frame is long", "", repeat=("91", 65536)),
    _case("one byte more than a frame may have", f"82{_str('t')}{_str('ping')}{_str('id')}da", "too_large", 4013, repeat=("61", 65537)),
    # A well-formed map: the sender is told, the connection stays.
    _case("an unknown kind", f"82{_str('t')}{_str('dance')}{_str('id')}{_str('r1')}", "unknown_kind", None, id="r1"),
    _case("a kind only servers send", f"81{_str('t')}{_str('welcome')}", "unknown_kind", None),
    _case("an unknown field", f"82{_str('t')}{_str('ping')}{_str('x')}01", close=None),
    _case("a missing field", f"82{_str('t')}{_str('options')}{_str('id')}{_str('r1')}", close=None, id="r1"),
    _case("a field of the wrong type", f"82{_str('t')}{_str('leave')}{_str('session')}07", close=None),
    _case("an id that is empty", f"82{_str('t')}{_str('ping')}{_str('id')}a0", close=None),
    _case("an id of 65 characters", f"82{_str('t')}{_str('ping')}{_str('id')}d941", close=None, repeat=("61", 65)),
    _case("an action id without a number", _do("80").replace(_str("w.1"), _str("w.x")), close=None, id="w.x"),
    _case("an action id with the number 0", _do("80").replace(_str("w.1"), _str("w.0")), close=None, id="w.0"),
    _case("a session with a space", f"82{_str('t')}{_str('leave')}{_str('session')}{_str('a b')}", close=None),
    _case("a session that ends in a newline", f"82{_str('t')}{_str('leave')}{_str('session')}{_str('ab' + chr(10))}", close=None),
    _kept("a negative version", _do(_command("01"), extra=_str("at") + "ff", fields=5)),
    _kept("True where an int belongs", _do(_command("01"), extra=_str("at") + "c3", fields=5)),
    _kept("a float where an int belongs", _do(_command("01"), extra=_str("at") + "cb3ff0000000000000", fields=5)),
    _case("a field twice", f"83{_str('t')}{_str('ping')}{_str('id')}{_str('a')}{_str('id')}{_str('a')}", close=None, id="a"),
    _kept("a key twice in a command", _do(f"82{_str('type')}{_str('x')}{_str('type')}{_str('x')}")),
    _kept(
        "a key twice in a command, behind a needlessly long number",
        _do(f"83{_str('type')}{_str('x')}{_str('a')}cd0001{_str('a')}01"),
    ),
    _kept("a float in a command", _do(_command("cb3ff8000000000000"))),
    _kept("a short float in a command", _do(_command("ca3fc00000"))),
    _kept("NaN in a command", _do(_command("cb7ff8000000000000"))),
    _kept("infinity in a command", _do(_command("cb7ff0000000000000"))),
    _kept("binary data in a command", _do(_command("c40161"))),
    _kept("an extension type in a command", _do(_command("d40500"))),
    _kept("a timestamp in a command", _do(_command("d6ff00000000"))),
    _kept("an int key in a command", _do(f"82{_str('type')}{_str('x')}0101")),
    _kept("a null key in a command", _do(f"82{_str('type')}{_str('x')}c001")),
    _kept("2**53 in a command", _do(_command("cf0020000000000000"))),
    _kept("-2**53 in a command", _do(_command("d3ffe0000000000000"))),
    _kept("2**64-1 in a command", _do(_command("cfffffffffffffffff"))),
    _kept("17 levels", _do(f"82{_str('type')}{_str('x')}{_str('a')}"), repeat=("91", 15), tail="c0"),
    _kept("a command without type", _do("80"), "bad_command"),
    _kept("a command that is an array", _do("90"), "bad_command"),
    _kept("a command that is null", _do("c0"), "bad_command"),
    _kept("a command whose type is an int", _do(f"81{_str('type')}01"), "bad_command"),
    _case("a hello after the welcome", f"84{_str('t')}{_str('hello')}{_str('token')}{_str('x')}{_str('min')}01{_str('max')}01"),
    # Before the welcome every mistake ends the connection.
    _case("something before hello", f"81{_str('t')}{_str('ping')}", after="connect"),
    _case("an unknown kind before hello", f"81{_str('t')}{_str('dance')}", "unknown_kind", after="connect"),
    _case("hello without a token", f"83{_str('t')}{_str('hello')}{_str('min')}01{_str('max')}01", after="connect"),
    _case(
        "a hello from the future",
        f"84{_str('t')}{_str('hello')}{_str('token')}{_str('x')}{_str('min')}02{_str('max')}03",
        "unsupported_version",
        4004,
        after="connect",
    ),
    _case(
        "a hello from the future with fields unknown today",
        '{"t":"hello","min":2,"max":3,"proof":[]}',
        "unsupported_version",
        4004,
        json=True,
        after="connect",
    ),
    _case("a hello whose lowest version is above its highest", '{"t":"hello","token":"x","min":2,"max":1}', json=True, after="connect"),
    _case(
        "a hello with a token of 4097 characters",
        '{"t":"hello","min":1,"max":1,"token":"',
        json=True,
        after="connect",
        repeat=("x", 4097),
        tail='"}',
    ),
    _case("a hello with an unknown field", _HELLO_JSON + ',"password":"x"}', json=True, after="connect"),
    # The same in JSON.
    _case("JSON: empty", "", json=True),
    _case("JSON: not JSON", "ping", json=True),
    _case("JSON: cut off", '{"t":"ping"', json=True),
    _case("JSON: something behind it", '{"t":"ping"}{}', json=True),
    _case("JSON: trailing comma", '{"t":"ping",}', json=True),
    _case("JSON: an array", "[]", json=True),
    _case("JSON: NaN", _DO_JSON + "NaN}}", json=True),
    _case("JSON: Infinity", _DO_JSON + "-Infinity}}", json=True),
    _case("JSON: half of a surrogate pair", _DO_JSON + '"\\ud800"}}', json=True),
    _case("JSON: a raw control character", _DO_JSON + '"\u0001"}}', json=True),
    _case("JSON: five thousand nested arrays", _DO_JSON, json=True, repeat=("[", 5000)),
    _case("JSON: a frame that is too large", '{"t":"ping","id":"', "too_large", 4013, json=True, repeat=("a", 65536), tail='"}'),
    _case(
        "JSON: too large in bytes, not in characters", '{"t":"ping","id":"', "too_large", 4013, json=True, repeat=("é", 32768), tail='"}'
    ),
    _case("JSON: an unknown kind", '{"t":"dance","id":"r1"}', "unknown_kind", None, json=True, id="r1"),
    _kept("JSON: a float", _DO_JSON + "1.5}}", json=True),
    _kept("JSON: a float that is whole", _DO_JSON + "1.0}}", json=True),
    _kept("JSON: an exponent", _DO_JSON + "1e3}}", json=True),
    _kept("JSON: 2**53", _DO_JSON + "9007199254740992}}", json=True),
    _kept("JSON: a number of a thousand digits", _DO_JSON, json=True, repeat=("9", 1000), tail="}}"),
    _case("JSON: a key twice", '{"t":"ping","id":"a","id":"a"}', json=True, close=None, id="a"),
    _kept("JSON: a key twice, once with an escape", _DO_JSON + '1,"\\u0061":1}}', json=True),
    _kept("JSON: 17 levels", _DO_JSON, json=True, repeat=("[", 15), tail="1" + "]" * 15 + "}}"),
    _kept("JSON: a command that is a string", '{"t":"do","id":"w.1","session":"s","command":"x"}', "bad_command", json=True),
]
