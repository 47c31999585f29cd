"""A real MCP server with a real authorization server, both of the protocol's SDK, in a thread."""

# mypy: disable-error-code="untyped-decorator"

import secrets
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    RefreshToken,
    construct_redirect_uri,
)
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken

from tests.mcp.odd_server import FastMCP


class Accounts:
    """The authorization server's accounts: one person, who answers as `answer` says."""

    def __init__(self) -> None:
        self.answer = "allow"
        self.lifetime = 3600
        self.clients: dict[str, OAuthClientInformationFull] = {}
        self.codes: dict[str, AuthorizationCode] = {}
        self.access: dict[str, AccessToken] = {}
        self.refreshes: dict[str, RefreshToken] = {}
        self.refresh_count = 0

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        return self.clients.get(client_id)

    async def register_client(self, client: OAuthClientInformationFull) -> None:
        assert client.client_id
        self.clients[client.client_id] = client

    async def authorize(self, client: Any, params: AuthorizationParams) -> str:
        redirect = str(params.redirect_uri)
        if self.answer == "deny":
            reason = {"error": "access_denied", "error_description": "Not\x1b[31m today"}
            return construct_redirect_uri(redirect, **reason, state=params.state)
        state = "another" if self.answer == "mix up" else params.state
        code = AuthorizationCode(
            code=secrets.token_urlsafe(32),
            scopes=[],
            expires_at=time.time() + 60,
            client_id=client.client_id,
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
        )
        self.codes[code.code] = code
        return construct_redirect_uri(redirect, code=code.code, state=state)

    async def load_authorization_code(self, _: Any, code: str) -> AuthorizationCode | None:
        return self.codes.get(code)

    async def exchange_authorization_code(self, _: Any, code: AuthorizationCode) -> OAuthToken:
        del self.codes[code.code]
        return self.issue(code.client_id, code.resource)

    async def load_refresh_token(self, _: Any, token: str) -> RefreshToken | None:
        return self.refreshes.get(token)

    async def exchange_refresh_token(self, _: Any, token: RefreshToken, __: Any) -> OAuthToken:
        self.refresh_count += 1
        del self.refreshes[token.token]
        return self.issue(token.client_id, None)

    async def load_access_token(self, token: str) -> AccessToken | None:
        return self.access.get(token)

    def issue(self, client: str, resource: str | None) -> OAuthToken:
        access = f"access-{secrets.token_urlsafe(8)}"
        refresh = f"refresh-{secrets.token_urlsafe(8)}"
        self.access[access] = AccessToken(
            token=access, client_id=client, scopes=[], resource=resource
        )
        self.refreshes[refresh] = RefreshToken(token=refresh, client_id=client, scopes=[])
        return OAuthToken(access_token=access, refresh_token=refresh, expires_in=self.lifetime)


@contextmanager
def oauth_server() -> Iterator[tuple[str, Accounts]]:
    """Provide the address of an MCP server that requires a login, and its accounts."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen()  # a client that comes before the server is ready waits
    origin = f"http://127.0.0.1:{listener.getsockname()[1]}"
    accounts = Accounts()
    auth = AuthSettings.model_validate(
        {
            "issuer_url": origin,
            "resource_server_url": f"{origin}/mcp",
            "client_registration_options": ClientRegistrationOptions(enabled=True),
            "validate_token_resource": False,
        }
    )
    mcp = FastMCP("closed", auth_server_provider=accounts, auth=auth)

    @mcp.tool()
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    app = mcp.streamable_http_app()
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run, args=([listener],))
    thread.start()
    try:
        yield f"{origin}/mcp", accounts
    finally:
        server.should_exit = True
        thread.join()
        listener.close()
