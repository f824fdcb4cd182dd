"""The command line's manners: help with examples, quick starts, and one sentence for whatever cannot be done."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import engine
from engine.rulesets.duel import RULES
from protocol.schema import build_schema
from server.cli import COMMANDS, VERSION, Root, main
from tests.support.command_line import ROOT, dustup, environment, output, refused


def every_command() -> list[tuple[str, ...]]:
    """The words of every command and subcommand."""
    assert isinstance(main, Root)
    found: list[tuple[str, ...]] = []
    context = click.Context(main)
    for name in main.list_commands(context):
        one = main.get_command(context, name)
        assert one is not None
        found.append((name,))
        if isinstance(one, click.Group):
            found += [(name, inner) for inner in one.commands]
    return found


@pytest.mark.parametrize("words", every_command(), ids=" ".join)
def test_every_command_explains_itself(words):
    shown = CliRunner().invoke(main, [*words, "--help"])
    assert shown.exit_code == 0, shown.output
    assert f"Usage: dustup {' '.join(words)}" in shown.output
    # Examples are on the command, or on the group that a subcommand belongs to.
    group = CliRunner().invoke(main, [words[0], "--help"]).output
    assert "Examples:" in group
    assert f"dustup {words[0]}" in group.partition("Examples:")[2]


def test_help_lists_every_command_and_loads_none():
    """`dustup --help` answers at once because nothing but click is loaded for it."""
    program = (
        "import sys\nfrom server.cli import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        "print(sorted({'aiohttp', 'redis', 'engine', 'protocol', 'msgspec', 'rich', 'structlog', 'dustup'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment(), cwd=ROOT, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
    for name in COMMANDS:
        assert f"\n  {name} " in done.stdout


def test_the_version_is_told():
    shown = CliRunner().invoke(main, ["--version"])
    assert (shown.exit_code, shown.output) == (0, f"dustup {VERSION}\n")


def test_a_mistyped_command_is_answered_with_the_one_that_was_meant():
    shown = CliRunner().invoke(main, ["sevre"])
    assert shown.exit_code == 2
    assert "did you mean serve?" in shown.stderr


BAD = {
    "an option nobody knows": (("serve", "--nope"), ("--nope", "serve --help")),
    "a port that is none": (("serve", "--port", "99999"), ("port", "0 to 65535")),
    "a store that is none": (("serve", "--store", "http://db"), ("store", "embedded", "redis://")),
    "two stores": (("serve", "--store", "memory", "--redis", "redis://127.0.0.1:1"), ("--redis", "--store")),
    "a store that cannot keep the promise": (("serve", "--store", "memory", "--durability", "always"), ("memory", "durability")),
    "a secret on the command line": (("serve", "--secret", "x"), ("--secret",)),
    "a settings file that is not there": (("serve", "--config", "nowhere.toml"), ("nowhere.toml",)),
    "a host that is none": (("serve", "--store", "memory", "--port", "0", "--host", "host.invalid"), ("host.invalid", "--host")),
    "a ruleset nobody has": (("demo", "--ruleset", "nope"), ("nope", "duel")),
    "a ready table nobody has": (("demo", "--sample", "nope"), ("nope", "yard")),
    "two speeds": (("demo", "--speed", "brisk", "--think", "1"), ("--speed", "--think")),
    "a link that is none": (("play", "come and join"), ("http://",)),
    "a link cut off": (("play", "http://127.0.0.1:1/#abc"), ("cut off",)),
    "a link without an invite": (("play", "http://127.0.0.1:1/"), ("invite", "token")),
    "a file that is not there": (("verify", "nowhere.dustup"), ("nowhere.dustup", "no such file")),
    "an import of nothing": (("import", "nowhere.dustup"), ("nowhere.dustup",)),
    "a table id that reaches elsewhere": (("export", "../x"), ("../x", "no table's id")),
    "a span of time that is none": (("token", "admin", "--for", "soon"), ("soon", "7d")),
    "a person who is none": (("token", "person", "a b"), ("a b",)),
    "a token that is none": (("token", "show", "garbage"), ("token", "not valid")),
    "a switch that is none": (("session", "create", "--option", "bold"), ("bold", "NAME=VALUE")),
    "tables that are in memory": (("session", "list", "--store", "memory"), ("memory", "--url")),
    "a server that is not there": (("session", "show", "abc", "--url", "http://127.0.0.1:1"), ("http://127.0.0.1:1", "running")),
}


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_done_is_told_in_one_sentence(case, tmp_path):
    arguments, words = BAD[case]
    refused(dustup(*arguments, XDG_DATA_HOME=str(tmp_path)), *words)


def test_a_link_to_nobody_ends_with_a_sentence():
    """The invite is well formed, but no server answers: the line client says so and gives up."""
    done = dustup("play", "http://127.0.0.1:1/#abcdefghijklmnop.k7pw-3m2x-0000-1111")
    assert done.returncode == 1
    assert "Sorry: cannot reach http://127.0.0.1:1" in done.stdout
    assert "Traceback" not in done.stderr


# --- tokens ------------------------------------------------------------------------------------------------------------------


def test_a_token_goes_to_standard_output_alone_and_is_never_shown_again(tmp_path):
    made = dustup("token", "admin", "--person", "host", "--for", "1h", "--data", tmp_path)
    assert (made.returncode, made.stderr) == (0, "")
    token = made.stdout.strip()
    assert token.count(".") == 2
    shown = dustup("token", "show", "-", "--data", tmp_path, stdin=token)
    assert shown.returncode == 0
    assert "for:     host\n" in shown.stdout
    assert "as its host" in shown.stdout
    secret = (tmp_path / "secret").read_text().strip()
    for part in (token, *token.split("."), secret):
        assert part not in shown.stdout + shown.stderr


def test_a_token_of_another_server_is_not_valid_here(tmp_path):
    token = output("token", "person", "ann", "--data", tmp_path / "one")
    refused(dustup("token", "show", token, "--data", tmp_path / "two"), "not valid")


def test_revoking_needs_one_thing_to_revoke_and_seats_are_named(tmp_path):
    session = output("session", "create", "--sample", "yard", "--data", tmp_path)
    token = output("token", "seat", session, "ann", "--data", tmp_path)
    assert output("token", "revoke", "-", "--data", tmp_path, stdin=token) == "Revoked."
    refused(dustup("token", "seat", session, "nobody", "--data", tmp_path), "nobody", "ann", "ben")
    refused(dustup("token", "revoke", "--data", tmp_path), "--seat")


# --- schema ------------------------------------------------------------------------------------------------------------------


def test_the_schema_holds_the_protocol_and_the_commands_of_a_ruleset():
    engine.register(RULES)
    done = dustup("schema", "--ruleset", "duel")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == build_schema({"duel": RULES.commands})


# --- doctor ------------------------------------------------------------------------------------------------------------------


def findings(*arguments: str | Path) -> tuple[int, dict[str, tuple[str, str, str]]]:
    done = dustup("doctor", "--json", *arguments)
    assert "Traceback" not in done.stderr
    return done.returncode, {one["check"]: (one["state"], one["found"], one["try"]) for one in json.loads(done.stdout)}


def test_the_doctor_is_content_with_a_fresh_machine_and_leaves_nothing_behind(tmp_path):
    folder = tmp_path / "data"
    code, found = findings("--data", folder, "--port", "0")
    assert code == 0
    assert {state for state, _, _ in found.values()} <= {"ok", "warn"}
    assert found["Embedded store"][0] == "ok"
    assert found["Rulesets"][0] == "ok"
    assert not folder.exists()


def test_the_doctor_names_what_is_wrong_and_what_to_try(tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "secret").write_text("too short\n")
    (tmp_path / "secret").chmod(0o600)
    code, found = findings("--data", tmp_path / "file", "--secret-file", tmp_path / "secret")
    assert code == 1
    assert found["Data folder"][0] == "fail"
    assert "--data" in found["Data folder"][2]
    assert found["Signing secret"][0] == "fail"
    assert "too short" not in found["Signing secret"][1], "a secret is not shown, however bad it is"


def test_the_doctor_finds_a_redis_that_would_lose_tables(valkey):
    for name, value in (("appendonly", "no"), ("maxmemory", "50mb"), ("maxmemory-policy", "allkeys-lru")):
        valkey.command("CONFIG", "SET", name, value)
    code, found = findings("--redis", valkey.url)
    assert code == 1
    assert found["Persistence"][0] == "fail"
    assert "appendonly yes" in found["Persistence"][2]
    assert found["Eviction"][0] == "fail"
    assert "noeviction" in found["Eviction"][2]
    assert "lost when Redis stops" in found["Durability"][1]


def test_the_doctor_is_content_with_a_redis_that_keeps_tables(valkey):
    code, found = findings("--redis", valkey.url, "--port", "0")
    assert code == 0, found
    assert {found[check][0] for check in ("Redis", "Persistence", "Eviction", "Durability")} == {"ok"}


def test_the_doctor_says_that_a_redis_is_a_replica_or_away(valkey):
    valkey.command("REPLICAOF", "127.0.0.1", "1")
    code, found = findings("--redis", valkey.url)
    assert code == 1
    assert found["Redis"][0] == "fail"
    assert "replica" in found["Redis"][1]
    code, found = findings("--redis", "redis://127.0.0.1:1")
    assert code == 1
    assert "cannot be reached" in found["Redis"][1]
