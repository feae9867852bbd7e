"""The index cache: reuse, damage, other versions, folders that cannot be written."""

from __future__ import annotations

import logging
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from roster import Roster, Skill
from router.local.cache import IndexCache, cache_folder
from router.local.encoder import load_encoder
from router.local.index import SkillIndex
from tests.router.fakes import HashEncoder


def roster(*bodies: str) -> Roster:
    return Roster.from_skills(
        Skill(name=f"skill-{i}", description=f"does thing {i}", body=body)
        for i, body in enumerate(bodies)
    )


def same(a: SkillIndex, b: SkillIndex) -> bool:
    return (
        a.names == b.names
        and np.array_equal(a.documents, b.documents)
        and np.array_equal(a.passages, b.passages)
        and np.array_equal(a.tokens, b.tokens)
        and np.array_equal(a.word.weights, b.word.weights)
        and np.array_equal(a.char.vocabulary, b.char.vocabulary)
    )


def test_a_second_load_encodes_nothing_and_is_the_same(tmp_path: Path) -> None:
    skills = roster("boil water", "cut wood")
    built = IndexCache(tmp_path, HashEncoder()).load_or_build(skills)
    again = HashEncoder()
    assert same(IndexCache(tmp_path, again).load_or_build(skills), built)
    assert again.encoded == []


def test_a_changed_skill_is_encoded_alone(tmp_path: Path) -> None:
    IndexCache(tmp_path, HashEncoder()).load_or_build(roster("boil water", "cut wood", "sew"))
    encoder = HashEncoder()
    changed = roster("boil water", "saw planks", "sew")
    index = IndexCache(tmp_path, encoder).load_or_build(changed)
    assert encoder.encoded and all("1" in text or "saw" in text for text in encoded_once(encoder))
    assert same(index, IndexCache(tmp_path / "fresh", HashEncoder()).load_or_build(changed))


def encoded_once(encoder: HashEncoder) -> set[str]:
    return set(encoder.encoded)


