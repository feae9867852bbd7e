"""Training, averaging and exporting an encoder, through the commands."""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from click.testing import CliRunner, Result

from eval.train.checkpoint import FILE, average, load_checkpoint
from eval.train.encoder import train_encoder
from eval.train.errors import TrainError
from eval.train.loop import Settings
from eval.train.sources import find_sources
from router.cli import main
from router.local.encoder import load_encoder


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["train", *map(str, arguments)])


def encoder(stage: str, pairs: Path, init: Path, out: Path, *more: object) -> Result:
    return run(
        "encoder", "--stage", stage, "--pairs", pairs, "--init", init, "--out", out,
        "--steps", 2, "--batch", 6, "--threads", 1, *more,
    )  # fmt: skip


@pytest.fixture(scope="module")
def stages(
    pairs_file: Path, tiny: Path, labelled: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Path]:
    """Folders of the first stage, two second stages, their average and its export."""
    root = tmp_path_factory.mktemp("stages")
    made = {name: root / name for name in ("first", "a", "b", "mean", "shipped")}
    done = [encoder("pairs", pairs_file, tiny, made["first"])]
    for name, group in (("a", "00"), ("b", "0[12]")):
        done.append(
            encoder("labelled", pairs_file, made["first"], made[name], "--data", labelled,
                    "--groups", group)
        )  # fmt: skip
    done.append(run("average", made["a"], made["b"], "--out", made["mean"]))
    done.append(run("export", made["mean"], "--name", "tiny-1", "--out", made["shipped"]))
    for result in done:
        assert result.exit_code == 0, (result.output, result.exception)
        assert 0 <= json.loads(result.stdout).get("pooled_hit_at_1", 0) <= 1
    return made


def test_every_stage_leaves_a_card_with_digests_and_scores(stages: dict[str, Path]) -> None:
    digest = load_checkpoint(stages["first"]).made_of["pairs"]
    for name, folder in stages.items():
        card = (folder / "card.md").read_text(encoding="utf-8")
        assert digest in card and "pooled_hit_at_1" in card, name
        assert str(folder.parent) not in card
    assert set(load_checkpoint(stages["b"]).made_of["groups"]) == {"01", "02"}


def test_training_moves_all_but_the_word_embeddings(stages: dict[str, Path]) -> None:
    first, second = load_checkpoint(stages["first"]).weights, load_checkpoint(stages["a"]).weights
    same = {name for name in first if torch.equal(first[name], second[name])}
    assert "body.embeddings.word_embeddings.weight" in same
    assert all("word_embeddings" in name or "pooler" in name for name in same)


def test_the_average_lies_halfway(stages: dict[str, Path]) -> None:
    one, two, mean = (load_checkpoint(stages[n]).weights for n in ("a", "b", "mean"))
    for name, value in mean.items():
        torch.testing.assert_close(value, (one[name] + two[name]) / 2, rtol=0, atol=0)


def test_only_siblings_are_averaged(stages: dict[str, Path]) -> None:
    result = run("average", stages["first"], stages["a"], "--out", stages["a"].parent / "none")
    assert result.exit_code == 1 and "--init" in result.output
    one, two = load_checkpoint(stages["a"]), load_checkpoint(stages["b"])
    two.weights["projection.weight"] = torch.zeros(3, 3)
    with pytest.raises(TrainError, match="bodies"):
        average(one, two)


def test_the_export_declares_its_scripts(stages: dict[str, Path]) -> None:
    card = json.loads((stages["shipped"] / "encoder.json").read_text())
    assert sorted(card["scripts"]) == ["greek", "latin"]


def test_the_export_gives_the_vectors_of_the_checkpoint(stages: dict[str, Path]) -> None:
    shipped = load_encoder(str(stages["shipped"]))
    card = json.loads((stages["shipped"] / "encoder.json").read_text())
    assert (card["name"], card["dimension"], card["token_dimension"]) == ("tiny-1", 32, 96)
    assert card["sha256"] == shipped.digest and card["cosine_int8_fp32_least"] > 0.95
    tokenizer = json.loads((stages["shipped"] / "tokenizer.json").read_text())
    assert tokenizer["padding"] is None and tokenizer["truncation"] is None
    texts = ["mend my kite", "", "a boat " * 400, "日本語"]
    exact = load_checkpoint(stages["mean"]).model().encode(texts, 48)
    found = shipped.encode(texts, 48)
    assert ((exact.pooled * found.pooled).sum(axis=1) > 0.95).all()
    for one, two, its in zip(exact.tokens, found.tokens, found.importance, strict=True):
        assert one.shape == two.shape and its.sum() == pytest.approx(1, abs=1e-4)
        assert np.mean((one * two).sum(axis=1)) > 0.9


