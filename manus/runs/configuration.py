"""Build the context of a run, and check its settings and the trust in its folder."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from manus.runs.options import RunOptions, context_options
from manus.state.errors import SettingsError, UsageError

if TYPE_CHECKING:
    from manus.config.context import Context
    from manus.config.model_settings import ModelSettings
    from manus.config.settings import Settings


T = TypeVar("T")
_GENERATED_NAMES = {"manus.toml", "workspace"}

QUESTION = "Do you trust the files in this folder?"
CONSEQUENCE = (
    "If you do not, its AGENTS.md, skills and settings do not apply, and text from its files "
    "counts as untrusted: the agent asks before it sends anything to a host that you have not "
    "named."
)


def build_context(args: RunOptions, **defaults: Any) -> Context:
    """Return the context of a run: its options override the `defaults`."""
    from manus.config.context import Context

    overrides: dict[str, Any] = {}
    for name in context_options():
        if value := getattr(args, name):
            overrides[name] = value
    if args.chat:
        overrides["conversation"] = True
    budget = dict(defaults.get("budget", {}))
    for limits in args.budget:
        budget |= limits
    overrides["budget"] = budget
    overrides["interactive"] = args.interactive
    if args.interactive is None:
        overrides["interactive"] = sys.stdin.isatty()
    return Context(**{**defaults, **overrides})


def check_presence(context: Context, settings: Settings) -> Context:
    """Return the context, marked non-interactive where the approval mode refuses all questions.

    Raises:
        UsageError: its plans need approval nevertheless.
    """
    from manus.config.run_settings import resolve_settings

    if resolve_settings(settings, context).approve.mode != "refuse":
        return context
    if context.approve_plan:
        raise UsageError(
            "--approve-plan needs a person to approve the plan, which --approve refuse rules out; "
            "remove one of the two."
        )
    return context.model_copy(update={"interactive": False})


def select_main_endpoint(settings: Settings, model: str | None) -> ModelSettings:
    """Return the endpoint of the main role; `model` overrides the settings."""
    from manus.config.context import Context
    from manus.config.run_settings import resolve_settings

    return resolve_settings(settings, Context(model=model)).for_role("main")


def check_model(endpoint: ModelSettings) -> None:
    """Check that the model settings are usable; send no request.

    Raises:
        SettingsError: no model is configured, its URL is invalid, or the recording is missing.
    """
    from manus.config.model_settings import check_name
    from manus.config.provider_table import DEFAULT_MODEL
    from manus.models.providers import NOT_CONFIGURED, REPLAY, get_address, is_configured

    if not is_configured(endpoint):
        raise SettingsError(NOT_CONFIGURED)
    spec = endpoint.model or ""
    try:
        check_name(spec or DEFAULT_MODEL)
    except ValueError as error:
        raise SettingsError(f"The model name is invalid: {error}.") from None
    if spec.startswith(REPLAY) and not Path(spec.removeprefix(REPLAY)).is_file():
        raise SettingsError(f"The recording {spec.removeprefix(REPLAY)} does not exist.")
    try:
        address = urlsplit(endpoint.base_url or "http://default")
        is_address = address.scheme in ("http", "https") and address.hostname and address.port != 0
    except ValueError:
        is_address = False
    if not is_address:
        raise SettingsError(
            f"{get_address(endpoint)} is not a valid address of a model server; "
            "set MANUS_BASE_URL to a URL such as http://localhost:11434/v1."
        )


def resolve_workspace(settings: Settings, workspace: str | None = None) -> str:
    """Return the given or configured workspace, or `.` in a project, `./workspace` elsewhere."""
    if workspace is not None:
        return workspace
    if "workspace" in settings.model_fields_set or not is_project(Path.cwd()):
        return settings.workspace
    return "."


def is_project(folder: Path) -> bool:
    """Return whether a folder is in a git repository or contains user files.

    The home folder and the root folder are never projects.
    """
    if folder in (Path.home(), Path(folder.anchor)):
        return False
    if any((parent / ".git").exists() for parent in (folder, *folder.parents)):
        return True
    names = (entry.name for entry in folder.iterdir())
    return any(name[0] != "." and name not in _GENERATED_NAMES for name in names)


def check_workspace(settings: Settings, context: Context) -> Path:
    """Create the workspace and return its path. Blocking.

    Raises:
        UsageError: the workspace cannot be created or written to.
    """
    from manus.workspace.workspace import Workspace

    workspace = Workspace(resolve_workspace(settings, context.workspace))
    workspace.prepare()
    return workspace.root


def is_installed(module: str) -> bool:
    """Return whether a module is installed; a top-level module is not imported for the check."""
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def is_undecided(folder: Path) -> bool:
    """Return whether the user has not yet trusted or distrusted a folder. Blocking."""
    from manus.config.trust import is_trusted

    try:
        is_empty = next(folder.iterdir(), None) is None
    except OSError:  # missing, or not readable
        return False
    return not is_empty and is_trusted(folder, os.environ) is None and not trusts_files(folder)


def decide(folder: Path, *, trusted: bool) -> None:
    """Store the user's decision about a folder; report it on stderr if that fails. Blocking."""
    from manus.config.trust import trust

    try:
        trust(folder, trusted=trusted)
    except OSError as error:
        sys.stderr.write(f"manus: Cannot save your answer: {error}.\n")


def trusts_files(folder: Path) -> bool:
    """Return whether the files of a folder are trusted. Blocking."""
    from manus.workspace.workspace import Workspace

    return Workspace(folder).trusts_files(os.environ)
