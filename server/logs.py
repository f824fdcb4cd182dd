"""Logs: one line per happening, for people (console) or machines (json), with nothing secret in them.

Everything, the standard library's `logging` included, passes the same scrubber: secrets are hidden by key name and by shape, control
characters are escaped so that no value can fake a line, long values are cut. Bind what a line is about once
(`log = log.bind(session=..., conn=...)`) and log on the result: a call below the level then costs next to nothing.

Because `code` is what an invite is redeemed with, a text under that key is hidden; log an error's code as `error`.
"""

from __future__ import annotations

import logging
import re
import sys
import traceback
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final, Literal, TextIO, cast

import msgspec
import structlog
from structlog.typing import EventDict, FilteringBoundLogger, Processor, WrappedLogger

Format = Literal["auto", "console", "json"]
Level = Literal["debug", "info", "warning", "error"]

HIDDEN: Final = "[hidden]"
MAX_VALUE: Final = 500
MAX_TRACE: Final = 16_000
MAX_ITEMS: Final = 20
MAX_DEPTH: Final = 3

_MARGIN: Final = 200
_NAME: Final = "logger_name"  # structlog keeps the plain word for itself when a logger is made
_INT_LIMIT: Final = 2**63
_FIRST_KEYS: Final = ("timestamp", "level", "logger", "event", "session", "v", "conn", "action")
_SECRET_WORDS: Final = frozenset({"token", "seed", "secret", "authorization", "salt", "password", "passphrase", "cookie", "bearer"})
_WORD: Final = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")
_SECRET_SHAPE: Final = re.compile(
    r"(?-i:eyJ)[\w-]{6,}(?:\.[\w-]*){0,2}"  # a JWT, whole or cut short
    r"|(?<=\.)[0-9a-z]{4}(?:-[0-9a-z]{4}){3}(?![\w-])"  # the code of an invite <session>.<code>
    r"|(?<=[a-z2-7]{16}\.)[0-9a-z]{4}(?:[- ]?[0-9a-z]{4}){3}"  # the same, typed carelessly
    r"|(?<=://)[^/@\s]+(?=@)"  # user and password in a URL
    r"|(?<=bearer )[^\s\"',;]+"
    # A secret inside a sentence or a repr: token=..., "seed": "...", salt: b'...'
    r"|(?:(?<=token)|(?<=seed)|(?<=secret)|(?<=salt)|(?<=authorization)|(?<=password))s?[\"']?\s?[=:]\s?b?[\"']?[^\s\"',;)}\]]+",
    re.IGNORECASE | re.ASCII,
)


@lru_cache(maxsize=1024)
def _secrecy(key: str) -> Literal["", "code", "secret"]:
    words = {word.lower().removesuffix("s") for word in _WORD.findall(key)}
    return "secret" if words & _SECRET_WORDS else "code" if "code" in words else ""


def _is_hidden(key: str, value: object) -> bool:
    secrecy = _secrecy(key)
    # An invite code is a text; a close code or a status code is a number and worth seeing.
    return secrecy == "secret" or (secrecy == "code" and not isinstance(value, int))


def _text(value: str, longest: int = MAX_VALUE) -> str:
    # Cut before searching, so that a huge value costs little, with a margin, so that no secret is cut past recognition.
    text = _SECRET_SHAPE.sub(HIDDEN, value[: longest + _MARGIN])
    if not text.isprintable():
        text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)
    if len(text) > longest or len(value) > longest + _MARGIN:
        text = f"{text[:longest]}... ({len(value)} characters)"
    return text


def _scrub(value: object, depth: int = 0) -> object:
    if isinstance(value, str):
        return _text(value)
    if value is None or isinstance(value, bool | float):
        return value
    if isinstance(value, int):
        return int(value) if -_INT_LIMIT <= value < _INT_LIMIT else f"<integer of {value.bit_length()} bits>"
    if isinstance(value, bytes | bytearray | memoryview):
        # Seeds, keys and wire frames are bytes: how many says enough.
        return f"<{len(value)} bytes>"
    if isinstance(value, Mapping | list | tuple | set | frozenset):
        if depth >= MAX_DEPTH:
            return f"<{len(value)} items>"
        if isinstance(value, Mapping):
            return _scrub_items(dict(list(value.items())[:MAX_ITEMS]), depth + 1)
        return [_scrub(item, depth + 1) for item in list(value)[:MAX_ITEMS]]
    try:
        return _text(f"{type(value).__name__}: {value}" if isinstance(value, BaseException) else str(value))
    except Exception:
        return f"<{type(value).__name__} that cannot be shown>"


