"""`dustup export`, `verify` and `import`: what was written reads back, and what was cut or changed is named and told by the exit code."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import msgpack  # type: ignore[import-untyped]  # it ships no types
import pytest

from server.exports import load_export
from tests.support.command_line import dustup, output, refused


def played(folder: Path, file: Path) -> str:
    """A duel in a data folder with a few rolls behind it, exported to `file`: its id."""
    session = output("session", "create", "--sample", "yard", "--encounter", "mill", "--name", "Friday", "--data", folder)
    token = output("token", "seat", session, "gm", "--data", folder)
    roll_some(folder, session, token)
    done = dustup("export", session, "--data", folder, "-o", file)
    assert done.returncode == 0, done.stderr
    return session


def roll_some(folder: Path, session: str, token: str) -> None:
    """Three free rolls, and the reveal of their seed, through a server on the folder."""
    import asyncio
    import re

    from tests.support.command_line import started

    async def play() -> None:
        async with started("serve", "--data", folder, "--port", "0", "--log", "error") as server:
            url = re.findall(r"http://[0-9.]+:[0-9]+", await server.line("listens on"))[0]
            script = "roll 2d6\nroll 1d20\nroll 4d10\n" + 'raw {"type": "gm.dice", "do": "reveal"}\nquit\n'
            done = await asyncio.to_thread(dustup, "play", url, "--session", session, stdin=script, DUSTUP_TOKEN=token)
            assert done.returncode == 0, done.stdout
            assert await server.end() == 0

    asyncio.run(play())


@pytest.fixture(scope="module")
def export(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, str]:
    """(data folder, exported file, table) with three checked rolls."""
    base = tmp_path_factory.mktemp("played")
    return base / "data", base / "friday.dustup", played(base / "data", base / "friday.dustup")


def objects(file: Path) -> list[Any]:
    unpacker = msgpack.Unpacker()
    unpacker.feed(file.read_bytes())
    return list(unpacker)


def write(file: Path, things: list[Any]) -> Path:
    """An export of these objects with a checksum that fits: what somebody makes who knows the format."""
    body = b"".join(msgpack.packb(thing) for thing in things[:-1])
    file.write_bytes(body + msgpack.packb(["end", {**things[-1][1], "sha256": hashlib.sha256(body).hexdigest()}]))
    return file


def test_an_export_verifies_and_only_its_owner_reads_it(export):
    _, file, session = export
    assert file.stat().st_mode & 0o077 == 0
    done = dustup("verify", file)
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1] == "OK: everything holds."
    assert "3 rolls recomputed" in done.stdout
    report = json.loads(output("verify", "--json", file))
    assert (report["session"], report["verdict"], report["dice_checked"]) == (session, "ok", 3)


def test_an_export_to_standard_output_is_the_same_log(export, tmp_path):
    folder, file, session = export
    import subprocess

    from tests.support.command_line import PATIENCE_S, command, environment

    words = command("export", session, "-o", "-", "--data", folder)
    done = subprocess.run(words, capture_output=True, env=environment(), timeout=PATIENCE_S, check=True)
    (tmp_path / "piped").write_bytes(done.stdout)
    assert load_export(tmp_path / "piped").raw == load_export(file).raw


def test_an_export_replaces_nothing_unasked(export):
    folder, file, session = export
    before = file.read_bytes()
    refused(dustup("export", session, "-o", file, "--data", folder), "exists already", "--force")
    assert file.read_bytes() == before


def test_an_unknown_table_is_named(export, tmp_path):
    folder, _, _ = export
    refused(dustup("verify", "aaaaaaaaaaaaaaaa", "--data", folder), "aaaaaaaaaaaaaaaa")
    refused(dustup("session", "show", "aaaaaaaaaaaaaaaa", "--data", folder), "aaaaaaaaaaaaaaaa", "session list")
    refused(dustup("export", "aaaaaaaaaaaaaaaa", "--data", folder, "-o", tmp_path / "x"), "aaaaaaaaaaaaaaaa")
    assert not list(tmp_path.iterdir()), "nothing is left of an export that failed"


@pytest.mark.parametrize("kept", [0, 1, 0.5, -1])
def test_an_export_cut_anywhere_is_refused(export, tmp_path, kept):
    """`kept`: so many bytes, so much of the whole, or all but the last."""
    whole = export[1].read_bytes()
    cut = tmp_path / "cut.dustup"
    cut.write_bytes(whole[: int(len(whole) * kept) if isinstance(kept, float) else kept])
    sentence = refused(dustup("verify", cut))
    assert any(word in sentence for word in ("cut off", "empty", "no export")), sentence
    refused(dustup("import", cut, "--data", tmp_path / "data"))


def test_a_flipped_byte_is_found_by_the_checksum(export, tmp_path):
    data = bytearray(export[1].read_bytes())
    data[len(data) // 2] ^= 1
    (tmp_path / "flipped").write_bytes(data)
    refused(dustup("verify", tmp_path / "flipped"), "export")


def test_a_die_changed_by_somebody_who_knows_the_format_is_named(export, tmp_path):
    """The checksum fits; the die does not. Entry, roll and both faces are named, and an import changes nothing."""
    things = objects(export[1])
    entry = next(body for kind, body in things[1:] if kind == "entry" and body.get("rolls"))
    for place in (entry["rolls"], [roll for event in entry["events"] for roll in event["data"].get("rolls", [])]):
        for roll in place:
            roll["faces"][0] = roll["faces"][0] % roll["sides"] + 1
    file = write(tmp_path / "doctored.dustup", things)
    done = dustup("verify", file)
    assert done.returncode == 1
    assert done.stdout.startswith("DIFFERS: ")
    assert f"version {entry['v']}" in done.stdout or "roll 1" in done.stdout
    refused(dustup("import", file, "--data", tmp_path / "data"), "does not hold together")
    assert output("session", "list", "--data", tmp_path / "data") == ""


def test_a_table_moves_to_another_folder_and_goes_on(export, tmp_path):
    _, file, session = export
    done = dustup("import", file, "--data", tmp_path / "new")
    assert done.returncode == 0, done.stderr
    copy = done.stdout.strip()
    assert copy != session
    assert "Friday" in output("session", "list", "--data", tmp_path / "new")
    checked = dustup("verify", copy, "--data", tmp_path / "new")
    assert checked.returncode == 0
    assert "DIFFERS" not in checked.stdout


def test_a_set_up_file_makes_the_table_it_describes_and_a_wrong_one_is_named(tmp_path):
    good = tmp_path / "table.yaml"
    good.write_text("ruleset: duel\nsample: yard\nname: From a file\n")
    session = output("session", "create", "--setup", good, "--option", "parry_bonus=5", "--data", tmp_path / "d")
    shown = dustup("session", "show", session, "--json", "--data", tmp_path / "d")
    table = json.loads(shown.stdout)["view"]["table"]["table"]
    assert (table["name"], table["options"]) == ("From a file", {"parry_bonus": 5})
    bad = tmp_path / "bad.yaml"
    bad.write_text("ruleset: duel\ncolour: blue\n")
    refused(dustup("session", "create", "--setup", bad, "--data", tmp_path / "d"), "colour")
    refused(dustup("session", "create", "--option", "parry_bonus=4", "--data", tmp_path / "d"), "parry_bonus")
