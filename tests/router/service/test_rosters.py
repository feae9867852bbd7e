"""Rosters that change on disk, and many rosters in one service."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from roster import Roster
from roster.layers import Layer
from router import Router, Thresholds
from tests.router.service.running import Running, WordJudge, running, write_skill
from tests.router.service.test_limits import until

KITE = {"request": "mend the torn kite"}


@pytest.fixture
def watching(skills: Path) -> Iterator[Running]:
    with running(skills, watch_s=0.05, allowed_roots=(skills.parent,), max_rosters=3) as service:
        service.post(KITE)
        yield service


def roster(service: Running) -> dict[str, Any]:
    found: dict[str, Any] = service.get("/healthz").json()["rosters"][0]
    return found


def test_a_new_skill_is_suggested_soon(watching: Running, skills: Path) -> None:
    before = roster(watching)["digest"]
    write_skill(skills, "sail-sew", "Sew a new sail from ripstop nylon.")
    until(lambda: watching.post({"request": "sew ripstop nylon"}).json()["name"] == "sail-sew")
    now = roster(watching)
    assert (now["skills"], now["swaps"], now["state"]) == (3, 1, "ready")
    assert now["digest"] != before
    assert 'roster_changes_total{outcome="swapped"} 1.0' in watching.get("/metrics").text


def test_a_deleted_skill_is_suggested_no_more(watching: Running, skills: Path) -> None:
    shutil.rmtree(skills / "kite-repair")
    until(lambda: watching.post(KITE).json()["name"] is None)
    assert watching.get("/healthz").json()["status"] == "ok"


@pytest.mark.parametrize(
    "broken",
    [
        b"",
        b"\x00\x01\x02\xff\xfe" * 100,
        b"---\nname: kite-repair\ndescription: [never closed\n---\nDo it.\n",
        b"---\nname: kite-repair\ndescription: Mend torn kite sails.\nDo it, but unclosed.\n",
        b"Only some words.\n",
    ],
)
def test_a_broken_edit_keeps_the_old_roster_until_it_is_mended(
    watching: Running, skills: Path, broken: bytes
) -> None:
    file = skills / "kite-repair" / "SKILL.md"
    good = file.read_bytes()
    before = roster(watching)
    file.write_bytes(broken)
    until(lambda: watching.get("/healthz").json()["status"] == "degraded")
    now = roster(watching)
    assert now["state"] == "stale" and str(file) in now["problem"]
    assert now["digest"] == before["digest"]
    assert watching.post(KITE).json()["name"] == "kite-repair"
    file.write_bytes(good.replace(b"torn", b"ripped"))
    until(lambda: watching.get("/healthz").json()["status"] == "ok")
    assert watching.post({"request": "ripped kite"}).json()["name"] == "kite-repair"


def test_taking_a_broken_edit_back_makes_it_well(watching: Running, skills: Path) -> None:
    (skills / "kite-repair").rename(skills.parent / "aside")
    (skills / "bread-bake").rename(skills.parent / "aside-too")
    until(lambda: watching.get("/healthz").json()["status"] == "degraded")
    assert watching.post(KITE).json()["name"] == "kite-repair"
    (skills.parent / "aside").rename(skills / "kite-repair")
    until(lambda: watching.get("/healthz").json()["status"] == "ok")


def test_a_folder_that_is_replaced_is_still_watched(watching: Running, skills: Path) -> None:
    skills.rename(skills.parent / "old")
    write_skill(skills, "sail-sew", "Sew a new sail from ripstop nylon.")
    until(lambda: watching.post({"request": "sew ripstop nylon"}).json()["name"] == "sail-sew")


def test_no_request_sees_half_a_roster(watching: Running, skills: Path) -> None:
    """While the two skills change places again and again, one of the pairs is always whole."""
    stop = threading.Event()

    def edit() -> None:
        for turn in range(1_000):
            if stop.is_set():
                return
            for name in ("kite-repair", "bread-bake"):
                write_skill(skills, name, f"Common words {turn}.")

    editor = threading.Thread(target=edit)
    editor.start()
    try:
        for _ in range(60):
            body = {"request": "common words", "full": True}
            record = watching.post(body).json()
            assert sorted(name for name, _ in record["ranking"]) == ["bread-bake", "kite-repair"]
    finally:
        stop.set()
        editor.join()


def test_the_roster_that_was_asked_for_longest_ago_goes(watching: Running, skills: Path) -> None:
    folders = [skills.parent / f"roster-{n}" for n in range(5)]
    for n, folder in enumerate(folders):
        write_skill(folder, f"skill-{n}", "Mend torn kite sails.")
        named = watching.post({**KITE, "roster": [str(folder)]}).json()["name"]
        assert named == f"skill-{n}"
    kept = [entry["paths"] for entry in watching.get("/healthz").json()["rosters"]]
    assert kept == [[str(folder)] for folder in folders[2:]]
    assert watching.post(KITE).json()["name"] == "kite-repair"
    assert 'roster_changes_total{outcome="evicted"} 4.0' in watching.get("/metrics").text


def test_a_roster_that_cannot_be_read_is_refused_and_asked_for_again(
    watching: Running, skills: Path
) -> None:
    empty = skills.parent / "empty"
    assert watching.post({**KITE, "roster": [str(empty)]}).status_code == 404
    empty.mkdir()
    assert watching.post({**KITE, "roster": [str(empty)]}).json()["reason"] == "fits"
    write_skill(empty, "kite-mend", "Mend torn kite sails.")
    until(lambda: watching.post({**KITE, "roster": [str(empty)]}).json()["name"] == "kite-mend")


def test_a_client_need_not_wait_for_a_roster_that_is_being_indexed(skills: Path) -> None:
    ready = threading.Event()

    def slow(roster: Roster) -> Router:
        ready.wait(20)
        return Router(roster, WordJudge(threading.Event()), Thresholds())

    with running(skills, make=slow) as service:
        answer = service.post({**KITE, "roster_wait_s": 0.05})
        assert answer.status_code == 503 and "being indexed" in answer.json()["detail"]
        ready.set()
        assert service.post({**KITE, "roster_wait_s": 20}).json()["name"] == "kite-repair"


def test_skills_of_a_plugin_bear_its_name(skills: Path) -> None:
    folder = {"path": str(skills), "prefix": "club"}
    with running(skills, allowed_roots=(skills.parent,)) as service:
        answer = service.post({**KITE, "roster": [folder]}).json()
        assert answer["name"] == "club:kite-repair" and "club:kite-repair" in answer["block"]
        both = service.post({**KITE, "roster": [str(skills), folder], "full": True}).json()
        assert {name for name, _ in both["ranking"]} >= {"kite-repair", "club:kite-repair"}
        wrong = service.post({**KITE, "roster": [{**folder, "prefix": 7}]})
        assert wrong.status_code == 422


def test_a_roster_can_be_made_ready_before_anybody_asks(skills: Path) -> None:
    with running(skills, warm=(Layer(str(skills), "club"),)) as service:
        until(lambda: [r["state"] for r in service.get("/healthz").json()["rosters"]] == ["ready"])


def test_a_file_in_the_making_is_not_read_by_half(skills: Path) -> None:
    file = skills / "kite-repair" / "SKILL.md"
    whole = file.read_bytes().replace(b"Do it.", b"Do it. " * 50)
    file.write_bytes(whole[: len(whole) // 2])

    def finish() -> None:
        time.sleep(0.15)
        file.write_bytes(whole)

    writer = threading.Thread(target=finish)
    with running(skills) as service:
        writer.start()
        answer = service.post(KITE).json()
        writer.join()
        assert answer["roster_digest"] == Roster.from_directory(skills).digest


def test_a_folder_that_never_rests_is_served_all_the_same(skills: Path) -> None:
    stop = threading.Event()

    def keep_writing() -> None:
        while not stop.wait(0.02):
            write_skill(skills, "kite-repair", f"Mend torn kite sails, {time.monotonic()}.")

    writer = threading.Thread(target=keep_writing)
    writer.start()
    try:
        with running(skills) as service:
            assert service.post(KITE).json()["name"] == "kite-repair"
    finally:
        stop.set()
        writer.join()


def test_a_slow_index_does_not_make_the_next_look_late(skills: Path) -> None:
    def slow(roster: Roster) -> Router:
        time.sleep(0.6)
        return Router(roster, WordJudge(threading.Event()), Thresholds())

    with running(skills, slow, watch_s=0.05) as service:
        service.post(KITE)
        for number in range(2):
            write_skill(skills, f"sail-{number}", "Sew a new sail from ripstop nylon.")
            began = time.monotonic()
            until(lambda: roster(service)["skills"] == 3 + number)  # noqa: B023
            # Twenty times the 0.6 s of the index would be 12 s.
            assert time.monotonic() - began < 6.0
