"""Settings of the MCP servers whose tools an agent may use: `[mcp.NAME]` in `manus.toml`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal, Self

from pydantic import BaseModel, Field, SecretStr, model_validator

from manus.config.model_settings import shown_address
from manus.state.errors import SettingsError

Transport = Literal["stdio", "sse", "http"]

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")

_EXPANDED = {"command", "args", "env", "url", "headers", "token"}
"""The fields that may refer to variables."""


class McpServer(BaseModel, frozen=True, extra="forbid"):
    """An MCP server: a program to start, or an address. Times are in seconds.

    `${NAME}` in `command`, `args`, `env`, `url`, `headers` or `token` is replaced by an environment
    variable of `manus`, so that the file contains no secrets. `${NAME:-default}` has a default.
    """

    command: str | None = None
    """A program that speaks MCP over stdin and stdout."""
    args: tuple[str, ...] = ()
    """Arguments of the program. `.`, and paths that start with `./` or `../`, are relative to the
    workspace."""
    env: dict[str, SecretStr] = Field(default_factory=dict)
    """Environment variables of the program, in addition to basic ones such as `PATH` and `HOME`."""
    directory: str | None = None
    """Working directory of the program. Unset: `/`, so that it loads no code that a run wrote."""
    sandbox: bool = True
    """Whether the program runs in the sandbox of the run; `false` gives it the whole machine."""
    url: str | None = None
    """`http://…` or `https://…` address of a running server."""
    transport: Transport | None = None
    """Unset: `stdio` for a command, `http` (streamable HTTP) for an address."""
    headers: dict[str, SecretStr] = Field(default_factory=dict)
    """HTTP headers of each request to an address."""
    token: SecretStr | None = None
    """An OAuth token or API key, sent as `Authorization: Bearer …`."""
    read_only: tuple[str, ...] = ()
    """Names of the server's read-only tools: their calls may run in parallel, and again after a
    crash. Annotations of the server itself are not trusted."""
    trust: bool = False
    """Whether its tools need no approval in the mode `auto`."""
    on_demand: bool | None = None
    """Whether requests only list its tools, for `use_tool`; the model gets the description of one
    when it uses it. Unset: with more than 15 tools, or 12,000 characters of definitions."""
    enabled: bool = True
    """Whether its tools are offered."""
    connect_timeout: float = Field(30.0, gt=0, le=90)
    """Timeout for the program to start, or the address to respond."""
    call_timeout: float = Field(300.0, gt=0, le=700)
    """Timeout of one tool call."""

    @model_validator(mode="after")
    def _check_kind(self) -> Self:
        if (self.command is None) == (self.url is None):
            raise ValueError("a server has either a `command` or a `url`")
        if (self.kind == "stdio") != (self.command is not None):
            raise ValueError("`stdio` needs a `command`, `sse` and `http` need a `url`")
        if self.url is not None and not self.url.startswith(("http://", "https://", "${")):
            raise ValueError("`url` must start with http:// or https://")
        if self.url is None:
            self._refuse_fields(("headers", "token"), "url")
        else:
            self._refuse_fields(("args", "env", "directory", "sandbox"), "command")
        return self

    def _refuse_fields(self, names: tuple[str, ...], required: str) -> None:
        """Raise a ValueError if a field is set that is valid only with another one."""
        misplaced = [f"`{name}`" for name in names if name in self.model_fields_set]
        if misplaced:
            raise ValueError(f"{' and '.join(misplaced)} can only be used with a `{required}`")

    @property
    def kind(self) -> Transport:
        """Return the transport."""
        return self.transport or ("http" if self.command is None else "stdio")

    @property
    def confined(self) -> bool:
        """Return whether the server is a program in the sandbox."""
        return self.kind == "stdio" and self.sandbox

    @property
    def place(self) -> str:
        """Return the server's command or address, without secrets."""
        return str(self.command) if self.url is None else shown_address(self.url)

    def expand(self, environment: Mapping[str, str]) -> McpServer:
        """Return these settings with the values of the variables that they refer to.

        Raises:
            SettingsError: a variable is not set, and has no default.
        """
        values: dict[str, Any] = {}
        for field in sorted(_EXPANDED & self.model_fields_set):
            values[field] = _expand(getattr(self, field), field, environment)
        url = values.get("url")
        if url and not url.startswith(("http://", "https://")):
            raise SettingsError("its `url` does not start with http:// or https://")
        return self.model_copy(update=values)

    @property
    def variables(self) -> dict[str, str]:
        """Return the environment variables of the program."""
        return {name: value.get_secret_value() for name, value in self.env.items()}

    @property
    def all_headers(self) -> dict[str, str]:
        """Return the headers of each request, including the token."""
        headers = {name: value.get_secret_value() for name, value in self.headers.items()}
        if self.token is not None:
            headers["Authorization"] = f"Bearer {self.token.get_secret_value()}"
        return headers


def _expand(value: Any, field: str, environment: Mapping[str, str]) -> Any:
    """Return a value with its variables replaced, in whatever it contains."""

    def find(match: re.Match[str]) -> str:
        name, default = match.groups()
        text = environment.get(name)
        if default is not None:
            return text or str(default)
        if text is None:
            raise SettingsError(f"the environment variable {name} in its `{field}` is not set")
        return text

    match value:
        case str():
            return _VARIABLE.sub(find, value)
        case SecretStr():
            return SecretStr(_VARIABLE.sub(find, value.get_secret_value()))
        case tuple():
            return tuple(_expand(item, field, environment) for item in value)
        case dict():
            return {name: _expand(item, field, environment) for name, item in value.items()}
    return value
