"""Read GraphQL requests the way the server behind the guard will, to tell queries from mutations."""

from __future__ import annotations

import json
from typing import Any

from graphql import GraphQLError, OperationDefinitionNode, OperationType, parse

MAX_TOKENS = 20_000
"""Dagster's longest query has about 3,000."""


class BadRequest(ValueError):
    """The body is not exactly one GraphQL request in JSON."""


def check_request(body: bytes) -> bool:
    """Return whether a request has a mutation; raise `BadRequest` unless it is exactly one request.

    A list of requests and a request without its text (a persisted query) are refused: Dagster knows neither.
    """
    request = _json(body)
    if not isinstance(request, dict) or not isinstance(request.get("query"), str):
        raise BadRequest("the body is not one GraphQL request with its query")
    return _has_mutation(request["query"])


def check_message(message: str | bytes) -> None:
    """Raise `BadRequest` when a message of a websocket is no JSON object or starts a mutation."""
    content = _json(message)
    if not isinstance(content, dict):
        raise BadRequest("the message is no JSON object")
    if content.get("type") != "start":
        return
    payload = content.get("payload")
    if not isinstance(payload, dict) or not isinstance(payload.get("query"), str):
        raise BadRequest("the message starts nothing")
    if _has_mutation(payload["query"]):
        raise BadRequest("a mutation is sent by POST")


def _json(text: str | bytes) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise BadRequest("the request is not valid JSON") from None


def _has_mutation(query: str) -> bool:
    try:
        document = parse(query, no_location=True, max_tokens=MAX_TOKENS)
    except (GraphQLError, RecursionError):
        raise BadRequest("the query is not valid GraphQL") from None
    return any(
        isinstance(node, OperationDefinitionNode) and node.operation == OperationType.MUTATION
        for node in document.definitions
    )
