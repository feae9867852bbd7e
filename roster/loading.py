"""From the bytes of a SKILL.md to a skill."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from roster.check import check_skill
from roster.discover import Found, discover
from roster.fields import Fields
from roster.frontmatter import parse_frontmatter
from roster.problem import Problem, Severity
from roster.reading import DEFAULT_MAX_BYTES, decode, read_bytes
from roster.skill import DEFAULT_CATEGORY, Skill, digest_of_bytes
from roster.text import encodable

# Folders that hold skills of every kind, so that their name is no category.
_CONTAINERS = frozenset({"skills", ".skills", ".claude", ".agents", ".codex", ".github", "plugins"})


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
    path, folder = encodable(path), encodable(folder)
    text, problems = decode(data, path)

    def report(severity: Severity, line: int | None, code: str, message: str, remedy: str) -> None:
        problems.append(
            Problem(
                path=path, line=line, severity=severity, code=code, message=message, remedy=remedy
            )
        )

    if not text.strip():
        report("error", 1, "empty", "the file is empty", "write the skill or delete the file")
        return None, problems
    if text.count("\ufffd") * 10 > len(text):
        report("error", 1, "binary", "this is not a text file", "replace it with Markdown")
        return None, problems
    front = parse_frontmatter(text)
    for note in front.notes:
        report("warning", note.line, note.code, note.message, note.remedy)
    fields = Fields(front, folder, report)
    name = fields.name()
    if name is None:
        return None, problems
    skill = Skill(
        name=name,
        category=fields.category() or category,
        description=fields.description(name),
        body=front.body,
        source=path,
        requires=fields.requires(),
        version=fields.version(),
        digest=digest_of_bytes(data),
    )
    lines = {key.strip().casefold(): line for key, line in front.lines.items()}
    problems.extend(check_skill(skill, path, folder=folder, lines=lines))
    return skill, problems


def _folder_category(parts: tuple[str, ...]) -> str:
    """The nearest folder above the skill's own that is more than a container of skills."""
    for part in reversed(parts[:-1]):
        if part.casefold() not in _CONTAINERS:
            return encodable(part)
    return DEFAULT_CATEGORY
