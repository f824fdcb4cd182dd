"""Metrics: what is counted is what is shown, in a registry of its own, with labels nobody outside can add to."""

from __future__ import annotations

import prometheus_client
import pytest
from prometheus_client.parser import text_string_to_metric_families

from server.metrics import CONTENT_TYPE, OTHER, Metrics


def samples(metrics: Metrics) -> dict[tuple[str, str], float]:
    """Every sample by name and its label values joined, read back by a parser of the format."""
    families = text_string_to_metric_families(metrics.render().decode())
    return {(sample.name, ",".join(sample.labels.values())): sample.value for family in families for sample in family.samples}


@pytest.fixture
def metrics() -> Metrics:
    return Metrics(["not_your_turn", "busy"])


def test_actions_are_counted_by_outcome(metrics: Metrics):
    for code in ("ok", "ok", "again", "busy"):
        metrics.action(code)
    shown = samples(metrics)
    counts = {code: shown["dustup_actions_total", code] for code in ("ok", "again", "busy", "not_your_turn")}
    assert counts == {"ok": 2, "again": 1, "busy": 1, "not_your_turn": 0}


def test_a_code_nobody_announced_makes_no_series(metrics: Metrics):
    before = samples(metrics).keys()
    for n in range(100):
        metrics.action(f"invented{n}")
    after = samples(metrics)
    assert after.keys() == before
    assert after["dustup_actions_total", OTHER] == 100


def test_everything_counted_is_shown(metrics: Metrics):
    plain = ["commits", "conflicts", "duplicates", "forks", "bytes_out", "slow_closed", "engine_errors", "rate_limited"]
    for n, name in enumerate(plain, 1):
        getattr(metrics, name).inc(n)
    metrics.frames.inc(20)
    metrics.deadlines.inc(30)
    metrics.resume("full")
    metrics.resume("ring")
    metrics.resume("ring")
    metrics.store_error("unavailable")
    shown = samples(metrics)
    for n, name in enumerate(plain, 1):
        assert shown[f"dustup_{name}_total", ""] == n
    assert shown["dustup_frames_sent_total", ""] == 20
    assert shown["dustup_deadlines_fired_total", ""] == 30
    assert (shown["dustup_resumes_total", "full"], shown["dustup_resumes_total", "ring"]) == (1, 2)
    assert (shown["dustup_store_errors_total", "unavailable"], shown["dustup_store_errors_total", "read_only"]) == (1, 0)


def test_gauges_go_up_and_down(metrics: Metrics):
    metrics.connections.inc()
    metrics.connections.inc()
    metrics.connections.dec()
    metrics.live_sessions.set(7)
    shown = samples(metrics)
    assert (shown["dustup_connections", ""], shown["dustup_live_sessions", ""]) == (1, 7)


def test_histograms_sort_what_they_see_into_buckets(metrics: Metrics):
    for seconds in (0.0004, 0.003, 60):
        metrics.commit_seconds.observe(seconds)
    metrics.fanout_seconds.observe(0.1)
    metrics.commit_batch.observe(3)
    shown = samples(metrics)
    assert shown["dustup_commit_seconds_bucket", "0.0005"] == 1
    assert shown["dustup_commit_seconds_bucket", "0.005"] == 2
    assert shown["dustup_commit_seconds_bucket", "5.0"] == 2
    assert shown["dustup_commit_seconds_bucket", "+Inf"] == 3
    assert shown["dustup_fanout_seconds_count", ""] == 1
    assert shown["dustup_commit_batch_bucket", "4.0"] == 1


def test_two_servers_in_one_process_do_not_mix_and_the_shared_registry_stays_empty_of_ours(metrics: Metrics):
    other = Metrics(["busy"])
    metrics.commits.inc()
    assert samples(metrics)["dustup_commits_total", ""] == 1
    assert samples(other)["dustup_commits_total", ""] == 0
    assert b"dustup_" not in prometheus_client.generate_latest()


def test_the_content_type_is_the_formats(metrics: Metrics):
    assert CONTENT_TYPE.startswith("text/plain; version=")
    assert b"# TYPE dustup_commits_total counter" in metrics.render()


def test_the_number_of_series_is_small_enough_to_keep(metrics: Metrics):
    ours = [name for name, _ in samples(metrics) if name.startswith("dustup_")]
    assert len(ours) < 150
