"""Evaluators: a candidate against what is active, on its own and on its neighbours' requests."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

from eval.agent_asking import AgentAsk
from eval.agents.scripted import ScriptedAgent
from eval.agents.store import ResultStore
from eval.asking import local_ask
from eval.data import LabelledTurn, requests_digest
from eval.evaluators import EvaluatorError, RequestsEvaluator
from eval.profile_evaluator import ProfileEvaluator
from eval.wordings import description_variants
from roster import Roster
from roster.store import (
    ActivationRefusedError,
    SkillVersion,
    Staging,
    Store,
    skill_items,
)
from router import Router, RouterError
from router.cli import main
from router.local.encoder import load_encoder
from router.local.heads import shipped_heads
from router.profile import Profile, make_profile
from router.thresholds import Thresholds
from router.turn import Turn

TURNS = [
    LabelledTurn(text="bake a sourdough loaf from my starter", gold="bread-bake"),
    LabelledTurn(text="knead the dough for tomorrow's sourdough bread", gold="bread-bake"),
    LabelledTurn(text="mend the torn sail of my kite", gold="kite-repair"),
    LabelledTurn(text="the spar of the kite broke, repair it", gold="kite-repair"),
    LabelledTurn(text="what is the capital of france?", gold=None),
]


def by_words(roster: Roster, turns: Sequence[LabelledTurn]) -> list[str | None]:
    """The skill whose description shares most long words with the request; none below two."""
    answers: list[str | None] = []
    for turn in turns:
        words = {word for word in turn.text.lower().split() if len(word) > 3}
        best = max(roster, key=lambda s: len(words & set(s.description.lower().split())))
        shared = len(words & set(best.description.lower().split()))
        answers.append(best.name if shared >= 2 else None)
    return answers


def kite(description: str, version: str = "2") -> SkillVersion:
    return SkillVersion(
        name="kite-repair", version=version, description=description, instructions="Glue the spar."
    )


def staged(store: Store, record: SkillVersion) -> None:
    store.skills.stage(Staging(record=record, source_sha256=record.digest))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store.sqlite")


def test_a_good_candidate_is_activated_with_its_spread(store: Store, pair: Roster) -> None:
    staged(store, kite("Mend the torn sail of a kite. Repair the spar when it broke."))
    judged = RequestsEvaluator(TURNS, by_words, pair, "kite-repair")
    assert judged.required == {"own-requests", "keeps:bread-bake", "uncovered-requests"}
    evaluation = store.skills.activate(
        "kite-repair", "2", evaluate=judged, required=judged.required
    )
    spread = evaluation.evidence["spread"]
    assert len(spread["right_by_wording"]) >= 3
    assert spread["min"] <= spread["mean"] <= spread["max"]
    assert evaluation.evidence["requests"] == requests_digest(TURNS)
    assert [skill.version for skill in store.snapshot().skills] == ["2"]
    assert store.snapshot().roster()["kite-repair"].description.startswith("Mend the torn")


@pytest.mark.parametrize(
    ("description", "failed"),
    [
        ("bake a sourdough loaf from my starter, knead the dough for tomorrow's bread; mend the "
         "torn sail of my kite, the spar broke, repair it", "keeps:bread-bake"),
        ("what capital of france? mend the torn sail of my kite, repair the spar",
         "uncovered-requests"),
        ("Helps with things.", "own-requests"),
    ],
)  # fmt: skip
def test_a_candidate_that_steals_or_misses_is_refused(
    store: Store, pair: Roster, description: str, failed: str
) -> None:
    staged(store, kite(description))
    judged = RequestsEvaluator(TURNS, by_words, pair, "kite-repair")
    with pytest.raises(ActivationRefusedError, match=f"not passed: .*{failed}"):
        store.skills.activate("kite-repair", "2", evaluate=judged, required=judged.required)
    assert store.snapshot().rows == ()
    event = store.skills.log()[-1]
    assert event.evidence["cases"][failed] is False
    # The message says which request, or how many.
    assert re.search(
        rf"{failed} \((newly loads it: '|\d of its 2 requests)", event.evidence["reason"]
    )
    neighbour = event.evidence["evidence"]["neighbours"]["bread-bake"]
    assert neighbour["right_before"] >= neighbour["right_after"] >= 0 < neighbour["requests"]
    assert event.evidence["evidence"]["own"]["of"] == 2


def test_requests_must_be_about_the_candidate_and_the_roster(store: Store, pair: Roster) -> None:
    with pytest.raises(EvaluatorError, match="no request of the cases is labelled 'gardening'"):
        RequestsEvaluator(TURNS, by_words, pair, "gardening")
    staged(store, kite("Mend the torn sail of a kite."))
    judged = RequestsEvaluator(TURNS, by_words, Roster(), "kite-repair")
    with pytest.raises(ActivationRefusedError, match="labelled with bread-bake"):
        store.skills.activate("kite-repair", "2", evaluate=judged, required=judged.required)


def test_the_real_router_and_an_agent_can_be_asked(pair: Roster, tmp_path: Path) -> None:
    ask, about = local_ask(cache=str(tmp_path))
    longer = Roster.from_skills([*pair, kite("Fix kites.").skill().renamed("kite-two")])
    first = ask(pair, TURNS)
    assert ask(longer, TURNS)[0] == first[0] and len(first) == len(TURNS)
    assert set(about) == {"asked", "encoder", "weights", "thresholds"}
    assert first.count("kite-repair") + first.count("bread-bake") >= 2
    with ResultStore(":memory:") as kept:
        answers = AgentAsk(ScriptedAgent(), kept)(pair, TURNS)
    assert set(answers) <= {"kite-repair", "bread-bake", None} and len(answers) == len(TURNS)


def test_variants_say_the_same_in_another_order() -> None:
    record = kite("Mends sails. Repairs spars. Use when a kite is torn.")
    variants = dict(description_variants(record))
    assert variants["last sentence first"].description.startswith("Use when a kite is torn.")
    assert {v.description for v in variants.values()}.isdisjoint({record.description})
    assert all(v.instructions == record.instructions for v in variants.values())
    assert description_variants(kite("x")) == [("a list", kite("- x"))]


def _heads() -> bytes:
    return shipped_heads(load_encoder().digest).read_bytes()


def _profile(roster: Roster, version: str, **numbers: float) -> Staging:
    thresholds = Thresholds.model_validate(numbers) if numbers else None
    return make_profile("default", version, roster=roster, requests_digest=requests_digest(TURNS),
                        heads=_heads(), thresholds=thresholds)  # fmt: skip


def test_a_profile_is_activated_and_loaded(store: Store, pair: Roster, tmp_path: Path) -> None:
    shelf = store.shelf(Profile)
    assert shelf.stage(_profile(pair, "1", gate=0.2, fit=0.25))
    ask, _ = local_ask(cache=str(tmp_path))
    judged = ProfileEvaluator(TURNS, pair, ask, ask)
    evaluation = shelf.activate("default", "1", evaluate=judged, required=judged.required)
    assert evaluation.results == {"bound": True, "right": True, "wrong": True, "needless": True}
    router = Router.load(pair, profile="active", store=store.path)
    assert (router.thresholds.gate, router.thresholds.fit) == (0.2, 0.25)
    assert Router.load(pair, profile="default", store=store.path).weights_digest
    other = Router.load(pair, profile="active", store=store.path, reranker="none", deadline_s=7.0)
    assert other.deadline_s == 7.0  # what a profile does not bring is not dropped
    turn, skills = Turn(request="bake some bread"), list(pair)
    assert other.judge.reread(turn, skills) != router.judge.reread(turn, skills)
    by_default = _profile(pair, "2").record.thresholds
    assert by_default.fit == Router.load(pair).thresholds.fit
    smaller = Roster.from_skills([pair["bread-bake"]])
    with pytest.raises(RouterError, match="no profile 'active' is active for this roster"):
        Router.load(smaller, profile="active", store=store.path)
    with pytest.raises(RouterError, match="evaluated on another roster"):
        Router.load(smaller, profile="default", store=store.path)
    with pytest.raises(RouterError, match="either the profile or"):
        Router.load(pair, profile="active", store=store.path, thresholds=Thresholds())
    with pytest.raises(RouterError, match="there is no store"):
        Router.load(pair, profile="active", store=tmp_path / "gone.sqlite")
    assert store.check() == []


def test_a_profile_that_is_worse_or_bound_elsewhere_is_refused(store: Store, pair: Roster) -> None:
    with pytest.raises(RouterError, match="cannot be made: name: "):
        make_profile("a b", "1", roster=pair, requests_digest="", heads=_heads())
    many = [
        turn.model_copy(update={"text": f"{turn.text} ({i})"}) for i in range(4) for turn in TURNS
    ]
    shelf = store.shelf(Profile)
    shelf.stage(_profile(pair, "1"))

    def never(roster: Roster, turns: Sequence[LabelledTurn]) -> list[str | None]:
        return [None] * len(turns)

    def right(roster: Roster, turns: Sequence[LabelledTurn]) -> list[str | None]:
        return [turn.gold for turn in turns]

    judged = ProfileEvaluator(many, pair, never, right)
    with pytest.raises(ActivationRefusedError, match="bound to another roster or to other"):
        shelf.activate("default", "1", evaluate=judged, required=judged.required)
    bound = make_profile("default", "2", roster=pair, requests_digest=requests_digest(many),
                         heads=_heads())  # fmt: skip
    shelf.stage(bound)
    with pytest.raises(ActivationRefusedError, match="not passed: right"):
        shelf.activate("default", "2", evaluate=judged, required=judged.required)
    assert store.snapshot().rows == ()


def test_commands_from_staging_to_rollback(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SKILL_ROUTER_DB", str(tmp_path / "store.sqlite"))
    runner = CliRunner()

    def run(*arguments: str, code: int = 0) -> str:
        result = runner.invoke(main, arguments)
        assert result.exit_code == code, result.output
        assert "Traceback" not in result.output
        return result.output

    def write(version: str, text: str) -> str:
        path = tmp_path / f"{version}.toml"
        path.write_text(f'name="opening"\nversion="{version}"\ninstructions="{text}"\n')
        return str(path)

    assert "there is no store" in run("skills", "list", code=1)
    assert "opening 1 staged" in run("skills", "stage", write("1", "Read the stock."))
    assert "unchanged" in run("skills", "stage", write("1", "Read the stock."))
    (tmp_path / "tidy.toml").write_text('name="tidy"\nversion="1"\ninstructions="Tidy."\n')
    both = run("skills", "stage", "tidy.toml", write("1", "Report."), code=1)
    assert "tidy 1 staged" in both and "other content" in both
    (tmp_path / "mine.py").write_text(
        "def evaluate(candidate, baseline):\n    return {'opening': 'stock' in "
        "candidate.instructions}\n"
    )
    (tmp_path / "cases.txt").write_text("opening\n")
    activate = ("skills", "activate", "opening")
    mine = ("--cases", "cases.txt", "--evaluator", "mine:evaluate")
    assert "1 of 1 cases passed" in run(*activate, "1", *mine)
    run("skills", "stage", write("2", "Buy."))
    assert "not passed: opening" in run(*activate, "2", *mine, code=1)
    (tmp_path / "empty.json").write_text("[]")
    empty = run(*activate, "2", "--cases", "empty.json", "--evaluator", "mine:evaluate", code=1)
    assert "suite is empty" in empty
    run(*activate, "2", "--cases", "cases.txt", "--evaluator", "mine:gone", code=1)
    run(*activate, "9", *mine, code=1)
    assert "-Read the stock." in run("skills", "diff", "opening", "1", "2")
    decisions = [event["decision"] for event in json.loads(run("skills", "log", "--json"))]
    assert decisions[:4] == ["staged", "staged", "stage_refused", "activated"]
    items = json.loads(run("skills", "items"))
    assert items == skill_items(Store("store.sqlite").snapshot().skills, (), 16_384)
    assert "never" in run("skills", "retire", "--help")
    assert "is active" in run("skills", "retire", "opening", "1", code=1)
    assert "3 versions written" in run("skills", "export", "all.jsonl")
    assert "3 versions added" in run("skills", "import", "all.jsonl", "--db", "other.sqlite")
    assert "opening rolled back: it had no earlier version" in run("skills", "rollback", "opening")
    assert "to none" in run("skills", "log", "--last", "1")
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "SKILL.md").write_text(
        "---\nname: notes\nversion: 1\ndescription: Notes: short ones.\n---\nWrite.\n"
    )
    assert "repaired: line 4: the frontmatter is not valid YAML" in run("skills", "stage", "notes")
    assert "repaired: 1" in run("skills", "log", "--last", "1")
    assert "whole" in run("skills", "check")
    assert "whole" in run("skills", "check", "--db", "other.sqlite")
    (tmp_path / "broken.sqlite").write_text("nothing" * 2000)
    assert "not a readable store" in run("skills", "check", "--db", "broken.sqlite", code=1)
