"""Training, exporting and using a pair scorer, through the commands and `Router.load`."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from click.testing import CliRunner, Result

from eval.cascade.unseen import unseen
from eval.commands.train_encoder import ABOUT_PAIRS, finish
from eval.int8 import compare
from eval.train.card import write_card
from eval.train.checkpoint import FILE, checkpoint_of, load_checkpoint, load_start
from eval.train.encoder import source_digests
from eval.train.errors import TrainError
from eval.train.export import export_encoder
from eval.train.heads import train_heads, write_folds, write_heads
from eval.train.loop import Settings
from eval.train.pair_data import TokenSource, padded, token_sources
from eval.train.pair_scorer import train_pair_scorer
from eval.train.sources import find_sources
from roster import Roster
from router import Router, WeightsError
from router.cli import main
from router.local.encoder import Encoder
from router.local.heads import Heads
from router.local.judge import LocalJudge
from router.local.lexical import LexicalIndex
from router.local.onnx_encoder import OnnxEncoder
from router.local.pair_reread import pair_reread
from router.local.pair_scorer import OnnxPairScorer, load_pair_scorer
from router.local.pair_text import PairInput
from router.local.presence import asked, said
from router.turn import Turn


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["train", *map(str, arguments)])


@pytest.fixture(scope="module")
def exported(tiny: Path, labelled: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small exported encoder: what is tested here is not how good its vectors are."""
    folder = tmp_path_factory.mktemp("encoder")
    sources = find_sources([labelled], bundled=False, small_talk=False)
    start = checkpoint_of(load_start(str(tiny)), {})
    export_encoder(start, folder, "tiny-1", sources, fp32_out=folder / "fp32")
    return folder


@pytest.fixture(scope="module")
def encoder(exported: Path) -> Encoder:
    return OnnxEncoder(exported)


@pytest.fixture(scope="module")
def made(
    labelled: Path, encoder: Encoder, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Path]:
    """A trained pair scorer, its export, and heads that were learned with it."""
    root = tmp_path_factory.mktemp("pairs")
    found = {name: root / name for name in ("trained", "exported", "heads.json", "folds.json")}
    sources = find_sources([labelled], bundled=False, small_talk=False)
    encoded = token_sources(sources, encoder, {})
    settings = Settings("pair-scorer", steps=3, batch=4, learning_rate=1e-3)
    done = train_pair_scorer(
        settings, {"groups": source_digests(sources)}, found["trained"], train_on=encoded
    )
    finish(found["trained"], "pair scorer", done.made_of, done.scores, ABOUT_PAIRS)
    result = run("export", found["trained"], "--name", "pairs-1", "--out", found["exported"])
    assert result.exit_code == 0, (result.output, result.exception)
    scorer = load_pair_scorer(str(found["exported"]))
    trained = train_heads(
        sources, encoder, thinned=0, scorer=scorer, also_folds=True, report=lambda line: None
    )
    write_heads(trained.heads, found["heads.json"])
    write_folds(trained, found["folds.json"])
    write_card(trained, found["heads.json"])
    return found


def pairs(dimension: int = 96, lengths: tuple[int, ...] = (30, 7, 160)) -> PairInput:
    rng = np.random.default_rng(3)

    def unit(count: int) -> Any:
        rows = rng.standard_normal((count, dimension)).astype(np.float32)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    weights = np.full(9, 1 / 9, dtype=np.float32)
    texts = [str(length) for length in lengths]
    present = [(rng.random((9, 4)) < 0.5).astype(np.float32) for _ in lengths]
    blocks = [unit(length) for length in lengths]
    words = asked("mend it", np.zeros((9, 2), dtype=np.int64), LexicalIndex.build([]))
    return PairInput("mend it", unit(9), weights, texts, blocks, words, present)


def test_the_export_scores_as_the_checkpoint_does(made: dict[str, Path]) -> None:
    one = pairs()
    model = load_checkpoint(made["trained"]).pair_model().eval()
    count = len(one.blocks)
    request, mask = padded([one.tokens.astype(np.float16)] * count)
    importance, _ = padded([one.importance.astype(np.float16)] * count)
    present, _ = padded([rows.astype(np.float16) for rows in one.presence])
    skill, said = padded([block.astype(np.float16) for block in one.blocks])
    with torch.no_grad():
        exact = model(request, importance, present, mask, skill, said).numpy()
    scorer = OnnxPairScorer(made["exported"])
    assert scorer.name == "pairs-1"
    assert np.allclose(scorer.score(one), exact, atol=5e-3)


def test_a_score_does_not_depend_on_the_other_candidates(made: dict[str, Path]) -> None:
    scorer = load_pair_scorer(str(made["exported"]))
    one = pairs()
    together = scorer.score(one)
    for place, score in enumerate(together):
        alone = replace(one, texts=[""], blocks=[one.blocks[place]], presence=[one.presence[place]])
        assert scorer.score(alone)[0] == score


