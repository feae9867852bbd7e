"""OpenTelemetry spans of a decision, off by default (extra `otel`)."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from router.errors import RouterError
from router.suggestion import Suggestion


class Tracing:
    """Makes a span per request and one per stage, with the process's tracer provider.

    A span carries the decision and digests, never the user's words.

    Raises:
        RouterError: If opentelemetry-api is not installed.
    """

    def __init__(self) -> None:
        try:
            from opentelemetry import propagate, trace
        except ImportError as error:
            raise RouterError(
                "spans need opentelemetry-api; pip install 'skill-router[otel]'"
            ) from error
        self._trace: Any = trace
        self._propagate: Any = propagate
        self._tracer: Any = trace.get_tracer("skill_router")

    def record(
        self,
        path: str,
        headers: Mapping[str, str],
        started: float,
        suggestion: Suggestion,
        queue_ms: float,
    ) -> None:
        """Report a decision that has just been made.

        Args:
            path: The path that was asked.
            headers: The request's headers; ``traceparent`` makes the span a child of the caller's.
            started: When the request came, seconds since 1970.
            suggestion: The decision.
            queue_ms: Milliseconds it waited before it was worked on.
        """
        trace = self._trace
        span = self._tracer.start_span(
            f"POST {path}",
            context=self._propagate.extract(dict(headers)),
            kind=trace.SpanKind.SERVER,
            start_time=_ns(started),
            attributes=_attributes(path, suggestion),
        )
        inside = trace.set_span_in_context(span)
        end = time.time()
        at = end - (suggestion.elapsed_ms.get("total", 0.0) + queue_ms) / 1000.0
        stages = {"queue": queue_ms, **suggestion.elapsed_ms}
        stages.pop("total", None)
        for stage, ms in stages.items():
            child = self._tracer.start_span(
                f"skill_router.{stage}", context=inside, start_time=_ns(at)
            )
            at += ms / 1000.0
            child.end(end_time=_ns(at))
        if suggestion.reason.value == "router_error":
            span.set_status(trace.StatusCode.ERROR)
        span.end(end_time=_ns(end))


def _attributes(path: str, suggestion: Suggestion) -> dict[str, str | int | float | bool]:
    found: dict[str, str | int | float | bool] = {
        "http.request.method": "POST",
        "http.route": path,
        "skill_router.reason": suggestion.reason.value,
        "skill_router.roster_digest": suggestion.roster_digest,
        "skill_router.weights_digest": suggestion.weights_digest,
        "skill_router.thresholds_digest": suggestion.thresholds_digest,
    }
    if suggestion.name is not None:
        found["skill_router.skill"] = suggestion.name
    if suggestion.gate is not None:
        found["skill_router.need"] = suggestion.gate.need
    return found


def _ns(seconds: float) -> int:
    return int(seconds * 1e9)
