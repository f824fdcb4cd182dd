"""The wasteland's figures: hit locations, combat dice, prices, which skill fires which weapon, and the switches (FACTS A1-A4, A9, B1)."""

from __future__ import annotations

from collections.abc import Mapping

from engine.rulesets.wasteland.model import Pair

DAMAGE = (0, 1, 2, 0, 0, 1, 1)
"""Damage of a combat die by face (FACTS A1); index 0 is unused."""
EFFECT_FACES = frozenset({5, 6})

LOCATIONS: Mapping[str, tuple[tuple[int, str, str], ...]] = {
    "person": (
        (2, "head", "head"),
        (8, "torso", "torso"),
        (11, "armL", "arm"),
        (14, "armR", "arm"),
        (17, "legL", "leg"),
        (20, "legR", "leg"),
    ),
    "hover_robot": (
        (2, "optics", "head"),
        (8, "body", "torso"),
        (11, "arm1", "arm"),
        (14, "arm2", "arm"),
        (17, "arm3", "arm"),
        (20, "thruster", "leg"),
    ),
    "quadruped": (
        (2, "head", "head"),
        (8, "torso", "torso"),
        (11, "foreL", "leg"),
        (14, "foreR", "leg"),
        (17, "hindL", "leg"),
        (20, "hindR", "leg"),
    ),
    "flying_insect": ((2, "head", "head"), (8, "torso", "torso"), (11, "wingL", "leg"), (14, "wingR", "leg"), (20, "legs", "leg")),
}
"""By body type: (highest face of a d20, location, kind of injury), ascending (FACTS A2)."""

LOCATION_KINDS: Mapping[str, Mapping[str, str]] = {body: {at: kind for _, at, kind in rows} for body, rows in LOCATIONS.items()}
TRUNK: Mapping[str, str] = {body: next(at for _, at, kind in rows if kind == "torso") for body, rows in LOCATIONS.items()}

DICE_PRICE = (0, 1, 3, 6)
"""AP for 0 to 3 bought d20s (FACTS A9)."""
MAX_BONUS_DICE = 3
MAX_DAMAGE_AP = 3
GROUP_CAP = 6
SECOND_MINOR = 1
SECOND_MAJOR = 2

BAND_INDEX: Mapping[str, int] = {"close": 0, "medium": 1, "long": 2, "extreme": 3}

WEAPON_PAIRS: Mapping[str, Pair] = {
    "small_guns": Pair(attribute="AGI", skill="small_guns"),
    "big_guns": Pair(attribute="END", skill="big_guns"),
    "energy_weapons": Pair(attribute="PER", skill="energy_weapons"),
    "explosives": Pair(attribute="PER", skill="explosives"),
    "throwing": Pair(attribute="AGI", skill="throwing"),
    "melee_weapons": Pair(attribute="STR", skill="melee_weapons"),
    "unarmed": Pair(attribute="STR", skill="unarmed"),
    "natural": Pair(attribute="STR", skill="unarmed"),
    "ranged_natural": Pair(attribute="AGI", skill="throwing"),
}
"""combat_rules_2d20, "Making an Attack", step 2; a creature's pair is derived from it (derived.beast_pair)."""
MELEE = frozenset({"melee_weapons", "unarmed", "natural"})
THROWN = frozenset({"explosives", "throwing"})
AMMO_BOOSTED = frozenset({"small_guns", "big_guns", "energy_weapons", "ranged_natural"})

SWITCHES: Mapping[str, tuple[str | int | bool, ...]] = {
    "tag_crit": ("le", "lt", "none"),
    "effect_face_damage": (1, 0),
    "cover_dr": ("total", "effects"),
    "cover_scope": ("limited", "any"),
    "assist_gate": (True, False),
    "opposed": ("sequential", "simultaneous"),
    "opposed_tie": ("active", "none", "defender", "reroll"),
    "d0_roll": ("gm", "player"),
    "complication_to_gm_ap": (True, False),
    "bonus_cap_includes_perks": (True, False),
    "second_major_penalty": (1, 0),
    "bought_major_penalty": ("always", "second"),
    "gm_ap_scope": ("d20_only", "any"),
    "ap_damage": ("melee+thrown", "melee"),
    "draw_cost": ("gm", 1),
    "reroll_once": (True, False),
    "trinket_luck": (False, True),
    "opening_turn": ("initiator_pc", "first_shooter"),
    "one_move": (True, False),
    "reach_penalty": (2, 0),
    "breaking": ("per_effect", "flat"),
    "breaking_timing": ("immediate", "after"),
    "breaking_carry": (False, True),
    "crit_after_dr": (True, False),
    "zero_hp_extra": ("crit_hit", "crit_success"),
    "radiation_can_crit": (True, False),
    "persistent_rounds": ("effects", "1+effects"),
    "persistent_mode": ("repeat_total", "reroll"),
    "spread_round": ("down", "up"),
    "spread_effects": (False, True),
    "bleed": ("2dC6", "flat2"),
    "rad_blocks_stabilize": (True, False),
    "count_treated": (True, False),
    "heal_ap": ("both", "stabilize"),
    "reopen_on": ("damage", "enemy_hit"),
    "recovery": ("absolute", "additive"),
    "recovery_range": ("untreated", "all"),
    "recovery_yield": ("1+ap/2", "all"),
    "well_rested_ends": ("next_sleep", "never"),
    "sleep_once_a_day": (True, False),
    "dying_resources": (True, False),
    "draw_may_drop": (False, True),
    "ready_window": ("until_my_turn", "next_round"),
    "assist_giveup": (True, False),
    "timing_hold": (False, True),
    "npcs_die": (False, True),
}
"""Every reading that the texts leave open or tell differently (FACTS B1, B2); the first value is the default."""

ZH: Mapping[str, str | int | bool] = {
    "tag_crit": "lt",
    "effect_face_damage": 0,
    "cover_dr": "effects",
    "cover_scope": "any",
    "assist_gate": False,
    "opposed": "simultaneous",
    "opposed_tie": "none",
    "d0_roll": "player",
    "complication_to_gm_ap": False,
    "bonus_cap_includes_perks": False,
    "second_major_penalty": 0,
    "gm_ap_scope": "any",
    "ap_damage": "melee",
    "draw_cost": 1,
    "reroll_once": False,
    "trinket_luck": True,
    "opening_turn": "first_shooter",
    "one_move": False,
    "reach_penalty": 0,
    "breaking": "flat",
    "crit_after_dr": False,
    "zero_hp_extra": "crit_success",
    "persistent_rounds": "1+effects",
    "bleed": "flat2",
    "rad_blocks_stabilize": False,
    "heal_ap": "stabilize",
    "reopen_on": "enemy_hit",
    "recovery": "additive",
    "recovery_range": "all",
    "recovery_yield": "all",
    "well_rested_ends": "never",
    "sleep_once_a_day": False,
    "draw_may_drop": True,
    "ready_window": "next_round",
    "assist_giveup": False,
}
"""The reading of summary_2d20_zh.txt (FACTS B1, column 002)."""


def location_of(body_type: str, face: int) -> str:
    """The location a d20 face hits."""
    return next(at for top, at, _ in LOCATIONS[body_type] if face <= top)


def injury_kind(body_type: str, at: str) -> str:
    return LOCATION_KINDS[body_type].get(at, "torso")
