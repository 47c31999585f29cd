"""`python main.py --prompt "…"`: the same as `manus run`."""

import importlib.util
import os
import sys
from pathlib import Path


def start(command: str) -> int:
    """Call `manus COMMAND`, by the Python of `.venv` where the one at hand lacks what it needs."""
    python = Path(__file__).resolve().parent / ".venv" / "bin" / "python"
    if not importlib.util.find_spec("langgraph") and python.exists():
        os.execv(python, [str(python), *sys.argv])
    from manus.cli import main

    return main([command, *(word for word in sys.argv[1:] if word != "--prompt")])


if __name__ == "__main__":
    sys.exit(start("run"))
