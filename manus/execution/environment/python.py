"""Virtual environments, conda environments and the Python installations behind them.

None of them is executed, because programs in the sandbox may have written them. All functions are
blocking.
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

_MAX_LINKS = 40
_MAX_BYTES = 20_000
_VERSION = re.compile(r"(?m)^version(?:_info)?\s*=\s*(\d+(?:\.\d+)*)")
_CONDA_PYTHON = re.compile(r"python-(\d+(?:\.\d+)*)-\w+\.json")


class PythonEnvironment(NamedTuple):
    """A folder with a Python and its packages."""

    prefix: Path
    version: str
    """Such as `3.12.1`; empty if no file states it."""
    is_conda: bool = False

    @property
    def python(self) -> Path:
        """Return the path of the interpreter through which it finds its packages."""
        return self.prefix / "bin" / "python"

    def find_fault(self) -> str:
        """Return why its Python cannot be started; empty if it can."""
        if os.access(self.python, os.X_OK):
            return ""
        if self.python.is_symlink():
            target = os.path.realpath(self.python)
            return f"its Python {target} no longer exists: recreate the environment"
        return "it has no Python"


def read_environment(prefix: Path) -> PythonEnvironment | None:
    """Read an environment; return None if the folder is not an environment."""
    if (prefix / "conda-meta").is_dir():
        names = (path.name for path in (prefix / "conda-meta").glob("python-[0-9]*.json"))
        conda_match = next(filter(None, map(_CONDA_PYTHON.fullmatch, names)), None)
        return PythonEnvironment(prefix, conda_match[1] if conda_match else "", is_conda=True)
    if not (prefix / "pyvenv.cfg").is_file():
        return None
    match = _VERSION.search(_read_start(prefix / "pyvenv.cfg"))
    return PythonEnvironment(prefix, match[1] if match else "")


def expose_python(environment: PythonEnvironment, workspace: Path | None = None) -> Exposure:
    """Return the files that the environment's Python needs to start and to find packages."""
    exposures = list(map(expose_libraries, _iterate_installations(environment.python)))
    # scripts contain one path, links lead to the other
    for prefix in (environment.prefix, Path(os.path.realpath(environment.prefix))):
        if workspace is None or not prefix.is_relative_to(workspace):
            exposures.append(expose_environment(prefix))
    return join(exposures)


def find_editable_sources(environment: PythonEnvironment) -> list[Path]:
    """Return the folders of editable packages (`pip install -e`)."""
    folders = []
    for record in environment.prefix.glob("lib/python*/site-packages/*.dist-info/direct_url.json"):
        try:
            content = json.loads(_read_start(record))
            url = urlsplit(content["url"])
            is_editable = content["dir_info"]["editable"]
        except (ValueError, KeyError, TypeError):  # not editable
            continue
        if is_editable and url.scheme == "file":
            folders.append(Path(unquote(url.path)))
    return folders


def find_poetry_environment(workspace: Path, home: Path, cache: str | None) -> Path | None:
    """Return the environment of a project in poetry's cache.

    Its name contains a hash of the project's path (poetry's `env_manager.py`).
    """
    if not (workspace / "pyproject.toml").is_file():
        return None
    digest = hashlib.sha256(os.fsencode(os.path.normcase(workspace))).digest()
    name = base64.urlsafe_b64encode(digest).decode()[:8]
    folder = Path(cache) if cache else home / ".cache/pypoetry"
    matches = sorted((folder / "virtualenvs").glob(f"*-{name}-py*"))
    return matches[-1] if matches else None


def _iterate_installations(python: Path) -> Iterator[Path]:
    """Yield the installations that the links of an environment's Python lead through."""
    for _ in range(_MAX_LINKS):
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


def _read_start(path: Path) -> str:
    try:
        # opening a pipe must not block
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ""
    with os.fdopen(descriptor, "rb") as file:
        return file.read(_MAX_BYTES).decode("utf-8", "replace")