def test_progress_counts_skills(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    cache = IndexCache(tmp_path, HashEncoder())
    cache.load_or_build(
        roster(*map(str, range(70))), lambda done, total: seen.append((done, total))
    )
    assert seen[-1] == (70, 70) and len(seen) > 1


@pytest.mark.parametrize("position", [0, 1, 50, 500, -1, -30, -200])
def test_a_flipped_byte_is_noticed_and_mended(
    tmp_path: Path, position: int, caplog: pytest.LogCaptureFixture
) -> None:
    skills = roster("boil water", "cut wood")
    cache = IndexCache(tmp_path, HashEncoder())
    built = cache.load_or_build(skills)
    path = cache.path(skills)
    data = bytearray(path.read_bytes())
    data[position] ^= 0xFF
    path.write_bytes(bytes(data))
    with caplog.at_level(logging.WARNING):
        assert same(cache.load_or_build(skills), built)
    assert same(IndexCache(tmp_path, HashEncoder()).load_or_build(skills), built)


@pytest.mark.parametrize("content", [b"", b"not a zip", b"PK\x03\x04 cut"])
def test_a_damaged_file_is_rebuilt(tmp_path: Path, content: bytes) -> None:
    skills = roster("boil water")
    cache = IndexCache(tmp_path, HashEncoder())
    built = cache.load_or_build(skills)
    cache.path(skills).write_bytes(content)
    assert same(cache.load_or_build(skills), built)


def test_a_file_of_another_format_is_rebuilt(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    skills = roster("boil water")
    cache = IndexCache(tmp_path, HashEncoder())
    cache.load_or_build(skills)
    path = cache.path(skills)
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    arrays["format"] = np.array([999])
    with path.open("wb") as out:
        np.savez(out, **arrays)
    with caplog.at_level(logging.WARNING):
        cache.load_or_build(skills)
    assert "format 999" in caplog.text


def test_arrays_that_do_not_fit_together_are_rebuilt(tmp_path: Path) -> None:
    skills = roster("boil water", "cut wood")
    cache = IndexCache(tmp_path, HashEncoder())
    built = cache.load_or_build(skills)
    path = cache.path(skills)
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    arrays["documents"] = arrays["documents"][:1]
    with path.open("wb") as out:
        np.savez(out, **arrays)
    assert same(cache.load_or_build(skills), built)


def test_a_pickle_in_the_cache_is_never_loaded(tmp_path: Path) -> None:
    skills = roster("boil water")
    cache = IndexCache(tmp_path, HashEncoder())
    built = cache.load_or_build(skills)
    with cache.path(skills).open("wb") as out:
        np.savez(out, names=np.array([object()], dtype=object))
    assert same(cache.load_or_build(skills), built)


def test_a_folder_that_cannot_be_written_costs_the_cache_only(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    blocked = tmp_path / "a-file"
    blocked.write_text("not a folder")
    with caplog.at_level(logging.WARNING):
        index = IndexCache(blocked, HashEncoder()).load_or_build(roster("boil water"))
    assert len(index) == 1 and "cannot be used" in caplog.text


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes to read-only folders")
def test_a_read_only_folder(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    assert len(IndexCache(tmp_path, HashEncoder()).load_or_build(roster("boil water"))) == 1


def test_no_temporary_file_stays(tmp_path: Path) -> None:
    IndexCache(tmp_path, HashEncoder()).load_or_build(roster("boil water"))
    assert not list(tmp_path.rglob("*.tmp"))


def test_racing_builders_agree(tmp_path: Path) -> None:
    skills = roster(*map(str, range(12)))
    with ThreadPoolExecutor(6) as pool:
        built = list(
            pool.map(lambda _: IndexCache(tmp_path, HashEncoder()).load_or_build(skills), range(6))
        )
    assert all(same(built[0], other) for other in built)


def test_where_the_cache_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SKILL_ROUTER_CACHE", str(tmp_path))
    assert cache_folder() == tmp_path
    assert cache_folder("elsewhere") == Path("elsewhere")
    monkeypatch.delenv("SKILL_ROUTER_CACHE")
    assert cache_folder().name == "skill-router"


def test_old_indexes_are_cleared_away(tmp_path: Path) -> None:
    cache = IndexCache(tmp_path, HashEncoder())
    for i in range(20):
        cache.load_or_build(roster(f"body {i}"))
    assert len(list(tmp_path.rglob("*.npz"))) == 16


def test_a_category_from_the_folder_counts(tmp_path: Path) -> None:
    encoder = HashEncoder()
    cache = IndexCache(tmp_path, encoder)
    skill = Skill(name="a", description="does a", body="b", digest="1" * 64)
    moved = skill.model_copy(update={"category": "kitchen"})
    paths = {cache.path(Roster.from_skills([one])) for one in (skill, moved)}
    assert len(paths) == 2


def test_growing_a_roster_gives_the_index_that_building_it_at_once_gives(
    tmp_path: Path, bundled: Roster
) -> None:
    """With the shipped encoder: a text's vectors do not depend on what was encoded beside it."""
    encoder = load_encoder()
    skills = list(bundled)[:9]
    grown = IndexCache(tmp_path / "grown", encoder)
    for count in (3, 6, 9):
        index = grown.load_or_build(Roster.from_skills(skills[:count]))
    at_once = IndexCache(tmp_path / "once", encoder).load_or_build(Roster.from_skills(skills))
    assert same(index, at_once)


def test_the_same_bytes_with_other_text_are_encoded_anew(tmp_path: Path) -> None:
    skill = Skill(name="a", description="does a", body="long " * 400, digest="1" * 64)
    copy = skill.model_copy(update={"body": "short"})
    cache = IndexCache(tmp_path, HashEncoder())
    cache.load_or_build(Roster.from_skills([skill]))
    index = cache.load_or_build(Roster.from_skills([copy]))
    assert same(
        index, IndexCache(tmp_path / "n", HashEncoder()).load_or_build(Roster.from_skills([copy]))
    )


def test_an_old_index_still_spares_encoding(tmp_path: Path) -> None:
    IndexCache(tmp_path, HashEncoder()).load_or_build(roster("boil water", "cut wood"))
    for i in range(6):
        IndexCache(tmp_path, HashEncoder()).load_or_build(roster(f"other {i}"))
    encoder = HashEncoder()
    IndexCache(tmp_path, encoder).load_or_build(roster("boil water", "saw planks"))
    assert encoder.encoded and not any("boil" in text for text in encoder.encoded)


def test_every_flipped_byte_of_the_directory_is_survived(tmp_path: Path) -> None:
    skills = roster("boil water")
    cache = IndexCache(tmp_path, HashEncoder())
    built = cache.load_or_build(skills)
    path = cache.path(skills)
    good = path.read_bytes()
    for position in range(len(good) - 300, len(good), 3):
        path.write_bytes(good[:position] + bytes([good[position] ^ 0x63]) + good[position + 1 :])
        assert same(cache.load_or_build(skills), built)


def test_numbers_that_make_no_sense_are_rebuilt(tmp_path: Path) -> None:
    skills = roster("boil water", "cut wood")
    cache = IndexCache(tmp_path, HashEncoder())
    built = cache.load_or_build(skills)
    path = cache.path(skills)
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    for name, value in (("documents", np.nan), ("word.rows", 99), ("token_starts", -5)):
        bad = {key: array.copy() for key, array in arrays.items()}
        bad[name].flat[0] = value
        with path.open("wb") as out:
            np.savez(out, **bad)
        assert same(cache.load_or_build(skills), built)
