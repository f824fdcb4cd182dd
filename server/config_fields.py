"""Every setting of a server: its meaning, its default and what is allowed. `server.config` reads and documents them."""

from __future__ import annotations

import hmac
import ipaddress
import re
import typing
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal
from urllib.parse import urlsplit

import msgspec
import platformdirs
from msgspec import Meta, field

from server.logs import Format, Level

ENV_PREFIX: Final = "DUSTUP_"
MIN_SECRET: Final = 32
_URL_LOGIN: Final = re.compile(r"(?<=://)[^/@\s]*(?=@)")


class Hidden:
    """A secret text that does not show itself: `reveal()` gives it, printing it does not."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        return self._value

    def _bytes(self) -> bytes:
        return self._value.encode("utf-8", "surrogateescape")  # as the environment gives what is not UTF-8

    def __bool__(self) -> bool:
        return bool(self._value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Hidden) and hmac.compare_digest(self._bytes(), other._bytes())

    def __hash__(self) -> int:
        return hash(self._value)

    def __repr__(self) -> str:
        return "[hidden]"


def _check_store(value: str) -> None:
    url = urlsplit(value)
    is_network, is_socket = url.scheme in ("redis", "rediss") and url.hostname, url.scheme == "unix" and url.path
    if value not in ("embedded", "memory") and not is_network and not is_socket:
        raise ValueError
    _ = url.port  # raises ValueError when it is not a number in range


def _check_public_url(value: str) -> None:
    if value:
        _check_origin(value)


def _check_origins(values: tuple[str, ...]) -> None:
    for value in values:
        if value != "*":
            _check_origin(value)


def _check_origin(value: str) -> None:
    url = urlsplit(value)
    if url.scheme not in ("http", "https") or not url.hostname or "@" in url.netloc:
        raise ValueError
    if url.path not in ("", "/") or url.query or url.fragment:
        raise ValueError
    _ = url.port  # raises ValueError when it is not a number in range


def _check_networks(values: tuple[str, ...]) -> None:
    for value in values:
        ipaddress.ip_network(value, strict=False)


def _about(text: str, allowed: str = "", check: Callable[[Any], None] | None = None, default: str = "", **bounds: Any) -> Meta:
    return Meta(description=text, extra={"allowed": allowed, "check": check, "default": default}, **bounds)


class LogSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How the server logs."""

    format: Annotated[Format, _about("console for people, json for machines; auto is console on a terminal, else json.")] = "auto"
    level: Annotated[Level, _about("The least grave kind of line that is written.")] = "info"


class LimitSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How much one seat, table or address may ask for.

    A rate is in messages per second on average; a burst is how many may come at once. A rate of 0 is no limit.
    """

    seat_rate: Annotated[int, _about("Messages per second from one seat.", ge=0, le=100_000)] = 20
    seat_burst: Annotated[int, _about("Messages at once from one seat.", ge=1, le=1_000_000)] = 60
    session_rate: Annotated[int, _about("Messages per second to one session, from all its seats.", ge=0, le=100_000)] = 100
    session_burst: Annotated[int, _about("Messages at once to one session.", ge=1, le=1_000_000)] = 300
    address_rate: Annotated[int, _about("Messages per second from one address (an IPv6 /64 counts as one).", ge=0, le=1_000_000)] = 200
    address_burst: Annotated[int, _about("Messages at once from one address.", ge=1, le=10_000_000)] = 600
    address_connections: Annotated[int, _about("Open connections from one address; 0 is no limit.", ge=0, le=1_000_000)] = 64
    tries_per_minute: Annotated[int, _about("Refused tokens and invites per minute from one address; 0 is no limit.", ge=0, le=100_000)] = (
        20
    )
    keys: Annotated[
        int, _about("How many seats, sessions and addresses are remembered, of each; bounds the memory limits take.", ge=100, le=10_000_000)
    ] = 20_000
    sessions: Annotated[int, _about("Sessions one connection may have joined at a time.", ge=1, le=1_000)] = 16
    queue_bytes: Annotated[
        int,
        _about(
            "Bytes that may wait for one connection to read them; beyond, it is closed and told to resync.", ge=1_048_576, le=1_073_741_824
        ),
    ] = 4_194_304
    hello_ms: Annotated[int, _about("Milliseconds a new connection has to say hello.", ge=100, le=600_000)] = 5_000


class Config(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that can be set about a server."""

    host: Annotated[
        str,
        _about(
            "Address to listen on; 127.0.0.1 is this machine only, 0.0.0.0 every network.",
            "a host name or IP address",
            pattern=r"^[^\s/@]{1,255}$",
        ),
    ] = "127.0.0.1"
    port: Annotated[int, _about("Port to listen on; 0 takes any free one.", ge=0, le=65_535)] = 8750
    store: Annotated[
        str,
        _about(
            "Where sessions are kept: embedded runs a database in data_dir, memory forgets all at the end, a URL names a Redis or Valkey.",
            "embedded, memory, redis://HOST[:PORT][/DB], rediss://HOST[:PORT][/DB] or unix:///PATH",
            _check_store,
        ),
    ] = "embedded"
    data_dir: Annotated[
        Path, _about("Folder for the embedded database, the generated secret and the archive.", "a path", default="the user's data folder")
    ] = field(default_factory=lambda: platformdirs.user_data_path("dustup", appauthor=False))
    durability: Annotated[
        str,
        _about(
            "What an acknowledged action survives: everysec the kill of any process, always a power cut, "
            "replicas=N the loss of the primary too.",
            "everysec, always or replicas=N with N from 1 to 9",
            pattern=r"^(everysec|always|replicas=[1-9])$",
        ),
    ] = "everysec"
    secret: Annotated[
        Hidden,
        _about(
            "Keys that sign tokens, one or more separated by blanks: the first signs, all are accepted. Only from the "
            "environment; empty means secret_file, and without that one is made and kept in data_dir.",
            f"texts of at least {MIN_SECRET} bytes",
            default="(made)",
        ),
    ] = field(default_factory=lambda: Hidden(""))
    secret_file: Annotated[Path | None, _about("File with the keys that sign tokens, as in secret.", "a path", default="(none)")] = None
    public_url: Annotated[
        str,
        _about(
            "The address people reach this server at, for links; empty means host and port.",
            "http://HOST[:PORT] or https://HOST[:PORT]",
            _check_public_url,
        ),
    ] = ""
    origins: Annotated[
        tuple[str, ...],
        _about(
            "Web pages that may connect from a browser, besides the server's own; * is any.",
            "* or a list of http(s)://HOST[:PORT]",
            _check_origins,
        ),
    ] = ()
    trusted_proxies: Annotated[
        tuple[str, ...],
        _about(
            "Networks of the proxies in front, whose X-Forwarded-For is believed.", "a list of networks such as 10.0.0.0/8", _check_networks
        ),
    ] = ()
    open_creation: Annotated[
        bool | None,
        _about(
            "Whether anyone may create sessions without an admin token.",
            "true or false",
            default="true if host is loopback, public_url is empty or loopback, and there are no trusted_proxies",
        ),
    ] = None
    idle_minutes: Annotated[int, _about("Minutes after which a session nobody uses leaves memory.", ge=1, le=10_080)] = 10
    snapshot_every: Annotated[
        int, _about("Entries between two snapshots of a session; fewer load faster and write more.", ge=1, le=100_000)
    ] = 100
    ring: Annotated[int, _about("Latest entries of a live session kept in memory for clients that come back.", ge=0, le=100_000)] = 256
    deadline_sweep_seconds: Annotated[int, _about("Seconds between two looks for deadlines that have come.", ge=1, le=3_600)] = 5
    drain_seconds: Annotated[int, _about("Seconds a stopping server takes at most to finish what it has begun.", ge=0, le=3_600)] = 20
    log: LogSettings = LogSettings()
    limits: LimitSettings = LimitSettings()

    def __repr__(self) -> str:
        return f"Config({', '.join(f'{setting.path}={shown(setting.of(self))}' for setting in SETTINGS.values())})"

    @property
    def anyone_may_create(self) -> bool:
        """`open_creation` with its default worked out. A proxy in front makes a loopback address reachable by strangers."""
        if self.open_creation is not None:
            return self.open_creation
        public_host = urlsplit(self.public_url).hostname
        return _is_loopback(self.host) and not self.trusted_proxies and (public_host is None or _is_loopback(public_host))


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


class Setting(msgspec.Struct, frozen=True):
    """One field of Config as loading and documenting it need it. `path` is `port` or `limits.seat_rate`."""

    path: str
    type: Any
    text: str
    allowed: str
    default: str
    check: Callable[[Any], None] | None
    is_list: bool

    @property
    def env(self) -> str:
        return ENV_PREFIX + self.path.replace(".", "_").upper()

    def of(self, config: Config) -> object:
        """The field's value in `config`."""
        value: object = config
        for name in self.path.split("."):
            value = getattr(value, name)
        return value


def _settings(struct: type[msgspec.Struct], prefix: str = "") -> dict[str, Setting]:
    found: dict[str, Setting] = {}
    hints = typing.get_type_hints(struct, include_extras=True)
    for info in msgspec.structs.fields(struct):
        hint, path = hints[info.name], prefix + info.name
        if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
            found |= _settings(hint, f"{path}.")
            continue
        kind, meta = typing.get_args(hint)
        extra = meta.extra
        default = extra["default"] or _as_text(info.default)
        allowed = extra["allowed"] or _allowed(kind, meta)
        found[path] = Setting(path, hint, meta.description, allowed, default, extra["check"], typing.get_origin(kind) is tuple)
    return found


def _allowed(kind: Any, meta: Meta) -> str:
    if typing.get_origin(kind) is Literal:
        return " or ".join(typing.get_args(kind))
    return f"a whole number from {meta.ge} to {meta.le}"


def _as_text(value: object) -> str:
    return str(value) if value not in ("", ()) else "(none)"


def shown(value: object) -> str:
    """`value` as an error may show it: cut, and without the login of a URL."""
    return _URL_LOGIN.sub("[hidden]", repr(value))[:120]


SETTINGS: Final[Mapping[str, Setting]] = _settings(Config)
"""Every setting by its path, in the order of the documentation."""
