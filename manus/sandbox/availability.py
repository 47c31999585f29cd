"""The kinds of sandbox, and which of them work on this machine."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal, NamedTuple

from manus.config.safety_settings import SandboxSettings
from manus.sandbox import bubblewrap, landlock
from manus.sandbox.advice import Advice, advise
from manus.sandbox.network import Network, open_network
from manus.sandbox.own_code import find_own_code
from manus.state.errors import ToolUnavailableError

_UNPROTECTED = ", which does not protect git data and start-up files"
SandboxKind = Literal["bubblewrap", "landlock", "none"]

_NO_SANDBOX_ERROR = (
    'No sandbox works here: {faults}. {remedy}With `kind = "auto"`, each command then needs your '
    "approval, unless a rule in `[approve]` `allow` permits it."
)
_UNCONFINED = "no sandbox: each command asks first, unless a rule allows it"


class WorkingSandbox(NamedTuple):
    """A kind of sandbox that works on this machine."""

    kind: SandboxKind
    network: Network | None = None
    advice: Advice | None = None
    """How to make bubblewrap work, if the weaker Landlock is used instead."""


def probe_sandbox(settings: SandboxSettings) -> WorkingSandbox:
    """Return the kind of sandbox that a run would get here. Blocks for about 0.1 s.

    The network of the probe is closed again.

    Raises:
        ToolUnavailableError: as `open_sandbox`.
    """
    working = select_sandbox(settings)
    if working.network is not None:
        working.network.close()
    return working


def describe_sandbox(settings: SandboxSettings, workspace: Path) -> str:
    """Describe the sandbox, such as `sandbox: bubblewrap`, and how to strengthen it. Blocking."""
    try:
        kind, _, advice = probe_sandbox(settings)
    except ToolUnavailableError:
        if settings.kind == "auto":
            return f"{_UNCONFINED}; see `manus doctor`"
        return f"no program is started, since {settings.kind} does not work: see `manus doctor`"
    if kind == "none":
        return _UNCONFINED
    if kind == "landlock" and find_own_code(workspace):
        remedy = f" or, for bubblewrap, {advice.remedy}" if advice else ""
        return (
            "no program is started, since Landlock cannot protect the code of manus in this "
            f"folder: use `--workspace`{remedy}"
        )
    name = f"{kind}{_UNPROTECTED}" if kind == "landlock" else kind
    if advice is None:
        return f"sandbox: {name}"
    return f"sandbox: {name}; bubblewrap is stronger, but {advice.reason}: {advice.remedy}"


def select_sandbox(settings: SandboxSettings) -> WorkingSandbox:
    """Return the strongest working sandbox that the settings allow. Blocking."""
    if settings.kind == "none":
        return WorkingSandbox("none")
    advice = None
    faults = []
    if settings.kind in ("auto", "bubblewrap"):
        try:
            return _probe_bubblewrap(settings)
        except ToolUnavailableError as error:
            is_installed = bool(bubblewrap.find_programs())
            is_root = os.geteuid() == 0
            advice = advise(str(error), is_installed=is_installed, is_root=is_root)
        faults.append(f"bubblewrap {advice.reason}")
    if settings.kind in ("auto", "landlock"):
        if landlock.find_version():
            return WorkingSandbox("landlock", advice=advice)
        faults.append("the kernel has no Landlock")
    remedy = f"For bubblewrap: {advice.remedy}. " if advice else ""
    raise ToolUnavailableError(
        _NO_SANDBOX_ERROR.format(faults=", and ".join(faults), remedy=remedy)
    )


def _probe_bubblewrap(settings: SandboxSettings) -> WorkingSandbox:
    """Return bubblewrap, or raise `ToolUnavailableError` if it does not work here. Blocking."""
    if fault := bubblewrap.find_fault():
        raise ToolUnavailableError(fault)
    return WorkingSandbox("bubblewrap", None if settings.network == "open" else open_network())
