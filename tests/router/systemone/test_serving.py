"""The router as a System One server, asked by the real TypeSafe client."""

from __future__ import annotations

import asyncio
import gzip
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from backports import zstd
from typesafe_sdk import (
    AsyncTypeSafeClient,
    Choice,
    Noul,
    RetryPolicy,
    Score,
    TypeSafeClient,
    TypeSafeUnprocessableEntityError,
)

from roster import Roster
from router import Router
from router.systemone.protocol import MAX_BODY
from router.systemone.serving import MODEL, SystemOneServer
from tests.router.judges.apis import router_at

GATES = {
    "acts_on_user_system": "Is the assistant asked to act?",
    "would_follow_documented_procedure": "Would an expert follow a procedure?",
    "prose_suffices": "Is prose enough?",
}
ACTION = "Turn the outline in talk.md into a new PowerPoint deck with our template."
SMALL_TALK = ("What is the capital of Peru?", "Hello, how are you?", "Tell me a joke.")


@pytest.fixture(scope="module")
def server(router: Router) -> SystemOneServer:
    return SystemOneServer.of_router(router)


@pytest.fixture(scope="module")
def url(server: SystemOneServer) -> Iterator[str]:
    """A tiny HTTP server around the plain function."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            self._send(
                *(
                    server.answer(
                        body, self.headers.get("content-type"), self.headers.get("content-encoding")
                    )
                    if self.path == "/v1/systemone"
                    else (404, b"{}")
                )
            )

        def do_GET(self) -> None:
            self._send(*(server.models() if self.path == "/v1/models" else (404, b"{}")))

        def _send(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            pass

    running = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=running.serve_forever, args=(0.02,), daemon=True).start()
    yield f"http://127.0.0.1:{running.server_address[1]}"
    running.shutdown()
    running.server_close()


@pytest.fixture(scope="module")
def client(url: str) -> Iterator[TypeSafeClient]:
    policy = RetryPolicy(max_retries=0)
    with TypeSafeClient(api_key="none", base_url=url, retry=policy, timeout=60.0) as made:
        yield made


def wide_questions(criteria: dict[str, str]) -> dict[str, Any]:
    questions: dict[str, Any] = {"which": Choice(instructions="Which one?", criteria=criteria)}
    for key, text in GATES.items():
        questions[f"gate::{key}"] = Noul(instructions=text)
    return questions


def suggest(
    client: TypeSafeClient, roster: Roster, request: str, shortlist: int = 3, width: int = 60
) -> tuple[str | None, dict[str, Any]]:
    """A program written for a System One API: two requests, two thresholds, one name at most."""
    short = {skill.name: skill.description[:width] for skill in roster}
    state = {"request": request, "recent_context": ""}
    wide = client.system_one(state=state, questions=wide_questions(short), model="jev-1.12")
    need = {key: wide.nouls[f"gate::{key}"].noul for key in GATES}
    need["prose_suffices"] = 1.0 - need["prose_suffices"]
    ranked = sorted(wide.choices["which"].probabilities.items(), key=lambda pair: -pair[1])
    seen = {"ranked": ranked, "need": sum(need.values()) / 3, "model": wide.model}
    if seen["need"] < 0.3:
        return None, seen
    names = [name for name, _ in ranked[:shortlist]]
    full = {name: f"{roster[name].description} \u2014 {roster[name].body[:700]}" for name in names}
    questions: dict[str, Any] = {"which": Choice(instructions="Which one?", criteria=full)}
    for name in names:
        questions[f"fits::{name}"] = Noul(
            instructions=f"Does {name} do it? It is described as: {roster[name].description}"
        )
    again = client.system_one(state=state, questions=questions, model="jev-1.12")
    fits = {name: again.nouls[f"fits::{name}"].noul for name in names}
    seen["fits"] = fits
    winner = again.choices["which"].choice
    return (winner if max(fits.values()) >= 0.3 else None), seen


def test_a_program_for_that_api_runs_on_the_local_judge(
    client: TypeSafeClient, bundled: Roster, router: Router
) -> None:
    name, seen = suggest(client, bundled, ACTION)
    assert name == "pptx-author"
    assert seen["model"] == MODEL
    assert len(seen["ranked"]) == len(bundled)
    assert sum(p for _, p in seen["ranked"]) == pytest.approx(1.0, abs=1e-3)
    quiet = [suggest(client, bundled, text)[0] is None for text in SMALL_TALK]
    assert sum(quiet) >= len(quiet) - 1


def test_its_own_roster_is_answered_from_its_index(
    client: TypeSafeClient, bundled: Roster, router: Router
) -> None:
    _, seen = suggest(client, bundled, ACTION)
    local = router.suggest(ACTION)
    assert seen["ranked"][0][0] == local.ranking.entries[0][0]
    assert seen["ranked"][0][1] == pytest.approx(local.ranking.entries[0][1], abs=1e-6)
    assert local.gate is not None
    assert seen["need"] == pytest.approx(local.gate.need, abs=1e-6)


def test_a_roster_it_has_never_seen(client: TypeSafeClient, pair: Roster) -> None:
    request = "Mend the torn sail of my kite and glue its broken spar."
    _, seen = suggest(client, pair, request, shortlist=2)
    assert seen["ranked"][0][0] == "kite-repair"
    assert seen["fits"]["kite-repair"] > seen["fits"]["bread-bake"]


def test_the_same_request_gets_the_same_answer(client: TypeSafeClient, pair: Roster) -> None:
    answers = [suggest(client, pair, "Bake a loaf of sourdough bread.", 2) for _ in range(3)]
    assert answers[0] == answers[1] == answers[2]


def test_the_routers_own_system_one_judge_can_ask_it(url: str, pair: Roster) -> None:
    router = router_at("systemone", url, pair, timeout_s=60.0)
    suggestion = router.suggest("Bake sourdough bread from my starter.")
    assert suggestion.reason.value != "router_error", suggestion.detail
    assert suggestion.ranking.entries[0][0] == "bread-bake"


def test_the_asynchronous_client(url: str, pair: Roster) -> None:
    async def run() -> Any:
        async with AsyncTypeSafeClient(api_key="none", base_url=url, timeout=60.0) as client:
            criteria = {skill.name: skill.description for skill in pair}
            return await client.system_one(
                state="Bake bread.", questions=wide_questions(criteria), model="any"
            )

    assert asyncio.run(run()).choices["which"].choice == "bread-bake"


def test_the_models_are_listed(client: TypeSafeClient) -> None:
    assert [model.name for model in client.models.list().models] == [MODEL]


def test_the_three_gate_questions_alone(client: TypeSafeClient) -> None:
    questions = {name: q for name, q in wide_questions({"a": "b"}).items() if name != "which"}
    answers = client.system_one(state={"request": ACTION}, questions=questions, model="any")
    assert set(answers.nouls) == set(questions)


def test_recent_context_is_read(client: TypeSafeClient, pair: Roster) -> None:
    criteria = {skill.name: skill.description for skill in pair}

    def kite(context: Any) -> float:
        state = {"request": "do it again", "recent_context": context}
        answer = client.system_one(state=state, questions=wide_questions(criteria), model="any")
        return float(answer.choices["which"].probabilities["kite-repair"])

    assert kite(["my kite has a torn sail", "kite mended"]) > kite("my bread starter is ready")


def refused(client: TypeSafeClient, questions: dict[str, Any], state: Any = "Bake bread.") -> str:
    with pytest.raises(TypeSafeUnprocessableEntityError) as raised:
        client.system_one(state=state, questions=questions, model="any")
    assert isinstance(raised.value.body["detail"], list)
    return str(raised.value)


PAIR = {"bread-bake": "Bake bread.", "kite-repair": "Mend kites."}


@pytest.mark.parametrize(
    ("questions", "fault"),
    [
        ({"urgency": Score(criteria=["low", "high"])}, "'score' are not answered"),
        ({"spam": Noul(instructions="Is it spam?")}, "only the questions gate::"),
        ({"gate::other": Noul(instructions="Is it?")}, "only the questions gate::"),
        (
            {"which": Choice(criteria=PAIR), "fits::other": Noul(instructions="?")},
            "no label of the choice",
        ),
        ({"fits::bread-bake": Noul(instructions="?")}, "no label of the choice"),
        ({"a": Choice(criteria=PAIR), "b": Choice(criteria=PAIR)}, "one choice"),
        ({"which": Choice(criteria={"not a name": "x"})}, "not the name of a skill"),
        ({"which": Choice(criteria={"</x>": "x"})}, "not the name of a skill"),
        ({"which": Choice(criteria={"a": {"text": "x"}})}, "must be a text"),
        ({"which": Choice(criteria={f"s{i}": "x" for i in range(256)})}, "at most 255"),
    ],
)
def test_questions_it_cannot_answer_get_the_apis_error_form(
    client: TypeSafeClient, questions: dict[str, Any], fault: str
) -> None:
    assert fault in refused(client, questions)


@pytest.mark.parametrize("state", [{}, {"request": 5}, [], {"recent_context": "x"}])
def test_a_state_without_a_request_is_refused(client: TypeSafeClient, state: Any) -> None:
    questions = {"which": Choice(criteria=PAIR)}
    assert "state.request" in refused(client, questions, state)


BODY = {
    "model": "any",
    "state": "Bake bread.",
    "questions": {"which": {"type": "choice", "criteria": PAIR}},
}


@pytest.mark.parametrize(
    ("body", "content_type", "encoding", "status"),
    [
        (b"", None, None, 422),
        (b"no json", None, None, 422),
        (b"[]", None, None, 422),
        (b'{"model": 1, "model": 2}', None, None, 422),
        (b"\xff\xfe", None, None, 422),
        (b"[" * 200_000, None, None, 422),
        (json.dumps({**BODY, "questions": {}}).encode(), None, None, 422),
        (json.dumps({**BODY, "assets": {"a": {}}}).encode(), None, None, 422),
        (json.dumps({**BODY, "questions": {"a": {"type": 5}}}).encode(), None, None, 422),
        (json.dumps({k: v for k, v in BODY.items() if k != "model"}).encode(), None, None, 422),
        (b" " * (MAX_BODY + 1), None, None, 413),
        (gzip.compress(b" " * (MAX_BODY + 1)), None, "gzip", 413),
        (zstd.compress(b" " * (MAX_BODY + 1)), None, "zstd", 413),
        (b"not compressed", None, "gzip", 422),
        (b"not compressed", None, "zstd", 422),
        (b"x", None, "br", 415),
        (b"x", "multipart/form-data; boundary=x", None, 415),
    ],
)
def test_bodies_that_are_wrong(
    server: SystemOneServer,
    body: bytes,
    content_type: str | None,
    encoding: str | None,
    status: int,
) -> None:
    got, answer = server.answer(body, content_type, encoding)
    assert got == status
    detail = json.loads(answer)["detail"]
    assert detail[0]["loc"][0] == "body"
    assert detail[0]["msg"] and detail[0]["type"]


@pytest.mark.parametrize("encoding", [None, "gzip", "zstd"])
def test_bodies_may_be_compressed(server: SystemOneServer, encoding: str | None) -> None:
    body = json.dumps(BODY).encode()
    packed = {None: body, "gzip": gzip.compress(body), "zstd": zstd.compress(body)}[encoding]
    status, answer = server.answer(packed, "application/json", encoding)
    assert status == 200
    assert json.loads(answer)["answers"]["which"]["choice"] == "bread-bake"


def test_descriptions_may_be_missing(server: SystemOneServer) -> None:
    body = {**BODY, "questions": {"which": {"type": "choice", "criteria": dict.fromkeys(PAIR)}}}
    status, answer = server.answer(json.dumps(body).encode())
    assert status == 200
    assert set(json.loads(answer)["answers"]["which"]["probabilities"]) == set(PAIR)
