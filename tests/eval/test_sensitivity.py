"""Sensitivity: published figures, what variants change, and who reads what."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from eval.agents.protocol import AgentRequest, Reply
from eval.agents.scripted import ScriptedAgent
from eval.agents.store import ResultStore
from eval.data import LabelledTurn
from eval.sensitivity import (
    ORIGINAL,
    AgentPicks,
    RouterPicks,
    SensitivityError,
    Variant,
    compare,
    concerned,
    edit,
    index_in_order,
    neighbours,
    read_variants,
    set_up,
    shuffles,
    spread_of,
)
from eval.sensitivity.asking import StoredAsk
from roster import Roster, Skill
from router import BlockTemplate, Router, Thresholds
from tests.eval.fakes import WordJudge, shop, shop_turns

PUBLISHED = {
    "no examples": [0.708, 0.583, 0.625, 0.708, 0.542, 0.375],
    "one order": [0.75, 0.75, 0.667, 0.708, 0.667, 0.542],
    "another order": [0.542, 0.458, 0.5, 0.417, 0.5, 0.375],
}
"""Shares of 24 requests, for six wordings each."""


def answered(shares: Sequence[float], cases: int = 24) -> np.ndarray:
    counts = [round(share * cases) for share in shares]
    return np.array([[i < count for i in range(cases)] for count in counts])


def load(roster: Roster) -> Router:
    return Router(roster, WordJudge(), Thresholds(gate=0.3, fit=0.3))


def test_the_published_spread_over_wordings() -> None:
    spread = spread_of(answered(PUBLISHED["no examples"]))
    assert (spread.least, spread.most) == (pytest.approx(0.375), pytest.approx(0.708, abs=1e-3))
    assert spread.mean == pytest.approx(0.590, abs=1e-3)
    assert spread.sd == pytest.approx(0.125, abs=1e-3)
    assert spread.case_sd == pytest.approx(0.101, abs=1e-3)


def test_the_published_effect_of_another_order() -> None:
    moves = [
        abs(a - b) for a, b in zip(PUBLISHED["one order"], PUBLISHED["another order"], strict=True)
    ]
    assert max(moves) == pytest.approx(0.292, abs=1e-3)
    both = answered([PUBLISHED["one order"][1], PUBLISHED["another order"][1]])
    assert spread_of(both).most - spread_of(both).least == pytest.approx(0.292, abs=1e-3)


def test_best_against_worst_is_paired() -> None:
    turns = [LabelledTurn(text=f"r{i}", gold="a") for i in range(24)]
    best = ["a"] * 17 + ["b"] * 7
    worst = ["a"] * 8 + ["b"] * 16
    picks = {ORIGINAL: worst, "better": best}
    report = compare(turns, picks, {ORIGINAL: ORIGINAL, "better": "block"})
    assert (report.best, report.worst) == ("better", ORIGINAL)
    assert (report.best_against_worst.only_first, report.best_against_worst.only_second) == (9, 0)
    assert report.best_against_worst.p == pytest.approx(0.00391, abs=1e-5)
    assert report.same_verdict == pytest.approx(15 / 24)
    assert report.held_out_best is None, "one skill cannot be divided"


def test_the_best_of_many_lucky_variants_is_no_better_elsewhere() -> None:
    """25 coins: the luckiest looks good on the requests it was chosen on, and only there."""
    turns = [LabelledTurn(text=f"r{i}", gold=f"s{i // 4}" if i % 2 else None) for i in range(200)]
    kinds = {ORIGINAL: ORIGINAL, **{f"v{i}": "block" for i in range(24)}}
    chosen, elsewhere = [], []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        picks = {n: [t.gold if rng.random() < 0.5 else "other" for t in turns] for n in kinds}
        report = compare(turns, picks, kinds)
        assert report.held_out_best is not None
        chosen.append(max(score.correct.value for score in report.scores))
        elsewhere.append(report.held_out_best.value)
    assert min(chosen) > 0.54
    assert np.mean(elsewhere) == pytest.approx(0.5, abs=0.03)


@given(st.integers(2, 5), st.integers(1, 30), st.integers(0, 999))
@example(3, 15, 110)  # three equal rates whose mean rounds above them
def test_shares_of_agreement_belong_to_the_picks(variants: int, cases: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    turns = [LabelledTurn(text=f"r{i}", gold=rng.choice(["a", "b"])) for i in range(cases)]
    names = [ORIGINAL, *(f"v{i}" for i in range(variants - 1))]
    options = ["a", "b", None]
    picks = {name: [options[i] for i in rng.integers(0, 3, cases)] for name in names}
    report = compare(turns, picks, {n: ORIGINAL if n == ORIGINAL else "block" for n in names})
    same = sum(len({picks[name][i] for name in names}) == 1 for i in range(cases))
    assert report.same_pick == pytest.approx(same / cases)
    assert len(report.unstable) == cases - same
    assert report.same_pick <= report.same_verdict + 1e-12
    low, high = report.spreads[0].least, report.spreads[0].most
    assert low <= report.spreads[0].mean <= high


def test_one_variant_is_nothing_to_compare() -> None:
    with pytest.raises(SensitivityError, match="one variant only"):
        compare(shop_turns(), {ORIGINAL: [None] * 12}, {ORIGINAL: ORIGINAL})


def test_another_order_is_another_roster_with_the_same_skills() -> None:
    roster = shop()
    for variant in shuffles(4, seed=7):
        setup = set_up(variant, roster)
        assert setup.kind == "order" and setup.ordered
        assert set(setup.roster.skills) == set(roster.skills)
    orders = {set_up(variant, roster).roster.names for variant in shuffles(6)}
    assert len(orders) > 1
    assert set_up(shuffles(1)[0], roster).roster == set_up(shuffles(1)[0], roster).roster


def test_the_router_does_not_care_about_the_order() -> None:
    pick = RouterPicks(load)
    turns = shop_turns()
    picks = {v.name: pick(set_up(v, shop()), turns) for v in [Variant(name=ORIGINAL), *shuffles(5)]}
    report = compare(turns, picks, {n: ORIGINAL if n == ORIGINAL else "order" for n in picks})
    assert report.same_pick == 1.0
    assert report.spreads[0].sd == 0.0


def test_another_description_is_another_candidate() -> None:
    roster = shop()
    setup = set_up(Variant(name="v", descriptions={"jam-cook": "Bottle plums."}), roster)
    changed, before = setup.roster["jam-cook"], roster["jam-cook"]
    assert changed.description == "Bottle plums."
    assert changed.digest != before.digest and setup.roster.digest != roster.digest
    assert changed.body == before.body and changed.category == before.category
    assert setup.roster["bread-bake"] is roster["bread-bake"]
    assert "Bottle plums." in setup.roster.prompt()


def test_a_short_description_for_the_index_does_not_outlive_an_edit() -> None:
    skill = Skill(name="a", description="Long and old.", index_description="Short and old.")
    setup = set_up(Variant(name="v", descriptions={"a": "New."}), Roster.from_skills([skill]))
    assert "New." in setup.roster.prompt() and "old" not in setup.roster.prompt()


def test_the_agent_reads_the_order_and_the_wording_of_a_variant() -> None:
    sent: list[AgentRequest] = []

    def ask(requests: Sequence[AgentRequest]) -> list[Reply]:
        sent.extend(requests)
        return [Reply(loaded=("bread-bake",)) for _ in requests]

    pick = AgentPicks(RouterPicks(load), "model", ask)
    turns = [LabelledTurn(text="Bake a sourdough bread", gold="bread-bake")]
    block = BlockTemplate(suggested="Try {name}.", silent="")
    variants = [
        Variant(name=ORIGINAL), Variant(name="b", block=block), *shuffles(3, seed=1),
    ]  # fmt: skip
    for variant in variants:
        assert pick(set_up(variant, shop()), turns) == ["bread-bake"]
    original, reworded, *ordered = sent
    assert original.system[0] == reworded.system[0]
    assert original.system[1]["text"] != reworded.system[1]["text"] == "Try bread-bake."
    prompts = [request.system[0]["text"] for request in ordered]
    assert len({*prompts, original.system[0]["text"]}) > 1
    for prompt in prompts:
        assert sorted(prompt.split("\n")) == sorted(original.system[0]["text"].split("\n"))
    assert all(request.system[1] == original.system[1] for request in ordered)


def test_the_index_in_the_roster_s_own_order() -> None:
    roster = shop()
    assert sorted(index_in_order(roster).split("\n")) == sorted(roster.prompt().split("\n"))
    backwards = Roster.from_skills(reversed(roster.skills))
    assert index_in_order(backwards).split("\n")[0] == f"  {roster.skills[-1].category}:"
    assert backwards.prompt() == roster.prompt()


def test_answers_are_kept_and_a_rerun_asks_nothing(tmp_path: Path) -> None:
    turns = shop_turns()
    picked = []
    for expected in ((12, 0), (0, 12)):
        with ResultStore(tmp_path / "answers.sqlite") as store:
            ask = StoredAsk(ScriptedAgent(), store)
            pick = AgentPicks(RouterPicks(load), "scripted", ask)
            picked.append(pick(set_up(Variant(name=ORIGINAL), shop()), turns))
            assert (ask.live, ask.replayed) == expected
    assert picked[0] == picked[1]


class _Silent:
    """An agent that is always too busy."""

    model, endpoint = "silent", None

    def answer(self, requests: Sequence[AgentRequest], journal: StoredAsk) -> None:
        for request in requests:
            journal.begin(request)
            journal.fail(request, "status 529")


def test_an_agent_without_an_answer_is_said() -> None:
    with ResultStore(":memory:") as store:
        pick = AgentPicks(RouterPicks(load), "silent", StoredAsk(_Silent(), store))
        with pytest.raises(SensitivityError, match=r"left 12 of 12 requests .*status 529"):
            pick(set_up(Variant(name=ORIGINAL), shop()), shop_turns())


def test_a_failing_router_is_said() -> None:
    class Broken(WordJudge):
        def rank(self, turn, roster):  # type: ignore[no-untyped-def]
            raise RuntimeError("no")

    pick = RouterPicks(lambda roster: Router(roster, Broken()))
    with pytest.raises(SensitivityError, match="RuntimeError: no"):
        pick(set_up(Variant(name=ORIGINAL), shop()), shop_turns())


VARIANTS = """
[[variant]]
name = "titles"
[variant.descriptions]
kite-repair = "Kite helper"