class StopHereError(Exception):
    pass


@pytest.mark.parametrize("stage", ["pairs", "labelled"])
def test_a_run_that_was_killed_ends_as_one_that_was_not(
    stage: str, pairs_file: Path, tiny: Path, labelled: Path, tmp_path: Path
) -> None:
    rosters = find_sources([labelled], bundled=False, small_talk=False)
    settings = Settings(stage, steps=6, batch=6, learning_rate=1e-3, seed=5)

    def train(out: str, stop: int | None = None) -> Any:
        def on_step(step: int, pooled: float, late: float) -> None:
            seen.append(step)
            if step == stop:
                raise StopHereError

        seen: list[int] = []
        done = train_encoder(
            settings, pairs_file, str(tiny), tmp_path / out, every=2, on_step=on_step,
            train_on=rosters[:2] if stage == "labelled" else (), score_on=rosters[2:],
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
    again, seen = train("killed")
    assert seen == [] and again.scores == whole.scores


def test_another_run_is_not_gone_on_with(
    stages: dict[str, Path], pairs_file: Path, tiny: Path
) -> None:
    before = (stages["first"] / FILE).read_bytes()
    result = encoder("pairs", pairs_file, tiny, stages["first"], "--seed", 9)
    assert result.exit_code == 1 and "seed" in result.output and "--out" in result.output
    assert (stages["first"] / FILE).read_bytes() == before


class Harmful:
    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return (os.system, ("touch harmed",))


@pytest.mark.parametrize("kind", ["empty", "text", "cut", "pickle", "other"])
def test_a_damaged_or_hostile_checkpoint_is_one_line(
    kind: str, stages: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "bad.pt"
    if kind == "pickle":
        path.write_bytes(pickle.dumps(Harmful(), protocol=2))
    elif kind == "other":
        torch.save({"format": "another"}, path)
    else:
        whole = (stages["mean"] / FILE).read_bytes()
        path.write_bytes({"empty": b"", "text": b"hello", "cut": whole[: len(whole) // 2]}[kind])
    result = run("export", path, "--out", tmp_path / "out")
    assert result.exit_code == 1 and "bad.pt" in result.output
    assert "Traceback" not in result.output and not (tmp_path / "harmed").exists()


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (["--init", "nowhere"], "nowhere"),
        (["--batch", 500], "--batch"),
        (["--learning-rate", "nan"], "range"),
        (["--groups", "00"], "--groups"),
        (["--stage", "labelled"], "--data"),
        (["--learning-rate", 1, "--steps", 40, "--init", "BROKEN"], "BROKEN"),
    ],
)
def test_wrong_options_are_one_line(
    more: list[object], says: str, pairs_file: Path, tiny: Path, tmp_path: Path
) -> None:
    result = encoder("pairs", pairs_file, tiny, tmp_path / "out", *more)
    assert result.exit_code in (1, 2) and says in result.output
    assert isinstance(result.exception, SystemExit)


@pytest.mark.slow
def test_a_process_that_was_killed_goes_on(pairs_file: Path, tiny: Path, tmp_path: Path) -> None:
    def command(out: str) -> list[str]:
        return [
            sys.executable, "-m", "router.start", "train", "encoder", "--stage", "pairs",
            "--pairs", str(pairs_file), "--init", str(tiny), "--out", str(tmp_path / out),
            "--steps", "200", "--batch", "12", "--threads", "1", "--checkpoint-every", "5",
        ]  # fmt: skip

    killed = subprocess.Popen(command("killed"), stderr=subprocess.DEVNULL)
    while not (tmp_path / "killed" / FILE).exists():
        assert killed.poll() is None
        time.sleep(0.02)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    assert not load_checkpoint(tmp_path / "killed").scores
    for out in ("killed", "whole"):
        subprocess.run(command(out), check=True, capture_output=True)
    one, two = load_checkpoint(tmp_path / "killed"), load_checkpoint(tmp_path / "whole")
    assert one.digest == two.digest and one.scores == two.scores
