"""The router as a System One server: its two question shapes, answered by the local judge.

`SystemOneServer.answer` is a plain function from a request body to a status and a response body;
any HTTP server can mount it under ``POST /v1/systemone``, and `models` under ``GET /v1/models``.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Self

from pydantic import ValidationError

from roster import is_safe_name
from router.errors import RouterError
from router.local.encoder import Encoder, load_encoder
from router.local.judge import LocalJudge
from router.pipeline import Router
from router.suggestion import Gate
from router.systemone.protocol import (
    Question,
    Refusal,
    SystemOneRequest,
    choice_answer,
    encode,
    noul_answer,
    read_request,
    response_body,
)
from router.systemone.rosters import Judged, RosterJudges
from router.systemone.settings import MOST_CHOICES
from router.systemone.wording import FITS_PREFIX, GATE_FIELDS, GATE_PREFIX
from router.turn import Turn

MODEL = "skill-router-local"
"""Name of the model in every response."""

_SEPARATOR = " \u2014 "
_log = logging.getLogger(__name__)


class SystemOneServer:
    """Answers System One requests with the local judge; thread-safe.

    Args:
        judges: Judges for the rosters that requests bring along.
    """

    def __init__(self, judges: RosterJudges) -> None:
        self._judges = judges

    @classmethod
    def of_router(cls, router: Router, encoder: str | Encoder | None = None) -> Self:
        """A server that shares the weights, and for its own roster the index, of a router.

        A request whose labels are skills of that router's roster is answered from its index.

        Args:
            router: A router with the local judge.
            encoder: The encoder that router was loaded with; None for the shipped one.

        Raises:
            RouterError: If the router holds another judge, or the encoder cannot be loaded.
        """
        judge = router.judge
        if not isinstance(judge, LocalJudge):
            raise RouterError("System One is served by the local judge; load the router with it")
        return cls(RosterJudges(load_encoder(encoder), judge.heads, Judged(router.eligible, judge)))

    def answer(
        self, body: bytes, content_type: str | None = None, encoding: str | None = None
    ) -> tuple[int, bytes]:
        """Answer one request.

        Args:
            body: The request body as it came.
            content_type: The ``Content-Type`` header.
            encoding: The ``Content-Encoding`` header.

        Returns:
            HTTP status and JSON body: 200 with the answers, else the API's error form. Never
            raises.
        """
        try:
            request = read_request(body, content_type, encoding)
            return 200, response_body(MODEL, self._answers(request))
        except Refusal as refusal:
            return refusal.status, refusal.body()
        except Exception:
            _log.exception("a System One request could not be answered")
            return 500, encode({"detail": "the request could not be answered"})

    def models(self) -> tuple[int, bytes]:
        """The response of ``GET /v1/models``."""
        model = {
            "name": MODEL,
            "description": "Ranks skills and answers the questions of skill routing, locally.",
            "release_date": "2026-11-30",
        }
        return 200, encode({"models": [model]})

    def _answers(self, request: SystemOneRequest) -> dict[str, Any]:
        turn = _turn(request.state)
        choices = {n: q for n, q in request.questions.items() if q.type == "choice"}
        fits = [n for n in request.questions if n.startswith(FITS_PREFIX)]
        if len(choices) > 1:
            raise _unsupported(list(choices)[1], "one choice over skills a request is answered")
        which = next(iter(choices), None)
        criteria = {} if which is None else _criteria(which, choices[which])
        for name, question in request.questions.items():
            _require_known(name, question, criteria)
        if which is None:
            judged = self._judges.own
            if judged is None:
                raise _unsupported(next(iter(request.questions)), "it needs a choice over skills")
        elif fits:
            judged = self._judges.for_reread({n: _parts(text) for n, text in criteria.items()})
        else:
            judged = self._judges.for_wide(criteria)
        return _judge(turn, judged, request.questions, which, criteria, bool(fits))


def _judge(
    turn: Turn,
    judged: Judged,
    questions: Mapping[str, Question],
    which: str | None,
    criteria: Mapping[str, str],
    again: bool,
) -> dict[str, Any]:
    ranking, gate = judged.judge.rank(turn, judged.roster)
    answers: dict[str, Any] = {}
    chosen: Mapping[str, float] = {}
    fits: Mapping[str, float] = {}
    if again:
        reread = judged.judge.reread(turn, [judged.roster[name] for name in criteria])
        chosen, fits = reread.choice, reread.fits
    elif which is not None:
        chosen = {name: p for name, p in ranking.entries if name in criteria}
    total = sum(chosen.values()) or 1.0
    for name in questions:
        if name == which:
            answers[name] = choice_answer(
                {label: min(1.0, chosen[label] / total) for label in criteria}
            )
        elif name.startswith(FITS_PREFIX):
            answers[name] = noul_answer(fits[name.removeprefix(FITS_PREFIX)])
        else:
            answers[name] = noul_answer(_gate_answer(gate, name))
    return answers


def _turn(state: Any) -> Turn:
    if isinstance(state, str):
        return Turn(request=state)
    if not isinstance(state, dict) or not isinstance(state.get("request"), str):
        raise Refusal(422, ("state", "request"), "give the user's request as a text", "missing")
    context = state.get("recent_context") or ()
    try:
        return Turn(request=state["request"], recent_context=context)
    except ValidationError as error:
        raise Refusal.of_validation(error, ("state",)) from error


def _criteria(name: str, question: Question) -> dict[str, str]:
    where = ("questions", name, "choice", "criteria")
    given = question.criteria
    if not isinstance(given, dict) or not given:
        raise Refusal(422, where, "give the skills: name to description", "missing")
    if len(given) > MOST_CHOICES:
        message = f"at most {MOST_CHOICES} choices; ask in chunks, then over the chunk winners"
        raise Refusal(422, where, message, "too_long")
    for label, text in given.items():
        if not is_safe_name(label):
            raise Refusal(422, (*where, label), "is not the name of a skill", "value_error")
        if text is not None and not isinstance(text, str):
            raise Refusal(422, (*where, label), "the description must be a text", "string_type")
    return {label: text or "" for label, text in given.items()}


def _require_known(name: str, question: Question, criteria: Mapping[str, str]) -> None:
    if question.type == "choice":
        return
    if question.type != "noul":
        raise _unsupported(name, f"questions of type {question.type[:40]!r} are not answered")
    if name.startswith(GATE_PREFIX) and name.removeprefix(GATE_PREFIX) in GATE_FIELDS:
        return
    if name.startswith(FITS_PREFIX):
        if name.removeprefix(FITS_PREFIX) in criteria:
            return
        raise _unsupported(name, "it asks about a skill that is no label of the choice")
    known = ", ".join(f"{GATE_PREFIX}{key}" for key in GATE_FIELDS)
    raise _unsupported(
        name, f"only the questions {known} and {FITS_PREFIX}NAME beside a choice are answered"
    )


def _unsupported(name: str, why: str) -> Refusal:
    message = f"this server answers the questions of skill routing alone: {why}"
    return Refusal(422, ("questions", name), message, "unsupported_question")


def _gate_answer(gate: Gate, name: str) -> float:
    value: float = getattr(gate, GATE_FIELDS[name.removeprefix(GATE_PREFIX)])
    return value


def _parts(text: str) -> tuple[str, str]:
    """Description and opening of the body, which the second question joins with a dash."""
    description, separator, body = text.partition(_SEPARATOR)
    return (description, body) if separator else (text, "")
