"""`faultline init`: a new cluster's folder and its cluster.toml."""

from __future__ import annotations

from typing import Annotated

import typer

from orchestration.cli.options import HomeOption, SourcesOption, SshOption, answer, settings_of
from orchestration.terminal import output

EXAMPLES = """Examples:

On a host that has Slurm's commands: `faultline init gpu1`

Ask Slurm on another host: `faultline init gpu1 --ssh login1`

Print the file, and write nothing: `faultline init gpu1 --print`
"""


def init(
    cluster: Annotated[str, typer.Argument(help="Name of the cluster and of its folder.")],
    sources: SourcesOption = None,
    home: HomeOption = None,
    ssh: SshOption = None,
    is_printed: Annotated[bool, typer.Option("--print", help="Print the file, and write nothing.")] = False,
) -> None:
    """Make a cluster's folder with a cluster.toml of the site's settings, filled in from Slurm where possible."""
    from orchestration.new_cluster.folder import make_cluster, show_file

    if is_printed:
        output.write(answer(lambda: show_file(cluster, ssh)))
    else:
        folder = settings_of(home, sources).home.sources
        output.say_lines(answer(lambda: make_cluster(folder, cluster, ssh), writes=True))
