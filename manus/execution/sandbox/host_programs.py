"""Programs that manus itself starts outside of a sandbox: bubblewrap, nsenter, the browser."""

from __future__ import annotations

import os
import shutil
from pathlib import Path


def find_host_program(name: str) -> str | None:
    """Return the path of a program on the `PATH`, None if there is none. Blocking.

    It is not looked for where programs of a run may have put one of the same name: in an active
    environment, which may lie in the workspace, in the folder that manus was started in, or below a
    relative entry.
    """
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    trusted = [folder for folder in folders if not _may_be_written(Path(folder))]
    return shutil.which(name, path=os.pathsep.join(trusted))


def _may_be_written(folder: Path) -> bool:
    if not folder.is_absolute():
        return True
    real = Path(os.path.realpath(folder))
    active = (os.environ.get(variable) for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"))
    roots = [Path(os.path.realpath(prefix)) for prefix in active if prefix]
    here = Path.cwd()
    if not Path.home().is_relative_to(here):
        roots.append(here)
    return any(map(real.is_relative_to, roots))
