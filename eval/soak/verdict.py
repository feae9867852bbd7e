"""What a soak showed, against what is demanded."""

from __future__ import annotations

import json
from collections import Counter
from statistics import median
from typing import Any

from eval.soak.clients import Seen
from eval.soak.process import ServiceProcess
from eval.soak.skills import ChangingSkills

BAR_GROWTH = 0.10
"""Most growth of the resident memory from the second to the last quarter of the longest life."""

BAR_RECOVERY_S = 30.0
"""Seconds after which the service must serve what is on disk, once all is quiet."""

_SLACK_S = 0.5


def verdict(
    service: ServiceProcess,
    skills: ChangingSkills,
    seen: Seen,
    recovered_s: float | None,
    seconds: float,
) -> dict[str, Any]:
    """The figures of a soak, and which demands they meet.

    Args:
        service: The service, ended.
        skills: The changed folder.
        seen: What the clients saw.
        recovered_s: Seconds until it served what is on disk; None if never.
        seconds: Length of the run.
    """
    faults = Counter(seen.faults)
    for (digest, name), count in seen.answers.items():
        names = skills.known.get(digest)
        if names is None:
            faults["an answer from half a roster"] += count
        elif name is not None and name not in names:
            faults["a name outside the roster"] += count
    lost = [span for span in seen.lost if not _is_down(span, service.down)]
    longest = max(service.resident, key=len)
    growth = _growth(longest)
    lines, torn = _log_lines(service)
    leftovers = sum(1 for file in service.cache.rglob("*.tmp"))
    rosters = len({digest for digest, _ in seen.answers})
    requests = sum(seen.outcomes.values()) + sum(seen.faults.values()) + len(seen.lost)
    return {
        "seconds": seconds,
        "requests": requests,
        "outcomes": {**seen.outcomes, "connection lost in a restart": len(seen.lost) - len(lost)},
        "faults": dict(faults),
        "lost_outside_restarts": len(lost),
        "changes": dict(skills.changes),
        "starts": service.starts,
        "rosters_served": rosters,
        "slowest_s": round(seen.slowest_s, 2),
        "recovered_s": recovered_s,
        "resident_mib": [round(part) for part in (longest[0], max(longest), longest[-1])],
        "memory_growth": growth,
        "log_lines": lines,
        "torn_log_lines": torn,
        "leftovers": leftovers,
        "service_log": service.errors.read_text("utf-8", "replace")[-4_000:],
        "met": {
            "nothing but clean answers and clean errors": not faults,
            "no connection lost while the service ran": not lost,
            "memory flat": growth is not None and growth <= BAR_GROWTH,
            "serves what is on disk once all is quiet": recovered_s is not None
            and recovered_s <= BAR_RECOVERY_S,
            "several rosters served": rosters > 1,
            "the log is whole but for writes the disk refused": torn
            <= 2 * service.starts + seconds / 7,
            "no more drafts left than deaths": leftovers <= service.starts,
        },
    }


def _is_down(span: tuple[float, float], down: list[tuple[float, float]]) -> bool:
    return any(span[0] <= end + _SLACK_S and span[1] >= start - _SLACK_S for start, end in down)


def _growth(samples: list[float]) -> float | None:
    """Median of the last quarter over that of the second one, less 1; None if too short."""
    quarter = len(samples) // 4
    if quarter < 3:
        return None
    return round(median(samples[-quarter:]) / median(samples[quarter : 2 * quarter]) - 1.0, 4)


def _log_lines(service: ServiceProcess) -> tuple[int, int]:
    """Lines of all decision logs, and those of them that are not whole."""
    whole = torn = 0
    for file in service.decisions.parent.glob(f"{service.decisions.name}*"):
        for line in file.read_bytes().splitlines():
            try:
                json.loads(line)
                whole += 1
            except ValueError:
                torn += 1
    return whole + torn, torn
