"""What holds for every roster and every turn, with the local judge and a light encoder."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from eval.fuzz.light import HashEncoder, light_heads, light_router
from roster import Roster, Skill, is_safe_name
from router import Reason, Router, Suggestion, Thresholds, Turn, suggestion_block

# Rosters are indexed anew for every example.
FEW = settings(max_examples=8, deadline=None)
WORDS = ("kite", "sail", "bread", "bake", "tax", "form", "bike", "chain", "tea", "brew", "the", "a")
TOOLS = ("terminal", "oven", "browser")

words = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)
texts = st.one_of(words, st.text(max_size=40))
names = st.from_regex(r"[a-z]{1,8}(-[a-z]{1,8})?", fullmatch=True)


@st.composite
def rosters(draw: st.DrawFn, least: int = 0) -> Roster:
    chosen = draw(st.lists(names, min_size=least, max_size=6, unique=True))
    return Roster.from_skills(
        Skill(
            name=name,
            description=draw(texts) or "nothing",
            body=draw(texts),
            requires=tuple(draw(st.lists(st.sampled_from(TOOLS), max_size=1))),
        )
        for name in chosen
    )


@st.composite
def turns(draw: st.DrawFn, of: Roster) -> Turn:
    allowed = draw(st.none() | st.frozensets(st.sampled_from(TOOLS)))
    loaded = draw(st.frozensets(st.sampled_from(of.names or ("x",)), max_size=2))
    return Turn(
        request=draw(texts),
        recent_context=tuple(draw(st.lists(texts, max_size=2))),
        allowed_tools=allowed,
        loaded=loaded,
    )


def loaded_router(roster: Roster, cache: str, **thresholds: float) -> Router:
    if not thresholds:
        return light_router(roster, cache)
    chosen = Thresholds.model_validate(thresholds)
    return Router.load(
        roster, encoder=HashEncoder(), heads=light_heads(), cache=cache, thresholds=chosen
    )


def decision(suggestion: Suggestion) -> dict[str, Any]:
    return suggestion.model_dump(exclude={"elapsed_ms"})


def require_eligible(suggestion: Suggestion, roster: Roster, turn: Turn) -> None:
    assert suggestion.reason is not Reason.ROUTER_ERROR, suggestion.detail
    assert (suggestion.name is not None) == (suggestion.reason is Reason.SUGGESTED)
    if suggestion.name is None:
        return
    assert suggestion.name in roster and is_safe_name(suggestion.name)
    assert suggestion.name not in turn.loaded
    if turn.allowed_tools is not None:
        assert set(roster[suggestion.name].requires) <= turn.allowed_tools
    assert suggestion_block(suggestion).count(suggestion.name) >= 1


@FEW
@given(data=st.data(), roster=rosters())
def test_suggest_is_deterministic(data: st.DataObject, roster: Roster) -> None:
    turn = data.draw(turns(roster))
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
        router = loaded_router(roster, one)
        first = decision(router.suggest(turn))
        assert decision(router.suggest(turn)) == first
        router.suggest("something else entirely")
        assert decision(router.suggest(turn)) == first
        # From the cache, and from an index of its own.
        assert decision(loaded_router(roster, one).suggest(turn)) == first
        assert decision(loaded_router(roster, two).suggest(turn)) == first


@FEW
@given(data=st.data(), roster=rosters())
def test_no_name_outside_the_eligible_set(data: st.DataObject, roster: Roster) -> None:
    with tempfile.TemporaryDirectory() as cache:
        # Thresholds of 0 let the best skill through whatever its fit.
        router = loaded_router(roster, cache, gate=0.0, fit=0.0)
        for _ in range(4):
            turn = data.draw(turns(roster))
            require_eligible(router.suggest(turn), roster, turn)


@FEW
@given(data=st.data(), roster=rosters(least=2), order=st.randoms(use_true_random=False))
def test_the_order_of_files_on_disk_does_not_matter(
    data: st.DataObject, roster: Roster, order: random.Random
) -> None:
    turn = data.draw(turns(roster))
    made = []
    with tempfile.TemporaryDirectory() as place:
        for number in range(2):
            skills = list(roster)
            order.shuffle(skills)
            folder = Path(place, "roots", str(number), "skills")
            for skill in skills:
                write(folder / skill.name, skill)
            on_disk = Roster.from_directory(folder)
            suggestion = loaded_router(on_disk, place).suggest(turn)
            made.append((on_disk.names, on_disk.digest, decision(suggestion)))
    assert made[0] == made[1]


def write(folder: Path, skill: Skill) -> None:
    folder.mkdir(parents=True)
    requires = "".join(f"requires: [{tool}]\n" for tool in skill.requires)
    text = " ".join(skill.description.split()) or "nothing"
    (folder / "SKILL.md").write_text(
        f"---\nname: {skill.name}\ndescription: >-\n  d {text}\n{requires}---\n{skill.body}\n",
        encoding="utf-8",
        errors="replace",
        newline="",
    )


@FEW
@given(data=st.data(), roster=rosters(least=1))
def test_an_unrelated_skill_breaks_nothing(data: st.DataObject, roster: Roster) -> None:
    turn = data.draw(turns(roster))
    extra = Skill(
        name="zzz-quagga-census",
        description="Count the quaggas of the Karoo from the air.",
        body="Fly low.",
    )
    grown = Roster.from_skills([*roster, extra])
    with tempfile.TemporaryDirectory() as cache:
        for thresholds in ({}, {"gate": 0.0, "fit": 0.0}):
            before = loaded_router(roster, cache, **thresholds).suggest(turn)
            after = loaded_router(grown, cache, **thresholds).suggest(turn)
            require_eligible(before, roster, turn)
            require_eligible(after, grown, turn)
            assert {name for name, _ in after.ranking.entries} in (set(), set(grown.names))


def test_a_right_answer_stays_right_beside_unrelated_skills(tmp_path: Path) -> None:
    def skill(name: str, description: str) -> Skill:
        return Skill(name=name, description=description, body=f"{description} Step by step.")

    asked = "mend the torn kite sail"
    right = skill("kite-repair", "Mend torn kite sails and spars: mend the torn kite sail.")
    skills = [right, skill("bread-bake", "Bake sourdough bread from a starter.")]
    for number in range(12):
        router = light_router(Roster.from_skills(skills), tmp_path)
        suggestion = router.suggest(asked)
        assert suggestion.ranking.entries[0][0] == "kite-repair", number
        assert suggestion.name in (None, "kite-repair"), number
        skills.append(skill(f"unrelated-{number}", f"Quagga ledger {number} for auditors."))
