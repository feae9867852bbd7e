"""Licences of everything that is installed or shipped: ``python -m eval.licences``.

Reads the metadata of the installed packages, so run it where all extras are installed
(``make licences``). The page it writes is `docs/licences.md`.
"""

from __future__ import annotations

import argparse
import re
import sys
import tomllib
from collections.abc import Iterator, Sequence
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from eval.files import write_whole

WEIGHTS = (
    ("router/local/weights/encoder/", "Apache-2.0", "tuned from all-MiniLM-L6-v2 (Apache-2.0)"),
    ("router/local/weights/pair-scorer/", "Apache-2.0", "tuned from all-MiniLM-L6-v2 (Apache-2.0)"),
    ("router/local/weights/*.json", "MIT", "learned by this project"),
    ("router/cascade/band.json", "MIT", "learned by this project"),
)
"""Learned numbers in the package: where they lie, licence, origin."""

_CLASSIFIER = "License :: "
_PAGE = Path("docs") / "licences.md"


class Licence(NamedTuple):
    """A package and its licence.

    Attributes:
        name: The package.
        version: The installed version.
        licence: As its metadata has it.
        wanted_by: "runtime", or the extras that bring it.
    """

    name: str
    version: str
    licence: str
    wanted_by: str


def main(arguments: Sequence[str] | None = None) -> int:
    """Write or check the page; 1 when it is not up to date or a licence is unknown."""
    parser = argparse.ArgumentParser(prog="python -m eval.licences", description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    parser.add_argument("--project", type=Path, default=Path("pyproject.toml"))
    parser.add_argument("--page", type=Path, default=_PAGE)
    options = parser.parse_args(arguments)
    found = licences(options.project)
    unknown = [one.name for one in found if one.licence == "unknown"]
    if unknown:
        print(f"no licence in the metadata of {', '.join(unknown)}", file=sys.stderr)
        return 1
    if not options.check:
        write_whole(options.page, page(found))
        return 0
    listed = set(re.findall(r"^\| ([\w.-]+) \|", options.page.read_text("utf-8"), re.MULTILINE))
    missing = sorted({one.name for one in found} - listed)
    if missing:
        print(f"{options.page}: lacks {', '.join(missing)}; run make licences", file=sys.stderr)
    return 1 if missing else 0


def licences(project: Path) -> list[Licence]:
    """Licences of a project's dependencies and of theirs, as far as they are installed."""
    declared = tomllib.loads(project.read_text(encoding="utf-8"))["project"]
    groups = {"runtime": declared["dependencies"], **declared.get("optional-dependencies", {})}
    wanted: dict[str, list[str]] = {}
    for group, requirements in groups.items():
        for name in _closure(requirements):
            wanted.setdefault(name, []).append(group)
    found = []
    for name, by in sorted(wanted.items()):
        package = metadata.distribution(name)
        why = "runtime" if "runtime" in by else ", ".join(by)
        found.append(Licence(name, package.version, _licence(package), why))
    return found


def page(found: Sequence[Licence]) -> str:
    """The page as Markdown."""
    lines = [
        "# Licences",
        "",
        "skill-router is MIT. Written by `make licences` from the metadata of the installed",
        "packages; versions are those it was written with. Nothing of these packages is copied",
        "into this one: they are installed beside it.",
        "",
        "## Learned numbers in the package",
        "",
        "| where | licence | origin |",
        "| --- | --- | --- |",
        *(f"| `{where}` | {licence} | {origin} |" for where, licence, origin in WEIGHTS),
        "",
        "The bundled skills and labelled requests were written for this project (MIT).",
        "",
        "## Packages",
        "",
        "| package | version | licence | needed by |",
        "| --- | --- | --- | --- |",
        *(f"| {p.name} | {p.version} | {p.licence} | {p.wanted_by} |" for p in found),
    ]
    return "\n".join(lines) + "\n"


def _closure(requirements: Sequence[str]) -> Iterator[str]:
    waiting = [Requirement(text) for text in requirements]
    seen: set[tuple[str, frozenset[str]]] = set()
    told: set[str] = set()
    while waiting:
        requirement = waiting.pop()
        name, extras = canonicalize_name(requirement.name), frozenset(requirement.extras)
        if (name, extras) in seen:
            continue
        seen.add((name, extras))
        try:
            package = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue  # for another system, or of an extra that is not installed
        if name not in told:
            told.add(name)
            yield name
        for text in package.requires or ():
            below = Requirement(text)
            chosen = [{"extra": extra} for extra in extras] or [{"extra": ""}]
            if below.marker is None or any(below.marker.evaluate(one) for one in chosen):
                waiting.append(below)


def _licence(package: metadata.Distribution) -> str:
    """The licence expression; else what the classifiers or the old field say, shortened."""
    about = package.metadata
    if "License-Expression" in about:
        return str(about["License-Expression"])
    classifiers = [
        text.split(" :: ")[-1]
        for text in about.get_all("Classifier") or ()
        if text.startswith(_CLASSIFIER) and text != "License :: OSI Approved"
    ]
    if classifiers:
        return "; ".join(classifiers)
    old = (about.get_all("License") or [""])[0]
    first = old.strip().split("\n")[0][:60].replace("|", "/")
    return first or "unknown"


if __name__ == "__main__":
    sys.exit(main())
