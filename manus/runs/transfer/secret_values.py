"""Find the secrets of this machine, so that none of them is exported."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote, quote_plus

from pydantic import BaseModel, SecretStr

from manus.config.settings import Settings

_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|AUTH", re.IGNORECASE)
_MIN_LENGTH = 8
"""Minimum length in characters; a shorter value could be any word."""


class SecretValues:
    """The values of the settings' keys, of `[secrets]`, and of variables with such names."""

    def __init__(self, settings: Settings, environment: Mapping[str, str]) -> None:
        values = set(_read_settings(settings))
        values.update(value for name, value in environment.items() if _NAME.search(name))
        values.update(environment.get(secret.env, "") for secret in settings.secrets.values())
        forms = {form for value in values if len(value) >= _MIN_LENGTH for form in _forms(value)}
        longest_first = sorted(forms, key=len, reverse=True)
        self._pattern = re.compile(b"|".join(map(re.escape, longest_first)) or rb"(?!)")

    def mask(self, data: bytes) -> bytes:
        """Return serialized values with each secret replaced by as many asterisks.

        The length is kept because MessagePack stores it in front of a text.
        """
        return self._pattern.sub(lambda match: b"*" * len(match[0]), data)

    def is_in(self, content: bytes) -> bool:
        """Return whether a file contains a secret."""
        return self._pattern.search(content) is not None


def _forms(value: str) -> set[bytes]:
    """Return a value as it appears in a text, in a URL and in JSON."""
    forms = {value, json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]}
    encoded = {form.encode("utf-8", "surrogateescape") for form in forms}
    plain = value.encode("utf-8", "surrogateescape")
    return encoded | {quote(plain, safe="").encode(), quote_plus(plain).encode()}


def _read_settings(part: Any) -> Iterator[str]:
    if isinstance(part, SecretStr):
        yield part.get_secret_value()
    elif isinstance(part, BaseModel):
        yield from _read_settings([getattr(part, name) for name in type(part).model_fields])
    elif isinstance(part, Mapping):
        yield from _read_settings([*part.values()])
    elif isinstance(part, list | tuple):
        for item in part:
            yield from _read_settings(item)
