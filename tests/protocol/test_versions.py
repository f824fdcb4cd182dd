"""Version negotiation: the highest both speak, or which side is too old."""

from __future__ import annotations

import pytest

from protocol import versions
from protocol.versions import mismatch, negotiate


@pytest.fixture
def server_speaks_3_to_5(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(versions, "MIN_VERSION", 3)
    monkeypatch.setattr(versions, "MAX_VERSION", 5)


@pytest.mark.usefixtures("server_speaks_3_to_5")
@pytest.mark.parametrize(
    ("low", "high", "chosen"),
    [(1, 2, None), (1, 3, 3), (4, 4, 4), (3, 5, 5), (5, 9, 5), (1, 9, 5), (6, 9, None)],
)
def test_the_highest_common_version_is_chosen(low: int, high: int, chosen: int | None):
    assert negotiate(low, high) == chosen


@pytest.mark.usefixtures("server_speaks_3_to_5")
@pytest.mark.parametrize(("low", "high", "too_old"), [(1, 2, "client"), (6, 9, "server")])
def test_a_mismatch_says_which_side_is_too_old_and_both_ranges(low: int, high: int, too_old: str):
    text, data = mismatch(low, high)
    assert f"versions {low} to {high}" in text
    assert "3 to 5" in text
    assert f"the {too_old} is too old" in text
    assert data == {"client": [low, high], "server": [3, 5], "too_old": too_old}
