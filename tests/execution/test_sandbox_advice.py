"""What is said where the stronger sandbox does not work: why, and what helps."""

from pathlib import Path

import pytest

from manus.execution.sandbox.advice import advise

APPARMOR = "kernel/apparmor_restrict_unprivileged_userns"
CLONE = "kernel/unprivileged_userns_clone"
MOST = "user/max_user_namespaces"
UID_MAP = "bwrap: setting up uid map: Permission denied"
"""What bubblewrap prints on Ubuntu 24.04."""

CASES: dict[str, tuple[dict[str, str], bool, bool, str, str]] = {
    "a fresh Debian": ({CLONE: "1"}, False, False, "is not installed", "sudo apt install bubblew"),
    "a fresh Ubuntu 24.04": (
        {APPARMOR: "1", CLONE: "1"},
        False,
        False,
        "is not installed",
        "`sudo apt install bubblewrap` and "
        "`sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0`",
    ),
    "Ubuntu 24.04": (
        {APPARMOR: "1"},
        True,
        False,
        "is denied user namespaces by AppArmor",
        "`sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0`",
    ),
    "an old Debian": (
        {APPARMOR: "0", CLONE: "0"},
        True,
        False,
        "is denied user namespaces by the kernel",
        "`sudo sysctl -w kernel.unprivileged_userns_clone=1`",
    ),
    "root, whom AppArmor lets": (
        {APPARMOR: "1"},
        True,
        True,
        f"does not start ({UID_MAP})",
        "container",
    ),
    "no namespaces at all": (
        {MOST: "0"},
        True,
        True,
        "by the kernel",
        "`sudo sysctl -w user.max_user_namespaces=10000`",
    ),
    "another kernel": ({}, True, False, f"does not start ({UID_MAP})", "container"),
}


@pytest.mark.parametrize("machine", CASES)
def test_why_it_does_not_work_and_what_helps(tmp_path: Path, machine: str) -> None:
    switches, is_installed, is_root, reason, remedy = CASES[machine]
    for name, value in switches.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"{value}\n")
    fault = f"{UID_MAP}\n" if is_installed else "it is not installed"
    found = advise(fault, is_installed=is_installed, is_root=is_root, settings=tmp_path)
    assert reason in found.reason
    assert remedy in found.remedy


def test_of_a_long_message_the_first_clause_is_said(tmp_path: Path) -> None:
    fault = "bwrap: No permissions to create new namespace, likely because …. See <https://x>.\n"
    found = advise(fault, is_installed=True, is_root=False, settings=tmp_path)
    assert found.reason == "does not start (bwrap: No permissions to create new namespace)"
