"""Settings of the secrets that the agent may use by name and never sees."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class SecretSettings(BaseModel):
    """A secret: `<secret:NAME>` in a text that is typed into a page."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    env: str = Field(min_length=1)
    """The environment variable that holds it; it stands in no file."""
    host: str = Field(min_length=1)
    """The host whose pages, and those of hosts below it, may be given it."""
