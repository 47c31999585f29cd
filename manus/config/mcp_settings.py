"""Settings of the MCP servers whose tools an agent may use: `[mcp.NAME]` in `manus.toml`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal, Self

from pydantic import BaseModel, Field, SecretStr, model_validator

from manus.config.model_settings import shown_address
from manus.state.errors import SettingsError

Transport = Literal["stdio", "sse", "http"]

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


class McpServer(BaseModel, frozen=True, extra="forbid"):
    """An MCP server: a program to start, or an address. Times are in seconds.

    `${NAME}` in `token` or in a value of `env` or `headers` is replaced by an environment variable
    of `manus`, so that the file contains no secrets.
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
        if self.url is not None and not self.url.startswith(("http://", "https://")):
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

    def variables(self, environment: Mapping[str, str]) -> dict[str, str]:
        """Return the environment variables of the program.

        Raises:
            SettingsError: one refers to a variable that is not set.
        """
        return _expand_all(self.env, environment)

    def all_headers(self, environment: Mapping[str, str]) -> dict[str, str]:
        """Return the headers of each request, including the token; errors as in `variables`."""
        headers = _expand_all(self.headers, environment)
        if self.token is not None:
            headers["Authorization"] = f"Bearer {_expand(self.token, environment)}"
        return headers


def _expand_all(values: Mapping[str, SecretStr], environment: Mapping[str, str]) -> dict[str, str]:
    return {name: _expand(value, environment) for name, value in values.items()}


def _expand(secret: SecretStr, environment: Mapping[str, str]) -> str:
    text = secret.get_secret_value()
    missing = [name for name in _VARIABLE.findall(text) if name not in environment]
    if missing:
        raise SettingsError(f"the environment variable {missing[0]} that it refers to is not set")
    return _VARIABLE.sub(lambda match: environment[match[1]], text)
