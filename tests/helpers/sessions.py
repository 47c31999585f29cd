"""Sessions of tools, as tests begin them."""

from pathlib import Path
from typing import Any

from manus.tools.session import Session
from manus.tools.workspace import Workspace


def session_in(folder: Path, **given: Any) -> Session:
    """A session in a workspace that is ready for it."""
    workspace = Workspace(folder)
    workspace.prepare()
    return Session(workspace, **given)
