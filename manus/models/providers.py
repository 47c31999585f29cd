"""Name the model, the key and the address of an endpoint's provider."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from manus.config.model_settings import ModelSettings, get_provider, shown_address, split_spec
from manus.config.provider_table import (
    DEFAULT_ADDRESS,
    DEFAULT_KEY,
    DEFAULT_MODEL,
    DEFAULT_PROVIDER,
    MODELS,
    OTHER,
    PROVIDERS,
    SERVERS,
    Provider,
)
from manus.config.run_settings import RunSettings
from manus.models.server_rules import ServerRules
from manus.models.wrapped import chat_model_in

if TYPE_CHECKING:
    from langchain_core.runnables import Runnable

REPLAY = "replay:"
_REPLAY_RULES = ServerRules(tool_images=True, call_names="(?s).*")
"""A recording has the messages as they are stored."""
NOT_CONFIGURED = (
    f"No model is configured: run `manus setup`, or set {DEFAULT_KEY}, or "
    "MANUS_MODEL and MANUS_BASE_URL for any compatible server; `manus demo` needs none."
)


def name_key_variables(model: str) -> str:
    """Return, for error messages, the variables that hold the key of a model's provider."""
    return PROVIDERS[get_provider(model)].key_names


def is_configured(settings: ModelSettings) -> bool:
    """Return whether the settings name a model or a key."""
    return bool(settings.model or settings.api_key)


def get_address(settings: ModelSettings) -> str:
    """Return the address of an endpoint, for messages."""
    provider, _ = split_spec(settings.model or DEFAULT_MODEL)
    if settings.base_url:
        return shown_address(settings.base_url)
    return f"{provider}'s own address"


def get_model_name(model: str | Runnable[Any, Any]) -> str:
    """Return the name of a model, or of a chat model built by the caller.

    Raises:
        SettingsError: it is not a chat model.
    """
    if isinstance(model, str):
        return model
    inner = chat_model_in(model)
    name = getattr(inner, "model_name", None) or getattr(inner, "model", None)
    return str(name or type(inner).__name__)


def find_package(model: object) -> Provider:
    """Return the provider whose package a chat model's class, or one of its bases, comes from."""
    for base in type(model).__mro__:
        top_module = base.__module__.partition(".")[0]
        for provider in PROVIDERS.values():
            if top_module == provider.package.replace("-", "_"):
                return provider
    return OTHER


def find_rules(endpoint: ModelSettings, package: Provider | None = None) -> ServerRules:
    """Return what the server of an endpoint is known to accept, apart from what it has refused.

    `package` is that of its chat model; None for this project's own clients.
    """
    spec = endpoint.model or DEFAULT_MODEL
    if spec.startswith(REPLAY):
        return _REPLAY_RULES
    name = split_spec(spec)[1]
    provider = PROVIDERS[get_provider(spec)]
    host = provider.own_host or urlsplit(endpoint.base_url or "").hostname or ""
    default = PROVIDERS[DEFAULT_PROVIDER]
    if not host and provider is default and (package is default or endpoint.api_key is not None):
        host = urlsplit(DEFAULT_ADDRESS).hostname or ""
    changes = {} if package is None else dict(package.rules)
    for suffix, rules in SERVERS.items():
        if host == suffix or host.endswith(f".{suffix}"):
            changes |= rules
    for pattern, rules in MODELS.items():
        if re.match(pattern, name.lower()):
            changes |= rules
    if not endpoint.vision:
        changes["images"] = False
    return ServerRules(**changes).refusing(*endpoint.refuses)


def select_endpoint(settings: RunSettings, role: str) -> ModelSettings:
    """Return the endpoint of a role, also if the caller has built its chat model."""
    endpoint = settings.for_role(role)
    model = settings.model
    if model is None or isinstance(model, str) or settings.has_own_model(role):
        return endpoint
    return build_endpoint(model, endpoint)


def build_endpoint(model: Runnable[Any, Any], settings: ModelSettings) -> ModelSettings:
    """Return the endpoint that represents a chat model built by the caller."""
    inner = chat_model_in(model)
    address = getattr(inner, "openai_api_base", None) or getattr(inner, "base_url", None)
    values: dict[str, Any] = {"api_key": None, "fallback": (), "model": get_model_name(model)}
    values["base_url"] = address if isinstance(address, str) else None
    return settings.model_copy(update=values)
