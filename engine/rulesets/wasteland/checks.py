"""Pure counting: successes, complications, combat dice, prices and clamps. No session, no dice."""

from __future__ import annotations

from collections.abc import Iterable

from engine.rulesets.wasteland.model import Pair
from engine.rulesets.wasteland.tables import BAND_INDEX, DAMAGE, DICE_PRICE, EFFECT_FACES

NOTICE = Pair(attribute="PER", skill="survival")
NOTICE_DIFFICULTY = 2
"""To hear a suppressed shot, to find something concealed (FACTS A14)."""


def lowest_complication(range_: int) -> int:
    """The lowest d20 face that is a complication at a complication range of 1 to 5 (FACTS A3)."""
    return 21 - range_


def widened(range_: int, by: int) -> int:
    """A complication range made wider, within 1 to 5."""
    return min(max(range_ + by, 1), 5)


def crit_face(rank: int, tagged: bool, tag_crit: str) -> int:
    """The face up to which a d20 counts twice: 1, or the rank of a tag skill (FACTS A12, switch `tag_crit`), never less than 1."""
    if not tagged or tag_crit == "none":
        return 1
    return max(rank if tag_crit == "le" else rank - 1, 1)


def successes(faces: Iterable[int], tn: int, crit: int) -> int:
    """Successes of a d20 pool: one for each face up to `tn`, two for each up to `crit` (core_rules_2d20, "Rolling the Dice", step 4)."""
    return sum(2 if face <= crit else 1 if face <= tn else 0 for face in faces)


def complications(faces: Iterable[int], range_: int = 1) -> int:
    """Faces that are complications; counted per die, whatever the test came to."""
    low = 21 - range_
    return sum(1 for face in faces if face >= low)


def with_help(lead: int, helpers: Iterable[int], gate: bool) -> int:
    """The total of a test with help: a helper counts only if who leads scored (core_rules_2d20, "Assistance"; switch `assist_gate`)."""
    return lead if gate and not lead else lead + sum(helpers)


def surplus(successes_: int, difficulty: int) -> int:
    """AP of a test: each success above a difficulty that was met (step 5)."""
    return max(successes_ - difficulty, 0)


def clamped(difficulty: int) -> int:
    """A difficulty never falls below 0 (core_rules_2d20, "Difficulty Zero Tests")."""
    return max(difficulty, 0)


def dice_price(dice: int) -> int:
    """AP for so many bought d20s: 1, 2 and 3 for the first, second and third."""
    return DICE_PRICE[dice]


def damage(faces: Iterable[int], effect_damage: int = 1) -> tuple[int, int]:
    """(damage, effects) of combat dice; `effect_damage` is what an effect face hurts (FACTS A1, switch `effect_face_damage`)."""
    total = effects = 0
    for face in faces:
        if face in EFFECT_FACES:
            effects += 1
            total += effect_damage
        else:
            total += DAMAGE[face]
    return total, effects


def range_steps(at: str, ideal: str) -> int:
    """Difficulty for firing at a band away from the ideal one (FACTS A4)."""
    return abs(BAND_INDEX[at] - BAND_INDEX[ideal])


def luck_price(dice: int) -> int:
    """LP for re-rolling so many combat dice: one for each three, begun ones whole (core_rules_2d20, "Miss Fortune")."""
    return -(-dice // 3)


def melee_bonus(strength: int) -> int:
    """Damage dice that STR gives to melee attacks (FACTS A11)."""
    return 0 if strength < 7 else 1 if strength < 9 else 2 if strength < 11 else 3
