"""Small material for every stage: forty skills, three labelled rosters, a one-layer encoder."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from roster import Roster

TOPICS = [
    "kite", "bread", "chess", "boat", "rose", "clock", "shoe", "drum", "lamp", "tent",
    "piano", "tea", "bike", "soap", "wine", "map", "knife", "scarf", "radio", "coin",
]  # fmt: skip
DEEDS = ["mend", "choose"]
STUFF = ["leather", "copper", "cotton", "glue", "glass"]

SKILL = """---
name: {deed}-{topic}
description: Helps to {deed} a {topic} for the household. Use when the user asks to {deed} an old
  {topic} quickly, or says "please {deed} my {topic} today".
---

# {deed} {topic}

## When to use

- User wants to {deed} the {topic} before the guests arrive
- The {topic} of a neighbour is in a bad way

## Steps

Look at the {topic} in daylight and write down what you see. Ask how it was used and for how long.
Then {deed} the {topic} in small steps, and show each step. Keep all parts of the {topic} in a box.

## Materials

Get {stuff}, test the {stuff}, cut the {stuff}, store the {stuff} and throw old {stuff} away; if the
{stuff} is bad, buy other {stuff}, and note which {stuff} it was.
"""


def skill_text(deed: str, topic: str) -> str:
    stuff = STUFF[TOPICS.index(topic) % len(STUFF)]
    return SKILL.format(deed=deed, topic=topic, stuff=stuff)


@pytest.fixture(scope="package")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("archive")
    for deed in DEEDS:
        for topic in TOPICS:
            folder = root / f"someone--{deed}-{topic}"
            folder.mkdir()
            (folder / "SKILL.md").write_text(skill_text(deed, topic), encoding="utf-8")
    return root


@pytest.fixture(scope="package")
def labelled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three rosters of six skills with twelve turns each, in folders 00, 01 and 02."""
    root = tmp_path_factory.mktemp("labelled")
    for number in range(3):
        topics = TOPICS[number * 6 : number * 6 + 6]
        folder = root / f"{number:02d}"
        folder.mkdir()
        skills = [
            {"name": f"{t}-care", "description": f"Care of any {t}", "body": f"Clean the {t}."}
            for t in topics
        ]
        turns = [{"text": f"my {t} is dirty", "gold": f"{t}-care", "kind": "covered"}
                 for t in topics]  # fmt: skip
        turns += [
            {"text": f"sell my {topics[0]}", "gold": None, "kind": "near_miss",
             "near": f"{topics[0]}-care"},
            {"text": f"how would one care for a {topics[1]}?", "gold": None, "kind": "how_would"},
            {"text": "what is the weather", "gold": None, "kind": "everyday"},
            {"text": f"which of these is number {number}?", "gold": None, "kind": "meta"},
        ]  # fmt: skip
        for name, rows in (("roster", skills), ("requests", turns)):
            (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return root


@pytest.fixture(scope="package")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a one-layer BERT and a tokenizer that pads and cuts, as published ones do."""
    torch = pytest.importorskip("torch")
    from tokenizers import Tokenizer
    from tokenizers.models import WordPiece
    from tokenizers.normalizers import BertNormalizer
    from tokenizers.pre_tokenizers import BertPreTokenizer
    from tokenizers.processors import TemplateProcessing
    from tokenizers.trainers import WordPieceTrainer
    from transformers import BertConfig, BertModel

    tokenizer = Tokenizer(WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = BertNormalizer()
    tokenizer.pre_tokenizer = BertPreTokenizer()
    texts = [f"{skill.description} {skill.body}" for skill in Roster.bundled()]
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    tokenizer.train_from_iterator(
        texts,
        WordPieceTrainer(vocab_size=3000, special_tokens=special, show_progress=False),
    )
    ids = tokenizer.get_vocab()
    tokenizer.post_processor = TemplateProcessing(
        "[CLS] $A [SEP]", special_tokens=[("[CLS]", ids["[CLS]"]), ("[SEP]", ids["[SEP]"])]
    )
    tokenizer.enable_truncation(16)
    tokenizer.enable_padding(length=16)
    folder = tmp_path_factory.mktemp("tiny")
    tokenizer.save(str(folder / "tokenizer.json"))
    torch.manual_seed(0)
    body = BertModel(
        BertConfig(
            vocab_size=len(ids),
            hidden_size=32,
            num_hidden_layers=1,
            num_attention_heads=2,
            intermediate_size=48,
            max_position_embeddings=192,
        )
    )
    body.save_pretrained(folder)
    return folder


@pytest.fixture(scope="package")
def pairs_file(archive: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    from eval.train.pairs import mine_pairs, write_pairs

    path = tmp_path_factory.mktemp("pairs") / "pairs.jsonl"
    write_pairs(mine_pairs(archive).skills, path)
    return path
