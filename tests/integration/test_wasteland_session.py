"""One evening at the scrapyard over real sockets: what a GM and three players are told reads like a session, and its figures follow."""

from __future__ import annotations

import json
from typing import Any

import pytest

import engine
from engine.rulesets.wasteland import RULES, pack
from server import ids
from server.app import Server
from server.clock import ManualClock
from server.verify import verify_session
from tests.integration.conftest import Join, StartNode
from tests.integration.raw import Message, RawClient

engine.register(RULES)

SESSION = "scrapyardevening"
SECRET = (1).to_bytes(32, "big")
PLAYERS = ("ann", "ben", "cleo")
NOTE, SECRET_LABEL = "The second hound sleeps behind the bench.", "does the second hound wake?"

OWNERS = {"brick": "ann", "juniper": "ben", "gauge": "cleo", "picker2": "gm", "hound1": "gm"}
WEAPONS = {"brick": "plank", "juniper": "longgun", "gauge": "scatter", "picker2": "sidearm", "hound1": "jaws"}
FOES = ("picker2", "hound1")
MOST_TURNS = 60

CHOICES = {"luck": "no", "damage_luck": "no", "damage_free": "no", "damage_ap": "0", "complication": "bank", "spend": "done", "help": "yes"}
"""What everybody answers when asked; anything else takes its default."""


class Evening:
    """The table, and what each seat was told at it."""

    def __init__(self, seats: dict[str, RawClient]) -> None:
        self.seats = seats
        self._n = 0

    async def ask(self, seat: str, type: str, **fields: Any) -> Message:
        """Send a command; when it was done, everybody has heard of it."""
        self._n += 1
        answer = await self.seats[seat].do(SESSION, f"{seat}.{self._n}", {"type": type, **fields})
        if answer["t"] == "ack":
            for client in self.seats.values():
                await client.at(SESSION, answer["v"])
        return answer

    async def do(self, seat: str, type: str, **fields: Any) -> None:
        """A command that must be done, and the answers to all that it asks of anybody."""
        answer = await self.ask(seat, type, **fields)
        assert answer["t"] == "ack", answer
        while (waiting := self._waiting()) is not None:
            name, prompt = waiting
            answer = await self.ask(name, "answer", prompt=prompt["id"], choice=CHOICES.get(prompt["kind"], prompt["default"]))
            assert answer["t"] == "ack", answer

    def _waiting(self) -> tuple[str, Message] | None:
        for name in self.seats:
            for prompt in self.view(name, "prompts").values():
                if prompt["to"] == name and not prompt["answered"]:
                    return name, prompt
        return None

    def view(self, seat: str, kind: str) -> dict[str, Any]:
        found: dict[str, Any] = self.seats[seat].tables[SESSION].view.get(kind, {})
        return found

    def pool(self, name: str) -> int:
        return int(self.view("gm", "pools")[name]["value"])

    def told(self, seat: str) -> list[Message]:
        """The events of every frame since the seat joined, in order."""
        return [event for frame in self.seats[seat].tables[SESSION].frames for event in frame.get("events") or ()]

    def open_test(self) -> str:
        (test,) = self.view("gm", "tests")
        return test

    def lines(self, seat: str) -> list[str]:
        """The transcript a person reads: what was said and what happened."""
        return [event.get("body") or event["text"] for event in self.told(seat)]

    def last(self, type: str) -> Message:
        return next(event for event in reversed(self.told("gm")) if event["type"] == type)


@pytest.fixture
async def table(start_node: StartNode, seat: Join, monkeypatch: pytest.MonkeyPatch) -> tuple[Server, Evening]:
    """The scrapyard with dice that follow from SECRET, and its four seats taken."""
    monkeypatch.setattr(ids, "epoch", lambda: "00000000000000e1")
    node = await start_node(clock=ManualClock(1_800_000_000_000))
    setup = engine.Setup(ruleset="wasteland", sample="scrapyard", seats=(engine.setup.SeatSetup(id="gm", role="gm"),))
    await node.registry.create(setup, session_id=SESSION, secret=SECRET)
    return node, Evening({name: await seat(node, SESSION, name) for name in ("gm", *PLAYERS)})


# --- what follows from the faces: the rules by hand --------------------------------------------------------------------------


def count(faces: list[int], target: int, crit: int) -> int:
    """A face up to the target number is a success, one up to the critical face is two."""
    return sum((face <= target) + (face <= max(crit, 1)) for face in faces)


def scored(person: str, attribute: str, skill: str, faces: list[int]) -> int:
    """Successes by the sheet of the pack: attribute + rank is the target number, a tag skill is critical up to its rank."""
    sheet = pack.starter().templates[person].fields
    rank = sheet["skills"].get(skill, 0)
    return count(faces, sheet["special"][attribute] + rank, rank if skill in sheet["tags"] else 1)


