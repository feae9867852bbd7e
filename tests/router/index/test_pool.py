"""Large rosters: what is found, who is named, what a change costs, and what damage does."""

from __future__ import annotations

import logging
import random
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from eval.scale.agree import compare
from roster import Roster, Skill
from router.errors import RouterError
from router.index import folder as folders
from router.index.load import load_pool
from router.index.look import Look, Whole
from router.index.pool import Pool
from router.local.heads import Linear
from router.local.index import build_index
from router.turn import Turn
from tests.router.index.conftest import WordEncoder, make_skills

Requests = Callable[[int], list[str]]


def best(look: Look, count: int = 10) -> list[str]:
    return [look.names[at] for at in np.argsort(-look.logits, kind="stable")[:count]]


def files(cache: Path, pattern: str) -> list[Path]:
    return sorted(cache.rglob(pattern))


def test_candidates_are_those_of_brute_force(
    tmp_path: Path, crowd_of_words: Roster, encoder: WordEncoder, wide: Linear, requests: Requests
) -> None:
    pool = load_pool(crowd_of_words, encoder, tmp_path)
    pool.count = 70
    turns = [
        Turn(request=text, recent_context=("karax losiy",) if at % 2 else ())
        for at, text in enumerate(requests(40))
    ]
    found = compare(pool, turns, wide)
    assert found["queries"] == found["agree"] == 40


def test_signals_are_those_of_a_small_roster(
    tmp_path: Path, crowd_of_words: Roster, encoder: WordEncoder, wide: Linear, requests: Requests
) -> None:
    pool = load_pool(crowd_of_words, encoder, tmp_path)
    whole = Whole(build_index(crowd_of_words, encoder), encoder)
    for text in requests(8):
        turn = Turn(request=f"{text} unheard-of", recent_context=("nesiz",))
        large, small = pool.look(turn, wide), whole.look(turn, wide)
        row = {name: at for at, name in enumerate(small.names)}
        wanted = small.signals.matrix[[row[name] for name in large.names]]
        difference = np.abs(large.signals.matrix - wanted).max(axis=0)
        # Dense vectors are int8 in a large index; words, n-grams and tokens are the same.
        assert (difference[:3] < 0.01).all() and (difference[3:] < 1e-5).all()


def test_copies_stand_once_and_answer_to_every_name(
    tmp_path: Path, skills: list[Skill], encoder: WordEncoder, wide: Linear
) -> None:
    copies = [skills[0].renamed(f"team-{letter}:{skills[0].name}") for letter in "ab"]
    roster = Roster.from_skills([*skills, *copies])
    pool = load_pool(roster, encoder, tmp_path)
    turn = Turn(request=skills[0].description)
    look = pool.look(turn, wide)
    assert best(look)[0] == skills[0].name
    assert not {copy.name for copy in copies} & set(look.names)
    assert {look.rows[skill.name] for skill in (skills[0], *copies)} == {0}
    loaded = turn.model_copy(update={"loaded": frozenset({copies[1].name})})
    assert best(pool.look(loaded, wide))[0] == copies[1].name


def test_skills_whose_tools_are_missing_are_not_candidates(
    tmp_path: Path, crowd_of_words: Roster, encoder: WordEncoder, wide: Linear, requests: Requests
) -> None:
    pool = load_pool(crowd_of_words, encoder, tmp_path)
    for tools in (frozenset[str](), frozenset({"shell"})):
        for text in requests(5):
            look = pool.look(Turn(request=text, allowed_tools=tools), wide)
            assert look.names
            assert all(set(crowd_of_words[name].requires) <= tools for name in look.names)


def test_any_skill_can_be_reread(
    tmp_path: Path, crowd_of_words: Roster, encoder: WordEncoder, wide: Linear
) -> None:
    pool = load_pool(crowd_of_words, encoder, tmp_path)
    pool.count = 5
    turn = Turn(request="karax losiy")
    missing = [name for name in crowd_of_words.names if name not in pool.look(turn, wide).names]
    look = pool.look(turn, wide, missing[:3])
    for name in missing[:3]:
        assert look.index.names[look.rows[name]] == name


def test_a_change_embeds_what_changed_and_writes_a_segment_for_it(
    tmp_path: Path, skills: list[Skill], encoder: WordEncoder, wide: Linear
) -> None:
    load_pool(Roster.from_skills(skills), encoder, tmp_path)
    before = {path: path.stat().st_mtime_ns for path in files(tmp_path, "segment-*")}
    encoder.encoded.clear()
    edited = skills[3].model_copy(update={"body": "rope and pulley"})
    pool = load_pool(Roster.from_skills([*skills[:3], edited, *skills[4:-1]]), encoder, tmp_path)
    assert len(encoder.encoded) == 2 and "rope and pulley" in encoder.encoded
    assert [len(segment) for segment in pool.segments] == [120, 1]
    assert all(path.stat().st_mtime_ns == at for path, at in before.items())
    assert best(pool.look(Turn(request="rope and pulley"), wide))[0] == edited.name
    assert skills[-1].name not in pool.look(Turn(request=skills[-1].description), wide).names


def test_merged_segments_are_a_fresh_index(
    tmp_path: Path, skills: list[Skill], encoder: WordEncoder, wide: Linear, requests: Requests
) -> None:
    load_pool(Roster.from_skills(skills[:80]), encoder, tmp_path)
    grown = load_pool(Roster.from_skills(skills[10:]), encoder, tmp_path)
    assert len(grown.segments) == 1
    fresh = load_pool(Roster.from_skills(skills[10:]), encoder, tmp_path / "fresh")
    for text in requests(10):
        a, b = (pool.look(Turn(request=text), wide) for pool in (grown, fresh))
        assert best(a) == best(b)
        row = {name: at for at, name in enumerate(b.names)}
        order = [row[name] for name in a.names]
        # The fixed sample is drawn by key, so it is the same one.
        assert np.allclose(a.signals.matrix, b.signals.matrix[order], atol=1e-6)


