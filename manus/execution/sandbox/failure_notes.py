"""Notes for the model on what the sandbox blocked."""

from __future__ import annotations

from collections.abc import Sequence

from manus.execution.network.egress_proxy import Incident

_MAX_NAMED = 3
"""Maximum number of unreachable hosts that are listed."""
_DENIED_MESSAGES = ("Read-only file system", "Device or resource busy")
_READ_ONLY_NOTE = (
    "\n[read-only here: `.git` (`git` itself can change it), `.env` files, settings of editors and "
    "shells, `manus.toml`, `.manus`, environments outside the workspace; make necessary changes "
    "with `str_replace_editor`, which asks the user]"
)


def describe_denials(printed: str) -> str:
    """Return a note on what is read-only, if a program has printed a corresponding error."""
    return _READ_ONLY_NOTE if any(sign in printed for sign in _DENIED_MESSAGES) else ""


def describe_incidents(incidents: Sequence[Incident]) -> str:
    """Return a note on the hosts that programs could not reach; empty if there were none."""
    if not incidents:
        return ""
    reasons = [incident.reason.rstrip(".") for incident in incidents]
    listed = "; ".join(reasons[:_MAX_NAMED])
    if len(reasons) > _MAX_NAMED:
        listed += f"; and {len(reasons) - _MAX_NAMED} more"
    return f"\n[unreachable: {listed}]"
