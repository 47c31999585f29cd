"""Notes for the model on what the sandbox blocked."""

from __future__ import annotations

import re
from collections.abc import Sequence

from manus.sandbox.egress_proxy import Incident

_MAX_NAMED = 3
"""Maximum number of unreachable hosts that are listed."""
_DENIED_MESSAGES = ("Read-only file system", "Device or resource busy")
_READ_ONLY_NOTE = (
    "\n[read-only here: `.git`, `.env` files, settings of editors and shells, `manus.toml`, "
    "`.manus`, environments outside the workspace; make necessary changes with "
    "`str_replace_editor`, which asks the user]"
)
_WRITES_GIT = (
    "\n[git's data is read-only in this shell: a command that changes a repository needs "
    "`writes_git`: true]"
)
_NOT_SET = (
    "\n[git cannot write the configuration of an existing repository here, even where it reports "
    "success: nothing was set. Set entries with `git_config`, such as "
    '{"branch.main.remote": "origin", "branch.main.merge": "refs/heads/main"}]'
)
_OUTSIDE = re.compile(
    r"""(?m)(^|[\s'"])(/tmp(/[^/\s:'"]*)?|\.\./?)['"]?: Permission denied"""
    r"""|Permission denied: '(/tmp(/[^/\s:'"]*)?|\.\./?)'"""
)
_OUTSIDE_NOTE = (
    "\n[this sandbox has no access to /tmp and `..`; write temporary files to $TMPDIR, and run "
    "programs in the workspace itself]"
)
_GIT = re.compile(r"\bgit\b")
_SETS = re.compile(
    r"\bgit\b.*(?:\s-u\b|--set-upstream|--track|--unset-upstream|\ssubmodule\s|\sconfig\s|\sremote\s)"
)
"""Commands that also write the configuration, some of which do not report a failure."""
_CONFIG_ERRORS = ("could not write config file", "could not lock config file")


def describe_outside(printed: str) -> str:
    """Return a note on temporary files, if a program was denied a path around the workspace.

    This is the sandbox without namespaces, in which `/tmp` and the parent folder are the user's.
    """
    return _OUTSIDE_NOTE if _OUTSIDE.search(printed) else ""


def describe_denials(printed: str) -> str:
    """Return a note on what is read-only, if a program has printed a corresponding error."""
    return _READ_ONLY_NOTE if any(sign in printed for sign in _DENIED_MESSAGES) else ""


def describe_git(command: str, printed: str, *, is_failure: bool, writes: bool) -> str:
    """Return a note on a command that names git and that its read-only data may have affected."""
    if not _GIT.search(command):
        return ""
    if not writes:
        return _WRITES_GIT if is_failure else ""
    is_refused = any(error in printed for error in _CONFIG_ERRORS)
    return _NOT_SET if is_refused or _SETS.search(command) else ""


def describe_incidents(incidents: Sequence[Incident]) -> str:
    """Return a note on the hosts that programs could not reach; empty if there were none."""
    if not incidents:
        return ""
    reasons = [incident.reason.rstrip(".") for incident in incidents]
    listed = "; ".join(reasons[:_MAX_NAMED])
    if len(reasons) > _MAX_NAMED:
        listed += f"; and {len(reasons) - _MAX_NAMED} more"
    return f"\n[unreachable: {listed}]"
