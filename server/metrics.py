"""What the server counts, for Prometheus.

One registry per `Metrics`, never the process-wide one, so that two servers in one process (tests, a demo) do not mix. Every labelled
child is resolved when the object is made: counting on the hot path is one dictionary look-up and one addition. Labels take their values
from fixed lists, so no client can make series.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

CONTENT_TYPE: Final = CONTENT_TYPE_LATEST
OTHER: Final = "other"

Resume = Literal["full", "ring"]
StoreError = Literal["unavailable", "read_only"]

_SECONDS: Final = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
_BATCH: Final = (1, 2, 4, 8, 16, 32, 64, 128, 256)


class Metrics:
    """The counters, gauges and histograms of one server.

    `codes`: every error code of the protocol; an action that ends with another one counts as OTHER. Unlabelled ones are attributes to
    be used as they are (`metrics.commits.inc()`, `metrics.connections.dec()`, `metrics.commit_seconds.observe(seconds)`); labelled
    ones have a method each.
    """

    def __init__(self, codes: Iterable[str]) -> None:
        registry = CollectorRegistry()
        self._registry = registry
        ProcessCollector(registry=registry)

        actions = Counter("dustup_actions", "Commands answered, by outcome: ok, again, or an error code.", ["code"], registry=registry)
        self._actions = {code: actions.labels(code) for code in ("ok", "again", *codes, OTHER)}
        self._other_action = self._actions[OTHER]

        resumes = Counter(
            "dustup_resumes", "Joins of returning clients: ring (missed frames sent) or full (a whole view).", ["kind"], registry=registry
        )
        self._resumes = {kind: resumes.labels(kind) for kind in ("full", "ring")}

        store_errors = Counter("dustup_store_errors", "Calls the store did not carry out, by reason.", ["reason"], registry=registry)
        self._store_errors = {reason: store_errors.labels(reason) for reason in ("unavailable", "read_only")}

        def counter(name: str, text: str) -> Counter:
            return Counter(name, text, registry=registry)

        self.commits = counter("dustup_commits", "Entries committed to the log.")
        self.conflicts = counter("dustup_conflicts", "Commits refused because another node had been faster.")
        self.duplicates = counter("dustup_duplicates", "Commits refused because the action had been done before.")
        self.forks = counter("dustup_forks", "Times a session's log was found to have lost acknowledged entries.")
        self.frames = counter("dustup_frames_sent", "Messages sent to clients.")
        self.bytes_out = counter("dustup_bytes_out", "Bytes sent to clients.")
        self.slow_closed = counter("dustup_slow_closed", "Connections closed because they did not read fast enough.")
        self.deadlines = counter("dustup_deadlines_fired", "Deadlines that came and were acted upon.")
        self.engine_errors = counter("dustup_engine_errors", "Commands refused because the rules failed; each one is a bug.")
        self.rate_limited = counter("dustup_rate_limited", "Messages refused because someone sent too many.")

        self.connections = Gauge("dustup_connections", "Open connections.", registry=registry)
        self.live_sessions = Gauge("dustup_live_sessions", "Sessions held in memory.", registry=registry)

        self.commit_seconds = Histogram(
            "dustup_commit_seconds", "From handing a commit to the store until its answer.", buckets=_SECONDS, registry=registry
        )
        self.fanout_seconds = Histogram(
            "dustup_fanout_seconds", "From a commit's answer until its last frame is queued.", buckets=_SECONDS, registry=registry
        )
        self.commit_batch = Histogram("dustup_commit_batch", "Commits that travelled together.", buckets=_BATCH, registry=registry)

    def action(self, code: str) -> None:
        """Count one answered command: "ok", "again" (done before), or its error code."""
        self._actions.get(code, self._other_action).inc()

    def resume(self, kind: Resume) -> None:
        """Count one resumed join, by how the client caught up."""
        self._resumes[kind].inc()

    def store_error(self, reason: StoreError) -> None:
        """Count one call that the store refused or did not answer."""
        self._store_errors[reason].inc()

    def render(self) -> bytes:
        """Everything in Prometheus' text exposition format; serve it as CONTENT_TYPE."""
        return generate_latest(self._registry)
