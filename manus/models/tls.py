"""The TLS context that all clients of model servers share."""

from __future__ import annotations

import os
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ssl


def ssl_context() -> ssl.SSLContext:
    """Return the TLS context with the trusted certificates; reading them takes 30 ms once."""
    return _load_ssl_context(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))


@lru_cache(8)
def _load_ssl_context(_file: str | None, _folder: str | None) -> ssl.SSLContext:
    import httpx2

    return httpx2.create_ssl_context()
