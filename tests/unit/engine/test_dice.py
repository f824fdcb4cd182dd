"""Promises of engine.dice: the scheme to the letter, secrets kept, scripts and records obeyed, and cheating found."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import runpy
import shutil
import subprocess
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import engine.dice
from engine.dice import (
    Dice,
    RecordedDice,
    RecordMismatch,
    Reveal,
    RolledFact,
    Salts,
    ScriptedDice,
    ScriptExhausted,
    ScriptMismatch,
    ScriptUnused,
    SeededDice,
    commitment,
    faces,
    stream_key,
    table_salt,
    verify_rolls,
)

HERE = Path(__file__).parent
PAGE = Path(__file__).parents[3] / "docs" / "dice.md"
VECTORS: dict[str, Any] = json.loads((HERE / "vectors_dice.json").read_text(encoding="utf-8"))
KEYS = {(epoch["stream"], epoch["index"]): bytes.fromhex(epoch["key"]) for epoch in VECTORS["epochs"]}
MASTER = b"a master secret of 32 bytes here"


def facts_of(data: dict[str, Any]) -> tuple[list[RolledFact], list[Reveal]]:
    return msgspec.convert(data["rolls"], list[RolledFact]), msgspec.convert(data["epochs"], list[Reveal])


# --- the scheme ------------------------------------------------------------------------------------------------------


def test_the_golden_file_is_what_the_second_implementation_makes():
    made = runpy.run_path(str(HERE / "make_vectors_dice.py"))["vectors"]()
    assert made == VECTORS


@pytest.mark.parametrize("roll", VECTORS["rolls"], ids=lambda roll: f"{len(roll['faces'])}d{roll['sides']}-n{roll['n']}")
def test_faces_equal_the_golden_faces(roll: dict[str, Any]):
    key = KEYS[roll["stream"], roll["index"]]
    assert faces(key, roll["n"], len(roll["faces"]), roll["sides"]) == tuple(roll["faces"])


@pytest.mark.parametrize("epoch", VECTORS["epochs"], ids=lambda epoch: f"{epoch['stream']}{epoch['index']}")
def test_commitment_and_key_equal_the_golden_ones(epoch: dict[str, Any]):
    seed = bytes.fromhex(epoch["seed"])
    assert commitment(seed) == epoch["commitment"]
    assert stream_key(seed, [(seat, salt) for seat, salt in epoch["salts"]]).hex() == epoch["key"]


class FakeHash:
    """Stands for SHA-256: block i of any roll is the i-th 32 bytes of a chosen text, so every value can be dealt in turn."""

    text = b""

    def __init__(self, data: bytes) -> None:
        block = int.from_bytes(data[-4:], "big")
        self._block = self.text[32 * block : 32 * block + 32]

    def digest(self) -> bytes:
        assert len(self._block) == 32, "a roll read past the values dealt to it"
        return self._block


@pytest.mark.parametrize("sides", range(2, 257))
def test_over_all_bytes_every_face_comes_up_equally_often(sides: int, monkeypatch: pytest.MonkeyPatch):
    """The 256 byte values in descending order: the biased ones come first and must be skipped, the others fall evenly."""
    monkeypatch.setattr(FakeHash, "text", bytes(range(255, -1, -1)))
    monkeypatch.setattr(engine.dice, "_sha256", FakeHash)
    each = 256 // sides
    drawn = faces(b"", 1, each * sides, sides)
    assert Counter(drawn) == dict.fromkeys(range(1, sides + 1), each)


@pytest.mark.parametrize("sides", [257, 1000, 65_535, 65_536, 999_999_999, 1_000_000_000])
def test_words_are_skipped_exactly_from_the_last_incomplete_run(sides: int, monkeypatch: pytest.MonkeyPatch):
    limit = 2**32 // sides * sides
    skipped = [value for value in (2**32 - 1, limit) if limit <= value < 2**32]
    words = [*skipped, limit - 1, *skipped, 0, sides, sides - 1, 1]
    words += [0] * (-len(words) % 8)
    monkeypatch.setattr(FakeHash, "text", b"".join(word.to_bytes(4, "big") for word in words))
    monkeypatch.setattr(engine.dice, "_sha256", FakeHash)
    assert faces(b"", 1, 5, sides) == (sides, 1, 1, sides, 2)


@given(st.binary(min_size=32, max_size=32), st.integers(0, 2**64 - 1), st.integers(1, 80), st.integers(2, 10**9))
@settings(max_examples=100)
def test_a_smaller_pool_is_the_beginning_of_a_larger_one(key: bytes, n: int, count: int, sides: int):
    whole = faces(key, n, count, sides)
    assert len(whole) == count
    assert all(1 <= face <= sides for face in whole)
    assert faces(key, n, (count + 1) // 2, sides) == whole[: (count + 1) // 2]


@pytest.mark.parametrize(
    ("n", "count", "sides"),
    [(-1, 1, 6), (2**64, 1, 6), (1, 0, 6), (1, -1, 6), (1, 1001, 6), (1, 1, 1), (1, 1, 0), (1, 1, -6), (1, 1, 1_000_000_001)],
)
def test_rolls_outside_the_limits_are_refused(n: int, count: int, sides: int):
    with pytest.raises(ValueError, match=r"roll|die"):
        faces(bytes(32), n, count, sides)


def test_no_salt_is_32_zero_bytes():
    assert table_salt([]) == bytes(32)


def test_the_order_in_which_salts_arrive_does_not_matter():
    assert table_salt([("gm", "rain"), ("ann", "seven")]) == table_salt([("ann", "seven"), ("gm", "rain")])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([("a", "bc")], [("ab", "c")]),
        ([("a", "b"), ("c", "d")], [("a", "d"), ("c", "b")]),
        ([("a", "")], [("", "a")]),
        ([("a", "")], []),
    ],
)
def test_no_two_tables_share_a_salt_by_running_texts_together(one: list[tuple[str, str]], other: list[tuple[str, str]]):
    assert table_salt(one) != table_salt(other)


@pytest.mark.parametrize("pairs", [[("ann", "1"), ("ann", "2")], [("ann", "\ud800")]])
def test_a_seat_named_twice_and_broken_text_are_refused(pairs: list[tuple[str, str]]):
    with pytest.raises(ValueError, match=r"twice|surrogates"):
        table_salt(pairs)


# --- seeded dice -----------------------------------------------------------------------------------------------------


def test_seeded_dice_roll_what_their_revealed_seed_says():
    dice = SeededDice(MASTER, "e1")
    salts: Salts = (("ann", "seven"), ("gm", "rain"))
    seed = bytes.fromhex(dice.reveal("open", 3))
    assert dice.commitment("open", 3) == hashlib.sha256(seed).hexdigest()
    for n in (1, 2, 500):
        assert dice.faces("open", 3, salts, n, 7, 20) == faces(stream_key(seed, salts), n, 7, 20)


def test_seeds_derive_from_the_master_by_hmac_over_length_prefixed_parts():
    parts = [b"dustup/seed", b"e1", b"hidden", (5).to_bytes(8, "big")]
    message = b"".join(len(part).to_bytes(4, "big") + part for part in parts)
    assert SeededDice(MASTER, "e1").reveal("hidden", 5) == hmac.new(MASTER, message, hashlib.sha256).hexdigest()


def test_every_stream_epoch_lineage_and_master_has_its_own_seed():
    seeds = [
        SeededDice(master, epoch).reveal(stream, index)
        for master in (MASTER, MASTER[::-1])
        for epoch in ("e1", "e2")
        for stream in ("open", "hidden")
        for index in range(5)
    ]
    assert len(set(seeds)) == len(seeds)


def test_the_same_master_and_epoch_give_the_same_dice_again():
    one, other = SeededDice(MASTER, "e1"), SeededDice(MASTER, "e1")
    assert one.faces("open", 0, (), 9, 20, 20) == other.faces("open", 0, (), 9, 20, 20)
    assert one.ident(4) == other.ident(4)


def test_a_salt_changes_the_faces_but_not_the_commitment():
    dice = SeededDice(MASTER, "e1")
    before = dice.commitment("open", 0)
    assert dice.faces("open", 0, (), 1, 20, 20) != dice.faces("open", 0, (("ann", "x"),), 1, 20, 20)
    assert dice.commitment("open", 0) == before


def test_the_key_cache_is_bounded_and_never_changes_an_answer():
    dice = SeededDice(MASTER, "e1")
    first = [dice.faces("open", index, (), 1, 5, 100) for index in range(300)]
    assert len(dice._keys) <= dice._CACHED
    assert [dice.faces("open", index, (), 1, 5, 100) for index in range(300)] == first


def test_no_text_form_of_seeded_dice_shows_a_secret():
    dice = SeededDice(MASTER, "e1")
    dice.faces("open", 0, (), 1, 1, 6)
    shown = f"{dice} {dice!r} {[dice]} {dice!s}"
    secrets = [MASTER, bytes.fromhex(dice.reveal("open", 0)), stream_key(bytes.fromhex(dice.reveal("open", 0)), ())]
    assert "secret" in shown
    for secret in secrets:
        assert secret.hex() not in shown
        assert repr(secret)[2:-1] not in shown


def test_a_short_master_is_refused_without_being_shown():
    with pytest.raises(ValueError, match="16 bytes") as refused:
        SeededDice(b"hunter2", "e1")
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize("dice", [SeededDice(MASTER, "e1"), ScriptedDice()], ids=["seeded", "scripted"])
def test_idents_are_distinct_well_formed_and_out_of_order(dice: Dice):
    idents = [dice.ident(n) for n in range(1, 301)]
    assert all(re.fullmatch(r"[a-z2-7]{13}", ident) for ident in idents)
    assert len(set(idents)) == 300
    # A counter in disguise would rise (or fall) nearly always, and neighbours would share their beginnings.
    rising = sum(a < b for a, b in pairwise(idents))
    assert 100 < rising < 200
    assert not any(a[:6] == b[:6] for a, b in pairwise(idents))


# --- scripted dice ---------------------------------------------------------------------------------------------------


def test_scripted_dice_deal_their_faces_in_order_across_streams():
    with ScriptedDice([6, 1, 20, 3]) as dice:
        assert dice.faces("open", 0, (), 1, 2, 6) == (6, 1)
        assert dice.faces("hidden", 0, (), 1, 1, 20) == (20,)
        assert dice.left == (3,)
        assert dice.faces("open", 1, (("a", "b"),), 2, 1, 6) == (3,)


def test_a_missing_face_is_named_and_takes_nothing():
    dice = ScriptedDice([4])
    with pytest.raises(ScriptExhausted, match=r"roll 7 of the open stream \(2d6\)"):
        dice.faces("open", 0, (), 7, 2, 6)
    assert dice.left == (4,)


@pytest.mark.parametrize("face", [7, 0, -1])
def test_a_face_the_die_does_not_have_is_named_and_takes_nothing(face: int):
    dice = ScriptedDice([1, face])
    with pytest.raises(ScriptMismatch, match=f"cannot show {face}"):
        dice.faces("open", 0, (), 1, 2, 6)
    assert dice.left == (1, face)


def test_unused_faces_fail_the_test_that_scripted_them():
    with pytest.raises(ScriptUnused, match=r"\[5, 6\]"):
        ScriptedDice([5, 6]).finish()
    with pytest.raises(ScriptUnused), ScriptedDice([5]):
        pass


def test_an_error_inside_the_block_is_not_hidden_by_unused_faces():
    with pytest.raises(KeyError), ScriptedDice([5]):
        raise KeyError("the real trouble")


def test_scripted_commitments_fit_their_reveals_and_chosen_idents_are_used():
    dice = ScriptedDice(idents={2: "goblin"})
    assert commitment(bytes.fromhex(dice.reveal("open", 1))) == dice.commitment("open", 1) != dice.commitment("open", 2)
    assert dice.ident(2) == "goblin" != dice.ident(1)


# --- recorded dice ---------------------------------------------------------------------------------------------------

FACT = RolledFact("open", 2, 9, 20, (4, 17, 3), "attack", "ann", kept=((5, 1),))


def recorded(*facts: RolledFact) -> RecordedDice:
    return RecordedDice(facts, ["abc", "def"], {("open", 3): "c0"}, {("open", 2): "5eed"})


def test_recorded_dice_answer_the_fresh_faces_and_the_rest_of_the_record():
    dice = recorded(FACT)
    assert dice.faces("open", 2, (), 9, 2, 20) == (17, 3)
    assert (dice.commitment("open", 3), dice.reveal("open", 2)) == ("c0", "5eed")


def test_recorded_ids_are_answered_in_the_order_they_were_drawn_and_again_when_asked_again():
    dice = recorded()
    assert [dice.ident(n) for n in (41, 42, 41)] == ["abc", "def", "abc"]
    for beyond in (40, 43):
        with pytest.raises(RecordMismatch, match=f"number {beyond} of the session"):
            dice.ident(beyond)


@pytest.mark.parametrize(
    ("stream", "index", "n", "count", "sides"),
    [("hidden", 2, 9, 2, 20), ("open", 1, 9, 2, 20), ("open", 2, 8, 2, 20), ("open", 2, 9, 3, 20), ("open", 2, 9, 2, 6)],
)
def test_recorded_dice_refuse_another_roll(stream: str, index: int, n: int, count: int, sides: int):
    with pytest.raises(RecordMismatch, match=f"roll {n} of the {stream} stream"):
        recorded(FACT).faces(stream, index, (), n, count, sides)


def test_recorded_dice_refuse_what_the_entry_does_not_hold():
    dice = recorded()
    with pytest.raises(RecordMismatch, match="commitment of dice epoch 4"):
        dice.commitment("open", 4)
    with pytest.raises(RecordMismatch, match="opened seed of dice epoch 2 of the hidden"):
        dice.reveal("hidden", 2)


def test_recorded_dice_refuse_faces_that_a_player_entered_and_a_roll_recorded_twice():
    entered = msgspec.structs.replace(FACT, proven=False)
    with pytest.raises(RecordMismatch, match="unproven"):
        recorded(entered).faces("open", 2, (), 9, 2, 20)
    with pytest.raises(RecordMismatch, match="twice"):
        recorded(FACT, entered)


def test_a_rolled_fact_survives_the_log_and_leaves_out_what_is_usual():
    plain = RolledFact("open", 0, 1, 6, (3,), "damage")
    assert set(msgspec.to_builtins(plain)) == {"stream", "index", "n", "sides", "faces", "purpose"}
    for fact in (plain, FACT):
        assert msgspec.msgpack.decode(msgspec.msgpack.encode(fact), type=RolledFact) == fact


# --- the check -------------------------------------------------------------------------------------------------------

SEED = hashlib.sha256(b"check").digest()
OPEN = Reveal("open", 0, commitment(SEED), SEED.hex(), (("ann", "seven"),))
KEY = stream_key(SEED, OPEN.salts)


def rolled(n: int, count: int = 2, **changes: Any) -> RolledFact:
    """An honest roll of d20, then `changes`."""
    fact = RolledFact("open", 0, n, 20, faces(KEY, n, count, 20), "attack", "ann")
    return msgspec.structs.replace(fact, **changes)


def keeping(n: int, source: RolledFact, kept: int, fresh: int) -> RolledFact:
    shown = source.faces[:kept] + (faces(KEY, n, fresh, 20) if fresh else ())
    return rolled(n, faces=shown, kept=((source.n, kept),))


def test_honest_rolls_are_ok_and_counted():
    facts, reveals = facts_of(VECTORS)
    report = verify_rolls(facts, reveals)
    assert (report.verdict, report.checked, report.difference) == ("ok", len(facts), None)


def test_an_unrevealed_seed_is_not_checkable_yet_and_the_rest_is_checked():
    later = Reveal("open", 1, "c0ffee")
    report = verify_rolls([rolled(1), rolled(2, index=1)], [OPEN, later])
    assert (report.verdict, report.checked, report.waiting) == ("not checkable yet", 1, 1)
    assert verify_rolls([rolled(1)], []).verdict == "not checkable yet"


def test_entered_faces_are_counted_apart():
    report = verify_rolls([rolled(1), rolled(2, faces=(20, 20), proven=False)], [OPEN], whole=True)
    assert (report.verdict, report.checked, report.unproven) == ("ok", 1, 1)


def test_kept_faces_come_first_and_only_fresh_ones_are_recomputed():
    voided = rolled(1, 3)
    assert verify_rolls([voided, keeping(2, voided, 2, 2)], [OPEN], whole=True).verdict == "ok"
    assert verify_rolls([voided, keeping(2, voided, 3, 0)], [OPEN], whole=True).verdict == "ok"


def test_a_voided_roll_serves_again_where_it_left_off_and_through_another_voided_roll():
    first = rolled(1, 3)
    second = keeping(2, first, 2, 0)
    third = rolled(3, faces=(first.faces[2], *second.faces), kept=((1, 1), (2, 2)))
    assert verify_rolls([first, second, third], [OPEN], whole=True).verdict == "ok"


def test_faces_kept_from_entered_or_waiting_rolls_are_no_better_than_those():
    entered = rolled(1, faces=(20, 20), proven=False)
    assert verify_rolls([entered, keeping(2, entered, 2, 0)], [OPEN]).unproven == 2
    waiting = rolled(1)
    assert verify_rolls([waiting, keeping(2, waiting, 2, 0)], []).waiting == 2


def test_a_kept_roll_that_is_not_listed_waits_in_a_part_and_differs_in_a_whole_log():
    voided = rolled(1)
    again = keeping(2, voided, 2, 0)
    assert verify_rolls([again], [OPEN]).verdict == "not checkable yet"
    assert verify_rolls([again], [OPEN], whole=True).verdict == "differs"


def test_a_skipped_number_is_counted_and_differs_in_a_whole_log():
    report = verify_rolls([rolled(1), rolled(4)], [OPEN])
    assert (report.verdict, report.skipped) == ("ok", 2)
    whole = verify_rolls([rolled(1), rolled(4)], [OPEN], whole=True)
    assert whole.verdict == "differs"
    assert whole.difference is not None
    assert (whole.difference.n, whole.difference.expected, whole.difference.found) == (4, "2", "4")


def test_numbers_run_on_through_dice_epochs_and_apart_in_each_stream():
    hidden = msgspec.structs.replace(OPEN, stream="hidden")
    second = msgspec.structs.replace(OPEN, index=1)
    facts = [rolled(1), rolled(1, stream="hidden"), rolled(2, index=1), rolled(2, stream="hidden")]
    assert verify_rolls(facts, [OPEN, hidden, second], whole=True).verdict == "ok"


def test_the_first_difference_is_named_with_what_it_should_be():
    honest = rolled(2)
    bent = tuple(face % 20 + 1 for face in honest.faces)
    report = verify_rolls([rolled(1), msgspec.structs.replace(honest, faces=bent), rolled(3, faces=(1,))], [OPEN])
    assert report.verdict == "differs"
    assert report.checked == 1
    found = report.difference
    assert found is not None
    assert (found.stream, found.n, found.expected, found.found) == ("open", 2, str(list(honest.faces)), str(list(bent)))


CHEATS: dict[str, list[RolledFact]] = {
    "one face changed": [rolled(1, faces=(faces(KEY, 1, 2, 20)[0] % 20 + 1, faces(KEY, 1, 2, 20)[1]))],
    "faces swapped": [rolled(1, 3, faces=faces(KEY, 1, 3, 20)[::-1])],
    "another die": [rolled(1, sides=19)],
    "a number used twice": [rolled(1), rolled(1)],
    "numbers going back": [rolled(2), rolled(1)],
    "number nought": [rolled(0)],
    "an older dice epoch": [rolled(1, index=1, proven=False), rolled(2)],
    "no faces": [rolled(1, faces=())],
    "a face beyond the die": [rolled(1, faces=(21, 1), proven=False)],
    "a one-sided die": [rolled(1, sides=1, faces=(1,))],
    "too many dice": [rolled(1, faces=(1,) * 1001)],
    "a number beyond the scheme": [msgspec.structs.replace(rolled(1), n=2**64)],
    "kept faces changed": [rolled(1), rolled(2, faces=(20, 20, 20), kept=((1, 2),))],
    "kept faces used twice": [rolled(1), keeping(2, rolled(1), 2, 0), keeping(3, rolled(1), 2, 0)],
    "more kept than there were": [rolled(1), rolled(2, faces=(*rolled(1).faces, 5), kept=((1, 3),))],
    "kept for another purpose": [rolled(1), rolled(2, faces=rolled(1).faces, kept=((1, 2),), purpose="damage")],
    "kept for another actor": [rolled(1), rolled(2, faces=rolled(1).faces, kept=((1, 2),), actor="bob")],
    "kept from itself": [rolled(1), rolled(2, kept=((2, 1),))],
    "a negative count kept": [rolled(1), rolled(2, kept=((1, -1),))],
    "more kept than shown": [rolled(1, 3), rolled(2, faces=rolled(1).faces, kept=((1, 3),))],
}


@pytest.mark.parametrize("name", CHEATS)
def test_a_cheat_is_found(name: str):
    facts = CHEATS[name]
    report = verify_rolls(facts, [OPEN])
    assert report.verdict == "differs"
    assert report.difference is not None
    assert (report.difference.stream, report.difference.n) == ("open", facts[-1].n)


@pytest.mark.parametrize(
    "reveals",
    [
        [msgspec.structs.replace(OPEN, commitment=commitment(SEED[::-1]))],
        [msgspec.structs.replace(OPEN, commitment="")],
        [msgspec.structs.replace(OPEN, seed=SEED.hex()[:-2])],
        [msgspec.structs.replace(OPEN, seed="no hex")],
        [msgspec.structs.replace(OPEN, salts=(("ann", "1"), ("ann", "2")))],
        [OPEN, msgspec.structs.replace(OPEN, salts=())],
    ],
    ids=["another commitment", "no commitment", "cut seed", "no hex", "a seat salted twice", "two stories"],
)
def test_a_seed_that_does_not_fit_its_commitment_differs_even_without_a_roll(reveals: list[Reveal]):
    report = verify_rolls([], reveals)
    assert report.verdict == "differs"
    assert report.difference is not None
    assert (report.difference.stream, report.difference.n) == ("open", 0)


def test_another_salt_than_the_one_it_closed_with_differs():
    assert verify_rolls([rolled(1, 5)], [msgspec.structs.replace(OPEN, salts=(("ann", "eight"),))]).verdict == "differs"


_small = st.integers(-3, 12)
_facts = st.builds(
    RolledFact,
    stream=st.sampled_from(["open", "hidden"]),
    index=st.integers(-1, 1),
    n=st.one_of(_small, st.sampled_from([2**63, 2**64, -(2**70)])),
    sides=st.one_of(_small, st.sampled_from([256, 257, 2**40])),
    faces=st.lists(_small, max_size=4).map(tuple),
    purpose=st.just("attack"),
    kept=st.lists(st.tuples(_small, _small), max_size=2).map(tuple),
    proven=st.booleans(),
)


@given(st.lists(_facts, max_size=5), st.booleans())
@settings(max_examples=100)
def test_no_made_up_record_makes_the_check_raise_or_pass_for_checked(facts: list[RolledFact], whole: bool):
    """Every roll of an accepted list is counted once, whatever it looks like."""
    report = verify_rolls(facts, [OPEN], whole=whole)
    if report.verdict != "differs":
        assert report.checked + report.unproven + report.waiting == len(facts)
    assert (report.difference is not None) == (report.verdict == "differs")


# --- the page for strangers ------------------------------------------------------------------------------------------

BLOCKS = dict(re.findall(r"```(\w+)\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL))
NODE = shutil.which("node")
LANGUAGES = [
    pytest.param("python", id="python"),
    pytest.param("js", id="javascript", marks=pytest.mark.skipif(NODE is None, reason="Node.js is not installed")),
]


def run_page(language: str, data: dict[str, Any], folder: Path) -> tuple[int, str]:
    program = folder / f"check.{'py' if language == 'python' else 'cjs'}"
    program.write_text(BLOCKS[language], encoding="utf-8")
    (folder / "dice.json").write_text(json.dumps(data), encoding="utf-8")
    command = [sys.executable, "-I"] if language == "python" else [str(NODE)]
    done = subprocess.run([*command, str(program), str(folder / "dice.json")], capture_output=True, text=True, timeout=60, check=False)
    assert done.stderr == ""
    return done.returncode, done.stdout.strip()


def test_the_worked_example_of_the_page_is_true():
    """The page's figures come from a command line tool; the engine must reach the same ones."""
    facts, reveals = facts_of(json.loads(BLOCKS["json"]))
    assert verify_rolls(facts, reveals, whole=True).verdict == "ok"
    text = PAGE.read_text(encoding="utf-8")
    seed = bytes.fromhex(reveals[0].seed)
    assert f"`{table_salt(reveals[0].salts).hex()}`" in text
    assert f"`{stream_key(seed, reveals[0].salts).hex()}`" in text


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_programs_of_the_page_pass_the_example_and_the_golden_rolls(language: str, tmp_path: Path):
    for data in (json.loads(BLOCKS["json"]), VECTORS):
        count = len(data["rolls"])
        assert run_page(language, data, tmp_path) == (0, f"ok: {count} rolls checked, 0 entered by hand, 0 wait for their seed")


