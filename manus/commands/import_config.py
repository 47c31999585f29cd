"""`manus import-config`: the configuration of OpenManus, taken over."""

from __future__ import annotations

import argparse
from pathlib import Path

SUMMARY = "Take over the configuration of OpenManus (config.toml, mcp.json)"


def is_available() -> bool:
    """Always."""
    return True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """From where, and to where."""
    parser.add_argument(
        "path",
        nargs="?",
        default=".",
        metavar="PATH",
        help="config.toml, mcp.json, or a folder with them or their config/ in it (default: here)",
    )
    parser.add_argument(
        "--output", metavar="FILE", default="manus.toml", help="the file to write (manus.toml)"
    )
    parser.add_argument("--force", action="store_true", help="replace the file if it is there")
    parser.add_argument("--json", action="store_true", help="the account as one JSON object")


def execute(args: argparse.Namespace) -> int:
    """Write ours, and give an account of every setting."""
    from manus.openmanus.account import as_json, as_text
    from manus.openmanus.files import read_configuration
    from manus.openmanus.translate import translate
    from manus.openmanus.write import write_settings
    from manus.report import print_json, print_output

    found = read_configuration(Path(args.path))
    done = translate(found.config, found.servers)
    output = Path(args.output)
    write_settings(done, found.files, output, replace=args.force)
    if args.json:
        print_json(as_json(done, found.files, output))
    else:
        print_output(as_text(done, found.files, output, _columns()))
    return 0


def _columns() -> int | None:
    """As wide as the terminal; whole lines where there is none."""
    import shutil
    import sys

    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None
