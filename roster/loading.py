"""From the bytes of a SKILL.md to a skill."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from roster.check import check_skill
from roster.discover import Found, discover
from roster.frontmatter import Frontmatter, parse_frontmatter
from roster.problem import Problem, Severity
from roster.reading import DEFAULT_MAX_BYTES, decode, read_bytes
from roster.skill import DEFAULT_CATEGORY, Skill, digest_of_bytes
from roster.text import is_safe_name, one_line, slug, without_surrogates
from roster.yamltree import Value

_CONTAINERS = frozenset({"skills", ".skills", ".claude", ".agents", ".codex", ".github", "plugins"})
# Words that say nothing about what a skill does.
_EMPTY_WORDS = frozenset(
    re.findall(
        r"\w+",
        "a an and any as be capability description for if is it may needed needs of or required "
        "skill skills task tasks tbd the this to todo use used user users using when whenever you "
        "your",
    )
)
_FALLBACK_CHARS = 400


def load_skills(
    root: str, max_bytes: int = DEFAULT_MAX_BYTES
) -> Iterator[tuple[Found | None, Skill | None, list[Problem]]]:
    """Read every SKILL.md of a folder tree, in the order of their paths.

    Args:
        root: The folder.
        max_bytes: Largest accepted file in bytes.

    Yields:
        First, with neither file nor skill, the problems of the search; then for each file its
        place, its skill or None, and its problems.
    """
    found, problems = discover(root)
    yield None, None, problems
    root_name = Path(os.path.realpath(root)).name
    for item in found:
        skill, skill_problems = load_skill(item, root_name, max_bytes)
        yield item, skill, skill_problems


def load_skill(
    found: Found, root_name: str, max_bytes: int = DEFAULT_MAX_BYTES
) -> tuple[Skill | None, list[Problem]]:
    """Read one SKILL.md.

    Args:
        found: The file and its folders below the root.
        root_name: Name of the root folder, for a file that lies in the root itself.
        max_bytes: Largest accepted size in bytes.

    Returns:
        The skill, or None, and the problems: at least one error when there is no skill.
    """
    data = read_bytes(found.path, max_bytes)
    if isinstance(data, Problem):
        return None, [data]
    folder = found.parts[-1] if found.parts else root_name
    return skill_from_bytes(data, found.path, folder, _folder_category(found.parts))


def skill_from_bytes(
    data: bytes, path: str, folder: str, category: str = DEFAULT_CATEGORY
) -> tuple[Skill | None, list[Problem]]:
    """Make a skill of the bytes of a SKILL.md. Never raises, whatever the bytes.

    Args:
        data: The bytes.
        path: The file, for the skill's source and the problems.
        folder: Name of the folder the file lies in; names a skill whose file does not.
        category: Category of a skill whose file names none.

    Returns:
        The skill, or None, and the problems: at least one error when there is no skill.
    """
    path, folder = without_surrogates(path), without_surrogates(folder)
    text, problems = decode(data, path)
    report = _Report(path, problems)
    if not text.strip():
        report.add("error", 1, "empty", "the file is empty", "write the skill or delete the file")
        return None, problems
    if text.count("\ufffd") * 10 > len(text):
        report.add("error", 1, "binary", "this is not a text file", "replace it with Markdown")
        return None, problems
    front = parse_frontmatter(text)
    for note in front.notes:
        report.add("warning", note.line, note.code, note.message, note.remedy)
    fields = {key.strip().casefold(): value for key, value in reversed(front.fields.items())}
    name = _name(fields, front, folder, report)
    if name is None:
        return None, problems
    skill = Skill(
        name=name,
        category=_category(fields) or category,
        description=_description(fields, name, front, report),
        body=front.body,
        source=path,
        requires=_requires(fields),
        version=_version(fields),
        digest=digest_of_bytes(data),
    )
    lines = {key.strip().casefold(): line for key, line in front.lines.items()}
    problems.extend(check_skill(skill, path, folder=folder, lines=lines))
    return skill, problems


class _Report:
    """Collects problems of one file."""

    def __init__(self, path: str, problems: list[Problem]) -> None:
        self.path = path
        self.problems = problems

    def add(
        self, severity: Severity, line: int | None, code: str, message: str, remedy: str
    ) -> None:
        self.problems.append(
            Problem(
                path=self.path,
                line=line,
                severity=severity,
                code=code,
                message=message,
                remedy=remedy,
            )
        )


def _name(fields: dict[str, Value], front: Frontmatter, folder: str, report: _Report) -> str | None:
    line = front.lines.get("name", 1)
    written = _text(fields.get("name")) or _text(_metadata(fields).get("name"))
    if not written:
        heading = _heading(front.body)
        name = folder if is_safe_name(folder) else slug(folder) or slug(heading)
        if name:
            report.add(
                "warning",
                1,
                "name-missing",
                f"the skill has no name; {name!r} is used",
                f"add the line name: {name}",
            )
            return name
        report.add(
            "error", 1, "name-missing", "the skill has no usable name", "add a line name: ..."
        )
        return None
    if is_safe_name(written):
        return written
    uncommented = re.sub(r"\s+#.*$", "", written)
    name = uncommented if is_safe_name(uncommented) else slug(uncommented) or slug(folder)
    if not name:
        report.add(
            "error",
            line,
            "name-unusable",
            f"the name {written[:80]!r} cannot be used",
            "use letters, digits and hyphens",
        )
        return None
    report.add(
        "warning",
        line,
        "name-unsafe",
        f"the name {written[:80]!r} cannot be used; {name!r} is used",
        f"write name: {name}",
    )
    return name


def _description(fields: dict[str, Value], name: str, front: Frontmatter, report: _Report) -> str:
    metadata = _metadata(fields)
    candidates = [
        _text(fields.get("description")),
        _text(metadata.get("description")),
        _text(fields.get("summary")),
    ]
    extra = _text(fields.get("when_to_use")) or _text(fields.get("when-to-use"))
    line = front.lines.get("description", 1)
    for candidate in candidates:
        written = " ".join(part for part in (candidate, extra) if part)
        written = re.sub(rf"\Aname:\s*{re.escape(name)}\s*", "", written)
        if _says_something(written):
            return written
    if _says_something(extra):
        return extra
    found = _opening(front.body)
    said = any(candidates)
    report.add(
        "warning",
        line,
        "description-says-nothing" if said else "description-missing",
        ("the description says nothing about the skill" if said else "there is no description")
        + ("; the opening of the text is used" if found else "; the name is used"),
        "write in the description what the skill does and when to use it",
    )
    return found or re.sub(r"[-_.:/]+", " ", name)


def _says_something(text: str) -> bool:
    words = re.findall(r"\w+", text.casefold())
    return any(word not in _EMPTY_WORDS for word in words)


def _requires(fields: dict[str, Value]) -> tuple[str, ...]:
    metadata = _metadata(fields)
    nested = [value for value in metadata.values() if isinstance(value, dict)]
    for place in (fields, metadata, *nested):
        for key in ("requires", "requires_tools", "required_tools", "requires_toolsets"):
            names = _names(place.get(key))
            if names:
                return names
    return ()


def _names(value: Value | None) -> tuple[str, ...]:
    if isinstance(value, str):
        value = list(re.split(r"[,\s]+", value.strip("[] ")))
    if not isinstance(value, list):
        return ()
    names = (one_line(item) for item in value if isinstance(item, str))
    return tuple(dict.fromkeys(name for name in names if name))


def _category(fields: dict[str, Value]) -> str:
    metadata = _metadata(fields)
    nested = [value for value in metadata.values() if isinstance(value, dict)]
    for place in (fields, metadata, *nested):
        value = place.get("category")
        if isinstance(value, str) and one_line(value):
            return value
    return ""


def _version(fields: dict[str, Value]) -> str | None:
    for value in (fields.get("version"), _metadata(fields).get("version")):
        if isinstance(value, str) and one_line(value):
            return one_line(value)
    return None


def _metadata(fields: dict[str, Value]) -> dict[str, Value]:
    metadata = fields.get("metadata")
    return metadata if isinstance(metadata, dict) else {}


def _text(value: Value | None) -> str:
    """A field as text: lists and mappings as a person would read them out."""
    if value is None:
        return ""
    if isinstance(value, str):
        text = value.strip()
        return "" if text.casefold() in ("~", "null", "none") else text
    parts: list[str] = []
    if isinstance(value, list):
        parts = [_text(item) for item in value]
    else:
        parts = [f"{key}: {_text(item)}" for key, item in value.items()]
    return "; ".join(part for part in parts if part)


def _folder_category(parts: tuple[str, ...]) -> str:
    """The nearest folder above the skill's own that is more than a container of skills."""
    for part in reversed(parts[:-1]):
        if part.casefold() not in _CONTAINERS:
            return without_surrogates(part)
    return DEFAULT_CATEGORY


def _heading(body: str) -> str:
    found = re.search(r"^#{1,6}[ \t]+(.+)$", body, re.MULTILINE)
    return found[1] if found else ""


def _opening(body: str) -> str:
    """The first heading and the first paragraph of prose, as one line."""
    title = _heading(body).strip("# \t")
    prose = ""
    fenced = False
    for paragraph in re.split(r"\n[ \t]*\n", body[:20_000]):
        lines = [line.strip() for line in paragraph.split("\n")]
        lines = [line for line in lines if line and not line.startswith("#")]
        fences = sum(line.startswith(("```", "~~~")) for line in lines)
        if fenced or fences:
            fenced ^= fences % 2 == 1
            continue
        text = one_line(" ".join(line.lstrip("> ") for line in lines))
        if not re.search(r"\w", text) or text.startswith(("<!--", "![", "|", "---")):
            continue
        if re.match(r"(?:[-*+]|\d+[.)])\s+\[.*\]\(#", text):
            continue
        prose = text
        break
    title = one_line(title)
    joined = f"{title}: {prose}" if title and prose else title or prose
    return joined if len(joined) <= _FALLBACK_CHARS else joined[: _FALLBACK_CHARS - 3] + "..."
