"""Random fights over all content under random switches; and nothing that the rules can do is left unused by fights and cases together."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from engine import scenario as sc
from engine.rulesets.wasteland import RULES, pack
from engine.rulesets.wasteland import commands as c
from tests.rules.case_files import own_cases
from tests.rules.wasteland import fights

SOURCE = Path(__file__).resolve().parents[3] / "engine/rulesets/wasteland"
EVENT = re.compile(r'"(wasteland\.[a-z_.]+)"')


@pytest.mark.parametrize("seed", fights.FAILED)
def test_fights_that_once_failed_hold(seed: int) -> None:
    fights.checked(seed)


@pytest.mark.parametrize("first", range(10_000, 10_100, 10))
def test_a_random_fight_keeps_its_promises(first: int) -> None:
    """No figure out of bounds, one turn each a round and none missing without an event, replay = state, audit = log, views = frames."""
    for seed in range(first, first + 4):
        fights.checked(seed)


def used_in_cases() -> Counter[str]:
    """Commands, answers and events of every wasteland case."""
    used: Counter[str] = Counter()
    for case in own_cases():
        if not case.file.startswith("wasteland"):
            continue
        for raw in case.scenarios:
            for record in sc.run(RULES, sc.parse({"expect": {}, **raw})):
                if record.entry is None:
                    continue
                used.update(f"event {event.type}" for event in record.entry.events)
                command = record.entry.command
                used[f"command {command['type']}"] += 1
                if command["type"] == "answer":
                    prompt = record.before.prompts.get(command["prompt"]) if record.before is not None else None
                    if prompt is not None:
                        used[f"answer {prompt.kind} {command.get('choice', '')}"] += 1
    return used


def test_everything_there_is_gets_used() -> None:
    """Every template and weapon, every command, every event the rules can tell, and every answer that is ever offered by name."""
    used = used_in_cases()
    for seed in range(20_000, 20_045):
        used.update(fights.checked(seed))
    found = pack.starter()
    assert [one for one in found.templates if not used[f"template {one}"]] == []
    assert [one for one in found.weapons if not used[f"weapon {one}"]] == []
    tags = [str(one.__struct_config__.tag) for one in c.COMMANDS]
    assert [one for one in tags if not used[f"command {one}"]] == []
    speaking = [path for path in SOURCE.glob("*.py") if path.name not in ("pilot.py", "odds.py", "options.py", "side_options.py")]
    told = {name for path in speaking for name in EVENT.findall(path.read_text("utf-8"))}
    silent = sorted(one for one in told if not used[f"event {one}"])
    assert silent == []
    kinds = {one.split()[1] for one in used if one.startswith("answer ")}
    assert kinds >= {
        "tie", "aim", "luck", "damage_luck", "damage_ap", "damage_free", "complication", "spend", "help", "draw", "draw_price", "save",
        "parry", "ready", "timing",
    }  # fmt: skip
