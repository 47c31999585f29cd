"""HMACs of the lines of a journal, so that programs of a run cannot forge one."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping
from typing import Any

KEY_LENGTH = 32
"""Bytes of a key."""
_MAC_PREFIX = b', "mac": "'
_LINE_END = b'"}\n'


class Seal:
    """The HMACs of the lines of one record; lines of other records do not verify."""

    def __init__(self, key: bytes, name: str) -> None:
        self._mac = hmac.new(key, name.encode("utf-8", "surrogatepass") + b"\0", hashlib.sha256)

    def seal(self, content: Mapping[str, Any]) -> bytes:
        """Return a line of JSON with the HMAC as its last member."""
        return self._add_mac(json.dumps(content).encode("ascii"))

    def verify(self, line: bytes) -> dict[str, Any] | None:
        """Return the content of a line; None if its HMAC is wrong."""
        text = line.rpartition(_MAC_PREFIX)[0] + b"}"
        is_ours = hmac.compare_digest(line, self._add_mac(text))
        return json.loads(text) if is_ours else None

    def _add_mac(self, text: bytes) -> bytes:
        mac = self._mac.copy()
        mac.update(text)
        return text[:-1] + _MAC_PREFIX + mac.hexdigest().encode() + _LINE_END
