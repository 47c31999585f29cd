"""The context of a run, and what is checked before the run starts."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from manus.state.errors import SettingsError, UsageError

if TYPE_CHECKING:
    from manus.config.context import Context
    from manus.config.model_settings import ModelSettings
    from manus.config.settings import Settings
    from manus.runs.options import RunOptions

T = TypeVar("T")
_CHOSEN = ("workspace", "max_steps", "model", "record", "approve")
_NOT_FILES_OF_A_USER = {"manus.toml", "workspace"}


def read_context(args: RunOptions, **known: Any) -> Context:
    """What the flags choose for a run, over what is known of it."""
    from manus.config.context import Context

    chosen = {name: getattr(args, name) for name in _CHOSEN}
    given = {name: value for name, value in chosen.items() if value is not None}
    if args.approve_plan:
        given["approve_plan"] = True
    if args.chat:
        given["conversation"] = True
    budget = dict(known.get("budget", {}))
    for limits in args.budget:
        budget |= limits
    interactive = sys.stdin.isatty() if args.interactive is None else args.interactive
    return Context(**{**known, **given, "budget": budget, "interactive": interactive})


def check_presence(context: Context, settings: Settings) -> Context:
    """Return the context of a run, without a person to ask where it refuses all questions.

    Raises:
        UsageError: its plans are to be approved all the same.
    """
    if (context.approve or settings.approve.mode) != "refuse":
        return context
    if context.approve_plan:
        raise UsageError(
            "--approve-plan needs a person to ask, and --approve refuse says that there is none."
        )
    return context.model_copy(update={"interactive": False})


def check_model(endpoint: ModelSettings) -> None:
    """Check that a model can be asked at all; nothing is sent.

    Raises:
        SettingsError: none is configured, its address is none, or there is no such recording.
    """
    from manus.config.model_settings import check_name
    from manus.models.providers import (
        DEFAULT_MODEL,
        NOT_CONFIGURED,
        REPLAY,
        address_of,
        is_configured,
    )

    if not is_configured(endpoint):
        raise SettingsError(NOT_CONFIGURED)
    spec = endpoint.model or ""
    try:
        check_name(spec or DEFAULT_MODEL)
    except ValueError as error:
        raise SettingsError(f"The model cannot be asked: {error}.") from None
    if spec.startswith(REPLAY) and not Path(spec.removeprefix(REPLAY)).is_file():
        raise SettingsError(f"There is no recording {spec.removeprefix(REPLAY)} to play.")
    try:
        address = urlsplit(endpoint.base_url or "http://default")
        is_address = address.scheme in ("http", "https") and address.hostname and address.port != 0
    except ValueError:
        is_address = False
    if not is_address:
        raise SettingsError(
            f"The model server at {address_of(endpoint)} cannot be asked, since this "
            "is not an address; MANUS_BASE_URL must look like http://localhost:11434/v1."
        )


def workspace_of(settings: Settings, chosen: str | None = None) -> str:
    """The workspace: what was chosen or set; else this folder in a project, else ./workspace."""
    if chosen is not None:
        return chosen
    if "workspace" in settings.model_fields_set or not is_project(Path.cwd()):
        return settings.workspace
    return "."


def is_project(folder: Path) -> bool:
    """Whether a folder is part of a git repository or holds files of the user's.

    A home folder holds files of all kinds and is no project.
    """
    if folder in (Path.home(), Path(folder.anchor)):
        return False
    if any((place / ".git").exists() for place in (folder, *folder.parents)):
        return True
    names = (entry.name for entry in folder.iterdir())
    return any(name[0] != "." and name not in _NOT_FILES_OF_A_USER for name in names)


def check_workspace(settings: Settings, context: Context) -> Path:
    """Make the workspace, and give its place. Blocking.

    Raises:
        UsageError: it cannot be made or written to.
    """
    from manus.execution.workspace import Workspace

    workspace = Workspace(workspace_of(settings, context.workspace))
    workspace.prepare()
    return workspace.root


def is_installed(module: str) -> bool:
    """Whether a module could be imported; a top-level one is not imported to find out."""
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False
