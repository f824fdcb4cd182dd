"""`dustup serve` and `dustup run` as processes: they say where they are, stop in good order, and say what is in the way."""

from __future__ import annotations

import re
import signal
import socket
from pathlib import Path

import aiohttp
import pytest

import engine
from tests.integration.raw import RawClient
from tests.support.command_line import Running, dustup, output, refused, started

SHUTTING_DOWN, UNAUTHORIZED = 4001, 4003
"""Close codes of protocol/SPEC.md."""


def taken_port() -> socket.socket:
    """A socket that listens on a port, so that nobody else can."""
    holder = socket.socket()
    holder.bind(("127.0.0.1", 0))
    holder.listen(1)
    return holder


def address(line: str) -> str:
    found = re.search(r"http://[0-9.]+:[0-9]+", line)
    assert found, line
    return found[0]


def table_in(folder: Path) -> tuple[str, str]:
    """A new duel in a data folder whose fight is on: its id, and a token for ann."""
    session = output("session", "create", "--sample", "yard", "--encounter", "mill", "--data", folder)
    return session, output("token", "seat", session, "ann", "--data", folder)


# --- serve -------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_server_told_to_stop_says_when_to_come_back_and_keeps_what_it_acknowledged(tmp_path, number):
    folder = tmp_path / "data"
    session, token = table_in(folder)
    async with started("serve", "--data", folder, "--port", "0", "--log", "error") as server, aiohttp.ClientSession() as http:
        url = address(await server.line("listens on"))
        socket = await http.ws_connect(url + "/v1/ws", protocols=("dustup.v1.msgpack",))
        client = RawClient(socket, text=False)
        await client.hello(token)
        await client.join(session)
        ack = await client.do(session, "c.1", {"type": "chat", "text": "Before the stop."})
        assert ack["t"] == "ack", ack
        server.process.send_signal(number)
        assert await client.ended() == SHUTTING_DOWN
        [bye] = client.of("bye")
        assert bye["code"] == "shutting_down"
        assert bye["retry_after"] > 0
        assert await server.end(number) == 0
    listed = output("session", "list", "--data", folder)
    assert re.search(rf"{session}\s+duel\s+v{ack['v']}\s", listed), listed


async def test_tables_can_be_looked_after_beside_a_running_server(tmp_path):
    """The commands join the running server's own store: no second server, no lock in the way, and the server hears of it."""
    folder = tmp_path / "data"
    async with started("serve", "--data", folder, "--port", "0", "--log", "error") as server, aiohttp.ClientSession() as http:
        url = address(await server.line("listens on"))
        session, token = table_in(folder)
        assert session in output("session", "list", "--data", folder)
        seats = output("session", "seats", session, "--data", folder)
        assert re.search(r"^ann +player +free, plays Reed$", seats, re.MULTILINE), seats
        link = output("session", "invite", session, "--seat", "ben", "--data", folder)
        code = link.partition("#")[2]
        async with http.post(f"{url}/v1/invites/redeem", json={"code": code}) as answer:
            assert (answer.status, (await answer.json())["seat"]) == (200, "ben")
        assert re.search(r"^ben .* held by \S+, plays Wick$", output("session", "seats", session, "--data", folder), re.MULTILINE)
        gm = {"DUSTUP_TOKEN": output("token", "seat", session, "gm", "--data", folder)}
        over_http = output("session", "show", session, "--url", url, **gm)
        assert "Tollman" in over_http
        assert "OK: everything holds." in output("verify", session, "--data", folder)
        assert "OK: everything holds." in output("verify", session, "--url", url, **gm)
        refused(dustup("verify", session, "--url", url, DUSTUP_TOKEN=token), "GM")
        client = RawClient(await http.ws_connect(url + "/v1/ws", protocols=("dustup.v1.msgpack",)), text=False)
        assert (await client.hello(token))["t"] == "welcome"
        assert output("token", "revoke", "-", "--data", folder, stdin=token) == "Revoked."
        # Another process revoked it: the server hears of it at its next look, and the open connection ends.
        assert await client.ended() == UNAUTHORIZED
        assert client.seen[-1]["code"] == "revoked"
        refused(dustup("verify", session, "--url", url), "DUSTUP_TOKEN")
        assert dustup("session", "delete", session, "--yes", "--data", folder).returncode == 0
        refused(dustup("session", "show", session, "--data", folder), session, "no table")
        assert await server.end() == 0


async def test_a_port_that_is_taken_is_named_with_what_to_try():
    with taken_port() as holder:
        port = holder.getsockname()[1]
        refused(dustup("serve", "--store", "memory", "--port", str(port), "--log", "error"), str(port), "taken", "--port")


