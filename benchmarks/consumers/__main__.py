"""Print a table of the checks: `python -m benchmarks.consumers [NAME ...]`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "manus-consumers"
"""Folder of the environments, outside of the repository."""
PACKAGES = {
    "create_agent": "langchain",
    "langgraph-supervisor": "langgraph-supervisor",
    "langgraph-swarm": "langgraph-swarm",
    "ag-ui-langgraph": "ag-ui-langgraph[fastapi]",
    "inspect-ai": "inspect-ai",
    "harbor": "harbor",
    "deepagents-acp": "deepagents-acp",
}
"""The package of each framework."""
SMALL = ("create_agent", "langgraph-supervisor", "langgraph-swarm", "ag-ui-langgraph")
"""Frameworks that share an environment, and that CI runs: `make consumers ARGS=small`."""
CHECKS = ("tool call", "stream", "interrupt", "second request")
_LIMIT = 600
"""Seconds for the checks of one framework."""


def find_python() -> str:
    """Return the newest Python of this machine that the project supports; some require 3.12."""
    setup = [str(ROOT / "scripts" / "setup.sh"), "pythons"]
    lines = subprocess.run(setup, check=True, capture_output=True, text=True).stdout.splitlines()
    return lines[-1].partition(" ")[2]


@cache
def prepare(name: str) -> Path:
    """Return the Python of a framework's environment, which is created on first use."""
    folder = CACHE / ("small" if name in SMALL else name)
    python = folder / "bin" / "python"
    uv = [str(ROOT / "scripts" / "setup.sh"), "uv"]
    if not python.exists():
        venv = [*uv, "venv", "--quiet", "--clear", "--python", find_python(), str(folder)]
        subprocess.run(venv, check=True)
    names = SMALL if name in SMALL else (name,)
    packages = [*(PACKAGES[name] for name in names), "--editable", f"{ROOT}[langchain]"]
    install = [*uv, "pip", "install", "--quiet", "--python", str(python)]
    subprocess.run([*install, *packages], check=True)
    return python


def run(name: str) -> dict[str, str]:
    """Return the results of a framework by check."""
    python = prepare(name)
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.run(
            [str(python), "-m", "benchmarks.consumers.run", name],
            cwd=folder,
            env={
                **os.environ,
                "PYTHONPATH": str(ROOT),
                "OPENAI_API_KEY": "none",
                "INSPECT_DISPLAY": "none",
            },
            capture_output=True,
            text=True,
            timeout=_LIMIT,
            check=False,
        )
    try:
        results: dict[str, str] = json.loads(process.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        return dict.fromkeys(CHECKS, process.stderr[-200:])
    return results


def main() -> int:
    """Run the named frameworks, or all; return 1 if a check failed."""
    is_bad = False
    print(" | ".join(("framework", *CHECKS)))
    names = [*(SMALL if sys.argv[1:] == ["small"] else sys.argv[1:] or PACKAGES)]
    for name in names:
        results = run(name)
        cells = [results.get(check, "not run") for check in CHECKS]
        print(" | ".join((name, *cells)), flush=True)
        is_bad |= not all(cell == "ok" or cell.startswith("not in ") for cell in cells)
    return int(is_bad)


if __name__ == "__main__":
    sys.exit(main())
