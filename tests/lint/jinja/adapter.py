"""What sqlfluff takes for dbt's adapter: of a dispatched macro it lints the DuckDB form."""

from collections.abc import Callable

from jinja2 import pass_context
from jinja2.runtime import Context


@pass_context
def dispatch(context: Context, name: str, package: str | None = None) -> Callable[..., str]:
    """Find the macro's default form, which stands in the same file."""
    return context[f"default__{name}"]
