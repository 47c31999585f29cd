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
    """One server: a program to be started, or an address. Times in seconds.

    `${NAME}` in a value of `env`, of `headers` or in `token` stands for a variable of our own
    environment, so that no secret has to be in the file.
    """

    command: str | None = None
    """A program that speaks the protocol over stdin and stdout."""
    args: tuple[str, ...] = ()
    """What the program is started with. `.`, and a path that begins with `./` or `../`, is relative
    to the workspace."""
    env: dict[str, SecretStr] = Field(default_factory=dict)
    """Variables for the program; of ours it gets only what any program needs to find its way."""
    directory: str | None = None
    """Where the program is started; `/` if not given, so that it loads no code that a run wrote."""
    sandbox: bool = True
    """Whether the program runs in the sandbox of the run; `false` gives it the machine."""
    url: str | None = None
    """`http://…` or `https://…` of a server that runs already."""
    transport: Transport | None = None
    """`stdio` for a command; for an address `http` (streamable HTTP) unless it says `sse`."""
    headers: dict[str, SecretStr] = Field(default_factory=dict)
    """Sent with each request to an address."""
    token: SecretStr | None = None
    """An OAuth token or API key, sent as `Authorization: Bearer …`."""
    read_only: tuple[str, ...] = ()
    """Tools of it that change nothing, by the server's names: a call of one may run beside others,
    and again after a crash. What the server says of itself is not believed."""
    trust: bool = False
    """Whether its tools may be called without a question in the mode `auto`."""
    enabled: bool = True
    """Whether its tools are offered."""
    connect_timeout: float = Field(30.0, gt=0, le=90)
    """For the program to start, or the address to answer."""
    call_timeout: float = Field(300.0, gt=0, le=700)
    """For one call of a tool."""

    @model_validator(mode="after")
    def _is_one_of_two(self) -> Self:
        if (self.command is None) == (self.url is None):
            raise ValueError("a server has either a `command` or a `url`")
        if (self.kind == "stdio") != (self.command is not None):
            raise ValueError("`stdio` goes with a `command`, `sse` and `http` with a `url`")
        if self.url is not None and not self.url.startswith(("http://", "https://")):
            raise ValueError("`url` must begin with http:// or https://")
        of_a_program = ("args", "env", "directory", "sandbox")
        foreign = ("headers", "token") if self.url is None else of_a_program
        if given := [f"`{name}`" for name in foreign if name in self.model_fields_set]:
            other = "url" if self.url is None else "command"
            raise ValueError(f"{' and '.join(given)} can only go with a `{other}`")
        return self

    @property
    def kind(self) -> Transport:
        """How the server is spoken to."""
        return self.transport or ("http" if self.command is None else "stdio")

    @property
    def confined(self) -> bool:
        """Whether it is a program in the sandbox."""
        return self.kind == "stdio" and self.sandbox

    @property
    def place(self) -> str:
        """Where the server is, without what may be secret: its command or its address."""
        return str(self.command) if self.url is None else shown_address(self.url)

    def variables(self, environment: Mapping[str, str]) -> dict[str, str]:
        """The variables for the program.

        Raises:
            SettingsError: one refers to a variable that is not set.
        """
        return {name: _filled(value, environment) for name, value in self.env.items()}

    def all_headers(self, environment: Mapping[str, str]) -> dict[str, str]:
        """The headers of each request, the token's included; errors as in `variables`."""
        headers = {name: _filled(value, environment) for name, value in self.headers.items()}
        if self.token is not None:
            headers["Authorization"] = f"Bearer {_filled(self.token, environment)}"
        return headers


def _filled(secret: SecretStr, environment: Mapping[str, str]) -> str:
    text = secret.get_secret_value()
    missing = [name for name in _VARIABLE.findall(text) if name not in environment]
    if missing:
        raise SettingsError(f"the environment variable {missing[0]} that it refers to is not set")
    return _VARIABLE.sub(lambda match: environment[match[1]], text)
