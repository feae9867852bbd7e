"""A map of the roster: one self-contained page, no other file, no network."""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eval.doctor.records import Finding, Report
from roster import Roster
from roster.text import encodable, visible

MAX_TSNE = 5_000
"""Largest roster that is laid out by t-SNE; a larger one by its two principal components."""

_MIN_TSNE = 10
_COLOURS = ("#3366aa", "#cc6633", "#2e8b57", "#a33a8f", "#b8860b", "#b03030", "#208a95", "#6b57b8",
            "#7a8b2b", "#c24f7d", "#4f7ea8", "#8a5a3c")  # fmt: skip
_OTHER = "#8d8c87"
_MOST_PAIRS = 600
_MOST_FINDINGS = 3_000


def project(vectors: NDArray[np.float32]) -> NDArray[np.float64]:
    """Two coordinates a skill, 0..1, such that alike skills lie close.

    Args:
        vectors: Unit vectors, shape (n, d).

    Returns:
        Shape (n, 2): t-SNE (van der Maaten and Hinton 2008) of the cosine distances, started from
        the principal components; the components alone for few skills or very many. The same
        vectors always give the same map.
    """
    count = len(vectors)
    if count < 2:
        return np.full((count, 2), 0.5)
    centred = vectors - vectors.mean(axis=0)
    if _MIN_TSNE <= count <= MAX_TSNE:
        from sklearn.manifold import TSNE

        model = TSNE(
            n_components=2,
            init="pca",
            metric="cosine",
            perplexity=min(30.0, (count - 1) / 3),
            random_state=0,
            n_jobs=2,
        )
        placed = np.asarray(model.fit_transform(vectors), dtype=np.float64)
    else:
        u, s, _ = np.linalg.svd(centred.astype(np.float64), full_matrices=False)
        placed = u[:, :2] * s[:2]
        if placed.shape[1] < 2:
            placed = np.column_stack([placed, np.zeros(count)])
    low, high = placed.min(axis=0), placed.max(axis=0)
    scaled: NDArray[np.float64] = (placed - low) / np.maximum(high - low, 1e-9)
    return scaled


def render_map(roster: Roster, report: Report, vectors: NDArray[np.float32]) -> str:
    """The map as HTML text.

    Skills are dots, coloured by category; a line joins two that are easily confused. Whatever a
    skill says is escaped, and the page's content security policy runs its own script alone.

    Args:
        roster: The roster.
        report: Its report.
        vectors: Unit vectors of its skills, as `eval.doctor.examine.examine` returns them.

    Raises:
        ImportError: If jinja2 is not installed.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    folder = Path(__file__).parent
    environment = Environment(
        loader=FileSystemLoader(folder), autoescape=True, undefined=StrictUndefined
    )
    script = (folder / "map.js").read_text(encoding="utf-8")
    places = project(vectors)
    at = {
        name: (round(20 + 960 * float(x), 1), round(20 + 640 * float(y), 1))
        for name, (x, y) in zip(roster.names, places, strict=True)
    }
    categories = Counter(skill.category for skill in roster)
    colours = dict(zip((c for c, _ in categories.most_common()), _COLOURS, strict=False))
    per_skill = Counter(finding.skill for finding in report.findings)
    dots = [
        {
            "name": skill.name,
            "category": skill.category,
            "description": encodable(" ".join(skill.description.split())[:200]),
            "colour": colours.get(skill.category, _OTHER),
            "x": at[skill.name][0],
            "y": at[skill.name][1],
            "findings": per_skill[skill.name],
        }
        for skill in roster
    ]
    pairs = [
        {**pair.model_dump(), "a": at[pair.first], "b": at[pair.second]}
        for pair in report.pairs[:_MOST_PAIRS]
    ]
    return environment.get_template("map.html").render(
        report=report,
        dots=dots,
        pairs=pairs,
        more_pairs=len(report.pairs) - len(pairs),
        legend=[(name, colours.get(name, _OTHER), n) for name, n in categories.most_common(12)],
        more_categories=max(len(categories) - 12, 0),
        other=_OTHER,
        findings=_rows(report.findings),
        more_findings=max(len(report.findings) - _MOST_FINDINGS, 0),
        script=Markup(script),
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )


def _rows(findings: Sequence[Finding]) -> list[dict[str, Any]]:
    return [
        {
            "code": finding.code,
            "skill": finding.skill,
            "other": finding.other,
            "message": visible(encodable(finding.message)),
            "remedy": visible(encodable(finding.remedy)),
        }
        for finding in findings[:_MOST_FINDINGS]
    ]
