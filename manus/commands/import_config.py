"""`manus import-config`: the configuration of OpenManus, taken over."""

from __future__ import annotations

from pathlib import Path

import click

from manus.options import json_object


@click.command("import-config")
@click.argument("path", default=".", type=click.Path(path_type=Path))
@click.option(
    "--output",
    metavar="FILE",
    default="manus.toml",
    type=click.Path(path_type=Path),
    help="The file to write (manus.toml).",
)
@click.option("--force", is_flag=True, help="Replace the file if it is there.")
@json_object
def import_config(path: Path, output: Path, force: bool, json: bool) -> int:
    """Take over the configuration of OpenManus: config.toml, mcp.json.

    PATH is one of them, or a folder with them or their config/ in it (default: here).
    """
    from manus.import_config import as_text, read_configuration, translate, write_settings
    from manus.report import print_json, print_output

    config, servers, files = read_configuration(path)
    done = translate(config, servers)
    write_settings(done, files, output, replace=force)
    if json:
        taken = [{"from": theirs, "to": ours} for theirs, ours in done.taken]
        left = [{"from": theirs, "why": why} for theirs, why in done.left]
        print_json(
            {"files": list(map(str, files)), "output": str(output), "taken": taken, "left": left}
        )
    else:
        print_output(as_text(done, files, output))
    return 0
