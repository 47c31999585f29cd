"""Explain why bubblewrap does not work on a machine, and what the user can do about it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

INSTALL = "`sudo apt install bubblewrap`"
_CONTAINER = "allow user namespaces to this machine or container"


class Advice(NamedTuple):
    """Why bubblewrap does not work, as a phrase that follows its name, and the remedy."""

    reason: str
    remedy: str


class _Switch(NamedTuple):
    """A kernel setting that forbids user namespaces while it has the value `forbids`."""

    name: str
    forbids: str
    allows: str
    reason: str
    binds_root: bool = False


_SWITCHES = (
    _Switch(  # of Ubuntu 24.04 and later
        "kernel/apparmor_restrict_unprivileged_userns",
        forbids="1",
        allows="0",
        reason="is denied user namespaces by AppArmor",
    ),
    _Switch(
        "kernel/unprivileged_userns_clone",
        forbids="0",
        allows="1",
        reason="is denied user namespaces by the kernel",
    ),
    _Switch(
        "user/max_user_namespaces",
        forbids="0",
        allows="10000",
        reason="is denied user namespaces by the kernel",
        binds_root=True,
    ),
)


def advise(
    fault: str, *, is_installed: bool, is_root: bool, settings: Path = Path("/proc/sys")
) -> Advice:
    """Return advice on a fault of bubblewrap, such as its error message. Blocking.

    `settings` is the folder with the kernel's settings.
    """
    switches = [switch for switch in _SWITCHES if switch.binds_root or not is_root]
    switches = [switch for switch in switches if _read_value(settings, switch) == switch.forbids]
    commands = [f"`sudo sysctl -w {s.name.replace('/', '.')}={s.allows}`" for s in switches]
    if not is_installed:
        return Advice("is not installed", " and ".join([INSTALL, *commands]))
    if switches:
        return Advice(switches[0].reason, " and ".join(commands))
    first_clause = re.split(r"[.,;] ", " ".join(fault.split()))[0].rstrip(".")
    return Advice(f"does not start ({first_clause})", _CONTAINER)


def _read_value(settings: Path, switch: _Switch) -> str | None:
    try:
        return (settings / switch.name).read_text().strip()
    except OSError:  # this kernel lacks the setting
        return None
