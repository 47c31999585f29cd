"""Find programs that manus itself starts outside a sandbox: bubblewrap, nsenter, the browser."""

from __future__ import annotations

import os
import shutil
from pathlib import Path


def find_host_program(name: str) -> str | None:
    """Return the path of a program on the `PATH`, or None. Blocking.

    Folders in which programs of a run may have placed a program with this name are skipped: an
    active environment, which may be in the workspace, the current directory, and relative entries.
    """
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    trusted = [folder for folder in folders if not _is_writable_by_programs(Path(folder))]
    return shutil.which(name, path=os.pathsep.join(trusted))


def _is_writable_by_programs(folder: Path) -> bool:
    if not folder.is_absolute():
        return True
    real = Path(os.path.realpath(folder))
    active = (os.environ.get(variable) for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"))
    roots = [Path(os.path.realpath(prefix)) for prefix in active if prefix]
    here = Path.cwd()
    if not Path.home().is_relative_to(here):
        roots.append(here)
    return any(map(real.is_relative_to, roots))
