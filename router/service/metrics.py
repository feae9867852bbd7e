"""What ``/metrics`` counts."""

from __future__ import annotations

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    generate_latest,
)

from router.suggestion import Suggestion

_SECONDS = (0.005, 0.01, 0.02, 0.04, 0.08, 0.15, 0.3, 0.6, 1.2, 2.5, 5.0, 10.0)


class Metrics:
    """The counters of one service, in a registry of their own."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        self._suggestions = Counter(
            "skill_router_suggestions",
            "Decisions, by reason",
            ["reason"],
            registry=self._registry,
        )
        self._requests = Counter(
            "skill_router_http_requests",
            "HTTP requests, by path and status",
            ["path", "status"],
            registry=self._registry,
        )
        self._seconds = Histogram(
            "skill_router_http_request_seconds",
            "From the head of a request to the end of its answer, by path",
            ["path"],
            buckets=_SECONDS,
            registry=self._registry,
        )
        self._stages = Histogram(
            "skill_router_stage_seconds",
            "Time per stage of a decision",
            ["stage"],
            buckets=_SECONDS,
            registry=self._registry,
        )
        self._batches = Histogram(
            "skill_router_batch_turns",
            "Turns that one thread took at a time",
            buckets=(1, 2, 3, 4, 6, 8, 16, 32),
            registry=self._registry,
        )
        self._swaps = Counter(
            "skill_router_roster_changes",
            "Rosters swapped in, refused or evicted",
            ["outcome"],
            registry=self._registry,
        )
        self._unlogged = Counter(
            "skill_router_decisions_not_logged",
            "Decisions that could not be written to the decision log",
            registry=self._registry,
        )
        self._inflight = Gauge(
            "skill_router_inflight", "Suggestions waiting or in work", registry=self._registry
        )
        self._rosters = Gauge("skill_router_rosters", "Rosters kept ready", registry=self._registry)

    def request(self, path: str, status: int, seconds: float) -> None:
        """Count an answered HTTP request."""
        self._requests.labels(path, str(status)).inc()
        self._seconds.labels(path).observe(seconds)

    def suggestion(self, suggestion: Suggestion, queue_ms: float) -> None:
        """Count a decision and the time of its stages."""
        self._suggestions.labels(suggestion.reason.value).inc()
        for stage, ms in {"queue": queue_ms, **suggestion.elapsed_ms}.items():
            self._stages.labels(stage).observe(ms / 1000.0)

    def batch(self, size: int) -> None:
        """Count a batch."""
        self._batches.observe(size)

    def swap(self, outcome: str) -> None:
        """Count a change of the rosters."""
        self._swaps.labels(outcome).inc()

    def unlogged(self) -> None:
        """Count a decision that the log did not take."""
        self._unlogged.inc()

    def text(self, inflight: int, rosters: int) -> bytes:
        """Everything in Prometheus' text format."""
        self._inflight.set(inflight)
        self._rosters.set(rosters)
        return generate_latest(self._registry)
