"""Promises of engine.notation: what a text means, how its dice fall, and what a wrong text is told."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.notation import MAX_EXTRA_ROUNDS, Die, Group, NotationError, Result, evaluate, parse


class Table:
    """A roll source that deals scripted faces and writes down what it was asked for."""

    def __init__(self, *script: int) -> None:
        self.script = list(script)
        self.asked: list[tuple[int, int]] = []

    def __call__(self, count: int, sides: int) -> tuple[int, ...]:
        self.asked.append((count, sides))
        dealt, self.script = self.script[:count], self.script[count:]
        assert len(dealt) == count, f"{count}d{sides} was rolled beyond the script"
        return tuple(dealt)


def rolled(text: str, *script: int) -> Result:
    """The result of a text, every scripted face used."""
    table = Table(*script)
    result = evaluate(parse(text), table)
    assert table.script == []
    return result


def shown(group: Group) -> list[int]:
    """The faces that count."""
    return [die.face for die in group.dice if die.kept]


@pytest.mark.parametrize(
    ("text", "script", "total"),
    [
        ("7", (), 7),
        ("-7", (), -7),
        ("+7", (), 7),
        ("007", (), 7),
        ("2+3*4-1", (), 13),
        ("(2+3)*4", (), 20),
        ("2*(3-(4-5))", (), 8),
        ("-(2-5)", (), 3),
        ("3d6+2", (1, 5, 6), 14),
        ("3d6 - 2", (1, 5, 6), 10),
        ("10-d6", (4,), 6),
        ("d20", (17,), 17),
        ("d%", (100,), 100),
        ("2d%", (1, 99), 100),
        ("2*3d6", (1, 2, 3), 12),
        ("3d6*2", (1, 2, 3), 12),
        ("(d6+1)*3", (5,), 18),
        ("2*(d6-d4)*5", (5, 1), 40),
        ("(d6)", (2,), 2),
        ("d6*0", (2,), 0),
        ("d6+d6", (2, 3), 5),
        ("d1000000", (1_000_000,), 1_000_000),
        ("1000000*1000000", (), 10**12),
    ],
)
def test_sums_products_and_pools_come_to_their_arithmetic(text: str, script: tuple[int, ...], total: int):
    assert rolled(text, *script).total == total


@pytest.mark.parametrize(
    ("text", "script", "counting"),
    [
        ("2d20kh1", (4, 17), [17]),
        ("2d20kh", (4, 17), [17]),
        ("2d20kl1", (4, 17), [4]),
        ("4d6dl1", (3, 1, 6, 2), [3, 6, 2]),
        ("4d6dh2", (3, 1, 6, 2), [1, 2]),
        ("4d6kh3", (3, 1, 6, 2), [3, 6, 2]),
        ("4d6kl4", (3, 1, 6, 2), [3, 1, 6, 2]),
        ("3d6kh1", (5, 5, 5), [5]),
        ("3d6dl", (5, 5, 5), [5, 5]),
    ],
)
def test_keeping_and_dropping_marks_the_dice_that_count_and_shows_the_others(text: str, script: tuple[int, ...], counting: list[int]):
    result = rolled(text, *script)
    (group,) = result.groups
    assert shown(group) == counting
    assert [die.face for die in group.dice] == list(script)
    assert result.total == group.total == sum(counting)


@pytest.mark.parametrize(("text", "counting"), [("3d6kh1", [0]), ("3d6kl1", [2]), ("3d6dh1", [1, 2]), ("3d6dl1", [0, 1])])
def test_of_equal_dice_the_earlier_one_is_the_higher(text: str, counting: list[int]):
    (group,) = rolled(text, 5, 5, 5).groups
    assert [at for at, die in enumerate(group.dice) if die.kept] == counting


def test_each_pool_is_one_roll_in_reading_order():
    table = Table(1, 2, 3, 4, 5, 6)
    evaluate(parse("2d6 + (d20 - 3d4)*2"), table)
    assert table.asked == [(2, 6), (1, 20), (3, 4)]


def test_a_product_keeps_its_dice_in_one_roll_whichever_side_they_stand():
    (left,), (right,) = rolled("4*2d6", 1, 2).groups, rolled("2d6*4", 1, 2).groups
    assert (left.total, left.factor) == (right.total, right.factor) == (3, 4)


def test_explosions_roll_again_for_each_highest_face_until_none_shows():
    table = Table(6, 2, 6, 6, 1, 3)
    result = evaluate(parse("3d6!"), table)
    assert table.asked == [(3, 6), (2, 6), (1, 6)]
    assert result.total == 24
    assert [die.cause for die in result.groups[0].dice] == ["", "", "", "explosion", "explosion", "explosion"]


def test_explosions_end_after_a_bounded_number_of_rounds():
    rounds: list[int] = []

    def always_highest(count: int, sides: int) -> tuple[int, ...]:
        rounds.append(count)
        return (sides,) * count

    result = evaluate(parse("2d2!"), always_highest)
    assert rounds == [2] * (1 + MAX_EXTRA_ROUNDS)
    assert result.total == 4 * (1 + MAX_EXTRA_ROUNDS)


def test_dice_showing_the_named_face_are_rolled_again_once():
    table = Table(1, 4, 1, 1, 6)
    result = evaluate(parse("3d6r1"), table)
    assert table.asked == [(3, 6), (2, 6)]
    assert result.groups[0].dice == (
        Die(1, 1, kept=False),
        Die(4, 4),
        Die(1, 1, kept=False),
        Die(1, 1, cause="reroll"),
        Die(6, 6, cause="reroll"),
    )
    assert result.total == 11


@pytest.mark.parametrize("text", ["4d6r<=2", "4d6 r <= 2"])
def test_a_range_of_low_faces_is_rolled_again(text: str):
    assert rolled(text, 2, 3, 1, 6, 5, 4).total == 18


def test_no_dice_to_roll_again_means_no_roll():
    table = Table(2, 3)
    evaluate(parse("2d6r1"), table)
    assert table.asked == [(2, 6)]


def test_rerolls_can_name_the_dice_they_replace():
    asked: list[tuple[tuple[int, ...], int]] = []

    def again(positions: tuple[int, ...], sides: int) -> tuple[int, ...]:
        asked.append((positions, sides))
        return (4,) * len(positions)

    assert evaluate(parse("3d6r1"), Table(1, 5, 1), again).total == 13
    assert asked == [((0, 2), 6)]


def test_dice_are_rolled_again_then_explode_then_some_are_kept():
    """First roll 1 2 3; the 1 becomes a 6 and explodes into a 5; the best two of 2 3 6 5 are 6 and 5. The order written does not matter."""
    for text in ("3d6r1!kh2", "3d6kh2!r1", "3d6!kh2r1"):
        result = rolled(text, 1, 2, 3, 6, 5)
        assert shown(result.groups[0]) == [6, 5]
        assert result.total == 11


def test_a_highest_face_that_is_rolled_again_does_not_explode():
    assert rolled("2d6r6!", 6, 2, 3).total == 5


def test_combat_dice_count_one_two_blanks_and_effects():
    result = rolled("6dC6", 1, 2, 3, 4, 5, 6)
    assert (result.total, result.effects) == (5, 2)
    assert [die.value for die in result.groups[0].dice] == [1, 2, 0, 0, 1, 1]
    assert [die.effect for die in result.groups[0].dice] == [False, False, False, False, True, True]


def test_effects_add_up_over_pools_and_numbers_do_not_multiply_them():
    result = rolled("dC6 + 2*dC6 + 3", 5, 6)
    assert (result.total, result.effects) == (6, 2)


def test_fate_dice_count_minus_nought_and_plus():
    assert [die.value for die in rolled("6dF", 1, 2, 3, 4, 5, 6).groups[0].dice] == [-1, -1, 0, 0, 1, 1]
    assert rolled("4dF+2", 1, 1, 2, 3).total == -1


@pytest.mark.parametrize("text", ["4DC6", "4dc6", " 4 d C6 ", "4\tdC6"])
def test_case_and_blanks_do_not_matter(text: str):
    expression = parse(text)
    assert [term.pool and (term.pool.count, term.pool.kind) for term in expression.terms] == [(4, "combat")]


def test_groups_say_which_part_of_the_text_they_are():
    result = rolled(" 2 d20 kh1+ 3*D6 ", 1, 2, 3)
    assert [group.text for group in result.groups] == ["2d20kh1", "D6"]
    assert result.text == "2 d20 kh1+ 3*D6"


@pytest.mark.parametrize(
    ("text", "position", "problem"),
    [
        ("", 0, "expected a number, dice or '('"),
        ("   ", 3, "expected a number, dice or '('"),
        ("hello", 0, "cannot read 'h'"),
        ("3d6+", 4, "expected a number, dice or '('"),
        ("3d6++2", 4, "not '+'"),
        ("3d", 2, "after 'd' comes"),
        ("3dx", 2, "cannot read 'x'"),
        ("d+1", 1, "after 'd' comes"),
        ("0d6", 0, "at least one die"),
        ("d0", 1, "at least 2 sides"),
        ("d1", 1, "at least 2 sides"),
        ("d1000001", 1, "largest number of sides is 1000000"),
        ("1000001", 0, "largest number is 1000000"),
        ("201d6", 0, "at most 200 dice"),
        ("100d6+101d6", 6, "at most 200 dice"),
        ("9" * 119, 0, "largest number"),
        ("1 0d6", 2, "did not expect '0'"),
        ("2d20 d6", 5, "did not expect 'd'"),
        ("(2d6", 4, "a ')' is missing"),
        ("2d6)", 3, "did not expect ')'"),
        ("()", 1, "not ')'"),
        ("d6*d6", 2, "not by dice"),
        ("2*d6*(1+d6)", 4, "not by dice"),
        ("2*-3", 2, "not '-'"),
        ("2d20kh3", 6, "cannot keep 3 of 2"),
        ("2d20kh0", 6, "cannot keep 0 of 2"),
        ("2d20dl2", 6, "cannot drop 2 of 2"),
        ("d6dl", 4, "cannot drop 1 of 1"),
        ("4d6kh3dl1", 6, "already keep or drop"),
        ("4d6!!", 4, "already explode"),
        ("4d6r1r2", 5, "already roll again"),
        ("4d6r", 4, "after 'r' comes the face"),
        ("4d6r7", 4, "a d6 never shows 7"),
        ("4d6r0", 4, "a d6 never shows 0"),
        ("4d6r<3", 4, "cannot read '<'"),
        ("4d6r<=7", 6, "a d6 never shows 7"),
        ("4dC6!", 4, "combat dice cannot explode"),
        ("4dFkh1", 3, "fate dice cannot keep or drop"),
        ("4dC8", 2, "cannot read 'C'"),
        ("1.5", 1, "cannot read '.'"),
        ("d6/2", 2, "cannot read '/'"),
        ("3d6\n", 3, "cannot read '\\n'"),
        ("\uff13d6", 0, "cannot read '\\uff13'"),
        ("\u0663d6", 0, "cannot read '\\u0663'"),
        ("2d20\u212ah1", 4, "cannot read '\\u212a'"),
        ("3d6 \u2212 1", 4, "cannot read '\\u2212'"),
        ("1000000*1000000*1000000", 15, "too large"),
        ("200d1000000!*1000000", 0, "too large"),
    ],
)
def test_a_wrong_text_is_told_what_is_wrong_where_and_what_would_work(text: str, position: int, problem: str):
    with pytest.raises(NotationError) as refused:
        parse(text)
    said = str(refused.value)
    assert problem in said
    assert refused.value.position == position
    assert f"character {position + 1}:" in said
    assert refused.value.text == text
    example = said.rpartition(": ")[2]
    assert parse(example).terms


def test_a_text_has_at_most_120_characters():
    longest = "1" + "+1" * 59 + " "
    assert len(longest) == 120
    assert evaluate(parse(longest), Table()).total == 60
    with pytest.raises(NotationError, match="at most 120 characters"):
        parse(longest + " ")


def test_the_error_does_not_repeat_a_long_text():
    with pytest.raises(NotationError) as refused:
        parse("x" * 100_000)
    assert len(str(refused.value)) < 200


def test_brackets_nested_as_deep_as_the_length_allows_are_read():
    assert evaluate(parse("(" * 59 + "1" + ")" * 59), Table()).total == 1


_pools = st.builds(
    lambda count, sides, tail: f"{count}d{sides}{tail}",
    st.integers(2, 5),
    st.integers(3, 12),
    st.sampled_from(["", "kh1", "dl1", "r1", "r<=2", "!"]),
)
_leaves = st.one_of(st.integers(0, 50).map(str), _pools, st.sampled_from(["dC6", "2dF", "d%"]))
_texts = st.recursive(
    _leaves,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from([" + ", "-"]), inner).map("".join),
        inner.map(lambda text: f"({text})"),
        st.tuples(st.integers(0, 9), inner).map(lambda pair: f"{pair[0]}*({pair[1]})"),
    ),
    max_leaves=5,
)


@given(_texts.filter(lambda text: len(text) <= 120), st.randoms(use_true_random=False))
@settings(max_examples=100)
def test_the_total_is_what_python_makes_of_the_text_with_each_pool_replaced_by_its_value(text: str, random):
    """Another evaluator for the arithmetic, with the kept faces of every group as the only thing taken over."""
    result = evaluate(parse(text), lambda count, sides: tuple(random.randint(1, sides) for _ in range(count)))
    plain = text.replace(" ", "")
    place = 0
    for group in result.groups:
        place = plain.index(group.text, place)
        value = f"({sum(die.value for die in group.dice if die.kept)})"
        plain = plain[:place] + value + plain[place + len(group.text) :]
        place += len(value)
    assert result.total == eval(plain, {"__builtins__": {}})


@given(st.text(alphabet="0123456789dDkKhHlLcCfFrR!%+-*()<= \t.x\uff11", max_size=30))
@settings(max_examples=100)
def test_any_text_is_either_read_or_refused_with_a_place_in_it(text: str):
    place, dice = 0, 0
    try:
        dice = sum(term.pool.count for term in parse(text).terms if term.pool)
    except NotationError as refused:
        place = refused.position
    assert 0 <= place <= len(text)
    assert dice <= 200
