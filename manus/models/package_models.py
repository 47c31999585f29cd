"""Build the chat model of a provider from its LangChain package.

The classes name the same arguments differently (`timeout`, `request_timeout`; `max_tokens`,
`num_predict`): the names that a class accepts are read from its fields.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from pydantic import SecretStr

from manus.config.model_settings import ModelSettings
from manus.models.provider_packages import PACKAGES, ProviderPackage
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
    "max_retries": ("max_retries",),
}
"""Argument names of a setting, the best first; one that starts with `_` is a suffix of a name."""
_OPTIONAL = ("temperature", "reasoning_effort", "timeout", "streaming", "max_retries")
"""Settings that are skipped if a class does not accept them."""


def from_package(settings: ModelSettings, provider: str, name: str) -> BaseChatModel:
    """Build the chat model of a provider from its package. Blocking: imports take a while.

    Raises:
        SettingsError: the package is missing, or its class cannot be built from the settings.
    """
    package = PACKAGES[provider]
    try:
        model_class: Any = getattr(
            importlib.import_module(package.import_name), package.model_class
        )
    except ImportError as error:
        raise SettingsError(_explain_missing(provider, package, error)) from None
    except AttributeError:
        raise SettingsError(
            f"The installed {package.package} has no {package.model_class}, which the provider "
            f"`{provider}` needs: {package.remedy} --upgrade."
        ) from None
    if provider == "huggingface":  # its class wraps another one
        model_class = _Factory(model_class.from_model_id, ("model_id",))
    values = _arguments_for(provider, model_class, settings, name)
    try:
        model: BaseChatModel = model_class(**values)
        key: Any = getattr(model, "anthropic_api_key", None)
        if key is not None and not key.get_secret_value():
            raise ValueError("there is none")  # otherwise its client sends requests without a key
    except Exception as error:  # each client has its own exceptions
        raise SettingsError(
            f"The model `{provider}:{name}` cannot be set up; it needs {package.requirement} "
            f"({one_line(str(error), 300)})."
        ) from error
    return model


def _explain_missing(provider: str, package: ProviderPackage, error: ImportError) -> str:
    """Return what to install: the package, or one that the installed package needs itself."""
    top_module = package.import_name.partition(".")[0]
    if error.name is None or error.name.partition(".")[0] == top_module:
        return f"The provider `{provider}` needs a package that is not installed: {package.remedy}."
    return (
        f"The provider `{provider}` cannot be used: {package.package} needs `{error.name}`, which "
        f"is not installed ({one_line(str(error), 200)})."
    )


class _Factory:
    """A function that builds a chat model, with the names of its arguments like a class."""

    def __init__(self, build: Any, names: tuple[str, ...]) -> None:
        self._build = build
        self.model_fields = dict.fromkeys(names)

    def __call__(self, **values: Any) -> Any:
        return self._build(**values)


def _arguments_for(
    provider: str, model_class: Any, settings: ModelSettings, name: str
) -> dict[str, Any]:
    """Return the arguments for a provider's class, under the names that it accepts.

    Raises:
        SettingsError: the class does not accept one of the settings.
    """
    fields = {"temperature", "max_tokens", "api_key", "base_url", "reasoning_effort"}
    options: dict[str, Any] = settings.model_dump(include=fields, exclude_none=True)
    options |= {"model": name, "streaming": True, "timeout": settings.timeout}
    options |= PACKAGES[provider].attempts
    arguments: dict[str, Any] = {}
    if provider in _EXTRA_ARGUMENTS:
        arguments |= _EXTRA_ARGUMENTS[provider](settings, options)
    accepted = _accepted_names(model_class)
    for setting, value in options.items():
        argument = _choose_name(_ARGUMENT_NAMES[setting], accepted)
        if argument is None and setting not in _OPTIONAL:
            raise SettingsError(
                f"The provider `{provider}` does not accept `{setting}`: remove it from the "
                "settings."
            )
        if argument is not None:
            is_plain = _takes_plain_text(model_class, argument)
            arguments[argument] = _reveal(value) if is_plain else value
    return arguments


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


def _takes_plain_text(model_class: Any, argument: str) -> bool:
    """Return whether an argument is plain text rather than a `SecretStr`."""
    field = model_class.model_fields.get(argument)
    return "SecretStr" not in str(getattr(field, "annotation", "SecretStr"))


def _reveal(value: Any) -> Any:
    return value.get_secret_value() if isinstance(value, SecretStr) else value


def _ollama_arguments(settings: ModelSettings, options: dict[str, Any]) -> dict[str, Any]:
    """Return Ollama's own arguments; its server gives a model the window that is requested."""
    import httpx

    connect = min(settings.timeout, CONNECT_TIMEOUT)
    arguments: dict[str, Any] = {
        "client_kwargs": {"timeout": httpx.Timeout(settings.timeout, connect=connect)}
    }
    if settings.context_window is not None:
        arguments["num_ctx"] = settings.context_window
    effort = options.pop("reasoning_effort", None)
    if effort is not None:
        arguments["reasoning"] = False if effort == "none" else effort
    key = options.pop("api_key", None)
    if key is not None:
        arguments["client_kwargs"]["headers"] = {"Authorization": f"Bearer {_reveal(key)}"}
    return arguments


def _nvidia_arguments(_: ModelSettings, options: dict[str, Any]) -> dict[str, Any]:
    key = options.pop("api_key", None)  # accepted, although it is not a field of the class
    return {} if key is None else {"api_key": _reveal(key)}


def _bedrock_arguments(settings: ModelSettings, options: dict[str, Any]) -> dict[str, Any]:
    del options["timeout"]
    config = importlib.import_module("botocore.config").Config(
        retries={"total_max_attempts": 1, "mode": "standard"},
        read_timeout=settings.timeout,
        connect_timeout=min(settings.timeout, CONNECT_TIMEOUT),
    )
    return {"config": config}


_EXTRA_ARGUMENTS = {
    "ollama": _ollama_arguments,
    "bedrock": _bedrock_arguments,
    "nvidia": _nvidia_arguments,
}
"""Arguments particular to a provider's class; each function removes the options that it handles."""
