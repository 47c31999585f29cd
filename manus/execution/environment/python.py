"""Virtual environments, conda environments and the Python installations behind them.

Nothing of them is executed: a workspace is written by programs that must stay in their sandbox.
All of it is blocking.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from manus.execution.environment.exposure import (
    Exposure,
    expose_environment,
    expose_libraries,
    join,
)

_MOST_LINKS = 40
_LARGEST = 20_000
_VERSION = re.compile(r"(?m)^version(?:_info)?\s*=\s*(\d+(?:\.\d+)*)")
_CONDA_PYTHON = re.compile(r"python-(\d+(?:\.\d+)*)-\w+\.json")


class PythonEnvironment(NamedTuple):
    """A folder with a Python and its packages."""

    prefix: Path
    version: str
    """Such as `3.12.1`; empty if it is not known without asking it."""
    is_conda: bool = False

    @property
    def python(self) -> Path:
        """The interpreter, by the path that makes it find its packages."""
        return self.prefix / "bin" / "python"

    def fault(self) -> str:
        """Return why its Python cannot be started; empty if it can."""
        if os.access(self.python, os.X_OK):
            return ""
        if self.python.is_symlink():
            gone = os.path.realpath(self.python)
            return f"its Python {gone} is gone: make the environment anew"
        return "it has no Python"


def read_environment(prefix: Path) -> PythonEnvironment | None:
    """Return what is known of an environment; None if that folder is none."""
    if (prefix / "conda-meta").is_dir():
        names = (path.name for path in (prefix / "conda-meta").glob("python-[0-9]*.json"))
        found = next(filter(None, map(_CONDA_PYTHON.fullmatch, names)), None)
        return PythonEnvironment(prefix, found[1] if found else "", is_conda=True)
    if not (prefix / "pyvenv.cfg").is_file():
        return None
    match = _VERSION.search(_beginning(prefix / "pyvenv.cfg"))
    return PythonEnvironment(prefix, match[1] if match else "")


def expose_python(environment: PythonEnvironment, workspace: Path | None = None) -> Exposure:
    """Return what programs must read for the environment's Python to start and find packages."""
    exposures = [expose_libraries(prefix) for prefix in _installations(environment.python)]
    # its scripts name the one path, a link leads to the other
    for prefix in (environment.prefix, Path(os.path.realpath(environment.prefix))):
        if workspace is None or not prefix.is_relative_to(workspace):
            exposures.append(expose_environment(prefix))
    return join(exposures)


def editable_sources(environment: PythonEnvironment) -> list[Path]:
    """Return the folders of packages that are installed in place (`pip install -e`)."""
    found = []
    for about in environment.prefix.glob("lib/python*/site-packages/*.dist-info/direct_url.json"):
        try:
            said = json.loads(_beginning(about))
            url = urlsplit(said["url"])
            is_editable = said["dir_info"]["editable"]
        except (ValueError, KeyError, TypeError):  # not installed in place
            continue
        if is_editable and url.scheme == "file":
            found.append(Path(unquote(url.path)))
    return found


def find_poetry_environment(workspace: Path, home: Path, cache: str | None) -> Path | None:
    """Return the environment that poetry keeps for a project outside of its folder.

    Its name is made of the project's and of a hash of its path (poetry's `env_manager.py`).
    """
    if not (workspace / "pyproject.toml").is_file():
        return None
    digest = hashlib.sha256(os.fsencode(os.path.normcase(workspace))).digest()
    name = base64.urlsafe_b64encode(digest).decode()[:8]
    folder = Path(cache) if cache else home / ".cache/pypoetry"
    found = sorted((folder / "virtualenvs").glob(f"*-{name}-py*"))
    return found[-1] if found else None


def _installations(python: Path) -> Iterator[Path]:
    """Yield the installations that the link of an environment's Python passes through."""
    for _ in range(_MOST_LINKS):
        if _is_installation(python.parent.parent):
            yield python.parent.parent
        if not python.is_symlink():
            break
        python = Path(os.path.normpath(python.parent / python.readlink()))
    real = Path(os.path.realpath(python)).parent.parent
    if _is_installation(real):
        yield real


def _is_installation(prefix: Path) -> bool:
    """Return whether a Python's standard library is in a folder."""
    return any(prefix.glob("lib*/py*/os.py"))


def _beginning(path: Path) -> str:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # a pipe is no wait
    except OSError:
        return ""
    with os.fdopen(descriptor, "rb") as file:
        return file.read(_LARGEST).decode("utf-8", "replace")
