"""Find the secrets of this machine, so that none of them is exported."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel, SecretStr

from manus.config.secret_texts import SecretSettings, mask
from manus.config.settings import Settings

_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|AUTH", re.IGNORECASE)
_MIN_LENGTH = 8
"""Minimum length in characters; a shorter value could be any word."""
HIDDEN = "<secret>"


class SecretValues:
    """The values of the settings' keys, of `[secrets]`, and of variables with such names."""

    def __init__(self, settings: Settings, environment: Mapping[str, str]) -> None:
        self._secrets: Mapping[str, SecretSettings] = settings.secrets
        values = set(_read_settings(settings))
        values.update(value for name, value in environment.items() if _NAME.search(name))
        values.update(environment.get(secret.env, "") for secret in self._secrets.values())
        self._values = sorted((v for v in values if len(v) >= _MIN_LENGTH), key=len, reverse=True)

    def hide(self, text: str) -> str:
        """Return a text with its secrets masked."""
        text = mask(text, self._secrets)
        for value in self._values:
            if value in text:
                text = text.replace(value, HIDDEN)
        return text

    def is_in(self, content: bytes) -> bool:
        """Return whether a file contains a secret."""
        return any(value.encode("utf-8", "surrogateescape") in content for value in self._values)


def _read_settings(part: Any) -> Iterator[str]:
    if isinstance(part, SecretStr):
        yield part.get_secret_value()
    elif isinstance(part, BaseModel):
        for name in type(part).model_fields:
            yield from _read_settings(getattr(part, name))
    elif isinstance(part, Mapping):
        for item in part.values():
            yield from _read_settings(item)
    elif isinstance(part, list | tuple):
        for item in part:
            yield from _read_settings(item)
