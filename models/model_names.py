"""What the settings of a model say before any package is imported for it."""

from __future__ import annotations

from manus.state.model_settings import PROVIDERS, ModelSettings

DEFAULT_MODEL = "gpt-5"
"""Where a key is set and no model is named."""
REPLAY = "replay:"

NOT_CONFIGURED = (
    "No model is configured: set OPENAI_API_KEY, or MANUS_MODEL and MANUS_BASE_URL for any "
    "compatible server (for Ollama on this machine: MANUS_BASE_URL=http://localhost:11434/v1)."
)


def split_spec(spec: str) -> tuple[str, str]:
    """`PROVIDER:NAME` as a pair. A name may hold a colon itself (`llama3:8b`): it is openai's."""
    provider, colon, name = spec.partition(":")
    if colon and provider.lower() in PROVIDERS and name:
        return provider.lower(), name
    return "openai", spec


def is_configured(settings: ModelSettings) -> bool:
    """Whether there is enough to ask a model."""
    return bool(settings.model or settings.api_key)


def address_of(settings: ModelSettings) -> str:
    """Where the model is asked, for messages."""
    provider, _ = split_spec(settings.model or DEFAULT_MODEL)
    return shown_address(settings.base_url) if settings.base_url else f"{provider}'s own address"


def shown_address(address: str) -> str:
    """An address as anybody may see it: without a password that stands in it, or a query."""
    before, slashes, rest = address.partition("://")
    host, slash, path = rest.partition("?")[0].partition("/")
    return f"{before}{slashes}{host.rpartition('@')[2]}{slash}{path}" if slashes else address
