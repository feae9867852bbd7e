"""Heads can be learned where there is only the bundled roster."""

from __future__ import annotations

from collections import Counter

import pytest

from eval.train.parts import PARTS, divided, sources_for_heads
from eval.train.sources import find_sources


@pytest.mark.parametrize("parts", [2, 3, 5])
def test_parts_share_no_skill_and_no_turn(parts: int) -> None:
    source = find_sources([])[0]
    found = divided(source, parts)
    names = [name for part in found for name in part.roster.names]
    assert sorted(names) == sorted(source.roster.names)
    texts = Counter((turn.text, turn.recent_context) for turn in source.turns)
    assert Counter((t.text, t.recent_context) for part in found for t in part.turns) == texts
    for part in found:
        covered = [turn for turn in part.turns if turn.covered]
        assert all(turn.gold in part.roster for turn in covered)
        assert 0.3 <= len(covered) / len(part.turns) <= 0.8
        assert abs(len(part.roster) - len(names) / parts) < 1


def test_alone_the_bundled_roster_is_divided() -> None:
    english, all_languages = sources_for_heads([]), sources_for_heads([], languages=True)
    assert len(english) == len(all_languages) == PARTS
    assert [s.roster.digest for s in english] == [s.roster.digest for s in all_languages]
    more = sum(len(s.turns) for s in all_languages) - sum(len(s.turns) for s in english)
    assert more == 240
    languages = Counter(turn.lang for s in all_languages for turn in s.turns)
    assert min(languages[lang] for lang in ("zh", "ja", "es", "de", "fr")) >= 48
