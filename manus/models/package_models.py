"""Build the chat model of a provider from its LangChain package.

The classes name the same arguments differently (`timeout`, `request_timeout`; `max_tokens`,
`num_predict`): the names that a class accepts are read from its fields.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from pydantic import SecretStr

from manus.config.model_settings import ModelSettings
from manus.config.packages import explain_package
from manus.config.provider_table import PROVIDERS, Provider
from manus.state.errors import SettingsError
from manus.state.text import one_line

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

CONNECT_TIMEOUT = 15.0
"""Seconds. An available server accepts the connection immediately, however slow its replies."""
_ARGUMENT_NAMES = {
    "model": ("model", "model_name", "model_id"),
    "temperature": ("temperature",),
    "max_tokens": ("max_tokens", "num_predict", "max_output_tokens", "max_completion_tokens"),
    "api_key": ("api_key", "_api_key", "apikey"),
    "base_url": ("base_url", "_api_base", "api_base", "endpoint"),
    "reasoning_effort": ("reasoning_effort", "effort", "thinking_level"),
    "timeout": ("timeout", "request_timeout", "timeout_seconds"),
    "streaming": ("streaming",),
    "stream_options": ("stream_usage",),
    "max_retries": ("max_retries",),
}
"""Argument names of a setting, the best first; one that starts with `_` is a suffix of a name."""
_OPTIONAL = ("temperature", "reasoning_effort", "timeout", "streaming", "max_retries")
"""Settings that are skipped if a class does not accept them."""

_REFUSABLE = ("temperature", "max_tokens", "reasoning_effort", "stream_options")
"""Settings that a server may refuse as parameters."""


def from_package(settings: ModelSettings, provider: str, name: str) -> BaseChatModel:
    """Build the chat model of a provider from its package. Blocking: imports take a while.

    Raises:
        SettingsError: the package is missing, or its class cannot be built from the settings.
    """
    package = PROVIDERS[provider]
    try:
        module = importlib.import_module(package.import_name)
        model_class: Any = getattr(module, package.model_class)
    except Exception as error:  # the code of a package that does not fit raises anything
        user = f"The provider `{provider}` needs"
        text = explain_package(user, package.package, package.remedy, error)
        raise SettingsError(text) from error
    build = getattr(model_class, "from_model_id", model_class)  # a class may wrap another one
    accepted = ["model_id"] if build is not model_class else _accepted_names(model_class)
    values = _arguments_for(package, accepted, settings, name)
    try:
        model: BaseChatModel = build(**values)
        keys = (getattr(model, field) for field in accepted if field.endswith("_api_key"))
        if any(isinstance(key, SecretStr) and not key.get_secret_value() for key in keys):
            raise ValueError("there is none")  # its client would send requests without a key
    except Exception as error:  # each client has its own exceptions
        raise SettingsError(
            f"The model `{provider}:{name}` cannot be set up; it needs {package.requirement} "
            f"({one_line(str(error), 300)})."
        ) from error
    return model


def _arguments_for(
    package: Provider, accepted: list[str], settings: ModelSettings, name: str
) -> dict[str, Any]:
    """Return the arguments for a provider's class, under the names that it accepts.

    Raises:
        SettingsError: the class does not accept one of the settings.
    """
    fields = {"temperature", "max_tokens", "api_key", "base_url", "reasoning_effort"}
    options = settings.model_dump(include={*fields, *package.names}, exclude_none=True)
    options |= {"model": name, "streaming": True, "timeout": settings.timeout, **package.attempts}
    arguments = _client_arguments(package, accepted, settings, options)
    for setting, value in options.items():
        argument = package.names.get(setting) or _choose_name(_ARGUMENT_NAMES[setting], accepted)
        if argument is None and setting not in _OPTIONAL:
            raise SettingsError(
                f"{package.model_class} of {package.package} does not accept `{setting}`: remove "
                "it from the settings."
            )
        if argument is not None:
            is_off = setting in package.names and value == "none"
            arguments[argument] = False if is_off else _reveal(value)
    return arguments


def _client_arguments(
    package: Provider, accepted: list[str], settings: ModelSettings, options: dict[str, Any]
) -> dict[str, Any]:
    """Return arguments that a class passes to its client; remove the options in them."""
    connect = min(settings.timeout, CONNECT_TIMEOUT)
    if package.client_config:
        config = importlib.import_module(package.client_config).Config(
            retries={"total_max_attempts": 1, "mode": "standard"},
            read_timeout=options.pop("timeout"),
            connect_timeout=connect,
        )
        return {"config": config}
    if "client_kwargs" not in accepted:
        return {}
    import httpx

    arguments: dict[str, Any] = {"timeout": httpx.Timeout(settings.timeout, connect=connect)}
    key = options.pop("api_key", None)
    if key is not None:
        arguments["headers"] = {"Authorization": f"Bearer {_reveal(key)}"}
    return {"client_kwargs": arguments}


def _accepted_names(model_class: Any) -> list[str]:
    """Return the names of the arguments that a class accepts: its fields and their aliases."""
    names: list[str] = []
    by_name = getattr(model_class, "model_config", {}).get("populate_by_name", False)
    for name, field in model_class.model_fields.items():
        alias = getattr(field, "alias", None)
        if alias:
            names.append(alias)
        if by_name or alias is None:
            names.append(name)
    return names


def _choose_name(candidates: tuple[str, ...], accepted: list[str]) -> str | None:
    """Return the first accepted candidate, or an accepted name with one of the suffixes."""
    for name in candidates:
        if name in accepted:
            return name
    suffixes = tuple(name for name in candidates if name.startswith("_"))
    for name in accepted:
        if suffixes and name.endswith(suffixes):
            return name
    return None


def _reveal(value: Any) -> Any:
    """Return a value as plain text, which fields that are secret hide again."""
    return value.get_secret_value() if isinstance(value, SecretStr) else value


def list_parameters(model: Any) -> dict[str, tuple[str, Any]]:
    """Return the field of a chat model and its value, by each name of a parameter that it sends."""
    parameters: dict[str, tuple[str, Any]] = {}
    fields = [*getattr(type(model), "model_fields", ())]
    for setting in _REFUSABLE:
        field = _choose_name(_ARGUMENT_NAMES[setting], fields)
        value = getattr(model, field) if field is not None else None
        if field is not None and value:
            parameters |= dict.fromkeys((setting, *_ARGUMENT_NAMES[setting]), (field, value))
    return parameters


def without_parameters(model: Any, names: frozenset[str]) -> Any:
    """Return a chat model that does not send parameters; the same if it sends none of them."""
    parameters = list_parameters(model)
    fields = {parameters[name][0] for name in names & parameters.keys()}
    changes = {field: False if getattr(model, field) is True else None for field in fields}
    return model.model_copy(update=changes) if changes else model
