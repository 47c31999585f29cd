"""bubblewrap: the programs of a run see a small read-only system and the workspace, no more.

What was tried against it is in `tests/safety/escape`.
"""

from __future__ import annotations

import functools
import os
import stat
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path

from manus.config.files import data_folder, state_folder
from manus.execution.environment.exposure import Exposure, expose_environment, join
from manus.execution.environment.user_programs import UserPrograms, expose_user_programs
from manus.execution.sandbox.home import HOME, SandboxHome
from manus.execution.sandbox.host_programs import find_host_program
from manus.execution.sandbox.interpreter import own_prefixes
from manus.execution.workspace import PRIVATE

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
_TOOLCHAINS = (
    *(".pyenv", ".local/share/uv/python", ".local/share/mise/installs", ".rbenv", ".asdf"),
    *(".nvm/versions", ".volta", ".local/share/fnm", ".local/share/pnpm", ".bun/bin", ".deno/bin"),
    *(".cargo/bin", ".rustup", "go/bin", ".sdkman/candidates", ".juliaup", ".ghcup/bin"),
)
"""What people install below their home to program with. The few files there that may hold a key
are hidden (`manus.execution.environment.exposure`). Of `~/.local/bin` and `/opt` only tools are
shown (`manus.execution.environment.user_programs`)."""
_CONDA = ("miniconda3", "anaconda3", "miniforge3")
"""Shown in parts: tokens lie beside the programs, and other environments below."""
_EMPTY = "empty"
"""A folder that stands for those that are hidden."""
_SHARED_MEMORY_BYTES = 1 << 30
"""Of `/dev/shm`, which has half of the machine's memory otherwise."""
EXAMPLES = (".example", ".sample", ".template")
"""Endings of files that show what a file of secrets looks like."""
_WALLS = (
    *("--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"),
    *("--disable-userns", "--cap-drop", "ALL", "--die-with-parent", "--new-session"),
    *("--hostname", "sandbox"),
)


def program() -> str | None:
    """Where bubblewrap is, if it is here."""
    return find_host_program("bwrap")


def fault() -> str:
    """Why bubblewrap does not work on this machine; empty if it does. Blocking; tried once."""
    return "it is not installed" if (path := program()) is None else _fault_of(path)


