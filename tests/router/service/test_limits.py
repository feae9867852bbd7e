"""Overload, time limits, and leaving in good order."""

from __future__ import annotations

import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from roster import Roster
from router import Router, Suggestion
from tests.router.service.running import Running, running

WAIT = {"request": "wait and mend the torn kite"}


def until(true: object, seconds: float = 10.0) -> None:
    """Wait for a condition (a function without arguments)."""
    end = time.monotonic() + seconds
    while not true():  # type: ignore[operator]
        assert time.monotonic() < end, "it did not come to pass"
        time.sleep(0.01)


def inflight(service: Running) -> int:
    return int(service.get("/healthz").json()["inflight"])


def _taken(service: Running) -> int:
    """How many batches have been begun."""
    metrics = service.get("/metrics").text
    return int(float(metrics.split("skill_router_batch_turns_count ")[1].split()[0]))


def test_overload_is_told_at_once_and_passes(skills: Path) -> None:
    with running(skills, max_inflight=3) as service, ThreadPoolExecutor(3) as crowd:
        held = [crowd.submit(service.post, WAIT) for _ in range(3)]
        until(lambda: inflight(service) == 3)
        started = time.monotonic()
        refused = service.post(WAIT)
        assert time.monotonic() - started < 1.0
        assert refused.status_code == 429 and refused.headers["retry-after"] == "1"
        service.gate.set()
        assert [answer.result().json()["name"] for answer in held] == ["kite-repair"] * 3
        assert service.post(WAIT).status_code == 200


def test_too_many_connections_are_told_at_once(skills: Path) -> None:
    with running(skills, max_connections=4) as service:
        port = int(service.address.rsplit(":", 1)[1])
        held = [socket.create_connection(("127.0.0.1", port)) for _ in range(4)]
        until(lambda: _answer(port).startswith(b"HTTP/1.1 429 "))
        for one in held:
            one.close()
        until(lambda: _answer(port).startswith(b"HTTP/1.1 200 "))


def _answer(port: int) -> bytes:
    with socket.create_connection(("127.0.0.1", port), 5) as one:
        one.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        try:
            return one.recv(65_536)
        except ConnectionResetError:
            return b""


def test_a_late_answer_is_a_refusal_and_the_next_one_is_served(skills: Path) -> None:
    with running(skills, answer_s=0.3, workers=1) as service:
        refused = service.post(WAIT)
        assert refused.status_code == 503 and "0.3 seconds" in refused.json()["detail"]
        service.gate.set()
        until(lambda: inflight(service) == 0)
        assert service.post(WAIT).status_code == 200


def test_who_gave_up_waiting_is_not_routed(skills: Path) -> None:
    with running(skills, answer_s=0.3, workers=1) as service, ThreadPoolExecutor(4) as crowd:
        answers = [crowd.submit(service.post, WAIT)]
        until(lambda: _taken(service) == 1)
        answers += [crowd.submit(service.post, WAIT) for _ in range(3)]
        assert {answer.result().status_code for answer in answers} == {503}
        service.gate.set()
        until(lambda: inflight(service) == 0)
        metrics = service.get("/metrics").text
        assert "skill_router_batch_turns_sum 1.0" in metrics


def test_a_crowd_is_routed_in_batches_and_each_gets_its_own_answer(skills: Path) -> None:
    with running(skills, workers=1) as service, ThreadPoolExecutor(17) as crowd:
        first = crowd.submit(service.post, WAIT)
        until(lambda: _taken(service) == 1)
        asked = ["mend torn kite", "bake sourdough bread"] * 8
        answers = [crowd.submit(service.post, {"request": text}) for text in asked]
        until(lambda: inflight(service) == 17)
        service.gate.set()
        named = [answer.result().json()["name"] for answer in answers]
        assert named == ["kite-repair", "bread-bake"] * 8
        assert first.result().json()["name"] == "kite-repair"
        metrics = service.get("/metrics").text
        assert "skill_router_batch_turns_sum 17.0" in metrics
        assert "skill_router_batch_turns_count 3.0" in metrics  # 1, then 8 and 8


