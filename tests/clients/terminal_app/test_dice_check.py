"""The check of the dice: by the example of docs/dice.md, by tampering, and on what a real server says."""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path
from typing import Any

import pytest

import dustup
from clients.terminal.app.dice_check import Check, Epoch, draw, key_of

DOCS = Path(__file__).parents[3] / "docs" / "dice.md"


def example() -> dict[str, Any]:
    """The example worked by hand in docs/dice.md."""
    block = re.search(r"## An example by hand\n```json\n(.*?)```", DOCS.read_text("utf-8"), flags=re.DOTALL)
    assert block is not None
    found: dict[str, Any] = json.loads(block[1])
    return found


def frames(game: dict[str, Any]) -> list[dict[str, Any]]:
    """The example as a table would tell it: the commitment first, the seed last."""
    (epoch,) = game["epochs"]
    about = {"stream": epoch["stream"], "index": epoch["index"]}
    opened = {"type": "dice.opened", "text": "", "scheme": "sha256-ctr-1", "commitment": epoch["commitment"], **about}
    rolled = [{"type": "x.rolled", "text": "", "rolls": [roll]} for roll in game["rolls"]]
    revealed = {"type": "dice.revealed", "text": "", "seed": epoch["seed"], "salts": epoch["salts"], **about}
    return [{"events": [event]} for event in [opened, *rolled, revealed]]


def outcome(told: list[dict[str, Any]]) -> list[Epoch]:
    check = Check()
    check.take(told)
    assert not check.unread
    return check.epochs()


def test_the_example_by_hand_is_right():
    (epoch,) = outcome(frames(example()))
    assert epoch.seed_fits is True
    assert (epoch.right, epoch.wrong, epoch.waiting, epoch.entered) == (4, [], 0, 0)


def test_the_key_and_faces_are_those_worked_by_hand():
    (epoch,) = example()["epochs"]
    key = key_of(epoch["seed"], epoch["salts"])
    assert key.hex() == "63f612d1ffc0d4b2bf07d598ab34a9d13ad4fdd0e39f3a354d1232c63e1fec63"
    assert draw(key, 3, 1, 1000) == [979]


@pytest.mark.parametrize("roll", range(4))
def test_one_changed_face_is_found(roll: int):
    game = example()
    faces = game["rolls"][roll]["faces"]
    faces[-1] = faces[-1] % game["rolls"][roll]["sides"] + 1
    (epoch,) = outcome(frames(game))
    assert roll + 1 in epoch.wrong
    assert not epoch.good


def test_a_seed_that_was_not_committed_to_is_found():
    game = example()
    game["epochs"][0]["seed"] = "ff" * 32
    (epoch,) = outcome(frames(game))
    assert epoch.seed_fits is False
    assert not epoch.good


def test_kept_faces_must_be_those_of_the_roll_that_was_undone():
    game = example()
    game["rolls"][3]["faces"][:2] = [10, 12]
    (epoch,) = outcome(frames(game))
    assert epoch.wrong == [4]


def test_without_a_seed_rolls_wait_and_dice_rolled_by_hand_count_apart():
    told = frames(example())[:-1]
    told[1]["events"][0]["rolls"][0]["proven"] = False
    (epoch,) = outcome(told)
    assert epoch.good
    assert (epoch.right, epoch.waiting, epoch.entered) == (0, 3, 1)


def test_rolls_that_this_seat_did_not_see_are_no_mistake():
    told = frames(example())
    del told[1]  # roll 4 keeps faces of it
    (epoch,) = outcome(told)
    assert epoch.good
    assert epoch.right == 3


@pytest.mark.parametrize("broken", [{"faces": ["x"]}, {"n": None}, {"sides": "d20"}, {"kept": 7}])
def test_garbage_is_counted_not_believed(broken: dict[str, Any]):
    told = copy.deepcopy(frames(example()))
    told[1]["events"][0]["rolls"][0].update(broken)
    check = Check()
    check.take(told)
    epochs = check.epochs()
    assert check.unread == 1
    assert epochs[0].right == 3


async def test_a_real_fight_checks_out_from_one_seat_s_events(host):
    """Every roll of a whole fight, recomputed from what a player was told."""
    tables = [await host.join(seat) for seat in ("gm", "ann", "ben")]
    try:
        for number, table in enumerate(tables[1:]):
            await table.do("roll", notation=f"{number + 2}d20")
        await tables[0].do("gm.encounter.end", encounter=next(iter(tables[0].view["encounters"])))
        check = Check()
        check.take(await tables[1].history(limit=200))
    finally:
        for table in tables:
            await table.client.close()
    revealed = [epoch for epoch in check.epochs() if epoch.seed]
    assert [epoch.right for epoch in revealed] == [2]
    assert all(epoch.good and epoch.seed_fits for epoch in revealed)
    assert isinstance(tables[1], dustup.Table)
