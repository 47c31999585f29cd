"""The chat model of a provider whose class comes in a package of its own.

The classes name the same things differently (`timeout`, `request_timeout`; `max_tokens`,
`num_predict`): what a class takes is read from its fields.
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
"""Seconds. A server that is there takes the connection at once, however long it then thinks."""
_NAMES = {
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
"""What a setting is called, the best name first; one that begins with `_` is the end of a name."""
_OPTIONAL = ("temperature", "reasoning_effort", "timeout", "streaming", "max_retries")
"""Settings that a class may lack without anybody being misled."""


def from_package(settings: ModelSettings, provider: str, name: str) -> BaseChatModel:
    """Build the chat model of a provider from its package. Blocking: imports take a while.

    Raises:
        SettingsError: the package is missing, or its class cannot be built from the settings.
    """
    package = PACKAGES[provider]
    try:
        made: Any = getattr(importlib.import_module(package.import_name), package.model_class)
    except ImportError as error:
        raise SettingsError(_missing(provider, package, error)) from None
    except AttributeError:
        raise SettingsError(
            f"The installed {package.package} has no {package.model_class}, which the provider "
            f"`{provider}` needs: {package.remedy} --upgrade."
        ) from None
    if provider == "huggingface":  # its class wraps another one
        made = _Named(made.from_model_id, ("model_id",))
    values = _values_for(provider, made, settings, name)
    try:
        model: BaseChatModel = made(**values)
        key: Any = getattr(model, "anthropic_api_key", None)
        if key is not None and not key.get_secret_value():
            raise ValueError("there is none")  # its client would find out with an odd request
    except Exception as error:  # each client has exceptions of its own
        raise SettingsError(
            f"The model `{provider}:{name}` cannot be set up; it needs {package.requirement} "
            f"({one_line(str(error), 300)})."
        ) from error
    return model


def _missing(provider: str, package: ProviderPackage, error: ImportError) -> str:
    """Return what to install; a package that is there may lack one that it needs itself."""
    top = package.import_name.partition(".")[0]
    if error.name is None or error.name.partition(".")[0] == top:
        return f"The provider `{provider}` needs a package that is not installed: {package.remedy}."
    return (
        f"The provider `{provider}` cannot be used: {package.package} needs `{error.name}`, which "
        f"is not installed ({one_line(str(error), 200)})."
    )


class _Named:
    """A function that makes a chat model, with the names of its arguments."""

    def __init__(self, make: Any, names: tuple[str, ...]) -> None:
        self._make = make
        self.model_fields = dict.fromkeys(names)

    def __call__(self, **values: Any) -> Any:
        return self._make(**values)


def _values_for(provider: str, made: Any, settings: ModelSettings, name: str) -> dict[str, Any]:
    """Return the arguments for a provider's class, by the names that it has for them.

    Raises:
        SettingsError: it does not take one that is set.
    """
    fields = {"temperature", "max_tokens", "api_key", "base_url", "reasoning_effort"}
    wanted: dict[str, Any] = settings.model_dump(include=fields, exclude_none=True)
    wanted |= {"model": name, "streaming": True, "timeout": settings.timeout}
    wanted |= PACKAGES[provider].attempts
    own = _OWN.get(provider, _nothing)(settings, wanted)
    taken = _names_taken(made)
    values = dict(own)
    for setting, value in wanted.items():
        argument = next((name for name in _NAMES[setting] if name in taken), None)
        argument = argument or _with_ending(_NAMES[setting], taken)
        if argument is not None:
            values[argument] = _plain(value) if _wants_text(made, argument) else value
        elif setting not in _OPTIONAL:
            raise SettingsError(
                f"The provider `{provider}` takes no `{setting}`: leave it out of the settings."
            )
    return values


def _names_taken(made: Any) -> list[str]:
    """Return the names of the arguments that a class takes: its fields and their aliases."""
    names: list[str] = []
    by_name = getattr(made, "model_config", {}).get("populate_by_name", False)
    for name, field in made.model_fields.items():
        alias = getattr(field, "alias", None)
        names += [alias] if alias else []
        if by_name or alias is None:
            names.append(name)
    return names


def _with_ending(names: tuple[str, ...], taken: list[str]) -> str | None:
    endings = tuple(name for name in names if name.startswith("_"))
    return next((name for name in taken if endings and name.endswith(endings)), None)


def _wants_text(made: Any, argument: str) -> bool:
    """Return whether a class has a plain text where others have a secret one."""
    field = made.model_fields.get(argument)
    return "SecretStr" not in str(getattr(field, "annotation", "SecretStr"))


def _plain(value: Any) -> Any:
    return value.get_secret_value() if isinstance(value, SecretStr) else value


def _nothing(_: ModelSettings, __: dict[str, Any]) -> dict[str, Any]:
    return {}


def _ollama(settings: ModelSettings, wanted: dict[str, Any]) -> dict[str, Any]:
    """Return Ollama's own arguments. Its server gives each model the window that is asked for."""
    import httpx

    connect = min(settings.timeout, CONNECT_TIMEOUT)
    own: dict[str, Any] = {
        "client_kwargs": {"timeout": httpx.Timeout(settings.timeout, connect=connect)}
    }
    if settings.context_window is not None:
        own["num_ctx"] = settings.context_window
    if (effort := wanted.pop("reasoning_effort", None)) is not None:
        own["reasoning"] = False if effort == "none" else effort
    if (key := wanted.pop("api_key", None)) is not None:
        own["client_kwargs"]["headers"] = {"Authorization": f"Bearer {_plain(key)}"}
    return own


def _nvidia(_: ModelSettings, wanted: dict[str, Any]) -> dict[str, Any]:
    key = wanted.pop("api_key", None)  # no field of its class, and taken all the same
    return {} if key is None else {"api_key": _plain(key)}


def _bedrock(settings: ModelSettings, wanted: dict[str, Any]) -> dict[str, Any]:
    del wanted["timeout"]
    config = importlib.import_module("botocore.config").Config(
        retries={"total_max_attempts": 1, "mode": "standard"},
        read_timeout=settings.timeout,
        connect_timeout=min(settings.timeout, CONNECT_TIMEOUT),
    )
    return {"config": config}


_OWN = {"ollama": _ollama, "bedrock": _bedrock, "nvidia": _nvidia}
"""What a provider's class takes besides, by provider; it takes out what is brought in so."""
