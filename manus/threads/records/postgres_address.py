"""Addresses of PostgreSQL databases."""

from __future__ import annotations

from typing import Any

from psycopg.conninfo import conninfo_to_dict, make_conninfo

_SESSION_OPTIONS = ("autocommit", "prepare_threshold", "row_factory", "cursor_factory", "context")
"""Connection arguments that are not part of the address."""
_CONNECT_TIMEOUT = 10
"""Seconds to establish a connection, unless the address specifies another timeout."""


def read_address(connection: Any) -> str:
    """Return the address of a connection, or of a pool, with its password."""
    if hasattr(connection, "conninfo"):
        kwargs = connection.kwargs or {}
        options = {name: kwargs[name] for name in kwargs if name not in _SESSION_OPTIONS}
        return make_conninfo(connection.conninfo, **options)
    info = connection.info
    return make_conninfo(info.dsn, password=info.password)


def read_connect_timeout(address: str) -> int:
    """Return the seconds to establish a connection: `connect_timeout`, but at least 2."""
    value = str(conninfo_to_dict(address).get("connect_timeout") or "")
    return max(2, int(value)) if value.isdecimal() and int(value) else _CONNECT_TIMEOUT


def describe_address(address: str) -> str:
    """Return an address as a URL without credentials."""
    parts = conninfo_to_dict(address)
    port = parts.get("port") or 5432
    return f"postgresql://{parts.get('host') or 'localhost'}:{port}/{parts.get('dbname') or ''}"
