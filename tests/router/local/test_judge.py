"""The local judge on real weights: what it promises whatever it has learned."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from roster import Roster, Skill
from router import EncoderError, Reason, Router, RouterError, Turn, WeightsError
from router.local.encoder import Encoder, load_encoder
from router.local.heads import FOLDER, Heads, heads_for
from router.local.judge import LocalJudge
from router.local.onnx_encoder import SHIPPED, OnnxEncoder

CLEAR = {
    "Turn the outline in talk.md into a new PowerPoint deck": "pptx-author",
    "Write the SQL that counts orders per region from our Postgres": "postgres-query",
    "Find a flight from Lisbon to Oslo on 3 May under 200 euros": "flight-search",
    "Add burned-in English subtitles to interview.mp4": "video-subtitles",
}
QUIET = [
    "thanks, that helps!",
    "What is the capital of Peru?",
    "Tell me a joke about cats",
    "good morning",
    "ok, sounds good",
    "hello there",
    "How do I say thank you in Japanese?",
    "you are wrong about that",
    "Why is the sky blue?",
    "see you tomorrow",
]


def test_clear_requests_get_their_skill(router: Router) -> None:
    right = sum(router.suggest(text).name == gold for text, gold in CLEAR.items())
    assert right >= len(CLEAR) - 1


def test_small_talk_gets_nothing(router: Router) -> None:
    assert [text for text in QUIET if router.suggest(text).name is not None] == []


def test_the_ranking_is_a_distribution_over_the_whole_roster(router: Router) -> None:
    entries = router.suggest("merge two pdfs").ranking.entries
    assert sorted(name for name, _ in entries) == sorted(router.roster.names)
    probabilities = [p for _, p in entries]
    assert sum(probabilities) == pytest.approx(1.0, abs=1e-3)
    assert probabilities == sorted(probabilities, reverse=True)


def test_answers_do_not_depend_on_what_was_asked_before(bundled: Roster) -> None:
    text = "split invoice.pdf into single pages"
    first = Router.load(bundled).suggest(text)
    warm = Router.load(bundled)
    for other in CLEAR:
        warm.suggest(other)
    again = warm.suggest(text)
    assert first.ranking == again.ranking and first.reread == again.reread


def test_recent_context_counts(router: Router) -> None:
    context = ("Which flights go from Lisbon to Oslo on 3 May?", "The cheapest is 180 euros.")
    alone = dict(router.suggest("and on the 4th?").ranking.entries)
    within = dict(router.suggest("and on the 4th?", recent_context=context).ranking.entries)
    assert within["flight-search"] > alone["flight-search"]


def test_the_excerpt_length_reaches_the_reread(bundled: Roster) -> None:
    judge = LocalJudge.load(bundled)
    turn = Turn(request="merge two pdfs")
    candidates = [bundled[name] for name in judge.rank(turn, bundled)[0].top(5)]
    long = judge.reread(turn, candidates)
    judge.excerpt = 0
    assert judge.reread(turn, candidates) != long


def test_candidates_keep_their_fit_in_any_order(bundled: Roster) -> None:
    judge = LocalJudge.load(bundled)
    turn = Turn(request="merge two pdfs")
    names = judge.rank(turn, bundled)[0].top(4)
    forward = judge.reread(turn, [bundled[name] for name in names])
    backward = judge.reread(turn, [bundled[name] for name in reversed(names)])
    assert backward.fits == pytest.approx(forward.fits)


def test_a_stranger_among_the_candidates_is_refused(bundled: Roster) -> None:
    judge = LocalJudge.load(bundled)
    with pytest.raises(RouterError, match="not in this judge's roster: stranger"):
        judge.reread(Turn(request="x"), [Skill(name="stranger", description="d")])
    with pytest.raises(RouterError, match="another roster"):
        judge.rank(Turn(request="x"), Roster.from_skills([Skill(name="s", description="d")]))


@pytest.mark.parametrize("count", [0, 1, 2])
def test_tiny_rosters(count: int, bundled: Roster) -> None:
    names = ["pdf-assemble", "flight-search"][:count]
    router = Router.load(Roster.from_skills([bundled[name] for name in names]))
    suggestion = router.suggest("merge a.pdf and b.pdf into one file")
    assert suggestion.reason in (Reason.SUGGESTED, Reason.FITS, Reason.GATE)
    assert suggestion.name in (None, *names)
    assert suggestion.name != "flight-search"


def test_identical_and_bodyless_skills(bundled: Roster) -> None:
    skill = bundled["pdf-assemble"]
    roster = Roster.from_skills(
        [
            skill,
            skill.renamed("pdf-assemble-copy"),
            Skill(name="empty", description="", body=""),
            Skill(name="bare", description="Turns the porch light on."),
        ]
    )
    router = Router.load(roster)
    suggestion = router.suggest("merge a.pdf and b.pdf into one file")
    assert suggestion.reason is not Reason.ROUTER_ERROR
    assert suggestion.name in (None, "pdf-assemble", "pdf-assemble-copy")


@pytest.mark.parametrize(
    "text",
    [
        "x" * 1_000_000,
        "\ud800 merge \udfff pdfs",
        "a\x00b",
        "🙂" * 500,
        "\u202e",
        "merge " * 50_000,
    ],
)
def test_odd_requests_are_answered(router: Router, text: str) -> None:
    assert router.suggest(text).reason is not Reason.ROUTER_ERROR


def test_no_feature_is_the_length(router: Router) -> None:
    """Padding a request with blanks or repeated punctuation does not change the answer."""
    text = "merge a.pdf and b.pdf into one file"
    padded = "\n\n   " + text.replace(" ", "     ") + "   \n"
    assert router.suggest(text).ranking.top(1) == router.suggest(padded).ranking.top(1)


def test_the_shipped_encoder_gives_unit_vectors() -> None:
    encoder = load_encoder()
    assert isinstance(encoder, Encoder)
    encoded = encoder.encode(["merge two pdfs", "", "x" * 5000], 16)
    assert encoded.pooled.shape == (3, encoder.dimension)
    assert np.linalg.norm(encoded.pooled, axis=1) == pytest.approx(1.0, abs=1e-4)
    for tokens, importance in zip(encoded.tokens, encoded.importance, strict=True):
        assert tokens.shape == (len(importance), encoder.token_dimension) and len(tokens) <= 16
        assert np.linalg.norm(tokens, axis=1) == pytest.approx(1.0, abs=1e-4)
        assert float(importance.sum()) == pytest.approx(1.0, abs=1e-4)


def test_batching_does_not_change_vectors() -> None:
    encoder = load_encoder()
    texts = [f"request number {i} about " + "logs " * i for i in range(20)]
    together = encoder.encode(texts, 64).pooled
    alone = np.concatenate([encoder.encode([text], 64).pooled for text in texts])
    assert np.array_equal(together, alone)


def test_a_damaged_encoder_is_refused(tmp_path: Path) -> None:
    for name in ("encoder.json", "tokenizer.json"):
        (tmp_path / name).write_bytes((SHIPPED / name).read_bytes())
    (tmp_path / "encoder.onnx").write_bytes(b"damaged")
    with pytest.raises(EncoderError, match="sha256"):
        OnnxEncoder(tmp_path)
    with pytest.raises(EncoderError, match="not a usable encoder"):
        OnnxEncoder(tmp_path / "missing")


def test_heads_belong_to_their_encoder(tmp_path: Path) -> None:
    with pytest.raises(WeightsError, match="train heads --encoder other"):
        heads_for("other", "f" * 64)
    shipped = next(FOLDER.glob("heads-*.json"))
    with pytest.raises(WeightsError, match="was learned with the encoder"):
        heads_for("other", "f" * 64, shipped)
    assert Heads.from_file(shipped).digest == Heads.from_file(shipped).digest


@pytest.mark.parametrize(
    "damage", ["cut", "column", "node", "missing", "short", "threshold", "infinite"]
)
def test_damaged_heads_are_named(tmp_path: Path, damage: str) -> None:
    data = json.loads(next(FOLDER.glob("heads-*.json")).read_text())
    path = tmp_path / "heads.json"
    if damage == "column":
        data["wide"]["columns"][0] = "other"
    if damage == "node":
        data["fits"]["trees"]["left"][0] = 10**9
    if damage == "short":
        data["wide"]["weights"].pop()
    if damage == "threshold":
        data["thresholds"] = {"gate": 5}
    if damage == "infinite":
        data["fits"]["slope"] = float("nan")
    content = json.dumps(data)
    path.write_text(content[:-50] if damage == "cut" else content)
    if damage == "missing":
        path.unlink()
    with pytest.raises(WeightsError, match="skill-router train heads"):
        Heads.from_file(path)
