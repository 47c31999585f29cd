"""Secrets by name: `<secret:NAME>` is replaced at the last moment; secret values are masked."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from urllib.parse import quote, quote_plus

from pydantic import BaseModel, Field

from manus.state.errors import ToolError

_REFERENCE = re.compile(r"<secret:([\w-]+)>")
_HEAD = 16
"""Leading characters by which a truncated secret is recognized."""


class SecretSettings(BaseModel, frozen=True, extra="forbid"):
    """A secret, used as `<secret:NAME>` in text that is typed into a page."""

    env: str = Field(min_length=1)
    """The environment variable with the value, which is never in a file."""
    host: str = Field(min_length=1)
    """The host whose pages, and those of its subdomains, may receive it."""


def names_in(text: str) -> list[str]:
    """Return the names of the secrets that a text refers to."""
    return _REFERENCE.findall(text)


def fill(text: str, secrets: Mapping[str, SecretSettings], host: str) -> str:
    """Return the text with the values of its secrets, for a page of this host.

    Raises:
        ToolError: the secret does not exist, it is for another host, or its variable is not set.
    """

    def value(match: re.Match[str]) -> str:
        name = match[1]
        if name not in secrets:
            names = ", ".join(secrets) or "none"
            raise ToolError(f"Secret `{name}` does not exist; available: {names}.")
        secret = secrets[name]
        if host != secret.host and not host.endswith(f".{secret.host}"):
            raise ToolError(f"The secret `{name}` is for {secret.host}, but this is {host}.")
        text = os.environ.get(secret.env)
        if not text:
            raise ToolError(f"The secret `{name}` is not set: {secret.env} is empty.")
        return text

    return _REFERENCE.sub(value, text)


def mask(text: str, secrets: Mapping[str, SecretSettings]) -> str:
    """Return the text with secret values, even truncated or URL-quoted, as `<secret:NAME>`."""
    for name, secret in secrets.items():
        value = os.environ.get(secret.env, "")
        for form in {value, quote(value, safe=""), quote_plus(value)} - {""}:
            rest = r"\S*" if len(form) > _HEAD else ""
            text = re.sub(re.escape(form[:_HEAD]) + rest, f"<secret:{name}>", text)
    return text
