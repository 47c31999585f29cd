"""Log in at MCP servers with OAuth, and authorize requests with the stored login.

The SDK's provider does the discovery, the registration, PKCE and the refresh. It is not attached to
a run's client: it would log in, which needs a person, and keep parallel requests waiting.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from importlib import import_module
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from pydantic import BaseModel, ValidationError

from manus.config.files import read_record, write_record
from manus.config.mcp_settings import McpServer
from manus.prompts.formatting import flat
from manus.state.errors import ToolUnavailableError
from manus.tools.mcp.sdk import IS_FIRST, http, raise_for_refusal
from manus.version import VERSION

_auth: Any = import_module("mcp.client.auth")
_types: Any = import_module("mcp.shared.auth")
_EXPIRED = 1.0
"""An expiry time in the past, which makes the provider refresh."""
_MAX_REASON = 300
_PARAMETERS = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "manus", "version": VERSION},
}
_INITIALIZE = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": _PARAMETERS}
"""The request that a server refuses without a login."""
_HOST = "127.0.0.1"
_PATH = "/callback"
_RETURN = "This page can be closed. Return to the terminal."
_STRANGER = "This answer does not belong to the login that is in progress."


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


class _Storage:
    """The part of a login that the SDK's provider reads; what it writes is in its context."""

    def __init__(self, login: Login) -> None:
        self._login = login

    async def get_tokens(self) -> Any:
        return _parse(_types.OAuthToken, self._login.tokens)

    async def get_client_info(self) -> Any:
        return _parse(_types.OAuthClientInformationFull, self._login.client)

    async def set_tokens(self, _: Any) -> None:
        pass

    async def set_client_info(self, _: Any) -> None:
        pass


class LoginAuth(http.Auth):  # type: ignore[misc]  # untyped, as the version is not known
    """Authorize each request to an address with its login, refreshed if it has expired.

    Without an address or a login requests are sent as they are.
    """

    def __init__(self, url: str | None) -> None:
        self._url = url
        self._reading = asyncio.Lock()

    async def async_auth_flow(self, request: Any) -> AsyncGenerator[Any, Any]:
        """Send a request, and send it again with a new token if the server refuses the old one.

        Raises:
            HTTPStatusError: the server refuses the request.
        """
        token = await self._obtain_token()
        response = yield _authorize(request, token)
        if response.status_code == 401 and token:
            renewed = await self._obtain_token(refused=token)
            if renewed:
                response = yield _authorize(request, renewed)
        raise_for_refusal(response)

    async def _obtain_token(self, refused: str = "") -> str:
        """Return a token that was not refused; empty if there is none."""
        if self._url is None:
            return ""
        async with self._reading:
            login = await asyncio.to_thread(read_login, self._url)
            is_usable = login.access_token != refused and not login.is_expired
            if login.access_token and not is_usable:
                login = await _refresh(self._url, login)
            return login.access_token


def _authorize(request: Any, token: str) -> Any:
    if token:
        request.headers["Authorization"] = f"Bearer {token}"
    return request


async def _refresh(url: str, login: Login) -> Login:
    """Return the refreshed login, after storing it; an empty one if it cannot be refreshed."""
    if login.tokens.get("refresh_token"):
        provider = _build_provider(url, "http://127.0.0.1/", login)
        context = provider.context
        context.oauth_metadata = _parse(_types.OAuthMetadata, login.authorization_server)
        resource = _parse(_types.ProtectedResourceMetadata, login.resource)
        context.protected_resource_metadata = resource
        context.token_expiry_time = _EXPIRED
        try:
            await _drive_refresh(provider, url)
        except (_auth.OAuthFlowError, http.HTTPError):
            context.clear_tokens()
        if context.current_tokens is not None:
            return await _store(url, context, login)
    # another process may have refreshed it with the same refresh token
    current = await asyncio.to_thread(read_login, url)
    return Login() if current.access_token == login.access_token else current


async def _drive_refresh(provider: Any, url: str) -> None:
    """Send the requests with which a provider refreshes its token, not those of a new login."""
    request = http.Request("GET", url)
    flow = provider.async_auth_flow(request)
    client = await asyncio.to_thread(http.AsyncClient)
    async with client:
        outgoing = await anext(flow)
        while outgoing is not request:
            outgoing = await flow.asend(await client.send(outgoing))
        await flow.aclose()


async def _store(url: str, context: Any, old: Login) -> Login:
    """Store the login that a provider holds. A refreshed one may lack its refresh token."""
    login = Login(
        tokens={**old.tokens, **_dump(context.current_tokens)},
        expires_at=context.token_expiry_time,
        client=_dump(context.client_info),
        authorization_server=_dump(context.oauth_metadata) or None,
        resource=_dump(context.protected_resource_metadata) or None,
    )
    await asyncio.to_thread(write_login, url, login)
    return login


