"""The report as text."""

from __future__ import annotations

from collections.abc import Iterator

from eval.doctor.records import RULES, Report
from roster.text import one_line, visible


def as_lines(report: Report, most: int) -> Iterator[str]:
    """The report, line by line, without colour.

    Args:
        report: The report.
        most: Most findings of each kind that are shown.
    """
    width = report.settings.width
    yield (
        f"{report.skills} skills; the index at {width} characters costs about "
        f"{report.cost['index']:,.0f} tokens a turn ({report.cost['per_skill']:.0f} a skill), "
        f"whole descriptions {report.cost['full']:,.0f}"
    )
    if not report.findings:
        yield "no findings"
        return
    yield f"{len(report.findings)} findings, {len(report.pairs)} confusable pairs"
    for code, count in report.counts.items():
        severity, meaning = RULES[code]
        yield ""
        yield f"{severity} {code} ({count}): {meaning}"
        shown = [finding for finding in report.findings if finding.code == code][:most]
        for finding in shown:
            yield "  " + visible(one_line(f"{finding.skill}: {finding.message}"))
            yield "    -> " + visible(one_line(finding.remedy))
        if count > len(shown):
            yield f"  ... and {count - len(shown)} more; see them with --most {count} or --json"
    if report.labels is not None:
        yield ""
        yield from _label_lines(report.labels)


def _label_lines(labels: dict[str, object]) -> Iterator[str]:
    skills = labels["skills"]
    assert isinstance(skills, dict)
    yield f"{labels['turns']} labelled requests; the skills with the most misses and false loads:"
    rows = sorted(skills.items(), key=lambda item: -item[1]["missed"] - item[1]["false_loads"])
    for name, row in rows[:10]:
        miss, false = row["miss_rate"], row["false_load_rate"]
        yield (
            f"  {name}: missed {row['missed']} of {row['requests']} "
            f"({miss['low']:.0%} to {miss['high']:.0%}), loaded falsely {row['false_loads']} times "
            f"({false['low']:.1%} to {false['high']:.1%} of the others)"
        )
