"""Settings of the program: environment > `manus.toml` here > the user's own > default.

Flags come in as a `Context`.

`OPENAI_API_KEY` and `OPENAI_BASE_URL` stand in where neither the environment nor the file sets
ours, and only for a model that is asked in OpenAI's own protocol.

Nothing is read on import. A setting that nobody knows, or that does not fit, is a `SettingsError`
that names it, where it came from and what would be right.
"""

from __future__ import annotations

import difflib
import reprlib
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, Field, ValidationError
from pydantic_core import ErrorDetails

from manus.config.browser_settings import BrowserSettings, EgressSettings, SearchSettings
from manus.config.mcp_settings import McpServer
from manus.config.model_settings import (
    ENDPOINT,
    ContextSettings,
    ModelSettings,
    Price,
    provider_of,
    split_spec,
)
from manus.config.profile import ProfileSettings
from manus.config.safety_settings import ApproveSettings, SandboxSettings
from manus.config.secret_texts import SecretSettings
from manus.config.trust import is_trusted, warn_of_untrusted
from manus.config.untrusted_settings import only_stricter
from manus.state.errors import SettingsError
from manus.state.usage import Budget

FILE = "manus.toml"
_PREFIX = "MANUS_"
# Counted where ours are not set, so that a shell made ready for any OpenAI tool works here too.
_FOREIGN = {"OPENAI_API_KEY": "api_key", "OPENAI_BASE_URL": "base_url"}
# A setting of a group has its own (`MANUS_BROWSER_PATH`) and, if it stands here, a shorter one.
_GROUPED = {
    "MANUS_SANDBOX": ("sandbox", "kind"),
    "MANUS_APPROVE": ("approve", "mode"),
    "MANUS_SEARXNG_URL": ("search", "searxng_url"),
    "TAVILY_API_KEY": ("search", "tavily_api_key"),
    "BRAVE_API_KEY": ("search", "brave_api_key"),
}
VISION = "vision"
"""The role that is asked about pictures where the agent's own model sees none."""


class Settings(ModelSettings):
    """Everything that can be set. The model fields here are the `main` role's."""

    workspace: str = "./workspace"
    """The one directory that a run may write to."""
    checkpoint: str | None = None
    """A file or a `postgresql://` URL; default a file in the user's data folder."""
    profile: str = "manus"
    """The agent that works if none is named."""
    max_steps: int | None = Field(None, ge=1)
    """Steps of a run; the profile's if not set."""
    roles: dict[str, ModelSettings] = Field(default_factory=dict)
    """Models by role: `summary`, `plan`, `extract`, `vision`; what one does not set is `main`'s."""
    prices: dict[str, Price] = Field(default_factory=dict)
    """Prices by model name, or by how it begins: `[prices."gpt-5"]`."""
    currency: str = Field("$", max_length=4)
    """What stands before an amount of money; prices and budgets are in it."""
    budget: Budget = Field(default_factory=lambda: Budget())
    """Limits of every run, where the run itself sets none."""
    memory: bool = True
    """Whether the agent is told what you have asked it to remember, and can keep more."""
    context: ContextSettings = Field(default_factory=ContextSettings)
    profiles: dict[str, ProfileSettings] = Field(default_factory=dict)
    """Agents of the user's own, by name."""
    browser: BrowserSettings = Field(default_factory=BrowserSettings)
    search: SearchSettings = Field(default_factory=SearchSettings)
    egress: EgressSettings = Field(default_factory=EgressSettings)
    sandbox: SandboxSettings = Field(default_factory=SandboxSettings)
    approve: ApproveSettings = Field(default_factory=ApproveSettings)
    secrets: dict[str, SecretSettings] = Field(default_factory=dict)
    """Secrets by name, which the agent can type into pages without seeing them."""
    mcp: dict[str, McpServer] = Field(default_factory=dict)
    """MCP servers by name; profiles with `mcp` among their tools get the tools of all of them."""

    def for_role(self, role: str) -> ModelSettings:
        """The endpoint of a role: what the role sets, over what `main` has.

        A role of another provider does not get `main`'s address and key.
        """
        main = ModelSettings(**{name: getattr(self, name) for name in ModelSettings.model_fields})
        own = self.roles.get(role)
        chosen = main if own is None else main.overlaid(own)
        # the model that is there for pictures sees them, though `main` may not
        blind = role == VISION and own is not None and "vision" not in own.model_fields_set
        return chosen.model_copy(update={"vision": True}) if blind else chosen

    def price_of(self, model: str) -> Price | None:
        """The price of a model: of its name, or of the longest beginning of it in the table."""
        bare = split_spec(model)[1]
        fitting = [name for name in self.prices if bare.startswith(name) or model == name]
        return self.prices[max(fitting, key=len)] if fitting else None


