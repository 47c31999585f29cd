"""Settings of a model endpoint, of prices, and of the context that a model is given."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field, SecretStr, field_validator

PROVIDERS = (
    *("openai", "azure", "anthropic", "google", "bedrock", "ollama", "groq", "mistralai"),
    *("deepseek", "xai", "google_vertexai", "openrouter", "together", "fireworks", "perplexity"),
    *("cohere", "nvidia", "upstage", "baseten", "meta", "litellm", "ibm", "huggingface"),
    *("azure_ai", "anthropic_bedrock", "bedrock_mantle_anthropic", "bedrock_mantle_openai"),
    "google_anthropic_vertex",
)
"""What may stand before the colon of a model; a name with another prefix is OpenAI's."""
ALIASES = {
    "azure_openai": "azure",
    "google_genai": "google",
    "bedrock_converse": "bedrock",
    "vertexai": "google_vertexai",
}
"""Other names of providers: those of LangChain's `init_chat_model`, and shorter ones."""
ENDPOINT = ("base_url", "api_key", "api_version")


def provider_of(model: str | None) -> str:
    """The provider that a model's name means; `openai` where it names none."""
    return split_spec(model or "")[0]


def split_spec(spec: str) -> tuple[str, str]:
    """Split `PROVIDER:NAME`. A name may hold a colon itself (`llama3:8b`): it is openai's."""
    prefix, colon, name = spec.partition(":")
    provider = prefix.lower().replace("-", "_")
    provider = ALIASES.get(provider, provider)
    return (provider, name) if colon and name and provider in PROVIDERS else ("openai", spec)


def check_name(spec: str) -> None:
    """Check that a model's name is one.

    Raises:
        ValueError: it is empty, or there is nothing behind its provider.
    """
    if not spec.strip():
        raise ValueError("it is empty; name a model")
    prefix, colon, name = spec.partition(":")
    provider = ALIASES.get(prefix.lower(), prefix.lower())
    if colon and not name.strip() and provider in PROVIDERS:
        raise ValueError(f"`{spec}` names no model; it is PROVIDER:NAME")


def shown_address(address: str) -> str:
    """An address as anybody may see it: without a password that stands in it, or a query."""
    before, slashes, rest = address.partition("://")
    host, slash, path = rest.partition("?")[0].partition("/")
    return f"{before}{slashes}{host.rpartition('@')[2]}{slash}{path}" if slashes else address


