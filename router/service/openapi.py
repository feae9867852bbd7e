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
