"""The checker objects to every kind of broken promise: an honest history passes, and each doctored one is caught, for what was doctored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

import engine
from tests.chaos.checker import check
from tests.chaos.history import Acked, Broken, Event, Evidence, Log, Loss, Refused, Saw, Sent, Unsure, View
from tests.support.table import EPOCH, SESSION_ID, Table

ACTIONS = 6
Doctor = Callable[[Evidence], None]


def honest() -> Evidence:
    """Two clients of two seats take turns to talk and roll; each sees every version, its own before its ack."""
    table = Table(watched=False)
    events: list[Event] = []
    at = 0.0
    rows = [row_of(table.entries[0])]

    def note(what: type[Any], seat: str, /, **fields: Any) -> None:
        events.append(what(at=at, session=SESSION_ID, client=f"c-{seat}", seat=seat, link=1, **fields))

    for seat in ("ann", "ben"):
        note(Saw, seat, how="joined", epoch=EPOCH, v=1, stamp=table.session.stamp)
    for number in range(1, ACTIONS + 1):
        at += 1.0
        seat = ("ann", "ben")[number % 2]
        id = f"c-{seat}.{number}"
        entry = replace(table.do(seat, "roll", notation="1d6"), id=id)
        rows.append(row_of(entry))
        note(Sent, seat, id=id, kind="roll")
        for viewer in ("ann", "ben"):
            note(Saw, viewer, how="frame", epoch=EPOCH, v=entry.v, stamp=entry.stamp)
        note(Acked, seat, id=id, v=entry.v, durability="os")
    views = [
        View(
            client=f"c-{seat}",
            session=SESSION_ID,
            seat=seat,
            epoch=EPOCH,
            v=table.session.v,
            stamp=table.session.stamp,
            view=msgspec.msgpack.decode(msgspec.msgpack.encode(table.view(seat))),
        )
        for seat in ("ann", "ben")
    ]
    return Evidence(events=events, logs={SESSION_ID: Log(epoch=EPOCH, rows=rows)}, views=views, audits={SESSION_ID: ""})


def row_of(entry: engine.Entry) -> tuple[int, str, bytes]:
    return entry.v, entry.stamp, engine.encode_entry(entry)


def entries(evidence: Evidence) -> list[engine.Entry]:
    return [engine.decode_entry(data) for _, _, data in evidence.logs[SESSION_ID].rows]


def set_entries(evidence: Evidence, log: list[engine.Entry]) -> None:
    """The log holds these now, renumbered from 1."""
    rows = [row_of(replace(entry, v=v)) for v, entry in enumerate(log, 1)]
    evidence.logs[SESSION_ID] = replace(evidence.logs[SESSION_ID], rows=rows)


def change(evidence: Evidence, wanted: Callable[[Any], bool], **fields: Any) -> None:
    """Change the first event that is wanted."""
    place = next(i for i, event in enumerate(evidence.events) if wanted(event))
    evidence.events[place] = replace(evidence.events[place], **fields)


def ack_of(number: int) -> Callable[[Any], bool]:
    return lambda event: isinstance(event, Acked) and event.id.endswith(f".{number}")


# --- doctors ----------------------------------------------------------------------------------------------------------------


def lose_the_last(evidence: Evidence) -> None:
    set_entries(evidence, entries(evidence)[:-1])


def lose_one_in_the_middle(evidence: Evidence) -> None:
    log = entries(evidence)
    set_entries(evidence, log[:3] + log[4:])


def lose_the_whole_table(evidence: Evidence) -> None:
    del evidence.logs[SESSION_ID]


def lose_what_a_replica_confirmed(evidence: Evidence) -> None:
    """Even while primaries are lost."""
    lose_the_last(evidence)
    evidence.losses.append(Loss(start=0.0, end=99.0))
    change(evidence, ack_of(ACTIONS), durability="replicas:1")


def lose_before_the_primary_was_lost(evidence: Evidence) -> None:
    lose_the_last(evidence)
    evidence.losses.append(Loss(start=50.0, end=99.0))


def lose_at_another_table(evidence: Evidence) -> None:
    lose_the_last(evidence)
    evidence.losses.append(Loss(start=0.0, end=99.0, session="another"))


def do_twice(evidence: Evidence) -> None:
    log = entries(evidence)
    set_entries(evidence, [*log, log[-1]])


def do_an_unanswered_one_twice(evidence: Evidence) -> None:
    evidence.events = [event for event in evidence.events if not ack_of(ACTIONS)(event)]
    do_twice(evidence)


def pass_a_deadline_twice(evidence: Evidence) -> None:
    log = entries(evidence)
    passed = engine.entry.Event(type="deadline.passed", text="Too late.", data={"prompt": "p1"})
    set_entries(evidence, [*log, *(engine.Entry(v=0, at=0, by=engine.SYSTEM, stamp=f"{n:016x}", events=(passed,)) for n in (90, 91))])


def swap_two(evidence: Evidence) -> None:
    """The second was sent after the first was acknowledged."""
    log = entries(evidence)
    log[3], log[4] = log[4], log[3]
    set_entries(evidence, log)


def say_it_was_known_before(evidence: Evidence) -> None:
    """Somebody saw version 5 before the action that became 4 was sent."""
    sent = next(i for i, event in enumerate(evidence.events) if isinstance(event, Sent) and event.id.endswith(".3"))
    seen = next(event for event in evidence.events if isinstance(event, Saw) and event.v == 5)
    evidence.events.insert(sent, replace(seen, client="early", how="joined"))


def ack_another_version(evidence: Evidence) -> None:
    change(evidence, ack_of(4), v=3)


def ack_again_elsewhere(evidence: Evidence) -> None:
    ack = next(event for event in evidence.events if ack_of(4)(event))
    assert isinstance(ack, Acked)
    evidence.events.append(replace(ack, v=ack.v + 1, again=True))


def show_another_stamp(evidence: Evidence) -> None:
    change(evidence, lambda event: isinstance(event, Saw) and event.v == 4, stamp="f" * 16)


def show_what_is_not_in_the_log(evidence: Evidence) -> None:
    """In the epoch that counts; had the epoch changed, it would be what a failover does."""
    last = next(event for event in reversed(evidence.events) if isinstance(event, Saw))
    evidence.events.append(replace(last, v=last.v + 1, stamp="e" * 16))


def stamp_the_stream_otherwise(evidence: Evidence) -> None:
    log = evidence.logs[SESSION_ID]
    v, _, data = log.rows[2]
    log.rows[2] = (v, "d" * 16, data)


def skip_a_version(evidence: Evidence) -> None:
    log = evidence.logs[SESSION_ID]
    del log.rows[3]


def skip_a_frame(evidence: Evidence) -> None:
    place = next(i for i, event in enumerate(evidence.events) if isinstance(event, Saw) and event.v == 4 and event.seat == "ann")
    del evidence.events[place]


def double_a_frame(evidence: Evidence) -> None:
    place = next(i for i, event in enumerate(evidence.events) if isinstance(event, Saw) and event.v == 4)
    evidence.events.insert(place, evidence.events[place])


def lead_back(evidence: Evidence) -> None:
    early = next(event for event in evidence.events if isinstance(event, Saw) and event.v == 3)
    evidence.events.append(replace(early, how="joined"))


def break_the_protocol(evidence: Evidence) -> None:
    evidence.events.append(Broken(at=9.0, session=SESSION_ID, client="c-ann", seat="ann", link=1, what="a frame from nowhere"))


def ack_before_the_frame(evidence: Evidence) -> None:
    place = next(i for i, event in enumerate(evidence.events) if ack_of(4)(event))
    evidence.events[place - 2], evidence.events[place] = evidence.events[place], evidence.events[place - 2]


def write_what_nobody_sent(evidence: Evidence) -> None:
    evidence.events = [event for event in evidence.events if not (isinstance(event, Sent | Acked) and event.id.endswith(".5"))]


def write_what_was_refused(evidence: Evidence) -> None:
    place = next(i for i, event in enumerate(evidence.events) if ack_of(5)(event))
    ack = evidence.events[place]
    assert isinstance(ack, Acked)
    evidence.events[place] = Refused(at=ack.at, session=ack.session, client=ack.client, seat=ack.seat, link=1, id=ack.id, code="busy")


def write_another_command(evidence: Evidence) -> None:
    change(evidence, lambda event: isinstance(event, Sent) and event.id.endswith(".2"), kind="chat")


def end_with_another_view(evidence: Evidence) -> None:
    evidence.views[1].view["combatants"]["c1"]["hp"] = 99


def end_too_early(evidence: Evidence) -> None:
    evidence.views[0] = replace(evidence.views[0], v=evidence.views[0].v - 1)


def end_in_another_epoch(evidence: Evidence) -> None:
    evidence.views[0] = replace(evidence.views[0], epoch="9" * 16)


def fail_the_audit(evidence: Evidence) -> None:
    evidence.audits[SESSION_ID] = "roll 2 of the open dice"


def write_what_cannot_be_followed(evidence: Evidence) -> None:
    log = entries(evidence)
    nonsense = engine.entry.Change("=", "combatants", "nobody", {"hp": 1})
    set_entries(evidence, [*log[:-1], replace(log[-1], changes=(nonsense,))])


def ack_at_a_deleted_table(evidence: Evidence) -> None:
    evidence.gone[SESSION_ID] = 2.0


@pytest.mark.parametrize(
    ("doctor", "kind"),
    [
        (lose_the_last, "lost"),
        (lose_one_in_the_middle, "lost"),
        (lose_the_whole_table, "lost"),
        (lose_what_a_replica_confirmed, "lost"),
        (lose_before_the_primary_was_lost, "lost"),
        (lose_at_another_table, "lost"),
        (do_twice, "doubled"),
        (do_an_unanswered_one_twice, "doubled"),
        (pass_a_deadline_twice, "doubled"),
        (swap_two, "reordered"),
        (say_it_was_known_before, "reordered"),
        (ack_another_version, "moved"),
        (ack_again_elsewhere, "moved"),
        (show_another_stamp, "forked"),
        (show_what_is_not_in_the_log, "forked"),
        (stamp_the_stream_otherwise, "forked"),
        (skip_a_version, "gap"),
        (skip_a_frame, "gap"),
        (double_a_frame, "gap"),
        (lead_back, "gap"),
        (break_the_protocol, "gap"),
        (ack_before_the_frame, "untold"),
        (write_what_nobody_sent, "invented"),
        (write_what_was_refused, "invented"),
        (write_another_command, "invented"),
        (end_with_another_view, "view"),
        (end_too_early, "view"),
        (end_in_another_epoch, "view"),
        (fail_the_audit, "audit"),
        (write_what_cannot_be_followed, "audit"),
        (ack_at_a_deleted_table, "undead"),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_a_doctored_history_is_caught(doctor: Doctor, kind: str) -> None:
    evidence = honest()
    doctor(evidence)
    verdict = check(evidence)
    assert verdict.of(kind), f"not caught; it said {[str(one) for one in verdict.wrong]}"


def test_an_honest_history_passes() -> None:
    verdict = check(honest())
    assert [str(one) for one in verdict.wrong] == []
    assert (verdict.sent, verdict.acked, verdict.entries) == (ACTIONS, ACTIONS, ACTIONS + 1)


# --- what is no breach ------------------------------------------------------------------------------------------------------


def test_an_action_lost_with_its_primary_is_excused_when_no_more_was_promised_and_the_epoch_is_new() -> None:
    evidence = honest()
    fresh = "b" * 16
    log = entries(evidence)[:-1]
    dice = replace(log[-1], v=len(log) + 1, by=engine.SYSTEM, stamp="c" * 16, id="", kind="dice", changes=(), events=(), rolls=())
    set_entries(evidence, [*log, dice])
    evidence.logs[SESSION_ID] = replace(evidence.logs[SESSION_ID], epoch=fresh)
    evidence.losses.append(Loss(start=ACTIONS - 0.5, end=ACTIONS + 0.5))
    session = engine.replay(engine.ruleset("duel"), [*log, dice], epoch=fresh)
    rules = engine.ruleset("duel")
    for place, final in enumerate(evidence.views):
        shown = msgspec.msgpack.decode(msgspec.msgpack.encode(engine.view(rules, session, engine.sight_of(session, final.seat))))
        evidence.views[place] = replace(final, epoch=fresh, v=session.v, stamp=session.stamp, view=shown)
    verdict = check(evidence)
    assert [str(one) for one in verdict.wrong] == []
    assert verdict.excused == {"os": 1}


def test_an_unanswered_action_may_be_done_or_not() -> None:
    evidence = honest()
    place = next(i for i, event in enumerate(evidence.events) if ack_of(ACTIONS)(event))
    ack = evidence.events[place]
    assert isinstance(ack, Acked)
    evidence.events[place] = Unsure(
        at=9.0, session=ack.session, client=ack.client, seat=ack.seat, link=1, id=ack.id, code="lost", final=True
    )
    assert check(evidence).wrong == []
    lose_the_last(evidence)
    evidence.events = [event for event in evidence.events if not (isinstance(event, Saw) and event.v == ACTIONS + 1)]
    evidence.views.clear()
    assert check(evidence).wrong == []


def test_a_repeated_ack_of_the_same_version_is_fine() -> None:
    evidence = honest()
    ack = next(event for event in evidence.events if ack_of(4)(event))
    assert isinstance(ack, Acked)
    evidence.events.append(replace(ack, again=True, durability=""))
    assert check(evidence).wrong == []