def test_stopping_drains_what_is_in_work(skills: Path) -> None:
    with running(skills) as service, ThreadPoolExecutor(2) as crowd:
        held = [crowd.submit(service.post, WAIT) for _ in range(2)]
        until(lambda: inflight(service) == 2)
        service.server.stop()
        until(lambda: _refuses(service))
        service.gate.set()
        assert [answer.result().json()["name"] for answer in held] == ["kite-repair"] * 2
        service.thread.join(10)
        assert not service.thread.is_alive()


def _refuses(service: Running) -> bool:
    try:
        service.get("/healthz")
    except httpx.ConnectError:
        return True
    return False


def test_what_cannot_be_finished_is_refused_cleanly(skills: Path) -> None:
    answers: list[httpx.Response] = []
    with running(skills, drain_s=1.0) as service:
        asking = threading.Thread(target=lambda: answers.append(service.post({"request": "wait"})))
        asking.start()
        until(lambda: service.get("/healthz").json()["inflight"] == 1)
        service.server.stop()
        asking.join(15)
        service.gate.set()
    (answer,) = answers
    assert answer.status_code == 503
    assert answer.headers["content-type"] == "application/problem+json"
    assert "leaving" in answer.json()["detail"]


def test_it_leaves_when_nobody_asks(skills: Path) -> None:
    with running(skills, idle_s=0.6) as service:
        for _ in range(4):
            time.sleep(0.3)
            assert service.post({"request": "mend kite"}).status_code == 200
        for _ in range(20):  # being watched is no use
            try:
                service.get("/healthz")
            except httpx.TransportError:
                break
            time.sleep(0.1)
        service.thread.join(5)
        assert not service.thread.is_alive()


def test_it_does_not_leave_while_a_request_is_in_work(skills: Path) -> None:
    with running(skills, idle_s=0.2) as service, ThreadPoolExecutor(1) as crowd:
        held = crowd.submit(service.post, WAIT)
        time.sleep(0.8)
        service.gate.set()
        assert held.result().status_code == 200


def test_a_router_that_breaks_costs_no_turn(skills: Path) -> None:
    class Broken(Router):
        def suggest(self, *turn: object, **more: object) -> Suggestion:
            raise RuntimeError("out of order")

    def make(roster: Roster) -> Router:
        return Broken(roster, judge=None)  # type: ignore[arg-type]

    with running(skills, make) as service:
        for _ in range(3):
            answer = service.post({"request": "mend kite"})
            assert answer.status_code == 500 and "out of order" not in answer.text
        assert inflight(service) == 0


def test_a_request_that_is_still_being_sent_is_answered_after_stopping(skills: Path) -> None:
    with running(skills, body_s=5.0) as service:
        body = b'{"request": "mend torn kite"}'
        port = int(service.address.rsplit(":", 1)[1])
        with socket.create_connection(("127.0.0.1", port), 10) as slow:
            slow.sendall(
                b"POST /v1/suggest HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json"
                b"\r\nContent-Length: %d\r\n\r\n" % len(body)
            )
            slow.sendall(body[:5])
            until(lambda: service.get("/healthz").json()["idle_s"] == 0.0)
            stopper = threading.Thread(target=service.server.stop)
            stopper.start()
            until(lambda: _refuses(service))
            slow.sendall(body[5:])
            answer = b""
            while chunk := slow.recv(65_536):
                answer += chunk
            assert b"kite-repair" in answer


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "some.host"])
def test_other_machines_need_a_token(host: str) -> None:
    from router.service.config import ServiceConfig

    with pytest.raises(ValueError, match="token is required"):
        ServiceConfig(host=host, port=1)
    assert ServiceConfig(host=host, port=1, token="x" * 16).token
    assert ServiceConfig(host="127.0.0.1", port=1).token is None