async def log_in(
    url: str, kind: str, options: dict[str, Any], show: Callable[[str], None], seconds: float
) -> None:
    """Log in at an address, and store the login. `options` are those of the HTTP client.

    `show` gets the address that a person opens in a browser, and may block; the person has
    `seconds` to answer there.

    Raises:
        ToolUnavailableError: nobody is logged in; an earlier login remains.
    """
    client = await asyncio.to_thread(lambda: http.AsyncClient(**options))
    async with client, listen() as callback:

        async def ask(address: str) -> None:
            callback.expect(address)
            await asyncio.to_thread(show, address)

        async def wait() -> Any:
            return await _wait(callback, seconds)

        provider = _build_provider(url, callback.address, Login(), ask, wait)
        try:
            status = await _knock(client, url, kind, provider)
        except (_auth.OAuthFlowError, http.HTTPError) as error:
            raise ToolUnavailableError(f"The login failed: {_describe(error)}.") from None
    context = provider.context
    if status in (401, 403) or (status >= 400 and context.current_tokens is None):
        raise ToolUnavailableError(f"The login failed: the server returned {status}.")
    if context.current_tokens is None:
        raise ToolUnavailableError("The server does not ask for a login.")
    await _store(url, context, Login())


async def _wait(callback: Callback, seconds: float) -> Any:
    """Return the answer from the browser in the form of the SDK."""
    try:
        async with asyncio.timeout(seconds):
            answer = await callback.wait()
    except TimeoutError:
        raise ToolUnavailableError(
            f"No login in the browser within {seconds:g} s; run the command again."
        ) from None
    if "error" in answer:
        reason = answer.get("error_description") or answer["error"]
        raise ToolUnavailableError(f"The login was refused: {flat(reason)[:_MAX_REASON]}.")
    code = answer.get("code", "")
    state = answer.get("state")
    if IS_FIRST:
        return code, state
    return _types.AuthorizationCodeResult(code=code, state=state, iss=answer.get("iss"))


async def _knock(client: Any, url: str, kind: str, provider: Any) -> int:
    """Send a request for which the provider logs in; return the status of the response."""
    headers = {"Accept": "application/json, text/event-stream"}
    method = "POST" if kind == "http" else "GET"
    body = _INITIALIZE if kind == "http" else None
    # a stream of events does not end
    async with client.stream(method, url, headers=headers, json=body, auth=provider) as response:
        return int(response.status_code)


def _build_provider(url: str, redirect: str, login: Login, *handlers: Any) -> Any:
    # it logs the errors that it raises, with what a server has sent
    logging.getLogger("mcp.client.auth").setLevel(logging.CRITICAL + 1)
    metadata = _types.OAuthClientMetadata(
        client_name="manus",
        redirect_uris=[redirect],
        token_endpoint_auth_method="none",  # a program on a person's machine keeps no secret
    )
    return _auth.OAuthClientProvider(url, metadata, _Storage(login), *handlers)


def _describe(error: Exception) -> str:
    if isinstance(error.__context__, ValidationError):  # its text quotes the reply
        return "a reply of the authorization server is not valid"
    return flat(str(error) or type(error).__name__)[:_MAX_REASON].rstrip(".")


def _dump(value: BaseModel | None) -> dict[str, Any]:
    return {} if value is None else value.model_dump(mode="json", exclude_none=True)


def _parse(kind: Any, fields: dict[str, Any] | None) -> Any:
    return kind.model_validate(fields) if fields else None


class Callback:
    """The listener of one login."""

    def __init__(self) -> None:
        self.address = ""
        self._state = ""
        self._answer: asyncio.Future[dict[str, str]] = asyncio.get_running_loop().create_future()

    def expect(self, authorization_url: str) -> None:
        """Accept only the answer to this request: other pages can reach the listener, too."""
        self._state = dict(parse_qsl(urlsplit(authorization_url).query)).get("state", "")

    async def wait(self) -> dict[str, str]:
        """Return the parameters of the answer."""
        return await self._answer

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request."""
        # a browser opens connections that it does not use
        with suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            head = await reader.readuntil(b"\r\n\r\n")
            status, text = self._receive(head.decode("latin-1").partition("\r\n")[0])
            lines = (
                f"HTTP/1.1 {status}",
                "Content-Type: text/plain; charset=utf-8",
                f"Content-Length: {len(text)}",
                "Cache-Control: no-store",
                "Connection: close",
            )
            writer.write("\r\n".join((*lines, "", text)).encode())
            await writer.drain()
        writer.close()

    def _receive(self, request_line: str) -> tuple[str, str]:
        """Return the status and text for a request, and keep its answer if it is the expected."""
        method, _, target = request_line.rpartition(" ")[0].partition(" ")
        address = urlsplit(target)
        if method != "GET" or address.path != _PATH:
            return "404 Not Found", "Not found."
        parameters = dict(parse_qsl(address.query))
        if not self._state or parameters.get("state") != self._state:
            return "400 Bad Request", _STRANGER
        if not self._answer.done():
            self._answer.set_result(parameters)
        return "200 OK", _RETURN


@asynccontextmanager
async def listen() -> AsyncIterator[Callback]:
    """Listen on a free port of this machine for the length of a block."""
    callback = Callback()
    server = await asyncio.start_server(callback.serve, _HOST, 0)
    port = server.sockets[0].getsockname()[1]
    callback.address = f"http://{_HOST}:{port}{_PATH}"
    try:
        yield callback
    finally:
        server.close()