def page_case(facts: list[RolledFact], reveals: list[Reveal]) -> dict[str, Any]:
    data: dict[str, Any] = msgspec.to_builtins({"epochs": reveals, "rolls": facts})
    return data


PAGE_CASES = {
    "mixed": (
        [rolled(1), rolled(2, faces=(9,), proven=False), keeping(3, rolled(1), 1, 1), rolled(4, index=1)],
        [OPEN, Reveal("open", 1, "00")],
    ),
    "wrong face": ([rolled(1), rolled(2, faces=(1, 1, 1))], [OPEN]),
    "wrong kept face": (CHEATS["kept faces changed"], [OPEN]),
    "kept twice": (CHEATS["kept faces used twice"], [OPEN]),
    "number twice": (CHEATS["a number used twice"], [OPEN]),
    "wrong seed": ([rolled(1)], [msgspec.structs.replace(OPEN, seed="00" * 32)]),
}


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", PAGE_CASES)
def test_the_programs_of_the_page_and_the_engine_agree(language: str, name: str, tmp_path: Path):
    facts, reveals = PAGE_CASES[name]
    report = verify_rolls(facts, reveals)
    code, said = run_page(language, page_case(facts, reveals), tmp_path)
    if report.difference is None:
        assert (code, said) == (
            0,
            f"ok: {report.checked} rolls checked, {report.unproven} entered by hand, {report.waiting} wait for their seed",
        )
    else:
        assert code == 1
        assert said.startswith("differs: open ")
        assert report.difference.n == 0 or f"roll {report.difference.n}" in said
        assert report.difference.found in said
