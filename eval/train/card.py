"""The model card that lies beside a heads file."""

from __future__ import annotations

from pathlib import Path

from eval.train.heads import Trained


def write_card(trained: Trained, heads_path: Path) -> Path:
    """Write the card of a heads file beside it, as Markdown.

    Args:
        trained: The heads and their scores.
        heads_path: Where the heads were written.

    Returns:
        The card's path: the heads' with the suffix ``.md``.
    """
    heads, scores, reread = trained.heads, trained.scores, trained.reread
    rosters = heads.trained_on["rosters"]
    requests = heads.trained_on["requests"]
    lines = [
        f"# Model card: {heads_path.name}",
        "",
        "Fusion, gate and fits of the local judge. No text of any skill or request is in the file:",
        "it holds weights and tree thresholds only.",
        "",
        f"- Encoder: {heads.encoder}, sha256 `{heads.encoder_digest[:16]}`",
        f"- Learned on {scores['turns']} labelled turns of {len(rosters)} rosters and on "
        "`requests/gate.jsonl`; seed "
        f"{heads.trained_on['seed']}",
        *_scorer(trained),
        f"- Default thresholds: {heads.thresholds}",
        "",
        "Scores on rosters that were held out (five folds over rosters):",
        "",
        *(
            ["| measure | with the pair scorer | without |", "| --- | --- | --- |"]
            if reread
            else ["| measure | value |", "| --- | --- |"]
        ),
        *(
            f"| {name} | {f'{reread[name]} | ' if reread else ''}{value} |"
            for name, value in scores.items()
        ),
        "",
        "Limits: English skills; requests of other languages were about one in twelve. Fits are",
        "probabilities on rosters of 12 to 160 skills, with near misses as common as here.",
        "",
        "| roster | digest | digest of its turns |",
        "| --- | --- | --- |",
        *(f"| {group} | `{rosters[group]}` | `{requests[group]}` |" for group in rosters),
    ]
    path = heads_path.with_suffix(".md")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def _scorer(trained: Trained) -> list[str]:
    reread = trained.heads.reread
    if reread is None:
        return []
    return [
        f"- Pair scorer: {reread.scorer}, sha256 `{reread.scorer_digest[:16]}`; default thresholds "
        f"with it: {reread.thresholds}"
    ]