class ModelSettings(BaseModel, frozen=True, extra="forbid"):
    """One model endpoint. Waiting times in seconds, windows in tokens."""

    model: str | None = None
    """`PROVIDER:NAME`, or a bare name for the OpenAI protocol, or `replay:FILE`."""
    base_url: str | None = None
    """Address of an OpenAI-compatible server, or of Azure OpenAI; else the provider's own."""
    api_key: SecretStr | None = None
    """Goes only to the provider and address that it is set beside."""
    temperature: float | None = None
    """Sent only if it is set: reasoning models take none."""
    max_tokens: int | None = Field(None, ge=1)
    """Tokens of one reply, at most."""
    reasoning_effort: str | None = None
    """For models that think before they answer: `low`, `medium`, `high`, or what the server has."""
    send_reasoning: bool | None = None
    """Whether a compatible server is sent back what its model thought. Unset: what is signed or
    encrypted always (`reasoning_details`, signatures of calls), the words themselves
    (`reasoning_content`) to the servers that are known to want them (DeepSeek, Moonshot)."""
    timeout: float = Field(120.0, gt=0)
    """Silence: before a reply begins and between two pieces of it. Not for a whole reply."""
    retry_for: float = Field(300.0, ge=0)
    """For which a server that is away (no connection, 429, 5xx, silence) is tried again; then the
    run stops, and `manus resume` goes on with it. The same for a Postgres database with the
    threads. 0: not at all."""
    vision: bool = True
    """Whether the model sees images; if not they are left out with a line that says so."""
    tool_calling: Literal["native", "prompted"] = "native"
    """`prompted`: tools are described in the prompt and calls read from the text, for models that
    have none."""
    context_window: int | None = Field(None, ge=1000)
    """Input tokens. Unset: as the model's package says, else as its name does, else 128,000, until
    the server says better."""
    api_version: str | None = None
    """Azure OpenAI only."""
    fallback: tuple[ModelSettings, ...] = ()
    """Asked in this order when the endpoint fails for good. A text is the model's name; what one
    does not set is taken from here, the address only for the same provider, the key only for the
    same address."""

    @field_validator("model")
    @classmethod
    def _has_name(cls, given: str | None) -> str | None:
        if given is not None:
            check_name(given)
        return given

    @field_validator("fallback", mode="before")
    @classmethod
    def _names(cls, given: Any) -> Any:
        if isinstance(given, str):
            given = [name.strip() for name in given.split(",") if name.strip()]
        if not isinstance(given, list | tuple):
            return given
        return tuple({"model": one} if isinstance(one, str) else one for one in given)

    def at(self, model: str | None, base_url: str | None) -> ModelSettings:
        """These settings for another model or address; what is None stays.

        A key goes only to the provider and address it was configured for: who may choose these for
        a run, over a server's interface for one, shall not have the key sent to a place of theirs.
        """
        other = model is not None and provider_of(model) != provider_of(self.model)
        changed: dict[str, Any] = dict.fromkeys(ENDPOINT) if other else {}
        if base_url not in (None, self.base_url):
            changed.update(api_key=None, fallback=())
        given = {"model": model, "base_url": base_url}
        changed.update({name: value for name, value in given.items() if value is not None})
        return self.model_copy(update=changed)

    def with_fallbacks(self) -> list[ModelSettings]:
        """This endpoint and those asked after it."""
        alone = self.model_copy(update={"fallback": ()})
        return [alone, *(alone._fallen_back_to(one) for one in self.fallback)]

    def _fallen_back_to(self, other: ModelSettings) -> ModelSettings:
        chosen = self.overlaid(other)
        moved = chosen.base_url != self.base_url and "api_key" not in other.model_fields_set
        return chosen.model_copy(update={"api_key": None}) if moved else chosen

    def overlaid(self, other: ModelSettings) -> ModelSettings:
        """This endpoint with what another one sets; of another provider without address and key."""
        values: dict[str, Any] = {name: getattr(self, name) for name in ModelSettings.model_fields}
        if other.model and provider_of(other.model) != provider_of(self.model):
            values.update(dict.fromkeys(ENDPOINT))
        if other.model and other.model != self.model:
            values["context_window"] = None
        values.update({name: getattr(other, name) for name in other.model_fields_set})
        return ModelSettings(**values)


class Price(BaseModel, frozen=True, extra="forbid"):
    """What a model costs, for a million tokens, in the currency of the table."""

    input: float = Field(ge=0, allow_inf_nan=False)
    """For the tokens of a request."""
    output: float = Field(ge=0, allow_inf_nan=False)
    """For those of a reply, and for what was thought before it."""
    cached: float | None = Field(None, ge=0, allow_inf_nan=False)
    """For input that the provider had in its cache; the price of input where it is not given."""
    cache_write: float | None = Field(None, ge=0, allow_inf_nan=False)
    """For input that the provider wrote to its cache, for however long it keeps it; the price of
    input where it is not given."""

    def cost(
        self, input_tokens: int, output_tokens: int, cached_tokens: int, written_tokens: int = 0
    ) -> float:
        """What a call costs; the tokens read from a cache and written to it are of the input."""
        cached = min(cached_tokens, input_tokens)
        written = min(written_tokens, input_tokens - cached)
        given = (input_tokens - cached - written) * self.input
        given += cached * self._or_input(self.cached) + written * self._or_input(self.cache_write)
        return (given + output_tokens * self.output) / 1_000_000

    def _or_input(self, price: float | None) -> float:
        return self.input if price is None else price


class ContextSettings(BaseModel, frozen=True, extra="forbid"):
    """When a history is made shorter, as parts of the model's context window."""

    compact_at: float = Field(0.8, gt=0, lt=1)
    """From this size on, older turns are replaced by notes."""
    compact_to: float = Field(0.4, gt=0, lt=1)
    """The size that the request then has at most, where older turns can make it so."""
    notes_words: int = Field(800, ge=50, le=20_000)
    """Words that the notes may have."""
