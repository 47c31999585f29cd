"""What can be told to be wrong before a run begins, so that nothing is begun in vain."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING

from manus.models.model_names import NOT_CONFIGURED, REPLAY, is_configured
from manus.state.errors import SettingsError

if TYPE_CHECKING:
    from manus.state.context import Context
    from manus.state.model_settings import ModelSettings
    from manus.state.settings import Settings


def main_model(settings: Settings, model: str | None = None) -> ModelSettings:
    """The endpoint of the main role, with the model that was chosen for the run."""
    return settings.for_role("main").at(model, None)


def check_model(endpoint: ModelSettings) -> None:
    """Check that a model can be asked at all; nothing is sent.

    Raises:
        SettingsError: none is configured, or there is no such recording.
    """
    if not is_configured(endpoint):
        raise SettingsError(NOT_CONFIGURED)
    spec = endpoint.model or ""
    if spec.startswith(REPLAY) and not Path(spec.removeprefix(REPLAY)).is_file():
        raise SettingsError(f"There is no recording {spec.removeprefix(REPLAY)} to play.")


def check_workspace(settings: Settings, context: Context) -> Path:
    """Make the workspace, and give its place.

    Raises:
        UsageError: it cannot be made or written to.
    """
    from manus.tools.workspace import Workspace

    workspace = Workspace(context.workspace or settings.workspace)
    workspace.prepare()
    return workspace.root


def is_installed(module: str) -> bool:
    """Whether a module could be imported; a top-level one is not imported to find out."""
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False
