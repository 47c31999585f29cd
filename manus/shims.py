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
from typing import Sequence  # noqa: UP035 - the newer place is not in old Pythons

_ROOT = Path(__file__).resolve().parent.parent
_AGAIN = "MANUS_SHIM_STARTED"
"""Set for the process that takes over, so that a broken environment is not started for ever."""


def start(command: str, arguments: Sequence[str] | None = None) -> int:
    """Call `manus COMMAND` in the repository's own environment; the exit code.

    Another Python than that of `.venv` is replaced by it. Where there is no `.venv`, the Python
    at hand does if it has what is needed; else a sentence says what to do.
    """
    given = sys.argv[1:] if arguments is None else arguments
    problem = _enter_environment(_ROOT / ".venv")
    if problem:
        sys.stderr.write(f"manus: {problem}\n")
        return 2
    from manus.cli import main

    return main(_translated(command, given))


def _enter_environment(venv: Path) -> str:
    """Go on with a Python that can run the program; if there is none, the reason."""
    is_second_try = os.environ.pop(_AGAIN, "")
    if Path(sys.prefix).resolve() == venv.resolve():
        return ""
    python = venv / "bin" / "python"
    if python.exists() and not is_second_try:
        sys.stdout.flush()
        os.environ[_AGAIN] = "1"
        try:
            os.execv(python, [str(python), *sys.argv])
        except OSError as error:
            return f"{python} cannot be started ({error.strerror}); `make clean setup` mends it."
    if sys.version_info >= (3, 11) and importlib.util.find_spec("langgraph"):
        return ""
    return (
        "This Python lacks what the program needs; run `make setup` in "
        f"{_ROOT} once (it makes .venv, with Python 3.11 or newer), then try again."
    )


def _translated(command: str, given: Sequence[str]) -> list[str]:
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
