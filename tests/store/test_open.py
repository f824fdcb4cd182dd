"""Choosing a store: every wrong choice is told what would be right."""

from __future__ import annotations

from pathlib import Path

import pytest

from server.store import open_store
from server.store.clients import without_password
from server.store.durability import Durability


def test_each_kind_opens_the_store_it_names(tmp_path: Path) -> None:
    assert open_store("memory").name == "memory"
    assert open_store("embedded", tmp_path).name == "embedded"
    for url in ("redis://localhost:6379/0", "rediss://user:pw@host:6380/1", "unix:///run/redis.sock"):
        assert open_store(url).name == "redis"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("where", "says"),
    [
        ("redis+sentinel://a,b/main", "Sentinel"),
        ("redis+cluster://a,b", "Cluster"),
        ("http://localhost", "redis://"),
        ("localhost:6379", "redis://"),
        ("", "redis://"),
        ("embedded", "--data"),
    ],
)
def test_what_cannot_be_opened_is_explained(where: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        open_store(where)


@pytest.mark.parametrize("mode", ["", "never", "replicas", "replicas=0", "replicas=-1", "replicas=x", "always "])
def test_an_unknown_durability_is_refused(mode: str) -> None:
    with pytest.raises(ValueError, match="everysec, always or replicas=N"):
        open_store("redis://localhost", durability=mode)


def test_memory_promises_nothing_it_cannot_keep() -> None:
    with pytest.raises(ValueError, match="--store memory"):
        open_store("memory", durability="always")


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("redis://me:secret@host:6379/2", "redis://host:6379/2"),
        ("redis://:p%40ss@host", "redis://host"),
        ("unix://me:secret@/run/x.sock", "unix:///run/x.sock"),
    ],
)
def test_a_password_never_shows(url: str, shown: str) -> None:
    assert without_password(url) == shown


def test_waiting_for_replicas_that_do_not_answer_stops_and_is_tried_again_later() -> None:
    now = 0.0
    durability = Durability("replicas=2", lambda: now, wait_ms=250, breaker_pause_s=5)
    durability.local = "os"
    assert durability.wait_command() == ("WAIT", 2, 250)
    assert durability.label(3) == "replicas:3"
    assert [durability.label(1), durability.label(0)] == ["os", "os"]
    assert durability.wait_command() is not None, "two failures are not yet a pattern"
    assert durability.label(1) == "os"
    assert durability.wait_command() is None
    assert durability.label(None) == "os"
    now = 5.1
    assert durability.wait_command() is not None, "one trial after the pause"
    durability.label(0)
    assert durability.wait_command() is None, "a failed trial opens it again at once"
    now = 10.3
    assert durability.label(2) == "replicas:2"
    for _ in range(2):
        durability.label(0)
    assert durability.wait_command() is not None, "a success starts the count afresh"
