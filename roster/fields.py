"""What the fields of a frontmatter mean: name, description, category, tools, version."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from roster.frontmatter import Frontmatter
from roster.opening import first_heading, opening
from roster.problem import Severity
from roster.text import is_safe_name, one_line, slug
from roster.yamltree import Value

Report = Callable[[Severity, int | None, str, str, str], None]
"""Takes severity, line, code, message and remedy of a problem."""

_REQUIRES = ("requires", "requires_tools", "required_tools", "requires_toolsets")
# A field name that slipped into the description, as in "description: description: ...".
_LABEL = re.compile(r"\A(?:name:\s*\S+\s*)?(?:description:\s+)?")
# Words that say nothing about what a skill does.
_EMPTY_WORDS = frozenset(
    re.findall(
        r"\w+",
        "a an and any as be capability description for if is it may needed needs of or required "
        "skill skills task tasks tbd the this to todo use used user users using when whenever "
        "you your",
    )
)


@dataclass(frozen=True, slots=True)
class Fields:
    """The fields of one SKILL.md, found by their names in any case.

    Attributes:
        front: The frontmatter and the body.
        folder: Name of the skill's folder.
        report: Where problems go.
    """

    front: Frontmatter
    folder: str
    report: Report

    def name(self) -> str | None:
        """The written name; else a safe one made of it, the folder or the title; else None."""
        written = _text(self._get("name")) or _text(self._metadata().get("name"))
        line = self._line("name")
        if is_safe_name(written):
            return written
        uncommented = re.sub(r"\s+#.*$", "", written)
        if is_safe_name(uncommented):
            name = uncommented
        elif not written and is_safe_name(self.folder):
            name = self.folder
        else:
            name = slug(written) or slug(self.folder) or slug(first_heading(self.front.body))
        what = f"the name {written[:80]!r} cannot be used" if written else "there is no name"
        code = "name-unsafe" if written else "name-missing"
        if not name:
            self.report(
                "error", line, code, what, "add a line name: with letters, digits and hyphens"
            )
            return None
        self.report("warning", line, code, f"{what}; {name!r} is used", f"write name: {name}")
        return name

    def description(self, name: str) -> str:
        """The written description, or the opening of the text when that says nothing.

        Args:
            name: The skill's name, the last resort.
        """
        written = [
            _text(self._get("description")),
            _text(self._metadata().get("description")),
            _text(self._get("summary")),
        ]
        when = _text(self._get("when_to_use")) or _text(self._get("when-to-use"))
        for text in (*written, ""):
            text = _LABEL.sub("", " ".join(part for part in (text, when) if part))
            if _says_something(text):
                return text
        found = opening(self.front.body)
        said = any(written)
        code = "description-says-nothing" if said else "description-missing"
        self.report(
            "warning",
            self._line("description"),
            code if found else "description-unknown",
            ("the description says nothing about the skill" if said else "there is no description")
            + ("; the opening of the text is used" if found else "; the name is used"),
            "write in the description what the skill does and when to use it",
        )
        return found or re.sub(r"[-_.:/]+", " ", name)

    def category(self) -> str:
        """The category, from the top level, the metadata or a mapping within those; or ""."""
        for place in self._places():
            value = place.get("category")
            if isinstance(value, str) and one_line(value):
                return value
        return ""

    def requires(self) -> tuple[str, ...]:
        """Names of the tools without which the skill cannot be followed.

        ``allowed-tools`` is not among them: it says which tools need no approval.
        """
        for place in self._places():
            for key in _REQUIRES:
                names = _names(place.get(key))
                if names:
                    return names
        return ()

    def version(self) -> str | None:
        """The author's version, from the top level or the metadata."""
        for place in (self._get("version"), self._metadata().get("version")):
            if isinstance(place, str) and one_line(place):
                return one_line(place)
        return None

    def _get(self, name: str) -> Value | None:
        fields = self.front.fields
        if name in fields:
            return fields[name]
        return next((fields[key] for key in fields if key.strip().casefold() == name), None)

    def _line(self, name: str) -> int:
        lines = self.front.lines
        near = (lines[key] for key in lines if key.strip().casefold() == name)
        return lines.get(name) or next(near, 1)

    def _metadata(self) -> dict[str, Value]:
        metadata = self._get("metadata")
        return metadata if isinstance(metadata, dict) else {}

    def _places(self) -> list[dict[str, Value]]:
        metadata = self._metadata()
        nested = [value for value in metadata.values() if isinstance(value, dict)]
        return [self.front.fields, metadata, *nested]


def _text(value: Value | None) -> str:
    """A field as text: lists and mappings as a person would read them out."""
    if value is None:
        return ""
    if isinstance(value, str):
        text = value.strip()
        return "" if text.casefold() in ("~", "null", "none") else text
    if isinstance(value, list):
        parts = [_text(item) for item in value]
    else:
        parts = [f"{key}: {_text(item)}" for key, item in value.items()]
    return "; ".join(part for part in parts if part)


def _names(value: Value | None) -> tuple[str, ...]:
    if isinstance(value, str):
        value = list(re.split(r"[,\s]+", value.strip("[] ")))
    if not isinstance(value, list):
        return ()
    names = (one_line(item) for item in value if isinstance(item, str))
    return tuple(dict.fromkeys(name for name in names if name))


def _says_something(text: str) -> bool:
    return any(word not in _EMPTY_WORDS for word in re.findall(r"\w+", text.casefold()))
