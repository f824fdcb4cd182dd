"""Promises of engine.zones: distance, bands, reach pairs, sight and cover."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine import zones
from engine.session import Edge, Scene, Zone
from tests.support.table import Table

NAMES = "abcdef"


def scene_of(pairs: list[tuple[str, str]]) -> Scene:
    return Scene(id="s", name="s", zones=tuple(Zone(id=n, name=n) for n in NAMES), edges=tuple(Edge(a=a, b=b) for a, b in pairs))


@given(st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)).filter(lambda two: two[0] != two[1]), max_size=10))
def test_distance_is_the_shortest_way_counted_in_zones(pairs: list[tuple[str, str]]) -> None:
    """Against Floyd and Warshall, who look at no way twice."""
    far = 99
    best = {(a, b): 0 if a == b else far for a in NAMES for b in NAMES}
    for a, b in pairs:
        best[a, b] = best[b, a] = 1
    for middle, a, b in itertools.product(NAMES, repeat=3):
        best[a, b] = min(best[a, b], best[a, middle] + best[middle, b])
    scene = scene_of(pairs)
    assert {(a, b): zones.distance(scene, a, b) for a in NAMES for b in NAMES} == {
        two: None if steps >= far else steps for two, steps in best.items()
    }


@pytest.mark.parametrize(("away", "band"), [(0, "close"), (1, "medium"), (2, "long"), (3, "extreme"), (9, "extreme"), (None, None)])
def test_range_bands(away: int | None, band: str | None) -> None:
    assert zones.band(away) == band


def test_reach_is_mutual_made_by_moving_up_to_somebody_and_broken_by_moving() -> None:
    table = Table()

    def near(a: str, b: str) -> bool:
        scene = table.session.scenes["mill"]
        assert zones.is_near(scene, a, b) == zones.is_near(scene, b, a) == (b in zones.near(scene, a)) == (a in zones.near(scene, b))
        return zones.is_near(scene, a, b)

    assert not near("c1", "c3")
    table.do("gm", "gm.move", combatant="c1", scene="mill", zone="yard", near=["c3"])
    table.do("gm", "gm.move", combatant="c4", scene="mill", zone="yard", near=["c3"])
    assert near("c1", "c3")
    assert not near("c1", "c4"), "reach does not pass on"
    table.do("gm", "gm.move", combatant="c3", scene="mill", zone="yard")
    assert not near("c1", "c3")
    assert not near("c4", "c3")
    table.refused("gm", "out_of_range", "gm.move", combatant="c1", scene="mill", zone="yard", near=["c2"])
    table.do("gm", "gm.move", combatant="c1", scene="mill", zone="yard", near=["c3", "c4"])
    table.do("gm", "gm.remove", combatant="c3")
    assert table.session.scenes["mill"].near == (("c1", "c4"),)


def test_zones_that_cannot_see_each_other_stop_shots_both_ways() -> None:
    """The sling reaches two zones, and the gate is two zones from the loft, but blind to it."""
    table = Table()
    table.do("gm", "gm.turn", encounter=table.encounter.id, combatant="c2")
    scene = table.session.scenes["mill"]
    assert zones.distance(scene, "loft", "gate") == 2
    assert not zones.sees(scene, "loft", "gate")
    assert not zones.sees(scene, "gate", "loft")
    assert zones.sees(scene, "gate", "gate")
    table.refused("ben", "out_of_range", "attack", combatant="c2", target="c4")
    table.do("gm", "gm.move", combatant="c4", scene="mill", zone="yard")
    table.do("ben", "attack", combatant="c2", target="c4")


def test_cover_hides_the_locations_it_lists_and_full_cover_the_whole_target() -> None:
    table = Table()
    table.do("gm", "gm.move", combatant="c3", scene="mill", zone="yard", cover="cart")
    scene, target = table.session.scenes["mill"], table.session.combatants["c3"]
    assert [zones.is_covered(scene, target, place) for place in ("leg", "body", "head")] == [True, True, False]
    assert not zones.wholly_covered(scene, target)
    table.do("gm", "gm.move", combatant="c3", scene="mill", zone="loft", cover="sacks")
    target = table.session.combatants["c3"]
    assert zones.is_covered(scene, target, "head")
    assert zones.wholly_covered(scene, target)
    table.do("gm", "gm.turn", encounter=table.encounter.id, combatant="c2")
    table.refused("ben", "out_of_range", "attack", combatant="c2", target="c3")
    table.refused("gm", "unknown_id", "gm.move", combatant="c3", scene="mill", zone="loft", cover="cart")
    table.do("gm", "gm.move", combatant="c3", scene="mill", zone="gate")
    assert zones.cover_of(scene, table.session.combatants["c3"]) is None


def test_an_object_can_be_a_target_and_takes_no_turns() -> None:
    table = Table()
    table.do("gm", "gm.encounter.end", encounter=table.encounter.id)
    table.do("gm", "gm.spawn", id="door", name="The door", side="things", scene="mill", zone="yard", fields={"kind": "object", "hp": 5})
    table.do("gm", "gm.move", combatant="c1", scene="mill", zone="yard", near=["door"])
    table.do("gm", "gm.encounter", scene="mill")
    assert "door" not in table.encounter.order
    table.do("ann", "attack", target="door")
    assert table.prompt().combatant == "door"


def test_a_hidden_way_is_the_gms_alone() -> None:
    table = Table()
    table.do("gm", "gm.hide", kind="edge", scene="mill", id="yard", to="gate")
    table.refused("ann", "out_of_range", "move", zone="gate")
    assert [edge["a"] for edge in table.view("ann")["scenes"]["mill"]["edges"]] == ["yard"]
    table.do("gm", "move", combatant="c1", zone="gate")
    table.do("gm", "gm.reveal", kind="edge", scene="mill", id="gate", to="yard")
    assert "A way between" in table.viewers["ann"].told("gm.revealed")[0]["text"]


def test_a_hidden_zone_is_as_unknown_as_none() -> None:
    table = Table()
    table.do("gm", "gm.hide", kind="zone", scene="mill", id="gate")
    for zone in ("gate", "nowhere"):
        assert table.refused("ann", "out_of_range", "move", zone=zone).text == "Move to a neighbouring zone."
    table.do("gm", "move", combatant="c1", zone="gate")
