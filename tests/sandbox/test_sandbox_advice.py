"""The message if the stronger sandbox does not work: the reason and the remedy."""

from pathlib import Path

import pytest

from manus.sandbox.advice import advise

APPARMOR = "kernel/apparmor_restrict_unprivileged_userns"
CLONE = "kernel/unprivileged_userns_clone"
MOST = "user/max_user_namespaces"
UID_MAP = "bwrap: setting up uid map: Permission denied"
"""The output of bubblewrap on Ubuntu 24.04."""

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
def test_the_reason_and_the_remedy(tmp_path: Path, machine: str) -> None:
    switches, is_installed, is_root, reason, remedy = CASES[machine]
    for name, value in switches.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"{value}\n")
    fault = f"{UID_MAP}\n" if is_installed else "it is not installed"
    advice = advise(fault, is_installed=is_installed, is_root=is_root, settings=tmp_path)
    assert reason in advice.reason
    assert remedy in advice.remedy


def test_only_the_first_clause_of_a_long_message_is_quoted(tmp_path: Path) -> None:
    fault = "bwrap: No permissions to create new namespace, likely because …. See <https://x>.\n"
    advice = advise(fault, is_installed=True, is_root=False, settings=tmp_path)
    assert advice.reason == "does not start (bwrap: No permissions to create new namespace)"
