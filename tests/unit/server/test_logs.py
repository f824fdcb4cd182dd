"""Logs: nothing secret in them, no value can fake a line, and both formats carry what was bound."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Callable, Iterator

import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st

from server import ids, logs
from server.clock import ManualClock
from server.config import load
from server.gateway.auth import AuthError, Tokens
from tests.unit.server.memory_values import MemoryValues

FORMATS: list[logs.Format] = ["json", "console"]


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    root = logging.getLogger()
    level, handlers = root.level, list(root.handlers)
    yield
    root.setLevel(level)
    root.handlers[:] = handlers
    structlog.contextvars.clear_contextvars()
    logs._set_up("warning", "auto", None, cache=False)


@pytest.fixture
def out() -> io.StringIO:
    return io.StringIO()


def one(out: io.StringIO) -> dict[str, object]:
    lines = out.getvalue().splitlines()
    assert len(lines) == 1
    parsed: dict[str, object] = json.loads(lines[0])
    return parsed


def test_a_json_line_carries_what_was_bound_in_a_fixed_order(out: io.StringIO):
    logs.configure("info", "json", out)
    log = logs.get_logger("server.actor").bind(conn="c1", session="abc")
    log.info("committed", extra=[1, 2], action="x.7", v=12)
    line = one(out)
    assert list(line) == ["timestamp", "level", "logger", "event", "session", "v", "conn", "action", "extra"]
    del line["timestamp"]
    expected = {"level": "info", "logger": "server.actor", "event": "committed", "session": "abc", "v": 12, "conn": "c1", "action": "x.7"}
    assert line == expected | {"extra": [1, 2]}


def test_context_bound_for_a_task_is_on_every_line_of_it(out: io.StringIO):
    logs.configure("info", "json", out)
    with structlog.contextvars.bound_contextvars(action="x.7"):
        logs.get_logger("a").info("inside")
    assert one(out)["action"] == "x.7"


def test_a_console_line_is_one_readable_line(out: io.StringIO):
    logs.configure("info", "console", out)
    logs.get_logger("server.actor").info("committed", session="abc", v=12)
    line = out.getvalue()
    assert line.count("\n") == 1
    for part in ("committed", "server.actor", "session=abc", "v=12"):
        assert part in line
    assert "\x1b" not in line


def test_auto_is_json_where_no_person_looks(out: io.StringIO):
    logs.configure("info", "auto", out)
    logs.get_logger("a").info("hello")
    assert one(out)["event"] == "hello"


def test_lines_below_the_level_are_not_written_and_not_even_made(out: io.StringIO):
    logs.configure("warning", "json", out)
    log = logs.get_logger("a").bind(session="s")

    class Costly:
        def __str__(self) -> str:
            raise AssertionError("a line below the level was made")

    log.info("no", value=Costly())
    log.debug("no")
    assert out.getvalue() == ""
    log.warning("yes")
    assert one(out)["event"] == "yes"


def test_a_logger_made_before_the_set_up_follows_it(out: io.StringIO):
    log = logs.get_logger("early")
    logs.configure("info", "json", out)
    log.info("hello")
    assert one(out)["logger"] == "early"


def test_a_logger_already_used_follows_a_later_set_up(out: io.StringIO):
    logs.configure("info", "json", io.StringIO())
    log = logs.get_logger("a")
    log.info("first")
    logs.configure("info", "json", out)
    log.info("second")
    assert one(out)["event"] == "second"


# -- secrets

SECRET_KEYS = [
    "token",
    "seed",
    "secret",
    "authorization",
    "salt",
    "code",
    "Authorization",
    "access_token",
    "seatToken",
    "server_seed",
    "tableSalt",
]
SECRET_KEYS += ["invite_code", "tokens", "X-Token", "redis_password", "SECRET", "signing-secrets", "Cookie"]


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("key", SECRET_KEYS)
def test_what_stands_under_a_secret_name_is_hidden_however_deep(out: io.StringIO, format: logs.Format, key: str):
    logs.configure("info", format, out)
    planted = "planted0123456789"
    logs.get_logger("a").bind(**{key: planted}).info("hello", nested={"list": [{key: [planted]}]}, **{f"my_{key}": planted})
    assert "hello" in out.getvalue()
    assert planted not in out.getvalue()


@pytest.mark.parametrize("key", ["session", "v", "conn", "action", "error", "seat", "person", "codec", "passed", "seated", "decode"])
def test_other_names_are_shown(out: io.StringIO, key: str):
    logs.configure("info", "json", out)
    logs.get_logger("a").info("hello", **{key: "shown"})
    assert one(out)[key] == "shown"


def test_a_numeric_code_is_a_status_and_is_shown(out: io.StringIO):
    logs.configure("info", "json", out)
    logs.get_logger("a").info("closed", code=4001, close_code=4009)
    assert (one(out)["code"], one(out)["close_code"]) == (4001, 4009)


async def _tokens() -> list[str]:
    clock = ManualClock(1_700_000_000_000)
    tokens = Tokens([b"s" * 40], clock, MemoryValues(clock))
    return [tokens.person_token("p1", 1000), await tokens.seat_token("abcdefghijklmnop", "ann", "p1", 1000)]


@pytest.mark.parametrize("format", FORMATS)
async def test_a_token_is_hidden_wherever_it_stands(out: io.StringIO, format: logs.Format):
    logs.configure("info", format, out)
    log = logs.get_logger("a")
    for token in await _tokens():
        log.info(token, value=token, sentence=f"got {token}, which is bad", list=[token], **{token.replace(".", "_"): 1})
        log.info("in a frame", frame={"t": "hello", "x": {"y": token}}, raw=token.encode())
        log.info("cut", cut=token[:60], long="x" * (logs.MAX_VALUE - 30) + token)
        log.info("formatted %s", token)
        logging.getLogger("library").warning("request with %s", token)
        try:
            raise ValueError(f"no good: {token}")
        except ValueError:
            log.exception("failed")
            logging.getLogger("library").exception("failed")
        written = out.getvalue()
        assert written.count("failed") >= 2
        header, body, signature = token.split(".")
        for part in (body[:20], signature, header[:20]):
            assert part not in written


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize(
    "text",
    [
        "redis://user:PLANTED@db.example:6379/0",
        "connecting to rediss://:PLANTED@db.example failed",
        "Authorization: PLANTED",
        "sent Bearer PLANTED",
        "Commit(seed=b'PLANTED', v=3)",
        '{"token": "PLANTED"}',
        "{'server_seed': 'PLANTED'}",
        "salt=PLANTED&x=1",
        "secrets: PLANTED",
    ],
)
def test_a_secret_inside_a_sentence_is_hidden(out: io.StringIO, format: logs.Format, text: str):
    logs.configure("info", format, out)
    logs.get_logger("a").info("before " + text, value=text)
    assert "before" in out.getvalue()
    assert "PLANTED" not in out.getvalue()


@pytest.mark.parametrize("spell", [str, str.upper, lambda code: code.replace("-", ""), lambda code: code.replace("-", " ")])
def test_an_invite_is_hidden_but_its_table_is_shown(out: io.StringIO, spell: Callable[[str], str]):
    logs.configure("info", "json", out)
    session, code = ids.session_id(), spell(ids.invite_code())
    logs.get_logger("a").info("redeeming", invite=f"{session}.{code}", link=f"https://play.example/#{session}.{code}")
    assert code not in out.getvalue()
    assert one(out)["invite"] == f"{session}.{logs.HIDDEN}"


def test_bytes_are_told_by_length_alone(out: io.StringIO):
    logs.configure("info", "json", out)
    logs.get_logger("a").info("x", raw=b"planted", also=bytearray(b"planted"), view=memoryview(b"planted"))
    assert "planted" not in out.getvalue()
    assert one(out)["raw"] == "<7 bytes>"


def test_a_logged_configuration_shows_no_secret(out: io.StringIO):
    logs.configure("info", "json", out)
    planted = "planted-0123456789-0123456789-0123456789"
    config = load(env={"DUSTUP_SECRET": planted, "DUSTUP_STORE": f"redis://u:{planted}@db.example"})
    logs.get_logger("a").info("starting", config=config, key=config.secret, store=config.store)
    assert planted not in out.getvalue()
    assert "db.example" in out.getvalue()


# -- values that attack the log


@pytest.mark.parametrize("format", FORMATS)
@given(value=st.text(alphabet=st.characters(codec=None, exclude_categories=[]), max_size=60))
def test_no_value_breaks_a_line_or_the_logger(format: logs.Format, value: str):
    out = io.StringIO()
    logs.configure("info", format, out)
    logs.get_logger("a").bind(session=value).info(value, **{"value": value, "map": {value: value}})
    logging.getLogger("library").warning("%s", value)
    lines = out.getvalue()
    assert lines.endswith("\n")
    assert lines.count("\n") == 2
    assert lines.replace("\n", "").isprintable()


@pytest.mark.parametrize("format", FORMATS)
def test_an_exceptions_message_cannot_fake_a_line(out: io.StringIO, format: logs.Format):
    logs.configure("info", format, out)
    try:
        raise ValueError('bad\n2030-01-01T00:00:00Z [info] all is well\x1b[2J\u2028{"event":"fake"}')
    except ValueError:
        logs.get_logger("a").exception("failed")
    lines = out.getvalue().splitlines()
    assert "ValueError: bad" in out.getvalue()
    assert "\x1b" not in out.getvalue()
    if format == "json":
        assert len(lines) == 1
    else:
        assert all(line.startswith("  | ") for line in lines[1:])


def test_an_exception_given_as_a_value_is_told_by_type_and_message(out: io.StringIO):
    logs.configure("info", "json", out)
    logs.get_logger("a").error("failed", reason=AuthError("expired", "Too late."))
    assert one(out)["reason"] == "AuthError: Too late."


def test_long_values_are_cut_and_say_how_long_they_were(out: io.StringIO):
    logs.configure("info", "json", out)
    logs.get_logger("a").info("x" * 5_000_000, value="y" * 2_000, many=list(range(10_000)), deep=[[[[[["z"]]]]]])
    line = one(out)
    assert len(out.getvalue()) < 3_000
    assert str(line["event"]).endswith("(5000000 characters)")
    assert str(line["value"]).endswith("(2000 characters)")


def test_a_secret_at_the_place_where_a_value_is_cut_is_still_known_for_one(out: io.StringIO):
    logs.configure("info", "json", out)
    for planted in ("redis://user:PLANTEDPLANTEDPLANTED@db.example/0", "abcdefghijklmnop.planted0-planted"):
        for place in range(logs.MAX_VALUE - len(planted), logs.MAX_VALUE):
            logs.get_logger("a").info("x", value="/" * place + planted.replace("planted0-planted", "p1an-ted0-p1an-ted0"))
    assert out.getvalue().count("\n") > 60
    for part in ("PLA", "p1an"):
        assert part not in out.getvalue()


def test_values_json_cannot_hold_are_shown_somehow(out: io.StringIO):
    logs.configure("info", "json", out)

    class Broken:
        def __str__(self) -> str:
            raise RuntimeError

    logs.get_logger("a").info("x", big=10**5_000, small=-(2**63), nan=float("nan"), broken=Broken(), kind=int, keys={1: 2, None: 3})
    line = one(out)
    assert line["small"] == -(2**63)
    assert line["nan"] is None
    assert line["broken"] == "<Broken that cannot be shown>"
    assert line["keys"] == {"1": 2, "None": 3}


def test_a_log_that_cannot_be_written_takes_nobody_down():
    class Full(io.StringIO):
        tried = 0

        def write(self, text: str) -> int:
            Full.tried += 1
            raise OSError(28, "No space left on device")

    logs.configure("info", "json", Full())
    logs.get_logger("a").info("x")
    closed = io.StringIO()
    closed.close()
    logs.configure("info", "json", closed)
    logs.get_logger("b").info("x")
    assert Full.tried == 1


def test_a_terminal_that_knows_only_ascii_gets_escapes():
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    logs.configure("info", "json", stream)
    logs.get_logger("a").info("naïve")
    assert b"na\\xefve" in raw.getvalue()


# -- the standard library's logging


def test_other_libraries_lines_come_out_the_same_way(out: io.StringIO):
    logs.configure("info", "json", out)
    logging.getLogger("aiohttp.server").warning("slow %s", "client")
    line = one(out)
    assert (line["level"], line["logger"], line["event"]) == ("warning", "aiohttp.server", "slow client")


def test_setting_up_twice_does_not_double_other_libraries_lines(out: io.StringIO):
    logs.configure("info", "json", out)
    logs.configure("info", "json", out)
    logging.getLogger("x").warning("once")
    assert one(out)["event"] == "once"


def test_the_level_holds_for_other_libraries_too(out: io.StringIO):
    logs.configure("warning", "json", out)
    logging.getLogger("x").info("no")
    assert out.getvalue() == ""


def test_a_library_that_formats_badly_does_not_spill_its_arguments(out: io.StringIO, capsys: pytest.CaptureFixture[str]):
    logs.configure("info", "json", out)
    root = logging.getLogger()
    root.handlers[:] = [handler for handler in root.handlers if isinstance(handler, logs._FromLogging)]  # pytest's own would raise
    logging.getLogger("x").warning("%d", "planted")
    assert "could not be formatted" in str(one(out)["event"])
    spilt = capsys.readouterr()
    assert "planted" not in out.getvalue() + spilt.out + spilt.err


def test_before_any_set_up_warnings_are_scrubbed_too(capsys: pytest.CaptureFixture[str]):
    log = logs.get_logger("early")
    log.info("quiet")
    log.warning("loud", token="planted")
    written = capsys.readouterr()
    assert written.out == ""
    assert "loud" in written.err
    assert "quiet" not in written.err
    assert "planted" not in written.err