[[variant]]
name = "firm"
[variant.block]
suggested = "Load {name}."
silent = "Load none."

[[variant]]
name = "both"
shuffle = 3
[variant.descriptions]
jam-cook = "Jam helper"
"""


def test_variants_come_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "variants.toml"
    path.write_text(VARIANTS)
    titles, firm, both = read_variants(path, shop())
    assert (titles.kind, firm.kind, both.kind) == ("description", "block", "description+order")
    assert set_up(firm, shop()).template.suggested == "Load {name}."


def test_a_whole_roster_of_descriptions_is_a_variant(tmp_path: Path) -> None:
    titles = [
        {"name": name, "category": "other", "description": f"{name} helper", "body": "B"}
        for name in reversed(shop().names)
    ]
    (tmp_path / "titles.jsonl").write_text("\n".join(map(json.dumps, titles)))
    path = tmp_path / "variants.toml"
    path.write_text('[[variant]]\nname = "titles"\nroster = "titles.jsonl"\n')
    (variant,) = read_variants(path, shop())
    changed = set_up(variant, shop()).roster
    assert [s.description for s in changed] == [f"{name} helper" for name in shop().names]
    assert [s.body for s in changed] == [s.body for s in shop()]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "holds no variants"),
        ("variant = 1\n", "holds no variants"),
        ("x = 1\n", "x: is unknown"),
        ("[[variant]\n", "line 1"),
        ("[[variant]]\nshuffle = 1\n", "variant 1: name"),
        ("[[variant]]\nname = 'a'\n", "variant 1: changes nothing"),
        ("[[variant]]\nname = 'original'\nshuffle = 1\n", "is taken"),
        ("[[variant]]\nname = 'a'\nshufle = 1\n", "variant 1: shufle"),
        ('[[variant]]\nname = "a\\u001b[31m"\nshuffle = 1\n', "control or hidden"),
        ("[[variant]]\nname = 'a'\nblock = {suggested = 'Load it.'}\n", "exactly once"),
        ("[[variant]]\nname = 'a'\ndescriptions = {cake = 'x'}\n", "no skill 'cake'"),
        ("[[variant]]\nname = 'a'\ndescriptions = {jam-cook = ' '}\n", "jam-cook: is blank"),
        ("[[variant]]\nname = 'a'\ndescriptions = 4\n", "variant 1: descriptions"),
        ("[[variant]]\nname = 'a'\nroster = 4\n", "roster: is not a path"),
        ("[[variant]]\nname = 'a'\nroster = 'none.json'\n", "variant 1: roster"),
        ("[[variant]]\nname = 'a'\nroster = 'one.json'\n", "has no skill"),
        ("[[variant]]\nname = 'a'\nroster = 'one.json'\ndescriptions = 4\n", "descriptions"),
    ],
)
def test_a_bad_file_is_named_with_the_place(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "one.json").write_text('[{"name": "jam-cook", "description": "x"}]')
    path = tmp_path / "variants.toml"
    path.write_text(text)
    with pytest.raises(SensitivityError) as caught:
        read_variants(path, shop())
    assert str(path) in str(caught.value) and message in str(caught.value)


@given(st.binary(max_size=200))
def test_no_bytes_break_the_reader(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.mktemp("variants") / "variants.toml"
    path.write_bytes(data)
    with pytest.raises(SensitivityError):
        read_variants(path, shop())


def test_neighbours_are_the_skills_described_alike() -> None:
    assert neighbours(load(shop()), "kite-repair", 1) == ("kite-design",)
    assert len(neighbours(load(shop()), "kite-repair", 9)) == 3


def test_only_turns_with_a_tie_are_concerned() -> None:
    turns = [
        LabelledTurn(text="1", gold="a"),
        LabelledTurn(text="2", gold="b"),
        LabelledTurn(text="3", gold=None, near="a"),
        LabelledTurn(text="4", gold=None, near="c"),
        LabelledTurn(text="5", gold=None),
    ]
    assert [turn.text for turn in concerned(turns, "a", ["b"])] == ["1", "2", "3"]


def test_a_better_description_finds_what_the_title_missed() -> None:
    turns = [
        LabelledTurn(text="Mend the torn sail of my kite", gold="kite-repair"),
        LabelledTurn(text="The glider crashed and wants fixing", gold="kite-repair"),
        LabelledTurn(text="Draw a sail pattern to scale", gold="kite-design"),
        LabelledTurn(text="Cook plums", gold="jam-cook"),
    ]
    new = "Mend torn kite sails and broken spars: anything that crashed and wants fixing, gliders."
    report = edit(shop(), "kite-repair", new, turns, RouterPicks(load), load, near=["kite-design"])
    assert (report.needing, report.others, report.checked) == (2, 1, 3)
    assert (report.miss_before.value, report.miss_after.value) == (0.5, 0.0)
    assert (report.false_before.value, report.false_after.value) == (0.0, 0.0)
    (moved,) = report.moved
    assert (moved.before, moved.after, moved.effect) == (None, "kite-repair", "fixed")
    assert report.paired.only_first == 1


def test_a_greedy_description_takes_from_its_neighbours() -> None:
    turns = [*shop_turns(), LabelledTurn(text="Draw pattern scale", gold="kite-design")]
    greedy = "Mend torn kite sails and broken spars. Draw a sail pattern scale for a delta kite."
    report = edit(shop(), "kite-repair", greedy, turns, RouterPicks(load), load, everything=True)
    assert report.false_after.value > report.false_before.value
    assert any(moved.effect == "broken" for moved in report.moved)
    assert report.checked == len(turns)


@pytest.mark.parametrize(
    ("skill", "text", "near", "message"),
    [
        ("cake", "x", None, "no skill 'cake'"),
        ("jam-cook", "x", ["cake"], "no skill 'cake'"),
        ("jam-cook", "  ", None, "blank"),
        ("jam-cook", shop()["jam-cook"].description, None, "the one it has"),
    ],
)
def test_an_edit_that_says_nothing_is_refused(
    skill: str, text: str, near: list[str] | None, message: str
) -> None:
    with pytest.raises(SensitivityError, match=message):
        edit(shop(), skill, text, shop_turns(), RouterPicks(load), load, near=near)


def test_a_skill_without_requests_cannot_be_measured() -> None:
    turns = [LabelledTurn(text="Bake bread", gold="bread-bake")]
    with pytest.raises(SensitivityError, match="no request has 'jam-cook' as gold"):
        edit(shop(), "jam-cook", "Boil fruit.", turns, RouterPicks(load), load)
