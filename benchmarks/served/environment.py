"""The programs that two instances need: PostgreSQL, Redis, and a Python with Aegra."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

from tests.threads.postgres_server import binaries

ROOT = Path(__file__).resolve().parents[2]
DEFAULT = ROOT / ".venv-aegra"
"""The environment of Aegra, created by `make served`."""
_PROBE = "import sys, aegra_api, langchain, manus; sys.exit(sys.version_info < (3, 12))"


def find_python(folder: Path = DEFAULT) -> Path | None:
    """Return a Python >= 3.12 with Aegra and manus: the one in the folder, or this one."""
    candidates = (folder / "bin" / "python", Path(sys.executable))
    return next((python for python in candidates if _has_aegra(python)), None)


def find_missing(folder: Path = DEFAULT) -> list[str]:
    """Return what is missing on this machine, in words."""
    missing = []
    if binaries() is None:
        missing.append("PostgreSQL's server (Debian: postgresql)")
    if shutil.which("redis-server") is None:
        missing.append("Redis (Debian: redis-server)")
    if find_python(folder) is None:
        missing.append("a Python >= 3.12 with aegra-api (`make served` creates one)")
    return missing


def prepare(folder: Path) -> None:
    """Create the environment of Aegra if it does not work yet."""
    if _has_aegra(folder / "bin" / "python"):
        return
    print(f"Setting up {folder} (once) ...", file=sys.stderr)
    _run_uv("venv", "--quiet", "--clear", "--python", _select_python(), str(folder))
    python = str(folder / "bin" / "python")
    packages = [_read_requirement(), "langchain", "--editable", f"{ROOT}[postgres]"]
    _run_uv("pip", "install", "--quiet", "--python", python, *packages)


def _select_python() -> str:
    """Return an installed Python >= 3.12, or a version that uv can install."""
    command = [str(ROOT / "scripts" / "setup.sh"), "pythons"]
    listed = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    pythons = dict(line.split(" ", 1) for line in listed.splitlines())
    return next((path for version, path in pythons.items() if version != "3.11"), "3.12")


def _run_uv(*arguments: str) -> None:
    command = [str(ROOT / "scripts" / "setup.sh"), "uv", *arguments]
    if subprocess.run(command, check=False).returncode:
        sys.exit("The environment of Aegra could not be created: see above.")


def _read_requirement() -> str:
    """Return the version of Aegra that the image contains."""
    requirement = re.search(r"aegra-api==[\w.*]+", (ROOT / "deploy" / "Dockerfile").read_text())
    assert requirement is not None
    return requirement[0]


def _has_aegra(python: Path) -> bool:
    if not python.exists():
        return False
    command = [str(python), "-c", _PROBE]
    return not subprocess.run(command, capture_output=True, check=False).returncode
