"""Refusals: each an HTTP status and one sentence that says what to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus

from starlette.responses import JSONResponse


class Refusal(Exception):  # noqa: N818 - it is an answer, not a fault of the service
    """A request that is not answered.

    Attributes:
        status: HTTP status, 400..599.
        detail: What is wrong and what to do.
        errors: One entry a field: ``field`` and ``message``.
        headers: Further headers of the answer.
    """

    def __init__(
        self,
        status: int,
        detail: str,
        errors: Sequence[Mapping[str, str]] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.errors = tuple(errors)
        self.headers = dict(headers or {})

    def response(self) -> JSONResponse:
        """The answer, as RFC 9457 has it."""
        body: dict[str, object] = {
            "title": HTTPStatus(self.status).phrase,
            "status": self.status,
            "detail": self.detail,
        }
        if self.errors:
            body["errors"] = [dict(error) for error in self.errors]
        return JSONResponse(body, self.status, self.headers, "application/problem+json")
