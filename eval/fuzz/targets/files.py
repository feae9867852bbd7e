"""Small files a user writes: thresholds, prices, costs, variants, judge settings, templates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

from eval.agents.prices import price_of
from eval.agents.protocol import AgentError
from eval.cost.reading import CostError, read_procedures
from eval.fuzz.generate import Random, dumped, record, text, value
from eval.fuzz.light import small_roster
from eval.fuzz.target import Target, clean, require
from eval.sensitivity import SensitivityError
from eval.sensitivity.variants import read_variants
from router.block import BlockTemplate, suggestion_block
from router.cascade import Band
from router.errors import RouterError
from router.local.heads import FOLDER, Heads
from router.systemone.wording import Wording
from router.thresholds import Thresholds

_THRESHOLDS = b'gate = 0.2\nfit = 0.26\nshortlist = 3\nexcerpt = 700\nroster_digest = "ab"\n'
_PRICES = b'["some-model"]\ninput = 1.0\noutput = 5.0\ncache_read = 0.1\n'
_COSTS = (
    b'calls_per_day = 10\n[[procedure]]\nname = "a"\ntokens = 900\nshare = 0.2\n'
    b'[[procedure]]\nname = "b"\ntokens = 10\nshare = 0.1\n'
)
_VARIANTS = (
    b'[[variant]]\nname = "v"\nshuffle = 3\n[[variant]]\nname = "w"\n'
    b'[variant.descriptions]\nkite-repair = "Mend."\n'
)
_NUMBERS = ("0.2", "-1", "nan", "inf", "1e400", "9" * 4_400, "0x_1", "true", '"x"', "[1, 2]",
            "{a = 1}", "1979-05-27", "'''\n'''", "[" * 500, "")  # fmt: skip


def targets(place: Path, stack: ExitStack) -> list[Target]:
    """The targets of this module."""
    roster = small_roster()

    def reading(
        name: str, read: Callable[[Path], object], errors: type[Exception]
    ) -> Callable[[bytes], bool]:
        file = place / name

        def feed(data: bytes) -> bool:
            file.write_bytes(data)
            try:
                read(file)
            except errors as error:
                return clean(error, file.name)
            return True

        return feed

    def thresholds(file: Path) -> None:
        found = Thresholds.from_toml(file)
        copy = file.with_name("copy.toml")
        copy.write_text(found.to_toml(), encoding="utf-8")
        require(Thresholds.from_toml(copy) == found, "thresholds that change when written")

    def template(file: Path) -> None:
        made = BlockTemplate.from_files(file)
        require("kite-repair" in suggestion_block("kite-repair", made), "a block without the name")

    wording = Wording.load().model_dump_json().encode()
    band = Band.load().model_dump_json().encode()
    heads = (FOLDER / "heads-skill-router.json").read_bytes()
    return [
        _toml("thresholds-toml", 8, _THRESHOLDS, reading("t.toml", thresholds, RouterError)),
        _toml("prices-toml", 2, _PRICES,
              reading("p.toml", lambda file: price_of("some-model-2", file), AgentError)),
        _toml("cost-toml", 2, _COSTS, reading("c.toml", read_procedures, CostError)),
        _toml("variants-toml", 2, _VARIANTS,
              reading("v.toml", lambda file: read_variants(file, roster), SensitivityError)),
        _json("band-json", 2, [band], tuple(Band.model_fields),
              reading("band.json", Band.load, RouterError)),
        _json("wording-json", 2, [wording], tuple(Wording.model_fields),
              reading("wording.json", Wording.load, RouterError)),
        Target("block-template", 1, [b"Load {name} now"],
               lambda r: text(r).encode("utf-8", "replace"),
               reading("block.txt", template, RouterError)),
        Target("heads-file", 1, [heads], lambda r: dumped(r, value(r, tuple(Heads.model_fields))),
               reading("heads.json", Heads.from_file, RouterError)),
    ]  # fmt: skip


def _toml(name: str, share: int, seed: bytes, feed: Callable[[bytes], bool]) -> Target:
    keys = [line.split(b"=")[0].strip().decode() for line in seed.split(b"\n") if b"=" in line]

    def build(random: Random) -> bytes:
        lines = []
        for _ in range(random.randrange(6)):
            key = random.choice((*keys, "x", '"\u00fc"', "a.b.c", ""))
            lines.append(f"{key} = {random.choice(_NUMBERS)}")
        if random.random() < 0.4:
            lines[:0] = seed.decode().split("\n")[:3]
        return "\n".join(lines).encode("utf-8", "surrogatepass")

    return Target(name, share, [seed], build, feed)


def _json(
    name: str,
    share: int,
    seeds: Sequence[bytes],
    keys: Sequence[str],
    feed: Callable[[bytes], bool],
) -> Target:
    fields = {key: (lambda r: value(r, keys)) for key in keys}
    return Target(name, share, seeds, lambda r: dumped(r, record(r, fields, keys)), feed)
