"""Every rule case comes out as it says, and every case that should be there is there or is listed with the reason why not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

import engine
from engine import scenario as sc
from engine.session import KINDS
from server.commands import plain_yaml

REQUIRED = Path(__file__).parent / "required.yaml"


def told(differences: list[Any]) -> str:
    """Differences as a person reads them."""
    lines = []
    for one in differences:
        lines += [f"at {one.where}", f"  expected: {_short(one.expected)}", f"  found:    {_short(one.found)}"]
    return "\n".join(lines)


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return text if len(text) < 1500 else f"{text[:1500]} ..."


def test_case(case: Any) -> None:
    """The case's commands give what its texts say. Every command is accepted unless the case says that it is refused."""
    for number, raw in enumerate(case.scenarios, 1):
        title = f"{case.id} ({case.file}{f', row {number}' if len(case.scenarios) > 1 else ''}): {case.given}\n{case.source}"
        records: list[sc.Record] = []
        problem = ""
        try:
            scenario = sc.parse({"expect": {}, **raw})
            rules = sc.ruleset_of(scenario)
            records = list(sc.run(rules, scenario))
        except sc.ScenarioError as error:
            problem = str(error)
        if problem:
            pytest.fail(f"{title}\ncannot run: {problem}", pytrace=False)
        differs = [one for record in records for one in record.differs]
        if differs:
            pytest.fail(f"{title}\n{told(differs)}", pytrace=False)
        follow(rules, scenario, records, title)


def follow(rules: engine.Ruleset, scenario: sc.Scenario, records: list[sc.Record], title: str) -> None:
    """A refusal changed nothing, the log leads to every session it was written from, a restart between any two commands changes nothing."""
    assert all(record.after is record.before for record in records if record.refusal is not None), title
    session: engine.Session | None = None
    for record in records:
        if record.entry is not None:
            session = engine.evolve(rules, session, engine.decode_entry(engine.encode_entry(record.entry)), epoch=sc.EPOCH)
        if session is not None and session != record.after:
            pytest.fail(f"{title}\nafter command {record.n} the log leads elsewhere: {unlike(session, record.after)}", pytrace=False)
    for record, again in zip(records, sc.run(rules, scenario, reload=True), strict=True):
        if again.entry != record.entry:
            found = sc.explain(again.refusal) if again.refusal is not None else again.entry
            pytest.fail(f"{title}\nafter a restart command {record.n} comes out otherwise: {found}", pytrace=False)


def unlike(found: engine.Session, expected: engine.Session) -> str:
    """The first field in which two sessions differ."""
    for kind in ("table", "header", *KINDS):
        ours, theirs = getattr(found, kind), getattr(expected, kind)
        if kind in ("table", "header"):
            ours, theirs = {kind: ours}, {kind: theirs}
        for entity in {**ours, **theirs}:
            for name in type(theirs.get(entity, ours.get(entity))).__struct_fields__:
                one, other = (getattr(many.get(entity), name, "nothing") for many in (ours, theirs))
                if one != other:
                    return f"{kind}.{entity}.{name} is {one!r}, not {other!r}"
    return "in what they carry beside their entities"


def test_required_ids_are_covered_or_listed_with_a_reason(own_ids: set[str]) -> None:
    """No case goes missing silently: each is a record, or stands in `not_yet` with a sentence; never both, never unknown."""
    raw = plain_yaml.read(REQUIRED.read_text("utf-8"))
    required = [one for ids in raw["required"].values() for one in ids]
    not_yet = [one for group in raw["not_yet"] for one in group["ids"]]
    assert len(required) > 200
    assert len(set(required)) == len(required)
    assert len(set(not_yet)) == len(not_yet)
    assert [one for one in required if one not in own_ids and one not in not_yet] == []
    assert [one for one in not_yet if one in own_ids] == []
    assert [one for one in not_yet if one not in required] == []
    assert [group for group in raw["not_yet"] if not isinstance(group["why"], str) or len(group["why"]) < 20] == []


def test_every_case_expects_something(own_scenarios: dict[str, tuple[dict[str, Any], ...]]) -> None:
    """A case without an expectation could not fail."""
    idle = []
    for case_id, scenarios in own_scenarios.items():
        for raw in scenarios:
            scenario = sc.parse(raw)
            expected = [one for one in (scenario.expect, *(line.expect for line in scenario.commands)) if one is not None]
            if not any(one.rejected or one.events or one.without or one.facts for one in expected):
                idle.append(case_id)
    assert idle == []