def test_many_small_changes_are_merged(
    tmp_path: Path, skills: list[Skill], encoder: WordEncoder
) -> None:
    for end in range(100, 100 + folders.MOST_SEGMENTS + 1):
        pool = load_pool(Roster.from_skills(skills[:end]), encoder, tmp_path)
    assert len(pool.segments) == 1 and len(pool) == 100 + folders.MOST_SEGMENTS


def test_the_order_of_the_roster_does_not_matter(
    tmp_path: Path, skills: list[Skill], encoder: WordEncoder, wide: Linear, requests: Requests
) -> None:
    shuffled = list(skills)
    random.Random(3).shuffle(shuffled)
    a = load_pool(Roster.from_skills(skills), encoder, tmp_path / "a")
    b = load_pool(Roster.from_skills(shuffled), encoder, tmp_path / "b")
    again = load_pool(Roster.from_skills(shuffled), encoder, tmp_path / "a")
    for text in requests(10):
        found = [pool.look(Turn(request=text), wide) for pool in (a, b, again)]
        assert best(found[0]) == best(found[1]) == best(found[2])


def test_a_reader_sees_nothing_of_a_rebuild(
    tmp_path: Path, skills: list[Skill], encoder: WordEncoder, wide: Linear, requests: Requests
) -> None:
    pool = load_pool(Roster.from_skills(skills), encoder, tmp_path)
    turns = [Turn(request=text) for text in requests(5)]
    before = [best(pool.look(turn, wide)) for turn in turns]
    load_pool(Roster.from_skills(make_skills(120, seed=5)), encoder, tmp_path)
    shutil.rmtree(tmp_path)
    assert [best(pool.look(turn, wide)) for turn in turns] == before


def test_an_open_index_is_read_without_the_lock(
    tmp_path: Path, crowd_of_words: Roster, encoder: WordEncoder
) -> None:
    from filelock import FileLock

    load_pool(crowd_of_words, encoder, tmp_path)
    (lock,) = files(tmp_path, "build.lock")
    with FileLock(lock), ThreadPoolExecutor(1) as other:
        assert other.submit(load_pool, crowd_of_words, encoder, tmp_path).result(timeout=60)


def test_processes_that_build_at_once_build_once(
    tmp_path: Path, crowd_of_words: Roster, encoder: WordEncoder
) -> None:
    with ThreadPoolExecutor(4) as threads:
        pools = list(threads.map(lambda _: load_pool(crowd_of_words, encoder, tmp_path), range(4)))
    assert len(files(tmp_path, "segment-*")) == 1
    assert len({pool.segments[0].path for pool in pools}) == 1


@pytest.mark.parametrize("pattern", ["segment-*", "pool-*.json"])
@pytest.mark.parametrize("damage", ["flip", "cut", "empty", "gone"])
def test_damage_is_noticed_and_mended(
    tmp_path: Path,
    skills: list[Skill],
    encoder: WordEncoder,
    pattern: str,
    damage: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    roster = Roster.from_skills(skills[:20])
    load_pool(roster, encoder, tmp_path)
    (path,) = files(tmp_path, pattern)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    if damage == "gone":
        path.unlink()
    else:
        path.write_bytes({"flip": bytes(data), "cut": data[:-9], "empty": b""}[damage])
    encoder.encoded.clear()
    with caplog.at_level(logging.WARNING):
        pool = load_pool(roster, encoder, tmp_path)
    assert caplog.text or damage == "gone"
    assert sorted(pool.rows) == sorted(roster.names) and encoder.encoded == []
    (again,) = files(tmp_path, "segment-*")
    assert again.read_bytes()


def test_a_damaged_batch_of_embeddings_is_embedded_again(
    tmp_path: Path, skills: list[Skill], encoder: WordEncoder, caplog: pytest.LogCaptureFixture
) -> None:
    roster = Roster.from_skills(skills[:20])
    load_pool(roster, encoder, tmp_path)
    (batch,) = files(tmp_path, "texts-*")
    batch.write_bytes(batch.read_bytes()[:-50])
    for path in files(tmp_path, "pool-*.json"):
        path.unlink()
    encoder.encoded.clear()
    with caplog.at_level(logging.WARNING):
        load_pool(roster, encoder, tmp_path)
    assert "embedded again" in caplog.text and encoder.encoded


def test_a_folder_that_cannot_be_written_is_a_clear_error(
    tmp_path: Path, crowd_of_words: Roster, encoder: WordEncoder
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    with pytest.raises(RouterError, match="SKILL_ROUTER_CACHE"):
        load_pool(crowd_of_words, encoder, blocked)


def test_an_unknown_index_is_refused(
    tmp_path: Path, crowd_of_words: Roster, encoder: WordEncoder
) -> None:
    with pytest.raises(RouterError, match="exact or milvus:URI"):
        load_pool(crowd_of_words, encoder, tmp_path, index="faiss")


def test_a_roster_without_skills_has_no_candidates(tmp_path: Path, encoder: WordEncoder) -> None:
    pool = load_pool(Roster.from_skills([]), encoder, tmp_path)
    assert isinstance(pool, Pool) and len(pool) == 0
