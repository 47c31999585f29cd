"""Load the settings: environment > `manus.toml` here > the user's own `manus.toml` > default.

Command-line options are passed as a `Context`.

`OPENAI_API_KEY` and `OPENAI_BASE_URL` are used if neither the environment nor a file sets this
project's own, and only for a model that is called with OpenAI's protocol.

Nothing is read on import. An unknown or invalid setting raises a `SettingsError` that names it, its
source and what would be valid.
"""

from __future__ import annotations

import difflib
import re
import reprlib
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, get_args, get_origin

from pydantic import BaseModel, Field, ValidationError
from pydantic_core import ErrorDetails

from manus.config.browser_settings import BrowserSettings, EgressSettings, SearchSettings
from manus.config.mcp_settings import McpServer
from manus.config.model_settings import (
    ENDPOINT,
    ContextSettings,
    ModelSettings,
    Price,
    get_provider,
    split_spec,
)
from manus.config.profile import ProfileSettings
from manus.config.provider_table import DEFAULT_PROVIDER, DEFAULT_VARIABLES
from manus.config.safety_settings import (
    ApproveSettings,
    HookSettings,
    SandboxSettings,
    SecretSettings,
)
from manus.config.trust import is_trusted, only_stricter, warn_of_untrusted
from manus.state.errors import SettingsError
from manus.state.usage import Budget

FILE = "manus.toml"
_PREFIX = "MANUS_"
_LIST_COMMA = re.compile(r",(?![^()]*\))")
# Short variables of settings in a group, in addition to the regular ones such as
# `MANUS_BROWSER_PATH`.
_SHORT_VARIABLES = {
    "MANUS_SANDBOX": ("sandbox", "kind"),
    "MANUS_APPROVE": ("approve", "mode"),
    "MANUS_SEARXNG_URL": ("search", "searxng_url"),
    "TAVILY_API_KEY": ("search", "tavily_api_key"),
    "BRAVE_API_KEY": ("search", "brave_api_key"),
}
VISION = "vision"
"""The role of the model that describes images if the agent's own model cannot see them."""


class QueueSettings(BaseModel, frozen=True, extra="forbid"):
    """The queue of `manus run --queue` and `manus worker`. Times are in seconds."""

    takeover_after: float = Field(30.0, gt=0)
    """A worker that sends no heartbeat for this time loses its runs to other workers. Set the same
    time on all machines."""
    grace: float = Field(20.0, ge=0)
    """Time that a stopping worker gives its runs to complete their current step. After that it
    cancels the step."""


class Settings(ModelSettings):
    """All settings. The model fields at the top level are those of the `main` role."""

    workspace: str = "./workspace"
    """The one directory that a run may write to."""
    checkpoint: str | None = None
    """A file or a `postgresql://` URL; default a file in the user's data folder."""
    profile: str = "manus"
    """The agent profile of a run that names none."""
    max_steps: int | None = Field(None, ge=1)
    """Maximum number of steps of a run; unset: that of the profile."""
    roles: dict[str, ModelSettings] = Field(default_factory=dict)
    """Models by role: `summary`, `plan`, `extract`, `vision`. Unset fields are those of `main`."""
    prices: dict[str, Price] = Field(default_factory=dict)
    """Prices by model name or by a prefix of it: `[prices."gpt-5"]`."""
    currency: str = Field("$", max_length=4)
    """Currency sign of prices and budgets, printed before an amount."""
    budget: Budget = Field(default_factory=lambda: Budget())
    """Default limits of a run."""
    bell_after: float = Field(30.0, ge=0)
    """Seconds of work after which the terminal's bell rings when a run ends or asks; `inf` is
    never."""
    memory: bool = True
    """Whether the agent sees what you have asked it to remember, and can remember more."""
    snapshots: bool = True
    """Whether each step records the workspace's files, so that they can be rewound."""
    context: ContextSettings = Field(default_factory=ContextSettings)
    profiles: dict[str, ProfileSettings] = Field(default_factory=dict)
    """Your own agent profiles, by name."""
    browser: BrowserSettings = Field(default_factory=BrowserSettings)
    search: SearchSettings = Field(default_factory=SearchSettings)
    egress: EgressSettings = Field(default_factory=EgressSettings)
    sandbox: SandboxSettings = Field(default_factory=SandboxSettings)
    approve: ApproveSettings = Field(default_factory=ApproveSettings)
    hooks: tuple[HookSettings, ...] = ()
    """Your commands on events of a run: `[[hooks]]`."""
    queue: QueueSettings = Field(default_factory=QueueSettings)
    secrets: dict[str, SecretSettings] = Field(default_factory=dict)
    """Secrets by name. The agent can type them into pages without seeing them."""
    mcp: dict[str, McpServer] = Field(default_factory=dict)
    """MCP servers by name. Profiles with `mcp` among their tools get the tools of all servers."""

    def for_role(self, role: str) -> ModelSettings:
        """Return the endpoint of a role: its own settings over those of `main`.

        A role of another provider does not inherit the address and key of `main`.
        """
        main = ModelSettings(**{name: getattr(self, name) for name in ModelSettings.model_fields})
        role_settings = self.roles.get(role)
        if role_settings is None:
            return main
        endpoint = main.merge(role_settings)
        if role == VISION and "vision" not in role_settings.model_fields_set:
            # a model for images sees them, even if `main` does not
            endpoint = endpoint.model_copy(update={"vision": True})
        return endpoint

    def find_price(self, model: str) -> Price | None:
        """Return the price of a model: that of its name, or of the longest prefix of its name."""
        _, bare_name = split_spec(model)
        matches = [name for name in self.prices if bare_name.startswith(name) or model == name]
        if not matches:
            return None
        return self.prices[max(matches, key=len)]


