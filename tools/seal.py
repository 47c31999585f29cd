"""Lines of a record that nobody else can write: each carries an HMAC under a key of the user's."""

from __future__ import annotations

import fcntl
import hashlib
import hmac
import json
import os
from pathlib import Path
from typing import Any

from manus.state.files import data_folder
from manus.tools.beneath import open_own

_LENGTH = 32
_BETWEEN = b', "mac": "'
_END = b'"}\n'


def own_key() -> bytes:
    """The user's key, made once. It lies beside the threads, apart from the records. Blocking.

    Raises:
        OSError: it cannot be read or made.
    """
    with open_own(key_file()) as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # given back when the file is closed
        file.seek(0)
        key = file.read(_LENGTH)
        if len(key) < _LENGTH:
            file.truncate(0)
            key = os.urandom(_LENGTH)
            file.write(key)
    return key


def key_file() -> Path:
    """Where the key lies."""
    return data_folder() / "records.key"


class Seal:
    """Seals the lines of one record. A line of another record does not fit."""

    def __init__(self, key: bytes, name: str) -> None:
        self._mac = hmac.new(key, name.encode() + b"\0", hashlib.sha256)

    def line(self, content: dict[str, Any]) -> bytes:
        """A line of JSON, the seal its last member."""
        text = json.dumps(content).encode("ascii")
        return text[:-1] + _BETWEEN + self._of(text) + _END

    def opened(self, line: bytes) -> dict[str, Any] | None:
        """What a line holds; None if the seal does not fit."""
        head, _, seal = line.rpartition(_BETWEEN)
        text = head + b"}"
        if not hmac.compare_digest(seal, self._of(text) + _END):
            return None
        content: dict[str, Any] = json.loads(text)
        return content

    def _of(self, text: bytes) -> bytes:
        mac = self._mac.copy()
        mac.update(text)
        return mac.hexdigest().encode()
