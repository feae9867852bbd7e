"""Findings for machines: SARIF 2.1.0, and annotations of GitHub's workflows."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from eval.doctor.places import Places
from eval.doctor.records import RULES, Finding, Report
from roster.text import encodable, visible

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_MOST = 5_000
"""Results that code scanning accepts in one run."""


def as_sarif(report: Report, version: str) -> dict[str, Any]:
    """The report as a SARIF 2.1.0 log (OASIS 2020).

    Args:
        report: The report.
        version: Of this program.
    """
    places = Places()
    codes = list(dict.fromkeys(finding.code for finding in report.findings))
    rules = [
        {
            "id": code,
            "shortDescription": {"text": RULES[code][1]},
            "defaultConfiguration": {"level": RULES[code][0]},
        }
        for code in codes
    ]
    results = [_result(finding, codes, places) for finding in report.findings[:_MOST]]
    return {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "skill-router roster doctor",
                        "version": version,
                        "rules": rules,
                    }
                },
                "columnKind": "unicodeCodePoints",
                "properties": {"findings": len(report.findings), "roster": report.roster_digest},
                "results": results,
            }
        ],
    }


def _result(finding: Finding, codes: Sequence[str], places: Places) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": codes.index(finding.code),
        "level": finding.severity,
        "message": {"text": f"{finding.skill}: {finding.message}. Remedy: {finding.remedy}."},
        "partialFingerprints": {"skill/v1": f"{finding.code}:{finding.skill}:{finding.other}"},
        "properties": {"skill": finding.skill, "other": finding.other, "words": finding.words},
    }
    if finding.path is not None:
        result["locations"] = [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": _uri(finding.path)},
                    "region": {"startLine": places.line(finding.path, finding.code)},
                }
            }
        ]
    return result


def _relative(path: str) -> str:
    """A path below the current folder as written from there, any other one as it is."""
    absolute = Path(os.path.abspath(path))  # noqa: PTH100  # links stay as they are
    here = Path.cwd()
    return str(absolute.relative_to(here) if absolute.is_relative_to(here) else absolute)


def _uri(path: str) -> str:
    from urllib.parse import quote

    relative = _relative(path)
    if Path(relative).is_absolute():
        return Path(relative).as_uri()
    return quote(Path(relative).as_posix().encode("utf-8", "replace"))


def as_annotations(findings: Sequence[Finding]) -> list[str]:
    """The findings as workflow commands, one a line, which GitHub shows beside the file."""
    places = Places()
    lines = []
    for finding in findings:
        level = "notice" if finding.severity == "note" else finding.severity
        properties = {"title": f"{finding.code}: {finding.skill}"}
        if finding.path is not None:
            line = str(places.line(finding.path, finding.code))
            properties = {"file": _relative(finding.path), "line": line, **properties}
        joined = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
        lines.append(f"::{level} {joined}::{_data(f'{finding.message}; {finding.remedy}')}")
    return lines


def _data(text: str) -> str:
    text = encodable(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return visible(text)


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
