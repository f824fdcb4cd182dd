"""An undo is the same bytes wherever the version it restores came from: memory, a snapshot or the log."""

from __future__ import annotations

import engine
from engine import Past
from tests.support.table import EPOCH, Table


def test_an_undo_is_the_same_bytes_whether_its_past_was_in_memory_or_read_from_the_log() -> None:
    table = Table(setup=engine.Setup(ruleset="duel", sample="yard", encounter="mill", settings={"deadline.prompt": 1, "deadline.turn": 1}))
    table.do("gm", "gm.move", combatant="c1", scene="mill", zone="yard", near=["c3"])
    table.do("ann", "feint", combatant="c1", target="c3")
    asked = table.prompts()[0]
    table.later(ms=1000)
    table.do(asked.to, "answer", prompt=asked.id, choice=asked.choices[0].value)
    table.later(ms=1000)
    command = table.rules.decode({"type": "gm.undo"})
    target = engine.undo_target(table.session, command)
    assert target is not None
    act = engine.Act(by="gm", command=command, id="test.9", stamp="f" * 16)
    read = engine.replay(table.rules, table.log()[:target], epoch=EPOCH)
    rolls = tuple(roll for entry in table.log()[target:] for roll in entry.rolls)
    made = []
    for past in (table.history[target], read, engine.decode_snapshot(table.rules, engine.encode_snapshot(read))):
        _, entry = engine.apply(table.rules, table.session, act, now_ms=table.now_ms, dice=table.dice, past=Past(past, rolls))
        made.append(engine.encode_entry(entry))
    assert made[0] == made[1] == made[2]