def load_settings(environment: Mapping[str, str], file: str | Path | None = None) -> Settings:
    """Settings from the environment over those of a file, if it exists. Blocking.

    Without a file it is the working directory's `manus.toml`, over the user's own; of one that
    nobody has trusted yet only what makes a run stricter counts, and a warning names the rest.

    Raises:
        SettingsError: a file is not TOML, or a value is unknown or does not fit.
    """
    place = Path(file or FILE)
    found = _from_file(place)
    if file is not None:
        return _settings(environment, found, {}, place)
    own = _from_file(user_file())
    if found and not is_trusted(Path.cwd(), environment):
        found, dropped = only_stricter(found, _settings(environment, {}, own, place))
        if dropped:
            warn_of_untrusted(Path.cwd(), f"its settings {', '.join(dropped)} are ignored")
    return _settings(environment, found, own, place)


def settings_to_trust(file: Path, environment: Mapping[str, str]) -> list[str]:
    """Return the names of what a `manus.toml` sets that counts only once it is trusted. Blocking.

    Raises:
        SettingsError: it is not TOML, or the user's own settings do not fit.
    """
    without = _settings(environment, {}, _from_file(user_file()), file)
    return only_stricter(_from_file(file), without)[1]


def user_file() -> Path:
    """The `manus.toml` of the user's own, which `manus setup` writes; it counts everywhere."""
    from platformdirs import user_config_path

    return user_config_path("manus", appauthor=False) / FILE


def _settings(
    environment: Mapping[str, str], found: dict[str, Any], own: dict[str, Any], file: Path
) -> Settings:
    above = _over(found, _from_environment(environment, Settings, _PREFIX))
    values = _over(_fitting(own, above), above)
    values = {**_from_others(environment, values), **values}
    _add_grouped(values, environment)
    try:
        return Settings.model_validate(values)
    except ValidationError as error:
        problem = error.errors()[0]
        place = file if problem["loc"][0] in found else user_file()
        raise SettingsError(_explain(problem, environment, place if own else file)) from None


def _fitting(own: dict[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """The user's settings; without their address and key where another place is asked."""
    model = above.get("model")
    address = above.get("base_url", own.get("base_url"))
    other = isinstance(model, str) and provider_of(model) != provider_of(own.get("model"))
    if not other and address == own.get("base_url"):
        return own
    return {name: value for name, value in own.items() if name not in ENDPOINT}


def _from_file(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as handle:
            return tomllib.load(handle)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise SettingsError(f"{path} cannot be read: {error.strerror}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path} is not valid TOML: {error}.") from None


def _from_environment(
    environment: Mapping[str, str], schema: type[BaseModel], prefix: str
) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, field in schema.model_fields.items():
        variable = prefix + name.upper()
        inner = field.annotation
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            value: Any = _from_environment(environment, inner, f"{variable}_")
        else:
            value = environment.get(variable, "").strip()
        if value:
            found[name] = value
    return found


def _over(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    """The values of two sources, table by table; `above` counts where both have one."""
    merged = {**below, **above}
    for name in below.keys() & above.keys():
        if isinstance(below[name], dict) and isinstance(above[name], dict):
            merged[name] = _over(below[name], above[name])
    return merged


def _from_others(environment: Mapping[str, str], ours: Mapping[str, Any]) -> dict[str, str]:
    model = ours.get("model")
    if provider_of(model if isinstance(model, str) else None) != "openai":
        return {}  # another provider's server must not be sent OpenAI's key
    found = {field: environment.get(name, "").strip() for name, field in _FOREIGN.items()}
    return {field: value for field, value in found.items() if value}


def _add_grouped(values: dict[str, Any], environment: Mapping[str, str]) -> None:
    for name, (group, field) in _GROUPED.items():
        given = values.get(group, {})
        if (value := environment.get(name, "").strip()) and isinstance(given, dict):
            values[group] = {**given, field: value}


def _explain(error: ErrorDetails, environment: Mapping[str, str], file: str | Path) -> str:
    path = [str(part) for part in error["loc"]]
    name = ".".join(path)
    if error["type"] == "extra_forbidden":
        known = _known_at(path[:-1])
        near = difflib.get_close_matches(path[-1].lower(), known, n=1)
        meant = f"; did you mean `{near[0]}`?" if near else "."
        return f"{file} sets `{name}`, which is not a setting{meant} Known are: {', '.join(known)}."
    variable = _PREFIX + "_".join(path).upper()
    source = variable if environment.get(variable) else str(file)
    secret = "api_key" in path[-1] or path[0] == "mcp"  # what a server is given may hold a key
    value = "" if secret else f" is {reprlib.repr(error['input'])}, which"
    problem = error["msg"].removeprefix("Value error, ")
    problem = problem[:1].lower() + problem[1:]
    return f"{source}: `{name}`{value} does not fit: {problem}."


def _known_at(path: Sequence[str]) -> Sequence[str]:
    """The names of what may be set at a place: at the top, in a table, in one of several."""
    place: Any = Settings
    for part in path:
        if fields := getattr(place, "model_fields", None):
            place = fields[part].annotation
        else:
            place = next(kind for kind in get_args(place) if hasattr(kind, "model_fields"))
    return sorted(place.model_fields)
