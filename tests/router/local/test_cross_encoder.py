"""A reranker by folder: any sentence-transformers CrossEncoder, recalibrated by one command."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from roster import Roster, Skill
from router import EncoderError, Router, WeightsError
from router.cli import main
from router.local import presence
from router.local.lexical import LexicalIndex
from router.local.pair_scorer import PairScorer, load_pair_scorer
from router.local.pair_text import PairInput

if importlib.util.find_spec("sentence_transformers") is None:
    pytest.skip("needs the extra `train`", allow_module_level=True)


def cross_encoder(folder: Path, outputs: int = 1) -> Path:
    """A one-layer CrossEncoder with a vocabulary of its own."""
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers
    from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    texts = [f"{skill.name} {skill.description}" for skill in Roster.bundled()]
    tokenizer.train_from_iterator(
        texts, trainers.WordPieceTrainer(vocab_size=800, special_tokens=special)
    )
    ids = tokenizer.get_vocab()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", ids["[CLS]"]), ("[SEP]", ids["[SEP]"])],
    )  # fmt: skip
    torch.manual_seed(1)
    config = BertConfig(
        vocab_size=len(ids), hidden_size=32, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=48, max_position_embeddings=160, num_labels=outputs,
    )  # fmt: skip
    BertForSequenceClassification(config).save_pretrained(folder)
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, model_max_length=128, pad_token="[PAD]", unk_token="[UNK]",
        cls_token="[CLS]", sep_token="[SEP]",
    ).save_pretrained(folder)  # fmt: skip
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return cross_encoder(tmp_path_factory.mktemp("rerankers") / "tiny-reranker")


@pytest.fixture
def labelled(tmp_path: Path) -> Path:
    """Two rosters of four skills with a few turns each."""
    for number, topics in enumerate(
        (["kite", "boat", "lamp", "drum"], ["rose", "shoe", "tent", "tea"])
    ):
        where = tmp_path / "labelled" / f"{number:02d}"
        where.mkdir(parents=True)
        skills = [
            {"name": f"{t}-care", "description": f"Care of any {t}.", "body": f"Clean the {t}."}
            for t in topics
        ]
        turns: list[dict[str, object]] = [
            {"text": f"{verb} my {t}", "gold": f"{t}-care", "kind": "covered"}
            for t in topics for verb in ("clean", "please look after")
        ]  # fmt: skip
        turns += [
            {"text": f"what is {word} {number}?", "gold": None, "kind": "everyday"}
            for word in ("rain", "a day", "seven", "tax", "noon", "red", "iron", "luck")
        ]
        for name, rows in (("roster", skills), ("requests", turns)):
            (where / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return tmp_path / "labelled"


def asked(*texts: str) -> PairInput:
    none, absent = np.zeros((1, 96), dtype=np.float32), np.zeros((1, 4), dtype=np.float32)
    count, request = len(texts), "mend my kite"
    words = presence.asked(request, np.zeros((1, 2), dtype=np.int64), LexicalIndex.build([]))
    weight = np.ones(1, np.float32)
    return PairInput(request, none, weight, texts, [none] * count, words, [absent] * count)


def test_it_is_a_pair_scorer(folder: Path) -> None:
    scorer = load_pair_scorer(str(folder))
    assert isinstance(scorer, PairScorer)
    texts = ("kite care. mend kites", "bread. bake bread " * 300, "")
    scores = scorer.score(asked(*texts))
    assert scores.shape == (3,) and np.isfinite(scores).all()
    for text, score in zip(texts, scores, strict=True):
        assert scorer.score(asked(text))[0] == pytest.approx(float(score), abs=1e-4)
    assert scorer.score(asked()).shape == (0,)
    assert load_pair_scorer(str(folder)).digest == scorer.digest


def test_what_is_none_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(EncoderError, match="2 outputs"):
        load_pair_scorer(str(cross_encoder(tmp_path / "two", outputs=2)))
    (tmp_path / "empty").mkdir()
    with pytest.raises(EncoderError, match="CrossEncoder"):
        load_pair_scorer(str(tmp_path / "empty"))


def test_without_fits_the_command_is_named(folder: Path) -> None:
    roster = Roster.from_skills([Skill(name="kite", description="Mend kites.", body="Glue it.")])
    with pytest.raises(WeightsError, match=f"train heads --reranker {folder}"):
        Router.load(roster, reranker=str(folder))


@pytest.mark.slow
def test_one_command_recalibrates_and_its_latency_shows(
    folder: Path, tmp_path: Path, labelled: Path
) -> None:
    heads = tmp_path / "heads.json"
    arguments = ["train", "heads", "--data", str(labelled), "--reranker", str(folder),
                 "--out", str(heads)]  # fmt: skip
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    roster = labelled / "00" / "roster.jsonl"
    requests = labelled / "00" / "requests.jsonl"
    result = CliRunner().invoke(
        main,
        ["bench", "--roster", str(roster), "--requests", str(requests), "--reranker", str(folder),
         "--heads", str(heads)],
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "p50" in result.output