def load_settings(environment: Mapping[str, str], file: str | Path | None = None) -> Settings:
    """Return the settings of the environment over those of a file, if it exists. Blocking.

    By default the file is `manus.toml` in the working directory, over the user's own. In an
    untrusted folder, only settings that make a run stricter count, and a warning names the others.

    Raises:
        SettingsError: a file is not TOML, or a setting is unknown or invalid.
    """
    path = Path(file or FILE)
    if file is not None:
        return _build_settings(environment, _read_file(path), {}, path)
    file_values = _read_folder_file(path, environment)
    user_values = _read_file(user_file())
    if file_values and not is_trusted(Path.cwd(), environment):
        without_file = _build_settings(environment, {}, user_values, path)
        file_values, ignored = only_stricter(file_values, without_file)
        if ignored:
            warn_of_untrusted(Path.cwd(), f"its settings {', '.join(ignored)} are ignored")
    return _build_settings(environment, file_values, user_values, path)


def _read_folder_file(path: Path, environment: Mapping[str, str]) -> dict[str, Any]:
    """Return the settings of the current folder's file; none if it is not valid, nor trusted.

    Raises:
        SettingsError: it is not TOML, in a trusted folder.
    """
    try:
        return _read_file(path)
    except SettingsError as error:
        if is_trusted(Path.cwd(), environment):
            raise
        warn_of_untrusted(Path.cwd(), f"its settings are ignored ({str(error).rstrip('.')})")
        return {}


def settings_to_trust(file: Path, environment: Mapping[str, str]) -> list[str]:
    """Return the names of the settings in a `manus.toml` that are ignored until trusted. Blocking.

    Raises:
        SettingsError: the file is not TOML, or the user's own settings are invalid.
    """
    without_file = _build_settings(environment, {}, _read_file(user_file()), file)
    _, ignored = only_stricter(_read_file(file), without_file)
    return ignored


def user_file() -> Path:
    """Return the path of the user's own `manus.toml`, which `manus setup` writes."""
    from platformdirs import user_config_path

    return user_config_path("manus", appauthor=False) / FILE


def _build_settings(
    environment: Mapping[str, str],
    file_values: dict[str, Any],
    user_values: dict[str, Any],
    file: Path,
) -> Settings:
    overrides = _merge(file_values, _read_environment(environment, Settings, _PREFIX))
    values = _merge(_without_foreign_key(user_values, overrides), overrides)
    values = {**_read_default_variables(environment, values), **values}
    _add_short_variables(values, environment)
    try:
        return Settings.model_validate(values)
    except ValidationError as error:
        problem = error.errors()[0]
        source = file
        if user_values and problem["loc"][0] not in file_values:
            source = user_file()
        raise SettingsError(_explain(problem, environment, source)) from None