def faces_of(thrown: Message) -> dict[str, list[int]]:
    """The faces of each pool, which are those of the rolls told with it."""
    assert [pool["faces"] for pool in thrown["pools"]] == [roll["faces"] for roll in thrown["rolls"]]
    return {pool["by"]: pool["faces"] for pool in thrown["pools"]}


def hurts(faces: list[int], weapon: str) -> int:
    """Combat dice: 1 and 2 are themselves, 3 and 4 nothing, 5 and 6 one and an effect, which a vicious weapon counts once more."""
    effects = sum(face >= 5 for face in faces)
    vicious = any(one["id"] == "vicious" for one in pack.starter().weapons[weapon].get("effects", ()))
    return sum(face for face in faces if face <= 2) + effects * (2 if vicious else 1)


# --- the scenes --------------------------------------------------------------------------------------------------------------


async def lockpick(evening: Evening) -> None:
    """Ann proposes, the GM frames, Cleo's Gauge helps: what is above the difficulty goes into the group's pool."""
    await evening.do("ann", "chat", text="Tess kneels at the padlock.")
    await evening.do("ann", "test.propose", combatant="tess", label="pick the padlock")
    test = evening.open_test()
    await evening.do("gm", "test.frame", test=test, attribute="PER", skill="lockpick", difficulty=1)
    await evening.do("cleo", "test.join", test=test, combatant="gauge")
    before = evening.pool("group")
    await evening.do("ann", "test.roll", test=test)
    thrown, result = faces_of(evening.last("test.thrown")), evening.last("test.result")
    assert list(thrown) == ["tess", "gauge"]
    assert [len(faces) for faces in thrown.values()] == [2, 1]
    lead = scored("tess", "PER", "lockpick", thrown["tess"])
    total = lead + scored("gauge", "PER", "lockpick", thrown["gauge"]) if lead else 0
    assert (result["successes"], result["passed"], result["ap"]) == (total, total >= 1, max(total - 1, 0))
    assert result["ap"] > 0, "these dice bank something"
    assert evening.pool("group") == before + result["ap"]


async def grapple(evening: Evening) -> None:
    """Who opposes rolls first, and what they score is the difficulty."""
    await evening.do("gm", "test.request", combatant="brick", attribute="STR", skill="athletics", opponent="picker1", label="grapple")
    test = evening.open_test()
    refused = await evening.ask("ann", "test.roll", test=test)
    assert (refused["t"], refused["code"]) == ("error", "not_now")
    await evening.do("gm", "test.roll", test=test, combatant="picker1")
    against = scored("picker", "STR", "athletics", faces_of(evening.last("test.thrown"))["picker1"])
    assert evening.last("test.opposed")["successes"] == against
    await evening.do("ann", "test.roll", test=test)
    mine = scored("brick", "STR", "athletics", faces_of(evening.last("test.thrown"))["brick"])
    result = evening.last("test.result")
    assert (result["successes"], result["difficulty"], result["passed"]) == (mine, against, mine >= against)
    assert (result["ap"], result["against_ap"]) == (max(mine - against, 0), max(against - mine, 0))


async def sneak(evening: Evening) -> None:
    """Juniper takes the lead: two dice of hers, one of each other, and without a success of hers nobody's count."""
    people = ["juniper", "gauge"]
    await evening.do("gm", "test.request", combatant="tess", attribute="AGI", skill="sneak", difficulty=2, group=people, label="sneak past")
    test = evening.open_test()
    await evening.do("ben", "test.lead", test=test, combatant="juniper")
    await evening.do("ben", "test.roll", test=test)
    thrown, result = faces_of(evening.last("test.thrown")), evening.last("test.result")
    assert {who: len(faces) for who, faces in thrown.items()} == {"juniper": 2, "tess": 1, "gauge": 1}
    each = {who: scored(who, "AGI", "sneak", faces) for who, faces in thrown.items()}
    total = sum(each.values()) if each["juniper"] else 0
    assert (result["combatant"], result["successes"], result["passed"]) == ("juniper", total, total >= 2)


async def fight(evening: Evening) -> None:
    """Everybody attacks the first enemy who stands, until one side lies or MOST_TURNS have passed."""
    for foe in FOES:
        await evening.do("gm", "gm.move", combatant=foe, scene="scrapyard", zone="gate", near=["brick"])
    await evening.do("gm", "gm.encounter", scene="scrapyard", combatants=list(OWNERS))
    (encounter,) = evening.view("gm", "encounters").values()
    assert sorted(encounter["order"]) == sorted(OWNERS)
    scores = [initiative(who) for who in encounter["order"]]
    assert scores == sorted(scores, reverse=True) == [encounter["initiative"][who] for who in encounter["order"]]
    assert encounter["current"] == encounter["order"][0]
    for _ in range(MOST_TURNS):
        if not (running := evening.view("gm", "encounters")):
            break
        who = running[encounter["id"]]["current"]
        people = evening.view("gm", "combatants")
        target = next(one for one in OWNERS if (one in FOES) != (who in FOES) and people[one]["hp"] > 0)
        await evening.do(OWNERS[who], "attack", target=target, weapon=WEAPONS[who])
        if who == evening.view("gm", "encounters").get(encounter["id"], {}).get("current"):
            await evening.do(OWNERS[who], "turn.end")
    assert not evening.view("gm", "encounters"), "one side lies before the bound"


