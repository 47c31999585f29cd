"""Sessions of tools for tests."""

from pathlib import Path
from typing import Any

from manus.calls.session import Session
from manus.config.profile import Profile
from manus.config.run_settings import resolve_settings
from manus.config.settings import Settings
from manus.workspace.workspace import Workspace
from tests.helpers.sandboxes import with_sandbox


def session_in(
    folder: Path, settings: Settings | None = None, profile: Profile | None = None, **options: Any
) -> Session:
    """Return a session in a prepared workspace."""
    workspace = Workspace(folder)
    workspace.prepare()
    resolved = resolve_settings(with_sandbox(settings or Settings()), profile=profile)
    return Session(workspace, settings=resolved, **options)