async def test_a_data_folder_in_use_is_named_with_what_to_try(tmp_path):
    async with started("serve", "--data", tmp_path / "data", "--port", "0", "--log", "error") as server:
        await server.line("listens on")
        refused(dustup("serve", "--data", tmp_path / "data", "--port", "0", "--log", "error"), str(tmp_path / "data"), "--data", "--redis")


def test_a_redis_that_is_not_there_is_named_within_a_bounded_time():
    """The bound is the one of the helper that waits for the process, far above the store's own five seconds."""
    with taken_port() as holder:
        port = holder.getsockname()[1]
    refused(
        dustup("serve", "--redis", f"redis://:hunter2@127.0.0.1:{port}", "--port", "0", "--log", "error"), f"127.0.0.1:{port}", "--redis"
    )


def test_a_redis_that_never_answers_is_named_within_a_bounded_time():
    with taken_port() as holder:
        port = holder.getsockname()[1]
        said = refused(dustup("serve", "--redis", f"redis://:hunter2@127.0.0.1:{port}", "--port", "0", "--log", "error"), str(port))
    assert "hunter2" not in said


def test_a_read_only_redis_is_refused_before_anybody_plays(valkey):
    valkey.command("REPLICAOF", "127.0.0.1", "1")
    refused(dustup("serve", "--redis", valkey.url, "--port", "0", "--log", "error"), "read-only replica", "primary")


async def test_a_server_on_a_redis_says_where_its_tables_are_without_the_password(valkey):
    valkey.command("CONFIG", "SET", "requirepass", "hunter2")
    url = valkey.url.replace("redis://", "redis://:hunter2@")
    async with started("serve", "--redis", url, "--port", "0") as server:
        line = await server.line("listens on")
        assert f"127.0.0.1:{valkey.port}" in line
        assert await server.end() == 0
        assert "hunter2" not in "\n".join(server.seen) + await server.rest()


# --- run ---------------------------------------------------------------------------------------------------------------------


async def link_of(server: Running, seat: str) -> str:
    """The link printed for a seat of the first table."""
    found = re.search(r": (http\S+)$", await server.line(rf"^ +{seat} \("))
    assert found
    return found[1]


async def test_run_plays_a_fight_checks_its_dice_and_leaves_a_table_that_can_be_played(tmp_path):
    async with started("run", "--data", tmp_path / "data", "--port", "0", "--think", "0") as server:
        await server.line("Dice verified: all [1-9][0-9]* rolls")
        ann = await link_of(server, "Ann")
        ben = await link_of(server, "Ben")
        assert ann != ben
        played = dustup("play", ann, stdin="1\nchat Hello from a script.\nl\nquit\n")
        assert played.returncode == 0, played.stdout
        assert "You are Ann, player" in played.stdout
        assert "Reed's turn (yours)" in played.stdout
        [option] = re.findall(r"^  1\. (\w+).*, for Reed", played.stdout.partition("You can:")[2], re.MULTILINE)[:1]
        assert re.search(rf"^- Reed {option.lower()}s", played.stdout, re.MULTILINE), played.stdout
        assert "- Ann: Hello from a script." in played.stdout
        again = dustup("play", ann, stdin="quit\n")
        assert again.returncode == 1, "an invite works once"
        assert "cannot be used" in again.stdout
        assert await server.end(signal.SIGINT) == 0
    listed = output("session", "list", "--data", tmp_path / "data")
    assert "Opening fight" not in listed
    playable = [name for name in engine.names() if engine.ruleset(name).samples]
    assert len(listed.splitlines()) == len(playable), "the opening fight's table is gone, one to join of each ruleset is kept"


async def test_run_fills_every_seat_but_one_when_asked(tmp_path):
    async with started("run", "--store", "memory", "--port", "0", "--ruleset", "duel", "--skip-fight", "--fill", "--think", "0") as server:
        ann = await link_of(server, "Ann")
        await server.line("Open a link")
        assert not any("Ben (" in line for line in server.seen)
        # Ann ends her turn; whatever the pilots then do, the turn comes back to her.
        script = 'raw {"type": "turn.end", "combatant": "c1"}\nwait\nquit\n'
        played = dustup("play", ann, stdin=script)
        assert played.returncode == 0, played.stdout
        assert "- Wick's turn." in played.stdout
        assert await server.end() == 0


async def test_run_takes_the_next_free_port_and_says_so():
    with taken_port() as holder:
        port = holder.getsockname()[1]
        async with started("run", "--store", "memory", "--port", str(port), "--skip-fight") as server:
            said = await server.line(f"Port {port} is taken")
            used = int(re.findall(r"[0-9]+", said)[-1])
            assert used > port
            assert address(await server.line("Listening on")) == f"http://127.0.0.1:{used}"
            assert await server.end() == 0
