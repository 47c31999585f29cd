"""What `main.py` and `run_flow.py` at the repository's root do: they call the program.

Whoever types `python main.py` has any Python at hand. So nothing here needs more than the standard
library of Python 3.7, until it is sure of the environment.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
from pathlib import Path

_ROOT = Path(__file__).resolve().parent.parent


def start(command: str) -> int:
    """Call `manus COMMAND` in the repository's own environment; the exit code.

    Another Python than that of `.venv` is replaced by it. Where there is no `.venv`, the Python
    at hand does if it has what is needed; else a sentence says what to do.
    """
    venv = _ROOT / ".venv"
    python = venv / "bin" / "python"
    is_ours = Path(sys.prefix).resolve() == venv.resolve()
    if not is_ours and python.exists():
        sys.stdout.flush()
        os.execv(python, [str(python), *sys.argv])
    if sys.version_info < (3, 11) or not importlib.util.find_spec("langgraph"):
        sys.stderr.write(
            "manus: This Python lacks what the program needs; run `make setup` in "
            f"{_ROOT} once (it makes .venv, with Python 3.11 or newer), then try again.\n"
        )
        return 2
    from manus.cli import main

    return main(_translated(command, sys.argv[1:]))


def _translated(command: str, given: list[str]) -> list[str]:
    """The arguments of `manus`: `--prompt TEXT` as its request, all others as they are."""
    parser = argparse.ArgumentParser(
        description=f"Calls `manus {command}`.",
        epilog=f"All other options are those of `manus {command} --help`.",
        allow_abbrev=False,
    )
    parser.add_argument("--prompt", help="what to do; asked for if it is missing")
    known, others = parser.parse_known_args(given)
    request = ["--", known.prompt] if known.prompt else []
    return [command, *others, *request]
