"""The decision log and the spans: off by default, and what they hold."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from router import RouterError
from router.service.config import DecisionLogConfig
from router.service.decisions import DecisionLog
from router.service.tracing import Tracing
from tests.router.service.running import running

KITE = "mend the torn kite, says \u00dcnal"


def decisions(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("kept", ["text", "hash", "none"])
def test_requests_are_kept_as_configured(skills: Path, tmp_path: Path, kept: str) -> None:
    path = tmp_path / "decisions.jsonl"
    config = DecisionLogConfig(path=path, requests=kept)  # type: ignore[arg-type]
    with running(skills, log=config) as service:
        service.post({"request": KITE, "session": "s-1"})
        service.post({"request": "bake sourdough bread"})
    first, second = decisions(path)
    assert (first["name"], first["reason"], first["session"]) == ("kite-repair", "suggested", "s-1")
    assert second["name"] == "bread-bake" and second["session"] is None
    assert first["fits"]["kite-repair"] == 1.0 and first["roster"] == second["roster"]
    assert path.stat().st_mode & 0o777 == 0o600
    digest = hashlib.sha256(KITE.encode()).hexdigest()
    expected = {"text": {"request": KITE}, "hash": {"request_sha256": digest}, "none": {}}[kept]
    assert {key: first[key] for key in first if key.startswith("request")} == expected
    assert ("torn" in path.read_text(encoding="utf-8")) is (kept == "text")


def test_the_default_is_a_hash(tmp_path: Path) -> None:
    assert DecisionLogConfig(path=tmp_path / "d").requests == "hash"


def test_the_log_rotates_and_old_files_go(skills: Path, tmp_path: Path) -> None:
    path = tmp_path / "decisions.jsonl"
    config = DecisionLogConfig(path=path, max_bytes=2_000, keep=2)
    with running(skills, log=config) as service, service.client() as client:
        for _ in range(40):
            client.post("/v1/suggest", json={"request": KITE})
    files = sorted(tmp_path.glob("decisions.jsonl*"))
    assert [file.name for file in files] == [
        "decisions.jsonl",
        "decisions.jsonl.1",
        "decisions.jsonl.2",
    ]
    for file in files:
        assert file.stat().st_size <= 2_000 and file.stat().st_mode & 0o777 == 0o600
        assert all(entry["name"] == "kite-repair" for entry in decisions(file))


def test_a_log_that_cannot_be_opened_is_said_at_once(tmp_path: Path) -> None:
    with pytest.raises(RouterError, match="decision log cannot be opened"):
        DecisionLog(DecisionLogConfig(path=tmp_path / "no" / "log"), lambda: None)


def test_a_full_disk_is_counted_and_costs_no_turn(skills: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("needs /dev/full")
    with running(skills, log=DecisionLogConfig(path=Path("/dev/full"))) as service:
        assert service.post({"request": KITE}).json()["name"] == "kite-repair"
        text = ""
        for _ in range(50):
            text = service.get("/metrics").text
            if "decisions_not_logged_total 1.0" in text:
                break
        assert "decisions_not_logged_total 1.0" in text


def test_spans_tell_the_decision_and_never_the_words(
    skills: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    monkeypatch.setattr(trace, "get_tracer", lambda name: provider.get_tracer(name))
    caller = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    with (
        running(skills, tracing=Tracing()) as service,
        service.client(headers={"traceparent": caller}) as client,
    ):
        client.post("/v1/suggest", json={"request": KITE})
    spans = {span.name: span for span in kept.get_finished_spans()}
    assert set(spans) == {
        "POST /v1/suggest",
        "skill_router.queue",
        "skill_router.rank",
        "skill_router.reread",
    }
    request = spans["POST /v1/suggest"]
    assert f"{request.context.trace_id:032x}" == caller.split("-")[1]
    assert request.parent is not None and f"{request.parent.span_id:016x}" == caller.split("-")[2]
    attributes = dict(request.attributes or {})
    assert attributes["skill_router.skill"] == "kite-repair"
    assert attributes["skill_router.reason"] == "suggested"
    rank, reread = spans["skill_router.rank"], spans["skill_router.reread"]
    assert rank.parent is not None and rank.parent.span_id == request.context.span_id
    assert rank.end_time is not None and reread.start_time is not None
    assert request.end_time is not None and reread.end_time is not None
    assert rank.end_time <= reread.start_time and reread.end_time <= request.end_time
    assert "torn" not in "".join(span.to_json() for span in spans.values())
