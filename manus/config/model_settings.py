"""Settings of a model endpoint, of prices, and of context compaction."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field, SecretStr, field_validator

from manus.config.provider_table import ALIASES, DEFAULT_PROVIDER, PROVIDERS

ENDPOINT = ("base_url", "api_key", "api_version")


def get_provider(model: str | None) -> str:
    """Return the provider in a model's name; the default one if it names none."""
    return split_spec(model or "")[0]


def split_spec(spec: str) -> tuple[str, str]:
    """Split `PROVIDER:NAME`; any other prefix belongs to a name, as in `llama3:8b`."""
    prefix, colon, name = spec.partition(":")
    provider = prefix.lower().replace("-", "_")
    provider = ALIASES.get(provider, provider)
    if colon and name and provider in PROVIDERS:
        return provider, name
    return DEFAULT_PROVIDER, spec


def check_name(spec: str) -> None:
    """Raise an error if a model's name is not valid.

    Raises:
        ValueError: it is empty, or names only a provider.
    """
    if not spec.strip():
        raise ValueError("it is empty; name a model")
    prefix, colon, name = spec.partition(":")
    provider = ALIASES.get(prefix.lower(), prefix.lower())
    if colon and not name.strip() and provider in PROVIDERS:
        raise ValueError(f"`{spec}` does not name a model; use PROVIDER:NAME")


def shown_address(address: str) -> str:
    """Return an address without user, password and query, for messages."""
    scheme, slashes, rest = address.partition("://")
    if not slashes:
        return address
    host, slash, path = rest.partition("?")[0].partition("/")
    return f"{scheme}://{host.rpartition('@')[2]}{slash}{path}"


class ModelSettings(BaseModel, frozen=True, extra="forbid"):
    """A model endpoint. Times are in seconds, windows in tokens."""

    model: str | None = None
    """`PROVIDER:NAME`, or a bare name for the OpenAI protocol, or `replay:FILE`."""
    base_url: str | None = None
    """Address of an OpenAI-compatible server, or of Azure OpenAI. Unset: the provider's own."""
    api_key: SecretStr | None = None
    """Sent only to the provider and address with which it is set."""
    temperature: float | None = None
    """Sent only if set: reasoning models reject it."""
    max_tokens: int | None = Field(None, ge=1)
    """Maximum tokens of one reply."""
    reasoning_effort: str | None = None
    """For reasoning models: `low`, `medium`, `high`, or another value that the server supports."""
    send_reasoning: bool | None = None
    """Whether the model's reasoning is sent back to a compatible server. Unset: signed or encrypted
    reasoning (`reasoning_details`, signatures of calls) always is, readable reasoning
    (`reasoning_content`) only to servers that require it (DeepSeek, Moonshot)."""
    timeout: float = Field(120.0, gt=0)
    """Timeout until a reply starts and between two of its chunks, not for a whole reply."""
    retry_for: float = Field(300.0, ge=0)
    """How long to retry an unavailable server (connection error, 429, 5xx, timeout). After that the
    run pauses; `manus resume` continues it. Also applies to a Postgres database with the threads.
    0 disables retries."""
    vision: bool = True
    """Whether the model can see images; if not, a note replaces them."""
    tool_calling: Literal["native", "prompted"] = "native"
    """`prompted`: tools are described in the prompt and calls parsed from the text, for models
    without tool calling."""
    refuses: tuple[str, ...] = ()
    """What the server refuses, so that it is not sent: names of parameters, or words of
    docs/models.md, as `manus doctor` and the log report them."""
    context_window: int | None = Field(None, ge=1000)
    """Input tokens. Unset: as the server reports, otherwise as the model's package or name implies,
    otherwise 128,000."""
    api_version: str | None = None
    """Azure OpenAI only."""
    fallback: tuple[ModelSettings, ...] = ()
    """Endpoints to call, in this order, if this one fails permanently. A string is a model's name.
    Unset fields are inherited: the address only for the same provider, the key only for the same
    address."""

    @field_validator("model")
    @classmethod
    def _check_model(cls, model: str | None) -> str | None:
        if model is not None:
            check_name(model)
        return model

    @field_validator("refuses", mode="before")
    @classmethod
    def _parse_refuses(cls, value: Any) -> Any:
        if isinstance(value, str):
            return tuple(word.strip() for word in value.split(",") if word.strip())
        return value

    @field_validator("fallback", mode="before")
    @classmethod
    def _parse_fallback(cls, value: Any) -> Any:
        if isinstance(value, str):
            value = [name.strip() for name in value.split(",") if name.strip()]
        if not isinstance(value, list | tuple):
            return value
        return tuple({"model": item} if isinstance(item, str) else item for item in value)

    def at(self, model: str | None, base_url: str | None) -> ModelSettings:
        """Return these settings for another model or address; None leaves one unchanged.

        A key is sent only to the provider and address it was configured for. Otherwise a client
        that may choose these for a run, for example over a server's API, could have the key sent to
        its own server.
        """
        update: dict[str, Any] = {}
        if model is not None:
            if get_provider(model) != get_provider(self.model):
                update.update(dict.fromkeys(ENDPOINT))
            update["model"] = model
        if base_url is not None:
            if base_url != self.base_url:
                update.update(api_key=None, fallback=(), refuses=())
            update["base_url"] = base_url
        return self.model_copy(update=update)

    def with_fallbacks(self) -> list[ModelSettings]:
        """Return this endpoint, followed by its fallbacks."""
        endpoint = self.model_copy(update={"fallback": ()})
        return [endpoint, *map(endpoint._merge_fallback, self.fallback)]

    def _merge_fallback(self, fallback: ModelSettings) -> ModelSettings:
        endpoint = self.merge(fallback)
        if endpoint.base_url != self.base_url and "api_key" not in fallback.model_fields_set:
            endpoint = endpoint.model_copy(update={"api_key": None})
        return endpoint

    def merge(self, other: ModelSettings) -> ModelSettings:
        """Return this endpoint with the fields that another one sets.

        Address and key are not inherited by another provider, the window and what the server
        refuses not by another model.
        """
        values: dict[str, Any] = {name: getattr(self, name) for name in ModelSettings.model_fields}
        if other.model and get_provider(other.model) != get_provider(self.model):
            values.update(dict.fromkeys(ENDPOINT))
        if other.model and other.model != self.model:
            values.update(context_window=None, refuses=())
        values.update({name: getattr(other, name) for name in other.model_fields_set})
        return ModelSettings(**values)


