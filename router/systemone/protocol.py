"""`POST /v1/systemone` on the wire: request body in, response body and errors out."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from router.proposals.errors import MalformedReply
from router.proposals.parse import parse_strict

MAX_BODY = 8 << 20
"""Longest request body in bytes, unpacked."""

MAX_FAULTS = 20
"""Most faults that one refusal names."""

JSONText = str | dict[str, Any] | list[Any]


class Refusal(Exception):  # noqa: N818 - an answer of the API, not a failure of the program
    """A request that cannot be answered, in the API's error form.

    Args:
        status: HTTP status, 400..599.
        loc: Path to the value at fault, below ``body``.
        message: What is wrong and what would be right.
        kind: Error code.
    """

    def __init__(self, status: int, loc: Sequence[str | int], message: str, kind: str) -> None:
        super().__init__(message)
        self.status = status
        self._detail = [{"loc": _place(loc), "msg": message, "type": kind}]

    @classmethod
    def of_validation(cls, error: ValidationError, loc: Sequence[str | int] = ()) -> Refusal:
        """All faults that a model found."""
        refusal = cls(422, loc, "the request is not valid", "invalid")
        refusal._detail = [
            {"loc": _place((*loc, *one["loc"])), "msg": one["msg"], "type": one["type"]}
            for one in error.errors(include_url=False, include_input=False, include_context=False)[
                :MAX_FAULTS
            ]
        ]
        return refusal

    def body(self) -> bytes:
        """The response body."""
        return encode({"detail": self._detail})


def _place(loc: Sequence[str | int]) -> list[str | int]:
    """The path to a value; of the sender's own long names, the start."""
    return ["body", *(part if isinstance(part, int) else part[:80] for part in loc)]


class Question(BaseModel):
    """One question, of whatever type.

    Attributes:
        type: ``choice``, ``noul``, or one that is not answered here.
        instructions: What is asked.
        criteria: For a choice, label to description.
    """

    model_config = ConfigDict(frozen=True, extra="allow")

    type: str
    instructions: JSONText | None = None
    criteria: Any = None


class SystemOneRequest(BaseModel):
    """The request body.

    Attributes:
        model: Name of a model; any is accepted.
        state: What the questions are about.
        questions: The questions by name.
        assets: Images; not accepted.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    model: str
    state: JSONText
    questions: dict[str, Question] = Field(min_length=1)
    assets: Any = None


def read_request(
    body: bytes, content_type: str | None = None, encoding: str | None = None
) -> SystemOneRequest:
    """Read a request body.

    Args:
        body: The bytes as they came.
        content_type: The ``Content-Type`` header.
        encoding: The ``Content-Encoding`` header: identity, gzip, or zstd where it is available.

    Raises:
        Refusal: 413 for a body that is too long, 415 for an encoding or type that is not read,
            422 for anything else that is wrong.
    """
    if content_type and content_type.split(";")[0].strip().lower().startswith("multipart/"):
        raise Refusal(415, (), "assets are not accepted; send application/json", "media_type")
    plain = _unpacked(body, (encoding or "identity").strip().lower())
    if len(plain) > MAX_BODY:
        raise Refusal(413, (), f"the body is longer than {MAX_BODY:,} bytes", "too_long")
    try:
        data = parse_strict(plain, MAX_BODY)
    except MalformedReply as error:
        raise Refusal(422, (), f"the body cannot be read: {error}", "json_invalid") from error
    try:
        request = SystemOneRequest.model_validate(data)
    except ValidationError as error:
        raise Refusal.of_validation(error) from error
    if request.assets is not None:
        raise Refusal(422, ("assets",), "assets are not accepted", "unsupported")
    return request


def choice_answer(probabilities: Mapping[str, float]) -> dict[str, Any]:
    """A choice answer: the likeliest label, its probability as confidence, all probabilities."""
    best = max(probabilities, key=lambda label: probabilities[label])
    return {
        "type": "choice",
        "choice": best,
        "confidence": probabilities[best],
        "probabilities": dict(probabilities),
    }


def noul_answer(probability: float) -> dict[str, Any]:
    """A yes/no answer."""
    return {"type": "noul", "noul": probability}


def response_body(model: str, answers: Mapping[str, Any]) -> bytes:
    """The response body; nothing is billed, so both counts are 0."""
    usage = {"input_tokens": 0, "output_tokens": 0}
    return encode({"model": model, "answers": answers, "usage": usage})


def encode(value: Any) -> bytes:
    """A value as JSON."""
    return json.dumps(value, ensure_ascii=True, allow_nan=False).encode("ascii")


def _unpacked(body: bytes, encoding: str) -> bytes:
    """The body without its compression, read no further than one byte over the limit."""
    try:
        if encoding == "identity":
            return body
        if encoding == "gzip":
            with gzip.open(io.BytesIO(body)) as file:
                return file.read(MAX_BODY + 1)
        if encoding == "zstd":
            return _zstd(body)
    except (OSError, EOFError, ValueError) as error:
        raise Refusal(422, (), f"the body is not {encoding} data", "encoding") from error
    raise Refusal(
        415, (), f"the encoding {encoding[:40]!r} is not read; send the body as it is", "encoding"
    )


def _zstd(body: bytes) -> bytes:
    # In the standard library from 3.14 on; before, in a package of the same interface.
    import importlib

    for name in ("compression.zstd", "backports.zstd"):
        try:
            zstd = importlib.import_module(name)
        except ImportError:
            continue
        try:
            unpacked: bytes = zstd.ZstdDecompressor().decompress(body, MAX_BODY + 1)
        except zstd.ZstdError as error:
            raise ValueError(str(error)) from error
        return unpacked
    raise Refusal(
        415,
        (),
        "zstd is not available here; install backports.zstd, or make the client with "
        "compression=False",
        "encoding",
    )
