"""Dagster's own web server for the code server; a read-only one executes no mutation.

Dagster's own command line (`dagster_webserver.cli`) uses the same few non-public names.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dagster import DagsterInstance
from dagster._core.workspace.context import WorkspaceProcessContext
from dagster._core.workspace.load_target import WorkspaceFileTarget
from dagster_webserver.version import __version__
from dagster_webserver.webserver import DagsterWebserver
from graphql import ASTValidationRule, GraphQLError, OperationDefinitionNode, OperationType, ValidationRule

from orchestration.ui.guard import App

LIVE_DATA_MILLISECONDS = 2000
"""How often a page asks for new data; Dagster's own default."""


class NoMutation(ValidationRule):
    """A rule of GraphQL's validation: no request may hold a mutation."""

    def enter_operation_definition(self, node: OperationDefinitionNode, *_: Any) -> None:
        """Report a mutation as an error, so that no part of the request is executed."""
        if node.operation == OperationType.MUTATION:
            self.report_error(GraphQLError("this server is read-only", node))


class ReadOnlyWebserver(DagsterWebserver):
    """Dagster's server without mutations.

    Dagster's own permissions check most mutations one by one, but not `setNuxSeen`, which writes outside the home. On a
    websocket, Dagster executes only subscriptions.
    """

    def build_graphql_validation_rules(self) -> Collection[type[ASTValidationRule]]:
        """Return the rules of GraphQL with one more."""
        return [*super().build_graphql_validation_rules(), NoMutation]


@contextmanager
def web_application(instance: DagsterInstance, workspace_file: Path, *, is_read_only: bool) -> Iterator[App]:
    """Yield the application; Dagster's permissions switch off the buttons of a read-only one."""
    target = WorkspaceFileTarget(paths=[str(workspace_file)])
    with WorkspaceProcessContext(
        instance, version=__version__, read_only=is_read_only, workspace_load_target=target
    ) as workspace:
        webserver = ReadOnlyWebserver if is_read_only else DagsterWebserver
        yield webserver(workspace, live_data_poll_rate=LIVE_DATA_MILLISECONDS).create_asgi_app()