def initiative(who: str) -> int:
    """PER + AGI, of a beast body + mind; none of these people has a perk for it."""
    template = {"picker2": "picker", "hound1": "ditchhound"}.get(who, who)
    fields = pack.starter().templates[template].fields
    if "beast" in fields:
        return int(fields["beast"]["body"] + fields["beast"]["mind"])
    return int(fields["special"]["PER"] + fields["special"]["AGI"])


def check_blows(told: list[Message]) -> int:
    """Every attack hits exactly when its faces say so, and hurts what its dice say; how many hits were counted."""
    attack: Message = {}
    dice: list[int] = []
    left: dict[str, int] = {}
    counted = 0
    for event in told:
        match event["type"]:
            case "wasteland.attack":
                attack, dice = event, []
            case "wasteland.struck" | "wasteland.miss":
                hits = count(attack["faces"], attack["tn"], attack["crit"])
                assert (event["type"] == "wasteland.struck") == (hits >= attack["difficulty"]), event
                assert event["successes"] == hits, event
            case "wasteland.damage":
                dice = event["faces"]
            case "wasteland.hit":
                dice = next((roll["faces"] for roll in event["rolls"] if roll["sides"] == 6), dice)
                # A spreading weapon's further hits bring no dice of their own.
                if dice:
                    assert event["damage"] == hurts(dice, attack["weapon"]), event
                    counted += 1
                dice = []
                before = left.get(event["target"], event["max_hp"])
                assert event["hp"] == max(before - event["suffered"], 0), event
                left[event["target"]] = event["hp"]
    return counted


# --- the evening -------------------------------------------------------------------------------------------------------------

BEATS = (
    "test.proposed", "test.framed", "test.joined", "test.thrown", "test.result",
    "test.proposed", "test.framed", "test.thrown", "test.opposed", "test.thrown", "test.result",
    "test.proposed", "test.framed", "test.led", "test.thrown", "test.result",
    "encounter.started", "turn.started", "wasteland.attack", "wasteland.struck", "wasteland.hit", "round.started",
    "wasteland.down", "encounter.ended",
)  # fmt: skip


async def test_a_gm_and_three_players_play_an_evening_whose_transcript_reads_like_a_session(
    table: tuple[Server, Evening], seat: Join
) -> None:
    """Tests, help, a grapple, a sneak and a fight: in order, as the faces say, the same for who joins afterwards, and no secret told."""
    node, evening = table
    await evening.do("gm", "chat", text="Dusk over the scrapyard. What do you do?")
    await evening.do("gm", "chat", text=NOTE, to=["gm"])
    await evening.do("gm", "gm.hide", kind="combatants", id="hound2")
    hidden_at = evening.seats["gm"].tables[SESSION].v
    await evening.do("gm", "roll", notation="1d20", label=SECRET_LABEL, hidden=True)
    secret_roll = evening.last("rolled")["text"]
    await lockpick(evening)
    await grapple(evening)
    await sneak(evening)
    await fight(evening)
    assert check_blows(evening.told("gm")) > 1

    for name in evening.seats:
        beats = iter(event["type"] for event in evening.told(name))
        assert [beat for beat in BEATS if beat not in beats] == [], name
        lines = evening.lines(name)
        assert all(lines), "everything told can be read"
        assert lines.index("Dusk over the scrapyard. What do you do?") < lines.index("Tess kneels at the padlock.")
        assert "Juniper Vance leads the test." in lines

    of_foes = [event["text"] for event in evening.told("gm") if event["type"] == "wasteland.hit" and event["target"] in FOES]
    assert of_foes, "the foes were hit"
    secrets = {NOTE, secret_roll, *of_foes}
    assert secrets <= set(evening.lines("gm"))
    for name in PLAYERS:
        assert secrets.isdisjoint(evening.lines(name)), name
        later = json.dumps([frame for frame in evening.seats[name].tables[SESSION].frames if frame["v"] > hidden_at])
        assert "hound2" not in later, name
        assert SECRET_LABEL not in later, name

    for name, client in evening.seats.items():
        fresh = await seat(node, SESSION, name)
        assert fresh.tables[SESSION].shown == client.tables[SESSION].shown, name

    report = await verify_session(node.store, SESSION)
    assert report.verdict == "ok", report.lines
    rolls = {(roll["stream"], roll["n"]) for event in evening.told("gm") for roll in event.get("rolls") or ()}
    assert report.dice_checked == len(rolls) > 0
