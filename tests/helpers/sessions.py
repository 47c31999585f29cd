"""Sessions of tools, as tests begin them."""

from pathlib import Path
from typing import Any

from manus.config.settings import Settings
from manus.execution.session import Session
from manus.execution.workspace import Workspace
from tests.helpers.sandboxes import with_sandbox


def session_in(folder: Path, **given: Any) -> Session:
    """A session in a workspace that is ready for it."""
    workspace = Workspace(folder)
    workspace.prepare()
    settings = with_sandbox(given.pop("settings", None) or Settings())
    return Session(workspace, settings=settings, **given)
