"""Secrets by name: `<secret:NAME>` is filled in at the last moment, and masked where it is seen."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from urllib.parse import quote, quote_plus

from pydantic import BaseModel, Field

from manus.state.errors import ToolError

_NAMED = re.compile(r"<secret:([\w-]+)>")
_HEAD = 16
"""Characters of a secret by which it is known where it was cut."""


class SecretSettings(BaseModel, frozen=True, extra="forbid"):
    """A secret: `<secret:NAME>` in a text that is typed into a page."""

    env: str = Field(min_length=1)
    """The environment variable that holds it; it stands in no file."""
    host: str = Field(min_length=1)
    """The host whose pages, and those of hosts below it, may be given it."""


def names_in(text: str) -> list[str]:
    """The names of the secrets that a text asks for."""
    return _NAMED.findall(text)


def fill(text: str, secrets: Mapping[str, SecretSettings], host: str) -> str:
    """The text with the secrets in it, for a page of that host.

    Raises:
        ToolError: there is no such secret, it is for another host, or its variable is not set.
    """

    def value(match: re.Match[str]) -> str:
        name = match[1]
        if name not in secrets:
            known = ", ".join(secrets) or "none"
            raise ToolError(f"There is no secret `{name}`; there is: {known}.")
        secret = secrets[name]
        if host != secret.host and not host.endswith(f".{secret.host}"):
            raise ToolError(f"The secret `{name}` is for {secret.host}, and this is {host}.")
        if not (found := os.environ.get(secret.env)):
            raise ToolError(f"The secret `{name}` is not set: {secret.env} is empty.")
        return found

    return _NAMED.sub(value, text)


def mask(text: str, secrets: Mapping[str, SecretSettings]) -> str:
    """The text with names in place of the secrets in it, also of one that was cut or quoted."""
    for name, secret in secrets.items():
        value = os.environ.get(secret.env, "")
        for form in {value, quote(value, safe=""), quote_plus(value)} - {""}:
            rest = r"\S*" if len(form) > _HEAD else ""
            text = re.sub(re.escape(form[:_HEAD]) + rest, f"<secret:{name}>", text)
    return text
