"""Random fights over all content: any people of the pack on two sides of any of its scenes, random switches, a player that follows options.

`python -m tests.rules.wasteland.fights SEED [COUNT]` plays one seed again, or many from it on; a failing one names itself so.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from typing import Any

import engine
from engine import Setup
from engine.rulesets.wasteland import derived, pack, tables
from engine.rulesets.wasteland.model import Survivor
from engine.setup import CombatantSetup, SceneSetup, SeatSetup
from tests.support import junk
from tests.support.table import Table

FAILED: tuple[int, ...] = (1, 11, 30_491)
"""Seeds to play on every run: the first, and whatever once failed, here or in the runs this grew from."""
MOST = 400


def setup_of(rnd: random.Random) -> Setup:
    """Two to four of each of two sides, anywhere in a scene of the pack; every fourth switch set to any of its values."""
    found = pack.starter()
    sample = found.samples[rnd.choice(sorted(found.samples))]
    people: list[CombatantSetup] = []
    owners = {"left": ("ann", "ben"), "right": ("",)}
    for side, seats in owners.items():
        for number in range(rnd.randint(2, 4)):
            template = rnd.choice(sorted(found.templates))
            zone = rnd.choice(sample.zones).id
            items = [{"id": one, **found.items[one], "drawn": rnd.random() < 0.5} for one in rnd.sample(sorted(found.items), 2)]
            fields: dict[str, Any] = {"items": items}
            if rnd.random() < 0.3:
                carried = rnd.sample(sorted(found.weapons), 2)
                fields["weapons"] = [{"id": one, **found.weapons[one]} for one in carried]
                fields["ammo"] = [{"id": weapon["ammo"], "count": 60} for one in carried if "ammo" in (weapon := found.weapons[one])][:1]
            people.append(
                CombatantSetup(
                    id=f"{side}{number}", template=template, side=side, scene=sample.scene, zone=zone, seat=rnd.choice(seats), fields=fields
                )
            )
    options = {name: rnd.choice(values) for name, values in tables.SWITCHES.items() if rnd.random() < 0.25}
    return Setup(
        ruleset="wasteland",
        seats=(SeatSetup(id="gm", role="gm"), SeatSetup(id="ann"), SeatSetup(id="ben")),
        scenes=(SceneSetup(id=sample.scene, zones=sample.zones, edges=sample.edges, blind=sample.blind, tags=sample.tags),),
        combatants=tuple(people),
        pools={"group": rnd.randint(0, 6), "gm": rnd.randint(0, 6)},
        encounter=sample.scene,
        options=options,
    )


def check(table: Table) -> None:
    """No figure leaves its bounds, and whoever takes no turns has a reason."""
    for pool in table.session.pools.values():
        assert pool.value >= 0, pool
    for s in table.session.combatants.values():
        assert isinstance(s, Survivor)
        assert 0 <= s.hp <= derived.max_hp(s), s
        assert 0 <= s.luck <= derived.max_luck(s), s
        assert all(stack.count >= 0 for stack in s.ammo), s
        assert s.turn.minors <= 2, s
        assert s.turn.majors <= 2, s
        assert s.out == s.dead, s
        assert not (s.dying and s.unconscious), s
        assert all(one.count > 0 for one in s.items), s
        assert all(one.rounds > 0 for one in s.burns), s


def one_turn_each(table: Table) -> None:
    """At most one turn's worth of actions for each in a numbered round, however often turns were put off or cut off."""
    most: dict[tuple[int, str], tuple[int, int]] = {}
    for session in table.history.values():
        for encounter in session.encounters.values():
            s = session.combatants.get(encounter.current)
            if s is None or not encounter.round:
                continue
            key, used = (encounter.round, s.id), (s.turn.minors, s.turn.majors)
            before = most.get(key, (0, 0))
            assert all(now >= was for now, was in zip(used, before, strict=True)), f"{s.id} begins a second turn in round {encounter.round}"
            most[key] = used


def nobody_is_passed_over(table: Table) -> None:
    """When a round ends everybody alive has had a turn, or gave it up: an event said so."""
    had: set[str] = set()
    for entry in table.entries:
        before = table.history.get(entry.v - 1)
        for event in entry.events:
            if event.type in ("turn.started", "wasteland.turn_given"):
                had.add(event.data["combatant"])
            elif event.type == "encounter.started":
                had = set()
            elif event.type == "round.started":
                for encounter in before.encounters.values() if before is not None else ():
                    missed = [one for one in encounter.order if one not in had and one not in encounter.acted]
                    alive = [one for one in missed if (s := table.history[entry.v].combatants.get(one)) is not None and not s.out]
                    assert not alive or not encounter.round, f"{alive} had no turn in round {event.data['round'] - 1}"
                had = set()


def play(seed: int) -> Counter[str]:
    """One fight; returns how often each command, event, prompt answer and content id was used. Raises AssertionError."""
    rnd = random.Random(seed)
    table = Table("wasteland", setup_of(rnd), watched=seed % 4 == 0)
    used: Counter[str] = Counter()
    for _ in range(MOST):
        if not table.session.encounters:
            break
        chosen = junk.open_answer(table, rnd)
        group = "" if rnd.random() < 0.08 else "turn"
        if chosen is None:
            chosen = junk.open_option(table, rnd, group=group)
        assert chosen is not None, "a fight goes on and nobody can do anything"
        if chosen[1]["type"].startswith("gm.") and chosen[1]["type"] != "gm.turn":
            continue
        if chosen[1]["type"] == "answer":
            used[f"answer {table.session.prompts[chosen[1]['prompt']].kind} {chosen[1].get('choice', '')}"] += 1
        used[f"command {chosen[1]['type']}"] += 1
        table.send(*chosen)
        check(table)
    one_turn_each(table)
    nobody_is_passed_over(table)
    assert table.replayed() == table.session
    audit = table.audit()
    assert audit.difference is None, audit
    for entry in table.entries:
        used.update(f"event {event.type}" for event in entry.events)
    for s in table.session.combatants.values():
        used[f"template {s.template}"] += 1
        used.update(f"weapon {one.id}" for one in s.weapons)
    return used


def checked(seed: int) -> Counter[str]:
    """The same, and a failure says how to see it again."""
    try:
        return play(seed)
    except (AssertionError, engine.Rejected) as problem:
        cause = f" ({problem.__cause__!r})" if problem.__cause__ is not None else ""
        raise AssertionError(f"{problem}{cause}\nagain: python -m tests.rules.wasteland.fights {seed}") from problem


if __name__ == "__main__":
    first = int(sys.argv[1])
    total: Counter[str] = Counter()
    for one in range(first, first + (int(sys.argv[2]) if len(sys.argv) > 2 else 1)):
        total.update(checked(one))
    sys.stdout.write("".join(f"{count:7} {name}\n" for name, count in sorted(total.items())))
