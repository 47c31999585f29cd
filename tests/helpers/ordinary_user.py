"""Run a program as an ordinary user if the tests are run by root.

`python ordinary_user.py FOLDER COMMAND...`: as `nobody`, whose home is the folder. The parts of
root's home that the command needs (this Python, the repository) are mounted at the same path.
"""

import ctypes
import os
import shutil
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
USER = 65534
NEW_MOUNTS = 0x20000
BIND, RECURSIVE, PRIVATE = 0x1000, 0x4000, 0x40000

libc = ctypes.CDLL(None, use_errno=True)


def become(home: Path) -> None:
    """Turn this process, and all its descendants, into processes of an ordinary user."""
    check(libc.unshare(NEW_MOUNTS))
    mount("none", Path("/"), RECURSIVE | PRIVATE)
    show([ROOT, Path(sys.prefix), Path(sys.base_prefix), home])
    shutil.chown(home, USER, USER)
    os.setgroups([])
    os.setgid(USER)
    os.setuid(USER)


def show(folders: list[Path]) -> None:
    """Make folders accessible that are below a private one."""
    real_folders = [Path(os.path.realpath(folder)) for folder in folders]
    aside = Path(tempfile.mkdtemp())
    aside.chmod(0o755)
    for number, folder in enumerate(real_folders):
        (aside / str(number)).mkdir()
        mount(str(folder), aside / str(number), BIND | RECURSIVE)
    private = {parent for folder in real_folders for parent in folder.parents if is_private(parent)}
    for parent in sorted(private):
        if parent.is_dir() and is_private(parent):  # not already hidden by one above it
            mount("none", parent, 0, "tmpfs", "mode=755")
    for number, folder in enumerate(real_folders):
        folder.mkdir(parents=True, exist_ok=True)
        mount(str(aside / str(number)), folder, BIND | RECURSIVE)


def is_private(folder: Path) -> bool:
    return not folder.stat().st_mode & 0o001


def mount(source: str, target: Path, flags: int, kind: str = "none", options: str = "") -> None:
    arguments = (source, str(target), kind, options)
    encoded = [argument.encode() for argument in arguments]
    check(libc.mount(*encoded[:3], ctypes.c_ulong(flags), encoded[3]))


def check(answer: int) -> None:
    if answer:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


if __name__ == "__main__":
    own = Path(sys.argv[1])
    become(own)
    variables = {"HOME": str(own), "TMPDIR": str(own), "USER": "nobody", "LOGNAME": "nobody"}
    left_out = {name: "" for name in os.environ if name.startswith(("XDG_", "PYTEST_"))}
    environment = {name: value for name, value in os.environ.items() if name not in left_out}
    os.chdir(ROOT)
    os.execvpe(
        sys.argv[2], sys.argv[2:], {**environment, **variables, "PYTHONDONTWRITEBYTECODE": "1"}
    )