def test_the_card_names_the_data_and_no_folder(made: dict[str, Path], labelled: Path) -> None:
    for name in ("trained", "exported"):
        card = (made[name] / "card.md").read_text(encoding="utf-8")
        assert "groups" in card and str(labelled) not in card
    assert "pairs-1" in made["heads.json"].with_suffix(".md").read_text(encoding="utf-8")


def test_a_router_loads_with_the_reranker_its_heads_know(
    made: dict[str, Path], labelled: Path, encoder: Encoder, tmp_path: Path
) -> None:
    roster = Roster.from_json(labelled / "02" / "roster.jsonl")
    heads, folder = made["heads.json"], str(made["exported"])
    routers = {
        name: Router.load(roster, encoder=encoder, heads=heads, reranker=name, cache=tmp_path)
        for name in (folder, "none")
    }
    turn = Turn(request=f"my {roster.names[0].removesuffix('-care')} is dirty")
    fits = {
        name: router.judge.reread(turn, list(roster)[:3]).fits for name, router in routers.items()
    }
    assert fits[folder] and set(fits[folder]) == set(fits["none"]) and fits[folder] != fits["none"]
    assert routers[folder].suggest(turn).reason.value != "router_error"
    learned = Heads.from_file(heads)
    assert learned.reread is not None
    assert routers[folder].thresholds.fit == learned.reread.thresholds["fit"]
    assert routers["none"].thresholds.fit == learned.thresholds["fit"]


def test_heads_of_a_part_know_none_of_its_rosters(made: dict[str, Path]) -> None:
    whole = Heads.from_file(made["heads.json"])
    folds = json.loads(made["folds.json"].read_text())
    assert set(folds) == set(whole.trained_on["rosters"])
    for group, file in folds.items():
        heads = Heads.from_file(file)
        assert group not in heads.trained_on["rosters"]
        assert group not in heads.trained_on["requests"]
        assert set(heads.trained_on["rosters"]) < set(folds)
        assert heads.thresholds == whole.thresholds
        for part in ("wide", "fits", "reread"):
            learned, all_of_it = getattr(heads, part), getattr(whole, part)
            assert learned.model_dump_json() != all_of_it.model_dump_json(), part


def test_a_router_answers_with_the_heads_of_a_part(
    made: dict[str, Path], labelled: Path, encoder: Encoder
) -> None:
    source = find_sources([labelled], bundled=False, small_talk=False)[0]
    scorer = str(made["exported"])
    router = Router.load(source.roster, encoder=encoder, heads=made["heads.json"], reranker=scorer)
    file = json.loads(made["folds.json"].read_text())[source.group]
    heads = Heads.from_file(file)
    for other in (
        unseen(source.roster, heads, encoder, load_pair_scorer(scorer)),
        unseen(source.roster, heads, encoder, reranker=scorer),
    ):
        assert isinstance(other.judge, LocalJudge)
        assert other.judge.digest == heads.digest
        names = {"gate", "fit", "shortlist"}
        assert other.thresholds.model_dump(include=names) == router.thresholds.model_dump(
            include=names
        )
        said = [one.suggest(source.turns[0].turn()).ranking for one in (router, other)]
        assert said[0] != said[1]


def test_the_folder_of_the_parts_must_exist(tmp_path: Path) -> None:
    missing = tmp_path / "no" / "folds.json"
    result = run("heads", "--folds-out", missing, "--out", tmp_path / "heads.json")
    assert result.exit_code == 2
    assert "there is no folder" in result.output and "Traceback" not in result.output


def test_int8_and_fp32_are_compared_as_routers(
    made: dict[str, Path], labelled: Path, exported: Path
) -> None:
    source = find_sources([labelled], bundled=False, small_talk=False)[0]
    heads = Heads.from_file(made["heads.json"]).model_copy(update={"reread": None})
    write_heads(heads, made["heads.json"].with_name("plain.json"))
    plain = made["heads.json"].with_name("plain.json")
    found = compare(source.roster, source.turns, exported / "fp32", str(exported), plain)
    assert found["turns"] == len(source.turns)
    assert found["int8"]["covered"] == found["fp32"]["covered"] > 0
    lost = 100 * (found["fp32"]["hit_at_1"] - found["int8"]["hit_at_1"])
    assert found["points_lost"] == pytest.approx(lost, abs=0.01)
    assert found["within"] == (lost <= 0.3)
    itself = compare(source.roster, source.turns, exported, str(exported), plain)
    assert (itself["points_lost"], itself["answered_otherwise"]) == (0.0, 0)


def test_a_reranker_without_its_fits_names_the_command(
    made: dict[str, Path], labelled: Path, encoder: Encoder, tmp_path: Path
) -> None:
    roster = Roster.from_json(labelled / "02" / "roster.jsonl")
    other = tmp_path / "other"
    assert run("export", made["trained"], "--name", "b", "--out", other).exit_code == 0
    graph = (other / "pair-scorer.onnx").read_bytes() + b"\x72\x00"  # an empty field: other bytes
    card = json.loads((other / "pair-scorer.json").read_text())
    card["sha256"] = hashlib.sha256(graph).hexdigest()
    (other / "pair-scorer.onnx").write_bytes(graph)
    (other / "pair-scorer.json").write_text(json.dumps(card))
    with pytest.raises(WeightsError, match="skill-router train heads --reranker"):
        Router.load(
            roster, encoder=encoder, reranker=str(other), heads=made["heads.json"],
            cache=tmp_path / "cache",
        )  # fmt: skip