def _scrub_items(items: Mapping[Any, object], depth: int) -> dict[str, object]:
    scrubbed: dict[str, object] = {}
    for key, value in items.items():
        name = key if isinstance(key, str) and len(key) <= 64 and key.isidentifier() else _text(str(key), 64)
        scrubbed[name] = HIDDEN if _is_hidden(name, value) else _scrub(value, depth)
    return scrubbed


def _trace(exc_info: object) -> str:
    if isinstance(exc_info, BaseException):
        error: BaseException | None = exc_info
    elif isinstance(exc_info, tuple):
        error = exc_info[1]
    else:
        error = sys.exc_info()[1]
    if error is None:
        return ""
    lines = "".join(traceback.format_exception(error))[-MAX_TRACE:].splitlines()
    # The bar keeps a line inside an exception's message from passing for a line of the log.
    return "\n".join(f"  | {_text(line)}" for line in lines)


def scrub(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
    """Processor: hide what is secret, escape what is not printable, cut what is long, and put the well-known keys first."""
    exc_info = event.pop("exc_info", None)
    event.pop("stack_info", None)
    if _NAME in event:
        event["logger"] = event.pop(_NAME)
    clean = _scrub_items(event, 0)
    ordered: dict[str, object] = {key: clean.pop(key) for key in _FIRST_KEYS if key in clean}
    ordered.update(clean)
    if exc_info:
        ordered["exception"] = _trace(exc_info)
    return ordered


def _to_json(_: WrappedLogger, __: str, event: EventDict) -> str:
    return msgspec.json.encode(event).decode("utf-8")


class _Sink:
    """Where lines go. One object for the life of the process, so that loggers made earlier follow a later `configure`."""

    stream: TextIO | None = None

    def write(self, line: str) -> None:
        # A process without a console has no stderr, whatever its type says.
        stream = cast("TextIO | None", self.stream or sys.stderr)
        if stream is None:
            return
        try:
            try:
                stream.write(line + "\n")
            except UnicodeEncodeError:
                stream.write(line.encode("ascii", "backslashreplace").decode("ascii") + "\n")
            stream.flush()
        except (OSError, ValueError):
            # A full disk or a closed terminal must not take the tables down; there is nowhere left to say so.
            return

    debug = info = warning = warn = error = critical = exception = fatal = msg = write


_sink: Final = _Sink()
_processors: Final[list[Processor]] = []


class _FromLogging(logging.Handler):
    """Carries the standard library's records into the same scrubber and sink."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            event: Any = {"event": record.getMessage(), "logger": record.name}
        except Exception:
            # The default handling would print the raw arguments.
            event = {"event": "a log message could not be formatted", "logger": record.name}
        if record.exc_info:
            event["exc_info"] = record.exc_info
        for process in _processors:
            event = process(None, record.levelname.lower(), event)
        _sink.write(event)


def configure(level: Level = "info", format: Format = "auto", stream: TextIO | None = None) -> None:
    """Set up structlog and the root of `logging`. `stream`: stderr by default. `auto` is console on a terminal, else json.

    Call it before the first line is logged: a logger keeps the level it had at first use.
    """
    _set_up(level, format, stream, cache=True)
    root = logging.getLogger()
    for handler in [handler for handler in root.handlers if isinstance(handler, _FromLogging)]:
        root.removeHandler(handler)
    root.addHandler(_FromLogging())
    root.setLevel(level.upper())


def _set_up(level: Level, format: Format, stream: TextIO | None, *, cache: bool) -> None:
    is_terminal = _is_terminal(stream or sys.stderr)
    render: Processor = _to_json
    if format == "console" or (format == "auto" and is_terminal):
        render = structlog.dev.ConsoleRenderer(colors=is_terminal, exception_formatter=structlog.dev.plain_traceback, sort_keys=False)
    _sink.stream = stream
    _processors[:] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        scrub,
        render,
    ]
    structlog.configure(
        processors=_processors,
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=lambda *_: _sink,
        cache_logger_on_first_use=cache,
    )


def _is_terminal(stream: TextIO | None) -> bool:
    try:
        return stream is not None and stream.isatty()
    except ValueError:  # closed
        return False


def get_logger(name: str) -> FilteringBoundLogger:
    """A logger whose lines carry `logger=name`. Bind `session`, `v`, `conn` and `action` where they are known."""
    return cast(FilteringBoundLogger, structlog.get_logger(**{_NAME: name}))


# Until someone configures more, warnings go to stderr, scrubbed: structlog's own default would print everything as it is.
_set_up("warning", "auto", None, cache=False)
