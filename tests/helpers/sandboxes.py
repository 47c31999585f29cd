"""Which sandboxes work on this machine, and which one a test uses.

A test marked `sandboxes` runs once with each of them, or with those that the mark names. One
marked `sandboxed` needs the strongest that works. Others run with the default of a user without
settings, which is none if no sandbox works.
"""

import functools
import os
from typing import Literal, get_args

import pytest

from manus.config.safety_settings import SandboxSettings
from manus.config.settings import Settings
from manus.sandbox.availability import probe_sandbox
from manus.state.errors import ToolUnavailableError

Kind = Literal["bubblewrap", "landlock", "none"]
KINDS: tuple[Kind, ...] = get_args(Kind)
VARIABLE = "MANUS_SANDBOX"


@functools.cache
def find_fault(kind: Kind) -> str:
    """Return the reason why a sandbox does not work on this machine; empty if it does."""
    try:
        probe_sandbox(SandboxSettings(kind=kind))
    except ToolUnavailableError as error:
        return str(error).partition("sandbox works here: ")[2].partition(". ")[0]
    return ""


def default_kind() -> Kind:
    """Return the strongest sandbox that works here."""
    return next(kind for kind in KINDS if not find_fault(kind))


def running_kind() -> str:
    """Return the sandbox of the running test."""
    return os.environ.get(VARIABLE) or default_kind()


def require_sandbox(kind: Kind, config: pytest.Config) -> None:
    """Skip the test if a sandbox does not work here."""
    if fault := find_fault(kind):
        refuse = pytest.fail if config.getoption("all_sandboxes") else pytest.skip
        refuse(f"needs the sandbox {kind}: {fault}")


def environment() -> dict[str, str]:
    """Return the variables that select the sandbox of the running test for a program."""
    kind = os.environ.get(VARIABLE)
    return {VARIABLE: kind} if kind else {}


def with_sandbox(settings: Settings) -> Settings:
    """Return settings with the sandbox of the running test, unless they select one."""
    kind = os.environ.get(VARIABLE)
    if not kind or settings.sandbox.kind != "auto":
        return settings
    sandbox = settings.sandbox.model_copy(update={"kind": kind})
    return settings.model_copy(update={"sandbox": sandbox})
