"""Staging, evaluated activation, rollback: what switches, and what leaves everything as it was."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from roster.store import (
    ActivationRefusedError,
    Evaluation,
    SkillVersion,
    Snapshot,
    StageRefusedError,
    Staging,
    Store,
    StoreError,
    UnknownVersionError,
    diff_versions,
    read_source,
    skill_items,
)

WriteToml = Callable[..., Path]


def passing(candidate: SkillVersion, baseline: Snapshot) -> dict[str, bool]:
    return {"opening": True}


def activate(store: Store, name: str, version: str, evaluate: Any = passing) -> Evaluation:
    return store.skills.activate(name, version, evaluate=evaluate, required={"opening"})


def active(store: Store) -> list[tuple[str, str]]:
    return [(skill.name, skill.version) for skill in store.snapshot().skills]


def test_staging_again_is_harmless_and_other_content_is_refused(
    store: Store, write_toml: WriteToml
) -> None:
    path = write_toml()
    first = read_source(path)
    assert store.skills.stage(first) is True
    assert store.skills.stage(read_source(path)) is False
    path.write_text(path.read_text() + "# a comment\n")
    commented = read_source(path)
    assert commented.record.digest == first.record.digest
    assert commented.source_sha256 != first.source_sha256
    assert store.skills.stage(commented) is False
    assert store.skills.row("opening", "1").source_sha256 == first.source_sha256
    with pytest.raises(StageRefusedError, match="staged already with other content"):
        store.skills.stage(read_source(write_toml(text="Summarize only.")))
    assert store.skills.get("opening", "1").instructions == "Read the stock.\n"
    assert [event.decision for event in store.skills.log()] == ["staged", "stage_refused"]
    assert store.check() == []


def test_activation_survives_reopening(store: Store, write_toml: WriteToml) -> None:
    store.skills.stage(read_source(write_toml()))
    assert active(store) == []
    before = store.snapshot().digest
    activate(store, "opening", "1")
    store.close()
    with Store(store.path) as again:
        assert active(again) == [("opening", "1")]
        assert again.snapshot().digest != before
        assert again.snapshot().roster().names == ("opening",)
        event = again.skills.log()[-1]
        assert event.decision == "activated"
        assert event.evidence["cases"] == {"opening": True}
        assert event.evidence["baseline"] == before
        assert again.check() == []


def _mutate(candidate: SkillVersion, baseline: Snapshot) -> dict[str, bool]:
    object.__setattr__(candidate, "instructions", "Buy everything.")
    return {"opening": True}


def _mutate_inside(candidate: SkillVersion, baseline: Snapshot) -> dict[str, bool]:
    candidate.frontmatter["license"] = "none"
    return {"opening": True}


def _raise(candidate: SkillVersion, baseline: Snapshot) -> dict[str, bool]:
    raise RuntimeError("no model")


def _end(candidate: SkillVersion, baseline: Snapshot) -> dict[str, bool]:
    raise SystemExit(0)


def _garble(candidate: SkillVersion, baseline: Snapshot) -> dict[str, bool]:
    raise RuntimeError("two\nlines\x1b[2J")


@pytest.mark.parametrize(
    ("evaluate", "says"),
    [
        (lambda c, b: {}, "no answer for the required opening"),
        (lambda c, b: {"other": True}, "no answer for the required opening"),
        (lambda c, b: {"opening": False}, "not passed: opening"),
        (lambda c, b: {"opening": 1}, "not passed: opening"),
        (lambda c, b: {"opening": "true"}, "not passed: opening"),
        (lambda c, b: {"opening": None}, "not passed: opening"),
        (lambda c, b: {"opening": True, "extra": False}, "not passed: extra"),
        (lambda c, b: 7, "the evaluator answered int; let it answer a mapping"),
        (lambda c, b: None, "the evaluator answered NoneType; let it"),
        (lambda c, b: {1: True, "opening": True}, "names that are no texts; let it"),
        (
            lambda c, b: Evaluation(results={"opening": False}, reasons={"opening": "2 of 9"}),
            r"not passed: opening \(2 of 9\)",
        ),
        (_end, "the evaluator failed .SystemExit: 0"),
        (_garble, r"the evaluator failed .RuntimeError: two lines \[2J\); mend it"),
        (_mutate, "changed its candidate"),
        (_mutate_inside, "changed its candidate"),
        (_raise, "the evaluator failed .RuntimeError: no model"),
    ],
)
def test_a_refused_activation_leaves_the_old_version(
    store: Store, write_toml: WriteToml, evaluate: Any, says: str
) -> None:
    store.skills.stage(read_source(write_toml()))
    activate(store, "opening", "1")
    store.skills.stage(read_source(write_toml(version="2")))
    before = store.snapshot()
    with pytest.raises(ActivationRefusedError, match=says):
        activate(store, "opening", "2", evaluate)
    assert store.snapshot() == before
    event = store.skills.log()[-1]
    assert (event.decision, event.version) == ("activation_refused", "2")
    assert event.evidence["reason"]
    assert store.check() == []


def test_an_empty_suite_and_an_unknown_version_are_refused(
    store: Store, write_toml: WriteToml
) -> None:
    store.skills.stage(read_source(write_toml()))
    with pytest.raises(ActivationRefusedError, match="suite is empty"):
        store.skills.activate("opening", "1", evaluate=passing, required=())
    with pytest.raises(UnknownVersionError, match="it has 1, the newest: 1"):
        activate(store, "opening", "9")
    with pytest.raises(UnknownVersionError, match="no skill of that name"):
        activate(store, "closing", "1")
    assert active(store) == []


def test_a_baseline_that_changed_meanwhile_is_refused(store: Store, write_toml: WriteToml) -> None:
    store.skills.stage(read_source(write_toml()))
    store.skills.stage(read_source(write_toml("reporting")))

    def evaluate(candidate: SkillVersion, baseline: Snapshot) -> dict[str, bool]:
        with Store(store.path) as other:
            activate(other, "reporting", "1")
        return {"opening": True}

    with pytest.raises(ActivationRefusedError, match="changed during the evaluation"):
        activate(store, "opening", "1", evaluate)
    assert active(store) == [("reporting", "1")]
    old = Snapshot(digest="0" * 64).digest
    with pytest.raises(ActivationRefusedError, match="changed during the evaluation"):
        store.skills.activate("opening", "1", evaluate=passing, required={"opening"}, expected=old)
    activate(store, "opening", "1")
    assert active(store) == [("opening", "1"), ("reporting", "1")]


def test_of_two_activations_at_once_one_wins(store: Store, write_toml: WriteToml) -> None:
    for version in ("1", "2"):
        store.skills.stage(read_source(write_toml(version=version, text=f"Text {version}.")))
    both = threading.Barrier(2)
    told: list[str] = []

    def run(version: str) -> None:
        def evaluate(candidate: SkillVersion, baseline: Snapshot) -> dict[str, bool]:
            both.wait(timeout=20)
            return {"opening": True}

        with Store(store.path) as mine:
            try:
                activate(mine, "opening", version, evaluate)
            except ActivationRefusedError as refusal:
                told.append(str(refusal))

    threads = [threading.Thread(target=run, args=(version,)) for version in ("1", "2")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(active(store)) == 1
    assert len(told) == 1 and "changed during the evaluation" in told[0]
    assert store.check() == []


def test_rollback_goes_back_step_by_step(store: Store, write_toml: WriteToml) -> None:
    for version in ("1", "2", "3"):
        store.skills.stage(read_source(write_toml(version=version)))
        activate(store, "opening", version)
    assert store.skills.rollback("opening", "worse in use") == "2"
    store.skills.retire("opening", "3", "worse")
    assert active(store) == [("opening", "2")]
    assert store.skills.log()[-2].evidence == {"from": "3", "to": "2", "reason": "worse in use"}
    assert store.skills.rollback("opening") == "1"
    assert store.skills.rollback("opening") is None
    assert active(store) == []
    with pytest.raises(ActivationRefusedError, match="nothing to roll back"):
        store.skills.rollback("opening")
    with pytest.raises(ActivationRefusedError, match="retired"):
        activate(store, "opening", "3")
    assert store.check() == []


def test_the_active_version_is_never_retired(store: Store, write_toml: WriteToml) -> None:
    store.skills.stage(read_source(write_toml()))
    activate(store, "opening", "1")
    with pytest.raises(ActivationRefusedError, match="is active"):
        store.skills.retire("opening", "1")
    assert active(store) == [("opening", "1")]


def test_the_database_itself_keeps_versions_and_the_one_active(
    store: Store, write_toml: WriteToml
) -> None:
    store.skills.stage(read_source(write_toml()))
    store.skills.stage(read_source(write_toml(version="2")))
    activate(store, "opening", "1")
    raw = sqlite3.connect(store.path)
    for statement in (
        "UPDATE versions SET active = 1",
        "UPDATE versions SET content = '{}'",
        "DELETE FROM versions",
        "DELETE FROM events",
        "UPDATE events SET decision = 'staged'",
    ):
        with pytest.raises(sqlite3.IntegrityError):
            raw.execute(statement)
    raw.close()


def test_check_sees_a_state_that_the_log_does_not_lead_to(
    store: Store, write_toml: WriteToml
) -> None:
    store.skills.stage(read_source(write_toml()))
    raw = sqlite3.connect(store.path)
    raw.execute("UPDATE versions SET active = 1")
    raw.commit()
    assert [problem.code for problem in store.check()] == ["log-active"]
    raw.execute("DROP TRIGGER versions_immutable")
    raw.execute("UPDATE versions SET content = replace(content, 'stock', 'shelf')")
    raw.commit()
    raw.close()
    assert "content-changed" in {problem.code for problem in store.check()}


def test_diff_names_the_changed_lines(store: Store, write_toml: WriteToml) -> None:
    store.skills.stage(read_source(write_toml(text="Read the stock.\nReport.")))
    store.skills.stage(read_source(write_toml(version="2", text="Read the stock.\nDraft.\x1b[2J")))
    lines = diff_versions(store.skills.row("opening", "1"), store.skills.row("opening", "2"))
    assert "-Report." in lines
    assert "+Draft.\\x1b[2J" in lines
    assert diff_versions(store.skills.row("opening", "1"), store.skills.row("opening", "1")) == []


def test_items_are_whole_and_need_every_tool(store: Store, write_toml: WriteToml) -> None:
    for name in ("opening", "reporting"):
        store.skills.stage(read_source(write_toml(name)))
        activate(store, name, "1")
    skills = store.snapshot().skills
    items = skill_items(skills, {"list_stock", "other"}, 10_000)
    assert [item["name"] for item in items] == ["opening", "reporting"]
    assert items[0]["content"] == "Read the stock.\n" and items[0]["version"] == "1"
    assert len(items[0]["content_sha256"]) == 64
    assert skill_items(skills, {"other"}, 10_000) == []
    exact = len(json.dumps(items))
    assert skill_items(skills, {"list_stock"}, exact) == items
    assert skill_items(skills, {"list_stock"}, exact - 1) == items[:1]
    assert skill_items(skills, {"list_stock"}, 2) == []
    with pytest.raises(ValueError, match="byte_budget"):
        skill_items(skills, {"list_stock"}, -1)


class Machine(RuleBasedStateMachine):
    """Whatever is done in whatever order, the table is what the log leads to."""

    def __init__(self) -> None:
        super().__init__()
        self.store = _temporary_store()

    @rule(version=st.sampled_from("1234"), text=st.sampled_from(["a", "b"]))
    def stage(self, version: str, text: str) -> None:
        record = SkillVersion(name="opening", version=version, instructions=text)
        try:
            self.store.skills.stage(Staging(record=record, source_sha256="0" * 64))
        except StageRefusedError:
            assert self.store.skills.get("opening", version).instructions != text

    @rule(version=st.sampled_from("1234"), passes=st.booleans())
    def activate(self, version: str, passes: bool) -> None:
        try:
            activate(self.store, "opening", version, lambda c, b: {"opening": passes})
        except StoreError:
            return
        assert active(self.store) == [("opening", version)] and passes

    @rule()
    def rollback(self) -> None:
        before = active(self.store)
        try:
            self.store.skills.rollback("opening")
        except ActivationRefusedError:
            assert before == []
        else:
            assert active(self.store) != before

    @rule(version=st.sampled_from("1234"))
    def retire(self, version: str) -> None:
        before = active(self.store)
        with contextlib.suppress(ActivationRefusedError, UnknownVersionError):
            self.store.skills.retire("opening", version)
        assert active(self.store) == before

    @invariant()
    def whole(self) -> None:
        assert self.store.check() == []

    def teardown(self) -> None:
        self.store.close()
        Path(self.store.path).unlink()


def _temporary_store() -> Store:
    folder = Path(tempfile.mkdtemp())
    return Store(folder / "store.sqlite")


TestMachine = Machine.TestCase
TestMachine.settings = settings(max_examples=15, stateful_step_count=15, deadline=None)
