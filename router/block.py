"""The few lines that reach the agent."""

from __future__ import annotations

from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict, ValidationError, field_validator

from roster import is_safe_name
from router.errors import RouterError
from router.suggestion import Reason, Suggestion


class BlockTemplate(BaseModel):
    """The wording of both forms of the block.

    The default is a measured input: agents were benchmarked with these bytes, so another wording
    is another candidate to be measured, not an edit.

    Attributes:
        suggested: Text with exactly one ``{name}``.
        silent: Text for a turn where no skill fits; "" sends nothing.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    suggested: str = (
        "\n\n<skill_relevance>\nRelevant to the current request: {name}. Ignore this if it does "
        "not fit what the user actually asked for.\n</skill_relevance>"
    )
    silent: str = (
        "\n\n<skill_relevance>\nNo skill in the roster appears relevant to this request."
        "\n</skill_relevance>"
    )

    @field_validator("suggested")
    @classmethod
    def _one_name(cls, text: str) -> str:
        if text.count("{name}") != 1:
            raise ValueError("the suggested form needs the placeholder {name} exactly once")
        return text

    @classmethod
    def from_files(cls, suggested: str | Path, silent: str | Path | None = None) -> Self:
        """A template whose two forms are the texts of two files.

        Raises:
            RouterError: If a file cannot be read or lacks the placeholder.
        """
        texts = {"suggested": _text_of(suggested)}
        if silent is not None:
            texts["silent"] = _text_of(silent)
        try:
            return cls.model_validate(texts)
        except ValidationError as error:
            reason = error.errors()[0]["msg"].removeprefix("Value error, ")
            raise RouterError(f"{suggested}: {reason}; mend the template") from error


def _text_of(path: str | Path) -> str:
    try:
        return Path(path).expanduser().read_text(encoding="utf-8")
    except OSError as error:
        raise RouterError(f"{path}: cannot be read ({error.strerror}); give a text file") from error
    except UnicodeDecodeError as error:
        raise RouterError(f"{path}: byte {error.start} is not UTF-8; save it as UTF-8") from error


def suggestion_block(
    suggestion: Suggestion | str | None, template: BlockTemplate | None = None
) -> str:
    """The text to append after the agent's roster prompt.

    Args:
        suggestion: What `Router.suggest` returned; or a skill name; or None for "no skill fits".
        template: Another wording; by default the measured one.

    Returns:
        The block. "" when the router failed, when the skill is loaded already (the agent has what
        it needs), or when the template's silent form is empty. Only a safe name ever appears in
        it: a name that is not is treated as no suggestion at all.
    """
    template = template or BlockTemplate()
    if isinstance(suggestion, Suggestion):
        if suggestion.reason in (Reason.ROUTER_ERROR, Reason.ALREADY_LOADED):
            return ""
        name = suggestion.name
    else:
        name = suggestion
    if name is None:
        return template.silent
    if not is_safe_name(name):
        return ""
    return template.suggested.replace("{name}", name)
