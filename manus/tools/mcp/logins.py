"""Store the logins at MCP servers in private records of the user, one for each address."""

from __future__ import annotations

import hashlib
import time
from typing import Any

from pydantic import BaseModel

from manus.config.files import read_record, write_record
from manus.config.mcp_settings import McpServer


class Login(BaseModel):
    """What is needed to use and refresh the token of an address, as its servers sent it."""

    tokens: dict[str, Any] = {}
    expires_at: float | None = None
    """Seconds since the epoch; None if the server does not say."""
    client: dict[str, Any] = {}
    """This program as it is registered at the authorization server."""
    authorization_server: dict[str, Any] | None = None
    resource: dict[str, Any] | None = None

    @property
    def access_token(self) -> str:
        """Return the access token; empty if there is no login."""
        return str(self.tokens.get("access_token") or "")

    @property
    def is_expired(self) -> bool:
        """Return whether the server has announced that the token is no longer valid."""
        return self.expires_at is not None and self.expires_at <= time.time()


def login_address(server: McpServer) -> str | None:
    """Return the address whose login a server uses; None for a program or with a token of its own.

    The variables in the settings must have been replaced.
    """
    has_token = any(name.lower() == "authorization" for name in server.all_headers)
    return None if has_token else server.url


def read_login(url: str) -> Login:
    """Return the login at an address; an empty one if there is none. Blocking."""
    return Login.model_validate(read_record(_record_name(url)))


def write_login(url: str, login: Login) -> None:
    """Store the login at an address. Blocking.

    Raises:
        OSError: the file cannot be written.
    """
    write_record(_record_name(url), login.model_dump(mode="json"))


def forget_login(url: str) -> bool:
    """Remove the login at an address; return whether there was one. Blocking."""
    is_stored = bool(read_login(url).access_token)
    if is_stored:
        write_record(_record_name(url), {})
    return is_stored


def _record_name(url: str) -> str:
    """Return the name of a record: a digest, since an address may contain a secret."""
    return f"mcp-login-{hashlib.sha256(url.encode()).hexdigest()[:32]}"