class Price(BaseModel, frozen=True, extra="forbid"):
    """Prices of a model per million tokens, in the currency of the settings."""

    input: float = Field(ge=0, allow_inf_nan=False)
    """For the tokens of a request."""
    output: float = Field(ge=0, allow_inf_nan=False)
    """For the tokens of a reply, including its reasoning."""
    cached: float | None = Field(None, ge=0, allow_inf_nan=False)
    """For input read from the provider's prompt cache. Unset: the price of input."""
    cache_write: float | None = Field(None, ge=0, allow_inf_nan=False)
    """For input written to the provider's prompt cache. Unset: the price of input."""

    def cost(
        self, input_tokens: int, output_tokens: int, cached_tokens: int, written_tokens: int = 0
    ) -> float:
        """Return the cost of a call; `input_tokens` include cache reads and writes."""
        cached_price = self.input if self.cached is None else self.cached
        write_price = self.input if self.cache_write is None else self.cache_write
        cached_tokens = min(cached_tokens, input_tokens)
        written_tokens = min(written_tokens, input_tokens - cached_tokens)
        uncached_tokens = input_tokens - cached_tokens - written_tokens
        cost = uncached_tokens * self.input
        cost += cached_tokens * cached_price + written_tokens * write_price
        return (cost + output_tokens * self.output) / 1_000_000


class ContextSettings(BaseModel, frozen=True, extra="forbid"):
    """Limits of context compaction, as fractions of the model's context window."""

    compact_at: float = Field(0.8, gt=0, lt=1)
    """At this size, older turns are replaced by notes."""
    compact_to: float = Field(0.4, gt=0, lt=1)
    """Maximum size of the request after compaction, if older turns can be removed for it."""
    notes_words: int = Field(800, ge=50, le=20_000)
    """Maximum words of the notes."""
