"""The description of the service for machines: OpenAPI 3.1, made from the records it uses."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from pydantic.json_schema import models_json_schema

from router.service.wire import SuggestAnswer, SuggestRequest

_PROBLEM = {
    "type": "object",
    "description": "A refusal (RFC 9457).",
    "required": ["title", "status", "detail"],
    "properties": {
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"field": {"type": "string"}, "message": {"type": "string"}},
            },
        },
    },
}
_REFUSALS = {
    400: "The body is no JSON object.",
    401: "The token is missing or wrong.",
    403: "The caller or the roster's folder is not allowed.",
    404: "The roster's folder is not there.",
    408: "The body came too slowly.",
    413: "The body is too large.",
    415: "The body is not declared as JSON.",
    422: "A field is wrong, or the roster cannot be loaded.",
    429: "Too much is in work already; ask again after Retry-After seconds.",
    503: "The roster is still being indexed, or the service is leaving.",
}


def openapi_document() -> dict[str, Any]:
    """The OpenAPI document."""
    _, schemas = models_json_schema(
        [(SuggestRequest, "validation"), (SuggestAnswer, "serialization")],
        ref_template="#/components/schemas/{model}",
    )
    refused = {
        str(status): {
            "description": description,
            "content": {"application/problem+json": {"schema": _ref("Problem")}},
        }
        for status, description in _REFUSALS.items()
    }
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "skill-router",
            "version": version("skill-router"),
            "description": "Which one skill, if any, should an agent load for this turn?",
        },
        "paths": {
            "/v1/suggest": {
                "post": {
                    "operationId": "suggest",
                    "summary": "Decide for one turn.",
                    "requestBody": _json_body(_ref("SuggestRequest")),
                    "responses": {
                        "200": _json_answer("The decision.", _ref("SuggestAnswer")),
                        **refused,
                    },
                }
            },
            "/v1/hook": {
                "post": {
                    "operationId": "hook",
                    "summary": "Answer a UserPromptSubmit hook of Claude Code or Codex.",
                    "requestBody": _json_body(_HOOK_INPUT),
                    "responses": {
                        "200": _json_answer("Context for the agent.", _HOOK_OUTPUT),
                        "204": {"description": "There is nothing to say."},
                        **refused,
                    },
                }
            },
            "/v1/systemone": {
                "post": {
                    "operationId": "systemOne",
                    "summary": "Answer the questions of skill routing as a System One server.",
                    "requestBody": _json_body(_SYSTEM_ONE_INPUT),
                    "responses": {
                        "200": _json_answer("The answers.", _SYSTEM_ONE_OUTPUT),
                        **{code: answer for code, answer in refused.items() if code != "422"},
                        "422": _json_answer("What is wrong, by field.", _FIELD_ERRORS),
                    },
                }
            },
            "/v1/models": {
                "get": {
                    "operationId": "models",
                    "summary": "The one model that answers System One requests.",
                    "responses": {"200": _json_answer("The models.", {"type": "object"})},
                }
            },
            "/healthz": {
                "get": {
                    "operationId": "health",
                    "summary": "Whether the service is well, and which rosters it holds.",
                    "responses": {"200": _json_answer("It answers.", {"type": "object"})},
                }
            },
            "/metrics": {
                "get": {
                    "operationId": "metrics",
                    "summary": "Counters in Prometheus' text format.",
                    "responses": {
                        "200": {
                            "description": "The counters.",
                            "content": {"text/plain": {"schema": {"type": "string"}}},
                        }
                    },
                }
            },
        },
        "components": {
            "schemas": {**schemas["$defs"], "Problem": _PROBLEM},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"token": []}],
    }


_SYSTEM_ONE_INPUT = {
    "type": "object",
    "required": ["model", "state", "questions"],
    "properties": {
        "model": {"type": "string"},
        "state": {
            "description": "The request as a text, or an object with it and what went before.",
            "anyOf": [
                {"type": "string"},
                {
                    "type": "object",
                    "required": ["request"],
                    "properties": {"request": {"type": "string"}, "recent_context": {}},
                },
            ],
        },
        "questions": {"type": "object", "additionalProperties": {"type": "object"}},
    },
}
_SYSTEM_ONE_OUTPUT = {
    "type": "object",
    "required": ["model", "answers", "usage"],
    "properties": {
        "model": {"type": "string"},
        "answers": {"type": "object", "additionalProperties": {"type": "object"}},
        "usage": {"type": "object"},
    },
}
_FIELD_ERRORS = {
    "type": "object",
    "properties": {
        "detail": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "loc": {"type": "array"},
                    "msg": {"type": "string"},
                    "type": {"type": "string"},
                },
            },
        }
    },
}
_HOOK_INPUT = {
    "type": "object",
    "required": ["prompt"],
    "properties": {
        "hook_event_name": {"type": "string"},
        "prompt": {"type": "string"},
        "cwd": {"type": "string"},
        "session_id": {"type": "string"},
        "transcript_path": {"type": "string"},
    },
}
_HOOK_OUTPUT = {
    "type": "object",
    "properties": {
        "hookSpecificOutput": {
            "type": "object",
            "properties": {
                "hookEventName": {"const": "UserPromptSubmit"},
                "additionalContext": {"type": "string"},
            },
        }
    },
}


def _ref(name: str) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{name}"}


def _json_body(schema: dict[str, Any]) -> dict[str, Any]:
    return {"required": True, "content": {"application/json": {"schema": schema}}}


def _json_answer(description: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": description, "content": {"application/json": {"schema": schema}}}