def test_a_pair_scorer_of_another_encoder_is_refused_at_load(
    made: dict[str, Path], encoder: Encoder
) -> None:
    heads = Heads.from_file(made["heads.json"])
    scorer = OnnxPairScorer(made["exported"])
    scorer.token_dimension = 12
    reread = pair_reread(heads, scorer)
    assert reread is not None
    with pytest.raises(WeightsError, match="length 12"):
        reread.check(encoder)


@pytest.mark.parametrize("damage", ["cut", "card", "missing", "empty card"])
def test_a_damaged_pair_scorer_is_one_line(
    damage: str, made: dict[str, Path], tmp_path: Path
) -> None:
    folder = tmp_path / "damaged"
    folder.mkdir()
    for file in ("pair-scorer.onnx", "pair-scorer.json"):
        (folder / file).write_bytes((made["exported"] / file).read_bytes())
    if damage == "cut":
        graph = (folder / "pair-scorer.onnx").read_bytes()
        (folder / "pair-scorer.onnx").write_bytes(graph[: len(graph) // 2])
    elif damage == "card":
        (folder / "pair-scorer.json").write_text("{")
    elif damage == "empty card":
        (folder / "pair-scorer.json").write_text("{}")
    else:
        (folder / "pair-scorer.json").unlink()
    result = CliRunner().invoke(main, ["suggest", "mend my kite", "--reranker", str(folder)])
    assert result.exit_code == 1 and "Traceback" not in result.output
    assert "pair" in result.output and len(result.output.strip().splitlines()) <= 6


def test_a_pair_scorer_is_no_encoder(made: dict[str, Path], tmp_path: Path) -> None:
    checkpoint = load_checkpoint(made["trained"])
    with pytest.raises(TrainError, match="pair scorer"):
        checkpoint.model()
    result = run("average", made["trained"], made["trained"], "--out", tmp_path / "mean")
    assert result.exit_code == 1 and "pair scorer" in result.output


class StopHereError(Exception):
    pass


def test_a_run_that_was_killed_ends_as_one_that_was_not(
    labelled: Path, encoder: Encoder, tmp_path: Path
) -> None:
    sources = token_sources(find_sources([labelled], bundled=False, small_talk=False), encoder, {})
    settings = Settings("pair-scorer", steps=6, batch=4, learning_rate=1e-3, seed=5)

    def train(out: str, stop: int | None = None) -> Any:
        def on_step(step: int, choice: float, single: float) -> None:
            seen.append(step)
            if step == stop:
                raise StopHereError

        seen: list[int] = []
        done = train_pair_scorer(
            settings, {"encoder": encoder.digest}, tmp_path / out, every=2, on_step=on_step,
            train_on=sources[:2], score_on=sources[2:],
        )  # fmt: skip
        return done, seen

    whole, _ = train("whole")
    with pytest.raises(StopHereError):
        train("killed", stop=5)
    torch.rand(7)  # what happens in between is no matter
    resumed, seen = train("killed")
    assert seen == [5, 6]
    assert resumed.scores == whole.scores and resumed.made_of == whole.made_of
    for name, value in whole.weights.items():
        torch.testing.assert_close(resumed.weights[name], value, rtol=0, atol=0)
    assert (tmp_path / "killed" / FILE).is_file()


def test_it_learns_to_tell_the_right_skill_from_others(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)

    def source(group: str) -> TokenSource:
        skills = [rng.standard_normal((12, 16)) for _ in range(30)]
        skills = [rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in skills]
        gold = list(range(30))
        requests = [skills[row][rng.choice(12, 4)] for row in gold]
        requests[20:] = [rng.standard_normal((4, 16)) / 4.0 for _ in gold[20:]]
        others = [[int(r) for r in rng.permutation(30) if r != row][:8] for row in gold]
        return TokenSource(
            group,
            [rows.astype(np.float16) for rows in skills],
            [rows.astype(np.float16) for rows in requests],
            [np.full(4, 0.25, dtype=np.float16)] * 30,
            [asked("", np.zeros((4, 2), dtype=np.int64), LexicalIndex.build([]))] * 30,
            [said("", "")] * 30,
            gold[:20] + [-1] * 10,
            [-1] * 30,
            others,
        )

    settings = Settings("pair-scorer", steps=40, batch=8, learning_rate=2e-3, seed=1)
    done = train_pair_scorer(
        settings, {}, tmp_path, train_on=[source("a"), source("b")], score_on=[source("c")]
    )
    assert done.scores["first"] > 0.8
