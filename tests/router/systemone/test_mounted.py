"""The paths of the API inside the service."""

from __future__ import annotations

import json

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from router import Router
from router.service.config import ServiceConfig
from router.service.problems import Refusal
from router.service.system_one import system_one_routes
from router.systemone.serving import MODEL, SystemOneServer

CRITERIA = {"bread-bake": "Bake bread.", "kite-repair": "Mend kites."}
BODY = {
    "model": "any",
    "state": {"request": "Bake a loaf of bread."},
    "questions": {"which": {"type": "choice", "criteria": CRITERIA}},
}


@pytest.fixture(scope="module")
def client(router: Router) -> TestClient:
    routes = system_one_routes(
        SystemOneServer.of_router(router), ServiceConfig(port=0, max_body=4096)
    )

    async def refused(request: object, error: Exception) -> object:
        assert isinstance(error, Refusal)
        return error.response()

    return TestClient(Starlette(routes=routes, exception_handlers={Refusal: refused}))  # type: ignore[dict-item]


def test_answers_and_errors_pass_through(client: TestClient) -> None:
    answer = client.post("/v1/systemone", json=BODY)
    assert answer.status_code == 200
    assert answer.json()["answers"]["which"]["choice"] == "bread-bake"
    wrong = client.post("/v1/systemone", json={**BODY, "questions": {}})
    assert wrong.status_code == 422
    assert wrong.json()["detail"][0]["loc"] == ["body", "questions"]


def test_the_models(client: TestClient) -> None:
    assert client.get("/v1/models").json()["models"][0]["name"] == MODEL


def test_the_limits_of_the_service_hold(client: TestClient) -> None:
    long = json.dumps({**BODY, "state": "x" * 5000})
    headers = {"content-type": "application/json"}
    assert client.post("/v1/systemone", content=long, headers=headers).status_code == 413
    assert client.post("/v1/systemone", content="{}").status_code == 415