@functools.cache
def _fault_of(_path: str) -> str:
    with closing(SandboxHome()) as home:
        lay_out(home.path)
        inside = home.path / "tmp"
        try:
            done = subprocess.run(
                [*words(inside, home.path, inside, read=(), filter_at=""), "true"],
                capture_output=True,
                timeout=_TRY_SECONDS,
                env={"PATH": os.defpath},
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return str(error)
    return done.stderr.decode("utf-8", "replace").strip() if done.returncode else ""


def lay_out(home: Path) -> None:
    """Put `etc` into a run's own folder. Blocking.

    Each mount costs every program a millisecond: so small files are copied, once a run, and only
    folders are mounted.
    """
    etc = home / "etc"
    etc.mkdir(mode=0o755)
    (home / _EMPTY).mkdir(mode=0o755)
    hidden = private_paths()
    for name in _FROM_ETC:
        try:
            content = (_ETC / name).read_bytes()
            (etc / name).parent.mkdir(mode=0o755, parents=True, exist_ok=True)
            (etc / name).write_bytes(b"" if _ETC / name in hidden else content)
        except IsADirectoryError:
            (etc / name).mkdir(mode=0o755, parents=True)
        except OSError:
            continue  # not on this machine
    user, group = os.getuid(), os.getgid()
    root = "" if user == 0 else "root:x:0:0:root:/root:/usr/sbin/nologin\n"
    roots = "" if group == 0 else "root:x:0:\n"
    (etc / "passwd").write_text(f"{root}agent:x:{user}:{group}:agent:{HOME}:/bin/bash\n")
    (etc / "group").write_text(f"{roots}agent:x:{group}:\n")
    (etc / "hosts").write_text("127.0.0.1 localhost sandbox\n::1 localhost\n")


def words(
    workspace: Path,
    home: Path,
    directory: Path,
    *,
    read: Iterable[Path],
    hidden: Iterable[Path] = (),
    read_only: Iterable[Path] = (),
    writable: Iterable[Path] = (),
    filter_at: str,
) -> list[str]:
    """What stands before a command, which starts in a visible `directory`. Blocking.

    `workspace` can be written at its own path; `home` holds what becomes `$HOME`, `/tmp` and
    `/etc`; `read` can be read, too, but for the `hidden` files there. `read_only` is what in the
    workspace cannot be written; `writable` is what outside of it can. `filter_at` is the descriptor
    of the filter for system calls.
    """
    found = [program() or "/usr/bin/bwrap", *_WALLS]
    for path in map(Path, _SYSTEM):
        if path.is_symlink():
            found += ["--symlink", str(path.readlink()), str(path)]
        elif path.exists():
            found += ["--ro-bind", str(path), str(path)]
    found += ["--ro-bind", str(home / "etc"), str(_ETC)]
    for name in _FROM_ETC:
        if (home / "etc" / name).is_dir():
            found += ["--ro-bind-try", str(_ETC / name), str(_ETC / name)]
    found += ["--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys", "--dev", "/dev"]
    found += ["--size", str(_SHARED_MEMORY_BYTES), "--tmpfs", "/dev/shm"]
    found += ["--ro-bind-try", "/sys/devices/system/cpu", "/sys/devices/system/cpu"]
    found += ["--bind", str(home / "tmp"), "/tmp", "--bind", str(home / "home"), HOME]
    for path in _outermost(read):
        found += ["--ro-bind-try", str(path), str(path)]
    for path in filter(Path.exists, {*private_paths(), *hidden}):
        found += ["--ro-bind", str(home / _EMPTY) if path.is_dir() else os.devnull, str(path)]
    for path in (workspace, *writable):
        found += ["--bind", str(path), str(path)]
    found += _kept(workspace, read_only)
    for path in (data_folder(), state_folder()):
        if path.is_relative_to(workspace) and path.exists():  # a workspace that is one's home
            found += ["--tmpfs", str(path)]
    if filter_at:
        found += ["--seccomp", filter_at]
    # the root and `/dev` are file systems in memory without a size of their own
    return [*found, "--remount-ro", "/dev", "--remount-ro", "/", "--chdir", str(directory), "--"]


def programs() -> Exposure:
    """Return the running Python, and what the user programs with. Blocking."""
    home = Path.home()
    parts = [prefix for prefix in own_prefixes() if not is_of_system(prefix)]
    parts += [home / name for name in _CONDA]
    whole = tuple(filter(Path.is_dir, (home / name for name in _TOOLCHAINS)))
    return join([*map(expose_environment, parts), Exposure(whole), user_programs().exposure])


def user_programs() -> UserPrograms:
    """Return what the user's `PATH` finds in `~/.local/bin` and `/opt`. Blocking."""
    return expose_user_programs(os.environ.get("PATH", os.defpath), Path.home())


@functools.cache
def private_paths() -> tuple[Path, ...]:
    """Return what root could read of the settings of the machine, and others cannot. Blocking."""
    if os.geteuid() != 0:
        return ()
    found: list[Path] = []
    for top in (_ETC / name for name in _FROM_ETC):
        if not top.is_symlink() and top.exists() and _is_private(top.stat().st_mode):
            found.append(top)
        elif top.is_dir():
            found += _private_below(str(top))
    return tuple(found)


def _private_below(folder: str) -> Iterator[Path]:
    try:
        with os.scandir(folder) as opened:
            entries = [entry for entry in opened if not entry.is_symlink()]
    except OSError:
        return
    for entry in entries:
        if _is_private(entry.stat(follow_symlinks=False).st_mode):
            yield Path(entry.path)
        elif entry.is_dir():
            yield from _private_below(entry.path)


def _is_private(mode: int) -> bool:
    """Return whether a file or folder is closed to users whom it does not belong to."""
    needed = stat.S_IROTH | (stat.S_IXOTH if stat.S_ISDIR(mode) else 0)
    return mode & needed != needed


def is_of_system(path: Path) -> bool:
    """Return whether a path is in the part of the machine that every program sees."""
    return any(path.is_relative_to(folder) for folder in _SYSTEM)


def _outermost(paths: Iterable[Path]) -> list[Path]:
    """Return the paths without those that the system, or another one of them, includes."""
    found: list[Path] = []
    for path in sorted(set(paths), key=lambda path: len(path.parts)):
        if not is_of_system(path) and not any(map(path.is_relative_to, found)):
            found.append(path)
    return found


def system() -> Exposure:
    """Return what of the machine's own files every program may read. Blocking."""
    folders = (*map(Path, _SYSTEM), *(_ETC / name for name in _FROM_ETC))
    return Exposure(folders, private_paths())


def unseen(paths: Iterable[str], read: Iterable[Path]) -> list[str]:
    """Return those of the paths, such as the folders of a `PATH`, that programs do not see.

    Blocking.
    """
    seen = [*map(Path, _SYSTEM), *programs().read, *read]
    return [path for path in paths if not any(map(Path(path).is_relative_to, seen))]


def unseen_programs(read: Iterable[Path]) -> list[str]:
    """Return the programs of `~/.local/bin` and `/opt` that stay hidden. Blocking."""
    read = list(read)
    return [str(p) for p in user_programs().hidden if not any(map(p.is_relative_to, read))]


def _kept(workspace: Path, read_only: Iterable[Path]) -> list[str]:
    """Return the mounts of what cannot be written, of what is there when the program starts.

    These are our own files, files of secrets, and `read_only`, such as git directories. Each is a
    mount of its own, so that it cannot be swapped by a rename. A FIFO there can be written all the
    same.
    """
    found: list[str] = []
    kept = [workspace / PRIVATE, workspace / "manus.toml"]
    kept += [path for path in workspace.glob(".env*") if not path.name.endswith(EXAMPLES)]
    for path in dict.fromkeys((*kept, *read_only)):
        if path.exists() and not path.is_symlink() and not path.parent.is_symlink():
            found += ["--ro-bind", str(path), str(path)]
    return found
