"""Settings: the later source wins, what is wrong is named, and no secret is ever shown."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest

from server.config import Config, ConfigError, describe, load, signing_secrets
from server.config_fields import SETTINGS

ROOT = Path(__file__).parents[3]
KEY = "k" * 40


def refused(*, file: Path | None = None, env: Mapping[str, str] | None = None, overrides: Mapping[str, object] | None = None) -> str:
    with pytest.raises(ConfigError) as caught:
        load(file=file, env=env or {}, overrides=overrides)
    return str(caught.value)


@pytest.fixture
def toml(tmp_path: Path) -> Path:
    path = tmp_path / "dustup.toml"
    path.write_text('port = 1000\nhost = "0.0.0.0"\norigins = ["https://a.example"]\n[limits]\nseat_rate = 7\nseat_burst = 8\n', "utf-8")
    return path


# -- where values come from


def test_with_nothing_set_the_server_is_private_and_needs_nothing_installed():
    config = load(env={})
    assert (config.host, config.store, config.durability) == ("127.0.0.1", "embedded", "everysec")
    assert config.data_dir.name == "dustup"
    assert config.anyone_may_create


def test_a_file_beats_defaults_the_environment_beats_the_file_and_the_command_line_beats_all(toml: Path):
    assert load(file=toml, env={}).port == 1000
    env = {"DUSTUP_PORT": "2000", "DUSTUP_LIMITS_SEAT_RATE": "9"}
    config = load(file=toml, env=env)
    assert (config.port, config.limits.seat_rate, config.limits.seat_burst, config.host) == (2000, 9, 8, "0.0.0.0")
    config = load(file=toml, env=env, overrides={"port": 3000, "limits.seat_rate": "10", "host": None})
    assert (config.port, config.limits.seat_rate, config.host) == (3000, 10, "0.0.0.0")


def test_the_environment_can_name_the_file(toml: Path, tmp_path: Path):
    assert load(env={"DUSTUP_CONFIG": str(toml)}).port == 1000
    other = tmp_path / "other.toml"
    other.write_text("port = 5", "utf-8")
    assert load(file=other, env={"DUSTUP_CONFIG": str(toml)}).port == 5


def test_without_env_given_the_process_environment_is_read(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("DUSTUP_PORT", "4321")
    assert load().port == 4321


def test_each_kind_of_value_can_be_written_as_text():
    env = {
        "DUSTUP_ORIGINS": "https://a.example, https://b.example:8443",
        "DUSTUP_OPEN_CREATION": "false",
        "DUSTUP_DATA_DIR": "~/somewhere",
        "DUSTUP_LOG_LEVEL": "debug",
        "DUSTUP_STORE": "redis://db.example:6379/1",
    }
    config = load(env=env)
    assert config.origins == ("https://a.example", "https://b.example:8443")
    assert config.open_creation is False
    assert config.data_dir == Path.home() / "somewhere"
    assert config.log.level == "debug"
    assert config.store == "redis://db.example:6379/1"
    assert load(env={"DUSTUP_ORIGINS": ""}).origins == ()


def test_a_configuration_cannot_be_changed_later():
    config = load(env={})
    with pytest.raises(AttributeError):
        config.port = 1  # type: ignore[misc]


# -- what is not allowed


@pytest.mark.parametrize(
    ("path", "value", "allowed"),
    [
        ("port", "65536", "0 to 65535"),
        ("port", "-1", "0 to 65535"),
        ("port", "eighty", "0 to 65535"),
        ("port", "80.5", "0 to 65535"),
        ("port", "9" * 400, "0 to 65535"),
        ("host", "", "host name"),
        ("host", "http://x", "host name"),
        ("store", "postgres://db", "redis://"),
        ("store", "redis://", "redis://"),
        ("store", "redis://h:port", "redis://"),
        ("durability", "sometimes", "replicas=N"),
        ("durability", "replicas=0", "replicas=N"),
        ("public_url", "play.example", "https://"),
        ("public_url", "https://play.example/path", "https://"),
        ("origins", "https://a.example,ftp://b.example", "https://"),
        ("trusted_proxies", "10.0.0.0/33", "10.0.0.0/8"),
        ("open_creation", "maybe", "true or false"),
        ("log.level", "loud", "debug or info or warning or error"),
        ("log.format", "xml", "auto or console or json"),
        ("limits.queue_bytes", "1000", "1048576"),
        ("limits.seat_burst", "0", "1 to"),
        ("idle_minutes", "0", "1 to"),
        ("secret_file", "", "a path"),
        ("data_dir", "a\0b", "a path"),
    ],
)
def test_a_value_that_is_not_allowed_is_named_with_its_source_and_what_is(path: str, value: str, allowed: str):
    name = "DUSTUP_" + path.replace(".", "_").upper()
    for text in (refused(env={name: value}), refused(overrides={path: value})):
        assert text.startswith(f"{path} = ")
        assert allowed in text
        assert repr(value.split(",")[-1])[1:-1][:20] in text
        assert len(text) < 500
    assert f"from {name}" in refused(env={name: value})


def test_a_file_must_use_the_right_types(tmp_path: Path):
    path = tmp_path / "x.toml"
    for line, setting in [
        ('port = "80"', "port"),
        ("host = 5", "host"),
        ('origins = "https://a"', "origins"),
        ("open_creation = 1", "open_creation"),
    ]:
        path.write_text(line, "utf-8")
        text = refused(file=path)
        assert text.startswith(f"{setting} = ")
        assert str(path) in text


@pytest.mark.parametrize("content", ["port = ", "= 5", "[limits", "port = 1\nport = 2", "\x00"])
def test_a_file_that_is_not_toml_is_named(tmp_path: Path, content: str):
    path = tmp_path / "x.toml"
    path.write_text(content, "utf-8")
    assert f"{path} is not TOML" in refused(file=path)


def test_a_file_that_is_not_text_or_not_there_is_named(tmp_path: Path):
    path = tmp_path / "x.toml"
    assert f"{path} cannot be read" in refused(file=path)
    assert f"{tmp_path} cannot be read" in refused(env={"DUSTUP_CONFIG": str(tmp_path)})
    path.write_bytes(b"\xff\xfe\x00")
    assert f"{path} is not TOML" in refused(file=path)


@pytest.mark.parametrize(
    "content", ["prot = 1", "limits = 3", "[limits]\nseat_rates = 1", "[port]\nx = 1", "[limits.deep]\nx = 1", "[other]\nx = 1"]
)
def test_a_setting_that_does_not_exist_is_refused(tmp_path: Path, content: str):
    path = tmp_path / "x.toml"
    path.write_text(content, "utf-8")
    assert "there is no setting" in refused(file=path)


def test_a_misspelt_setting_is_told_the_right_one(tmp_path: Path):
    path = tmp_path / "x.toml"
    path.write_text("[limits]\nseat_rates = 1", "utf-8")
    assert "did you mean limits.seat_rate?" in refused(file=path)
    assert "did you mean DUSTUP_PORT?" in refused(env={"DUSTUP_PROT": "1"})
    assert "did you mean DUSTUP_DURABILITY?" in refused(env={"DUSTUP_DURABILTY": "always"})


def test_variables_that_belong_to_others_are_left_alone():
    kubernetes = {
        "DUSTUP_PORT": "tcp://10.0.0.7:8750",
        "DUSTUP_SERVICE_HOST": "10.0.0.7",
        "DUSTUP_SERVICE_PORT": "8750",
        "DUSTUP_PORT_8750_TCP": "tcp://10.0.0.7:8750",
        "DUSTUP_PORT_8750_TCP_PROTO": "tcp",
        "DUSTUP_PORT_8750_TCP_ADDR": "10.0.0.7",
    }
    assert load(env={**kubernetes, "DUSTUP_TOKEN": "a client's", "PATH": "/bin"}) == load(env={})


# -- who may create sessions


@pytest.mark.parametrize(
    ("overrides", "anyone"),
    [
        ({"host": "127.0.0.1"}, True),
        ({"host": "127.9.9.9"}, True),
        ({"host": "::1"}, True),
        ({"host": "localhost"}, True),
        ({"host": "0.0.0.0"}, False),
        ({"host": "::"}, False),
        ({"host": "192.0.2.1"}, False),
        ({"host": "localhost.evil.example"}, False),
        ({"host": "127.0.0.1", "public_url": "https://play.example"}, False),
        ({"host": "127.0.0.1", "public_url": "http://localhost:8750"}, True),
        ({"host": "127.0.0.1", "trusted_proxies": "127.0.0.1/32"}, False),
        ({"host": "0.0.0.0", "open_creation": "true"}, True),
        ({"host": "127.0.0.1", "open_creation": "false"}, False),
    ],
)
def test_anyone_may_create_only_where_strangers_cannot_reach_unless_said(overrides: dict[str, object], anyone: bool):
    assert load(env={}, overrides=overrides).anyone_may_create is anyone


# -- secrets


def test_no_error_and_no_repr_shows_a_secret(tmp_path: Path):
    planted = "planted-secret-0123456789-0123456789"
    config = load(env={"DUSTUP_SECRET": planted, "DUSTUP_STORE": f"redis://user:{planted}@db.example/0"})
    for text in (repr(config), str(config), f"{config.secret} {config.secret!r}"):
        assert planted not in text
    assert "redis://[hidden]@db.example/0" in repr(config)
    assert planted not in refused(env={"DUSTUP_STORE": f"http://user:{planted}@db.example"})
    assert planted not in refused(overrides={"secret": planted})
    path = tmp_path / "x.toml"
    path.write_text(f'secret = "{planted}"', "utf-8")
    assert planted not in refused(file=path)
    with pytest.raises(TypeError):
        msgspec.json.encode(config)


def test_a_secret_on_the_command_line_or_in_the_file_is_refused_with_a_better_way():
    text = refused(overrides={"secret": KEY})
    assert "DUSTUP_SECRET" in text
    assert "secret_file" in text


def test_keys_come_from_the_environment_before_the_file_and_the_first_signs(tmp_path: Path):
    path = tmp_path / "keys"
    path.write_text(f"{KEY}new\n{KEY}old\n", "utf-8")
    config = load(env={"DUSTUP_SECRET_FILE": str(path)})
    assert signing_secrets(config) == (f"{KEY}new".encode(), f"{KEY}old".encode())
    config = load(env={"DUSTUP_SECRET_FILE": str(path), "DUSTUP_SECRET": f"{KEY}a {KEY}b"})
    assert signing_secrets(config) == (f"{KEY}a".encode(), f"{KEY}b".encode())


def test_a_key_too_short_is_refused_by_number_and_not_shown():
    with pytest.raises(ConfigError, match="number 2 in DUSTUP_SECRET has 5 bytes; at least 32") as caught:
        signing_secrets(load(env={"DUSTUP_SECRET": f"{KEY} short"}))
    assert "short" not in str(caught.value)
    with pytest.raises(ConfigError, match="has 31 bytes"):
        signing_secrets(load(env={"DUSTUP_SECRET": "x" * 31}))
    assert signing_secrets(load(env={"DUSTUP_SECRET": "x" * 32})) == (b"x" * 32,)
    assert signing_secrets(load(env={"DUSTUP_SECRET": "é" * 16})) == (("é" * 16).encode(),)


def test_a_key_in_the_environment_that_is_not_text_is_used_as_the_bytes_it_is():
    raw = b"\xff\xfe" * 20
    config = load(env={"DUSTUP_SECRET": raw.decode("utf-8", "surrogateescape")})
    assert signing_secrets(config) == (raw,)
    assert config == load(env={"DUSTUP_SECRET": raw.decode("utf-8", "surrogateescape")})
    assert config != load(env={"DUSTUP_SECRET": KEY})


def test_a_secret_file_that_is_missing_empty_or_binary_is_named(tmp_path: Path):
    path = tmp_path / "keys"
    config = load(env={"DUSTUP_SECRET_FILE": str(path)})
    with pytest.raises(ConfigError, match="cannot be read"):
        signing_secrets(config)
    path.write_bytes(b" \n")
    with pytest.raises(ConfigError, match="no signing secret"):
        signing_secrets(config)
    path.write_bytes(b"\xff" * 40)
    with pytest.raises(ConfigError, match="not text"):
        signing_secrets(config)


def test_without_any_a_key_is_made_once_for_the_owner_alone(tmp_path: Path):
    folder = tmp_path / "deep" / "data"
    config = load(env={}, overrides={"data_dir": str(folder)})
    keys = signing_secrets(config)
    assert len(keys) == 1
    assert len(keys[0]) >= 32
    assert signing_secrets(config) == keys
    assert [path.name for path in folder.iterdir()] == ["secret"]
    if os.name == "posix":
        assert stat.S_IMODE((folder / "secret").stat().st_mode) == 0o600
        assert stat.S_IMODE(folder.stat().st_mode) & 0o077 == 0
    elsewhere = load(env={}, overrides={"data_dir": str(tmp_path / "other")})
    assert signing_secrets(elsewhere) != keys


@pytest.mark.skipif(os.name != "posix", reason="file modes are a POSIX matter")
def test_a_made_key_is_private_even_under_a_careless_umask(tmp_path: Path):
    code = (
        "import os, pathlib, sys; os.umask(0); from server.config import load, signing_secrets;"
        "signing_secrets(load(env={}, overrides={'data_dir': sys.argv[1]}))"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "data")], check=True, cwd=ROOT, timeout=60)
    assert stat.S_IMODE((tmp_path / "data" / "secret").stat().st_mode) == 0o600


@pytest.mark.skipif(os.name != "posix", reason="file modes are a POSIX matter")
def test_a_made_key_that_others_may_read_is_refused_with_the_remedy(tmp_path: Path):
    config = load(env={}, overrides={"data_dir": str(tmp_path)})
    signing_secrets(config)
    (tmp_path / "secret").chmod(0o644)
    with pytest.raises(ConfigError, match="chmod 600"):
        signing_secrets(config)


def test_servers_that_start_at_once_agree_on_one_key(tmp_path: Path):
    config = load(env={}, overrides={"data_dir": str(tmp_path / "data")})
    with ThreadPoolExecutor(8) as pool:
        keys = set(pool.map(signing_secrets, [config] * 16))
    assert len(keys) == 1
    assert [path.name for path in (tmp_path / "data").iterdir()] == ["secret"]


def test_a_place_where_no_key_can_be_made_is_named(tmp_path: Path):
    (tmp_path / "file").write_text("", "utf-8")
    config = load(env={}, overrides={"data_dir": str(tmp_path / "file" / "data")})
    with pytest.raises(ConfigError, match="set data_dir or secret_file"):
        signing_secrets(config)


def test_a_throw_away_server_writes_nothing(tmp_path: Path):
    config = load(env={}, overrides={"data_dir": str(tmp_path / "data"), "store": "memory"})
    (key,) = signing_secrets(config)
    assert len(key) >= 32
    assert signing_secrets(config) != (key,)
    assert not (tmp_path / "data").exists()


# -- documentation


def test_every_setting_has_a_sentence_and_says_what_is_allowed():
    assert len(SETTINGS) > 25
    for setting in SETTINGS.values():
        assert setting.text.endswith(".")
        assert setting.allowed
        assert setting.default
        assert len(setting.text) > 15


def test_every_field_of_the_configuration_is_a_setting():
    top = {info.name for info in msgspec.structs.fields(Config)}
    assert {path.partition(".")[0] for path in SETTINGS} == top


def test_every_default_is_itself_allowed():
    config = load(env={})
    overrides = {
        path: list(value) if isinstance(value, tuple) else str(value) if isinstance(value, Path) else value
        for path, setting in SETTINGS.items()
        if (value := setting.of(config)) is not None and path != "secret"
    }
    assert load(env={}, overrides=overrides) == config


def test_the_page_is_current():
    page = (ROOT / "docs" / "configuration.md").read_text("utf-8")
    assert page == describe(), "run: python -m server.config > docs/configuration.md"


def test_the_page_tells_nothing_of_the_machine_it_was_made_on():
    assert str(Path.home()) not in describe()
