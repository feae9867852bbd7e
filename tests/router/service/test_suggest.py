"""What the service answers."""

from __future__ import annotations

from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from openapi_spec_validator import validate
from prometheus_client.parser import text_string_to_metric_families

from router import suggestion_block
from tests.router.service.running import Running, running, write_skill

KITE = "mend the torn kite"


def test_the_fitting_skill_comes_with_its_block(service: Running) -> None:
    answer = service.post({"request": KITE})
    assert answer.status_code == 200
    record = answer.json()
    assert (record["name"], record["reason"]) == ("kite-repair", "suggested")
    assert record["block"] == suggestion_block("kite-repair")
    assert record["fits"]["kite-repair"] == 1.0
    assert record["elapsed_ms"].keys() == {"queue", "rank", "reread", "total"}


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"request": "what is the capital of peru"}, "fits"),
        ({"request": ""}, "gate"),
        ({"request": KITE, "loaded": ["kite-repair"]}, "already_loaded"),
        ({"request": "bake sourdough bread", "allowed_tools": ["kettle"]}, "ineligible"),
    ],
)
def test_silence_says_why(service: Running, more: dict[str, object], reason: str) -> None:
    record = service.post(more).json()
    assert (record["name"], record["reason"]) == (None, reason)


def test_all_that_led_to_it_on_request(service: Running) -> None:
    record = service.post({"request": KITE, "full": True}).json()
    assert record["gate"]["need"] == pytest.approx(0.9)
    assert [name for name, _ in record["ranking"]] == ["kite-repair", "bread-bake"]
    assert record["roster_digest"]


def test_folders_of_the_request_are_searched_the_nearest_first(
    service: Running, skills: Path
) -> None:
    near, far = skills.parent / "near", skills.parent / "far"
    write_skill(near, "deploy", "Ship the near thing.")
    write_skill(far, "deploy", "Ship the far thing.")
    write_skill(far, "rollback", "Undo a far release.")
    body = {"request": "ship the near thing", "roster": [str(near), str(far)], "full": True}
    assert service.post(body).json()["name"] == "deploy"
    assert service.post({**body, "request": "ship the far thing"}).json()["reread"]["fits"] == {
        "deploy": 1.0,
        "rollback": 0.5,
    }
    assert service.post({**body, "request": "undo a far release"}).json()["name"] == "rollback"
    assert service.post({"request": KITE}).json()["name"] == "kite-repair"


def test_health_tells_the_rosters(service: Running, skills: Path) -> None:
    service.post({"request": KITE})
    health = service.get("/healthz").json()
    assert health["status"] == "ok"
    (roster,) = health["rosters"]
    assert roster["paths"] == [str(skills)] and roster["skills"] == 2
    assert roster["state"] == "ready" and roster["problem"] is None


def test_metrics_are_prometheus_text(service: Running) -> None:
    service.post({"request": KITE})
    service.post({"request": "what is the capital of peru"})
    service.get("/no/such/path")
    answer = service.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    samples = {
        (sample.name, *sorted(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }
    assert samples["skill_router_suggestions_total", "suggested"] == 1
    assert samples["skill_router_suggestions_total", "fits"] == 1
    assert samples["skill_router_http_requests_total", "/v1/suggest", "200"] == 2
    assert samples["skill_router_http_requests_total", "404", "other"] == 1
    assert samples["skill_router_stage_seconds_count", "rank"] == 2
    assert samples["skill_router_batch_turns_sum",] == 2
    assert samples["process_resident_memory_bytes",] > 1e6


def test_the_openapi_document_is_valid_and_true(service: Running) -> None:
    document = service.get("/openapi.json").json()
    validate(document)
    answered = Draft202012Validator({**document, "$ref": "#/components/schemas/SuggestAnswer"})
    answered.validate(service.post({"request": KITE}).json())
    problem = Draft202012Validator({**document, "$ref": "#/components/schemas/Problem"})
    refused = service.post({"reqest": KITE})
    problem.validate(refused.json())
    assert str(refused.status_code) in document["paths"]["/v1/suggest"]["post"]["responses"]


def test_both_addresses_at_once(skills: Path, short: Path) -> None:
    with running(skills, socket=short / "s", port=0) as service:
        assert len(service.server.addresses) == 2
        for address in service.server.addresses:
            service.address = address
            assert service.post({"request": KITE}).json()["name"] == "kite-repair"
