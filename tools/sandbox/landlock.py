"""Landlock and seccomp: a wall that needs no package and no namespace, as inside a container.

It keeps files, processes and most of the network from the programs of a run. Unlike bubblewrap it
leaves them the machine's process list and its loopback addresses at one port, that of the proxy.
"""

from __future__ import annotations

import base64
import ctypes
import json
import sys
from collections.abc import Iterable
from pathlib import Path

from manus.tools.sandbox import seccomp

_CONFINE = Path(__file__).with_name("confine.py")
_CREATE = 444
_READ = (
    *("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/opt", "/proc", "/sys/devices"),
    *("/etc/alternatives", "/etc/ssl", "/etc/pki", "/etc/ca-certificates", "/etc/ld.so.cache"),
    *("/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/localtime", "/etc/timezone", "/etc/fonts"),
    *("/etc/mime.types", "/etc/magic", "/etc/protocols", "/etc/services", "/etc/host.conf"),
    *("/etc/nsswitch.conf", "/etc/hosts", "/etc/passwd", "/etc/group", "/etc/os-release"),
    *("/etc/debian_version", "/etc/bash.bashrc", "/etc/profile", "/etc/inputrc"),
    *("/etc/gitconfig", "/etc/python3"),
)
_WRITE = (
    *("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"),
    *("/dev/tty", "/dev/ptmx", "/dev/pts", "/dev/shm"),
)


def version() -> int:
    """Which version of Landlock the kernel has; 0 if none."""
    return max(0, int(ctypes.CDLL(None).syscall(_CREATE, None, 0, 1)))


def words(
    workspace: Path, home: Path, *, read: Iterable[Path], network: bool, port: int | None
) -> list[str]:
    """What stands before a command.

    Args:
        workspace: May be written.
        home: A folder of the run's own, for `$HOME` and `$TMPDIR`.
        read: Further files and folders that may be read.
        network: Whether it is closed but for `port`, that of the run's proxy.
        port: None closes it altogether.
    """
    plan = {
        "read": [*_READ, *map(str, read)],
        "write": [*_WRITE, str(workspace), str(home)],
        "network": network,
        "port": port,
        "filter": base64.b64encode(seccomp.program(only_tcp=network)).decode(),
    }
    return [sys.executable, "-I", "-S", str(_CONFINE), json.dumps(plan)]