def _without_foreign_key(
    user_values: dict[str, Any], overrides: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the user's settings, without their address and key for another server."""
    model = overrides.get("model")
    user_address = user_values.get("base_url")
    is_other_provider = False
    if isinstance(model, str):
        is_other_provider = get_provider(model) != get_provider(user_values.get("model"))
    if not is_other_provider and overrides.get("base_url", user_address) == user_address:
        return user_values
    return {name: value for name, value in user_values.items() if name not in ENDPOINT}


def _read_file(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as handle:
            return tomllib.load(handle)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise SettingsError(f"Cannot read {path}: {error.strerror}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path} is not valid TOML: {error}.") from None


def _read_environment(
    environment: Mapping[str, str], schema: type[BaseModel], prefix: str
) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, field in schema.model_fields.items():
        variable = prefix + name.upper()
        inner = field.annotation
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            value: Any = _read_environment(environment, inner, f"{variable}_")
        else:
            value = environment.get(variable, "").strip()
            if get_origin(inner) is tuple:
                value = _split_list(value)
        if value:
            values[name] = value
    return values


def _split_list(text: str) -> Any:
    """Return the parts of a comma-separated list; a comma in parentheses belongs to a rule."""
    return [part.strip() for part in _LIST_COMMA.split(text) if part.strip()]


def _merge(defaults: dict[str, Any], overrides: dict[str, Any]) -> dict[str, Any]:
    """Return the values of two sources, merged table by table."""
    merged = {**defaults, **overrides}
    for name in defaults.keys() & overrides.keys():
        if isinstance(defaults[name], dict) and isinstance(overrides[name], dict):
            merged[name] = _merge(defaults[name], overrides[name])
    return merged


def _read_default_variables(
    environment: Mapping[str, str], values: Mapping[str, Any]
) -> dict[str, str]:
    """Return the values of the default provider's variables, unless a model is another's."""
    model = values.get("model")
    if isinstance(model, str) and get_provider(model) != DEFAULT_PROVIDER:
        return {}  # another provider's server must not receive the key
    found = {field: environment.get(name, "").strip() for name, field in DEFAULT_VARIABLES.items()}
    return {field: value for field, value in found.items() if value}


def _add_short_variables(values: dict[str, Any], environment: Mapping[str, str]) -> None:
    for variable, (group, field) in _SHORT_VARIABLES.items():
        value = environment.get(variable, "").strip()
        group_values = values.get(group, {})
        if value and isinstance(group_values, dict):
            values[group] = {**group_values, field: value}


def _explain(error: ErrorDetails, environment: Mapping[str, str], file: str | Path) -> str:
    """Return a sentence for the user about an unknown or invalid setting."""
    path = [str(part) for part in error["loc"]]
    name = ".".join(path)
    if error["type"] == "extra_forbidden":
        return f"{file} sets `{name}`, which is not a setting{_suggest_names(path)}"
    variable = _PREFIX + "_".join(path).upper()
    source = variable if environment.get(variable) else str(file)
    is_secret = "api_key" in path[-1] or path[0] == "mcp"  # an MCP server's values may hold a key
    value = "" if is_secret else f" is {reprlib.repr(error['input'])}, which"
    problem = error["msg"].removeprefix("Value error, ")
    problem = problem[:1].lower() + problem[1:]
    return f"{source}: `{name}`{value} is not valid: {problem}."


def _suggest_names(path: Sequence[str]) -> str:
    """Return the end of the sentence about an unknown setting: a close name, and all names."""
    names = _names_at(path[:-1])
    suggestion = "."
    close_names = difflib.get_close_matches(path[-1].lower(), names, n=1)
    if close_names:
        suggestion = f"; did you mean `{close_names[0]}`?"
    return f"{suggestion} Known settings: {', '.join(names)}."


def _names_at(path: Sequence[str]) -> Sequence[str]:
    """Return the names of the settings at a path: at the top level, or in a table."""
    schema: Any = Settings
    for part in path:
        fields = getattr(schema, "model_fields", None)
        if fields:
            schema = fields[part].annotation
        else:  # a dict or tuple of tables
            schema = next(kind for kind in get_args(schema) if hasattr(kind, "model_fields"))
    return sorted(schema.model_fields)
