"""Another encoder by folder, such as a multilingual one: its heads come from one command."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from roster import Roster, Skill
from router import Reason, Router, WeightsError
from router.cli import main
from router.local.encoder import Encoder, load_encoder
from router.local.scripts import as_read

if importlib.util.find_spec("sentence_transformers") is None:
    pytest.skip("needs the extra `train`", allow_module_level=True)

TEXTS = [
    "merge two pdf files into one, please",
    "une facture pour la cliente, s'il vous plaît",
    "Bitte füll das Formular aus und schick es zurück",
    "¿puedes buscar un vuelo barato?",
    "把这两个文件合并成一个，再加上页码",
    "この録音を文字に起こしてください",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sentence-transformers model shaped like the multilingual ones: XLM-R, unigram pieces."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import Pooling, Transformer
    from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast, XLMRobertaConfig, XLMRobertaModel

    special = {"bos_token": "<s>", "pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=400, special_tokens=list(special.values()), unk_token="<unk>"
    )
    tokenizer.train_from_iterator(TEXTS * 4, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    torch.manual_seed(3)
    config = XLMRobertaConfig(
        vocab_size=tokenizer.get_vocab_size(),
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=48,
        max_position_embeddings=130,
        pad_token_id=1,
    )
    root = tmp_path_factory.mktemp("multilingual")
    body, model = root / "body", root / "tiny-multilingual"
    XLMRobertaModel(config).save_pretrained(body)
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, model_max_length=128, **special
    ).save_pretrained(body)
    words = Transformer(str(body), max_seq_length=128)
    SentenceTransformer(modules=[words, Pooling(32)], device="cpu").save(str(model))
    return model


@pytest.fixture(scope="module")
def encoder(folder: Path) -> Encoder:
    return load_encoder(str(folder))


def test_it_serves_every_script(encoder: Encoder) -> None:
    roster = Roster.from_skills([Skill(name="menu", description="菜单 menus", body="翻译")])
    assert as_read(roster, encoder) is roster
    encoded = encoder.encode(TEXTS, 96)
    assert encoded.pooled.shape == (len(TEXTS), encoder.dimension) == (len(TEXTS), 32)
    assert all(weights.sum() == pytest.approx(1.0, abs=1e-5) for weights in encoded.importance)


@pytest.mark.parametrize("side", ["left", "right"])
def test_padding_is_no_token(folder: Path, side: str) -> None:
    encoder = load_encoder(str(folder))
    encoder._model.tokenizer.padding_side = side  # type: ignore[attr-defined]
    together = encoder.encode(TEXTS, 96)
    for text, tokens in zip(TEXTS, together.tokens, strict=True):
        alone = encoder.encode([text], 96).tokens[0]
        assert alone.shape == tokens.shape
        assert np.allclose(alone, tokens, atol=1e-4)


def test_a_long_text_is_cut_to_what_the_model_takes(encoder: Encoder) -> None:
    assert len(encoder.encode(["文件 " * 3000], 160).tokens[0]) <= 128


def test_without_heads_the_command_is_named(folder: Path, pair: Roster) -> None:
    command = f"skill-router train heads --encoder {folder} --out heads.json"
    with pytest.raises(WeightsError) as raised:
        Router.load(pair, encoder=str(folder))
    assert command in str(raised.value)
    result = CliRunner().invoke(main, ["suggest", "mend my kite", "--encoder", str(folder)])
    assert result.exit_code == 1 and command in result.output


@pytest.mark.slow
def test_that_command_is_all_it_takes(folder: Path, tmp_path: Path, bundled: Roster) -> None:
    heads = tmp_path / "heads.json"
    arguments = ["train", "heads", "--encoder", str(folder), "--languages", "--out", str(heads)]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    learned = json.loads(heads.read_text())
    assert set(learned["trained_on"]["rosters"]) == {f"bundled-{part}" for part in range(3)}
    assert heads.with_suffix(".md").is_file()
    names = ("pdf-assemble", "flight-search", "git-bisect", "slack-post")
    few = Roster.from_skills([bundled[name] for name in names])
    router = Router.load(few, encoder=str(folder), heads=heads)
    assert router.suggest(TEXTS[4]).reason is not Reason.ROUTER_ERROR
    assert router.suggest("merge a.pdf and b.pdf").ranking.top(1) == ("pdf-assemble",)
    with pytest.raises(WeightsError, match="was learned with the encoder"):
        Router.load(few, heads=heads)
